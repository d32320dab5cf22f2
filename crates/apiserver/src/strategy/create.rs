//! Making an object: what the request may not say is forgotten, what follows is filled in.

use serde_json::{Value, json};

use super::rules::{Generation, rules};
use super::{Context, gates, pod};
use crate::defaults::{set_template_generation, template_generation};
use crate::kind::Kind;
use crate::value::{
    as_fields, default_absent, default_zero, ensure, ensure_in, ensure_list, fields, is_true, is_zero, list, remove,
    text,
};

/// Prepares a new object. Its metadata already has name, uid and time.
///
/// What is returned are warnings about what was changed on the way; those of [`super::warnings_on_create`] come after them.
pub fn prepare_create(kind: Kind<'_>, object: &mut Value, context: Context<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    let rules = rules(kind);
    // A node may tell its status from the first.
    if rules.status && kind.kind != "Node" {
        as_fields(object).insert("status".into(), json!({}));
    }
    if !matches!(rules.generation, Generation::None | Generation::Unset) {
        ensure(object, &["metadata"]).insert("generation".into(), 1.into());
    }
    match (kind.group, kind.kind) {
        ("", "Pod") => warnings = pod::prepare_create(object, context.now),
        ("", "Namespace") => namespace(object),
        ("", "PersistentVolume") => {
            as_fields(object)
                .insert("status".into(), json!({"phase": "Pending", "lastPhaseTransitionTime": context.now}));
        }
        ("", "PersistentVolumeClaim") => {
            as_fields(object).insert("status".into(), json!({"phase": "Pending"}));
            claim_source(object, None);
        }
        ("", "Node") => {
            remove(object, &["spec", "configSource"]);
            remove(object, &["status", "config"]);
        }
        ("", "ServiceAccount") => secret_names(object),
        ("", "LimitRange") if crate::value::name(object).is_empty() => {
            let uid = text(object, &["metadata", "uid"]).to_owned();
            ensure(object, &["metadata"]).insert("name".into(), uid.into());
        }
        ("apps", "DaemonSet") => {
            let count = template_generation(object).max(1);
            set_template_generation(object, count);
        }
        ("batch", "Job") => {
            job_selector(object);
            job_labels(object);
        }
        ("certificates.k8s.io", "CertificateSigningRequest") => requester(object, context),
        ("discovery.k8s.io", "EndpointSlice") => old_topology(object),
        ("coordination.k8s.io", "Lease") => {
            remove(object, &["spec", "strategy"]);
            remove(object, &["spec", "preferredHolder"]);
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => stored_version(object),
        ("apiregistration.k8s.io", "APIService") => local_service(object, context.now),
        _ => {}
    }
    gates::drop_disabled(kind, object, None);
    warnings
}

/// A namespace is emptied before it goes; this finalizer waits for it.
fn namespace(object: &mut Value) {
    as_fields(object).insert("status".into(), json!({"phase": "Active"}));
    let finalizers = ensure_list(ensure(object, &["spec"]), "finalizers");
    if !finalizers.iter().any(|f| f == "kubernetes") {
        finalizers.push("kubernetes".into());
    }
    let name = crate::value::name(object).to_owned();
    ensure(object, &["metadata", "labels"]).insert("kubernetes.io/metadata.name".into(), name.into());
}

/// Topology by labels was for a version that is gone; this one reads it and forgets it.
pub(super) fn old_topology(object: &mut Value) {
    crate::value::list_mut(object, &["endpoints"])
        .iter_mut()
        .for_each(|endpoint| remove(endpoint, &["deprecatedTopology"]));
}

/// Only the names of a service account's secrets are kept.
pub(super) fn secret_names(object: &mut Value) {
    for secret in crate::value::list_mut(object, &["secrets"]) {
        let name = secret.get("name").cloned();
        *secret = match name {
            Some(name) => json!({ "name": name }),
            None => json!({}),
        };
    }
}

/// A claim's source stands in two fields. The older one takes only claims and snapshots, and forgets all else unless the newer one,
/// or the claim as it was, says otherwise; after that each says what the other does.
pub(super) fn claim_source(object: &mut Value, old: Option<&Value>) {
    let has = |o: &Value, key: &str| o.get("spec").and_then(|s| s.get(key)).is_some_and(|v| !v.is_null());
    // Sources in other namespaces are behind a gate that is off.
    if !text(object, &["spec", "dataSourceRef", "namespace"]).is_empty()
        && !old.is_some_and(|o| has(o, "dataSourceRef"))
    {
        remove(object, &["spec", "dataSourceRef"]);
    }
    let used = old.is_some_and(|o| has(o, "dataSource") || has(o, "dataSourceRef"));
    if !used && !has(object, "dataSourceRef") && has(object, "dataSource") {
        let group = text(object, &["spec", "dataSource", "apiGroup"]);
        let kind = text(object, &["spec", "dataSource", "kind"]);
        if !matches!((group, kind), ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")) {
            remove(object, &["spec", "dataSource"]);
        }
    }
    let copy = |from: &Value| {
        let mut out = serde_json::Map::new();
        for key in ["apiGroup", "kind", "name"] {
            if let Some(value) = from.get(key).filter(|v| !v.is_null()) {
                out.insert(key.into(), value.clone());
            }
        }
        // Old clients must see a group, even if it is empty.
        out.entry("apiGroup").or_insert(Value::Null);
        Value::Object(out)
    };
    match (has(object, "dataSource"), has(object, "dataSourceRef")) {
        (true, false) => {
            let source = copy(&object["spec"]["dataSource"]);
            ensure(object, &["spec"]).insert("dataSourceRef".into(), source);
        }
        (false, true) if text(object, &["spec", "dataSourceRef", "namespace"]).is_empty() => {
            let source = copy(&object["spec"]["dataSourceRef"]);
            ensure(object, &["spec"]).insert("dataSource".into(), source);
        }
        _ => {}
    }
}

/// A job's pods are told apart by its uid, unless it says how itself.
fn job_selector(object: &mut Value) {
    if is_true(object, &["spec", "manualSelector"]) {
        return;
    }
    let name = crate::value::name(object).to_owned();
    let uid = text(object, &["metadata", "uid"]).to_owned();
    let labels = ensure(object, &["spec", "template", "metadata", "labels"]);
    for (key, value) in [
        ("job-name", &name),
        ("batch.kubernetes.io/job-name", &name),
        ("controller-uid", &uid),
        ("batch.kubernetes.io/controller-uid", &uid),
    ] {
        labels.entry(key).or_insert_with(|| value.as_str().into());
    }
    let selector = ensure(object, &["spec", "selector", "matchLabels"]);
    selector.entry("batch.kubernetes.io/controller-uid").or_insert_with(|| uid.into());
}

/// A job without labels has those of its pods.
pub(super) fn job_labels(object: &mut Value) {
    let labels =
        crate::value::get(object, &["spec", "template", "metadata", "labels"]).filter(|l| !is_zero(l)).cloned();
    if let Some(labels) = labels {
        default_zero(ensure(object, &["metadata"]), "labels", labels);
    }
}

/// A certificate request says who made it, whatever it claims.
fn requester(object: &mut Value, context: Context<'_>) {
    let spec = ensure(object, &["spec"]);
    for key in ["username", "uid", "groups", "extra"] {
        spec.remove(key);
    }
    let user = context.user;
    for (key, value) in [("username", &user.name), ("uid", &user.uid)] {
        if !value.is_empty() {
            spec.insert(key.into(), value.as_str().into());
        }
    }
    if !user.groups.is_empty() {
        spec.insert("groups".into(), json!(user.groups));
    }
    if !user.extra.is_empty() {
        spec.insert("extra".into(), json!(user.extra));
    }
}

/// The version that objects are stored in is written down, and never forgotten.
pub(super) fn stored_version(object: &mut Value) {
    let stored = list(object, &["spec", "versions"])
        .iter()
        .find(|v| is_true(v, &["storage"]))
        .map(|v| text(v, &["name"]).to_owned());
    let Some(stored) = stored else { return };
    let versions = ensure_list(ensure_in(as_fields(object), "status"), "storedVersions");
    if !versions.iter().any(|v| *v == stored) {
        versions.push(stored.into());
    }
}

/// A group that this server serves itself is there at once.
fn local_service(object: &mut Value, now: &str) {
    if fields(object, &["spec", "service"]).is_some() {
        return;
    }
    let status = ensure(object, &["status"]);
    default_absent(
        status,
        "conditions",
        json!([{
            "type": "Available", "status": "True", "reason": "Local",
            "message": "Local APIServices are always available", "lastTransitionTime": now,
        }]),
    );
}
