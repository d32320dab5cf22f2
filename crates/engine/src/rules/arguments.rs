//! The plugins' arguments, as a profile's configuration gives them.

use crate::labels::Name;
use crate::model::SpreadConstraint;
use crate::selector::{NodeSelector, PreferredTerm};
use crate::volumes::Shape;

/// `NodeResourcesFitArgs.scoringStrategy.type`: what use of a node's resources is good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScoringStrategy {
    /// The more stays free, the better.
    LeastAllocated,
    /// The more is used, the better.
    MostAllocated,
    /// As a line says, from the share in use to a score.
    RequestedToCapacityRatio(Shape),
}

/// A resource that is scored, and how much it counts beside the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceWeight {
    /// The resource's name.
    pub resource: Name,
    /// Its weight, 1–100.
    pub weight: i64,
}

/// `NodeAffinityArgs.addedAffinity`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddedAffinity {
    /// `requiredDuringSchedulingIgnoredDuringExecution`; its terms have been read without error.
    pub required: Option<NodeSelector>,
    /// `preferredDuringSchedulingIgnoredDuringExecution`; its terms have been read without error.
    pub preferred: Vec<PreferredTerm>,
}

/// `PodTopologySpreadArgs`: the constraints of pods that have none of their own.
#[derive(Clone, Debug, PartialEq)]
pub enum DefaultSpread {
    /// `defaultingType: System`: soft, over nodes and zones.
    System,
    /// `defaultingType: List`: these. What they count is what the pod's Services and its controller select, whatever
    /// selector they have. Unlike the system's, they do not score nodes that lack one of the labels.
    List(Vec<SpreadConstraint>),
}
