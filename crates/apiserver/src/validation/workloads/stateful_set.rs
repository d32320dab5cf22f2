//! Stateful sets.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::replication::{does_not_match, needed_selector, same_selector};
use super::{always_running, at_most_all, metadata, number_or_percent, options, positive_or_percent};
use crate::field::FieldError;
use crate::validation::claim;
use crate::validation::found::Found;
use crate::validation::internal;
use crate::validation::meta;
use crate::validation::names;
use crate::validation::path::{Path, get, has, list, number, same, text};
use crate::validation::pod;
use crate::validation::selectors::{self, Compiled, LABEL_SELECTOR};
use crate::validation::shown;

/// What is not looked at, because it was wrong before.
#[derive(Clone, Copy, Default)]
struct Skip {
    template: bool,
    claims: bool,
    service: bool,
}

/// A stateful set.
pub fn check(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut found = Found::new();
    let out = &mut found;
    metadata(out, new, old, names::name_is_dns_label);
    let path = Path::new("spec");
    let options = options(old, &["spec", "template"]);
    let mut skip = Skip::default();
    if let Some(old) = old {
        let before = get(old, "spec");
        // It cannot change, and whether it was right was seen when the set was made.
        skip.service = true;
        skip.claims = true;
        let mut errors = Found::new();
        spec(&mut errors, before, &path, &options, skip);
        skip.template = !errors.is_empty();
    }
    spec(out, get(new, "spec"), &path, &options, skip);
    if let Some(old) = old {
        let (now, before) = (get(new, "spec"), get(old, "spec"));
        same_selector(out, new, old);
        if !same(get(now, "volumeClaimTemplates"), get(before, "volumeClaimTemplates")) {
            let shown = internal::shown("[]core.PersistentVolumeClaim", get(now, "volumeClaimTemplates"));
            out.invalid_shown(&path.child("volumeClaimTemplates"), shown, "field is immutable");
        }
        for name in ["serviceName", "podManagementPolicy"] {
            let (now, before) = (Value::from(text(now, name)), Value::from(text(before, name)));
            out.extend(meta::immutable(&now, &before, &path.child(name)));
        }
    }
    found.into_errors()
}

fn spec(out: &mut Found, spec: &Value, path: &Path, options: &pod::Options, skip: Skip) {
    match text(spec, "podManagementPolicy") {
        "" => out.required(&path.child("podManagementPolicy"), ""),
        "OrderedReady" | "Parallel" => {}
        other => out.invalid(&path.child("podManagementPolicy"), other, "must be 'OrderedReady' or 'Parallel'"),
    }
    strategy(out, get(spec, "updateStrategy"), &path.child("updateStrategy"));
    let (retention, field) =
        (get(spec, "persistentVolumeClaimRetentionPolicy"), path.child("persistentVolumeClaimRetentionPolicy"));
    if !retention.is_null() {
        for name in ["whenDeleted", "whenScaled"] {
            out.one_of(&field.child(name), text(retention, name), &["Retain", "Delete"]);
        }
    }
    let claims = list(spec, "volumeClaimTemplates");
    if !skip.claims {
        for (i, template) in claims.iter().enumerate() {
            let field = path.child("volumeClaimTemplates").index(i).child("spec");
            out.extend(claim::claim_spec(get(template, "spec"), false, false, &field));
        }
    }
    out.non_negative(&path.child("replicas"), number(spec, "replicas"));
    out.non_negative(&path.child("minReadySeconds"), number(spec, "minReadySeconds"));
    out.non_negative(&path.child("ordinals.start"), number(get(spec, "ordinals"), "start"));
    let service = text(spec, "serviceName");
    if !skip.service && !service.is_empty() {
        out.said(&path.child("serviceName"), service, names::is_dns1123_label(service));
    }
    needed_selector(out, spec, "statefulset", path);
    let selector = get(spec, "selector");
    let field = path.child("template");
    let template = get(spec, "template");
    let labels = get(get(template, "metadata"), "labels");
    let compiled = selectors::compile(selector);
    if let Compiled::Broken = compiled {
        let shown = shown::published(LABEL_SELECTOR, selector);
        out.invalid_shown(&path.child("selector"), shown, "");
    } else {
        match compiled {
            Compiled::Nothing => does_not_match(out, labels, &field),
            Compiled::Some(selector) if !selectors::matches(selector, labels) => does_not_match(out, labels, &field),
            _ => {}
        }
        let template = with_claims(template, claims);
        if !skip.template {
            out.extend(pod::template(&template, &field, options));
        }
        // Upstream looks at the template's metadata twice.
        let metadata = get(&template, "metadata");
        out.extend(meta::labels(metadata, "labels", &field.child("labels")));
        out.extend(meta::annotations(metadata, &field.child("annotations")));
        pod::template_annotations(out, &template, &field.child("annotations"), options);
    }
    always_running(out, template, "StatefulSet", &field);
}

/// The template as its pods will be: with the claims as volumes, and names that the controller gives.
fn with_claims(template: &Value, claims: &[Value]) -> Value {
    let mut template = template.clone();
    let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) else { return template };
    spec.remove("subdomain");
    spec.remove("hostname");
    if claims.is_empty() {
        return template;
    }
    let names: BTreeMap<&str, ()> = claims.iter().map(|claim| (text(get(claim, "metadata"), "name"), ())).collect();
    let made = names.keys().map(|name| json!({ "name": name, "persistentVolumeClaim": { "claimName": name } }));
    let own = spec.get("volumes").and_then(Value::as_array).cloned().unwrap_or_default();
    let own = own.into_iter().filter(|volume| !names.contains_key(text(volume, "name")));
    let volumes: Vec<Value> = made.chain(own).collect();
    spec.insert("volumes".into(), Value::Array(volumes));
    template
}

fn strategy(out: &mut Found, strategy: &Value, path: &Path) {
    let (rolling, field) = (get(strategy, "rollingUpdate"), path.child("rollingUpdate"));
    match text(strategy, "type") {
        "" => out.required(path, ""),
        "OnDelete" => {
            if !rolling.is_null() {
                let shown = internal::shown("apps.RollingUpdateStatefulSetStrategy", rolling);
                out.invalid_shown(&field, shown, "only allowed for updateStrategy 'RollingUpdate'");
            }
        }
        "RollingUpdate" => {
            out.non_negative(&field.child("partition"), number(rolling, "partition"));
            if has(rolling, "maxUnavailable") {
                let (value, field) = (get(rolling, "maxUnavailable"), field.child("maxUnavailable"));
                positive_or_percent(out, value, &field);
                if number_or_percent(value) == 0 {
                    out.invalid(&field, value.clone(), "cannot be 0");
                }
                at_most_all(out, value, &field);
            }
        }
        _ => {
            let shown = internal::shown("apps.StatefulSetUpdateStrategy", strategy);
            out.invalid_shown(path, shown, "must be 'RollingUpdate' or 'OnDelete'");
        }
    }
}
