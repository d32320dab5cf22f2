//! Taints and labels of nodes, brought in line. Each leaves alone what is as it should be.

use jiff::Timestamp;
use plimsoll_api::names;
use serde_json::{Value, json};

use super::health::is_own;
use crate::times;

/// The effect of taints that keep new pods off.
pub(super) const NO_SCHEDULE: &str = "NoSchedule";
/// The effect of taints that have pods evicted.
pub(super) const NO_EXECUTE: &str = "NoExecute";

/// Gives a node the NoSchedule taints with these keys and takes the others of this controller.
pub(super) fn align(node: &mut Value, wanted: &[&str], now: Timestamp) {
    edit(node, |taints| {
        for key in wanted {
            add(taints, key, NO_SCHEDULE, now);
        }
        let surplus = |key: &str| is_own(key) && !wanted.contains(&key);
        taints.retain(|t| t["effect"] != NO_SCHEDULE || !surplus(t["key"].as_str().unwrap_or_default()));
    });
}

/// Gives a node the NoExecute taint with this key, and takes its opposite; `None` takes both.
pub(super) fn evict(node: &mut Value, key: Option<&str>, now: Timestamp) {
    edit(node, |taints| {
        if let Some(key) = key {
            add(taints, key, NO_EXECUTE, now);
        }
        let opposite = |t: &Value| {
            let found = t["key"].as_str().unwrap_or_default();
            t["effect"] == NO_EXECUTE
                && matches!(found, names::TAINT_NOT_READY | names::TAINT_UNREACHABLE)
                && Some(found) != key
        };
        taints.retain(|t| !opposite(t));
    });
}

/// The labels that had other names once, under those: the present ones are right.
pub(super) fn align_labels(node: &mut Value) {
    let pairs = [("kubernetes.io/os", "beta.kubernetes.io/os"), ("kubernetes.io/arch", "beta.kubernetes.io/arch")];
    for (present, former) in pairs {
        let labels = &mut node["metadata"]["labels"];
        if labels.is_object() && labels[present].is_string() && labels[present] != labels[former] {
            labels[former] = labels[present].clone();
        }
    }
    prune(&mut node["metadata"], "labels", Value::is_null);
}

fn add(taints: &mut Vec<Value>, key: &str, effect: &str, now: Timestamp) {
    if !taints.iter().any(|t| t["key"] == key && t["effect"] == effect) {
        taints.push(json!({"key": key, "effect": effect, "timeAdded": times::written(now)}));
    }
}

fn edit(node: &mut Value, change: impl FnOnce(&mut Vec<Value>)) {
    let mut taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    change(&mut taints);
    node["spec"]["taints"] = json!(taints);
    prune(&mut node["spec"], "taints", |taints| taints.as_array().is_none_or(Vec::is_empty));
}

/// Takes a field away that looking at it made.
fn prune(object: &mut Value, field: &str, is_empty: impl Fn(&Value) -> bool) {
    if let Some(map) = object.as_object_mut()
        && map.get(field).is_some_and(is_empty)
    {
        map.remove(field);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(node: &Value) -> Vec<String> {
        let taints = node["spec"]["taints"].as_array().into_iter().flatten();
        let short = |key: &Value| key.as_str().unwrap().trim_start_matches("node.kubernetes.io/").to_owned();
        taints.map(|t| format!("{}:{}", short(&t["key"]), t["effect"].as_str().unwrap())).collect()
    }

    #[test]
    fn taints_follow_what_is_said_and_leave_those_of_others() {
        let now = Timestamp::from_second(3).unwrap();
        let mut node = json!({"metadata": {"name": "n"}, "spec": {}});
        let plain = node.clone();
        align(&mut node, &[], now);
        evict(&mut node, None, now);
        align_labels(&mut node);
        assert_eq!(node, plain);

        node["spec"]["taints"] = json!([{"key": "mine", "effect": "NoSchedule"}]);
        align(&mut node, &[names::TAINT_UNREACHABLE, names::TAINT_UNSCHEDULABLE], now);
        assert_eq!(keys(&node), ["mine:NoSchedule", "unreachable:NoSchedule", "unschedulable:NoSchedule"]);
        assert_eq!(node["spec"]["taints"][1]["timeAdded"], "1970-01-01T00:00:03Z");
        evict(&mut node, Some(names::TAINT_UNREACHABLE), now);
        evict(&mut node, Some(names::TAINT_NOT_READY), now);
        align(&mut node, &[names::TAINT_NOT_READY], now);
        assert_eq!(keys(&node), ["mine:NoSchedule", "not-ready:NoExecute", "not-ready:NoSchedule"]);
        evict(&mut node, None, now);
        align(&mut node, &[], now);
        assert_eq!(keys(&node), ["mine:NoSchedule"]);
    }

    #[test]
    fn former_labels_follow_the_present_ones() {
        let mut node = json!({"metadata": {"labels": {"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "x"}}});
        align_labels(&mut node);
        assert_eq!(node["metadata"]["labels"], json!({"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "linux"}));
    }
}
