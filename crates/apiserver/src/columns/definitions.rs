//! The columns of each kind, as the server sends them in `columnDefinitions`.
//!
//! Names, types and priorities are part of the protocol. Descriptions are left empty: upstream fills in sentences of its API
//! documentation, which no client prints.

use serde_json::{Value, json};

use crate::kind::Kind;

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// What stands above it.
    pub name: &'static str,
    /// The OpenAPI type of its cells.
    pub kind: &'static str,
    /// `name` for the object's name, otherwise empty.
    pub format: &'static str,
    /// What it shows.
    pub description: &'static str,
    /// 0 for a column always shown, 1 for one that `-o wide` asks for.
    pub priority: i32,
}

impl Column {
    const fn new(name: &'static str, kind: &'static str) -> Self {
        Self { name, kind, format: "", description: "", priority: 0 }
    }

    const fn wide(self) -> Self {
        Self { priority: 1, ..self }
    }

    /// The column on the wire.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.kind,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }
}

const fn text(name: &'static str) -> Column {
    Column::new(name, "string")
}

const fn integer(name: &'static str) -> Column {
    Column::new(name, "integer")
}

const fn boolean(name: &'static str) -> Column {
    Column::new(name, "boolean")
}

const fn date(name: &'static str) -> Column {
    Column::new(name, "date")
}

const fn named(name: &'static str) -> Column {
    Column { format: "name", ..text(name) }
}

const NAME: Column = named("Name");
const AGE: Column = text("Age");

const API_SERVICES: &[Column] = &[NAME, text("Service"), text("Available"), AGE];
const ATTACHMENTS: &[Column] = &[NAME, named("Attacher"), text("PV"), text("Node"), boolean("Attached"), AGE];
const ATTRIBUTES_CLASSES: &[Column] = &[NAME, text("DriverName"), AGE];
const AUTOSCALERS: &[Column] =
    &[NAME, text("Reference"), text("Targets"), text("MinPods"), text("MaxPods"), text("Replicas"), AGE];
const CLAIMS: &[Column] = &[
    NAME,
    text("Status"),
    text("Volume"),
    text("Capacity"),
    text("Access Modes"),
    text("StorageClass"),
    text("VolumeAttributesClass"),
    AGE,
    text("VolumeMode").wide(),
];
const COMPONENT_STATUSES: &[Column] = &[NAME, text("Status"), text("Message"), text("Error")];
const CONFIG_MAPS: &[Column] = &[NAME, text("Data"), AGE];
const CONTROLLER_REVISIONS: &[Column] = &[NAME, text("Controller"), text("Revision"), AGE];
const CRON_JOBS: &[Column] = &[
    NAME,
    text("Schedule"),
    text("Timezone"),
    boolean("Suspend"),
    integer("Active"),
    text("Last Schedule"),
    AGE,
    text("Containers").wide(),
    text("Images").wide(),
    text("Selector").wide(),
];
const CSI_DRIVERS: &[Column] = &[
    NAME,
    boolean("AttachRequired"),
    boolean("PodInfoOnMount"),
    boolean("StorageCapacity"),
    text("TokenRequests"),
    boolean("RequiresRepublish"),
    text("Modes"),
    AGE,
];
const CSI_NODES: &[Column] = &[NAME, integer("Drivers"), AGE];
const DAEMON_SETS: &[Column] = &[
    NAME,
    integer("Desired"),
    integer("Current"),
    integer("Ready"),
    integer("Up-to-date"),
    integer("Available"),
    text("Node Selector"),
    AGE,
    text("Containers").wide(),
    text("Images").wide(),
    text("Selector").wide(),
];
const DEPLOYMENTS: &[Column] = &[
    NAME,
    text("Ready"),
    text("Up-to-date"),
    text("Available"),
    AGE,
    text("Containers").wide(),
    text("Images").wide(),
    text("Selector").wide(),
];
const DEVICE_TAINT_RULES: &[Column] = &[NAME, text("Key"), text("Value"), text("Effect"), text("TimeAdded"), AGE];
const DISRUPTION_BUDGETS: &[Column] =
    &[NAME, text("Min Available"), text("Max Unavailable"), integer("Allowed Disruptions"), AGE];
const ENDPOINTS: &[Column] = &[NAME, text("Endpoints"), AGE];
const ENDPOINT_SLICES: &[Column] = &[NAME, text("AddressType"), text("Ports"), text("Endpoints"), AGE];
const EVENTS: &[Column] = &[
    text("Last Seen"),
    text("Type"),
    text("Reason"),
    text("Object"),
    text("Subobject").wide(),
    text("Source").wide(),
    text("Message"),
    text("First Seen").wide(),
    text("Count").wide(),
    named("Name").wide(),
];
const FLOW_SCHEMAS: &[Column] =
    &[NAME, text("PriorityLevel"), text("MatchingPrecedence"), text("DistinguisherMethod"), AGE, text("MissingPL")];
