//! Preemption: where a pod would fit if pods of lower priority went, and which of them must go.
//!
//! ```text
//!                  no pod of lower priority
//!   candidate ────────────────────────────────────────────────────────────► refused
//!       │ all of them unseated          does not fit                           ▲
//!       ▼                        ───────────────────────────────────────────────
//!   does the pod fit? ── yes ──► each is seated again, the most important first, those whose budget allows no
//!                                disruption before all others; one that leaves no room for the pod is a victim
//! ```
//!
//! The pods are unseated in the catalog itself, so that every rule sees them gone: what a victim gives back is its
//! resources, ports, attach slots, ReadWriteOncePod claims and unshareable disks. Its volumes stay where they are, for they
//! follow from claims and not from pods. Afterwards the catalog is what it was.
//!
//! Upstream begins at a random node and shortlists a share of them; here the shortlist begins at the first by name.

mod budgets;
mod trial;
mod victims;

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::catalog::Catalog;
use crate::diagnose::Tally;
use crate::labels::Name;
use crate::model::Pod;
use crate::nodes::NodeIndex;
use crate::reason::{Refusal, Status};
use crate::rules::Rules;

use trial::{Judged, Trial};

/// Pods that are expected on nodes, though they are not placed yet: those nominated there. A node must have room for them,
/// too, where their priority is that of the judged pod or above.
pub type Expected = BTreeMap<Name, Vec<Arc<Pod>>>;

/// How many nodes are compared, as upstream's `DefaultPreemptionArgs` say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortlist {
    /// `minCandidateNodesPercentage`: at least so many per cent of the nodes where it could help.
    pub percentage: u32,
    /// `minCandidateNodesAbsolute`: and at least so many.
    pub absolute: u32,
}

impl Default for Shortlist {
    fn default() -> Self {
        Self { percentage: 10, absolute: 100 }
    }
}

impl Shortlist {
    /// How many of so many nodes are compared.
    fn of(self, nodes: usize) -> usize {
        let share = nodes.saturating_mul(self.percentage as usize) / 100;
        share.max(self.absolute as usize).min(nodes)
    }
}

/// What an attempt to make room for a pod goes by.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The rules.
    pub rules: &'a Rules,
    /// How many nodes are compared.
    pub shortlist: Shortlist,
    /// The nodes where removing pods could help ([`crate::Diagnosis::preemptible`]).
    pub preemptible: &'a [NodeIndex],
    /// The node that the pod is nominated to already.
    pub nominated: Option<&'a Name>,
    /// The pods that are expected on nodes, of the pod's priority or above.
    pub expected: &'a Expected,
}

/// A node where a pod would fit if these pods went.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The node.
    pub node: Name,
    /// The pods that must go, the most important first. Never empty. Some may be going already.
    pub victims: Vec<Arc<Pod>>,
    /// How many of them go though a budget does not allow it.
    pub violations: usize,
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum Preemption {
    /// The pod may not have others removed now.
    Ineligible(&'static str),
    /// No removal helps; upstream's summary of why.
    Useless(String),
    /// A rule could not be applied.
    Failed(String),
    /// Nodes where it helps; never empty. Those without violations first, then by name.
    Possible(Vec<Candidate>),
}

impl Preemption {
    /// The candidate that costs least: the fewest violations, then the lowest priority of the highest victim, the smallest
    /// sum of priorities, the fewest victims, the latest start of the longest running among the highest victims. The first
    /// by name among equals, where upstream takes any.
    pub fn best(&self) -> Option<&Candidate> {
        match self {
            Self::Possible(candidates) => candidates.iter().min_by_key(|c| (c.cost(), &c.node)),
            _ => None,
        }
    }

    /// What the pod's condition says of it, in upstream's words.
    pub fn message(&self) -> String {
        match self {
            Self::Ineligible(why) => format!("preemption: {why}"),
            Self::Useless(why) | Self::Failed(why) => format!("preemption: {why}"),
            Self::Possible(_) => match self.best() {
                Some(Candidate { node, victims, .. }) => format!(
                    "preemption: found a potential placement for pod on node {node}, preempting {} victims",
                    victims.len()
                ),
                None => "preemption: no candidate node for preemption".to_owned(),
            },
        }
    }
}

impl Candidate {
    fn cost(&self) -> impl Ord + use<'_> {
        let highest = self.victims.iter().map(|v| v.priority).max();
        // Shifted above zero, so that a further victim always costs something.
        let sum: i128 = self.victims.iter().map(|v| i128::from(v.priority) + (1 << 31)).sum();
        let foremost = self.victims.iter().filter(|v| Some(v.priority) == highest);
        let earliest = foremost.map(|v| victims::begun(v)).min();
        (self.violations, highest, sum, self.victims.len(), Reverse(earliest))
    }
}

