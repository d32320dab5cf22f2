//! CSIDriver, CSINode, CSIStorageCapacity and VolumeAttachment.

use plimsoll_engine::labels::Name;
use plimsoll_engine::model;

use crate::error::ConvertError;
use crate::interner::Interner;
use crate::kinds::{ObjectMeta, RawLabelSelector};
use crate::lenient::{QuantityText, slim};
use crate::names;

slim! {
    /// A CSIDriver.
    pub struct CsiDriver {
        /// `metadata`.
        pub metadata: ObjectMeta,
        /// `spec`.
        pub spec: DriverSpec,
    }

    /// `spec` of a driver.
    pub struct DriverSpec {
        /// Whether it publishes its capacity.
        pub storage_capacity: bool,
        /// Whether pods are kept off nodes that lack it.
        pub prevent_pod_scheduling_if_missing: bool,
    }

    /// A CSINode.
    pub struct CsiNode {
        /// `metadata`.
        pub metadata: ObjectMeta,
        /// `spec`.
        pub spec: CsiNodeSpec,
    }

    /// `spec` of a CSINode.
    pub struct CsiNodeSpec {
        /// The drivers on the node.
        pub drivers: Vec<NodeDriver>,
    }

    /// A driver on a node.
    pub struct NodeDriver {
        /// Its name.
        pub name: String,
        /// How much of it the node can take.
        pub allocatable: NodeDriverLimit,
    }

    /// `allocatable` of a driver on a node.
    pub struct NodeDriverLimit {
        /// How many volumes; `None` is any number.
        pub count: Option<i32>,
    }

    /// A CSIStorageCapacity.
    pub struct CsiStorageCapacity {
        /// `metadata`.
        pub metadata: ObjectMeta,
        /// The class it is about.
        pub storage_class_name: String,
        /// Where it can be reached from.
        pub node_topology: Option<RawLabelSelector>,
        /// The free space.
        pub capacity: Option<QuantityText>,
        /// The largest volume that can be made.
        pub maximum_volume_size: Option<QuantityText>,
    }

    /// A VolumeAttachment.
    pub struct VolumeAttachment {
        /// `metadata`.
        pub metadata: ObjectMeta,
        /// `spec`.
        pub spec: AttachmentSpec,
    }

    /// `spec` of an attachment.
    pub struct AttachmentSpec {
        /// Who attaches.
        pub attacher: String,
        /// To which node.
        pub node_name: String,
        /// What.
        pub source: AttachmentSource,
    }

    /// `spec.source` of an attachment.
    pub struct AttachmentSource {
        /// The volume; `None` where the volume is written out inline.
        pub persistent_volume_name: Option<String>,
    }
}

impl CsiDriver {
    /// The driver as decisions see it.
    pub fn to_engine(&self, names: &mut Interner) -> Result<model::CsiDriver, ConvertError> {
        Ok(model::CsiDriver {
            name: names.share(&self.metadata.name),
            version: self.metadata.version(),
            storage_capacity: self.spec.storage_capacity,
            prevent_scheduling_if_missing: self.spec.prevent_pod_scheduling_if_missing,
        })
    }
}

impl CsiNode {
    /// The node's drivers as decisions see them.
    pub fn to_engine(&self, names: &mut Interner) -> Result<model::CsiNode, ConvertError> {
        let migrated = self.metadata.annotation(names::MIGRATED_PLUGINS).unwrap_or_default();
        Ok(model::CsiNode {
            node: names.share(&self.metadata.name),
            version: self.metadata.version(),
            drivers: self
                .spec
                .drivers
                .iter()
                .map(|d| model::DriverOnNode { name: names.share(&d.name), attach_limit: d.allocatable.count })
                .collect(),
            migrated_plugins: migrated.split(',').filter(|p| !p.is_empty()).map(|p| names.share(p)).collect(),
        })
    }
}

impl CsiStorageCapacity {
    /// The pool as decisions see it. A topology that is not a valid selector is reachable from nowhere.
    pub fn to_engine(&self, names: &mut Interner) -> Result<model::Pool, ConvertError> {
        let quantity = |text: &Option<QuantityText>, field: &str| {
            text.as_ref().map(|q| q.parse().map_err(|e| e.at(field))).transpose()
        };
        Ok(model::Pool {
            key: self.metadata.key(names),
            version: self.metadata.version(),
            class: names.share(&self.storage_class_name),
            topology: self.node_topology.as_ref().and_then(|t| t.compile(names).ok()),
            capacity: quantity(&self.capacity, "capacity")?,
            maximum_volume_size: quantity(&self.maximum_volume_size, "maximumVolumeSize")?,
        })
    }
}

impl VolumeAttachment {
    /// The attachment as decisions see it.
    pub fn to_engine(&self, names: &mut Interner) -> Result<model::Attachment, ConvertError> {
        Ok(model::Attachment {
            name: Name::from(self.metadata.name.as_str()),
            version: self.metadata.version(),
            attacher: names.share(&self.spec.attacher),
            node: names.share(&self.spec.node_name),
            volume: self.spec.source.persistent_volume_name.as_deref().map(Name::from),
        })
    }
}
