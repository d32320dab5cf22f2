//! Pods.

use crate::labels::{Labels, Name, ObjectKey};
use crate::model::{Features, PodVolume, TaintEffect, Version};
use crate::selector::{LabelSelector, NodeSelector, PreferredTerm, SelectorError};

/// A Pod, as far as placing it, or placing others beside it, depends on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pod {
    /// Namespace and name.
    pub key: ObjectKey,
    /// `metadata.uid`.
    pub uid: Name,
    /// `metadata.resourceVersion`.
    pub version: Version,
    /// `metadata.labels`.
    pub labels: Labels,
    /// The owner with `controller: true`, as (kind, name): default spreading looks up its selector.
    pub controller: Option<(Name, Name)>,
    /// Whether `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// Whether the condition `DisruptionTarget` says that a scheduler removes it for a pod of higher priority.
    pub preempted: bool,
    /// `spec.nodeName`; `None` where the pod is not placed yet.
    pub node: Option<Name>,
    /// `status.nominatedNodeName`.
    pub nominated_node: Option<Name>,
    /// `status.phase` is Succeeded or Failed: the pod holds nothing any more.
    pub ended: bool,
    /// `spec.schedulerName`: whose work it is to place it.
    pub scheduler: Name,
    /// `spec.priority`.
    pub priority: i32,
    /// `spec.preemptionPolicy` is not `Never`.
    pub preempts: bool,
    /// `status.startTime` as written, in UTC, so that text order is time order; `None` where it has not begun.
    pub started: Option<Name>,
    /// `spec.schedulingGates` is not empty.
    pub gated: bool,
    /// What it asks for and holds.
    pub demand: PodDemand,
    /// The images of its init containers and containers.
    pub images: PodImages,
    /// `hostPort`s of its containers and sidecars.
    pub host_ports: Vec<HostPort>,
    /// `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
    /// `spec.nodeSelector`; empty where unset.
    pub node_selector: Labels,
    /// `spec.affinity.nodeAffinity.required…`.
    pub required_node_affinity: Option<NodeSelector>,
    /// `spec.affinity.nodeAffinity.preferred…`.
    pub preferred_node_affinity: Vec<PreferredTerm>,
    /// `spec.affinity.podAffinity.required…`.
    pub required_affinity: Vec<PodTerm>,
    /// `spec.affinity.podAntiAffinity.required…`.
    pub required_anti_affinity: Vec<PodTerm>,
    /// `spec.affinity.podAffinity.preferred…`.
    pub preferred_affinity: Vec<WeightedPodTerm>,
    /// `spec.affinity.podAntiAffinity.preferred…`.
    pub preferred_anti_affinity: Vec<WeightedPodTerm>,
    /// `spec.topologySpreadConstraints`.
    pub spread: Vec<SpreadConstraint>,
    /// `spec.volumes`.
    pub volumes: Vec<PodVolume>,
    /// What a node must declare for it.
    pub features: Features,
    /// Something of its spec that no decision here takes into account, such as claims of devices: it must not be placed
    /// as though that were not there.
    pub undecided: Option<Name>,
}

impl Pod {
    /// A pod that asks for nothing: the start for one that does.
    pub fn named(namespace: &str, name: &str) -> Self {
        Self { key: ObjectKey::new(namespace, name), preempts: true, ..Self::default() }
    }
}

/// What a pod's containers ask for, and what a running one holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodDemand {
    /// `spec.initContainers`, in order.
    pub init_containers: Vec<Container>,
    /// `spec.containers`.
    pub containers: Vec<Container>,
    /// `spec.resources.requests`: pod-level requests, where set.
    pub pod_level: Option<Requests>,
    /// `spec.overhead`.
    pub overhead: Option<Requests>,
    /// A resize that the node called infeasible: what the spec asks for does not count.
    pub resize_infeasible: bool,
    /// Pod-level resources that the status reports, where `status.resources` is set.
    pub status_pod_level: Option<PodLevelStatus>,
}

/// What the status says of the pod as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodLevelStatus {
    /// `status.allocatedResources`, where set.
    pub allocated: Option<Requests>,
    /// `status.resources.requests`, where set.
    pub actual: Option<Requests>,
}

/// One container's share of a pod's demand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Container {
    /// `name`.
    pub name: Name,
    /// `restartPolicy: Always` on an init container: a sidecar that stays.
    pub sidecar: bool,
    /// `resources.requests`.
    pub requests: Requests,
    /// `status…allocatedResources`, where the status has it.
    pub allocated: Option<Requests>,
    /// `status…resources.requests`, where the status has it.
    pub actual: Option<Requests>,
}

/// Requests by resource; a resource that is not named differs from one that asks for zero.
pub type Requests = std::collections::BTreeMap<Name, crate::quantity::Quantity>;

/// The images of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodImages {
    /// `spec.initContainers[].image`.
    pub init: Vec<Name>,
    /// `spec.containers[].image`.
    pub main: Vec<Name>,
    /// `spec.volumes[].image.reference`.
    pub volumes: Vec<Name>,
}

impl PodImages {
    /// All of them, each as often as it is named.
    pub fn all(&self) -> impl Iterator<Item = &Name> {
        self.init.iter().chain(&self.main).chain(&self.volumes)
    }
}

/// A port taken on the node itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPort {
    /// `hostIP`, as written.
    pub ip: Name,
    /// `protocol`; `TCP` unless told.
    pub protocol: Name,
    /// `hostPort`.
    pub port: i32,
}

impl std::fmt::Display for HostPort {
    /// `80/TCP`, with the address before it where one is named.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.ip.is_empty() {
            write!(f, "{}:", self.ip)?;
        }
        write!(f, "{}/{}", self.port, self.protocol)
    }
}

/// A toleration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toleration {
    /// The key; empty with `Exists` tolerates every key.
    pub key: Name,
    /// `Equal` (also where empty), `Exists`, `Lt` or `Gt`, as written.
    pub operator: Name,
    /// The value.
    pub value: Name,
    /// The effect; `None` is all of them.
    pub effect: Option<TaintEffect>,
}

/// A term of inter-pod (anti-)affinity.
#[derive(Clone, Debug, PartialEq)]
pub struct PodTerm {
    /// `topologyKey`.
    pub topology_key: Name,
    /// `labelSelector`; `None` matches no pod. One that does not parse fails the pod that carries it.
    pub selector: Option<Result<LabelSelector, SelectorError>>,
    /// `namespaces`.
    pub namespaces: Vec<Name>,
    /// `namespaceSelector`; `None` selects none.
    pub namespace_selector: Option<Result<LabelSelector, SelectorError>>,
}

/// A weighted term of preferred inter-pod (anti-)affinity.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedPodTerm {
    /// 1–100.
    pub weight: i32,
    /// The term.
    pub term: PodTerm,
}

/// A topology spread constraint.
#[derive(Clone, Debug, PartialEq)]
pub struct SpreadConstraint {
    /// `maxSkew`.
    pub max_skew: i32,
    /// `topologyKey`.
    pub topology_key: Name,
    /// `whenUnsatisfiable: DoNotSchedule`; otherwise it only scores.
    pub hard: bool,
    /// `labelSelector`; `None` matches no pod.
    pub selector: Option<Result<LabelSelector, SelectorError>>,
    /// `matchLabelKeys`.
    pub match_label_keys: Vec<Name>,
    /// `minDomains`; `None` is 1.
    pub min_domains: Option<i32>,
    /// `nodeAffinityPolicy: Honor` (the default).
    pub honor_affinity: bool,
    /// `nodeTaintsPolicy: Honor` (default: Ignore).
    pub honor_taints: bool,
}
