//! Pods.

mod affinity;
mod container;
mod convert;
mod features;
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
        /// Whose work it is to place it.
        pub scheduler_name: String,
        /// The priority.
        pub priority: Option<i32>,
        /// Whether it may have others removed: `Never`, or `PreemptLowerPriority` (also where empty).
        pub preemption_policy: String,
        /// The priority's name.
        pub priority_class_name: String,
        /// What it still waits for.
        pub scheduling_gates: Vec<Present>,
        /// Whether it uses the node's network.
        pub host_network: bool,
        /// Whether its users are the node's; they are where unset.
        pub host_users: Option<bool>,
        /// Containers that run before the others, or beside them all.
        pub init_containers: Vec<Container>,
        /// The containers.
        pub containers: Vec<Container>,
        /// Containers added to look at it.
        pub ephemeral_containers: Vec<Container>,
        /// What it costs beside its containers.
        pub overhead: Option<ResourceList>,
        /// Resources of the pod as a whole.
        pub resources: Option<ResourceRequirements>,
        /// The volumes.
        pub volumes: Vec<PodVolume>,
        /// Claims of devices.
        pub resource_claims: Vec<Present>,
        /// The group that it is to be placed with.
        pub scheduling_group: Present,
    }

    /// `status` of a pod.
    pub struct PodStatus {
        /// The phase.
        pub phase: String,
        /// The node that preemption makes room on.
        pub nominated_node_name: String,
        /// When it began on its node, as written.
        pub start_time: String,
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
        /// `True`, `False` or `Unknown`.
        pub status: String,
        /// The reason.
        pub reason: String,
        /// The reason in full.
        pub message: String,
        /// When the status last changed, as written.
        pub last_transition_time: String,
    }
}
