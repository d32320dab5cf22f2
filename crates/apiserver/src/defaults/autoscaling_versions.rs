//! The two versions of the horizontal pod autoscaler: version 2 is what is stored; version 1 knows one metric, and keeps the rest in
//! annotations.

use serde_json::{Map, Value, json};

use crate::value::{ensure, get, get_mut, list, remove, text};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// Writes an autoscaler in the other version (`v1` or `v2`).
pub fn convert_autoscaler(object: &mut Value, to: &str) {
    if text(object, &["apiVersion"]) == format!("autoscaling/{to}") {
        return;
    }
    if to == "v1" {
        to_v1(object)
    } else {
        to_v2(object)
    }
    crate::value::as_fields(object).insert("apiVersion".into(), format!("autoscaling/{to}").into());
}

/// Whether a metric is the one that version 1 has a field for.
fn is_cpu(metric: &Value, part: &str) -> bool {
    text(metric, &["type"]) == "Resource"
        && text(metric, &["resource", "name"]) == "cpu"
        && get(metric, &["resource", part, "averageUtilization"]).is_some()
}

fn to_v1(object: &mut Value) {
    for (holder, field, part, plain, annotation) in [
        ("spec", "metrics", "target", "targetCPUUtilizationPercentage", METRICS),
        ("status", "currentMetrics", "current", "currentCPUUtilizationPercentage", CURRENT),
    ] {
        let metrics = list(object, &[holder, field]).to_vec();
        remove(object, &[holder, field]);
        if let Some(cpu) = metrics.iter().find(|m| is_cpu(m, part))
            && let Some(percent) = get(cpu, &["resource", part, "averageUtilization"])
        {
            ensure(object, &[holder]).insert(plain.into(), percent.clone());
        }
        // What is wanted of the CPU stands in the field only; what was measured in both.
        let others: Vec<Value> =
            metrics.iter().filter(|m| part == "current" || !is_cpu(m, part)).map(|m| metric_v1(m, part)).collect();
        annotate(object, annotation, (!others.is_empty()).then(|| others.into()));
    }
    let conditions = get(object, &["status", "conditions"]).cloned();
    remove(object, &["status", "conditions"]);
    annotate(object, CONDITIONS, conditions);
    let behavior = get(object, &["spec", "behavior"]).cloned();
    remove(object, &["spec", "behavior"]);
    if let Some(mut behavior) = behavior {
        // Fields without a value were written too.
        for rules in behavior.as_object_mut().into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
            for field in ["stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance"] {
                rules.entry(field).or_insert(Value::Null);
            }
        }
        annotate(object, BEHAVIOR, Some(capitals(&behavior, true)));
    }
}

fn annotate(object: &mut Value, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        ensure(object, &["metadata", "annotations"]).insert(key.into(), value.to_string().into());
    }
}

/// Takes an annotation away, and what it holds.
fn annotated(object: &mut Value, key: &str) -> Option<Value> {
    let said = get(object, &["metadata", "annotations", key])?.as_str()?.to_owned();
    remove(object, &["metadata", "annotations", key]);
    if get(object, &["metadata", "annotations"]).and_then(Value::as_object).is_some_and(Map::is_empty) {
        remove(object, &["metadata", "annotations"]);
    }
    serde_json::from_str(&said).ok()
}

/// Nulls are as good as absent.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(_, v)| !v.is_null())
            .map(|(k, v)| (k, without_nulls(v)))
            .collect::<Map<_, _>>()
            .into(),
        other => other,
    }
}

/// Version 1 wrote the rules of behaviour with the names that Go has for them.
fn capitals(value: &Value, up: bool) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| {
                let mut letters = key.chars();
                let first = letters.next().map(|c| if up { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() });
                (first.into_iter().chain(letters).collect::<String>(), capitals(value, up))
            })
            .collect::<Map<String, Value>>()
            .into(),
        Value::Array(list) => list.iter().map(|v| capitals(v, up)).collect(),
        other => other.clone(),
    }
}

