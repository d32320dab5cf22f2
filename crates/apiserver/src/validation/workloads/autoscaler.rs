//! Autoscalers of the number of pods.

use serde_json::{Value, json};

use super::metadata;
use crate::field::FieldError;
use crate::validation::found::Found;
use crate::validation::names;
use crate::validation::path::{Path, get, has, list, number, text};
use crate::validation::resources;

const METRICS: &[&str] = &["ContainerResource", "External", "Object", "Pods", "Resource"];

/// An autoscaler (in the shape of autoscaling/v2 or v1).
pub fn check(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut found = Found::new();
    let out = &mut found;
    metadata(out, new, old, names::name_is_dns_subdomain);
    let (spec, path) = (get(new, "spec"), Path::new("spec"));
    let (least, most) = (number(spec, "minReplicas"), number(spec, "maxReplicas").unwrap_or_default());
    let most_path = path.child("maxReplicas");
    if least.is_some_and(|least| most < least) {
        out.invalid(&most_path, most, "must be greater than or equal to `minReplicas`");
    }
    let target = get(spec, "scaleTargetRef");
    let unchanged = old.is_some_and(|old| {
        let before = get(get(old, "spec"), "scaleTargetRef");
        ["apiVersion", "kind"].iter().all(|name| text(before, name) == text(target, name))
    });
    // Of what can be scaled, only this is in the core group.
    let empty_group = text(target, "kind") == "ReplicationController";
    reference(out, target, empty_group, unchanged, &path.child("scaleTargetRef"));
    metrics(out, spec, old, &path.child("metrics"));
    for kind in ["scaleUp", "scaleDown"] {
        let rules = get(get(spec, "behavior"), kind);
        if !rules.is_null() {
            scaling_rules(out, rules, &path.child("behavior").child(kind));
        }
    }
    // Generated rules come last upstream.
    out.non_negative(&path.child("minReplicas"), least);
    if most == 0 {
        out.required(&most_path, "");
    } else if most < 0 {
        out.invalid(&most_path, most, "must be greater than or equal to 1");
    }
    found.into_errors()
}

/// An autoscaler's status.
pub fn status(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut out = Found::new();
    metadata(&mut out, new, Some(old), names::name_is_dns_subdomain);
    let (status, path) = (get(new, "status"), Path::new("status"));
    for (i, condition) in list(status, "conditions").iter().enumerate() {
        let field = path.child("conditions").index(i).child("observedGeneration");
        out.non_negative(&field, number(condition, "observedGeneration"));
    }
    for name in ["currentReplicas", "desiredReplicas"] {
        out.non_negative(&path.child(name), number(status, name));
    }
    out.into_errors()
}

/// What is wrong with a group and version.
fn version_complaint(version: &str, group_needed: bool) -> Option<String> {
    let group = match version.split_once('/') {
        Some((_, rest)) if rest.contains('/') => {
            return Some(format!("unexpected GroupVersion string: {version}"));
        }
        Some((group, _)) => group,
        None => "",
    };
    (group_needed && group.is_empty()).then(|| "apiVersion must specify API group".into())
}

fn reference_is_sound(reference: &Value) -> bool {
    version_complaint(text(reference, "apiVersion"), false).is_none()
}

/// An object that is scaled or measured.
fn reference(out: &mut Found, reference: &Value, empty_group: bool, lenient: bool, path: &Path) {
    for name in ["kind", "name"] {
        match text(reference, name) {
            "" => out.required(&path.child(name), ""),
            value => out.said(&path.child(name), value, names::is_path_segment_name(value)),
        }
    }
    let version = text(reference, "apiVersion");
    if let Some(said) = version_complaint(version, !empty_group).filter(|_| !lenient) {
        out.invalid(&path.child("apiVersion"), version, said);
    }
}

/// The metrics; what autoscaling/v1 has for the processor is the first of them.
fn all_metrics(spec: &Value) -> Vec<Value> {
    let percent = get(spec, "targetCPUUtilizationPercentage");
    let processor = json!({
        "type": "Resource",
        "resource": { "name": "cpu", "target": { "type": "Utilization", "averageUtilization": percent } },
    });
    let first = if percent.is_null() { None } else { Some(processor) };
    first.into_iter().chain(list(spec, "metrics").iter().cloned()).collect()
}

fn metrics(out: &mut Found, spec: &Value, old: Option<&Value>, path: &Path) {
    let all = all_metrics(spec);
    let lenient = old.is_some_and(|old| {
        let before = list(get(old, "spec"), "metrics").iter().filter(|metric| has(metric, "object"));
        before.into_iter().any(|metric| !reference_is_sound(get(get(metric, "object"), "describedObject")))
    });
    for (i, metric) in all.iter().enumerate() {
        one(out, metric, lenient, &path.index(i));
    }
    let outside = all.iter().any(|metric| matches!(text(metric, "type"), "Object" | "External"));
    if number(spec, "minReplicas") == Some(0) && !outside {
        out.forbidden(path, "must specify at least one Object or External metric to support scaling to zero replicas");
    }
}

