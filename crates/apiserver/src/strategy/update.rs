//! Changing an object: each path writes its own part, and the rest stays what it was.

use serde_json::Value;

use super::rules::{Generation, Rules, StatusMetadata, rules};
use super::{Context, create, gates, pod, service};
use crate::defaults::{set_template_generation, template_generation};
use crate::kind::Kind;
use crate::value::{as_fields, copy_field, ensure, ensure_in, get, int, list, remove, text};

/// Prepares what is to take the place of `old`. `subresource` is empty for the object itself.
pub fn prepare_update(kind: Kind<'_>, subresource: &str, new: &mut Value, old: &Value, context: Context<'_>) {
    let rules = rules(kind);
    // What is lost anyway is no change: the generation does not count it.
    gates::drop_disabled(kind, new, Some(old));
    copy_field(new, old, &["metadata", "generation"]);
    match (kind.group, kind.kind, subresource) {
        ("", "Pod", _) => pod::prepare_update(subresource, new, old),
        ("", "Namespace", "finalize") => copy_field(new, old, &["status"]),
        ("certificates.k8s.io", "CertificateSigningRequest", _) => request(subresource, new, old, context.now),
        (_, _, "") => main(kind, rules, new, old, context),
        (_, _, "status") => status(kind, rules, new, old, context),
        _ => {}
    }
    system_metadata(new, old);
}

/// What no write changes. Upstream does this after the kind's own part.
pub(super) fn system_metadata(new: &mut Value, old: &Value) {
    if text(new, &["metadata", "uid"]).is_empty() {
        copy_field(new, old, &["metadata", "uid"]);
    }
    for field in ["creationTimestamp", "deletionTimestamp"] {
        if get(old, &["metadata", field]).is_some() {
            copy_field(new, old, &["metadata", field]);
        }
    }
    if get(new, &["metadata", "deletionGracePeriodSeconds"]).is_none() {
        copy_field(new, old, &["metadata", "deletionGracePeriodSeconds"]);
    }
}

fn main(kind: Kind<'_>, rules: Rules, new: &mut Value, old: &Value, context: Context<'_>) {
    if rules.status {
        copy_field(new, old, &["status"]);
    }
    match (kind.group, kind.kind) {
        ("", "Namespace") => copy_field(new, old, &["spec", "finalizers"]),
        ("", "Service") => {
            service::keep_allocated(new, old);
            service::drop_type_dependent(new, old);
        }
        ("", "PersistentVolumeClaim") => create::claim_source(new, Some(old)),
        ("", "Node") if get(old, &["spec", "configSource"]).is_none() => remove(new, &["spec", "configSource"]),
        ("", "Secret") if text(new, &["type"]).is_empty() => copy_field(new, old, &["type"]),
        ("", "ServiceAccount") => create::secret_names(new),
        ("apps", "DaemonSet") => {
            let changed = get(new, &["spec", "template"]) != get(old, &["spec", "template"]);
            set_template_generation(new, template_generation(old).wrapping_add(i64::from(changed)));
        }
        ("batch", "Job") => create::job_labels(new),
        ("coordination.k8s.io", "Lease") => {
            for field in ["strategy", "preferredHolder"] {
                if get(old, &["spec", field]).is_none() {
                    remove(new, &["spec", field]);
                }
            }
        }
        ("resource.k8s.io", "DeviceTaintRule") => {
            let effect = ["spec", "taint", "effect"];
            let added = ["spec", "taint", "timeAdded"];
            if get(new, &effect) != get(old, &effect) && get(new, &added) == get(old, &added) {
                ensure(new, &["spec", "taint"]).insert("timeAdded".into(), context.now.into());
            }
        }
        _ => {}
    }
    let changed = match rules.generation {
        Generation::None | Generation::Fixed => false,
        Generation::Unset => get(new, &["spec"]) != get(old, &["spec"]),
        Generation::On(paths) => paths.iter().any(|path| !same(get(new, path), get(old, path))),
        Generation::Content => {
            let labels = ["metadata", "labels"];
            content(new) != content(old) || !same(get(new, &labels), get(old, &labels))
        }
    };
    if changed {
        bump(new, old);
    }
    if (kind.group, kind.kind) == ("discovery.k8s.io", "EndpointSlice") {
        // Only now: what is forgotten was a change all the same.
        create::old_topology(new);
    }
    if (kind.group, kind.kind) == ("apiextensions.k8s.io", "CustomResourceDefinition") {
        create::stored_version(new);
    }
}

/// Go's equality of values: what is empty equals what is absent.
pub(super) fn same(a: Option<&Value>, b: Option<&Value>) -> bool {
    let zero =
        |v: Option<&Value>| v.is_none_or(|v| v.as_object().is_some_and(serde_json::Map::is_empty) || v.is_null());
    a == b || (zero(a) && zero(b))
}

pub(super) fn bump(new: &mut Value, old: &Value) {
    let next = int(old, &["metadata", "generation"]).unwrap_or_default() + 1;
    ensure(new, &["metadata"]).insert("generation".into(), next.into());
}

fn content(object: &Value) -> Vec<(&String, &Value)> {
    object.as_object().into_iter().flatten().filter(|(key, _)| *key != "metadata").collect()
}

