//! Ingress and IngressClass.

use serde_json::Value;

use super::found::Found;
use super::services::{point_host, point_ip};
use crate::field::FieldError;
use crate::validation::ip;
use crate::validation::names::{self, name_is_dns_subdomain};
use crate::validation::path::{Path, at, get, has, list, number, same, text, texts};

const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";
/// The longest name of a controller.
const CONTROLLER_MAX: usize = 250;

/// What an older ingress has already, and what stays accepted for its sake.
#[derive(Debug, Default, Clone, Copy)]
struct Before {
    secret_names: bool,
    wildcard_rules: bool,
}

/// A new ingress.
pub(super) fn create(found: &mut Found, new: &Value) {
    ingress(found, new, Before::default());
    let (annotation, class) =
        (at(new, &["metadata", "annotations", CLASS_ANNOTATION]), at(new, &["spec", "ingressClassName"]));
    if !annotation.is_null() && !class.is_null() && annotation != class {
        let said = "must match `ingressClassName` when both are specified";
        found.invalid(format!("annotations.{CLASS_ANNOTATION}"), annotation.clone(), said);
    }
}

/// An ingress that replaces another.
pub(super) fn update(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    let spec = get(old, "spec");
    let bad_secret = |tls: &Value| {
        !text(tls, "secretName").is_empty() && !names::is_dns1123_subdomain(text(tls, "secretName")).is_empty()
    };
    let bad_wildcard = |rule: &Value| {
        let mut found = Found::default();
        rule_value(&mut found, rule, &Path::new(""));
        text(rule, "host").contains('*') && !found.is_empty()
    };
    let before = Before {
        secret_names: list(spec, "tls").iter().any(bad_secret),
        wildcard_rules: list(spec, "rules").iter().any(bad_wildcard),
    };
    ingress(found, new, before);
}

fn ingress(found: &mut Found, new: &Value, before: Before) {
    found.metadata(new, true, name_is_dns_subdomain);
    let (path, spec) = (Path::new("spec"), get(new, "spec"));
    let rules = list(spec, "rules");
    let default = get(spec, "defaultBackend");
    if rules.is_empty() && default.is_null() {
        found.invalid(&path, Value::Null, "either `defaultBackend` or `rules` must be specified");
    }
    if !default.is_null() {
        backend(found, default, &path.child("defaultBackend"));
    }
    for (i, rule) in rules.iter().enumerate() {
        let path = path.child("rules").index(i);
        let name = text(rule, "host");
        let wildcard = name.contains('*');
        if !name.is_empty() {
            if ip::parse_ip(name).is_some() {
                found.invalid(path.child("host"), name, "must be a DNS name, not an IP address");
            }
            host(found, name, &path.child("host"));
        }
        if !wildcard || !before.wildcard_rules {
            rule_value(found, rule, &path);
        }
    }
    for (i, tls) in list(spec, "tls").iter().enumerate() {
        let path = path.child("tls").index(i);
        for (j, name) in texts(tls, "hosts").into_iter().enumerate() {
            host(found, name, &path.child("hosts").index(j));
        }
        let secret = text(tls, "secretName");
        if !before.secret_names && !secret.is_empty() {
            found.subdomain(&path.child("secretName"), secret);
        }
    }
    if let Some(class) = get(spec, "ingressClassName").as_str() {
        found.subdomain(&path.child("ingressClassName"), class);
    }
}

fn host(found: &mut Found, name: &str, path: &Path) {
    let complaints =
        if name.contains('*') { names::is_wildcard_dns1123_subdomain(name) } else { names::is_dns1123_subdomain(name) };
    found.complain(path, name, complaints);
}

fn rule_value(found: &mut Found, rule: &Value, path: &Path) {
    let http = get(rule, "http");
    if http.is_null() {
        return;
    }
    let paths = list(http, "paths");
    let field = path.child("http").child("paths");
    if paths.is_empty() {
        found.required(&field, "");
    }
    for (i, one) in paths.iter().enumerate() {
        http_path(found, one, &field.index(i));
    }
}

