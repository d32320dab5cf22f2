//! The stable codes, and what each means.

/// A stable code of a reason: `PL0xx`. A code is never reused for another meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub u16);

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PL{:03}", self.0)
    }
}

macro_rules! codes {
    ($($name:ident = $number:literal, $title:literal, $meaning:literal, $remedy:literal;)*) => {
        impl Code {
            $(#[doc = $title] pub const $name: Code = Code($number);)*
            /// Every code with its explanation, in order.
            pub const ALL: &'static [CodeInfo] = &[
                $(CodeInfo { code: Code($number), title: $title, meaning: $meaning, remedy: $remedy },)*
            ];
        }
    };
}

/// What a code means and what to do.
#[derive(Clone, Copy, Debug)]
pub struct CodeInfo {
    /// The code.
    pub code: Code,
    /// In a few words.
    pub title: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What to do.
    pub remedy: &'static str,
}

codes! {
    CLAIM_NOT_FOUND = 1, "The claim does not exist",
        "The pod names a PersistentVolumeClaim that is not in its namespace.",
        "Create the claim, or correct the name in the pod's volumes.";
    EPHEMERAL_CLAIM_MISSING = 2, "The ephemeral volume's claim is not there yet",
        "A generic ephemeral volume gets its claim from the ephemeral volume controller, which has not made it.",
        "Check that kube-controller-manager (or plimsoll controller) runs and that quota allows the claim.";
    CLAIM_LOST = 3, "The claim lost its volume",
        "The claim was bound to a PersistentVolume that is gone. The data behind it is no longer reachable through it.",
        "Restore the PersistentVolume, or delete the claim and make it anew.";
    CLAIM_DELETING = 4, "The claim is being deleted",
        "The claim has a deletion timestamp; a new pod cannot start to use it.",
        "Wait until it is gone and make it anew, or remove what holds it back.";
    CLAIM_NOT_OWNED = 5, "The ephemeral volume's claim belongs to somebody else",
        "A claim with the name of the ephemeral volume's claim exists, but the pod does not control it.",
        "Rename the pod or the volume, or delete the claim that is in the way.";
    UNBOUND_IMMEDIATE = 6, "A claim that binds immediately is not bound",
        "The claim's class binds without waiting for a pod (or the claim has no usable class), and it is not bound yet.",
        "Look at the claim's events; or use a class with volumeBindingMode WaitForFirstConsumer.";
    VOLUME_MISSING = 7, "The claim's volume does not exist",
        "The claim says it is bound, but the PersistentVolume it names is not there.",
        "Restore the PersistentVolume, or delete the claim and make it anew.";
    VOLUME_LOOKUP = 8, "The claim cannot be judged",
        "The claim, its class or its volume lacks what the rule needs, so that no place can be judged.",
        "Read the reason: it names the object and what it lacks.";
    VOLUME_AFFINITY = 10, "The volume cannot be reached from the node",
        "A bound claim's PersistentVolume has a node affinity that the node's labels do not meet.",
        "Place the pod where the volume is: free resources there, or move the data.";
    NO_VOLUME = 11, "No volume to bind, and none can be made here",
        "No free PersistentVolume fits the claim on this node, and the class cannot provision one here.",
        "Add a volume that the node can reach, widen allowedTopologies, or clear a stale selected-node annotation.";
    NOT_ENOUGH_STORAGE = 12, "Not enough free storage",
        "The class could provision here, but no pool that the node can reach has room for the claim.",
        "Free or add space in a pool that the node can reach, or ask for less.";
    VOLUME_ZONE = 13, "The volume is in another zone",
        "A volume's legacy zone or region label does not name the node's zone or region.",
        "Place the pod in the volume's zone, or correct the label.";
    ATTACH_LIMIT = 14, "Too many volumes attached",
        "The node's CSI driver cannot attach as many volumes as the pods there would then use.",
        "Move pods with volumes away, detach leftovers, or use a node with a higher limit.";
    DRIVER_MISSING = 15, "The CSI driver is not on the node",
        "The driver asks that pods be kept from nodes where it is not installed.",
        "Install the driver on the node, or wait until it has registered.";
    DISK_CONFLICT = 16, "The disk is in use on the node",
        "Another pod on the node uses the same disk in a way that does not allow sharing.",
        "Use it read-only where the disk allows that, or place the pods on different nodes.";
    READ_WRITE_ONCE_POD = 17, "The claim is in use by another pod",
        "A ReadWriteOncePod claim can serve one pod at a time, and another scheduled pod has it.",
        "Delete the other pod, or use another access mode.";
    NODE_NAME = 20, "The pod names another node",
        "The pod's spec.nodeName is another node.",
        "Nothing, unless the name is wrong.";
    NODE_UNSCHEDULABLE = 21, "The node is cordoned",
        "The node's spec.unschedulable is set.",
        "kubectl uncordon the node.";
    TAINT = 22, "The pod does not tolerate a taint",
        "The node has a taint that the pod does not tolerate.",
        "Add the toleration to the pod, or remove the taint.";
    NODE_AFFINITY = 23, "The node is not what the pod asks for",
        "The node does not meet the pod's node selector or required node affinity.",
        "Label the node, or change the pod's selector.";
    HOST_PORT = 24, "A host port is taken",
        "A pod on the node already has a host port that the pod asks for.",
        "Use another port, or no host port at all.";
    INSUFFICIENT_RESOURCE = 25, "Not enough of a resource",
        "What the pod asks for is more than what is left on the node.",
        "Free or add resources, or ask for less.";
    TOO_MANY_PODS = 26, "The node has as many pods as it may",
        "The node's limit of pods is reached.",
        "Move pods away, or raise the kubelet's maxPods.";
    TOPOLOGY_SPREAD = 27, "The pods would be spread unevenly",
        "With this pod here, a topology spread constraint would be exceeded.",
        "Make room in the other topology domains, or raise maxSkew.";
    TOPOLOGY_SPREAD_LABEL = 28, "The node lacks a spread constraint's label",
        "A topology spread constraint's topologyKey is not among the node's labels.",
        "Label the node, or change the constraint.";
    POD_AFFINITY = 29, "The pods it must be near are elsewhere",
        "No pod that the required pod affinity asks for is in the node's topology domain.",
        "Place the pod where those pods are, or start one here first.";
    POD_ANTI_AFFINITY = 30, "A pod it must be apart from is here",
        "A pod that the required anti-affinity rules out is in the node's topology domain.",
        "Use another domain, or relax the rule.";
    EXISTING_ANTI_AFFINITY = 31, "A pod here keeps it out",
        "A pod already in the node's topology domain has an anti-affinity that rules this pod out.",
        "Use another domain, or relax the other pod's rule.";
    AFFINITY_CONFLICT = 32, "The pod's node names exclude each other",
        "The terms of the pod's node affinity that name nodes have no node in common.",
        "Correct the pod's matchFields.";
    SCHEDULING_GATED = 33, "The pod is held back by scheduling gates",
        "The pod's spec.schedulingGates is not empty.",
        "Whoever set the gates removes them when the pod may be placed.";
    INVALID_RULE = 34, "A rule of the pod cannot be read",
        "A selector in the pod's affinity or spread constraints is not valid.",
        "Correct the selector that the reason names.";
    UNDECIDED = 35, "The pod uses what this scheduler does not decide about",
        "The pod claims devices (spec.resourceClaims) or belongs to a scheduling group: placing it as though it did not would be wrong.",
        "Let kube-scheduler place it: set spec.schedulerName to a profile of its.";
    EXTENDER = 36, "An extender refuses the node",
        "An HTTP extender that the profile asks does not accept the node for this pod.",
        "Ask whoever runs the extender; its own reason is beside this one.";
    NODE_FEATURES = 37, "The node lacks a feature that the pod needs",
        "The pod's spec asks for something that only some nodes can do, and the node does not declare it (status.declaredFeatures).",
        "Use a node whose kubelet and container runtime can do it, upgrade the node, or take it out of the pod.";
}

impl Code {
    /// The code's explanation.
    pub fn info(self) -> Option<&'static CodeInfo> {
        Self::ALL.iter().find(|i| i.code == self)
    }

    /// Reads `PL012`, whatever its case.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("PL").or_else(|| text.strip_prefix("pl"))?;
        (digits.len() == 3 && digits.bytes().all(|b| b.is_ascii_digit()))
            .then(|| digits.parse().ok().map(Code))
            .flatten()
    }
}
