//! What absent fields mean: objects from files as the API server would store them and its controllers complete them.
//!
//! An object that carries a status went through an API server already and is left alone: filling in is done once, so
//! doing it again would change nothing.

mod pod;
mod pod_resources;
mod storage;

#[cfg(test)]
mod tests;

pub use pod::Priorities;
pub use storage::{DefaultClass, complete_class, complete_volume};

pub(crate) use pod::{complete_pod, exists};
pub(crate) use storage::{BindingOf, complete_claim};

use crate::kinds::node::Taint;
use crate::kinds::{Namespace, Node};
use crate::names;

/// Completes a node. A node that no kubelet has reported on gets the taint that the node controller gives to one that
/// is unschedulable; the taint of a node that is not ready stays off, since a node in a file is meant to be used.
pub fn complete_node(node: &mut Node) {
    let tainted = node.spec.taints.iter().any(|t| t.key == names::TAINT_UNSCHEDULABLE);
    if node.spec.unschedulable && !node.status.conditions.0 && !tainted {
        node.spec.taints.push(Taint {
            key: names::TAINT_UNSCHEDULABLE.to_owned(),
            value: String::new(),
            effect: "NoSchedule".to_owned(),
        });
    }
}

/// Completes a namespace: each has a label with its name.
pub fn complete_namespace(namespace: &mut Namespace) {
    let name = namespace.metadata.name.clone();
    namespace.metadata.labels.set(names::NAMESPACE_NAME, name);
}