const INGRESSES: &[Column] = &[NAME, text("Class"), text("Hosts"), text("Address"), text("Ports"), AGE];
const INGRESS_CLASSES: &[Column] = &[NAME, text("Controller"), text("Parameters"), AGE];
const IP_ADDRESSES: &[Column] = &[NAME, text("ParentRef")];
const JOBS: &[Column] = &[
    NAME,
    text("Status"),
    text("Completions"),
    text("Duration"),
    AGE,
    text("Containers").wide(),
    text("Images").wide(),
    text("Selector").wide(),
];
const LEASES: &[Column] = &[NAME, text("Holder"), AGE];
const MUTATING_POLICIES: &[Column] = &[NAME, integer("Mutations"), text("ParamKind"), AGE];
const NAMESPACES: &[Column] = &[NAME, text("Status"), AGE];
const NAME_AND_AGE: &[Column] = &[NAME, AGE];
const NAME_AND_CREATION: &[Column] = &[NAME, date("Created At")];
const NETWORK_POLICIES: &[Column] = &[NAME, text("Pod-Selector"), AGE];
const NODES: &[Column] = &[
    NAME,
    text("Status"),
    text("Roles"),
    AGE,
    text("Version"),
    text("Internal-IP").wide(),
    text("External-IP").wide(),
    text("OS-Image").wide(),
    text("Kernel-Version").wide(),
    text("Container-Runtime").wide(),
];
const PODS: &[Column] = &[
    NAME,
    text("Ready"),
    text("Status"),
    text("Restarts"),
    AGE,
    text("IP").wide(),
    text("Node").wide(),
    text("Nominated Node").wide(),
    text("Readiness Gates").wide(),
];
const POD_CERTIFICATE_REQUESTS: &[Column] = &[
    NAME,
    text("PodName"),
    text("ServiceAccountName"),
    text("NodeName"),
    text("SignerName"),
    text("State"),
    text("UnverifiedUserAnnotations"),
];
const POD_TEMPLATES: &[Column] = &[NAME, text("Containers"), text("Images"), text("Pod Labels")];
const POLICY_BINDINGS: &[Column] = &[NAME, text("PolicyName"), text("ParamRef"), AGE];
const PRIORITY_CLASSES: &[Column] = &[NAME, integer("Value"), boolean("Global-Default"), AGE, text("PreemptionPolicy")];
const PRIORITY_LEVELS: &[Column] = &[
    NAME,
    text("Type"),
    text("NominalConcurrencyShares"),
    text("Queues"),
    text("HandSize"),
    text("QueueLengthLimit"),
    AGE,
];
const REPLICA_SETS: &[Column] = &[
    NAME,
    integer("Desired"),
    integer("Current"),
    integer("Ready"),
    AGE,
    text("Containers").wide(),
    text("Images").wide(),
    text("Selector").wide(),
];
const RESOURCE_CLAIMS: &[Column] = &[NAME, text("State"), AGE];
const RESOURCE_DEFINITIONS: &[Column] = &[
    NAME,
    text("Scope"),
    text("Versions"),
    date("Created At"),
    text("Group").wide(),
    text("Kind").wide(),
    text("ShortNames").wide(),
    boolean("Established").wide(),
];
const RESOURCE_QUOTAS: &[Column] = &[NAME, text("Request"), text("Limit"), AGE];
const RESOURCE_SLICES: &[Column] = &[NAME, text("Node"), text("Driver"), text("Pool"), AGE];
const ROLE_BINDINGS: &[Column] =
    &[NAME, text("Role"), AGE, text("Users").wide(), text("Groups").wide(), text("ServiceAccounts").wide()];
const RUNTIME_CLASSES: &[Column] = &[NAME, text("Handler"), AGE];
const SCALES: &[Column] = &[text("Name"), integer("Desired"), integer("Available"), AGE];
const SECRETS: &[Column] = &[NAME, text("Type"), text("Data"), AGE];
const SERVICES: &[Column] =
    &[NAME, text("Type"), text("Cluster-IP"), text("External-IP"), text("Port(s)"), AGE, text("Selector").wide()];
const SERVICE_CIDRS: &[Column] = &[NAME, text("CIDRs"), AGE];
const SIGNING_REQUESTS: &[Column] =
    &[NAME, AGE, text("SignerName"), text("Requestor"), text("RequestedDuration"), text("Condition")];
const STATEFUL_SETS: &[Column] = &[NAME, text("Ready"), AGE, text("Containers").wide(), text("Images").wide()];
const STORAGE_CLASSES: &[Column] =
    &[NAME, text("Provisioner"), text("ReclaimPolicy"), text("VolumeBindingMode"), text("AllowVolumeExpansion"), AGE];
