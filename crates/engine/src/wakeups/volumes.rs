//! Rules of the four volume plugins.
//!
//! These go by the changed object and the pod alone, so they do not know which class a claim is of or which volume it has:
//! that is what the [keys](super::Key) are for.

use crate::labels::{Name, ObjectKey};
use crate::model::{BindingMode, Claim, CsiDriver, CsiNode, Node, Pod, PodVolumeSource, Pool, StorageClass, Volume};
use crate::object::Object;
use crate::reason::Code;
use crate::volumes::{ZoneConstraint, cannot_share, claims_of, migration, zone_keys};
use crate::wakeups::Change;

/// VolumeBinding: 3.9 of scheduler-volume-binding.md, and what upstream misses.
pub(super) fn helps_binding(code: Code, pod: &Pod, change: Change<'_>) -> bool {
    use Change::{Added, Deleted, Updated};
    match change {
        Added(Object::Claim(claim)) if uses(pod, &claim.key) => true,
        Updated { old: Object::Claim(old), new: Object::Claim(new) } if uses(pod, &new.key) => claim_differs(old, new),
        // Ours: a claim that lets go of its node, or goes, gives back the space promised to it.
        Updated { old: Object::Claim(old), new: Object::Claim(new) } => {
            space_matters(code, pod) && promise(old).is_some() && promise(old) != promise(new)
        }
        Deleted(Object::Claim(claim)) => space_matters(code, pod) && promise(claim).is_some(),
        Added(Object::Volume(_) | Object::Class(_) | Object::Node(_) | Object::CsiNode(_) | Object::Pool(_)) => true,
        Updated { old: Object::Volume(old), new: Object::Volume(new) } => volume_differs(old, new),
        // Ours: while a volume refers to a claim, no other is looked at for it.
        Deleted(Object::Volume(old)) => old.claim_ref.as_ref().is_some_and(|r| uses(pod, &r.claim)),
        Updated { old: Object::Class(old), new: Object::Class(new) } => class_differs(old, new),
        Updated { old: Object::Node(old), new: Object::Node(new) } => old.labels != new.labels,
        // Ours: space promised to claims on that node is free again.
        Deleted(Object::Node(_)) => space_matters(code, pod),
        Updated { old: Object::CsiNode(old), new: Object::CsiNode(new) } => {
            old.migrated_plugins != new.migrated_plugins
        }
        // Ours: where nothing is migrated, the volume's own affinity counts again.
        Deleted(Object::CsiNode(old)) => code == Code::VOLUME_AFFINITY && !old.migrated_plugins.is_empty(),
        Updated { old: Object::Driver(old), new: Object::Driver(new) } => {
            old.storage_capacity && !new.storage_capacity && has_driver_or_claim(pod, new)
        }
        // Ours: a driver that is gone no longer wants its capacity checked.
        Deleted(Object::Driver(old)) => space_matters(code, pod) && old.storage_capacity,
        Updated { old: Object::Pool(old), new: Object::Pool(new) } => grew(old, new),
        // Ours: what was promised there may now be counted elsewhere.
        Deleted(Object::Pool(_)) => space_matters(code, pod),
        // Ours: a placement that was taken back lets go of volumes and space that were promised to it.
        Deleted(Object::Pod(gone)) => {
            (code == Code::NO_VOLUME || code == Code::NOT_ENOUGH_STORAGE) && claims_of(gone).next().is_some()
        }
        _ => false,
    }
}

/// Whether space could decide: with several claims, one that finds no volume may hide another that finds no room.
pub(super) fn space_matters(code: Code, pod: &Pod) -> bool {
    code == Code::NOT_ENOUGH_STORAGE || (code == Code::NO_VOLUME && claims_of(pod).nth(1).is_some())
}

/// What a claim has promised to it: the node where its volume will be made, and how much.
pub(super) fn promise(claim: &Claim) -> Option<(&Name, i64, &Name)> {
    let node = claim.selected_node.as_ref().filter(|_| claim.volume.is_empty())?;
    Some((node, claim.request?.value(), &claim.class))
}

