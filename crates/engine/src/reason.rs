//! "Does not fit" as data: which filter says no, with what stable code, in upstream's words and in ours.

mod codes;

pub use codes::{Code, CodeInfo};

use std::borrow::Cow;

/// A filter's no.
///
/// Made only for somebody who reads it: the hot path asks the filters for a plain yes or no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The plugin that says no, by upstream's name.
    pub plugin: Plugin,
    /// The stable code.
    pub code: Code,
    /// Whether removing pods could change it.
    pub status: Status,
    /// Upstream's reason, word for word.
    pub reason: Cow<'static, str>,
    /// Ours: which claim, volume or class, which place, which numbers.
    pub detail: String,
}

/// Upstream's status of a no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Preemption may help.
    Unschedulable,
    /// It may not.
    UnschedulableAndUnresolvable,
    /// The rule could not be applied.
    Error,
}

/// The plugins, by upstream's names, in the order in which upstream runs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Plugin {
    /// Scheduling gates.
    SchedulingGates,
    /// `spec.nodeName`.
    NodeName,
    /// `spec.unschedulable`.
    NodeUnschedulable,
    /// Taints.
    TaintToleration,
    /// Node selector and node affinity.
    NodeAffinity,
    /// Host ports.
    NodePorts,
    /// Resources.
    NodeResourcesFit,
    /// Disk conflicts and ReadWriteOncePod.
    VolumeRestrictions,
    /// Attach limits.
    NodeVolumeLimits,
    /// Volume binding.
    VolumeBinding,
    /// Legacy zone labels.
    VolumeZone,
    /// Topology spread.
    PodTopologySpread,
    /// Inter-pod affinity.
    InterPodAffinity,
    /// Balanced usage (score only).
    NodeResourcesBalancedAllocation,
    /// Images (score only).
    ImageLocality,
    /// Claims of devices. Nothing here decides about them: a pod that has some is refused as a whole.
    DynamicResources,
    /// What a node must be able to do.
    NodeDeclaredFeatures,
    /// Groups of pods that are placed together. Nothing here decides about them either.
    GangScheduling,
    /// An HTTP extender. Upstream asks them when all filters have accepted a node.
    Extender,
}

impl Plugin {
    /// Every plugin, in upstream's order.
    pub const ALL: [Plugin; 19] = [
        Plugin::SchedulingGates,
        Plugin::NodeName,
        Plugin::NodeUnschedulable,
        Plugin::TaintToleration,
        Plugin::NodeAffinity,
        Plugin::NodePorts,
        Plugin::NodeResourcesFit,
        Plugin::VolumeRestrictions,
        Plugin::NodeVolumeLimits,
        Plugin::VolumeBinding,
        Plugin::VolumeZone,
        Plugin::PodTopologySpread,
        Plugin::InterPodAffinity,
        Plugin::NodeResourcesBalancedAllocation,
        Plugin::ImageLocality,
        Plugin::DynamicResources,
        Plugin::NodeDeclaredFeatures,
        Plugin::GangScheduling,
        Plugin::Extender,
    ];

    /// Upstream's name.
    pub fn name(self) -> &'static str {
        match self {
            Plugin::SchedulingGates => "SchedulingGates",
            Plugin::NodeName => "NodeName",
            Plugin::NodeUnschedulable => "NodeUnschedulable",
            Plugin::TaintToleration => "TaintToleration",
            Plugin::NodeAffinity => "NodeAffinity",
            Plugin::NodePorts => "NodePorts",
            Plugin::NodeResourcesFit => "NodeResourcesFit",
            Plugin::VolumeRestrictions => "VolumeRestrictions",
            Plugin::NodeVolumeLimits => "NodeVolumeLimits",
            Plugin::VolumeBinding => "VolumeBinding",
            Plugin::VolumeZone => "VolumeZone",
            Plugin::PodTopologySpread => "PodTopologySpread",
            Plugin::InterPodAffinity => "InterPodAffinity",
            Plugin::NodeResourcesBalancedAllocation => "NodeResourcesBalancedAllocation",
            Plugin::ImageLocality => "ImageLocality",
            Plugin::DynamicResources => "DynamicResources",
            Plugin::NodeDeclaredFeatures => "NodeDeclaredFeatures",
            Plugin::GangScheduling => "GangScheduling",
            Plugin::Extender => "Extender",
        }
    }

    /// The default weight of its score; 0 where it does not score.
    pub fn weight(self) -> i64 {
        match self {
            Plugin::TaintToleration => 3,
            Plugin::NodeAffinity | Plugin::PodTopologySpread | Plugin::InterPodAffinity => 2,
            Plugin::NodeResourcesFit
            | Plugin::NodeResourcesBalancedAllocation
            | Plugin::ImageLocality
            | Plugin::VolumeBinding => 1,
            _ => 0,
        }
    }
}
