//! What upstream warns about: things that are taken, but will not do what one may think.

mod paths;
mod pod;

use plimsoll_engine::quantity::Quantity;
use serde_json::Value;

use crate::field::go_quoted;
use crate::kind::Kind;
use crate::value::{get, int, list, name, text, texts};
use pod::{OLD_VOLUMES, pod};

/// Labels of nodes that have newer names.
const OLD_LABELS: [(&str, &str); 8] = [
    ("beta.kubernetes.io/arch", r#"deprecated since v1.14; use "kubernetes.io/arch" instead"#),
    ("beta.kubernetes.io/os", r#"deprecated since v1.14; use "kubernetes.io/os" instead"#),
    (
        "failure-domain.beta.kubernetes.io/region",
        r#"deprecated since v1.17; use "topology.kubernetes.io/region" instead"#,
    ),
    ("failure-domain.beta.kubernetes.io/zone", r#"deprecated since v1.17; use "topology.kubernetes.io/zone" instead"#),
    ("beta.kubernetes.io/instance-type", r#"deprecated since v1.17; use "node.kubernetes.io/instance-type" instead"#),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    ("scheduler.alpha.kubernetes.io/preferAvoidPods", "deprecated since v1.22; use Taints and Tolerations instead"),
    ("node-role.kubernetes.io/master", r#"use "node-role.kubernetes.io/control-plane" instead"#),
];

const NOT_A_LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
     end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

/// Warnings about a new object, after it was prepared.
pub fn on_create(kind: Kind<'_>, object: &Value) -> Vec<String> {
    let mut out = Vec::new();
    match (kind.group, kind.kind) {
        ("", "Pod") => {
            dns_label(
                object,
                "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended",
                &mut out,
            );
            pod("", object, &mut out);
        }
        ("", "ReplicationController") | ("apps", "Deployment" | "ReplicaSet") | ("batch", "Job" | "CronJob") => {
            dns_label(
                object,
                "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended",
                &mut out,
            );
        }
        _ => {}
    }
    indexed(kind, object, &mut out);
    if let Some((path, template)) = template(kind, object) {
        pod(path, template, &mut out);
    }
    common(kind, object, None, &mut out);
    out
}

/// Warnings about a changed object, after it was prepared.
pub fn on_update(kind: Kind<'_>, subresource: &str, new: &Value, old: &Value) -> Vec<String> {
    let mut out = Vec::new();
    if !subresource.is_empty() {
        return out;
    }
    let generation = |o: &Value| int(o, &["metadata", "generation"]);
    let changed = if kind.kind == "DaemonSet" {
        crate::defaults::template_generation(new) != crate::defaults::template_generation(old)
    } else {
        generation(new) != generation(old)
    };
    if changed {
        indexed(kind, new, &mut out);
    }
    // Upstream's replication controllers are looked at when they are made, and not again.
    if changed
        && kind.kind != "ReplicationController"
        && let Some((path, template)) = template(kind, new)
    {
        pod(path, template, &mut out);
    }
    common(kind, new, Some(old), &mut out);
    out
}

/// Jobs with more indexes than their status may be able to say.
fn indexed(kind: Kind<'_>, object: &Value, out: &mut Vec<String>) {
    let (path, spec) = match (kind.group, kind.kind) {
        ("batch", "Job") => ("spec", object.get("spec")),
        ("batch", "CronJob") => ("spec.jobTemplate.spec", get(object, &["spec", "jobTemplate", "spec"])),
        _ => return,
    };
    let Some(spec) = spec.filter(|spec| text(spec, &["completionMode"]) == "Indexed") else { return };
    let number = |field: &str| int(spec, &[field]).unwrap_or_default();
    if number("completions") > 100_000 && number("parallelism") > 10_000 {
        out.push(format!(
            "{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might \
             not be able to track completedIndexes when a big number of indexes fail"
        ));
    }
}

fn template<'a>(kind: Kind<'_>, object: &'a Value) -> Option<(&'static str, &'a Value)> {
    let (path, keys): (_, &[&str]) = match (kind.group, kind.kind) {
        ("", "ReplicationController")
        | ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet")
        | ("batch", "Job") => ("spec.template.", &["spec", "template"]),
        ("batch", "CronJob") => ("spec.jobTemplate.spec.template.", &["spec", "jobTemplate", "spec", "template"]),
        ("", "PodTemplate") => ("template.", &["template"]),
        _ => return None,
    };
    Some((path, get(object, keys)?))
}

fn common(kind: Kind<'_>, object: &Value, old: Option<&Value>, out: &mut Vec<String>) {
    match (kind.group, kind.kind) {
        ("", "PersistentVolume") => volume(object, out),
        ("", "PersistentVolumeClaim") => {
            let key = "volume.beta.kubernetes.io/storage-class";
            if get(object, &["metadata", "annotations", key]).is_some() {
                out.push(format!(
                    "metadata.annotations[{key}]: deprecated since v1.8; use \"storageClassName\" attribute instead"
                ));
            }
            claim("spec", object.get("spec"), out);
        }
        ("", "Service") => service(object, out),
        ("", "Node") => {
            if get(object, &["spec", "configSource"]).is_some() {
                out.push("spec.configSource: the feature is removed".into());
            }
            if !text(object, &["spec", "externalID"]).is_empty() {
                out.push("spec.externalID: this field is deprecated, and is unused by Kubernetes".into());
            }
        }
        ("", "ServiceAccount") => {
            let key = "kubernetes.io/enforce-mountable-secrets";
            let has = |o: &Value| get(o, &["metadata", "annotations", key]).is_some();
            if has(object) && !old.is_some_and(has) {
                out.push(format!(
                    "metadata.annotations[{key}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
                ));
            }
        }
        ("", "Secret") if text(object, &["type"]) == "kubernetes.io/tls" => key_pair(object, out),
        ("node.k8s.io", "RuntimeClass") => {
            for (key, _) in texts(object, &["scheduling", "nodeSelector"]) {
                out.extend(old_label(key).map(|message| format!("scheduling.nodeSelector: {message}")));
            }
        }
        ("storage.k8s.io", "CSIStorageCapacity") => {
            expressions("nodeTopology", object.get("nodeTopology"), out);
            for (key, _) in texts(object, &["nodeTopology", "matchLabels"]) {
                out.extend(old_label(key).map(|message| format!("nodeTopology.matchLabels.{key}: {message}")));
            }
        }
        ("", "ResourceQuota") => quota(object, out),
        ("discovery.k8s.io", "EndpointSlice") if old.is_none() && text(object, &["addressType"]) == "FQDN" => {
            out.push("spec.addressType: FQDN endpoints are deprecated".into());
        }
        ("apps", "StatefulSet") => {
            for (i, claim_template) in list(object, &["spec", "volumeClaimTemplates"]).iter().enumerate() {
                claim(&format!("spec.volumeClaimTemplates[{i}]"), claim_template.get("spec"), out);
            }
            if int(object, &["spec", "revisionHistoryLimit"]).is_some_and(|n| n < 0) {
                out.push("spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended".into());
            }
        }
        ("networking.k8s.io", "Ingress") => {
            let key = "kubernetes.io/ingress.class";
            if get(object, &["metadata", "annotations", key]).is_some()
                && get(object, &["spec", "ingressClassName"]).is_none()
            {
                out.push(format!(
                    "annotation {} is deprecated, please use 'spec.ingressClassName' instead",
                    go_quoted(key)
                ));
            }
        }
        ("storage.k8s.io", "StorageClass") => {
            for (i, topology) in list(object, &["allowedTopologies"]).iter().enumerate() {
                for (j, expression) in list(topology, &["matchLabelExpressions"]).iter().enumerate() {
                    if let Some(message) = old_label(text(expression, &["key"])) {
                        out.push(format!("allowedTopologies[{i}].matchLabelExpressions[{j}].key: {message}"));
                    }
                }
            }
        }
        ("storage.k8s.io", "CSIDriver")
            if !list(object, &["spec", "tokenRequests"]).is_empty()
                && get(object, &["spec", "serviceAccountTokenInSecrets"]).is_none() =>
        {
            out.push(
                    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible \
                     logging of tokens in volume attributes"
                        .into(),
                );
        }
        _ => {}
    }
}

fn old_label(key: &str) -> Option<&'static str> {
    OLD_LABELS.iter().find(|(label, _)| *label == key).map(|(_, message)| *message)
}

fn dns_label(object: &Value, sentence: &str, out: &mut Vec<String>) {
    let name = name(object);
    let mut wrong = Vec::new();
    if name.len() > 63 {
        wrong.push("must be no more than 63 characters".to_owned());
    }
    let is_label = |label: &str| {
        let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        !label.is_empty() && label.bytes().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    if !is_label(name) {
        let dots = name.split('.').all(is_label);
        wrong.push(if dots { "must not contain dots".to_owned() } else { NOT_A_LABEL.to_owned() });
    }
    if !wrong.is_empty() {
        out.push(format!("{sentence}: [{}]", wrong.join(" ")));
    }
}

fn fractional(path: &str, amount: Option<&Value>, out: &mut Vec<String>) {
    let Some(amount) = amount.and_then(Value::as_str) else { return };
    if Quantity::parse(amount).is_ok_and(|q| q.milli_value() % 1000 != 0) {
        out.push(format!("{path}: fractional byte value {} is invalid, must be an integer", go_quoted(amount)));
    }
}

fn claim(path: &str, spec: Option<&Value>, out: &mut Vec<String>) {
    let Some(spec) = spec else { return };
    for kind in ["requests", "limits"] {
        fractional(&format!("{path}.resources.{kind}[storage]"), get(spec, &["resources", kind, "storage"]), out);
    }
}

/// Keys of a term's expressions.
fn expressions(path: &str, term: Option<&Value>, out: &mut Vec<String>) {
    for (i, expression) in term.map(|t| list(t, &["matchExpressions"])).unwrap_or_default().iter().enumerate() {
        let key = text(expression, &["key"]);
        if let Some(message) = old_label(key) {
            out.push(format!("{path}.matchExpressions[{i}].key: {key} is {message}"));
        }
    }
}

fn terms(path: &str, terms: &[Value], out: &mut Vec<String>) {
    for (i, term) in terms.iter().enumerate() {
        expressions(&format!("{path}[{i}]"), Some(term), out);
    }
}

/// What Go's TLS says first about a certificate and key that are no such thing. Whether they fit each other is not looked at.
fn key_pair(object: &Value, out: &mut Vec<String>) {
    use base64::Engine as _;
    let has_pem = |key: &str| {
        let bytes = base64::engine::general_purpose::STANDARD.decode(text(object, &["data", key])).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains("-----BEGIN ")
    };
    if !has_pem("tls.crt") {
        out.push("tls: failed to find any PEM data in certificate input".into());
    } else if !has_pem("tls.key") {
        out.push("tls: failed to find any PEM data in key input".into());
    }
}

fn volume(object: &Value, out: &mut Vec<String>) {
    for (key, instead) in
        [("storage-class", ("v1.8", "storageClassName")), ("mount-options", ("v1.31", "mountOptions"))]
    {
        let key = format!("volume.beta.kubernetes.io/{key}");
        if get(object, &["metadata", "annotations", &key]).is_some() {
            out.push(format!(
                "metadata.annotations[{key}]: deprecated since {}; use \"{}\" attribute instead",
                instead.0, instead.1
            ));
        }
    }
    if text(object, &["spec", "persistentVolumeReclaimPolicy"]) == "Recycle" {
        out.push(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use \
             dynamic provisioning."
                .into(),
        );
    }
    terms(
        "spec.nodeAffinity.required.nodeSelectorTerms",
        list(object, &["spec", "nodeAffinity", "required", "nodeSelectorTerms"]),
        out,
    );
    for field in ["cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "rbd"] {
        if get(object, &["spec", field]).is_some()
            && let Some((_, shown, message)) = OLD_VOLUMES.iter().find(|(f, _, _)| *f == field)
        {
            out.push(format!("spec.{shown}: {message}"));
        }
    }
}

fn service(object: &Value, out: &mut Vec<String>) {
    if get(object, &["metadata", "annotations", "service.kubernetes.io/topology-aware-hints"]).is_some() {
        out.push(
            "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode \
             instead"
                .into(),
        );
    }
    let external_ips = !list(object, &["spec", "externalIPs"]).is_empty();
    let external_name = text(object, &["spec", "type"]) == "ExternalName";
    let headless = text(object, &["spec", "clusterIP"]) == "None";
    if headless {
        if !text(object, &["spec", "loadBalancerIP"]).is_empty() {
            out.push("spec.loadBalancerIP is ignored for headless services".into());
        }
        if external_ips {
            out.push("spec.externalIPs is ignored for headless services".into());
        }
        if text(object, &["spec", "sessionAffinity"]) != "None" {
            out.push("spec.SessionAffinity is ignored for headless services".into());
        }
    }
    if external_ips && !headless && !external_name {
        out.push("spec.externalIPs is deprecated and may no longer be implemented in some clusters".into());
    }
    if external_ips && external_name {
        out.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".into());
    }
    if !external_name && !text(object, &["spec", "externalName"]).is_empty() {
        out.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".into());
    }
    if text(object, &["spec", "trafficDistribution"]) == "PreferClose" {
        out.push("spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"".into());
    }
}

fn quota(object: &Value, out: &mut Vec<String>) {
    for resource in ["cpu", "memory", "storage", "ephemeral-storage"] {
        let hard = |name: &str| get(object, &["spec", "hard", name]).and_then(Value::as_str).map(str::to_owned);
        let mut request_name = format!("requests.{resource}");
        let mut request = hard(&request_name);
        if request.is_none() && matches!(resource, "cpu" | "memory") {
            request = hard(resource);
            request_name = resource.into();
        }
        let limit_name = format!("limits.{resource}");
        let (Some(request), Some(limit)) = (request, hard(&limit_name)) else { continue };
        if let (Ok(r), Ok(l)) = (Quantity::parse(&request), Quantity::parse(&limit))
            && r > l
        {
            out.push(format!("ResourceQuota {request_name} ({request}) should be less than {limit_name} ({limit})"));
        }
    }
}

/// What upstream says on each use of a version that has a better one.
pub fn deprecated_api(kind: Kind<'_>) -> Option<&'static str> {
    match (kind.group, kind.version, kind.kind) {
        ("", "v1", "Endpoints" | "EndpointsList") => {
            Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
        }
        ("", "v1", "ComponentStatus" | "ComponentStatusList") => Some("v1 ComponentStatus is deprecated in v1.19+"),
        _ => None,
    }
}
