//! Explaining a decision to a person: what was decided, where that differs from upstream and by which gate, and, where
//! nothing fits, the smallest changes that would help.
//!
//! Nothing here decides by itself. Both answers are found by experiment: the pod is decided about again, with other
//! gates (`deviations`) or in a cluster with one thing changed (`remedies`), and what came out is compared.

mod deviations;
mod remedies;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::catalog::Catalog;
use crate::decide::Decision;
use crate::gates::{Gate, Gates};
use crate::labels::{Name, ObjectKey};

/// What was decided about a pod, with everything that a person may want to know about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// What was decided.
    pub decision: Decision,
    /// Where that differs from upstream: one entry for each of `decision.nodes`, in the same order.
    pub nodes: Vec<NodeDeviations>,
    /// The gate that made the pod rejected as a whole, or kept it from being so, where upstream differs in that.
    pub rejection_deviation: Option<Gate>,
    /// What would make a node fit, where none does: the nearest first, at most [`Remedy::AT_MOST`].
    pub remedies: Vec<Remedy>,
}

/// Where the verdict on a node differs from upstream's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeDeviations {
    /// For each refusal of the node: the gate that made it, where upstream does not have it.
    pub refusals: Vec<Option<Gate>>,
    /// The gates that made any other difference: a refusal that upstream has, whether the node fits, the plan, a score.
    pub gates: Vec<Gate>,
}

impl NodeDeviations {
    /// Whether the verdict is upstream's.
    pub fn is_empty(&self) -> bool {
        self.gates.is_empty() && self.refusals.iter().all(Option::is_none)
    }
}

/// A single change that would make a node fit. It was proved by deciding again with the change made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// The node that would fit.
    pub node: Name,
    /// The change in words.
    pub change: String,
    /// The change as an edit of an object; `None` where no object has a field for it.
    pub patch: Option<Patch>,
}

impl Remedy {
    /// How many are told.
    pub const AT_MOST: usize = 5;
}

/// An edit of one field of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The object's kind.
    pub kind: &'static str,
    /// The object's namespace, where its kind has one.
    pub namespace: Option<Name>,
    /// The object's name.
    pub name: Name,
    /// The field, as a path. `.` by itself is the object as a whole.
    pub field: String,
    /// The field's new value; `None` where the field, or the entry, is to be removed.
    pub value: Option<String>,
}

impl Catalog {
    /// Decides about a pod and explains it; `None` where there is no such pod. The catalog is afterwards as it was: the
    /// pod stands aside, and changes are tried and taken back, only for as long as this takes.
    pub fn explain(&mut self, pod: &ObjectKey, gates: Gates) -> Option<Explanation> {
        let judged = Arc::clone(self.pod(pod)?);
        // Not `put_back`, which would seat the pod as last observed: one whose placement is assumed keeps its seat.
        let seat = self.nodes.remove_pod(pod);
        if let Some(seated) = &seat {
            self.volumes.remove_pod(seated);
        }
        let (decision, deviations) = deviations::find(self, &judged, gates);
        let fits = decision.nodes.iter().any(|n| n.is_feasible());
        let remedies = if fits { Vec::new() } else { remedies::find(&*self, &judged, gates, &decision) };
        if let Some(seated) = seat {
            self.nodes.add_pod(Arc::clone(&seated));
            self.volumes.add_pod(seated);
        }
        let deviations::Deviations { nodes, rejection } = deviations;
        Some(Explanation { decision, nodes, rejection_deviation: rejection, remedies })
    }
}
