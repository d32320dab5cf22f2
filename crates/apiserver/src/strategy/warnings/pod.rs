//! Warnings about pods and templates of pods.

use serde_json::Value;

use super::{claim, expressions, fractional, old_label, terms};
use crate::field::go_quoted;
use crate::strategy::pod::app_armor_profile;
use crate::value::{get, int, list, text, texts};

/// Volumes that no longer work, by their field.
pub(super) const OLD_VOLUMES: [(&str, &str, &str); 9] = [
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

/// Annotations that fields have replaced.
const OLD_ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    ("security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
    ("security.alpha.kubernetes.io/unsafe-sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
];

/// A pod, or the template of one under `path` (which ends with a dot).
pub(super) fn pod(path: &str, object: &Value, out: &mut Vec<String>) {
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
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    for (i, term) in list(object, &["spec", "affinity", "nodeAffinity", preferred]).iter().enumerate() {
        let at = format!("{path}spec.affinity.nodeAffinity.{preferred}[{i}].preference");
        expressions(&at, term.get("preference"), out);
    }
    for (i, constraint) in list(object, &["spec", "topologySpreadConstraints"]).iter().enumerate() {
        let key = text(constraint, &["topologyKey"]);
        if let Some(message) = old_label(key) {
            out.push(format!("{path}spec.topologySpreadConstraints[{i}].topologyKey: {key} is {message}"));
        }
        if get(constraint, &["labelSelector"]).is_none() {
            out.push(format!("{path}spec.topologySpreadConstraints[{i}].labelSelector: a null labelSelector results in matching no pod"));
        }
    }
    for (key, message) in OLD_ANNOTATIONS {
        if has_annotation(object, key) {
            out.push(format!("{path}metadata.annotations[{key}]: {message}"));
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
    super::paths::overlapping(list(object, &["spec", "volumes"]), out);
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
    let seccomp = "seccomp.security.alpha.kubernetes.io/pod";
    if has_annotation(object, seccomp) && get(object, &["spec", "securityContext", "seccompProfile"]).is_none() {
        out.push(no_seccomp(path, seccomp));
    }
    for (at, container) in containers(path, object) {
        annotations(path, object, container, out);
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

fn has_annotation(object: &Value, key: &str) -> bool {
    get(object, &["metadata", "annotations", key]).is_some()
}

fn no_seccomp(path: &str, key: &str) -> String {
    format!("{path}metadata.annotations[{key}]: non-functional in v1.27+; use the \"seccompProfile\" field instead")
}

/// Annotations that were about one container.
fn annotations(path: &str, object: &Value, container: &Value, out: &mut Vec<String>) {
    let name = text(container, &["name"]);
    let key = format!("container.seccomp.security.alpha.kubernetes.io/{name}");
    if has_annotation(object, &key) && get(container, &["securityContext", "seccompProfile"]).is_none() {
        out.push(no_seccomp(path, &key));
    }
    // Those of pods themselves were warned about when they became fields.
    let key = format!("container.apparmor.security.beta.kubernetes.io/{name}");
    if path.is_empty()
        || get(container, &["securityContext", "appArmorProfile"]).is_some()
        || !has_annotation(object, &key)
    {
        return;
    }
    let of_pod = get(object, &["spec", "securityContext", "appArmorProfile"]);
    let said = app_armor_profile(text(object, &["metadata", "annotations", &key]));
    if of_pod.is_none() || of_pod != said.as_ref() {
        out.push(format!(
            "{path}metadata.annotations[{key}]: deprecated since v1.30; use the \"appArmorProfile\" field instead"
        ));
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
            if !ip.is_empty() && host == 0 {
                // As Go prints the struct.
                let (name, inside) = (text(port, &["name"]), number(port, "containerPort"));
                let protocol = text(port, &["protocol"]);
                let shown =
                    format!("{{Name:{name} HostPort:0 ContainerPort:{inside} Protocol:{protocol} HostIP:{ip}}}");
                out.push(format!("{at}: hostIP set without hostPort: {shown}"));
            }
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