impl Catalog {
    /// Looks for a node where a pod would fit if pods of lower priority went. The catalog is afterwards what it was before.
    pub fn preempt(&mut self, pod: &Pod, attempt: Attempt<'_>) -> Preemption {
        if let Some(why) = self.ineligible(pod, &attempt) {
            return Preemption::Ineligible(why);
        }
        let wanted = attempt.shortlist.of(attempt.preemptible.len());
        let (mut clean, mut violating) = (Vec::new(), Vec::new());
        let mut tally = Tally::new(self.nodes().len(), &[]);
        let mut errors: Vec<String> = Vec::new();
        let mut judged = Judged::new(self, pod, attempt.rules);
        for &node in attempt.preemptible {
            match self.try_node(pod, &mut judged, node, &attempt) {
                Ok(candidate) if candidate.violations == 0 => clean.push(candidate),
                Ok(candidate) => violating.push(candidate),
                Err(Useless::NoVictims) => tally.add("No preemption victims found for incoming pod"),
                Err(Useless::Refused(refusals)) => {
                    let failed = refusals.iter().filter(|r| r.status == Status::Error).map(|r| r.reason.to_string());
                    errors.extend(failed);
                    tally.count(false, &refusals);
                }
                Err(Useless::NoneNeeded(node)) => {
                    errors.push(format!("expected at least one victim pod on node \"{node}\""));
                }
            }
            if !clean.is_empty() && clean.len() + violating.len() >= wanted {
                break;
            }
        }
        clean.append(&mut violating);
        if !clean.is_empty() {
            return Preemption::Possible(clean);
        }
        errors.sort_unstable();
        errors.dedup();
        match errors.as_slice() {
            [] => {}
            [only] => return Preemption::Failed(only.clone()),
            several => return Preemption::Failed(format!("[{}]", several.join(", "))),
        }
        for _ in attempt.preemptible.len()..self.nodes().len() {
            tally.add("Preemption is not helpful for scheduling");
        }
        Preemption::Useless(tally.summary())
    }

    /// Why a pod may not have others removed now.
    fn ineligible(&self, pod: &Pod, attempt: &Attempt<'_>) -> Option<&'static str> {
        if !pod.preempts {
            return Some("not eligible due to preemptionPolicy=Never.");
        }
        // Where the nominated node is out of the question by now, there is nothing to wait for.
        let row = attempt.nominated.and_then(|node| self.nodes().by_name(node))?;
        if !attempt.preemptible.contains(&row.index()) {
            return None;
        }
        let going = |victim: &Pod| victim.priority < pod.priority && victim.deleting && victim.preempted;
        let waits = row.pods().iter().any(|placed| going(placed.pod()));
        waits.then_some("not eligible due to a terminating pod on the nominated node.")
    }

    fn try_node(
        &mut self,
        pod: &Pod,
        judged: &mut Judged<'_>,
        node: NodeIndex,
        attempt: &Attempt<'_>,
    ) -> Result<Candidate, Useless> {
        let row = self.nodes().get(node).ok_or(Useless::NoVictims)?;
        let name = row.node().name.clone();
        let lower = row.pods().iter().map(|placed| placed.pod()).filter(|p| p.priority < pod.priority);
        let lower: Vec<Arc<Pod>> = lower.cloned().collect();
        if lower.is_empty() {
            return Err(Useless::NoVictims);
        }
        let expected = attempt.expected.get(&name).map(Vec::as_slice).unwrap_or_default();
        let mut trial = Trial::begin(self, judged, node, expected);
        let found = victims::select(&mut trial, lower);
        trial.end();
        let (victims, violations) = found.map_err(Useless::Refused)?;
        if victims.is_empty() {
            return Err(Useless::NoneNeeded(name));
        }
        Ok(Candidate { node: name, victims, violations })
    }
}

/// Why a node is no candidate.
enum Useless {
    /// No pod of lower priority is there.
    NoVictims,
    /// The pod does not fit even without them.
    Refused(Vec<Refusal>),
    /// The pod fits as it is.
    NoneNeeded(Name),
}
