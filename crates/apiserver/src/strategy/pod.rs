//! Pods: what is computed when one is made, and which paths write which part.

use serde_json::{Value, json};

use super::rules::StatusMetadata;
use super::update::{bump, keep_metadata, same};
use super::{quality_of_service, resources};
use crate::value::{as_fields, copy_field, ensure, ensure_list, get, int, list, list_mut, remove, text};

pub(super) fn prepare_create(pod: &mut Value, now: &str) -> Vec<String> {
    as_fields(pod).insert("status".into(), json!({"phase": "Pending"}));
    if !list(pod, &["spec", "schedulingGates"]).is_empty() {
        set_condition(
            pod,
            json!({
                "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }),
            now,
        );
    }
    select_by_own_labels(pod);
    let warnings = app_armor(pod);
    resources::complete(pod);
    let class = quality_of_service(pod);
    ensure(pod, &["status"]).insert("qosClass".into(), class.into());
    warnings
}

/// Sets a condition of a pod's status. Its time moves only when its status does.
pub fn set_condition(pod: &mut Value, mut condition: Value, now: &str) {
    let conditions = ensure_list(ensure(pod, &["status"]), "conditions");
    let kind = condition.get("type").cloned();
    let at = conditions.iter().position(|c| c.get("type") == kind.as_ref());
    let same_status = at.and_then(|i| conditions.get(i)).filter(|old| old.get("status") == condition.get("status"));
    let since = match same_status {
        Some(old) => old.get("lastTransitionTime").cloned().unwrap_or(Value::Null),
        None => now.into(),
    };
    let fields = as_fields(&mut condition);
    fields.insert("lastTransitionTime".into(), since);
    fields.entry("lastProbeTime").or_insert(Value::Null);
    match at.and_then(|i| conditions.get_mut(i)) {
        Some(old) => *old = condition,
        None => conditions.push(condition),
    }
}

/// Terms that name keys of labels get the pod's own values for them.
fn select_by_own_labels(pod: &mut Value) {
    let labels = get(pod, &["metadata", "labels"]).cloned().unwrap_or_default();
    let add = |term: &mut Value, keys: &str, operator: &str| {
        if !term.get("labelSelector").is_some_and(Value::is_object) {
            return;
        }
        let wanted: Vec<Value> = list(term, &[keys])
            .iter()
            .filter_map(|key| {
                let value = labels.get(key.as_str()?)?;
                Some(json!({"key": key, "operator": operator, "values": [value]}))
            })
            .collect();
        if !wanted.is_empty() {
            ensure_list(ensure(term, &["labelSelector"]), "matchExpressions").extend(wanted);
        }
    };
    let both = |term: &mut Value| {
        add(term, "matchLabelKeys", "In");
        add(term, "mismatchLabelKeys", "NotIn");
    };
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(affinity) = pod.pointer_mut(&format!("/spec/affinity/{kind}")) else { continue };
        for preferred in list_mut(affinity, &["preferredDuringSchedulingIgnoredDuringExecution"]) {
            if let Some(term) = preferred.get_mut("podAffinityTerm") {
                both(term);
            }
        }
        list_mut(affinity, &["requiredDuringSchedulingIgnoredDuringExecution"]).iter_mut().for_each(both);
    }
    for constraint in list_mut(pod, &["spec", "topologySpreadConstraints"]) {
        add(constraint, "matchLabelKeys", "In");
    }
}

/// Profiles were annotations once; those that can be read become fields.
fn app_armor(pod: &mut Value) -> Vec<String> {
    let mut warnings = Vec::new();
    if text(pod, &["spec", "os", "name"]) == "windows" {
        return warnings;
    }
    let of_pod = get(pod, &["spec", "securityContext", "appArmorProfile"]).cloned();
    let annotations = get(pod, &["metadata", "annotations"]).cloned().unwrap_or_default();
    for key in ["initContainers", "containers", "ephemeralContainers"] {
        for container in list_mut(pod, &["spec", key]) {
            if get(container, &["securityContext", "appArmorProfile"]).is_some() {
                continue;
            }
            let annotation = format!("container.apparmor.security.beta.kubernetes.io/{}", text(container, &["name"]));
            let Some(said) = annotations.get(&annotation).and_then(Value::as_str) else { continue };
            let profile = app_armor_profile(said);
            if profile.is_some() && profile == of_pod {
                continue;
            }
            if let Some(profile) = profile {
                ensure(container, &["securityContext"]).insert("appArmorProfile".into(), profile);
            }
            warnings.push(format!(
                "metadata.annotations[{annotation}]: deprecated since v1.30; use the \"appArmorProfile\" field instead"
            ));
        }
    }
    warnings
}

pub(super) fn app_armor_profile(annotation: &str) -> Option<Value> {
    Some(match annotation {
        "unconfined" => json!({"type": "Unconfined"}),
        "runtime/default" => json!({"type": "RuntimeDefault"}),
        other => {
            let name = other.strip_prefix("localhost/").filter(|name| !name.is_empty() && name.trim() == *name)?;
            json!({"type": "Localhost", "localhostProfile": name})
        }
    })
}

pub(super) fn prepare_update(subresource: &str, new: &mut Value, old: &Value) {
    match subresource {
        "" => {
            copy_field(new, old, &["status"]);
            if get(new, &["spec", "resources"]).is_none() {
                copy_field(new, old, &["spec", "resources"]);
            }
            new_generation(new, old);
        }
        "status" => status(new, old),
        "ephemeralcontainers" => {
            let containers = get(new, &["spec", "ephemeralContainers"]).cloned();
            keep_rest(new, old);
            match containers {
                Some(containers) => {
                    ensure(new, &["spec"]).insert("ephemeralContainers".into(), containers);
                }
                None => remove(new, &["spec", "ephemeralContainers"]),
            }
            new_generation(new, old);
        }
        "resize" => {
            resize(new, old);
            new_generation(new, old);
        }
        _ => {}
    }
}

fn new_generation(new: &mut Value, old: &Value) {
    if !same(get(new, &["spec"]), get(old, &["spec"])) {
        bump(new, old);
    }
}

/// All but the metadata that a status write may change is what it was.
fn keep_rest(new: &mut Value, old: &Value) {
    copy_field(new, old, &["spec"]);
    copy_field(new, old, &["status"]);
    let fields =
        ["deletionTimestamp", "generation", "selfLink", "labels", "annotations", "finalizers", "ownerReferences"];
    for field in fields {
        copy_field(new, old, &["metadata", field]);
    }
}

fn status(new: &mut Value, old: &Value) {
    copy_field(new, old, &["spec"]);
    remove(new, &["metadata", "deletionTimestamp"]);
    keep_metadata(StatusMetadata::Except(&["ownerReferences"]), new, old);
    if text(new, &["status", "qosClass"]).is_empty() {
        copy_field(new, old, &["status", "qosClass"]);
    }
    for field in ["resourceClaimStatuses", "extendedResourceClaimStatus", "nodeAllocatableResourceClaimStatuses"] {
        if get(new, &["status", field]).is_none() {
            copy_field(new, old, &["status", field]);
        }
    }
    // Those who do not know of observed generations do not take them away.
    if int(new, &["status", "observedGeneration"]).unwrap_or_default() == 0 {
        copy_field(new, old, &["status", "observedGeneration"]);
    }
    let mut earlier: Vec<&Value> = list(old, &["status", "conditions"]).iter().collect();
    for condition in list_mut(new, &["status", "conditions"]) {
        let Some(at) = earlier.iter().position(|c| c.get("type") == condition.get("type")) else { continue };
        let before = earlier.remove(at);
        if int(condition, &["observedGeneration"]).unwrap_or_default() == 0 {
            copy_field(condition, before, &["observedGeneration"]);
        }
    }
}

/// Only resources are written, and only where the containers are the same ones; otherwise validation shall see all of it.
fn resize(new: &mut Value, old: &Value) {
    let lists = ["containers", "initContainers"];
    if lists.iter().any(|key| list(new, &["spec", key]).len() != list(old, &["spec", key]).len()) {
        return;
    }
    let wanted = new.clone();
    keep_rest(new, old);
    for key in lists {
        let asked = list(&wanted, &["spec", key]);
        if asked.iter().zip(list(old, &["spec", key])).any(|(a, b)| a.get("name") != b.get("name")) {
            copy_field(new, &wanted, &["spec", key]);
            continue;
        }
        for (container, asked) in list_mut(new, &["spec", key]).iter_mut().zip(asked) {
            copy_field(container, asked, &["resources"]);
            copy_field(container, asked, &["resizePolicy"]);
        }
    }
    copy_field(new, &wanted, &["spec", "resources"]);
    if get(new, &["spec", "resources"]).is_none() {
        copy_field(new, old, &["spec", "resources"]);
    }
    resources::complete(new);
}
