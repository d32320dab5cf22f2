//! Who goes first where there are too many: upstream's order, from the pod that is missed least to the one that is missed
//! most.
//!
//! ```text
//!   no node yet ─► pending ─► not ready ─► cheap (annotation) ─► crowded node ─► ready for a short time ─► restarted often ─► young
//! ```
//! Ages are compared by their powers of two, so that pods of about the same age go in the order of their uids, which is
//! chance: otherwise the youngest would always go, wherever the scheduler has just made an even spread of them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use plimsoll_api::kinds::Pod;
use plimsoll_runtime::Whole;
use serde_json::Value;

use crate::pods::{is_ready, ready_since};

/// What a pod's deletion costs; those that cost less go first. Whole numbers, also negative ones; 0 unless told.
const COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// How many active pods of the same family are on each node. Empty where nobody asks for an even spread.
pub(super) type Crowds = BTreeMap<String, usize>;

/// The `count` pods that go first.
pub(super) fn first_to_go(
    mut pods: Vec<Arc<Whole<Pod>>>,
    count: usize,
    crowds: &Crowds,
    now: Timestamp,
) -> Vec<Arc<Whole<Pod>>> {
    if count < pods.len() {
        pods.sort_by_cached_key(|pod| Merit::of(pod, crowds, now));
        pods.truncate(count);
    }
    pods
}

/// How much a pod is missed: the least goes first. The fields are compared in their order.
///
/// Upstream ends at the uids as soon as two pods are of about the same age by the first of the two ages. Here both ages and
/// the restarts are looked at before that, since an order must be one.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Merit {
    on_a_node: bool,
    phase: u8,
    ready: bool,
    cost: i32,
    crowd: Reverse<usize>,
    /// A time that is not there is before every other.
    ready_for: Option<i64>,
    restarts: Reverse<(i64, i64)>,
    age: Option<i64>,
    uid: String,
}

impl Merit {
    fn of(pod: &Whole<Pod>, crowds: &Crowds, now: Timestamp) -> Self {
        let (slim, value) = (&pod.slim, pod.value());
        let cost = value["metadata"]["annotations"][COST].as_str().and_then(|text| text.parse().ok());
        Self {
            on_a_node: !slim.spec.node_name.is_empty(),
            phase: match slim.status.phase.as_str() {
                "Running" => 2,
                "Unknown" => 1,
                _ => 0,
            },
            ready: is_ready(slim),
            cost: cost.unwrap_or(0),
            crowd: Reverse(crowds.get(&slim.spec.node_name).copied().unwrap_or(0)),
            ready_for: ready_since(slim).and_then(|since| magnitude(since, now)),
            restarts: Reverse(restarts(&value)),
            age: magnitude(&slim.metadata.creation_timestamp, now),
            uid: slim.metadata.uid.clone(),
        }
    }
}

/// The power of two of the nanoseconds since a moment; -1 where there are none. `None` where it is no moment.
fn magnitude(since: &str, now: Timestamp) -> Option<i64> {
    let since: Timestamp = since.parse().ok()?;
    let passed = now.as_nanosecond() - since.as_nanosecond();
    Some(u128::try_from(passed).ok().and_then(u128::checked_ilog2).map_or(-1, i64::from))
}

/// The most restarts of a container, and of a sidecar.
fn restarts(pod: &Value) -> (i64, i64) {
    let most = |statuses: &Value, counts: &dyn Fn(&Value) -> bool| {
        let statuses = statuses.as_array().into_iter().flatten().filter(|status| counts(&status["name"]));
        statuses.filter_map(|status| status["restartCount"].as_i64()).max().unwrap_or(0)
    };
    let init = pod["spec"]["initContainers"].as_array();
    let sidecar =
        |name: &Value| init.into_iter().flatten().any(|c| c["restartPolicy"] == "Always" && c["name"] == *name);
    let status = &pod["status"];
    (most(&status["containerStatuses"], &|_| true), most(&status["initContainerStatuses"], &sidecar))
}

#[cfg(test)]
mod tests {
    use plimsoll_runtime::Mirrored;
    use serde_json::json;

    use super::*;

    const NOW: &str = "2026-01-01T01:00:00Z";

