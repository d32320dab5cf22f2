//! The workloads as far as they are read by type. Everything else is in the JSON that [`plimsoll_runtime::Whole`] keeps.

use plimsoll_api::Pairs;
use plimsoll_api::interner::Interner;
use plimsoll_api::kinds::{ObjectMeta, RawLabelSelector};
use plimsoll_engine::selector::LabelSelector;
use plimsoll_runtime::{Mirrored, Resource, Whole};
use serde::Deserialize;

/// A workload of any kind: who it is, and which pods it is about.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Head {
    /// `metadata`.
    pub metadata: ObjectMeta,
    /// `spec`.
    pub spec: HeadSpec,
    /// The selector, compiled. `None` where there is none or it is not valid: it selects nothing.
    #[serde(skip)]
    pub selector: Option<LabelSelector>,
}

/// The part of a workload's `spec` that all kinds have.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct HeadSpec {
    /// The pods that it is about; a selector that is not there selects nothing.
    pub selector: Option<RawLabelSelector>,
}

impl Head {
    /// Reads the part that all kinds have.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        let mut head: Self = serde_json::from_str(text)?;
        head.selector = head.spec.selector.as_ref().and_then(|raw| raw.compile(&mut Interner::new()).ok());
        Ok(head)
    }
}

/// A kind that other objects belong to.
pub trait Workload: Mirrored {
    /// What all kinds have.
    fn head(&self) -> &Head;
}

impl<T: Workload> Workload for Whole<T> {
    fn head(&self) -> &Head {
        self.slim.head()
    }
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
                Head::read(text).map(Self)
            }

            fn meta(&self) -> &ObjectMeta {
                &self.0.metadata
            }
        }

        impl Workload for $kind {
            fn head(&self) -> &Head {
                &self.0
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

/// A ReplicationController: a ReplicaSet whose selector is a plain map.
#[derive(Clone, Debug, Default)]
pub struct ReplicationController(pub Head);

#[derive(Default, Deserialize)]
#[serde(default)]
struct PlainHead {
    metadata: ObjectMeta,
    spec: PlainSpec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PlainSpec {
    selector: Option<Pairs>,
}

impl Mirrored for ReplicationController {
    const RESOURCE: Resource = Resource::REPLICATION_CONTROLLERS;

    fn read(text: &str) -> Result<Self, serde_json::Error> {
        let PlainHead { metadata, spec } = serde_json::from_str(text)?;
        // The API server fills in the template's labels where there is none; a map of none selects nothing.
        let labels = spec.selector.filter(|labels| !labels.is_empty());
        let selector = labels.map(|labels| LabelSelector::from_set(&labels.to_labels(&mut Interner::new())));
        Ok(Self(Head { metadata, spec: HeadSpec::default(), selector }))
    }

    fn meta(&self) -> &ObjectMeta {
        &self.0.metadata
    }
}

impl Workload for ReplicationController {
    fn head(&self) -> &Head {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(spec: serde_json::Value) -> Option<LabelSelector> {
        let text = json!({"metadata": {"name": "x"}, "spec": spec}).to_string();
        ReplicaSet::read(&text).unwrap().0.selector
    }

    #[test]
    fn a_selector_that_is_missing_or_wrong_is_none() {
        assert!(read(json!({})).is_none());
        assert!(read(json!({"selector": null})).is_none());
        assert!(read(json!({"selector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}})).is_none());
        assert!(read(json!({"selector": {}})).is_some_and(|all| all.is_empty()));
        let exact = LabelSelector::from_labels(&[("app", "web")]);
        assert_eq!(read(json!({"selector": {"matchLabels": {"app": "web"}}})), Some(exact));
    }

    #[test]
    fn a_plain_map_is_a_selector_too() {
        let read = |spec: serde_json::Value| {
            let text = json!({"metadata": {"name": "x"}, "spec": spec}).to_string();
            ReplicationController::read(&text).unwrap().0.selector
        };
        assert_eq!(read(json!({"selector": {"app": "web"}})), Some(LabelSelector::from_labels(&[("app", "web")])));
        assert_eq!(read(json!({"selector": {}})), None);
        assert_eq!(read(json!({})), None);
    }
}
