//! The kinds that are read: slim types, and each one's conversion to the engine's model.

pub mod budget;
pub mod claim;
pub mod class;
pub mod csi;
pub mod disk;
pub mod meta;
pub mod node;
pub mod pod;
pub mod selectors;
pub mod volume;
pub mod workload;

#[cfg(test)]
mod tests;

pub use budget::PodDisruptionBudget;
pub use claim::PersistentVolumeClaim;
pub use class::{PriorityClass, StorageClass};
pub use csi::{CsiDriver, CsiNode, CsiStorageCapacity, VolumeAttachment};
pub use meta::{ObjectMeta, OwnerReference};
pub use node::{Node, Taint};
pub use pod::Pod;
pub use selectors::{RawLabelSelector, RawNodeSelector};
pub use volume::PersistentVolume;
pub use workload::{Namespace, PodSet, ReplicaSetSelector, ReplicationController, Service, StatefulSetSelector};
