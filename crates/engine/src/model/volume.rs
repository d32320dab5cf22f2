//! PersistentVolumes.

use crate::labels::{Labels, Name, ObjectKey};
use crate::model::{InTreeDisk, Version};
use crate::quantity::Quantity;
use crate::selector::NodeSelector;

/// A PersistentVolume.
#[derive(Clone, Debug, PartialEq)]
pub struct Volume {
    /// `metadata.name`.
    pub name: Name,
    /// `metadata.resourceVersion`.
    pub version: Version,
    /// `metadata.labels`: claim selectors and the legacy zone labels read them.
    pub labels: Labels,
    /// The class name; the beta annotation wins over the field.
    pub class: Name,
    /// `spec.storageClassName` alone: upstream's score groups by the field and not by the annotation.
    pub class_field: Name,
    /// `spec.capacity.storage`, zero where missing.
    pub capacity: Quantity,
    /// `spec.accessModes`.
    pub access_modes: AccessModes,
    /// `spec.volumeMode`.
    pub mode: VolumeMode,
    /// `spec.volumeAttributesClassName`; empty where unset.
    pub attributes_class: Name,
    /// `spec.nodeAffinity.required`; `None` is reachable from every node.
    pub affinity: Option<std::sync::Arc<NodeSelector>>,
    /// `spec.claimRef`.
    pub claim_ref: Option<ClaimRef>,
    /// `status.phase`.
    pub phase: VolumePhase,
    /// Whether `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// Whether the annotation `pv.kubernetes.io/bound-by-controller` is present.
    pub bound_by_controller: bool,
    /// `spec.persistentVolumeReclaimPolicy`.
    pub reclaim: ReclaimPolicy,
    /// The annotation `pv.kubernetes.io/provisioned-by`: who made it on demand.
    pub provisioned_by: Option<Name>,
    /// What stands behind the volume, as far as attach limits and migration care.
    pub source: VolumeSource,
}

/// `spec.persistentVolumeReclaimPolicy`: what becomes of a volume whose claim is gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReclaimPolicy {
    /// It is kept until a person looks at it.
    #[default]
    Retain,
    /// It is deleted, with what is on it.
    Delete,
    /// It is emptied and used again.
    Recycle,
    /// Something that this version does not know: nothing is done.
    Other,
}

/// `spec.claimRef` of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRef {
    /// The claim it names.
    pub claim: ObjectKey,
    /// The claim's uid; empty when a person pre-bound the volume by name.
    pub uid: Name,
}

impl ClaimRef {
    /// Whether the reference is to the claim `key` with `uid`. A reference without a uid means the name alone.
    pub fn is_to(&self, key: &ObjectKey, uid: &str) -> bool {
        self.claim == *key && (self.uid.is_empty() || *self.uid == *uid)
    }
}

/// `status.phase` of a volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VolumePhase {
    /// Not yet looked at by the volume controller.
    #[default]
    Pending,
    /// Free.
    Available,
    /// Taken.
    Bound,
    /// Its claim is gone.
    Released,
    /// Reclaiming it failed.
    Failed,
}

/// `volumeMode` of volumes and claims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum VolumeMode {
    /// A formatted file system (what an absent field means).
    #[default]
    Filesystem,
    /// A raw block device.
    Block,
}

/// A set of access modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccessModes(u8);

impl AccessModes {
    /// `ReadWriteOnce`.
    pub const READ_WRITE_ONCE: Self = Self(1);
    /// `ReadOnlyMany`.
    pub const READ_ONLY_MANY: Self = Self(2);
    /// `ReadWriteMany`.
    pub const READ_WRITE_MANY: Self = Self(4);
    /// `ReadWriteOncePod`.
    pub const READ_WRITE_ONCE_POD: Self = Self(8);

    /// Reads one mode by its API name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "ReadWriteOnce" => Some(Self::READ_WRITE_ONCE),
            "ReadOnlyMany" => Some(Self::READ_ONLY_MANY),
            "ReadWriteMany" => Some(Self::READ_WRITE_MANY),
            "ReadWriteOncePod" => Some(Self::READ_WRITE_ONCE_POD),
            _ => None,
        }
    }

    /// Both sets together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether every mode of `other` is in this set.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// What stands behind a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VolumeSource {
    /// A CSI volume.
    Csi {
        /// The driver's name.
        driver: Name,
        /// The driver's own name for the volume.
        handle: Name,
    },
    /// A disk of a former in-tree plugin, which migration hands to a CSI driver.
    InTree(InTreeDisk),
    /// Anything else (local, hostPath, NFS, …): never counted against attach limits.
    Other,
}
