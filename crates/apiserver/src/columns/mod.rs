//! Tables: what `kubectl get` prints, which the server decides and not the client.
//!
//! A request that accepts `application/json;as=Table;v=v1;g=meta.k8s.io` is answered with columns ([`definitions`]) and a row of
//! cells per object ([`cells`]); [`object_table`] makes the whole body. Custom resources bring columns of their own
//! ([`CustomColumns`]).

mod age;
mod autoscaling;
mod control;
mod core;
mod custom;
mod definitions;
mod jsonpath;
mod labels;
mod network;
mod pods;
mod storage;
mod table;
#[cfg(test)]
mod tests;
mod view;
mod workloads;

use jiff::Timestamp;
use serde_json::Value;

pub use custom::CustomColumns;
pub use definitions::{Column, definitions};
pub use table::{Content, Include, TableOptions, custom_table, object_table};

use crate::kind::Kind;
use view::View;

/// The cells of an object that stands for itself, one per column, those of `-o wide` included. A kind's list may show more:
/// see [`object_table`].
pub fn cells(kind: Kind<'_>, object: &Value, now: Timestamp) -> Vec<Value> {
    row(kind, View::new(object), false, now)
}

/// The cells of an object; of storage classes, whether it is the one that claims get by default.
fn row(kind: Kind<'_>, object: View<'_>, is_default: bool, now: Timestamp) -> Vec<Value> {
    match (kind.group, kind.kind) {
        ("", "ComponentStatus") => core::component_status(object),
        ("", "ConfigMap") => core::config_map(object, now),
        ("", "Endpoints") => network::endpoints(object, now),
        ("" | "events.k8s.io", "Event") => core::event(kind.group, object, now),
        ("", "Namespace") => core::namespace(object, now),
        ("", "Node") => core::node(object, now),
        ("", "PersistentVolume") => storage::volume(object, now),
        ("", "PersistentVolumeClaim") => storage::claim(object, now),
        ("", "Pod") => pods::pod(object, now),
        ("", "PodTemplate") => pods::template(object),
        ("", "ReplicationController") => workloads::replication_controller(object, now),
        ("", "ResourceQuota") => core::resource_quota(object, now),
        ("", "Secret") => core::secret(object, now),
        ("", "Service") => network::service(object, now),
        ("", "ServiceAccount") | ("resource.k8s.io", "DeviceClass" | "ResourceClaimTemplate") => {
            core::name_and_age(object, now)
        }
        ("apps", "ControllerRevision") => workloads::controller_revision(object, now),
        ("apps", "DaemonSet") => workloads::daemon_set(object, now),
        ("apps", "Deployment") => workloads::deployment(object, now),
        ("apps", "ReplicaSet") => workloads::replica_set(object, now),
        ("apps", "StatefulSet") => workloads::stateful_set(object, now),
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaling::autoscaler(kind.version, object, now),
        ("autoscaling", "Scale") => workloads::scale(object, now),
        ("batch", "CronJob") => workloads::cron_job(object, now),
        ("batch", "Job") => workloads::job(object, now),
        ("policy", "PodDisruptionBudget") => workloads::disruption_budget(object, now),
        ("discovery.k8s.io", "EndpointSlice") => network::endpoint_slice(object, now),
        ("networking.k8s.io", "Ingress") => network::ingress(object, now),
        ("networking.k8s.io", "IngressClass") => network::ingress_class(object, now),
        ("networking.k8s.io", "IPAddress") => network::ip_address(object, now),
        ("networking.k8s.io", "NetworkPolicy") => network::network_policy(object, now),
        ("networking.k8s.io", "ServiceCIDR") => network::service_cidr(object, now),
        ("storage.k8s.io", "CSIDriver") => storage::csi_driver(object, now),
        ("storage.k8s.io", "CSINode") => storage::csi_node(object, now),
        ("storage.k8s.io", "StorageClass") => storage::storage_class(object, is_default, now),
        ("storage.k8s.io", "VolumeAttachment") => storage::attachment(object, now),
        ("storage.k8s.io", "VolumeAttributesClass") => storage::attributes_class(object, now),
        ("storagemigration.k8s.io", "StorageVersionMigration") => control::storage_migration(object),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding" | "RoleBinding") => control::role_binding(object, now),
        ("certificates.k8s.io", "CertificateSigningRequest") => control::signing_request(object, now),
        ("certificates.k8s.io", "ClusterTrustBundle") => control::trust_bundle(object),
        ("certificates.k8s.io", "PodCertificateRequest") => control::pod_certificate_request(object),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration") => {
            control::webhooks(object, now)
        }
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy") => {
            control::admission_policy(object, "mutations", now)
        }
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => {
            control::admission_policy(object, "validations", now)
        }
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding" | "ValidatingAdmissionPolicyBinding") => {
            control::policy_binding(object, now)
        }
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => control::flow_schema(object, now),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => control::priority_level(object, now),
        ("scheduling.k8s.io", "PriorityClass") => control::priority_class(object, now),
        ("node.k8s.io", "RuntimeClass") => control::runtime_class(object, now),
        ("coordination.k8s.io", "Lease") => control::lease(object, now),
        ("resource.k8s.io", "DeviceTaintRule") => control::device_taint_rule(object, now),
        ("resource.k8s.io", "ResourceClaim") => control::resource_claim(object, now),
        ("resource.k8s.io", "ResourceSlice") => control::resource_slice(object, now),
        ("apiregistration.k8s.io", "APIService") => control::api_service(object, now),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => control::resource_definition(object),
        _ => core::name_and_creation(object),
    }
}
