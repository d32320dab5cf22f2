//! StorageClasses.

use crate::labels::Name;
use crate::model::Version;
use crate::selector::AllowedTopologies;

/// The provisioner name that says "volumes of this class are made by hand".
pub const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// A StorageClass.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageClass {
    /// `metadata.name`.
    pub name: Name,
    /// `metadata.resourceVersion`.
    pub version: Version,
    /// `provisioner`.
    pub provisioner: Name,
    /// `volumeBindingMode`; `None` only in objects that never went through an API server.
    pub binding_mode: Option<BindingMode>,
    /// Its creation time (RFC 3339, UTC) if it is marked as the default class: of several the newest wins, then the first
    /// by name.
    pub default_since: Option<Name>,
    /// `allowedTopologies`.
    pub allowed_topologies: AllowedTopologies,
}

impl StorageClass {
    /// Whether volumes of this class can be made on demand.
    pub fn provisions(&self) -> bool {
        !self.provisioner.is_empty() && &*self.provisioner != NO_PROVISIONER
    }
}

/// `volumeBindingMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindingMode {
    /// Claims are bound or provisioned as soon as they exist.
    Immediate,
    /// Claims wait for a pod, so that the scheduler can choose the place.
    WaitForFirstConsumer,
}
