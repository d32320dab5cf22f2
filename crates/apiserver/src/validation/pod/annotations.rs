//! Annotations that mean something on pods.

use serde_json::Value;

use super::Options;
use super::containers;
use super::scheduling;
use super::volume_sources::local_descending;
use crate::field::go_quoted;
use crate::validation::found::Found;
use crate::validation::path::{Path, at, entries, get, has, text};

const MIRROR: &str = "kubernetes.io/config.mirror";
const TOLERATIONS: &str = "scheduler.alpha.kubernetes.io/tolerations";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Whether a pod stands for one that a kubelet made by itself.
pub fn is_mirror(metadata: &Value) -> bool {
    has(get(metadata, "annotations"), MIRROR)
}

/// The cost of deleting a pod; an error where it is written but is no number.
pub fn deletion_cost(metadata: &Value) -> Result<i32, ()> {
    let Some(cost) = get(metadata, "annotations").get(DELETION_COST).and_then(Value::as_str) else { return Ok(0) };
    let sound = cost == "0" || cost.starts_with(|c: char| c == '-' || ('1'..='9').contains(&c));
    if sound { cost.parse().map_err(|_| ()) } else { Err(()) }
}

/// The annotations of a pod or template.
pub fn check(out: &mut Found, metadata: &Value, spec: &Value, path: &Path, options: &Options) {
    let annotations = get(metadata, "annotations");
    if let Some(value) = annotations.get(MIRROR)
        && text(spec, "nodeName").is_empty()
    {
        let said = "must set spec.nodeName if mirror pod annotation is set";
        out.invalid(&path.key(MIRROR), value.clone(), said);
    }
    if !text(annotations, TOLERATIONS).is_empty() {
        match serde_json::from_str::<Value>(text(annotations, TOLERATIONS)) {
            Ok(tolerations @ Value::Array(_)) => {
                let holder = serde_json::json!({ "tolerations": tolerations });
                scheduling::tolerations(out, &holder, &path.child(TOLERATIONS), options);
            }
            Ok(_) => {}
            Err(error) => out.invalid(path, TOLERATIONS, error.to_string()),
        }
    }
    if !options.deletion_cost && deletion_cost(metadata).is_err() {
        let value = get(annotations, DELETION_COST).clone();
        out.invalid(&path.key(DELETION_COST), value, "must be a 32bit integer");
    }
    if has(annotations, SECCOMP_POD) {
        seccomp_profile(out, text(annotations, SECCOMP_POD), &path.child(SECCOMP_POD));
    }
    for (key, value) in entries(metadata, "annotations") {
        if key.starts_with(SECCOMP_CONTAINER) {
            seccomp_profile(out, value.as_str().unwrap_or_default(), &path.child(key));
        }
    }
    for (key, value) in entries(metadata, "annotations") {
        let Some(name) = key.strip_prefix(APP_ARMOR) else { continue };
        if !containers::all(spec, path).iter().any(|(container, _)| text(container, "name") == name) {
            out.invalid(&path.key(key), name, "container not found");
        }
        let profile = value.as_str().unwrap_or_default();
        if !matches!(profile, "" | "runtime/default" | "unconfined") && !profile.starts_with("localhost/") {
            out.invalid(&path.key(key), profile, format!("invalid AppArmor profile name: {}", go_quoted(profile)));
        }
    }
}

fn seccomp_profile(out: &mut Found, profile: &str, path: &Path) {
    if matches!(profile, "runtime/default" | "docker/default" | "unconfined") {
        return;
    }
    match profile.strip_prefix("localhost/") {
        Some(local) => local_descending(out, local, path),
        None => out.invalid(path, profile, "must be a valid seccomp profile"),
    }
}

/// Annotations about confinement do not change.
pub fn check_update(out: &mut Found, new: &Value, old: &Value, path: &Path, options: &Options) {
    let (now, before) = (get(new, "metadata"), get(old, "metadata"));
    for (key, value) in entries(before, "annotations") {
        if get(now, "annotations").get(key) == Some(value) {
            continue;
        }
        if key.starts_with(APP_ARMOR) {
            out.forbidden(&path.key(key), "may not remove or update AppArmor annotations");
        }
        if key == MIRROR {
            out.forbidden(&path.key(key), "may not remove or update mirror pod annotation");
        }
    }
    for (key, _) in entries(now, "annotations") {
        if has(get(before, "annotations"), key) {
            continue;
        }
        if key.starts_with(APP_ARMOR) {
            out.forbidden(&path.key(key), "may not add AppArmor annotations");
        }
        if key == MIRROR {
            out.forbidden(&path.key(key), "may not add mirror pod annotation");
        }
    }
    check(out, now, get(new, "spec"), path, options);
}

/// Seccomp profiles that are written twice, as annotation and as field, agree.
pub fn seccomp_fields(out: &mut Found, metadata: &Value, spec: &Value, path: &Path) {
    let annotations = get(metadata, "annotations");
    let pod = at(spec, &["securityContext", "seccompProfile"]);
    if let Some(annotation) = annotations.get(SECCOMP_POD).and_then(Value::as_str) {
        agree(out, annotation, pod, &path.children(&["securityContext", "seccompProfile"]), Profile::Seccomp);
    }
    for (container, field) in containers::all(spec, path) {
        let key = format!("{SECCOMP_CONTAINER}{}", text(container, "name"));
        if let Some(annotation) = annotations.get(&key).and_then(Value::as_str) {
            let profile = at(container, &["securityContext", "seccompProfile"]);
            agree(out, annotation, profile, &field.children(&["securityContext", "seccompProfile"]), Profile::Seccomp);
        }
    }
}

/// AppArmor profiles that are written twice, as annotation and as field, agree.
pub fn app_armor_fields(out: &mut Found, metadata: &Value, spec: &Value, path: &Path) {
    if text(get(spec, "os"), "name") == "windows" {
        return;
    }
    let pod = at(spec, &["securityContext", "appArmorProfile"]);
    for (container, field) in containers::all(spec, path) {
        let own = at(container, &["securityContext", "appArmorProfile"]);
        let key = format!("{APP_ARMOR}{}", text(container, "name"));
        if let Some(annotation) = get(metadata, "annotations").get(&key).and_then(Value::as_str) {
            let field = field.children(&["securityContext", "appArmorProfile"]);
            agree(out, annotation, if own.is_null() { pod } else { own }, &field, Profile::AppArmor);
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Profile {
    Seccomp,
    AppArmor,
}

fn agree(out: &mut Found, annotation: &str, profile: &Value, path: &Path, of: Profile) {
    let name = if of == Profile::Seccomp { "seccomp" } else { "apparmor" };
    let type_differs = match text(profile, "type") {
        "Unconfined" => annotation != "unconfined",
        "RuntimeDefault" => {
            annotation != "runtime/default" && !(of == Profile::Seccomp && annotation == "docker/default")
        }
        "Localhost" => !annotation.starts_with("localhost/"),
        _ => return,
    };
    if type_differs {
        out.forbidden(&path.child("type"), format!("{name} type in annotation and field must match"));
    } else if text(profile, "type") == "Localhost" {
        let local = get(profile, "localhostProfile").as_str();
        if local != annotation.strip_prefix("localhost/") {
            let said = format!("{name} profile in annotation and field must match");
            out.forbidden(&path.child("localhostProfile"), said);
        }
    }
}
