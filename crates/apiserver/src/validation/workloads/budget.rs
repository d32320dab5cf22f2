//! Budgets for disruptions of pods.

use serde_json::Value;

use super::{at_most_all, positive_or_percent};
use crate::field::FieldError;
use crate::validation::found::Found;
use crate::validation::names;
use crate::validation::path::{Path, get, has, list, number, text};
use crate::validation::selectors;
use crate::validation::shown;

/// A budget.
pub fn check(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut found = Found::new();
    let out = &mut found;
    // The metadata is looked at only by the rules that all kinds share.
    let (spec, path) = (get(new, "spec"), Path::new("spec"));
    if has(spec, "minAvailable") && has(spec, "maxUnavailable") {
        let shown = internal_spec(spec);
        out.invalid_shown(&path, shown, "minAvailable and maxUnavailable cannot be both set");
    }
    for name in ["minAvailable", "maxUnavailable"] {
        if has(spec, name) {
            positive_or_percent(out, get(spec, name), &path.child(name));
            at_most_all(out, get(spec, name), &path.child(name));
        }
    }
    let lenient = old.is_some_and(|old| selectors::has_invalid_value(get(get(old, "spec"), "selector")));
    out.extend(selectors::label_selector(get(spec, "selector"), lenient, &path.child("selector")));
    if has(spec, "unhealthyPodEvictionPolicy") {
        let policy = text(spec, "unhealthyPodEvictionPolicy");
        out.one_of(&path.child("unhealthyPodEvictionPolicy"), policy, &["AlwaysAllow", "IfHealthyBudget"]);
    }
    found.into_errors()
}

/// The spec as upstream's internal type shows it.
fn internal_spec(spec: &Value) -> String {
    let selector = get(spec, "selector");
    let selector =
        if selector.is_null() { "null".to_owned() } else { shown::published(selectors::LABEL_SELECTOR, selector) };
    format!(
        "{{\"MinAvailable\":{},\"Selector\":{selector},\"MaxUnavailable\":{},\"UnhealthyPodEvictionPolicy\":{}}}",
        shown::go_json(get(spec, "minAvailable")),
        shown::go_json(get(spec, "maxUnavailable")),
        shown::go_json(get(spec, "unhealthyPodEvictionPolicy")),
    )
}

/// A budget's status.
pub fn status(new: &Value) -> Vec<FieldError> {
    let mut found = Found::new();
    let out = &mut found;
    let (status, path) = (get(new, "status"), Path::new("status"));
    for (i, condition) in list(status, "conditions").iter().enumerate() {
        let field = path.child("conditions").index(i);
        let kind = text(condition, "type");
        if kind.is_empty() {
            out.required(&field.child("type"), "is required");
        } else {
            out.said(&field.child("type"), kind, names::is_qualified_name(kind));
        }
        match text(condition, "status") {
            "" => out.required(&field.child("status"), ""),
            word => out.one_of(&field.child("status"), word, &["False", "True", "Unknown"]),
        }
        if !has(condition, "lastTransitionTime") {
            out.required(&field.child("lastTransitionTime"), "");
        }
        match text(condition, "reason") {
            "" => out.required(&field.child("reason"), ""),
            reason => out.said(&field.child("reason"), reason, names::is_condition_reason(reason)),
        }
    }
    for name in ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] {
        out.non_negative(&path.child(name), number(status, name));
    }
    found.into_errors()
}
