//! Wake-ups: which changes of the cluster could make a refused pod schedulable.
//!
//! A pod that no node takes waits until something changes that its refusal depended on. Waking too often costs a look;
//! waking too rarely leaves a pod waiting for minutes. So each rule here wakes at least where upstream does, and where
//! upstream is known to miss a change that matters ours wakes too; those are marked as such.
//!
//! ```text
//!   refused by (plugin, code) ──► Wait: the Keys it depends on ──┐
//!                                                                ├─► in common? ──► could_help ──► wake
//!   a change ────────────────────► Touched: the Keys it touches ─┘
//! ```
//!
//! Keys make it cheap: whoever keeps many waiting pods files them by key and looks only at those that a change touches.
//! The rules make it sound: where no rule of a refusal says yes, the refusal still stands after the change. From that it
//! follows for any number of changes, one after the other, that a pod which was not woken still fits nowhere.

mod change;
mod key;
mod nodes;
mod own;
mod pods;
mod touched;
mod volumes;
mod wait;

pub use change::Change;
pub use key::Key;
pub use own::own_change_helps;
pub use touched::{Free, Touched};
pub use wait::{Asks, Wait};

use crate::model::Pod;
use crate::object::Object;
use crate::reason::{Code, Plugin};

/// Whether a change could make a pod schedulable that this plugin refused with this code, by the two objects alone.
/// [`crate::Catalog::could_help`] knows the cluster too, and says no more often.
pub fn could_help(plugin: Plugin, code: Code, pod: &Pod, change: Change<'_>) -> bool {
    change.parts().into_iter().any(|part| part_helps(plugin, code, pod, part))
}

/// Whether only a change of the pod itself can lift a refusal: see [`own_change_helps`].
fn is_of_the_pod(plugin: Plugin, code: Code) -> bool {
    plugin == Plugin::SchedulingGates || [Code::INVALID_RULE, Code::AFFINITY_CONFLICT, Code::UNDECIDED].contains(&code)
}

fn part_helps(plugin: Plugin, code: Code, pod: &Pod, part: Change<'_>) -> bool {
    match plugin {
        _ if is_of_the_pod(plugin, code) => false,
        Plugin::NodeName => matches!(part, Change::Added(Object::Node(node)) if pod.node.as_ref() == Some(&node.name)),
        Plugin::NodeUnschedulable => nodes::helps_unschedulable(pod, part),
        Plugin::TaintToleration => nodes::helps_taints(pod, part),
        Plugin::NodeAffinity => nodes::helps_affinity(pod, part),
        Plugin::NodeDeclaredFeatures => nodes::helps_features(pod, part),
        Plugin::NodePorts => nodes::helps_ports(pod, part),
        Plugin::NodeResourcesFit => nodes::helps_resources(part),
        Plugin::PodTopologySpread => pods::helps_spread(pod, part),
        Plugin::InterPodAffinity => pods::helps_affinity(code, pod, part),
        Plugin::VolumeBinding => volumes::helps_binding(code, pod, part),
        Plugin::VolumeZone => volumes::helps_zone(pod, part),
        Plugin::NodeVolumeLimits => volumes::helps_limits(code, pod, part),
        Plugin::VolumeRestrictions => volumes::helps_restrictions(code, pod, part),
        _ => true,
    }
}
