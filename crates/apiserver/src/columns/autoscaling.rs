//! Horizontal pod autoscalers, whose targets are the one thing printed that differs between their versions.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::age;
use super::view::View;

/// How many targets are printed before the rest is only counted.
const SHOWN: usize = 2;

/// The cells of an autoscaler of version 2, or of version 1. Upstream prints what is stored, which is version 2: give that, if it is
/// at hand, since version 1 does not keep the order of metrics.
pub(super) fn autoscaler(version: &str, object: View<'_>, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (object.at("spec"), object.at("status"));
    let targets = if version == "v1" {
        let (specs, statuses) = of_version_1(object);
        targets(View::new(&specs), View::new(&statuses))
    } else {
        targets(spec.at("metrics"), status.at("currentMetrics"))
    };
    let minimum = spec.at("minReplicas").some().map_or_else(|| "<unset>".to_owned(), |m| m.number().to_string());
    vec![
        json!(object.at("metadata.name").text()),
        json!(format!("{}/{}", spec.at("scaleTargetRef.kind").text(), spec.at("scaleTargetRef.name").text())),
        json!(targets),
        json!(minimum),
        json!(spec.at("maxReplicas").number()),
        json!(status.at("currentReplicas").number()),
        json!(age(object, now)),
    ]
}

fn targets(specs: View<'_>, statuses: View<'_>) -> String {
    let mut all: Vec<String> = Vec::new();
    let mut statuses = statuses.items();
    for spec in specs.items() {
        all.push(target(spec, statuses.next()));
    }
    match all.len().checked_sub(SHOWN) {
        _ if all.is_empty() => "<none>".to_owned(),
        None | Some(0) => all.join(", "),
        Some(more) => {
            all.truncate(SHOWN);
            format!("{} + {more} more...", all.join(", "))
        }
    }
}

/// A metric with the value it has and the value it should have. The status counts only if it is of the same source.
fn target(spec: View<'_>, status: Option<View<'_>>) -> String {
    let source = match spec.at("type").text() {
        "External" => "external",
        "Pods" => "pods",
        "Object" => "object",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return "<unknown type>".to_owned(),
    };
    let spec = spec.key(source);
    let wanted = spec.at("target");
    let current = status.and_then(|s| s.key(source).some()).map(|s| s.at("current"));
    let unknown = || "<unknown>".to_owned();
    let average = current.map(|c| c.at("averageValue"));
    match source {
        "pods" => format!(
            "{}/{}",
            average.map_or_else(unknown, View::quantity_pointer),
            wanted.at("averageValue").quantity_pointer()
        ),
        "external" | "object" => match wanted.at("averageValue").some() {
            Some(wanted) => {
                let current = average.and_then(View::some).map_or_else(unknown, View::quantity);
                format!("{current}/{} (avg)", wanted.quantity())
            }
            None => {
                let current = current.map_or_else(unknown, |c| c.at("value").quantity_pointer());
                format!("{current}/{}", wanted.at("value").quantity_pointer())
            }
        },
        _ => {
            let name = spec.at("name").text();
            match wanted.at("averageValue").some() {
                Some(wanted) => {
                    format!("{name}: {}/{}", average.map_or_else(unknown, View::quantity_pointer), wanted.quantity())
                }
                None => {
                    let percent = |v: View<'_>| format!("{}%", v.number());
                    let current = current.and_then(|c| c.at("averageUtilization").some()).map_or_else(unknown, percent);
                    let wanted = wanted.at("averageUtilization").some().map_or_else(|| "<auto>".to_owned(), percent);
                    format!("{name}: {current}/{wanted}")
                }
            }
        }
    }
}

/// Version 1 has one target of its own, the others are JSON in annotations with flatter fields; brought into the form of version 2.
fn of_version_1(object: View<'_>) -> (Value, Value) {
    let annotation = |name: &str| -> Option<Vec<Value>> {
        serde_json::from_str(object.at("metadata.annotations").key(name).text()).ok()
    };
    let mut specs: Vec<Value> = annotation("autoscaling.alpha.kubernetes.io/metrics")
        .unwrap_or_default()
        .iter()
        .map(|metric| nested(metric, "target", ["targetValue", "targetAverageValue", "targetAverageUtilization"]))
        .collect();
    let statuses: Vec<Value> = annotation("autoscaling.alpha.kubernetes.io/current-metrics")
        .unwrap_or_default()
        .iter()
        .map(|metric| nested(metric, "current", ["currentValue", "currentAverageValue", "currentAverageUtilization"]))
        .collect();
    let cpu = object.at("spec.targetCPUUtilizationPercentage");
    if cpu.exists() || specs.is_empty() {
        // What upstream assumes of an autoscaler that names no metric at all.
        let utilization = cpu.some().map_or(80, View::number);
        // Its place among the others is lost in this version, but the statuses still have theirs.
        let is_cpu = |status: &Value| {
            let resource = View::new(status).at("resource");
            resource.at("name").text() == "cpu" && resource.at("current.averageUtilization").exists()
        };
        let place = statuses.iter().position(is_cpu).map_or(specs.len(), |place| place.min(specs.len()));
        let target = json!({ "averageUtilization": utilization });
        specs.insert(place, json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } }));
    }
    (Value::Array(specs), Value::Array(statuses))
}

/// A metric of version 1 with its values under one field.
fn nested(metric: &Value, under: &str, [value, average, utilization]: [&str; 3]) -> Value {
    let Some(fields) = metric.as_object() else { return Value::Null };
    let mut out = serde_json::Map::new();
    for (source, content) in fields {
        let content_view = View::new(content);
        if !content.is_object() {
            out.insert(source.clone(), content.clone());
            continue;
        }
        let mut values = serde_json::Map::new();
        let mut take = |to: &str, from: &str| {
            if let Some(found) = content.get(from).filter(|v| !v.is_null()) {
                values.insert(to.to_owned(), found.clone());
            }
        };
        take("value", value);
        take("averageUtilization", utilization);
        // Metrics on objects call their average by a name of its own.
        take("averageValue", average);
        take("averageValue", "averageValue");
        out.insert(source.clone(), json!({ "name": content_view.at("name").text(), under: values }));
    }
    Value::Object(out)
}
