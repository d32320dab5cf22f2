//! The cluster's objects as decisions see them: parsed, compiled and stripped of all that no rule reads.

mod budget;
mod claim;
mod class;
mod csi;
mod disk;
mod features;
mod node;
mod pod;
mod pod_volume;
mod pool;
mod resources;
mod volume;
mod workload;

pub use budget::Budget;
pub use claim::{Claim, ClaimPhase};
pub use class::{BindingMode, NO_PROVISIONER, StorageClass};
pub use csi::{Attachment, CsiDriver, CsiNode, DriverOnNode};
pub use disk::InTreeDisk;
pub use features::{Feature, Features};
pub use node::{Image, Node, Taint, TaintEffect};
pub use pod::{
    Container, HostPort, Pod, PodDemand, PodImages, PodLevelStatus, PodTerm, Requests, SpreadConstraint, Toleration,
    WeightedPodTerm,
};
pub use pod_volume::{ClaimTemplate, PodVolume, PodVolumeSource};
pub use pool::Pool;
pub use resources::{Resources, is_extended, is_scalar};
pub use volume::{AccessModes, ClaimRef, ReclaimPolicy, Volume, VolumeMode, VolumePhase, VolumeSource};
pub use workload::{Namespace, Workload, WorkloadKind};

/// The API server's revision of an object; 0 where the object came from a file that has none.
///
/// Revisions are compared as numbers: a smaller one is an older event and never overwrites a newer one.
pub type Version = u64;
