//! CSIStorageCapacity: the pools that drivers publish.

use crate::labels::{Name, ObjectKey};
use crate::model::Version;
use crate::quantity::Quantity;
use crate::selector::LabelSelector;

/// A CSIStorageCapacity object.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// Namespace and name. The namespace means nothing to decisions.
    pub key: ObjectKey,
    /// `metadata.resourceVersion`.
    pub version: Version,
    /// `storageClassName`.
    pub class: Name,
    /// `nodeTopology`; `None` (absent, or not a valid selector) is reachable from nowhere.
    pub topology: Option<LabelSelector>,
    /// `capacity`.
    pub capacity: Option<Quantity>,
    /// `maximumVolumeSize`.
    pub maximum_volume_size: Option<Quantity>,
}

impl Pool {
    /// The largest volume the pool says it can make: the explicit maximum, else all of its space.
    pub fn limit(&self) -> Option<Quantity> {
        self.maximum_volume_size.or(self.capacity)
    }
}
