//! Why a pod fits nowhere: upstream's summary, who refused it, and where removing pods could help.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::catalog::Catalog;
use crate::collections::Map;
use crate::decide::Case;
use crate::gates::Gates;
use crate::model::Pod;
use crate::nodes::NodeIndex;
use crate::reason::{Code, Plugin, Refusal, Status};
use crate::rules::Rules;

/// Why a pod fits nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// Upstream's summary.
    pub summary: String,
    /// Whether the pod is refused as a whole, whatever the nodes.
    pub rejected: bool,
    /// Every plugin that refused it somewhere, and why: what changes about these can help.
    pub refused_by: BTreeSet<(Plugin, Code)>,
    /// The nodes where removing pods could help: upstream's plugin that refused first says so.
    pub preemptible: Vec<NodeIndex>,
    /// How many nodes there are.
    pub nodes: usize,
    /// A rule that could not be applied on some node.
    pub error: Option<String>,
}

impl Catalog {
    /// As [`Catalog::diagnose_by`], by upstream's default profile and with nothing to add.
    pub fn diagnose(&self, pod: &Pod, gates: Gates) -> Diagnosis {
        self.diagnose_by(pod, &Rules::new(gates), &[])
    }

    /// Says why a pod fits nowhere. `except` has the nodes that the caller refuses, with its refusals, which stand in the
    /// place of the node's own: those of an extender, or those that a node has with the pods seated that are nominated for
    /// it. The pod must not be seated in the catalog itself (see [`Catalog::set_aside`]).
    pub fn diagnose_by(&self, pod: &Pod, rules: &Rules, except: &[(NodeIndex, Vec<Refusal>)]) -> Diagnosis {
        let case = Case::prepare(self, pod, rules);
        let nodes = self.nodes.len();
        let mut diagnosis = Diagnosis {
            summary: String::new(),
            rejected: false,
            refused_by: BTreeSet::new(),
            preemptible: Vec::new(),
            nodes,
            error: None,
        };
        if let Some(rejection) = case.rejection() {
            diagnosis.summary = rejected(nodes, &rejection);
            diagnosis.rejected = true;
            diagnosis.refused_by.insert((rejection.plugin, rejection.code));
            if rejection.status == Status::Error {
                diagnosis.error = Some(rejection.reason.into_owned());
            }
            return diagnosis;
        }
        let mut given: Map<NodeIndex, &[Refusal]> = except.iter().map(|(node, own)| (*node, &**own)).collect();
        let mut tally = Tally::new(nodes, &case.narrowed_by());
        for row in self.nodes.iter_by_name() {
            let narrowed = case.is_narrowed(row);
            let refusals = match given.remove(&row.index()) {
                Some(given) => Cow::Borrowed(given),
                None => Cow::Owned(case.refusals(row)),
            };
            tally.count(narrowed, &refusals);
            diagnosis.refused_by.extend(refusals.iter().map(|r| (r.plugin, r.code)));
            let failed = refusals.iter().find(|r| r.status == Status::Error);
            diagnosis.error = diagnosis.error.or_else(|| failed.map(|r| r.reason.to_string()));
            if !narrowed && first(&refusals).all(|r| r.status == Status::Unschedulable) && !refusals.is_empty() {
                diagnosis.preemptible.push(row.index());
            }
        }
        diagnosis.summary = tally.summary();
        diagnosis
    }
}

/// The refusals of the first plugin that refuses: upstream asks no further.
fn first(refusals: &[Refusal]) -> impl Iterator<Item = &Refusal> {
    let plugin = refusals.first().map(|r| r.plugin);
    refusals.iter().take_while(move |r| Some(r.plugin) == plugin)
}

/// The summary where the pod is refused as a whole.
pub(crate) fn rejected(nodes: usize, rejection: &Refusal) -> String {
    format!("0/{nodes} nodes are available: {}.", rejection.reason)
}

/// How many nodes were refused for which reason.
pub(crate) struct Tally {
    nodes: usize,
    feasible: usize,
    narrowed: String,
    counts: BTreeMap<String, usize>,
}

impl Tally {
    pub(crate) fn new(nodes: usize, narrowed_by: &[Plugin]) -> Self {
        let mut plugins: Vec<&str> = narrowed_by.iter().map(|p| p.name()).collect();
        plugins.sort_unstable();
        let narrowed = format!("node(s) didn't satisfy plugin(s) [{}]", plugins.join(" "));
        Self { nodes, feasible: 0, narrowed, counts: BTreeMap::new() }
    }

    /// Counts a node by its refusals, in upstream's order of plugins.
    pub(crate) fn count(&mut self, narrowed: bool, refusals: &[Refusal]) {
        if narrowed {
            self.add(&self.narrowed.clone());
            return;
        }
        self.feasible += usize::from(refusals.is_empty());
        for refusal in first(refusals) {
            self.add(&refusal.reason);
        }
    }

    /// Counts a node by one reason.
    pub(crate) fn add(&mut self, reason: &str) {
        match self.counts.get_mut(reason) {
            Some(count) => *count += 1,
            None => drop(self.counts.insert(reason.to_owned(), 1)),
        }
    }

    pub(crate) fn summary(&self) -> String {
        let mut reasons: Vec<String> = self.counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        reasons.sort_unstable();
        let Self { nodes, feasible, .. } = self;
        if reasons.is_empty() {
            return format!("{feasible}/{nodes} nodes are available.");
        }
        format!("{feasible}/{nodes} nodes are available: {}.", reasons.join(", "))
    }
}
