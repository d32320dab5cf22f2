//! `autoscaling`: the horizontal pod autoscaler in both of its versions.

use serde_json::{Value, json};

use crate::value::{Fields, default_absent, default_zero, ensure_in};

/// The use of CPU, in percent of what was asked for, that an autoscaler aims at.
const CPU_PERCENT: i64 = 80;

/// Where version 1 keeps the metrics that it has no field for.
const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";

pub(super) fn apply(name: &str, it: &mut Fields) {
    match name {
        "v1.HorizontalPodAutoscaler" => {
            // The other metrics of an older version stand in an annotation; only without any is there one by default.
            let others = it.get("metadata").and_then(|m| m.get("annotations")?.get(METRICS)).is_some();
            let spec = ensure_in(it, "spec");
            default_absent(spec, "minReplicas", 1);
            if !others {
                default_absent(spec, "targetCPUUtilizationPercentage", CPU_PERCENT);
            }
        }
        "v2.HorizontalPodAutoscaler" => {
            let spec = ensure_in(it, "spec");
            default_absent(spec, "minReplicas", 1);
            default_zero(
                spec,
                "metrics",
                json!([{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": CPU_PERCENT}}}]),
            );
            if let Some(Value::Object(behavior)) = spec.get_mut("behavior") {
                let pods = json!({"type": "Pods", "value": 4, "periodSeconds": 15});
                let percent = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
                let up = ensure_in(behavior, "scaleUp");
                default_absent(up, "stabilizationWindowSeconds", 0);
                rules(up, json!([pods, percent]));
                rules(ensure_in(behavior, "scaleDown"), json!([percent]));
            }
        }
        _ => {}
    }
}

fn rules(it: &mut Fields, policies: Value) {
    default_absent(it, "selectPolicy", "Max");
    default_absent(it, "policies", policies);
}
