//! What upstream warns about: things that are taken, but will not do what one may think.

use plimsoll_engine::quantity::Quantity;
use serde_json::Value;

use crate::field::go_quoted;
use crate::kind::Kind;
use crate::value::{get, int, list, name, text, texts};

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

/// Volumes that no longer work, by their field.
const OLD_VOLUMES: [(&str, &str, &str); 9] = [
    ("photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
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
    if let Some((path, template)) = template(kind, object) {
        pod(path, template, &mut out);
    }
    common(kind, object, &mut out);
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
    if changed && let Some((path, template)) = template(kind, new) {
        pod(path, template, &mut out);
    }
    common(kind, new, &mut out);
    out
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

fn common(kind: Kind<'_>, object: &Value, out: &mut Vec<String>) {
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
        ("", "ResourceQuota") => quota(object, out),
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
        ("storage.k8s.io", "CSIDriver") => {
            if !list(object, &["spec", "tokenRequests"]).is_empty()
                && get(object, &["spec", "serviceAccountTokenInSecrets"]).is_none()
            {
                out.push(
                    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible \
                     logging of tokens in volume attributes"
                        .into(),
                );
            }
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
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if name.is_empty() || !name.bytes().all(inner) || name.starts_with('-') || name.ends_with('-') {
        wrong.push(NOT_A_LABEL.to_owned());
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

fn terms(path: &str, terms: &[Value], out: &mut Vec<String>) {
    for (i, term) in terms.iter().enumerate() {
        for (j, expression) in list(term, &["matchExpressions"]).iter().enumerate() {
            let key = text(expression, &["key"]);
            if let Some(message) = old_label(key) {
                out.push(format!("{path}[{i}].matchExpressions[{j}].key: {key} is {message}"));
            }
        }
    }
}

/// A pod, or the template of one under `path` (which ends with a dot).
fn pod(path: &str, object: &Value, out: &mut Vec<String>) {
    for (key, _) in texts(object, &["spec", "nodeSelector"]) {
        if let Some(message) = old_label(key) {
            out.push(format!("{path}spec.nodeSelector[{key}]: {message}"));
        }
    }
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    terms(
        &format!("{path}spec.affinity.nodeAffinity.{required}.nodeSelectorTerms"),
        list(object, &["spec", "affinity", "nodeAffinity", required, "nodeSelectorTerms"]),
        out,
    );
    for (i, constraint) in list(object, &["spec", "topologySpreadConstraints"]).iter().enumerate() {
        let key = text(constraint, &["topologyKey"]);
        if let Some(message) = old_label(key) {
            out.push(format!("{path}spec.topologySpreadConstraints[{i}].topologyKey: {key} is {message}"));
        }
        if get(constraint, &["labelSelector"]).is_none() {
            out.push(format!("{path}spec.topologySpreadConstraints[{i}].labelSelector: a null labelSelector results in matching no pod"));
        }
    }
    for (i, volume) in list(object, &["spec", "volumes"]).iter().enumerate() {
        for (field, shown, message) in OLD_VOLUMES {
            if volume.get(field).is_some() {
                out.push(format!("{path}spec.volumes[{i}].{shown}: {message}"));
            }
        }
        claim(
            &format!("{path}spec.volumes[{i}].ephemeral.volumeClaimTemplate.spec"),
            get(volume, &["ephemeral", "volumeClaimTemplate", "spec"]),
            out,
        );
    }
    duplicates(&format!("{path}spec.hostAliases"), list(object, &["spec", "hostAliases"]), "ip", out);
    duplicates(&format!("{path}spec.imagePullSecrets"), list(object, &["spec", "imagePullSecrets"]), "name", out);
    for (i, secret) in list(object, &["spec", "imagePullSecrets"]).iter().enumerate() {
        if text(secret, &["name"]).is_empty() {
            out.push(format!("{path}spec.imagePullSecrets[{i}].name: invalid empty name \"\""));
        }
    }
    for amount in ["memory", "ephemeral-storage"] {
        fractional(&format!("{path}spec.overhead[{amount}]"), get(object, &["spec", "overhead", amount]), out);
    }
    for (at, container) in containers(path, object) {
        self::container(&at, container, out);
    }
    ports(path, object, out);
    if int(object, &["spec", "terminationGracePeriodSeconds"]).is_some_and(|s| s < 0) {
        out.push(format!(
            "{path}spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
        ));
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        affinity(path, kind, object, out);
    }
}

fn containers<'a>(path: &str, object: &'a Value) -> Vec<(String, &'a Value)> {
    ["initContainers", "containers", "ephemeralContainers"]
        .iter()
        .flat_map(|key| {
            list(object, &["spec", key]).iter().enumerate().map(move |(i, c)| (format!("{path}spec.{key}[{i}]"), c))
        })
        .collect()
}

fn duplicates(path: &str, items: &[Value], key: &str, out: &mut Vec<String>) {
    let mut seen: Vec<&str> = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let value = text(item, &[key]);
        if seen.contains(&value) {
            out.push(format!("{path}[{i}].{key}: duplicate {key} {}", go_quoted(value)));
        } else {
            seen.push(value);
        }
    }
}

fn container(path: &str, container: &Value, out: &mut Vec<String>) {
    for amount in ["memory", "ephemeral-storage"] {
        for kind in ["limits", "requests"] {
            fractional(
                &format!("{path}.resources.{kind}[{amount}]"),
                get(container, &["resources", kind, amount]),
                out,
            );
        }
    }
    let mut seen: Vec<&str> = Vec::new();
    for (i, variable) in list(container, &["env"]).iter().enumerate() {
        let name = text(variable, &["name"]);
        if !seen.contains(&name) {
            seen.push(name);
            continue;
        }
        // A later value may build on the earlier one.
        let reference = format!("$({name})");
        let value = text(variable, &["value"]);
        if variable.get("valueFrom").is_some() || value == reference || !value.contains(&reference) {
            out.push(format!(
                "{path}.env[{i}]: hides previous definition of {}, which may be dropped when using apply",
                go_quoted(name)
            ));
        }
    }
}

fn ports(path: &str, object: &Value, out: &mut Vec<String>) {
    let mut seen: Vec<(String, &Value)> = Vec::new();
    let mut names: Vec<(&str, String)> = Vec::new();
    let mut named = Vec::new();
    for (at, container) in containers(path, object) {
        for (i, port) in list(container, &["ports"]).iter().enumerate() {
            let at = format!("{at}.ports[{i}]");
            let number = |p: &Value, key: &str| int(p, &[key]).unwrap_or_default();
            let (ip, host) = (text(port, &["hostIP"]), number(port, "hostPort"));
            for (other_at, other) in &seen {
                if number(port, "containerPort") != number(other, "containerPort")
                    || text(port, &["protocol"]) != text(other, &["protocol"])
                {
                    continue;
                }
                let (other_ip, other_host) = (text(other, &["hostIP"]), number(other, "hostPort"));
                if ip == other_ip && host == other_host {
                    out.push(format!("{at}: duplicate port definition with {other_at}"));
                } else if host == 0 || other_host == 0 {
                    out.push(format!("{at}: overlapping port definition with {other_at}"));
                } else if host == other_host && ip.is_empty() != other_ip.is_empty() {
                    out.push(format!("{at}: dangerously ambiguous port definition with {other_at}"));
                }
            }
            let name = text(port, &["name"]);
            match names.iter().find(|(n, _)| *n == name) {
                _ if name.is_empty() => {}
                Some((_, other)) => named.push(format!(
                    "{at}: duplicate port name {} with {other}, services and probes that select ports by name will use {other}",
                    go_quoted(name)
                )),
                None => names.push((name, at.clone())),
            }
            seen.push((at, port));
        }
    }
    out.extend(named);
}

fn affinity(path: &str, kind: &str, object: &Value, out: &mut Vec<String>) {
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    let mut check = |at: String, term: &Value| {
        if term.get("labelSelector").is_none() {
            out.push(format!("{at}.labelSelector: a null labelSelector results in matching no pod"));
        }
    };
    for (i, term) in list(object, &["spec", "affinity", kind, required]).iter().enumerate() {
        check(format!("{path}spec.affinity.{kind}.{required}[{i}]"), term);
    }
    for (i, term) in list(object, &["spec", "affinity", kind, preferred]).iter().enumerate() {
        if let Some(term) = term.get("podAffinityTerm") {
            check(format!("{path}spec.affinity.{kind}.{preferred}[{i}].podAffinityTerm"), term);
        }
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