fn one(out: &mut Found, metric: &Value, lenient: bool, path: &Path) {
    let kind = text(metric, "type");
    if kind.is_empty() {
        out.required(&path.child("type"), "must specify a metric source type");
    }
    out.one_of(&path.child("type"), kind, METRICS);
    let present: Vec<&str> = ["object", "external", "pods", "resource", "containerResource"]
        .into_iter()
        .filter(|name| has(metric, name))
        .collect();
    if let Some(name) = present.first() {
        source(out, get(metric, name), name, lenient, &path.child(name));
    }
    let expected = match kind {
        "Object" => "object",
        "Pods" => "pods",
        "Resource" => "resource",
        "External" => "external",
        "ContainerResource" => "containerResource",
        _ => "",
    };
    if expected.is_empty() {
        out.unsupported(&path.child("type"), kind, METRICS);
    } else if !present.contains(&expected) {
        out.required(&path.child(expected), "must populate information for the given metric source");
    }
    if present.len() != 1 {
        for name in present.iter().filter(|name| **name != expected) {
            out.forbidden(&path.child(name), "must populate the given metric source only");
        }
    }
}

fn source(out: &mut Found, from: &Value, kind: &str, lenient: bool, path: &Path) {
    let (target, target_path) = (get(from, "target"), path.child("target"));
    match kind {
        "object" => reference(out, get(from, "describedObject"), true, lenient, &path.child("describedObject")),
        "resource" | "containerResource" => {
            let (name, field) = (text(from, "name"), path.child("name"));
            if name.is_empty() {
                out.required(&field, "must specify a resource name");
            } else if kind == "containerResource" {
                out.extend(resources::container_resource_name(name, &field));
            }
        }
        _ => {}
    }
    if kind == "containerResource" {
        let (name, field) = (text(from, "container"), path.child("container"));
        if name.is_empty() {
            out.required(&field, "must specify a container");
        } else {
            out.said(&field, name, names::is_dns1123_label(name));
        }
    }
    if matches!(kind, "object" | "external" | "pods") {
        let (name, field) = (text(get(from, "metric"), "name"), path.children(&["metric", "name"]));
        if name.is_empty() {
            out.required(&field, "must specify a metric name");
        } else {
            out.said(&field, name, names::is_path_segment_name(name));
        }
    }
    metric_target(out, target, &target_path);
    let (value, average) = (has(target, "value"), has(target, "averageValue"));
    let utilization = has(target, "averageUtilization");
    let average_path = target_path.child("averageValue");
    match kind {
        "object" if !value && !average => {
            out.required(&average_path, "must set either a target value or averageValue");
        }
        "external" if !value && !average => {
            out.required(&average_path, "must set either a target value for metric or a per-pod target");
        }
        "external" if value && average => {
            let said = "may not set both a target value for metric and a per-pod target";
            out.forbidden(&target_path.child("value"), said);
        }
        "pods" if !average => out.required(&average_path, "must specify a positive target averageValue"),
        "resource" | "containerResource" if !utilization && !average => {
            let said = "must set either a target raw value or a target utilization";
            out.required(&target_path.child("averageUtilization"), said);
        }
        "resource" | "containerResource" if utilization && average => {
            out.forbidden(&average_path, "may not set both a target raw value and a target utilization");
        }
        _ => {}
    }
}

fn metric_target(out: &mut Found, target: &Value, path: &Path) {
    let (kind, field) = (text(target, "type"), path.child("type"));
    if kind.is_empty() {
        out.required(&field, "must specify a metric target type");
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        out.invalid(&field, kind, "must be either Utilization, Value, or AverageValue");
    }
    for name in ["value", "averageValue"] {
        let value = get(target, name);
        if !value.is_null() && resources::quantity(value).sign() <= 0 {
            out.invalid(&path.child(name), value.clone(), "must be positive");
        }
    }
    if let Some(percent) = number(target, "averageUtilization").filter(|percent| *percent < 1) {
        out.invalid(&path.child("averageUtilization"), percent, "must be greater than 0");
    }
}

fn scaling_rules(out: &mut Found, rules: &Value, path: &Path) {
    let field = path.child("stabilizationWindowSeconds");
    if let Some(seconds) = number(rules, "stabilizationWindowSeconds") {
        if seconds < 0 {
            out.invalid(&field, seconds, "must be greater than or equal to zero");
        } else if seconds > 3600 {
            out.invalid(&field, seconds, "must be less than or equal to 3600");
        }
    }
    if has(rules, "selectPolicy") {
        out.one_of(&path.child("selectPolicy"), text(rules, "selectPolicy"), &["Disabled", "Max", "Min"]);
    }
    let policies = list(rules, "policies");
    if policies.is_empty() {
        out.required(&path.child("policies"), "must specify at least one Policy");
    }
    for (i, policy) in policies.iter().enumerate() {
        let path = path.child("policies").index(i);
        out.one_of(&path.child("type"), text(policy, "type"), &["Percent", "Pods"]);
        let (value, period) =
            (number(policy, "value").unwrap_or_default(), number(policy, "periodSeconds").unwrap_or_default());
        if value <= 0 {
            out.invalid(&path.child("value"), value, "must be greater than zero");
        }
        if period <= 0 {
            out.invalid(&path.child("periodSeconds"), period, "must be greater than zero");
        } else if period > 1800 {
            out.invalid(&path.child("periodSeconds"), period, "must be less than or equal to 1800");
        }
    }
    if has(rules, "tolerance") {
        out.extend(resources::non_negative(get(rules, "tolerance"), &path.child("tolerance")));
    }
}
