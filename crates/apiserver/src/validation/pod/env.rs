//! The environment of containers.

use serde_json::Value;

use super::volume_sources::no_backsteps;
use crate::validation::found::Found;
use crate::validation::names;
use crate::validation::path::{Path, get, has, text};
use crate::validation::resources;

/// What a variable can take from its pod.
const FROM_POD: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// What a variable or file can take from its container's resources.
const FROM_RESOURCES: &[&str] = &[
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// All that fields of a pod can be named by.
const KNOWN: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

const SIZES: &[&str] = &["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

/// A container's variables.
pub fn vars(out: &mut Found, vars: &[Value], path: &Path) {
    for (i, var) in vars.iter().enumerate() {
        let path = path.index(i);
        let name = text(var, "name");
        if name.is_empty() {
            out.required(&path.child("name"), "");
        } else {
            out.said(&path.child("name"), name, names::is_relaxed_env_var_name(name));
        }
        if has(var, "valueFrom") {
            value_from(out, var, &path.child("valueFrom"));
        }
    }
}

fn value_from(out: &mut Found, var: &Value, path: &Path) {
    let from = get(var, "valueFrom");
    let mut sources = 0;
    if has(from, "fieldRef") {
        sources += 1;
        field_ref(out, get(from, "fieldRef"), FROM_POD, &path.child("fieldRef"));
    }
    if has(from, "resourceFieldRef") {
        sources += 1;
        resource_ref(out, get(from, "resourceFieldRef"), false, &path.child("resourceFieldRef"));
    }
    for name in ["configMapKeyRef", "secretKeyRef"] {
        if has(from, name) {
            sources += 1;
            key_ref(out, get(from, name), &path.child(name));
        }
    }
    if has(from, "fileKeyRef") {
        sources += 1;
        file_ref(out, get(from, "fileKeyRef"), &path.child("fileKeyRef"));
    }
    if sources == 0 {
        let said =
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
        out.invalid(path, "", said);
    } else if !text(var, "value").is_empty() {
        out.invalid(path, "", "may not be specified when `value` is not empty");
    } else if sources > 1 {
        out.invalid(path, "", "may not have more than one field specified at a time");
    }
}

/// `metadata.labels['x']` in two.
fn subscript(path: &str) -> Option<(&str, &str)> {
    path.strip_suffix("']")?.split_once("['").filter(|(path, _)| !path.is_empty())
}

/// A field of the pod, where `allowed` says which.
pub fn field_ref(out: &mut Found, from: &Value, allowed: &[&str], path: &Path) {
    let (version, wanted) = (text(from, "apiVersion"), text(from, "fieldPath"));
    if version.is_empty() {
        out.required(&path.child("apiVersion"), "");
        return;
    }
    let field = path.child("fieldPath");
    if wanted.is_empty() {
        out.required(&field, "");
        return;
    }
    let known = if version != "v1" {
        Err(format!("unsupported pod version: {version}"))
    } else if let Some((base, _)) = subscript(wanted) {
        match base {
            "metadata.annotations" | "metadata.labels" => Ok(wanted),
            _ => Err(format!("field label does not support subscript: {wanted}")),
        }
    } else if wanted == "spec.host" {
        Ok("spec.nodeName")
    } else if KNOWN.contains(&wanted) {
        Ok(wanted)
    } else {
        Err(format!("field label not supported: {wanted}"))
    };
    let known = match known {
        Ok(known) => known,
        Err(why) => {
            out.invalid(&field, wanted, format!("error converting fieldPath: {why}"));
            return;
        }
    };
    match subscript(known) {
        Some(("metadata.annotations", key)) => {
            let key = key.to_lowercase();
            out.said(path, &key, names::is_qualified_name(&key));
        }
        Some((_, key)) => out.said(path, key, names::is_qualified_name(key)),
        None => {
            let mut allowed = allowed.to_vec();
            allowed.sort_unstable();
            out.one_of(&field, known, &allowed);
        }
    }
}

/// A resource of a container; files have to say of which.
pub fn resource_ref(out: &mut Found, from: &Value, file: bool, path: &Path) {
    let resource = text(from, "resource");
    let huge = resource.starts_with("requests.hugepages-") || resource.starts_with("limits.hugepages-");
    if file && text(from, "containerName").is_empty() {
        out.required(&path.child("containerName"), "");
    } else if resource.is_empty() {
        out.required(&path.child("resource"), "");
    } else if !huge {
        out.one_of(&path.child("resource"), resource, FROM_RESOURCES);
    }
    let divisor = text(from, "divisor");
    if divisor.is_empty() || resources::quantity(get(from, "divisor")).is_zero() {
        return;
    }
    let kind = match resource {
        "limits.cpu" | "requests.cpu" => {
            if !matches!(divisor, "1m" | "1") {
                let said = "only divisor's values 1m and 1 are supported with the cpu resource";
                out.invalid(&path.child("divisor"), resource, said);
            }
            return;
        }
        "limits.memory" | "requests.memory" => "memory",
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => "local ephemeral storage",
        _ if huge => "hugepages",
        _ => return,
    };
    if !SIZES.contains(&divisor) {
        let said = format!("only divisor's values {} are supported with the {kind} resource", SIZES.join(", "));
        out.invalid(&path.child("divisor"), resource, said);
    }
}

fn key_ref(out: &mut Found, from: &Value, path: &Path) {
    let (name, key) = (text(from, "name"), text(from, "key"));
    out.said(&path.child("name"), name, names::is_dns1123_subdomain(name));
    if key.is_empty() {
        out.required(&path.child("key"), "");
    } else {
        out.said(&path.child("key"), key, names::is_config_map_key(key));
    }
}

fn file_ref(out: &mut Found, from: &Value, path: &Path) {
    let (key, volume, file) = (text(from, "key"), text(from, "volumeName"), text(from, "path"));
    if key.is_empty() {
        out.required(&path.child("key"), "");
    } else {
        out.said(&path.child("key"), key, names::is_relaxed_env_var_name(key));
    }
    if volume.is_empty() {
        out.required(&path.child("volumeName"), "");
    } else {
        out.said(&path.child("volumeName"), volume, names::is_dns1123_label(volume));
    }
    if file.is_empty() {
        out.required(&path.child("path"), "");
    } else {
        no_backsteps(out, file, &path.child("path"));
    }
}

/// Whole config maps and secrets as variables.
pub fn from(out: &mut Found, sources: &[Value], path: &Path) {
    for (i, source) in sources.iter().enumerate() {
        let field = path.index(i);
        let prefix = text(source, "prefix");
        if !prefix.is_empty() {
            out.said(&field.child("prefix"), prefix, names::is_relaxed_env_var_name(prefix));
        }
        let mut count = 0;
        for kind in ["configMapRef", "secretRef"] {
            if has(source, kind) {
                count += 1;
                let field = field.child(kind).child("name");
                match text(get(source, kind), "name") {
                    "" => out.required(&field, ""),
                    name => out.said(&field, name, names::name_is_dns_subdomain(name, true)),
                }
            }
        }
        if count == 0 {
            out.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`");
        } else if count > 1 {
            out.invalid(path, "", "may not have more than one field specified at a time");
        }
    }
}
