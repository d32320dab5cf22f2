//! Pods, and everything inside their spec: containers, probes, volumes.

use serde_json::{Value, json};

use super::image::pull_policy;
use crate::value::{Fields, as_fields, default_absent, default_zero, ensure_in, is_zero};

/// Files of a mounted volume are readable by all (0644).
const FILE_MODE: i64 = 0o644;
/// How long a pod has to stop.
const GRACE_PERIOD_SECONDS: i64 = 30;
/// How long a projected token is good for.
const TOKEN_SECONDS: i64 = 3600;

pub(super) fn apply(name: &str, it: &mut Fields) {
    match name {
        "Pod" => pod(it),
        "PodSpec" => spec(it),
        "PodStatus" => status(it),
        "Container" | "EphemeralContainer" => container(it),
        "Probe" => {
            for (key, value) in
                [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
            {
                default_zero(it, key, value);
            }
        }
        "HTTPGetAction" => {
            default_zero(it, "path", "/");
            default_zero(it, "scheme", "HTTP");
        }
        "GRPCAction" => default_absent(it, "service", ""),
        "ObjectFieldSelector" => default_zero(it, "apiVersion", "v1"),
        "FileKeySelector" => default_absent(it, "optional", false),
        "Volume" => volume(it),
        "HostPathVolumeSource" => default_absent(it, "type", ""),
        "SecretVolumeSource" | "ConfigMapVolumeSource" | "DownwardAPIVolumeSource" | "ProjectedVolumeSource" => {
            default_absent(it, "defaultMode", FILE_MODE);
        }
        "ServiceAccountTokenProjection" => default_absent(it, "expirationSeconds", TOKEN_SECONDS),
        "AzureDiskVolumeSource" => default_absent(it, "readOnly", false),
        _ => {}
    }
}

/// What only a pod gets, not the template of one.
fn pod(it: &mut Fields) {
    let spec = ensure_in(it, "spec");
    if spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64).is_some_and(|s| s < 0) {
        spec.insert("terminationGracePeriodSeconds".into(), 1.into());
    }
    default_absent(spec, "enableServiceLinks", true);
    let host_network = spec.get("hostNetwork").and_then(Value::as_bool).unwrap_or_default();
    for list in ["containers", "initContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let container = as_fields(container);
            requests_from_limits(container);
            if host_network {
                host_ports(container);
            }
        }
    }
}

fn requests_from_limits(container: &mut Fields) {
    let Some(Value::Object(resources)) = container.get_mut("resources") else { return };
    let Some(Value::Object(limits)) = resources.get("limits").cloned() else { return };
    if limits.is_empty() {
        return;
    }
    let requests = ensure_in(resources, "requests");
    for (name, amount) in limits {
        requests.entry(name).or_insert(amount);
    }
}

fn host_ports(container: &mut Fields) {
    for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let port = as_fields(port);
        if let Some(number) = port.get("containerPort").cloned() {
            default_zero(port, "hostPort", number);
        }
    }
}

fn spec(it: &mut Fields) {
    // The older name of the field always says the same as the newer one, which wins.
    let account =
        ["serviceAccountName", "serviceAccount"].iter().find_map(|key| it.get(*key).filter(|v| !is_zero(v)).cloned());
    match account {
        Some(account) => {
            it.insert("serviceAccountName".into(), account.clone());
            it.insert("serviceAccount".into(), account);
        }
        None => {
            it.remove("serviceAccountName");
            it.remove("serviceAccount");
        }
    }
    default_zero(it, "dnsPolicy", "ClusterFirst");
    default_zero(it, "restartPolicy", "Always");
    default_absent(it, "securityContext", json!({}));
    default_absent(it, "terminationGracePeriodSeconds", GRACE_PERIOD_SECONDS);
    default_zero(it, "schedulerName", "default-scheduler");
}

/// The pod's address and the first of its addresses are the same; where they differ, the single one wins.
fn status(it: &mut Fields) {
    let ip = it.get("podIP").and_then(Value::as_str).unwrap_or_default().to_owned();
    let first = it
        .get("podIPs")
        .and_then(|ips| ips.get(0))
        .map(|f| f.get("ip").and_then(Value::as_str).unwrap_or_default().to_owned());
    match first {
        None if !ip.is_empty() => {
            it.insert("podIPs".into(), json!([{"ip": ip}]));
        }
        Some(first) if ip.is_empty() && !first.is_empty() => {
            it.insert("podIP".into(), first.into());
        }
        Some(first) if first != ip => {
            it.insert("podIPs".into(), json!([{"ip": ip}]));
        }
        _ => {}
    }
}

fn container(it: &mut Fields) {
    let policy = pull_policy(it.get("image").and_then(Value::as_str).unwrap_or_default());
    default_zero(it, "imagePullPolicy", policy);
    default_zero(it, "terminationMessagePath", "/dev/termination-log");
    default_zero(it, "terminationMessagePolicy", "File");
}

fn volume(it: &mut Fields) {
    if !it.iter().any(|(key, value)| key != "name" && !value.is_null()) {
        it.insert("emptyDir".into(), json!({}));
    }
    if let Some(Value::Object(image)) = it.get_mut("image") {
        let policy = pull_policy(image.get("reference").and_then(Value::as_str).unwrap_or_default());
        default_zero(image, "pullPolicy", policy);
    }
}
