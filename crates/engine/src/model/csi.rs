//! CSIDriver, CSINode and VolumeAttachment.

use crate::labels::Name;
use crate::model::Version;

/// A CSIDriver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsiDriver {
    /// `metadata.name`.
    pub name: Name,
    /// `metadata.resourceVersion`.
    pub version: Version,
    /// `spec.storageCapacity`: whether the driver publishes capacity and wants it checked.
    pub storage_capacity: bool,
    /// `spec.preventPodSchedulingIfMissing`.
    pub prevent_scheduling_if_missing: bool,
}

/// A CSINode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsiNode {
    /// The node's name.
    pub node: Name,
    /// `metadata.resourceVersion`.
    pub version: Version,
    /// `spec.drivers`.
    pub drivers: Vec<DriverOnNode>,
    /// The annotation `storage.alpha.kubernetes.io/migrated-plugins`, split.
    pub migrated_plugins: Vec<Name>,
}

impl CsiNode {
    /// The driver's entry on this node.
    pub fn driver(&self, name: &str) -> Option<&DriverOnNode> {
        self.drivers.iter().find(|d| &*d.name == name)
    }
}

/// A driver installed on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverOnNode {
    /// The driver's name.
    pub name: Name,
    /// `allocatable.count`; `None` is unlimited.
    pub attach_limit: Option<i32>,
}

/// A VolumeAttachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// `metadata.name`.
    pub name: Name,
    /// `metadata.resourceVersion`.
    pub version: Version,
    /// `spec.attacher`.
    pub attacher: Name,
    /// `spec.nodeName`.
    pub node: Name,
    /// `spec.source.persistentVolumeName`; `None` for inline volumes.
    pub volume: Option<Name>,
}
