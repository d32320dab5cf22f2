//! kube-scheduler 1.37's own feature gates, and what becomes of each here.
//!
//! Two lists. `upstream_gates.txt` has every gate that kube-scheduler accepts, with its default and whether that is locked, so
//! that what upstream refuses is refused here in the same words. [`GATES`] has those that its code asks for; all others are of
//! other components, share one registry with it and change nothing there either.

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
const ONE_BY_ONE: &str = "some of those that it stands for cannot be had, so that they are to be named one by one";
const RESIZED: GateTreatment = AlwaysOn("a pod that is being resized counts by what it asks for and what it still has");
const SPREAD: GateTreatment = AlwaysOn("topology spread follows the pod's own fields");

/// Every gate that kube-scheduler asks for, by name.
pub const GATES: [(&str, GateTreatment); 46] = [
    (ALL_ALPHA, NotBuilt(ONE_BY_ONE)),
    (ALL_BETA, NotBuilt(ONE_BY_ONE)),
    ("ClearingNominatedNodeNameAfterBinding", Indifferent("it is the API server that clears the field")),
    ("ComponentFlagz", Indifferent("there is no page /flagz")),
    ("ComponentStatusz", Indifferent("there is no page /statusz")),
    ("CompositePodGroup", GROUPS),
    ("CoordinatedLeaderElection", NotBuilt("the lease is taken by whoever comes first")),
    ("DRAAdminAccess", DEVICES),
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
    ("DRAPrioritizedList", DEVICES),
    ("DRAResourceClaimDeviceStatus", DEVICES),
    ("DRASchedulerFilterTimeout", DEVICES),
    ("DRAWorkloadResourceClaims", DEVICES),
    ("DynamicResourceAllocation", DEVICES),
    ("GenericWorkload", GROUPS),
    ("InPlacePodLevelResourcesVerticalScaling", RESIZED),
    ("InPlacePodVerticalScaling", RESIZED),
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
    (STORAGE_CAPACITY_SCORING, Honoured),
    ("TaintTolerationComparisonOperators", NotBuilt("a toleration with the operator Lt or Gt tolerates nothing")),
    ("TopologyAwareWorkloadScheduling", GROUPS),
    ("VolumeAttributesClass", AlwaysOn("a volume must be of the claim's VolumeAttributesClass")),
    (VOLUME_LIMIT_SCALING, Honoured),
];

/// Made from the registry of kube-scheduler 1.37.1: `e2e/oracle/gates/main.go` has the command.
const REGISTERED: &str = include_str!("upstream_gates.txt");

const ALL_ALPHA: &str = "AllAlpha";
const ALL_BETA: &str = "AllBeta";
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

/// A gate of kube-scheduler's registry.
struct Registered<'t> {
    name: &'t str,
    default: bool,
    locked: bool,
}

fn registered() -> impl Iterator<Item = Registered<'static>> {
    REGISTERED.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (name, _stage, default) = (words.next()?, words.next()?, words.next()?);
        Some(Registered { name, default: default == "true", locked: words.next() == Some("locked") })
    })
}

impl UpstreamGates {
    /// Turns a gate on or off. An error says why it cannot be had that way, in upstream's words where it is upstream that
    /// refuses it; a note says why it changes nothing.
    pub fn set(&mut self, name: &str, on: bool) -> Result<Option<String>, String> {
        let known = registered().find(|known| known.name == name);
        let known = known.ok_or_else(|| format!("unrecognized feature gate: {name}"))?;
        if known.locked && known.default != on {
            return Err(format!("cannot set feature gate {name} to {on}, feature is locked to {}", known.default));
        }
        let Some((_, treatment)) = GATES.iter().find(|(asked, _)| *asked == name) else {
            return Ok(Some(format!(
                "{name} changes nothing: it is of other components, and the scheduler never asks for it"
            )));
        };
        match treatment {
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
            // Off is the default of the others; of this one, whose gates are on for the most part, neither way is.
            NotBuilt(_) if !on && name != ALL_BETA => Ok(None),
            NotBuilt(why) => Err(format!("{name} is not built: {why}")),
            Indifferent(why) => Ok(Some(format!("{name} changes nothing: {why}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ALL_BETA, GATES, GateTreatment, UpstreamGates, registered};

    #[test]
    fn gates_are_set_or_told_of() {
        let mut gates = UpstreamGates::default();
        assert_eq!(gates.set("StorageCapacityScoring", false), Ok(None));
        assert_eq!(gates.set("VolumeLimitScaling", false), Ok(None));
        assert_eq!(gates.set("SchedulerPopFromBackoffQ", false), Ok(None));
        let off =
            UpstreamGates { storage_capacity_scoring: false, volume_limit_scaling: false, pop_from_backoff: false };
        assert_eq!(gates, off);
        let refused = |name, on| UpstreamGates::default().set(name, on).unwrap_err();
        assert!(refused("SchedulerAsyncPreemption", false).starts_with("SchedulerAsyncPreemption is always on here: "));
        assert!(refused("TaintTolerationComparisonOperators", true).contains("Lt or Gt tolerates nothing"));
        assert!(refused("GenericWorkload", true).starts_with("GenericWorkload is not built: "));
        assert_eq!(gates.set("GenericWorkload", false), Ok(None));
        assert_eq!(gates.set(super::ALL_ALPHA, false), Ok(None));
        assert!(
            refused(super::ALL_ALPHA, true).contains("one by one") && refused(ALL_BETA, false).contains("one by one")
        );
        for indifferent in ["DRADeviceTaints", "ComponentFlagz", "CSIVolumeHealth"] {
            let note = gates.set(indifferent, true).unwrap().unwrap();
            assert!(note.starts_with(&format!("{indifferent} changes nothing: ")), "{note}");
        }
    }

    /// The texts are kube-scheduler's own: `kube-scheduler --feature-gates …` was asked.
    #[test]
    fn what_upstream_refuses_is_refused_in_its_words() {
        let refused = |name, on| UpstreamGates::default().set(name, on).unwrap_err();
        assert_eq!(refused("MadeUp", true), "unrecognized feature gate: MadeUp");
        // Gone in 1.37, though the behaviour is not.
        assert_eq!(refused("SchedulerQueueingHints", true), "unrecognized feature gate: SchedulerQueueingHints");
        assert_eq!(
            refused("NodeDeclaredFeatures", false),
            "cannot set feature gate NodeDeclaredFeatures to false, feature is locked to true"
        );
        assert_eq!(UpstreamGates::default().set("NodeDeclaredFeatures", true), Ok(None));
    }

    #[test]
    fn what_is_said_of_a_gate_agrees_with_its_default() {
        assert!(GATES.is_sorted_by(|a, b| a.0 < b.0));
        assert!(registered().count() > 200);
        for (name, treatment) in GATES {
            let known =
                registered().find(|known| known.name == name).unwrap_or_else(|| panic!("{name} is not upstream's"));
            match treatment {
                GateTreatment::Honoured => assert!(known.default && !known.locked, "{name}"),
                GateTreatment::AlwaysOn(_) => assert!(known.default, "{name}"),
                GateTreatment::NotBuilt(_) => assert!(!known.default, "{name}"),
                GateTreatment::Indifferent(_) => {}
            }
        }
        let honoured = GATES.iter().filter(|(_, treatment)| *treatment == GateTreatment::Honoured);
        assert_eq!(honoured.count(), 3, "each has its field");
    }
}
