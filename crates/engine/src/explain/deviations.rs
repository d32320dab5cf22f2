//! Which gate made which difference from upstream's decision.
//!
//! Every rule reads the gates for itself and none keeps a record, so the answer is found by trying: the pod is decided
//! about as upstream would, as asked, and, only where the two differ, with single gates turned off and on.

use crate::catalog::Catalog;
use crate::decide::{Decision, NodeDecision};
use crate::explain::NodeDeviations;
use crate::gates::{Gate, Gates};
use crate::labels::Name;
use crate::model::Pod;
use crate::reason::{Plugin, Refusal, Status};
use crate::volumes::Outcome;

/// Where a decision differs from upstream's.
#[derive(Debug, Default)]
pub(super) struct Deviations {
    /// One entry for each node of the decision.
    pub(super) nodes: Vec<NodeDeviations>,
    /// The gate behind a difference in the rejection of the pod as a whole.
    pub(super) rejection: Option<Gate>,
}

/// Decides as asked, and says where that is not what upstream would decide.
pub(super) fn find(catalog: &Catalog, pod: &Pod, asked: Gates) -> (Decision, Deviations) {
    let mut trials = Trials { catalog, pod, asked, base: Gates::AS_UPSTREAM, decided: Vec::new() };
    let decision = trials.decide(asked).clone();
    let blank = |n: &NodeDecision| NodeDeviations { refusals: vec![None; n.refusals.len()], gates: Vec::new() };
    let mut found = Deviations { nodes: decision.nodes.iter().map(blank).collect(), rejection: None };
    let upstream = trials.decide(Gates::AS_UPSTREAM);
    if *upstream == decision {
        return (decision, found);
    }
    let rejecting = trials.gates_behind(rejection);
    found.rejection = rejecting.first().copied();
    // Where upstream looks at no node, what we say of one is compared with what upstream would say, were it not for the
    // gate that made us look; and every node carries that gate.
    trials.base = rejecting.iter().fold(Gates::AS_UPSTREAM, |gates, gate| gates.with(*gate, true));
    if trials.decide(trials.base).rejection.is_some() {
        trials.base = asked;
    }
    for (at, (node, deviations)) in decision.nodes.iter().zip(&mut found.nodes).enumerate() {
        deviations.gates.clone_from(&rejecting);
        trials.compare(at, node, deviations);
    }
    (decision, found)
}

/// Decisions about one pod with different gates, each made at most once.
struct Trials<'c> {
    catalog: &'c Catalog,
    pod: &'c Pod,
    asked: Gates,
    /// What "upstream" means in comparisons.
    base: Gates,
    decided: Vec<(Gates, Decision)>,
}

impl Trials<'_> {
    fn decide(&mut self, gates: Gates) -> &Decision {
        let at = match self.decided.iter().position(|(g, _)| *g == gates) {
            Some(at) => at,
            None => {
                self.decided.push((gates, self.catalog.decide(self.pod, gates)));
                self.decided.len() - 1
            }
        };
        &self.decided[at].1
    }

    /// Compares one node's verdict with upstream's.
    fn compare(&mut self, at: usize, node: &NodeDecision, deviations: &mut NodeDeviations) {
        let Some(upstream) = self.decide(self.base).nodes.get(at) else { return };
        if upstream == node {
            return;
        }
        let gone: Vec<Refusal> = upstream.refusals.iter().filter(|r| !has(node, r)).cloned().collect();
        for (refusal, deviation) in node.refusals.iter().zip(&mut deviations.refusals) {
            *deviation = self.gates_behind(|d| d.nodes.get(at).map(|n| has(n, refusal))).first().copied();
        }
        let mut gates = std::mem::take(&mut deviations.gates);
        for refusal in &gone {
            gates.extend(self.gates_behind(|d| d.nodes.get(at).map(|n| has(n, refusal))));
        }
        gates.extend(self.gates_behind(|d| d.nodes.get(at).map(NodeDecision::is_feasible)));
        gates.extend(self.gates_behind(|d| d.nodes.get(at).map(plan)));
        gates.extend(self.gates_behind(|d| d.nodes.get(at).map(|n| n.scores.clone())));
        gates.sort_unstable();
        gates.dedup();
        deviations.gates = gates;
    }

    /// The gates that account for a difference in one aspect of the decision: none where there is no difference, and
    /// always one where there is.
    fn gates_behind<T: PartialEq>(&mut self, aspect: impl Fn(&Decision) -> T) -> Vec<Gate> {
        let (base, asked) = (self.base, self.asked);
        let theirs = aspect(self.decide(base));
        let ours = aspect(self.decide(asked));
        if theirs == ours {
            return Vec::new();
        }
        let candidates: Vec<Gate> = Gate::ALL.into_iter().filter(|g| asked.on(*g) && !base.on(*g)).collect();
        if let [only] = candidates[..] {
            return vec![only];
        }
        let mut of_those = |test: &mut dyn FnMut(&mut Self, Gate) -> bool| -> Vec<Gate> {
            candidates.iter().copied().filter(|gate| test(self, *gate)).collect()
        };
        // It makes the difference alone, and without it there is none: the plainest case, and by far the commonest.
        let alone = of_those(&mut |trials, gate| {
            aspect(trials.decide(base.with(gate, true))) == ours
                && aspect(trials.decide(asked.with(gate, false))) == theirs
        });
        if !alone.is_empty() {
            return alone;
        }
        let needed = of_those(&mut |trials, gate| aspect(trials.decide(asked.with(gate, false))) != ours);
        if !needed.is_empty() {
            return needed;
        }
        let enough = of_those(&mut |trials, gate| aspect(trials.decide(base.with(gate, true))) == ours);
        if !enough.is_empty() {
            return enough;
        }
        // Gates that stand in for each other: leave out all that can be left out. One at least stays, because without
        // any the decision is upstream's.
        let mut kept = asked;
        for gate in candidates {
            let fewer = kept.with(gate, false);
            if aspect(self.decide(fewer)) != theirs {
                kept = fewer;
            }
        }
        Gate::ALL.into_iter().filter(|g| kept.on(*g) && !base.on(*g)).collect()
    }
}

/// What makes a refusal the same for upstream: our own words may differ.
fn same(a: &Refusal, b: &Refusal) -> bool {
    (a.plugin, a.status, &a.reason) == (b.plugin, b.status, &b.reason)
}

fn has(node: &NodeDecision, refusal: &Refusal) -> bool {
    node.refusals.iter().any(|r| same(r, refusal))
}

fn rejection(decision: &Decision) -> Option<(Plugin, Status, String)> {
    decision.rejection.as_ref().map(|r| (r.plugin, r.status, r.reason.to_string()))
}

/// The plan as far as upstream has it: which claim becomes what, with which volume.
fn plan(node: &NodeDecision) -> Vec<(Name, Outcome, Option<Name>)> {
    node.plan.claims.iter().map(|c| (c.claim.name.clone(), c.outcome, c.volume.clone())).collect()
}
