//! kube-scheduler 1.37's own feature gates, and what becomes of each here.

/// What becomes of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateTreatment {
    /// It can be had both ways; on unless told otherwise, as upstream.
    Honoured,
    /// It is on, and cannot be turned off.
    AlwaysOn(&'static str),
    /// It is off, and cannot be turned on.
    NotBuilt(&'static str),
    /// Either way is the same.
    Indifferent(&'static str),
}

use GateTreatment::{AlwaysOn, Honoured, Indifferent, NotBuilt};

const DEVICES: GateTreatment = Indifferent(
    "pods with spec.resourceClaims are not placed by this scheduler; they wait, with a reason that says so",
);
const GROUPS: GateTreatment = NotBuilt("pods of scheduling groups wait, with a reason that says so");
const SPREAD: GateTreatment = AlwaysOn("topology spread follows the pod's own fields");

/// Every gate that kube-scheduler asks for, by name.
pub const GATES: [(&str, GateTreatment); 37] = [
    ("ClearingNominatedNodeNameAfterBinding", Indifferent("it is the API server that clears the field")),
    ("CompositePodGroup", GROUPS),
    ("CoordinatedLeaderElection", NotBuilt("the lease is taken by whoever comes first")),
    ("DRAConsumableCapacity", DEVICES),
    ("DRADerivedAttributes", DEVICES),
    ("DRADeviceBindingConditions", DEVICES),
    ("DRADeviceCompatibilityGroups", DEVICES),
    ("DRADeviceTaintRules", DEVICES),
    ("DRADeviceTaints", DEVICES),
    ("DRAExtendedResource", DEVICES),
    ("DRAFractionalCapacityRange", DEVICES),
    ("DRAListTypeAttributes", DEVICES),
    ("DRANodeAllocatableResources", DEVICES),
    ("DRAOptionalNodeOperations", DEVICES),
    ("DRAPartitionableDevices", DEVICES),
    ("DRAResourceClaimDeviceStatus", DEVICES),
    ("DRASchedulerFilterTimeout", DEVICES),
    ("DRAWorkloadResourceClaims", DEVICES),
    ("DynamicResourceAllocation", DEVICES),
    ("GenericWorkload", GROUPS),
    ("InPlacePodVerticalScalingSchedulerPreemption", NotBuilt("a resize that a node cannot take yet preempts nobody")),
    ("InterPodAffinityHostnameFastPath", Indifferent("it changes how upstream counts, not what comes out")),
    ("MatchLabelKeysInPodTopologySpread", SPREAD),
    ("NodeDeclaredFeatures", AlwaysOn("nodes are refused for what they do not declare")),
    ("NodeInclusionPolicyInPodTopologySpread", SPREAD),
    ("NominatedNodeNameForExpectation", AlwaysOn("others are told where a pod is going while its volumes are bound")),
    ("OpportunisticBatching", Indifferent("verdicts are kept and reused whatever this says")),
    ("PodGroupPreemptionPolicy", GROUPS),
    ("PodLevelResources", AlwaysOn("pod-level requests count")),
    ("SchedulerAsyncAPICalls", Indifferent("no decision waits for a write")),
    ("SchedulerAsyncPreemption", AlwaysOn("victims are deleted beside the next decisions")),
    (POP_FROM_BACKOFF, Honoured),
    ("SchedulerPreQueueingHints", Indifferent("a change is looked up by what it can help")),
    ("SchedulerQueueingHints", AlwaysOn("a pod is woken by what can help it")),
    (STORAGE_CAPACITY_SCORING, Honoured),
    ("TopologyAwareWorkloadScheduling", GROUPS),
    (VOLUME_LIMIT_SCALING, Honoured),
];

const STORAGE_CAPACITY_SCORING: &str = "StorageCapacityScoring";
const VOLUME_LIMIT_SCALING: &str = "VolumeLimitScaling";
const POP_FROM_BACKOFF: &str = "SchedulerPopFromBackoffQ";

/// Those of upstream's gates that can be had both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpstreamGates {
    /// StorageCapacityScoring: VolumeBinding scores, and its arguments may have a shape.
    pub storage_capacity_scoring: bool,
    /// VolumeLimitScaling: a driver may ask that pods keep off nodes where it is missing.
    pub volume_limit_scaling: bool,
    /// SchedulerPopFromBackoffQ: an idle scheduler tries pods before their backoff is over.
    pub pop_from_backoff: bool,
}

impl Default for UpstreamGates {
    fn default() -> Self {
        Self { storage_capacity_scoring: true, volume_limit_scaling: true, pop_from_backoff: true }
    }
}

impl UpstreamGates {
    /// Turns a gate on or off. `None` where kube-scheduler asks for no gate of that name; an error says why it cannot be
    /// had that way, and a note why it changes nothing.
    pub fn set(&mut self, name: &str, on: bool) -> Option<Result<Option<String>, String>> {
        let (_, treatment) = GATES.iter().find(|(known, _)| *known == name)?;
        Some(match treatment {
            Honoured => {
                match name {
                    STORAGE_CAPACITY_SCORING => self.storage_capacity_scoring = on,
                    POP_FROM_BACKOFF => self.pop_from_backoff = on,
                    _ => self.volume_limit_scaling = on,
                }
                Ok(None)
            }
            AlwaysOn(_) if on => Ok(None),
            AlwaysOn(why) => Err(format!("{name} is always on here: {why}")),
            NotBuilt(_) if !on => Ok(None),
            NotBuilt(why) => Err(format!("{name} is not built: {why}")),
            Indifferent(why) => Ok(Some(format!("{name} changes nothing: {why}"))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{GATES, GateTreatment, UpstreamGates};

    #[test]
    fn gates_are_set_or_told_of() {
        assert!(GATES.is_sorted_by(|a, b| a.0 < b.0));
        let mut gates = UpstreamGates::default();
        assert_eq!(gates.set("StorageCapacityScoring", false), Some(Ok(None)));
        assert_eq!(gates.set("VolumeLimitScaling", false), Some(Ok(None)));
        assert_eq!(gates.set("SchedulerPopFromBackoffQ", false), Some(Ok(None)));
        let off =
            UpstreamGates { storage_capacity_scoring: false, volume_limit_scaling: false, pop_from_backoff: false };
        assert_eq!(gates, off);
        assert!(matches!(gates.set("SchedulerAsyncPreemption", false), Some(Err(_))));
        assert!(matches!(gates.set("GenericWorkload", true), Some(Err(_))));
        assert!(matches!(gates.set("DRADeviceTaints", true), Some(Ok(Some(_)))));
        assert_eq!(gates.set("MadeUp", true), None);
        let honoured = GATES.iter().filter(|(_, treatment)| *treatment == GateTreatment::Honoured);
        assert_eq!(honoured.count(), 3, "each has its field");
    }
}
