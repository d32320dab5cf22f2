//! `autoscaling`: the horizontal pod autoscaler in both of its versions.

use serde_json::{Value, json};

use crate::value::{Fields, default_absent, default_zero, ensure_in};

/// The use of CPU, in percent of what was asked for, that an autoscaler aims at.
const CPU_PERCENT: i64 = 80;

pub(super) fn apply(name: &str, it: &mut Fields) {
    match name {
        "v1.HorizontalPodAutoscaler" => default_absent(ensure_in(it, "spec"), "minReplicas", 1),
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