fn to_v2(object: &mut Value) {
    for (holder, field, part, plain, annotation) in [
        ("spec", "metrics", "target", "targetCPUUtilizationPercentage", METRICS),
        ("status", "currentMetrics", "current", "currentCPUUtilizationPercentage", CURRENT),
    ] {
        let mut metrics: Vec<Value> = match annotated(object, annotation) {
            Some(Value::Array(others)) => others.iter().map(|m| metric_v2(m, part)).collect(),
            _ => Vec::new(),
        };
        if let Some(percent) = get(object, &[holder, plain]).cloned() {
            remove(object, &[holder, plain]);
            if metrics.iter().any(|m| is_cpu(m, part)) {
                ensure(object, &[holder]).insert(field.into(), metrics.into());
                continue;
            }
            let mut amount = json!({"averageUtilization": percent});
            if part == "target" {
                amount["type"] = "Utilization".into();
            }
            // The plain one comes last, as upstream has it.
            metrics.push(json!({"type": "Resource", "resource": {"name": "cpu", part: amount}}));
        }
        if !metrics.is_empty() {
            ensure(object, &[holder]).insert(field.into(), metrics.into());
        }
    }
    if let Some(conditions) = annotated(object, CONDITIONS) {
        ensure(object, &["status"]).insert("conditions".into(), conditions);
    }
    if let Some(behavior) = annotated(object, BEHAVIOR) {
        ensure(object, &["spec"]).insert("behavior".into(), without_nulls(capitals(&behavior, false)));
    }
}

/// A metric's own field, by its type.
fn source(metric: &Value) -> &'static str {
    match text(metric, &["type"]) {
        "Object" => "object",
        "Pods" => "pods",
        "ContainerResource" => "containerResource",
        "External" => "external",
        _ => "resource",
    }
}

/// Names of a metric's amounts in version 1, where it has them flat; those in version 2 are within `target` or `current`.
fn amounts(kind: &str, part: &str) -> &'static [(&'static str, &'static str)] {
    match (kind, part) {
        ("object", "target") => &[("value", "targetValue"), ("averageValue", "averageValue")],
        ("object", _) => &[("value", "currentValue"), ("averageValue", "averageValue")],
        ("pods", "target") => &[("averageValue", "targetAverageValue")],
        ("pods", _) => &[("averageValue", "currentAverageValue")],
        ("external", "target") => &[("value", "targetValue"), ("averageValue", "targetAverageValue")],
        ("external", _) => &[("value", "currentValue"), ("averageValue", "currentAverageValue")],
        (_, "target") => &[("averageUtilization", "targetAverageUtilization"), ("averageValue", "targetAverageValue")],
        _ => &[("averageUtilization", "currentAverageUtilization"), ("averageValue", "currentAverageValue")],
    }
}

fn metric_v1(metric: &Value, part: &str) -> Value {
    let kind = source(metric);
    let mut out = metric.clone();
    let Some(Value::Object(fields)) = get_mut(&mut out, &[kind]) else { return out };
    let amount = fields.remove(part).unwrap_or_default();
    for (v2, v1) in amounts(kind, part) {
        if let Some(value) = amount.get(*v2) {
            fields.insert((*v1).into(), value.clone());
        }
    }
    if kind == "object" {
        let required = if part == "target" { "targetValue" } else { "currentValue" };
        fields.entry(required).or_insert_with(|| "0".into());
    }
    if let Some(metric) = fields.remove("metric") {
        let selector = if kind == "external" { "metricSelector" } else { "selector" };
        for (from, to) in [("name", "metricName"), ("selector", selector)] {
            if let Some(value) = metric.get(from) {
                fields.insert(to.into(), value.clone());
            }
        }
    }
    if let Some(described) = fields.remove("describedObject") {
        fields.insert("target".into(), described);
    }
    out
}

fn metric_v2(metric: &Value, part: &str) -> Value {
    let kind = source(metric);
    let mut out = metric.clone();
    let Some(Value::Object(fields)) = get_mut(&mut out, &[kind]) else { return out };
    if kind == "object"
        && let Some(described) = fields.remove("target")
    {
        fields.insert("describedObject".into(), described);
    }
    let mut amount = Map::new();
    for (v2, v1) in amounts(kind, part) {
        if let Some(value) = fields.remove(*v1) {
            amount.insert((*v2).into(), value);
        }
    }
    // It had to be there, whatever it says.
    if kind == "object" && amount.contains_key("averageValue") {
        amount.remove("value");
    }
    if part == "target" {
        let word = [("averageUtilization", "Utilization"), ("averageValue", "AverageValue"), ("value", "Value")]
            .iter()
            .find(|(key, _)| amount.contains_key(*key))
            .map_or("Value", |(_, word)| word);
        amount.insert("type".into(), word.into());
    }
    fields.insert(part.into(), amount.into());
    if let Some(name) = fields.remove("metricName") {
        let mut identifier = json!({ "name": name });
        if let Some(selector) = fields.remove("selector").or_else(|| fields.remove("metricSelector")) {
            identifier["selector"] = selector;
        }
        fields.insert("metric".into(), identifier);
    }
    out
}
