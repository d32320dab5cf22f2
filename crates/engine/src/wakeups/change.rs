//! A change of one object, and what it amounts to.

use smallvec::{SmallVec, smallvec};

use crate::model::{Node, Pod};
use crate::nodes::demand::Held;
use crate::object::{Kind, Object};

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

impl<'o> Change<'o> {
    /// The change in terms of what is placed. A pod that ends has gone from its node; one that a watch shows elsewhere, or
    /// with another uid, was deleted and made anew in between. Pods without a place take part in no rule.
    pub(super) fn parts(self) -> SmallVec<[Change<'o>; 2]> {
        match self {
            Change::Updated { old: was @ Object::Pod(old), new: is @ Object::Pod(new) } => {
                match (has_place(old), has_place(new)) {
                    (true, true) if old.uid == new.uid && place(old) == place(new) => smallvec![self],
                    (true, true) => smallvec![Change::Deleted(was), Change::Added(is)],
                    (true, false) => smallvec![Change::Deleted(was)],
                    (false, true) => smallvec![Change::Added(is)],
                    (false, false) => smallvec![],
                }
            }
            Change::Added(Object::Pod(pod)) | Change::Deleted(Object::Pod(pod)) if !has_place(pod) => smallvec![],
            other => smallvec![other],
        }
    }

    /// Upstream's name of the event, for metrics.
    pub fn label(self) -> &'static str {
        let (object, action) = match self {
            Change::Added(object) => (object, 0),
            Change::Updated { new, .. } => (new, 1),
            Change::Deleted(object) => (object, 2),
        };
        let names = match object.kind() {
            Kind::Node => ["NodeAdd", self.node_update(), "NodeDelete"],
            Kind::Pod => ["AssignedPodAdd", self.pod_update(), "AssignedPodDelete"],
            Kind::PersistentVolume => ["PersistentVolumeAdd", "PersistentVolumeUpdate", "PersistentVolumeDelete"],
            Kind::PersistentVolumeClaim => {
                ["PersistentVolumeClaimAdd", "PersistentVolumeClaimUpdate", "PersistentVolumeClaimDelete"]
            }
            Kind::StorageClass => [
                "storage.k8s.io/StorageClassAdd",
                "storage.k8s.io/StorageClassUpdate",
                "storage.k8s.io/StorageClassDelete",
            ],
            Kind::CsiDriver => {
                ["storage.k8s.io/CSIDriverAdd", "storage.k8s.io/CSIDriverUpdate", "storage.k8s.io/CSIDriverDelete"]
            }
            Kind::CsiNode => {
                ["storage.k8s.io/CSINodeAdd", "storage.k8s.io/CSINodeUpdate", "storage.k8s.io/CSINodeDelete"]
            }
            Kind::CsiStorageCapacity => [
                "storage.k8s.io/CSIStorageCapacityAdd",
                "storage.k8s.io/CSIStorageCapacityUpdate",
                "storage.k8s.io/CSIStorageCapacityDelete",
            ],
            Kind::VolumeAttachment => [
                "storage.k8s.io/VolumeAttachmentAdd",
                "storage.k8s.io/VolumeAttachmentUpdate",
                "storage.k8s.io/VolumeAttachmentDelete",
            ],
            Kind::Namespace => ["NamespaceAdd", "NamespaceUpdate", "NamespaceDelete"],
            Kind::PodDisruptionBudget => {
                ["PodDisruptionBudgetAdd", "PodDisruptionBudgetUpdate", "PodDisruptionBudgetDelete"]
            }
            Kind::Service | Kind::ReplicationController | Kind::ReplicaSet | Kind::StatefulSet => {
                ["WorkloadAdd", "WorkloadUpdate", "WorkloadDelete"]
            }
        };
        names[action]
    }

    fn node_update(self) -> &'static str {
        match self {
            Change::Updated { old: Object::Node(old), new: Object::Node(new) } => match () {
                () if old.unschedulable && !new.unschedulable => "NodeUpdateNodeTaint",
                () if old.allocatable != new.allocatable => "NodeUpdateNodeAllocatable",
                () if old.labels != new.labels => "NodeUpdateNodeLabel",
                () if old.taints != new.taints => "NodeUpdateNodeTaint",
                () if old.features != new.features => "NodeUpdateNodeDeclaredFeature",
                () => "NodeUpdate",
            },
            _ => "NodeUpdate",
        }
    }

    fn pod_update(self) -> &'static str {
        match self {
            Change::Updated { old: Object::Pod(old), new: Object::Pod(new) } => match () {
                () if has_place(old) && !has_place(new) => "AssignedPodDelete",
                () if !has_place(old) => "AssignedPodAdd",
                () if old.labels != new.labels => "AssignedPodUpdatePodLabel",
                () if gives_back(old, new) => "AssignedPodUpdatePodScaleDown",
                () => "AssignedPodUpdate",
            },
            _ => "AssignedPodUpdate",
        }
    }
}

/// The node where a pod counts: its own, or the one that is kept for it.
pub(super) fn place(pod: &Pod) -> Option<&crate::labels::Name> {
    pod.node.as_ref().or(pod.nominated_node.as_ref()).filter(|node| !node.is_empty())
}

fn has_place(pod: &Pod) -> bool {
    place(pod).is_some() && !pod.ended
}

/// Whether a placed pod holds less of something than before.
pub(super) fn gives_back(old: &Pod, new: &Pod) -> bool {
    if old.demand == new.demand {
        return false;
    }
    let (old, new) = (Held::by(old).resources, Held::by(new).resources);
    old.cpu_milli > new.cpu_milli
        || old.memory > new.memory
        || old.ephemeral_storage > new.ephemeral_storage
        || old.scalar.iter().any(|(name, amount)| *amount > new.scalar(name))
}

/// Whether nodes differ in taints or cordon.
pub(super) fn taints_differ(old: &Node, new: &Node) -> bool {
    old.taints != new.taints || old.unschedulable != new.unschedulable
}
