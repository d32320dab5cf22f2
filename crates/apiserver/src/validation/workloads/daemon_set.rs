//! Daemon sets.

use serde_json::Value;

use super::replication::{does_not_match, same_selector};
use super::{always_running, at_most_all, metadata, number_or_percent, options, positive_or_percent};
use crate::field::FieldError;
use crate::validation::found::Found;
use crate::validation::internal;
use crate::validation::names;
use crate::validation::path::{Path, get, has, number, text};
use crate::validation::pod;
use crate::validation::selectors::{self, Compiled, LABEL_SELECTOR};
use crate::validation::shown;

/// A daemon set.
pub fn check(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut found = Found::new();
    let out = &mut found;
    metadata(out, new, old, names::name_is_dns_subdomain);
    if let Some(old) = old {
        same_selector(out, new, old);
    }
    let (spec, path) = (get(new, "spec"), Path::new("spec"));
    let (selector, selector_path) = (get(spec, "selector"), path.child("selector"));
    let options = options(old, &["spec", "template"]);
    let lenient = options.selector_values
        || old.is_some_and(|old| selectors::has_invalid_value(get(get(old, "spec"), "selector")));
    out.extend(selectors::label_selector(selector, lenient, &selector_path));
    let (template, field) = (get(spec, "template"), path.child("template"));
    let labels = get(get(template, "metadata"), "labels");
    match selectors::compile(selector) {
        Compiled::Nothing => does_not_match(out, labels, &field),
        Compiled::Some(selector) if !selectors::matches(selector, labels) => does_not_match(out, labels, &field),
        _ => {}
    }
    if !selector.is_null() && !has(selector, "matchLabels") && !has(selector, "matchExpressions") {
        let shown = shown::published(LABEL_SELECTOR, selector);
        out.invalid_shown(&selector_path, shown, "empty selector is invalid for daemonset");
    }
    out.extend(pod::template(template, &field, &options));
    always_running(out, template, "DaemonSet", &field);
    out.non_negative(&path.child("minReadySeconds"), number(spec, "minReadySeconds"));
    strategy(out, get(spec, "updateStrategy"), &path.child("updateStrategy"));
    out.non_negative(&path.child("revisionHistoryLimit"), number(spec, "revisionHistoryLimit"));
    found.into_errors()
}

fn strategy(out: &mut Found, strategy: &Value, path: &Path) {
    let (rolling, field) = (get(strategy, "rollingUpdate"), path.child("rollingUpdate"));
    match text(strategy, "type") {
        "OnDelete" => {}
        "RollingUpdate" if rolling.is_null() => out.required(&field, ""),
        "RollingUpdate" => {
            let (unavailable, surge) = (get(rolling, "maxUnavailable"), get(rolling, "maxSurge"));
            let (unavailable_path, surge_path) = (field.child("maxUnavailable"), field.child("maxSurge"));
            positive_or_percent(out, unavailable, &unavailable_path);
            positive_or_percent(out, surge, &surge_path);
            at_most_all(out, unavailable, &unavailable_path);
            at_most_all(out, surge, &surge_path);
            match (number_or_percent(unavailable) != 0, number_or_percent(surge) != 0) {
                (true, true) => {
                    out.invalid(&surge_path, surge.clone(), "may not be set when maxUnavailable is non-zero")
                }
                (false, false) => out.required(&unavailable_path, "cannot be 0 when maxSurge is 0"),
                _ => {}
            }
        }
        _ => {
            let mut error = shown::unsupported(path, &Value::Null, &["RollingUpdate", "OnDelete"]);
            error.value = internal::shown("apps.DaemonSetUpdateStrategy", strategy);
            out.push(error);
        }
    }
}