    /// A pod that runs on the node `a`, ready, made an hour ago; `more` is laid over it.
    fn pod(name: &str, more: Value) -> Arc<Whole<Pod>> {
        let mut pod = json!({
            "metadata": {"name": name, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z", "annotations": {}},
            "spec": {"nodeName": "a", "initContainers": [{"name": "s", "restartPolicy": "Always"}, {"name": "i"}]},
            "status": {"phase": "Running", "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:10Z"}]},
        });
        lay(&mut pod, more);
        Arc::new(Whole::read(&pod.to_string()).unwrap())
    }

    fn lay(over: &mut Value, more: Value) {
        match more {
            Value::Object(fields) => fields.into_iter().for_each(|(key, value)| lay(&mut over[key], value)),
            value => *over = value,
        }
    }

    fn ready(status: &str, since: &str) -> Value {
        json!({"status": {"conditions": [{"type": "Ready", "status": status, "lastTransitionTime": since}]}})
    }

    fn order(pods: Vec<Arc<Whole<Pod>>>, crowds: &[(&str, usize)]) -> Vec<String> {
        let crowds = crowds.iter().map(|(node, count)| ((*node).to_owned(), *count)).collect();
        let count = pods.len();
        // One more than is to go, which would go last: an order is only made where some stay.
        let mut pods = pods;
        pods.push(pod("zz", json!({"metadata": {"annotations": {COST: "2147483647"}}})));
        let gone = first_to_go(pods, count, &crowds, NOW.parse().unwrap());
        gone.iter().map(|pod| pod.slim.metadata.name.clone()).collect()
    }

    #[test]
    fn each_rule_decides_where_those_before_it_do_not() {
        let cost = |cost: &str| json!({"metadata": {"annotations": {COST: cost}}});
        let restarted =
            |list: &str, name: &str, count: i64| json!({"status": {list: [{"name": name, "restartCount": count}]}});
        // Each first pod goes before each second one, though its name comes later.
        for (rule, first, second) in [
            ("no node", json!({"spec": {"nodeName": ""}}), json!({"status": {"phase": "Pending"}})),
            ("pending", json!({"status": {"phase": "Pending"}}), json!({"status": {"phase": "Unknown"}})),
            ("unknown", json!({"status": {"phase": "Unknown"}}), ready("False", "2026-01-01T00:59:59Z")),
            ("not ready", ready("False", "2026-01-01T00:00:00Z"), cost("-5")),
            ("cheap", cost("-5"), cost("3")),
            ("cheap before free", cost("-1"), json!({})),
            ("a cost that is no number is none", cost("-1"), cost("much")),
            ("crowded", json!({"spec": {"nodeName": "b"}}), ready("True", "2026-01-01T00:59:59Z")),
            ("ready for less", ready("True", "2026-01-01T00:55:00Z"), json!({})),
            ("no time before any", ready("True", ""), ready("True", "2026-01-01T00:59:59Z")),
            ("restarted", restarted("containerStatuses", "c", 3), restarted("containerStatuses", "c", 2)),
            ("sidecar restarted", restarted("initContainerStatuses", "s", 1), json!({})),
            ("young", json!({"metadata": {"creationTimestamp": "2026-01-01T00:50:00Z"}}), json!({})),
        ] {
            let pods = vec![pod("a", second), pod("b", first)];
            assert_eq!(order(pods, &[("a", 1), ("b", 2)]), ["b", "a"], "{rule}");
        }
    }

    #[test]
    fn what_makes_no_difference_leaves_it_to_the_uid() {
        for (what, one, other) in [
            ("about the same age", json!({"metadata": {"creationTimestamp": "2026-01-01T00:00:09Z"}}), json!({})),
            ("ready for about as long", ready("True", "2026-01-01T00:00:59Z"), json!({})),
            (
                "an init container that ended is no sidecar",
                json!({"status": {"initContainerStatuses": [{"name": "i", "restartCount": 9}]}}),
                json!({}),
            ),
        ] {
            assert_eq!(order(vec![pod("b", one.clone()), pod("a", other.clone())], &[]), ["a", "b"], "{what}");
            assert_eq!(order(vec![pod("b", other), pod("a", one)], &[]), ["a", "b"], "{what}");
        }
    }

    #[test]
    fn where_all_go_they_go_as_they_are() {
        let pods = vec![pod("b", json!({})), pod("a", json!({}))];
        let gone = first_to_go(pods, 2, &Crowds::new(), NOW.parse().unwrap());
        assert_eq!(gone.len(), 2);
    }
}
