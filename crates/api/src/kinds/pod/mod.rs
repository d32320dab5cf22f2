//! Pods.

mod affinity;
mod container;
mod convert;
mod volumes;

pub use affinity::{Affinity, NodeAffinity, PodAffinity, PodAffinityTerm, PreferredNodeTerm, SpreadConstraint};
pub use affinity::{Toleration, WeightedPodAffinityTerm};
pub use container::{Container, ContainerPort, ContainerStatus, ResourceRequirements};
pub use volumes::{ClaimSource, PodVolume};

use crate::kinds::ObjectMeta;
use crate::lenient::{Pairs, Present, ResourceList, slim};

slim! {
    /// A Pod.
    pub struct Pod {
        /// `metadata`.
        pub metadata: ObjectMeta,
        /// `spec`.
        pub spec: PodSpec,
        /// `status`.
        pub status: PodStatus,
    }

    /// `spec` of a pod.
    pub struct PodSpec {
        /// The node it is on.
        pub node_name: String,
        /// Labels that its node must have.
        pub node_selector: Pairs,
        /// What it wants near, and what not.
        pub affinity: Affinity,
        /// The taints it can stand.
        pub tolerations: Vec<Toleration>,
        /// How it is spread.
        pub topology_spread_constraints: Vec<SpreadConstraint>,
        /// The priority.
        pub priority: Option<i32>,
        /// The priority's name.
        pub priority_class_name: String,
        /// What it still waits for.
        pub scheduling_gates: Vec<Present>,
        /// Whether it uses the node's network.
        pub host_network: bool,
        /// Containers that run before the others, or beside them all.
        pub init_containers: Vec<Container>,
        /// The containers.
        pub containers: Vec<Container>,
        /// What it costs beside its containers.
        pub overhead: Option<ResourceList>,
        /// Resources of the pod as a whole.
        pub resources: Option<ResourceRequirements>,
        /// The volumes.
        pub volumes: Vec<PodVolume>,
    }

    /// `status` of a pod.
    pub struct PodStatus {
        /// The phase.
        pub phase: String,
        /// The node that preemption makes room on.
        pub nominated_node_name: String,
        /// The conditions.
        pub conditions: Vec<PodCondition>,
        /// What the containers have.
        pub container_statuses: Vec<ContainerStatus>,
        /// What the init containers have.
        pub init_container_statuses: Vec<ContainerStatus>,
        /// What the node has set aside for the pod as a whole.
        pub allocated_resources: Option<ResourceList>,
        /// What the pod as a whole has.
        pub resources: Option<ResourceRequirements>,
    }

    /// A condition of a pod.
    pub struct PodCondition {
        /// The type.
        #[serde(rename = "type")]
        pub kind: String,
        /// The reason.
        pub reason: String,
    }
}
