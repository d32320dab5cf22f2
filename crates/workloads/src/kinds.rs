//! The workloads as far as they are read by type. Everything else is in the JSON that [`plimsoll_runtime::Whole`] keeps.

use plimsoll_api::kinds::{ObjectMeta, RawLabelSelector};
use plimsoll_runtime::{Mirrored, Resource};
use serde::Deserialize;

/// A workload of any kind: who it is, and which pods it is about.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Head {
    /// `metadata`.
    pub metadata: ObjectMeta,
    /// `spec`.
    pub spec: HeadSpec,
}

/// The part of a workload's `spec` that all kinds have.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct HeadSpec {
    /// The pods that it is about; a selector that is not there selects nothing.
    pub selector: Option<RawLabelSelector>,
}

/// Declares a kind of workload.
macro_rules! workload {
    ($($(#[$meta:meta])* $kind:ident => $resource:expr;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, Default)]
        pub struct $kind(pub Head);

        impl Mirrored for $kind {
            const RESOURCE: Resource = $resource;

            fn read(text: &str) -> Result<Self, serde_json::Error> {
                serde_json::from_str(text).map(Self)
            }

            fn meta(&self) -> &ObjectMeta {
                &self.0.metadata
            }
        }
    )*};
}

workload! {
    /// A Deployment.
    Deployment => Resource::DEPLOYMENTS;
    /// A ReplicaSet.
    ReplicaSet => Resource::REPLICA_SETS;
    /// A StatefulSet.
    StatefulSet => Resource::STATEFUL_SETS;
    /// A DaemonSet.
    DaemonSet => Resource::DAEMON_SETS;
    /// A Job.
    Job => Resource::JOBS;
    /// A ControllerRevision: what a StatefulSet or DaemonSet once was.
    Revision => Resource::REVISIONS;
    /// A PodDisruptionBudget.
    Budget => Resource::BUDGETS;
    /// A Lease: how a node shows that it lives.
    Lease => Resource::LEASES;
}