fn http_path(found: &mut Found, one: &Value, path: &Path) {
    let (target, field) = (text(one, "path"), path.child("path"));
    let absolute = target.starts_with('/');
    match get(one, "pathType").as_str() {
        None => {
            found.required(path.child("pathType"), "pathType must be specified");
            return;
        }
        Some("Exact" | "Prefix") => {
            if !absolute {
                found.invalid(&field, target, "must be an absolute path");
            }
            for sequence in ["//", "/./", "/../", "%2f", "%2F"] {
                if target.contains(sequence) {
                    found.invalid(&field, target, format!("must not contain '{sequence}'"));
                }
            }
            for suffix in ["/..", "/."] {
                if target.ends_with(suffix) {
                    found.invalid(&field, target, format!("cannot end with '{suffix}'"));
                }
            }
        }
        Some("ImplementationSpecific") => {
            if !target.is_empty() && !absolute {
                found.invalid(&field, target, "must be an absolute path");
            }
        }
        Some(other) => {
            let words = &["Exact", "ImplementationSpecific", "Prefix"];
            found.unsupported(&path.child("pathType"), other, words);
        }
    }
    backend(found, get(one, "backend"), &path.child("backend"));
}

fn backend(found: &mut Found, backend: &Value, path: &Path) {
    let (resource, service) = (get(backend, "resource"), get(backend, "service"));
    match (resource.is_null(), service.is_null()) {
        (false, false) => found.invalid(path, "", "cannot set both resource and service backends"),
        (true, true) => found.invalid(path, "", "resource or service backend is required"),
        (false, true) => reference(found, resource, false, &path.child("resource")),
        (true, false) => {
            let field = path.child("service");
            if found.need(service, "name", &field) {
                found.label(&field.child("name"), text(service, "name"));
            }
            let port = get(service, "port");
            let (name, number) = (text(port, "name"), number(port, "number").unwrap_or_default());
            let field = field.child("port");
            match (name.is_empty(), number) {
                (false, 0) => found.complain(&field.child("name"), name, names::is_port_name(name)),
                (false, _) => found.invalid(path, "", "cannot set both port name & port number"),
                (true, 0) => found.required(path, "port name or number is required"),
                (true, number) => found.port(&field.child("number"), number),
            }
        }
    }
}

/// A reference to something of another group. Where it is new, the declarative rules ask for what must be there.
fn reference(found: &mut Found, reference: &Value, declarative: bool, path: &Path) {
    if let Some(group) = get(reference, "apiGroup").as_str() {
        found.subdomain(&path.child("apiGroup"), group);
    }
    for name in ["kind", "name"] {
        let (value, path) = (text(reference, name), path.child(name));
        if !value.is_empty() {
            found.complain(&path, value, names::is_path_segment_name(value));
        } else if declarative {
            found.late(FieldError::required(&path, ""));
        } else {
            found.required(&path, "");
        }
    }
}

/// An ingress's status.
pub(super) fn update_status(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    let path = Path::new("status").child("loadBalancer").child("ingress");
    for (i, point) in list(at(new, &["status", "loadBalancer"]), "ingress").iter().enumerate() {
        point_ip(found, point, old, &path.index(i));
        point_host(found, point, &path.index(i));
    }
}

/// A new class.
pub(super) fn create_class(found: &mut Found, new: &Value) {
    class(found, new, None);
}

/// A class that replaces another.
pub(super) fn update_class(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    let controller = |object| text(get(object, "spec"), "controller");
    found.unchanged_text(&Path::new("spec").child("controller"), controller(new), controller(old));
    class(found, new, Some(old));
}

fn class(found: &mut Found, new: &Value, old: Option<&Value>) {
    found.metadata(new, false, name_is_dns_subdomain);
    let (path, spec) = (Path::new("spec"), get(new, "spec"));
    let controller = text(spec, "controller");
    if controller.len() > CONTROLLER_MAX {
        found.too_long(&path.child("controller"), CONTROLLER_MAX);
    }
    found.extend(names::is_domain_prefixed_path(&path.child("controller"), controller));
    let (parameters, path) = (get(spec, "parameters"), path.child("parameters"));
    if parameters.is_null() {
        return;
    }
    let changed = old.is_none_or(|old| !same(at(old, &["spec", "parameters"]), parameters));
    reference(found, parameters, changed, &path);
    let namespace = get(parameters, "namespace").as_str();
    match get(parameters, "scope").as_str() {
        None => found.required(path.child("scope"), ""),
        Some("Namespace") => match namespace {
            None => found.required(path.child("namespace"), "`parameters.scope` is set to 'Namespace'"),
            Some(namespace) => found.label(&path.child("namespace"), namespace),
        },
        Some("Cluster") => {
            if has(parameters, "namespace") {
                found.forbidden(path.child("namespace"), "`parameters.scope` is set to 'Cluster'");
            }
        }
        Some(scope) => found.unsupported(&path.child("scope"), scope, &["Cluster", "Namespace"]),
    }
}
