//! Wake-ups: which changes of the cluster could make a refused pod schedulable.
//!
//! A pod that no node takes waits until something changes that its refusal depended on. Waking too often costs a look;
//! waking too rarely leaves a pod waiting for minutes. So each rule here wakes at least where upstream does, and where
//! upstream is known to miss a change that matters ours wakes too; those are marked as such.

use crate::labels::{Name, ObjectKey};
use crate::model::{BindingMode, CsiDriver, CsiNode, Pod, PodVolumeSource, Pool, Volume};
use crate::object::Object;
use crate::reason::{Code, Plugin};
use crate::volumes::catalog::claims_of;
use crate::volumes::migration;
use crate::volumes::restrictions::cannot_share;
use crate::volumes::zone::ZoneConstraint;

/// A change of one object.
#[derive(Clone, Copy, Debug)]
pub enum Change<'o> {
    /// It came.
    Added(&'o Object),
    /// It changed.
    Updated {
        /// What it was.
        old: &'o Object,
        /// What it is.
        new: &'o Object,
    },
    /// It went; or, of a pod, it ended or lost its place.
    Deleted(&'o Object),
}

/// Whether a change could make a pod schedulable that this plugin refused with this code. A plugin that is not about
/// volumes is not known here, and the answer is yes.
pub fn could_help(plugin: Plugin, code: Code, pod: &Pod, change: Change<'_>) -> bool {
    match plugin {
        Plugin::VolumeBinding => helps_binding(code, pod, change),
        Plugin::VolumeZone => helps_zone(pod, change),
        Plugin::NodeVolumeLimits => helps_limits(code, pod, change),
        Plugin::VolumeRestrictions => helps_restrictions(pod, change),
        _ => true,
    }
}

fn helps_binding(code: Code, pod: &Pod, change: Change<'_>) -> bool {
    use Change::{Added, Deleted, Updated};
    match change {
        Added(Object::Claim(claim)) | Updated { new: Object::Claim(claim), .. } if uses(pod, &claim.key) => true,
        // Ours: a claim that lets go of its node, or goes, gives back the space promised to it.
        Updated { old: Object::Claim(old), new: Object::Claim(new) } => {
            code == Code::NOT_ENOUGH_STORAGE && old.selected_node.is_some() && new.selected_node != old.selected_node
        }
        Deleted(Object::Claim(claim)) => code == Code::NOT_ENOUGH_STORAGE && claim.selected_node.is_some(),
        Added(Object::Volume(_) | Object::Class(_) | Object::Node(_) | Object::CsiNode(_) | Object::Pool(_)) => true,
        Updated { new: Object::Volume(_), .. } => true,
        Updated { old: Object::Class(old), new: Object::Class(new) } => {
            old.allowed_topologies != new.allowed_topologies
        }
        Updated { old: Object::Node(old), new: Object::Node(new) } => old.labels != new.labels,
        Updated { old: Object::CsiNode(old), new: Object::CsiNode(new) } => {
            old.migrated_plugins != new.migrated_plugins
        }
        Updated { old: Object::Driver(old), new: Object::Driver(new) } => {
            old.storage_capacity && !new.storage_capacity && has_driver_or_claim(pod, new)
        }
        // Ours: a driver that is gone no longer wants its capacity checked.
        Deleted(Object::Driver(old)) => code == Code::NOT_ENOUGH_STORAGE && old.storage_capacity,
        Updated { old: Object::Pool(old), new: Object::Pool(new) } => grew(old, new),
        _ => false,
    }
}

/// Whether a pool can now make a larger volume than before. Ours: or is reachable from elsewhere, or has more space.
fn grew(old: &Pool, new: &Pool) -> bool {
    new.limit() > old.limit() || new.capacity > old.capacity || new.topology != old.topology
}

/// Upstream looks only at inline volumes of the driver and so never wakes a pod with claims; ours does.
fn has_driver_or_claim(pod: &Pod, driver: &CsiDriver) -> bool {
    pod.volumes.iter().any(|v| match &v.source {
        PodVolumeSource::InlineCsi { driver: name } => *name == driver.name,
        PodVolumeSource::Claim { .. } | PodVolumeSource::Ephemeral { .. } => true,
        _ => false,
    })
}

fn helps_zone(pod: &Pod, change: Change<'_>) -> bool {
    use Change::{Added, Updated};
    match change {
        Added(Object::Class(class)) => class.binding_mode == Some(BindingMode::WaitForFirstConsumer),
        Added(Object::Node(_) | Object::Volume(_)) => true,
        Updated { old: Object::Node(old), new: Object::Node(new) } => old.labels != new.labels,
        Added(Object::Claim(claim)) | Updated { new: Object::Claim(claim), .. } => names(pod, &claim.key),
        Updated { old: Object::Volume(old), new: Object::Volume(new) } => zones_of(old) != zones_of(new),
        _ => false,
    }
}

fn zones_of(volume: &Volume) -> Vec<ZoneConstraint> {
    ZoneConstraint::of_volume(volume).collect()
}

fn helps_limits(code: Code, pod: &Pod, change: Change<'_>) -> bool {
    use Change::{Added, Deleted, Updated};
    match change {
        Added(Object::CsiNode(_)) => true,
        Updated { old: Object::CsiNode(old), new: Object::CsiNode(new) } => limits_loosened(old, new),
        Added(Object::Claim(claim)) => uses(pod, &claim.key),
        Deleted(Object::Pod(gone)) => {
            (gone.node.is_some() || gone.nominated_node.is_some())
                && gone.volumes.iter().any(|v| is_attached(&v.source))
        }
        Deleted(Object::Attachment(gone)) => pod.volumes.iter().any(|v| may_be_attached_by(&v.source, &gone.attacher)),
        // Ours: the driver no longer keeps pods from nodes where it is not installed.
        Updated { old: Object::Driver(old), new: Object::Driver(new) } => {
            code == Code::DRIVER_MISSING && old.prevent_scheduling_if_missing && !new.prevent_scheduling_if_missing
        }
        Deleted(Object::Driver(old)) => code == Code::DRIVER_MISSING && old.prevent_scheduling_if_missing,
        _ => false,
    }
}

/// Whether a driver can attach more than before. Ours: also where a limit is gone, or a driver is new on the node;
/// upstream takes a missing number for zero.
fn limits_loosened(old: &CsiNode, new: &CsiNode) -> bool {
    let driver_new = new.drivers.iter().any(|d| old.driver(&d.name).is_none());
    let limit_gone = old
        .drivers
        .iter()
        .any(|d| d.attach_limit.is_some() && new.driver(&d.name).is_none_or(|entry| entry.attach_limit.is_none()));
    let limit_raised = new.drivers.iter().any(|d| {
        let before = old.driver(&d.name).and_then(|entry| entry.attach_limit).unwrap_or(0);
        d.attach_limit.unwrap_or(0) > before
    });
    driver_new || limit_gone || limit_raised
}

fn is_attached(source: &PodVolumeSource) -> bool {
    match source {
        PodVolumeSource::Claim { .. } | PodVolumeSource::Ephemeral { .. } => true,
        PodVolumeSource::Disk { disk, .. } => migration::plugin_of(disk).is_some(),
        _ => false,
    }
}

/// Whether a volume may need the place that an attachment of this driver gave free. Upstream leaves out ephemeral
/// volumes; ours does not.
fn may_be_attached_by(source: &PodVolumeSource, attacher: &Name) -> bool {
    match source {
        PodVolumeSource::Disk { disk, .. } => migration::plugin_of(disk).is_some_and(|p| p.driver == &**attacher),
        source => is_attached(source),
    }
}

fn helps_restrictions(pod: &Pod, change: Change<'_>) -> bool {
    match change {
        Change::Deleted(Object::Pod(gone)) => {
            let shared = gone.key.namespace == pod.key.namespace
                && claims_of(gone).any(|(claim, plain)| plain && names(pod, &claim));
            // Disks are the node's, whatever the namespace; upstream looks only into the pod's own.
            let freed = |mine: &PodVolumeSource| gone.volumes.iter().any(|theirs| cannot_share(mine, &theirs.source));
            shared || pod.volumes.iter().any(|v| freed(&v.source))
        }
        Change::Added(Object::Node(_)) => true,
        Change::Added(Object::Claim(claim)) => names(pod, &claim.key),
        _ => false,
    }
}

/// Whether a volume of the pod is of this claim, plainly or as an ephemeral one.
fn uses(pod: &Pod, claim: &ObjectKey) -> bool {
    claims_of(pod).any(|(key, _)| key == *claim)
}

/// Whether a volume of the pod names this claim plainly.
fn names(pod: &Pod, claim: &ObjectKey) -> bool {
    claims_of(pod).any(|(key, plain)| plain && key == *claim)
}