fn status(kind: Kind<'_>, rules: Rules, new: &mut Value, old: &Value, context: Context<'_>) {
    // All but status and metadata is what it was, whatever the kind calls it.
    let status = new.get("status").cloned();
    let metadata = new.get("metadata").cloned();
    let mut out = old.clone();
    let out_fields = as_fields(&mut out);
    for (key, value) in [("status", status), ("metadata", metadata)] {
        match value {
            Some(value) => out_fields.insert(key.into(), value),
            None => out_fields.remove(key),
        };
    }
    *new = out;
    keep_metadata(rules.status_metadata, new, old);
    match (kind.group, kind.kind) {
        ("", "Node") if get(old, &["status", "config"]).is_none() => remove(new, &["status", "config"]),
        ("", "PersistentVolume") => phase_time(new, old, context.now),
        // The count is part of the spec, though it is written among the annotations.
        ("apps", "DaemonSet") => set_template_generation(new, template_generation(old)),
        ("resource.k8s.io", "ResourceClaim") => deallocated(new, old),
        _ => {}
    }
}

pub(super) fn keep_metadata(what: StatusMetadata, new: &mut Value, old: &Value) {
    match what {
        StatusMetadata::Free => {}
        StatusMetadata::Except(names) => names.iter().for_each(|name| copy_field(new, old, &["metadata", name])),
        StatusMetadata::Kept => {
            let managed = get(new, &["metadata", "managedFields"]).cloned();
            copy_field(new, old, &["metadata"]);
            let metadata = ensure_in(as_fields(new), "metadata");
            match managed {
                Some(managed) => metadata.insert("managedFields".into(), managed),
                None => metadata.remove("managedFields"),
            };
        }
    }
}

/// A volume remembers since when it is in its phase.
fn phase_time(new: &mut Value, old: &Value, now: &str) {
    let path = ["status", "lastPhaseTransitionTime"];
    let moved = text(new, &["status", "phase"]) != text(old, &["status", "phase"]);
    let (had, has) = (get(old, &path).cloned(), get(new, &path).cloned());
    if !moved && has.is_none() {
        copy_field(new, old, &path);
    } else if moved && (has.is_none() || has == had) {
        ensure(new, &["status"]).insert("lastPhaseTransitionTime".into(), now.into());
    }
}

/// What is said about a claim's devices goes with the devices.
fn deallocated(new: &mut Value, old: &Value) {
    let results = ["status", "allocation", "devices", "results"];
    let key = |d: &Value| {
        (
            text(d, &["driver"]).to_owned(),
            text(d, &["pool"]).to_owned(),
            text(d, &["device"]).to_owned(),
            text(d, &["shareID"]).to_owned(),
        )
    };
    let had: Vec<_> = list(old, &results).iter().map(key).collect();
    let has: Vec<_> = list(new, &results).iter().map(key).collect();
    let gone: Vec<_> = had.into_iter().filter(|device| !has.contains(device)).collect();
    if gone.is_empty() {
        return;
    }
    if let Some(Value::Array(devices)) = new.pointer_mut("/status/devices") {
        devices.retain(|device| !gone.contains(&key(device)));
        if devices.is_empty() {
            remove(new, &["status", "devices"]);
        }
    }
}

/// A certificate request never changes; its approval and its certificate are written through paths of their own.
fn request(subresource: &str, new: &mut Value, old: &Value, now: &str) {
    match subresource {
        "approval" => {
            condition_times(new, old, now);
            let conditions = get(new, &["status", "conditions"]).cloned();
            copy_field(new, old, &["status"]);
            match conditions {
                Some(conditions) => {
                    ensure(new, &["status"]).insert("conditions".into(), conditions);
                }
                None => remove(new, &["status", "conditions"]),
            }
        }
        "status" => {
            for kind in ["Approved", "Denied"] {
                keep_conditions(new, old, kind);
            }
            condition_times(new, old, now);
        }
        _ => copy_field(new, old, &["status"]),
    }
    copy_field(new, old, &["spec"]);
}

/// Conditions of a type stay as they were, unless their number changes (which validation then refuses).
fn keep_conditions(new: &mut Value, old: &Value, kind: &str) {
    let of = |object: &Value| -> Vec<usize> {
        let conditions = list(object, &["status", "conditions"]).iter().enumerate();
        conditions.filter(|(_, c)| text(c, &["type"]) == kind).map(|(i, _)| i).collect()
    };
    let (from, to) = (of(old), of(new));
    if from.len() != to.len() {
        return;
    }
    let old = list(old, &["status", "conditions"]);
    let new = crate::value::list_mut(new, &["status", "conditions"]);
    for (from, to) in from.into_iter().zip(to) {
        if let (Some(old), Some(new)) = (old.get(from), new.get_mut(to)) {
            *new = old.clone();
        }
    }
}

fn condition_times(new: &mut Value, old: &Value, now: &str) {
    let old = list(old, &["status", "conditions"]);
    for condition in crate::value::list_mut(new, &["status", "conditions"]) {
        let since = old
            .iter()
            .filter(|o| {
                text(o, &["type"]) == text(condition, &["type"]) && text(o, &["status"]) == text(condition, &["status"])
            })
            .map(|o| text(o, &["lastTransitionTime"]))
            .find(|time| !time.is_empty())
            .unwrap_or(now)
            .to_owned();
        let Some(condition) = condition.as_object_mut() else { continue };
        crate::value::default_zero(condition, "lastUpdateTime", now);
        crate::value::default_zero(condition, "lastTransitionTime", since);
    }
}
