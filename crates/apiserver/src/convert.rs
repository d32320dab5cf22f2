//! Between versions of a kind that share one store: core and events.k8s.io Events, autoscaling v1 and v2; custom resources change only
//! their `apiVersion`.

use serde_json::{Map, Value, json};

use crate::registry::Served;

/// From the stored version to the one that `served` speaks.
pub fn from_stored(served: &Served, object: &mut Value) {
    if let Some(custom) = &served.custom {
        custom.read(object);
    }
    if served.stored_as.is_none() {
        return;
    }
    match (served.group.as_str(), served.kind.as_str()) {
        ("events.k8s.io", "Event") => rename(object, false),
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaler_to_v1(object),
        _ => {}
    }
    object["apiVersion"] = served.api_version().into();
}

/// From the version that `served` speaks to the stored one.
pub fn to_stored(served: &Served, object: &mut Value) {
    let Some(stored) = &served.stored_as else { return };
    if let Some(custom) = &served.custom {
        custom.store(object);
    }
    match (served.group.as_str(), served.kind.as_str()) {
        ("events.k8s.io", "Event") => rename(object, true),
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaler_to_v2(object),
        _ => {}
    }
    object["apiVersion"] = crate::kind::Kind::new(&stored.group, &stored.version, "").api_version().into();
}

/// The fields of an event, in core and in events.k8s.io.
const EVENT: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

fn rename(object: &mut Value, to_core: bool) {
    let Some(fields) = object.as_object_mut() else { return };
    for (core, newer) in EVENT {
        let (from, to) = if to_core { (newer, core) } else { (core, newer) };
        if let Some(value) = fields.remove(from) {
            fields.insert(to.into(), value);
        }
    }
    // Core always writes these, events.k8s.io leaves them out when they are empty; and the other way round.
    let (always, optional): (&[(&str, Value)], &[&str]) = if to_core {
        (
            &[
                ("involvedObject", json!({})),
                ("source", json!({})),
                ("firstTimestamp", Value::Null),
                ("lastTimestamp", Value::Null),
                ("eventTime", Value::Null),
                ("reportingComponent", json!("")),
                ("reportingInstance", json!("")),
            ],
            &[],
        )
    } else {
        (
            &[
                ("regarding", json!({})),
                ("deprecatedSource", json!({})),
                ("deprecatedFirstTimestamp", Value::Null),
                ("deprecatedLastTimestamp", Value::Null),
                ("eventTime", Value::Null),
            ],
            &["reportingController", "reportingInstance"],
        )
    };
    for (name, zero) in always {
        fields.entry(*name).or_insert_with(|| zero.clone());
    }
    fields.retain(|name, value| !(optional.contains(&name.as_str()) && value.as_str() == Some("")));
}

/// The v2 metrics that v1 has no field for, kept where upstream keeps them.
const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const CURRENT: &str = "autoscaling.alpha.kubernetes.io/current-metrics";

fn is_cpu_utilization(metric: &Value, side: &str, field: &str) -> Option<i64> {
    let resource = &metric["resource"];
    (metric["type"] == "Resource" && resource["name"] == "cpu").then(|| resource[side][field].as_i64()).flatten()
}

fn autoscaler_to_v1(object: &mut Value) {
    let mut notes = Map::new();
    if let Some(spec) = object["spec"].as_object_mut() {
        if let Some(Value::Array(mut metrics)) = spec.remove("metrics") {
            let cpu = metrics.iter().position(|m| is_cpu_utilization(m, "target", "averageUtilization").is_some());
            if let Some(at) = cpu {
                let metric = metrics.remove(at);
                spec.insert(
                    "targetCPUUtilizationPercentage".into(),
                    metric["resource"]["target"]["averageUtilization"].clone(),
                );
            }
            if !metrics.is_empty() {
                notes.insert(METRICS.into(), Value::Array(metrics).to_string().into());
            }
        }
        if let Some(behavior) = spec.remove("behavior") {
            notes.insert(BEHAVIOR.into(), behavior.to_string().into());
        }
    }
    if let Some(status) = object["status"].as_object_mut() {
        if let Some(conditions) = status.remove("conditions").filter(|c| !c.is_null()) {
            notes.insert(CONDITIONS.into(), conditions.to_string().into());
        }
        if let Some(Value::Array(mut metrics)) = status.remove("currentMetrics") {
            let cpu = metrics.iter().position(|m| is_cpu_utilization(m, "current", "averageUtilization").is_some());
            if let Some(at) = cpu {
                let metric = metrics.remove(at);
                status.insert(
                    "currentCPUUtilizationPercentage".into(),
                    metric["resource"]["current"]["averageUtilization"].clone(),
                );
            }
            if !metrics.is_empty() {
                notes.insert(CURRENT.into(), Value::Array(metrics).to_string().into());
            }
        }
        status.entry("currentReplicas").or_insert(json!(0));
        status.entry("desiredReplicas").or_insert(json!(0));
    }
    if !notes.is_empty() && object["metadata"].is_object() {
        let annotations = &mut object["metadata"]["annotations"];
        if !annotations.is_object() {
            *annotations = json!({});
        }
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.extend(notes);
        }
    }
}

fn autoscaler_to_v2(object: &mut Value) {
    let mut notes = Map::new();
    if let Some(annotations) = object["metadata"].get_mut("annotations").and_then(Value::as_object_mut) {
        for name in [METRICS, BEHAVIOR, CONDITIONS, CURRENT] {
            if let Some(text) = annotations.remove(name)
                && let Some(value) = text.as_str().and_then(|t| serde_json::from_str::<Value>(t).ok())
            {
                notes.insert(name.into(), value);
            }
        }
        if annotations.is_empty()
            && let Some(metadata) = object["metadata"].as_object_mut()
        {
            metadata.remove("annotations");
        }
    }
    let cpu = |value: Value, side: &str, kind: Option<&str>| {
        let mut target = json!({"averageUtilization": value});
        if let Some(kind) = kind {
            target["type"] = kind.into();
        }
        json!({"type": "Resource", "resource": {"name": "cpu", side: target}})
    };
    if let Some(spec) = object["spec"].as_object_mut() {
        let mut metrics = match notes.remove(METRICS) {
            Some(Value::Array(metrics)) => metrics,
            _ => Vec::new(),
        };
        if let Some(percent) = spec.remove("targetCPUUtilizationPercentage") {
            metrics.insert(0, cpu(percent, "target", Some("Utilization")));
        }
        if !metrics.is_empty() {
            spec.insert("metrics".into(), Value::Array(metrics));
        }
        if let Some(behavior) = notes.remove(BEHAVIOR) {
            spec.insert("behavior".into(), behavior);
        }
    }
    if let Some(status) = object["status"].as_object_mut() {
        let mut metrics = match notes.remove(CURRENT) {
            Some(Value::Array(metrics)) => metrics,
            _ => Vec::new(),
        };
        if let Some(percent) = status.remove("currentCPUUtilizationPercentage") {
            metrics.insert(0, cpu(percent, "current", None));
        }
        if metrics.is_empty() {
            status.insert("currentMetrics".into(), Value::Null);
        } else {
            status.insert("currentMetrics".into(), Value::Array(metrics));
        }
        if let Some(conditions) = notes.remove(CONDITIONS) {
            status.insert("conditions".into(), conditions);
        }
    }
}
