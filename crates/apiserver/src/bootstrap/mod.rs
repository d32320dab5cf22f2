//! What exists from the first start.
//!
//! [`objects`] lists it, in the order in which it is to be created; the server creates what is absent and leaves alone what is
//! there. Roles and bindings are [`rbac::reconcile`]d as upstream does it, so that a newer release's rules reach an older store.

pub mod api_services;
pub mod flow_control;
pub mod rbac;

use std::net::IpAddr;

use jiff::Timestamp;
use plimsoll_schema::Table;
use serde_json::{Value, json};

use crate::kind::Kind;

/// What the objects depend on.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// The time, for the conditions of objects that have some.
    pub now: Timestamp,
    /// The address under which the server is reached.
    pub address: IpAddr,
    /// The port under which it is reached.
    pub port: u16,
    /// The CA of client certificates (PEM). Upstream has `extension-apiserver-authentication` only with one.
    pub client_ca: Option<&'a str>,
    /// The kinds that are served.
    pub table: &'a Table,
}

/// The range of service addresses.
pub const SERVICE_CIDR: &str = "10.0.0.0/24";
/// The address of the `kubernetes` service: the first of [`SERVICE_CIDR`].
pub const SERVICE_IP: &str = "10.0.0.1";
/// The namespaces of every cluster.
pub const NAMESPACES: [&str; 4] = ["kube-system", "kube-public", "kube-node-lease", "default"];

/// All objects of a new cluster, as they are stored: with their status, without uid, version and creation time, which the server
/// gives to every object.
pub fn objects(options: &Options<'_>) -> Vec<(Kind<'static>, Value)> {
    let mut out = Vec::new();
    out.extend(NAMESPACES.iter().map(|name| (Kind::new("", "v1", "Namespace"), namespace(name))));
    out.extend(api_services::objects(options.table, options.now));
    out.extend(flow_control::objects(options.now));
    out.extend(priority_classes());
    out.extend(rbac::objects());
    out.extend(service(options));
    out.extend(config_maps(options));
    out
}

/// Who manages the fields of an object of [`objects`], as upstream's `managedFields` name it.
pub fn field_manager(kind: Kind<'_>) -> &'static str {
    match kind.group {
        "flowcontrol.apiserver.k8s.io" => "api-priority-and-fairness-config-producer-v1",
        _ => "kube-apiserver",
    }
}

/// A time as objects have it.
pub(crate) fn shown(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn namespace(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": { "name": name, "labels": { "kubernetes.io/metadata.name": name } },
        "spec": { "finalizers": ["kubernetes"] },
        "status": { "phase": "Active" },
    })
}

fn priority_classes() -> impl Iterator<Item = (Kind<'static>, Value)> {
    [
        ("system-node-critical", 2_000_001_000, "Used for system critical pods that must not be moved from their current node."),
        (
            "system-cluster-critical",
            2_000_000_000,
            "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
        ),
    ]
    .into_iter()
    .map(|(name, value, description)| {
        let object = json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": { "name": name, "generation": 1 },
            "value": value, "description": description, "preemptionPolicy": "PreemptLowerPriority",
        });
        (Kind::new("scheduling.k8s.io", "v1", "PriorityClass"), object)
    })
}

/// The `kubernetes` service with its endpoints and its address.
fn service(options: &Options<'_>) -> Vec<(Kind<'static>, Value)> {
    let address = options.address.to_string();
    let family = if options.address.is_ipv4() { "IPv4" } else { "IPv6" };
    let ports = json!([{ "name": "https", "port": options.port, "protocol": "TCP" }]);
    let cidr = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": { "name": "kubernetes" },
        "spec": { "cidrs": [SERVICE_CIDR] },
        "status": { "conditions": [{
            "type": "Ready", "status": "True", "reason": "", "message": "Kubernetes default Service CIDR is ready",
            "lastTransitionTime": shown(options.now),
        }] },
    });
    let ip = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "IPAddress",
        "metadata": { "name": SERVICE_IP, "labels": {
            "ipaddress.kubernetes.io/ip-family": "IPv4", "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
        } },
        "spec": { "parentRef": { "resource": "services", "namespace": "default", "name": "kubernetes" } },
    });
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": "kubernetes", "namespace": "default",
            "labels": { "component": "apiserver", "provider": "kubernetes" },
        },
        "spec": {
            "type": "ClusterIP", "clusterIP": SERVICE_IP, "clusterIPs": [SERVICE_IP],
            "internalTrafficPolicy": "Cluster", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
            "ports": [{ "name": "https", "port": 443, "protocol": "TCP", "targetPort": options.port }],
            "sessionAffinity": "None",
        },
        "status": { "loadBalancer": {} },
    });
    let endpoints = json!({
        "apiVersion": "v1", "kind": "Endpoints",
        "metadata": {
            "name": "kubernetes", "namespace": "default",
            "labels": { "endpointslice.kubernetes.io/skip-mirror": "true" },
        },
        "subsets": [{ "addresses": [{ "ip": address }], "ports": ports }],
    });
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {
            "name": "kubernetes", "namespace": "default", "generation": 1,
            "labels": { "kubernetes.io/service-name": "kubernetes" },
        },
        "addressType": family,
        "endpoints": [{ "addresses": [address], "conditions": { "ready": true } }],
        "ports": ports,
    });
    vec![
        (Kind::new("networking.k8s.io", "v1", "ServiceCIDR"), cidr),
        (Kind::new("networking.k8s.io", "v1", "IPAddress"), ip),
        (Kind::new("", "v1", "Service"), service),
        (Kind::new("", "v1", "Endpoints"), endpoints),
        (Kind::new("discovery.k8s.io", "v1", "EndpointSlice"), slice),
    ]
}

fn config_maps(options: &Options<'_>) -> Vec<(Kind<'static>, Value)> {
    let map = |name: &str, data: Value| {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": name, "namespace": "kube-system" }, "data": data,
        });
        (Kind::new("", "v1", "ConfigMap"), object)
    };
    let day = options.now.strftime("%Y-%m-%d").to_string();
    let mut out = vec![map("kube-apiserver-legacy-service-account-token-tracking", json!({ "since": day }))];
    if let Some(ca) = options.client_ca {
        out.push(map("extension-apiserver-authentication", json!({ "client-ca-file": ca })));
    }
    out
}

#[cfg(test)]
mod tests;
