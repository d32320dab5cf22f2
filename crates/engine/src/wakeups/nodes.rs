//! Rules of the plugins that look at a node and what is on it.

use crate::filters::{RequiredNodes, tolerated};
use crate::model::{Node, Pod, TaintEffect};
use crate::nodes::UsedPorts;
use crate::object::Object;
use crate::wakeups::Change;
use crate::wakeups::change::gives_back;

/// A cordon that is lifted, or a node without one.
pub(super) fn helps_unschedulable(pod: &Pod, change: Change<'_>) -> bool {
    match change {
        Change::Added(Object::Node(node)) => !node.unschedulable || tolerates_cordon(pod),
        Change::Updated { old: Object::Node(old), new: Object::Node(new) } => old.unschedulable && !new.unschedulable,
        _ => false,
    }
}

/// Whether a pod may go to cordoned nodes.
fn tolerates_cordon(pod: &Pod) -> bool {
    pod.tolerations.iter().any(|t| t.key.is_empty() || &*t.key == "node.kubernetes.io/unschedulable")
}

/// A node whose taints the pod tolerates, and did not before.
pub(super) fn helps_taints(pod: &Pod, change: Change<'_>) -> bool {
    let kept_away = |node: &Node| {
        let keeps_away = |effect| effect != TaintEffect::PreferNoSchedule;
        node.taints.iter().any(|taint| keeps_away(taint.effect) && !tolerated(&pod.tolerations, taint))
    };
    match change {
        Change::Added(Object::Node(node)) => !kept_away(node),
        Change::Updated { old: Object::Node(old), new: Object::Node(new) } => kept_away(old) && !kept_away(new),
        _ => false,
    }
}

/// A node with other labels that the pod asks for. Whether it asked for the earlier ones does not count: a profile may
/// ask for more than the pod says.
pub(super) fn helps_affinity(pod: &Pod, change: Change<'_>) -> bool {
    let wanted = |node: &Node| RequiredNodes::of(pod).include(node);
    match change {
        Change::Added(Object::Node(node)) => wanted(node),
        Change::Updated { old: Object::Node(old), new: Object::Node(new) } => old.labels != new.labels && wanted(new),
        _ => false,
    }
}

/// A node that declares all that the pod needs, and did not before.
pub(super) fn helps_features(pod: &Pod, change: Change<'_>) -> bool {
    let able = |node: &Node| node.features.include(pod.features);
    match change {
        Change::Added(Object::Node(node)) => able(node),
        Change::Updated { old: Object::Node(old), new: Object::Node(new) } => !able(old) && able(new),
        _ => false,
    }
}

/// A node without pods, or a pod that gives back a port.
pub(super) fn helps_ports(pod: &Pod, change: Change<'_>) -> bool {
    match change {
        Change::Added(Object::Node(_)) => true,
        Change::Deleted(Object::Pod(gone)) => {
            let given_back = UsedPorts::of(&gone.host_ports);
            pod.host_ports.iter().any(|wanted| given_back.conflicts(wanted))
        }
        _ => false,
    }
}

/// More of something on a node: what the node says, or what its pods leave. Whether it is enough is for the catalog.
pub(super) fn helps_resources(change: Change<'_>) -> bool {
    match change {
        Change::Added(Object::Node(_)) | Change::Deleted(Object::Pod(_)) => true,
        Change::Updated { old: Object::Node(old), new: Object::Node(new) } => old.allocatable != new.allocatable,
        Change::Updated { old: Object::Pod(old), new: Object::Pod(new) } => gives_back(old, new),
        _ => false,
    }
}
