//! What may change in a pod.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Options, annotations, containers, metadata_and_spec, scheduling};
use crate::field::FieldError;
use crate::validation::found::Found;
use crate::validation::internal;
use crate::validation::meta;
use crate::validation::names;
use crate::validation::path::{Path, at, entries, get, has, list, number, same, text};

const MAY_CHANGE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
     `spec.tolerations` (only additions to existing tolerations),\
     `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// A pod that replaces another.
pub fn pod(new: &Value, old: &Value, options: &Options) -> Vec<FieldError> {
    let mut found = Found::new();
    let out = &mut found;
    let meta_path = Path::new("metadata");
    out.extend(meta::builtin_meta_update(get(new, "metadata"), get(old, "metadata"), &meta_path));
    metadata_and_spec(out, new, options);
    annotations::check_update(out, new, old, &meta_path.child("annotations"), options);
    spec(out, get(new, "spec"), get(old, "spec"), options);
    found.into_errors()
}

fn spec(out: &mut Found, new: &Value, old: &Value, options: &Options) {
    let path = Path::new("spec");
    for kind in ["containers", "initContainers"] {
        let field = path.child(kind);
        if list(new, kind).len() != list(old, kind).len() {
            out.forbidden(&field, "pod updates may not add or remove containers");
            return;
        }
        for (i, container) in list(new, kind).iter().enumerate() {
            if text(container, "image").is_empty() {
                out.required(&field.index(i).child("image"), "");
            }
            containers::image_without_blanks(out, container, &field.index(i));
        }
    }
    let field = path.child("activeDeadlineSeconds");
    match (number(new, "activeDeadlineSeconds"), number(old, "activeDeadlineSeconds")) {
        (Some(now), _) if !(0..=i64::from(i32::MAX)).contains(&now) => {
            out.invalid(&field, now, names::range_error(0, i64::from(i32::MAX)));
            return;
        }
        (Some(now), Some(before)) if before < now => {
            out.invalid(&field, now, "must be less than or equal to previous value");
            return;
        }
        (None, Some(_)) => out.invalid(&field, Value::Null, "must not update from a positive integer to nil value"),
        _ => {}
    }
    scheduling::only_added_tolerations(out, new, old, &path.child("tolerations"), options);
    scheduling::only_deleted_gates(out, new, old, &path.child("schedulingGates"));
    if same(new, old) {
        return;
    }
    let mut munged = new.clone();
    for kind in ["containers", "initContainers"] {
        let images: Vec<Value> = list(old, kind).iter().map(|container| get(container, "image").clone()).collect();
        let now = munged.get_mut(kind).and_then(Value::as_array_mut).into_iter().flatten();
        now.zip(images).for_each(|(container, image)| set(container, "image", &image));
    }
    for name in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        set(&mut munged, name, get(old, name));
    }
    let grace = "terminationGracePeriodSeconds";
    if number(old, grace).is_some_and(|before| before < 0) && number(new, grace) == Some(1) {
        set(&mut munged, grace, get(old, grace));
    }
    if has(old, "schedulingGates") {
        gated(out, &mut munged, old, &path);
    }
    if !same(&munged, old) {
        let difference = internal::difference("core.PodSpec", old, &munged);
        out.forbidden(&path, format!("pod updates may not change fields other than {MAY_CHANGE}\n{difference}"));
    }
}

/// A field is made what it was.
fn set(object: &mut Value, name: &str, value: &Value) {
    if let Some(fields) = object.as_object_mut() {
        if value.is_null() {
            fields.remove(name);
        } else {
            fields.insert(name.to_owned(), value.clone());
        }
    }
}

/// A pod that is not to be scheduled yet may still be told more exactly where to.
fn gated(out: &mut Found, munged: &mut Value, old: &Value, path: &Path) {
    if !same(get(munged, "nodeSelector"), get(old, "nodeSelector")) {
        let now = get(munged, "nodeSelector");
        if entries(old, "nodeSelector").any(|(key, value)| now.get(key) != Some(value)) {
            let said = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
            out.invalid_shown(&path.child("nodeSelector"), internal::shown("{}string", now), said);
        }
        set(munged, "nodeSelector", get(old, "nodeSelector"));
    }
    let before = at(old, &["affinity", "nodeAffinity"]).clone();
    let now = at(munged, &["affinity", "nodeAffinity"]).clone();
    if same(&before, &now) {
        return;
    }
    node_affinity(out, &now, &before, &path.children(&["affinity", "nodeAffinity"]));
    let affinity = get(munged, "affinity");
    if affinity.is_null() {
        if !before.is_null() {
            set(munged, "affinity", &serde_json::json!({ "nodeAffinity": before }));
        }
    } else if !has(old, "affinity") && !has(affinity, "podAffinity") && !has(affinity, "podAntiAffinity") {
        set(munged, "affinity", &Value::Null);
    } else if let Some(affinity) = munged.get_mut("affinity") {
        set(affinity, "nodeAffinity", &before);
    }
}

fn node_affinity(out: &mut Found, new: &Value, old: &Value, path: &Path) {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    if !has(old, REQUIRED) {
        return;
    }
    let path = path.child(REQUIRED).child("nodeSelectorTerms");
    let (before, now) = (list(get(old, REQUIRED), "nodeSelectorTerms"), list(get(new, REQUIRED), "nodeSelectorTerms"));
    if !before.is_empty() && before.len() != now.len() {
        let shown = internal::shown("[]core.NodeSelectorTerm", get(get(new, REQUIRED), "nodeSelectorTerms"));
        out.invalid_shown(&path, shown, "no additions/deletions to non-empty NodeSelectorTerms list are allowed");
        return;
    }
    for (i, (before, now)) in before.iter().zip(now).enumerate() {
        let empty = |term: &Value| !has(term, "matchExpressions") && !has(term, "matchFields");
        let kept = ["matchExpressions", "matchFields"].iter().all(|kind| {
            let (before, now) = (list(before, kind), list(now, kind));
            before.is_empty() || now.starts_with(before)
        });
        if !kept || (empty(before) && !empty(now)) {
            let shown = internal::shown("core.NodeSelectorTerm", now);
            out.invalid_shown(&path.index(i), shown, "only additions are allowed (no mutations or deletions)");
        }
    }
}

/// Ephemeral containers are added, never changed or taken away.
pub fn ephemeral_containers(new: &Value, old: &Value, options: &Options) -> Vec<FieldError> {
    let mut found = Found::new();
    let out = &mut found;
    let meta_path = Path::new("metadata");
    if annotations::is_mirror(get(old, "metadata")) {
        return vec![FieldError::forbidden("", "static pods do not support ephemeral containers")];
    }
    out.extend(meta::builtin_meta_update(get(new, "metadata"), get(old, "metadata"), &meta_path));
    metadata_and_spec(out, new, options);
    annotations::check_update(out, new, old, &meta_path.child("annotations"), options);
    let path = Path::new("spec").child("ephemeralContainers");
    let now: BTreeMap<&str, &Value> = list(get(new, "spec"), "ephemeralContainers")
        .iter()
        .map(|container| (text(container, "name"), container))
        .collect();
    for before in list(get(old, "spec"), "ephemeralContainers") {
        let name = crate::field::go_quoted(text(before, "name"));
        match now.get(text(before, "name")) {
            None => out.forbidden(&path, format!("existing ephemeral containers {name} may not be removed\n")),
            Some(container) if !same(container, before) => {
                let difference = internal::difference("core.EphemeralContainer", before, container);
                let said = format!("existing ephemeral containers {name} may not be changed\n{difference}");
                out.forbidden(&path, said);
            }
            Some(_) => {}
        }
    }
    found.into_errors()
}