pub(super) fn claim_differs(old: &Claim, new: &Claim) -> bool {
    *new != Claim { version: new.version, ..old.clone() }
}

pub(super) fn volume_differs(old: &Volume, new: &Volume) -> bool {
    *new != Volume { version: new.version, ..old.clone() }
}

/// Ours: upstream looks at the topologies alone, because an API server lets nothing else be changed. A watch that was
/// interrupted shows a class that was deleted and made anew as a change, too.
fn class_differs(old: &StorageClass, new: &StorageClass) -> bool {
    *new != StorageClass { version: new.version, default_since: new.default_since.clone(), ..old.clone() }
}

/// Whether a pool can now make a larger volume than before. Ours: or is reachable from elsewhere, or has more space, or
/// serves another class.
fn grew(old: &Pool, new: &Pool) -> bool {
    new.limit() > old.limit()
        || new.capacity > old.capacity
        || (old.capacity.is_some() && new.capacity.is_none())
        || new.topology != old.topology
        || new.class != old.class
}

/// Upstream looks only at inline volumes of the driver and so never wakes a pod with claims; ours does.
fn has_driver_or_claim(pod: &Pod, driver: &CsiDriver) -> bool {
    pod.volumes.iter().any(|v| match &v.source {
        PodVolumeSource::InlineCsi { driver: name } => *name == driver.name,
        PodVolumeSource::Claim { .. } | PodVolumeSource::Ephemeral { .. } => true,
        _ => false,
    })
}

/// VolumeZone: 7.2 of other-volume-filters.md.
pub(super) fn helps_zone(pod: &Pod, change: Change<'_>) -> bool {
    use Change::{Added, Updated};
    match change {
        Added(Object::Class(class)) => class.binding_mode == Some(BindingMode::WaitForFirstConsumer),
        Updated { old: Object::Class(old), new: Object::Class(new) } => old.binding_mode != new.binding_mode,
        Added(Object::Node(_) | Object::Volume(_)) => true,
        Updated { old: Object::Node(old), new: Object::Node(new) } => zone_labels(old) != zone_labels(new),
        Added(Object::Claim(claim)) => names(pod, &claim.key),
        Updated { old: Object::Claim(old), new: Object::Claim(new) } => names(pod, &new.key) && claim_differs(old, new),
        Updated { old: Object::Volume(old), new: Object::Volume(new) } => zones_of(old) != zones_of(new),
        _ => false,
    }
}

fn zones_of(volume: &Volume) -> Vec<ZoneConstraint> {
    ZoneConstraint::of_volume(volume).collect()
}

fn zone_labels(node: &Node) -> [Option<&Name>; 4] {
    zone_keys().map(|key| node.labels.get(key))
}