const STORAGE_MIGRATIONS: &[Column] = &[text("Name"), text("Resource"), text("Status")];
const TRUST_BUNDLES: &[Column] = &[NAME, text("SignerName")];
const VALIDATING_POLICIES: &[Column] = &[NAME, integer("Validations"), text("ParamKind"), AGE];
const VOLUMES: &[Column] = &[
    NAME,
    text("Capacity"),
    text("Access Modes"),
    text("Reclaim Policy"),
    text("Status"),
    text("Claim"),
    text("StorageClass"),
    text("VolumeAttributesClass"),
    text("Reason"),
    AGE,
    text("VolumeMode").wide(),
];
const WEBHOOKS: &[Column] = &[NAME, integer("Webhooks"), AGE];

/// The columns of a kind. Kinds without columns of their own show their name and the time of their creation.
pub fn definitions(kind: Kind<'_>) -> &'static [Column] {
    match (kind.group, kind.kind) {
        ("", "ComponentStatus") => COMPONENT_STATUSES,
        ("", "ConfigMap") => CONFIG_MAPS,
        ("", "Endpoints") => ENDPOINTS,
        ("" | "events.k8s.io", "Event") => EVENTS,
        ("", "Namespace") => NAMESPACES,
        ("", "Node") => NODES,
        ("", "PersistentVolume") => VOLUMES,
        ("", "PersistentVolumeClaim") => CLAIMS,
        ("", "Pod") => PODS,
        ("", "PodTemplate") => POD_TEMPLATES,
        ("", "ReplicationController") | ("apps", "ReplicaSet") => REPLICA_SETS,
        ("", "ResourceQuota") => RESOURCE_QUOTAS,
        ("", "Secret") => SECRETS,
        ("", "Service") => SERVICES,
        ("", "ServiceAccount") | ("resource.k8s.io", "DeviceClass" | "ResourceClaimTemplate") => NAME_AND_AGE,
        ("apps", "ControllerRevision") => CONTROLLER_REVISIONS,
        ("apps", "DaemonSet") => DAEMON_SETS,
        ("apps", "Deployment") => DEPLOYMENTS,
        ("apps", "StatefulSet") => STATEFUL_SETS,
        ("autoscaling", "HorizontalPodAutoscaler") => AUTOSCALERS,
        ("autoscaling", "Scale") => SCALES,
        ("batch", "CronJob") => CRON_JOBS,
        ("batch", "Job") => JOBS,
        ("policy", "PodDisruptionBudget") => DISRUPTION_BUDGETS,
        ("discovery.k8s.io", "EndpointSlice") => ENDPOINT_SLICES,
        ("networking.k8s.io", "Ingress") => INGRESSES,
        ("networking.k8s.io", "IngressClass") => INGRESS_CLASSES,
        ("networking.k8s.io", "IPAddress") => IP_ADDRESSES,
        ("networking.k8s.io", "NetworkPolicy") => NETWORK_POLICIES,
        ("networking.k8s.io", "ServiceCIDR") => SERVICE_CIDRS,
        ("storage.k8s.io", "CSIDriver") => CSI_DRIVERS,
        ("storage.k8s.io", "CSINode") => CSI_NODES,
        ("storage.k8s.io", "StorageClass") => STORAGE_CLASSES,
        ("storage.k8s.io", "VolumeAttachment") => ATTACHMENTS,
        ("storage.k8s.io", "VolumeAttributesClass") => ATTRIBUTES_CLASSES,
        ("storagemigration.k8s.io", "StorageVersionMigration") => STORAGE_MIGRATIONS,
        ("rbac.authorization.k8s.io", "ClusterRoleBinding" | "RoleBinding") => ROLE_BINDINGS,
        ("certificates.k8s.io", "CertificateSigningRequest") => SIGNING_REQUESTS,
        ("certificates.k8s.io", "ClusterTrustBundle") => TRUST_BUNDLES,
        ("certificates.k8s.io", "PodCertificateRequest") => POD_CERTIFICATE_REQUESTS,
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration") => WEBHOOKS,
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy") => MUTATING_POLICIES,
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => VALIDATING_POLICIES,
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding" | "ValidatingAdmissionPolicyBinding") => {
            POLICY_BINDINGS
        }
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => FLOW_SCHEMAS,
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => PRIORITY_LEVELS,
        ("scheduling.k8s.io", "PriorityClass") => PRIORITY_CLASSES,
        ("node.k8s.io", "RuntimeClass") => RUNTIME_CLASSES,
        ("coordination.k8s.io", "Lease") => LEASES,
        ("resource.k8s.io", "DeviceTaintRule") => DEVICE_TAINT_RULES,
        ("resource.k8s.io", "ResourceClaim") => RESOURCE_CLAIMS,
        ("resource.k8s.io", "ResourceSlice") => RESOURCE_SLICES,
        ("apiregistration.k8s.io", "APIService") => API_SERVICES,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => RESOURCE_DEFINITIONS,
        _ => NAME_AND_CREATION,
    }
}
