//! Replica sets, and the replication controllers before them.

use serde_json::{Value, json};

use super::{always_running, metadata, options};
use crate::field::FieldError;
use crate::validation::found::Found;
use crate::validation::names;
use crate::validation::path::{Path, get, has, number, same, text};
use crate::validation::pod;
use crate::validation::selectors::{self, Compiled, LABEL_SELECTOR};
use crate::validation::shown;

/// A replication controller.
pub fn controller(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut found = Found::new();
    let out = &mut found;
    // Names are looked at last, and names to be completed not at all.
    metadata(out, new, old, |_, _| Vec::new());
    let (spec, path) = (get(new, "spec"), Path::new("spec"));
    let selector = get(spec, "selector");
    if selector.as_object().is_none_or(serde_json::Map::is_empty) {
        out.required(&path.child("selector"), "");
    }
    let (template, field) = (get(spec, "template"), path.child("template"));
    if template.is_null() {
        out.required(&field, "");
    } else {
        let labels = get(get(template, "metadata"), "labels");
        if !selectors::matches(&json!({ "matchLabels": selector }), labels) {
            does_not_match(out, labels, &field);
        }
        out.extend(pod::template(template, &field, &options(old, &["spec", "template"])));
        always_running(out, template, "ReplicationController", &field);
    }
    // Generated rules come last upstream.
    if old.is_none() {
        let name = text(get(new, "metadata"), "name");
        let said = names::is_dns1123_subdomain(name).into_iter().filter(|_| !name.is_empty());
        let said = said.map(|said| said.replace("no more than 253 characters", "no more than 253 bytes")).collect();
        out.said(&Path::new("metadata").child("name"), name, said);
    }
    match number(spec, "replicas") {
        None => out.required(&path.child("replicas"), ""),
        count => out.non_negative(&path.child("replicas"), count),
    }
    out.non_negative(&path.child("minReadySeconds"), number(spec, "minReadySeconds"));
    found.into_errors()
}

/// `selector` does not match template `labels`.
pub fn does_not_match(out: &mut Found, labels: &Value, template: &Path) {
    let said = "`selector` does not match template `labels`";
    out.invalid_shown(&template.children(&["metadata", "labels"]), shown::go_json(labels), said);
}

/// A selector that must be there and select something; `kind` is as the sentence names it.
pub fn needed_selector(out: &mut Found, spec: &Value, kind: &str, path: &Path) {
    let (selector, path) = (get(spec, "selector"), path.child("selector"));
    if selector.is_null() {
        out.required(&path, "");
        return;
    }
    out.extend(selectors::label_selector(selector, false, &path));
    if !has(selector, "matchLabels") && !has(selector, "matchExpressions") {
        let shown = shown::published(LABEL_SELECTOR, selector);
        out.invalid_shown(&path, shown, format!("empty selector is invalid for {kind}"));
    }
}

/// The selector and the template of a replica set or deployment.
pub fn selected_template(out: &mut Found, spec: &Value, old: Option<&Value>, path: &Path) {
    let selector = get(spec, "selector");
    let (template, field) = (get(spec, "template"), path.child("template"));
    let labels = get(get(template, "metadata"), "labels");
    match selectors::compile(selector) {
        Compiled::Broken => {
            let shown = shown::published(LABEL_SELECTOR, selector);
            out.invalid_shown(&path.child("selector"), shown, "invalid label selector");
            return;
        }
        // Nothing is selected without a selector, so no labels match.
        Compiled::Nothing => does_not_match(out, labels, &field),
        Compiled::Some(selector) if !selectors::matches(selector, labels) => does_not_match(out, labels, &field),
        Compiled::Some(_) | Compiled::Everything => {}
    }
    out.extend(pod::template(template, &field, &options(old, &["spec", "template"])));
    always_running(out, template, "ReplicaSet", &field);
}

/// The selector is what it was.
pub fn same_selector(out: &mut Found, new: &Value, old: &Value) {
    let (now, before) = (get(get(new, "spec"), "selector"), get(get(old, "spec"), "selector"));
    if !same(now, before) {
        let shown = shown::published(LABEL_SELECTOR, now);
        out.invalid_shown(&Path::new("spec").child("selector"), shown, "field is immutable");
    }
}

/// A replica set.
pub fn set(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut found = Found::new();
    let out = &mut found;
    metadata(out, new, old, names::name_is_dns_subdomain);
    let (spec, path) = (get(new, "spec"), Path::new("spec"));
    out.non_negative(&path.child("replicas"), number(spec, "replicas"));
    out.non_negative(&path.child("minReadySeconds"), number(spec, "minReadySeconds"));
    needed_selector(out, spec, "deployment", &path);
    selected_template(out, spec, old, &path);
    if let Some(old) = old {
        same_selector(out, new, old);
    }
    found.into_errors()
}
