//! The table of kinds: what is written through which path, and what counts as a new generation.

use crate::kind::Kind;

/// When `metadata.generation` grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Generation {
    /// It is not kept.
    None,
    /// From 1, with each change of one of these.
    On(&'static [&'static [&'static str]]),
    /// From nothing, with each change of the spec.
    Unset,
    /// It is 1 and stays it.
    Fixed,
    /// From 1, with each change of anything but metadata, and of the labels.
    Content,
}

/// What a write to `status` leaves of the metadata that came with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatusMetadata {
    /// All of it.
    Free,
    /// None of it.
    Kept,
    /// All but these.
    Except(&'static [&'static str]),
}

/// How a kind is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rules {
    /// `status` is empty at first, and written only through its own path.
    pub status: bool,
    pub generation: Generation,
    pub status_metadata: StatusMetadata,
}

const SPEC: Generation = Generation::On(&[&["spec"]]);
/// What upstream calls resetting metadata for a status update.
const RESET: StatusMetadata = StatusMetadata::Except(&[
    "deletionTimestamp",
    "generation",
    "selfLink",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
]);

pub(super) fn rules(kind: Kind<'_>) -> Rules {
    use Generation::{Content, Fixed, None, On, Unset};
    use StatusMetadata::{Except, Free, Kept};
    let (status, generation, status_metadata) = match (kind.group, kind.kind) {
        ("", "Pod") => (true, On(&[&["spec"]]), Except(&["ownerReferences"])),
        ("", "ReplicationController") => (true, SPEC, Free),
        ("", "PodTemplate") => (false, On(&[&["template"]]), Free),
        ("", "Namespace" | "Node" | "PersistentVolume" | "PersistentVolumeClaim" | "Service" | "ResourceQuota") => {
            (true, None, Free)
        }
        ("apps", "Deployment") => (true, On(&[&["spec"], &["metadata", "annotations"]]), Except(&["labels"])),
        ("apps", "StatefulSet" | "DaemonSet" | "ReplicaSet") => (true, SPEC, Free),
        ("batch", "Job" | "CronJob") => (true, SPEC, Free),
        ("policy", "PodDisruptionBudget") => (true, SPEC, Free),
        ("autoscaling", "HorizontalPodAutoscaler") => (true, SPEC, Free),
        ("networking.k8s.io", "Ingress") => (true, SPEC, Free),
        ("networking.k8s.io", "NetworkPolicy" | "IngressClass") => (false, SPEC, Free),
        ("networking.k8s.io", "ServiceCIDR") => (true, None, RESET),
        ("scheduling.k8s.io", "PriorityClass") => (false, Fixed, Free),
        ("discovery.k8s.io", "EndpointSlice") => (false, Content, Free),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema" | "PriorityLevelConfiguration") => (true, SPEC, Kept),
        ("storage.k8s.io", "CSIDriver") => (false, Unset, Free),
        ("storage.k8s.io", "CSINode" | "VolumeAttachment") => (true, None, RESET),
        ("resource.k8s.io", "DeviceClass" | "ResourceSlice") => (false, SPEC, Free),
        ("resource.k8s.io", "ResourceClaim") => (true, None, RESET),
        ("resource.k8s.io", "DeviceTaintRule") => (true, SPEC, RESET),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration") => {
            (false, On(&[&["webhooks"]]), Free)
        }
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => (true, SPEC, RESET),
        (
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicy" | "MutatingAdmissionPolicyBinding",
        ) => (false, SPEC, Free),
        ("certificates.k8s.io", "CertificateSigningRequest") => (true, None, Free),
        ("certificates.k8s.io", "PodCertificateRequest") => (true, None, RESET),
        ("storagemigration.k8s.io", "StorageVersionMigration") => (true, None, RESET),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => (true, SPEC, Free),
        ("apiregistration.k8s.io", "APIService") => {
            (true, None, Except(&["labels", "annotations", "finalizers", "ownerReferences"]))
        }
        _ => (false, None, Free),
    };
    Rules { status, generation, status_metadata }
}

/// Whether writing to a name that is not there makes it.
pub fn allow_create_on_update(kind: Kind<'_>) -> bool {
    matches!(
        (kind.group, kind.kind),
        ("", "Service" | "Endpoints" | "LimitRange" | "Event")
            | ("events.k8s.io", "Event")
            | ("coordination.k8s.io", "Lease")
            | ("node.k8s.io", "RuntimeClass")
            | ("rbac.authorization.k8s.io", _)
    )
}

/// Whether an object may be written without naming the version that is replaced.
pub fn allow_unconditional_update(kind: Kind<'_>) -> bool {
    match (kind.group, kind.kind) {
        ("certificates.k8s.io", "PodCertificateRequest" | "ClusterTrustBundle") => false,
        ("node.k8s.io" | "storagemigration.k8s.io" | "policy" | "coordination.k8s.io", _) => false,
        ("storage.k8s.io", "CSIDriver" | "CSIStorageCapacity" | "VolumeAttachment" | "CSINode") => false,
        ("admissionregistration.k8s.io" | "apiextensions.k8s.io" | "apiregistration.k8s.io", _) => false,
        // Custom resources: neither.
        (group, _) => plimsoll_schema::Table::builtin().kind(group, kind.version, kind.kind).is_some(),
    }
}
