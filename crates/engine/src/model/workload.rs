//! Objects whose selectors default spreading reads, and namespaces.

use crate::labels::{Labels, Name, ObjectKey};
use crate::model::Version;
use crate::selector::LabelSelector;

/// A Namespace: its labels are what `namespaceSelector` reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Namespace {
    /// `metadata.name`.
    pub name: Name,
    /// `metadata.resourceVersion`.
    pub version: Version,
    /// `metadata.labels`.
    pub labels: Labels,
}

/// The kinds whose pods are spread by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WorkloadKind {
    /// v1 Service.
    Service,
    /// v1 ReplicationController.
    ReplicationController,
    /// apps/v1 ReplicaSet.
    ReplicaSet,
    /// apps/v1 StatefulSet.
    StatefulSet,
}

/// A Service, ReplicationController, ReplicaSet or StatefulSet.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Its kind.
    pub kind: WorkloadKind,
    /// Namespace and name.
    pub key: ObjectKey,
    /// `metadata.resourceVersion`.
    pub version: Version,
    /// Its pod selector; `None` where it has none or one that does not parse.
    pub selector: Option<LabelSelector>,
}
