//! Fields that a path does not write: nobody comes to own them through it.

use crate::kind::Kind;

use super::set::FieldSet;

/// The fields that writes through a path leave as they are.
#[derive(Debug, Clone, Default)]
pub enum Reset {
    /// Everything is written.
    #[default]
    Nothing,
    /// These fields, with all that is below them, are not written.
    Fields(FieldSet<'static>),
}

impl Reset {
    /// Takes the fields that are not written out of a set.
    pub(crate) fn apply(&self, set: &mut FieldSet<'_>) {
        match self {
            Self::Nothing => {}
            Self::Fields(fields) => set.subtract_trees(fields),
        }
    }
}

const STATUS: &[&[&str]] = &[&["status"]];
const SPEC: &[&[&str]] = &[&["spec"]];
const SPEC_AND_METADATA: &[&[&str]] = &[&["metadata"], &["spec"]];

/// What writes to a kind, or to a subresource of it, leave as it is. For custom resources see [`reset_custom`].
pub fn reset(kind: Kind<'_>, subresource: &str) -> Reset {
    let fields: &[&[&str]] = match (kind.group, kind.kind, subresource) {
        ("", "Pod", "status") => &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]],
        ("apps", "Deployment", "status") => &[&["spec"], &["metadata", "labels"]],
        ("certificates.k8s.io", "CertificateSigningRequest", sub) => match sub {
            "" => &[&["spec"], &["status"]],
            "status" => &[&["spec"], &["status", "conditions"]],
            "approval" => &[&["spec"], &["status", "certificate"]],
            _ => return Reset::Nothing,
        },
        (
            "",
            "Namespace"
            | "Node"
            | "PersistentVolume"
            | "PersistentVolumeClaim"
            | "Pod"
            | "ReplicationController"
            | "ResourceQuota"
            | "Service",
            sub,
        )
        | ("apps", "DaemonSet" | "Deployment" | "ReplicaSet" | "StatefulSet", sub)
        | ("autoscaling", "HorizontalPodAutoscaler", sub)
        | ("batch", "CronJob" | "Job", sub)
        | ("networking.k8s.io", "Ingress", sub)
        | ("policy", "PodDisruptionBudget", sub)
        | ("apiextensions.k8s.io", "CustomResourceDefinition", sub) => match sub {
            "" | "finalize" => STATUS,
            "status" => SPEC,
            _ => return Reset::Nothing,
        },
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", sub)
        | ("apiregistration.k8s.io", "APIService", sub)
        | ("certificates.k8s.io", "PodCertificateRequest", sub)
        | ("flowcontrol.apiserver.k8s.io", "FlowSchema" | "PriorityLevelConfiguration", sub)
        | ("networking.k8s.io", "ServiceCIDR", sub)
        | ("resource.k8s.io", "DeviceTaintRule" | "ResourceClaim" | "ResourcePoolStatusRequest", sub)
        | ("scheduling.k8s.io", "PodGroup" | "CompositePodGroup", sub)
        | ("storage.k8s.io", "CSINode" | "VolumeAttachment", sub)
        | ("storagemigration.k8s.io", "StorageVersionMigration", sub) => match sub {
            "" => STATUS,
            "status" => SPEC_AND_METADATA,
            _ => return Reset::Nothing,
        },
        _ => return Reset::Nothing,
    };
    Reset::Fields(FieldSet::of_fields(fields))
}

/// The same for a custom resource; `has_status` says whether it has the status subresource.
pub fn reset_custom(subresource: &str, has_status: bool) -> Reset {
    match (subresource, has_status) {
        ("", true) => Reset::Fields(FieldSet::of_fields(STATUS)),
        ("status", _) => Reset::Fields(FieldSet::of_fields(SPEC_AND_METADATA)),
        _ => Reset::Nothing,
    }
}