/// NodeVolumeLimits: 7.3 of other-volume-filters.md. With the gate `AttachAwarePlan` the plan decides what is attached,
/// so that whatever changes the plan can help, too.
pub(super) fn helps_limits(code: Code, pod: &Pod, change: Change<'_>) -> bool {
    use Change::{Added, Deleted, Updated};
    match change {
        // Ours: a node without a CSINode has no limits, and one with a CSINode may come after it.
        Added(Object::CsiNode(_) | Object::Node(_)) => true,
        Updated { old: Object::CsiNode(old), new: Object::CsiNode(new) } => {
            limits_loosened(old, new) || old.migrated_plugins != new.migrated_plugins
        }
        // Ours: with the CSINode its limits go.
        Deleted(Object::CsiNode(_)) => true,
        Added(Object::Claim(claim)) => uses(pod, &claim.key),
        // Ours: what a claim is bound to decides which driver it counts for, the pod's own and others'.
        Updated { old: Object::Claim(old), new: Object::Claim(new) } => claim_differs(old, new),
        Deleted(Object::Claim(_)) => true,
        Deleted(Object::Pod(gone)) => gone.volumes.iter().any(|v| is_attached(&v.source)),
        // Ours: what a pod there uses already need not be attached again.
        Added(Object::Pod(new)) => new.volumes.iter().any(|v| is_attached(&v.source)),
        Deleted(Object::Attachment(gone)) => pod.volumes.iter().any(|v| may_be_attached_by(&v.source, &gone.attacher)),
        // Ours, for the same reason; and one that is changed was another's before.
        Added(Object::Attachment(_)) => true,
        Updated { old: Object::Attachment(old), new: Object::Attachment(new) } => {
            (&old.attacher, &old.node, &old.volume) != (&new.attacher, &new.node, &new.volume)
        }
        // Ours: what is attached but has no volume any more does not count, nor what turns out to be another's.
        Deleted(Object::Volume(_) | Object::Class(_)) | Added(Object::Volume(_)) => true,
        Updated { old: Object::Volume(old), new: Object::Volume(new) } => volume_differs(old, new),
        // Ours: the driver no longer keeps pods from nodes where it is not installed.
        Updated { old: Object::Driver(old), new: Object::Driver(new) }
            if code == Code::DRIVER_MISSING
                && old.prevent_scheduling_if_missing
                && !new.prevent_scheduling_if_missing =>
        {
            true
        }
        Deleted(Object::Driver(old)) if code == Code::DRIVER_MISSING && old.prevent_scheduling_if_missing => true,
        // Ours: with other volumes planned for, others are attached.
        other => helps_binding(Code::NOT_ENOUGH_STORAGE, pod, other),
    }
}

/// Whether a driver can attach more than before. Ours: also where a limit is gone, or a driver is new on the node;
/// upstream takes a missing number for zero.
pub(super) fn limits_loosened(old: &CsiNode, new: &CsiNode) -> bool {
    loosened_drivers(old, new).next().is_some()
}

/// The drivers that can attach more than before.
pub(super) fn loosened_drivers<'n>(old: &'n CsiNode, new: &'n CsiNode) -> impl Iterator<Item = &'n Name> {
    let looser = |name: &Name| {
        let before = old.driver(name).map(|d| d.attach_limit);
        let after = new.driver(name).map(|d| d.attach_limit);
        match (before, after) {
            // New on the node: a driver that must be there is.
            (None, Some(_)) => true,
            (Some(Some(_)), None | Some(None)) => true,
            (Some(Some(before)), Some(Some(after))) => after > before,
            _ => false,
        }
    };
    let both = old.drivers.iter().chain(new.drivers.iter().filter(|d| old.driver(&d.name).is_none()));
    both.map(|driver| &driver.name).filter(move |name| looser(name))
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

/// VolumeRestrictions: 7.4 of other-volume-filters.md.
pub(super) fn helps_restrictions(code: Code, pod: &Pod, change: Change<'_>) -> bool {
    match change {
        Change::Deleted(Object::Pod(gone)) => {
            let shared = gone.key.namespace == pod.key.namespace
                && claims_of(gone).any(|(claim, plain)| plain && names(pod, &claim));
            // Disks are the node's, whatever the namespace; upstream looks only into the pod's own.
            let freed = |mine: &PodVolumeSource| gone.volumes.iter().any(|theirs| cannot_share(mine, &theirs.source));
            shared || pod.volumes.iter().any(|v| freed(&v.source))
        }
        Change::Added(Object::Node(_)) => true,
        // Ours: a pod whose node is gone uses nothing.
        Change::Deleted(Object::Node(_)) => code == Code::READ_WRITE_ONCE_POD,
        Change::Added(Object::Claim(claim)) => names(pod, &claim.key),
        // Ours: after an interrupted watch a claim that was made anew looks like one that changed.
        Change::Updated { old: Object::Claim(old), new: Object::Claim(new) } => {
            names(pod, &new.key) && old.access_modes != new.access_modes
        }
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
