//! DefaultTolerationSeconds and TaintNodesByCondition: pods outlast a node's short absence, and new nodes wait until they are ready.

use serde_json::{Value, json};

use crate::value::{ensure, ensure_list, list, text};

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
/// How long pods stay on a node that is gone.
const SECONDS: i64 = 300;

pub(super) fn admit(pod: &mut Value) {
    let tolerates = |pod: &Value, taint: &str| {
        list(pod, &["spec", "tolerations"]).iter().any(|t| {
            matches!(text(t, &["key"]), key if key == taint || key.is_empty())
                && matches!(text(t, &["effect"]), "NoExecute" | "")
        })
    };
    // Both are asked before either is added, though neither answers for the other.
    for taint in [NOT_READY, UNREACHABLE] {
        if !tolerates(pod, taint) {
            let tolerations = ensure_list(ensure(pod, &["spec"]), "tolerations");
            tolerations
                .push(json!({"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": SECONDS}));
        }
    }
}

pub(super) fn taint_until_ready(node: &mut Value) {
    let taints = ensure_list(ensure(node, &["spec"]), "taints");
    if !taints.iter().any(|t| text(t, &["key"]) == NOT_READY && text(t, &["effect"]) == "NoSchedule") {
        taints.push(json!({"key": NOT_READY, "effect": "NoSchedule"}));
    }
}

/// Both lists in one, without what another toleration covers.
pub(super) fn merged(first: &[Value], second: &[Value]) -> Vec<Value> {
    let all: Vec<&Value> = first.iter().chain(second).collect();
    let mut merged: Vec<Value> = Vec::new();
    for (i, toleration) in all.iter().enumerate() {
        let covered = merged.iter().any(|other| covers(other, toleration))
            || all.iter().skip(i + 1).any(|other| other != toleration && covers(other, toleration));
        if !covered {
            merged.push((*toleration).clone());
        }
    }
    merged
}

/// Whether `wide` tolerates all that `narrow` does.
fn covers(wide: &Value, narrow: &Value) -> bool {
    if wide == narrow {
        return true;
    }
    let exists = text(wide, &["operator"]) == "Exists";
    let (wide_key, key) = (text(wide, &["key"]), text(narrow, &["key"]));
    if key != wide_key && !(wide_key.is_empty() && exists) {
        return false;
    }
    let (wide_effect, effect) = (text(wide, &["effect"]), text(narrow, &["effect"]));
    if effect != wide_effect && !wide_effect.is_empty() {
        return false;
    }
    if wide_effect == "NoExecute"
        && let Some(wide_seconds) = wide.get("tolerationSeconds").and_then(Value::as_i64)
        && narrow.get("tolerationSeconds").and_then(Value::as_i64).is_none_or(|seconds| wide_seconds < seconds)
    {
        return false;
    }
    match text(wide, &["operator"]) {
        "Exists" => true,
        "Equal" | "" => {
            let equal = matches!(text(narrow, &["operator"]), "Equal" | "");
            equal && text(wide, &["value"]) == text(narrow, &["value"])
        }
        _ => false,
    }
}
