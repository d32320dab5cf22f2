//! Drivers and their free space: only rescue among the controllers looks at them, so they are mirrored here.

use std::sync::Arc;

use plimsoll_api::kinds::{CsiDriver, CsiStorageCapacity, ObjectMeta};
use plimsoll_runtime::{Context, Mirror, Mirrored, Resource, Selection};
use serde_json::value::RawValue;

/// A CSIDriver.
#[derive(Debug)]
pub struct Driver(pub CsiDriver);

/// A CSIStorageCapacity.
#[derive(Debug)]
pub struct Pool(pub CsiStorageCapacity);

impl Mirrored for Driver {
    const RESOURCE: Resource = Resource::CSI_DRIVERS;

    fn read(raw: &RawValue) -> Result<Self, serde_json::Error> {
        serde_json::from_str(raw.get()).map(Self)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.0.metadata
    }
}

impl Mirrored for Pool {
    const RESOURCE: Resource = Resource {
        group: "storage.k8s.io",
        version: "v1",
        plural: "csistoragecapacities",
        kind: "CSIStorageCapacity",
        namespaced: true,
    };

    fn read(raw: &RawValue) -> Result<Self, serde_json::Error> {
        serde_json::from_str(raw.get()).map(Self)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.0.metadata
    }
}

/// Begins to keep both mirrors true.
pub fn reflect(context: &Context, drivers: &Arc<Mirror<Driver>>, pools: &Arc<Mirror<Pool>>) {
    plimsoll_runtime::reflect(context, drivers, Selection::default());
    plimsoll_runtime::reflect(context, pools, Selection::default());
}
