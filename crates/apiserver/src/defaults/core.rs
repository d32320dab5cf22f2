//! The other kinds of the core group.

use serde_json::{Value, json};

use crate::value::{Fields, as_fields, default_absent, default_zero, ensure_in, is_zero};

/// How long a service keeps a client with a pod: three hours.
const AFFINITY_SECONDS: i64 = 10800;

pub(super) fn apply(name: &str, it: &mut Fields) {
    match name {
        "Service" => service(it),
        "ReplicationController" => replication_controller(it),
        "Secret" => default_zero(it, "type", "Opaque"),
        "PersistentVolume" => {
            default_zero(ensure_in(it, "status"), "phase", "Pending");
            let spec = ensure_in(it, "spec");
            default_zero(spec, "persistentVolumeReclaimPolicy", "Retain");
            default_absent(spec, "volumeMode", "Filesystem");
        }
        "PersistentVolumeClaim" => default_zero(ensure_in(it, "status"), "phase", "Pending"),
        "PersistentVolumeClaimSpec" => default_absent(it, "volumeMode", "Filesystem"),
        "EndpointPort" => default_zero(it, "protocol", "TCP"),
        "Namespace" => namespace(it),
        "NamespaceStatus" => default_zero(it, "phase", "Active"),
        "NodeStatus" => {
            if let Some(capacity) = it.get("capacity").filter(|c| !is_zero(c)).cloned() {
                default_absent(it, "allocatable", capacity);
            }
        }
        "LimitRangeItem" => limit(it),
        _ => {}
    }
}

fn text<'a>(it: &'a Fields, key: &str) -> &'a str {
    it.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn service(it: &mut Fields) {
    let spec = ensure_in(it, "spec");
    default_zero(spec, "sessionAffinity", "None");
    match text(spec, "sessionAffinity") {
        "None" => {
            spec.remove("sessionAffinityConfig");
        }
        "ClientIP" => {
            let set = spec.get("sessionAffinityConfig").and_then(|c| c.get("clientIP")?.get("timeoutSeconds"));
            if set.is_none_or(Value::is_null) {
                spec.insert("sessionAffinityConfig".into(), json!({"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}}));
            }
        }
        _ => {}
    }
    default_zero(spec, "type", "ClusterIP");
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let port = as_fields(port);
        default_zero(port, "protocol", "TCP");
        let number = port.get("port").cloned().unwrap_or_else(|| 0.into());
        default_zero(port, "targetPort", number);
    }
    let outside = match text(spec, "type") {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => spec.get("externalIPs").is_some_and(|ips| !is_zero(ips)),
        _ => false,
    };
    if outside {
        default_zero(spec, "externalTrafficPolicy", "Cluster");
    }
    if matches!(text(spec, "type"), "NodePort" | "LoadBalancer" | "ClusterIP") {
        default_absent(spec, "internalTrafficPolicy", "Cluster");
    }
    if text(spec, "type") != "LoadBalancer" {
        return;
    }
    default_absent(spec, "allocateLoadBalancerNodePorts", true);
    let ingress = it.get_mut("status").and_then(|s| s.get_mut("loadBalancer")?.get_mut("ingress")?.as_array_mut());
    for point in ingress.into_iter().flatten() {
        let point = as_fields(point);
        if !text(point, "ip").is_empty() {
            default_absent(point, "ipMode", "VIP");
        }
    }
}

/// The labels of the template stand for the selector and for its own labels.
fn replication_controller(it: &mut Fields) {
    let Some(labels) =
        it.get("spec").and_then(|s| s.get("template")?.get("metadata")?.get("labels")).filter(|l| !is_zero(l)).cloned()
    else {
        return;
    };
    default_zero(ensure_in(it, "spec"), "selector", labels.clone());
    default_zero(ensure_in(it, "metadata"), "labels", labels);
}

/// Each namespace can be selected by its name.
fn namespace(it: &mut Fields) {
    let metadata = ensure_in(it, "metadata");
    let Some(name) = metadata.get("name").filter(|n| !is_zero(n)).cloned() else { return };
    ensure_in(metadata, "labels").insert("kubernetes.io/metadata.name".into(), name);
}

/// A container's limit follows from the most it may have, its request from its limit, or from the least.
fn limit(it: &mut Fields) {
    if text(it, "type") != "Container" {
        return;
    }
    for (from, to) in [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")] {
        let Some(Value::Object(amounts)) = it.get(from).cloned() else { continue };
        if amounts.is_empty() {
            continue;
        }
        let target = ensure_in(it, to);
        for (name, amount) in amounts {
            target.entry(name).or_insert(amount);
        }
    }
}
