//! Changing what the containers of a running pod may use.

use serde_json::{Value, json};

use super::{Options, annotations, metadata_and_spec};
use crate::field::FieldError;
use crate::validation::found::Found;
use crate::validation::meta;
use crate::validation::path::{Path, at, get, has, list, same, text};
use crate::validation::resources;

/// How upstream prints the path of what is about no field.
const NO_FIELD: &str = "[]";

/// A pod that is resized.
pub fn update(new: &Value, old: &Value, options: &Options) -> Vec<FieldError> {
    if annotations::is_mirror(get(old, "metadata")) {
        return vec![FieldError::forbidden(NO_FIELD, "static pods cannot be resized")];
    }
    let (now, before) = (get(new, "spec"), get(old, "spec"));
    if text(get(before, "os"), "name") == "windows" {
        return vec![FieldError::forbidden(NO_FIELD, "windows pods cannot be resized")];
    }
    let mut found = Found::new();
    let out = &mut found;
    out.extend(meta::builtin_meta_update(get(new, "metadata"), get(old, "metadata"), &Path::new("metadata")));
    metadata_and_spec(out, new, options);
    let path = Path::new("spec");
    let class_before = match text(get(old, "status"), "qosClass") {
        "" => quality(before),
        class => class,
    };
    if class_before != quality(now) {
        let class = text(get(new, "status"), "qosClass");
        out.invalid(&path, class, "Pod QOS Class may not change as a result of resizing");
    }
    let running = list(get(old, "status"), "containerStatuses").iter().find(|s| has(get(s, "state"), "running"));
    if running.is_some_and(|status| !has(status, "resources")) {
        out.forbidden(&path, "Pod running on node without support for resize");
    }
    let mut munged = now.clone();
    pod_level(out, &mut munged, now, before, &path);
    if !ordered(out, now, before, &path) {
        return found.into_errors();
    }
    for kind in ["initContainers", "containers"] {
        for (i, (container, was)) in list(now, kind).iter().zip(list(before, kind)).enumerate() {
            let path = path.child(kind).index(i).child("resources");
            for part in ["requests", "limits"] {
                if removed(at(container, &["resources", part]), at(was, &["resources", part])) {
                    out.forbidden(&path.child(part), format!("resource {part} cannot be removed"));
                }
            }
        }
    }
    for kind in ["containers", "initContainers"] {
        for (i, was) in list(before, kind).iter().enumerate() {
            let Some(container) = munged.get_mut(kind).and_then(|all| all.get_mut(i)) else { continue };
            let changed = !same(container, was);
            let needs = without_compute(get(container, "resources"), get(was, "resources"));
            set(container, "resources", needs);
            let other = !same(container, was);
            if kind == "containers" {
                if other {
                    out.forbidden(&path, "only cpu and memory resources are mutable");
                }
                continue;
            }
            let field = path.child(kind).index(i);
            if other {
                out.forbidden(&field, "only cpu and memory resources for init or sidecar containers are mutable");
            }
            if changed && text(container, "restartPolicy") != "Always" {
                for policy in list(container, "resizePolicy") {
                    if text(policy, "restartPolicy") == "RestartContainer" {
                        let said =
                            "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
                        out.forbidden(&field, said);
                    }
                }
            }
        }
    }
    if !same(get(now, "volumes"), get(before, "volumes")) {
        let said = "volumes are immutable on resize when InPlacePodVerticalScalingMemoryBackedVolumes feature gate is \
                    disabled";
        out.forbidden(&path.child("volumes"), said);
    }
    if out.is_empty() && !same(&munged, before) {
        out.forbidden(&path, "only cpu and memory resources are mutable");
    }
    found.into_errors()
}

fn set(object: &mut Value, name: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        if value.is_null() {
            fields.remove(name);
        } else {
            fields.insert(name.to_owned(), value);
        }
    }
}

/// What is wanted now, with processors and memory as they were.
fn without_compute(now: &Value, before: &Value) -> Value {
    let mut out = now.as_object().cloned().unwrap_or_default();
    for part in ["limits", "requests"] {
        let mut list = get(now, part).as_object().cloned().unwrap_or_default();
        for name in ["cpu", "memory"] {
            list.remove(name);
            if let Some(was) = get(before, part).get(name) {
                list.insert(name.to_owned(), was.clone());
            }
        }
        if list.is_empty() {
            out.remove(part);
        } else {
            out.insert(part.to_owned(), Value::Object(list));
        }
    }
    Value::Object(out)
}

fn removed(now: &Value, before: &Value) -> bool {
    before.as_object().is_some_and(|before| before.keys().any(|name| !has(now, name)))
}

fn pod_level(out: &mut Found, munged: &mut Value, now: &Value, before: &Value, path: &Path) {
    let (new, old) = (get(now, "resources"), get(before, "resources"));
    let is_set = |needs: &Value| has(needs, "requests") || has(needs, "limits");
    if !is_set(new) && !is_set(old) {
        return;
    }
    let field = path.child("resources");
    if !old.is_null() && new.is_null() {
        out.forbidden(&field, "pod-level resources cannot be removed");
        return;
    }
    for part in ["requests", "limits"] {
        if removed(get(new, part), get(old, part)) {
            out.forbidden(&field.child(part), format!("pod-level resource {part} cannot be removed"));
        }
    }
    let mut needs = without_compute(new, old);
    if old.is_null() && needs == json!({}) {
        needs = Value::Null;
    }
    if !same(&needs, old) {
        out.forbidden(path, "only cpu and memory resources are mutable at pod-level");
    }
    set(munged, "resources", needs);
}

/// Whether the containers are the same, in the same order.
fn ordered(out: &mut Found, now: &Value, before: &Value, path: &Path) -> bool {
    let count = out.len();
    for kind in ["containers", "initContainers"] {
        let field = path.child(kind);
        if list(now, kind).len() != list(before, kind).len() {
            out.forbidden(&field, format!("{kind} may not be added or removed on resize"));
            continue;
        }
        for (i, (new, old)) in list(now, kind).iter().zip(list(before, kind)).enumerate() {
            if text(new, "name") != text(old, "name") {
                let said = format!("{kind} may not be renamed or reordered on resize");
                out.forbidden(&field.index(i).child("name"), said);
            }
        }
    }
    out.len() == count
}

/// How well a pod's needs are stated.
fn quality(spec: &Value) -> &'static str {
    let own = get(spec, "resources");
    if has(own, "requests") || has(own, "limits") {
        return quality_of(own);
    }
    let mut class = "";
    for container in list(spec, "initContainers").iter().chain(list(spec, "containers")) {
        let this = quality_of(get(container, "resources"));
        if this == "Burstable" || (!class.is_empty() && class != this) {
            return "Burstable";
        }
        class = this;
    }
    if class.is_empty() { "BestEffort" } else { class }
}

fn quality_of(needs: &Value) -> &'static str {
    let of = |name: &str| {
        let amount = |part: &str| resources::quantity(at(needs, &[part, name]));
        let (wanted, limit) = (amount("requests"), amount("limits"));
        if wanted != limit {
            "Burstable"
        } else if wanted.is_zero() {
            "BestEffort"
        } else {
            "Guaranteed"
        }
    };
    let (cpu, memory) = (of("cpu"), of("memory"));
    if cpu == memory { cpu } else { "Burstable" }
}
