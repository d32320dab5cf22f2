//! What a scheduler says of a pod, without what the scenarios beside it have to do with it.
//!
//! All scenarios share one cluster, and each keeps its pods on its own nodes by a node selector. So the nodes of the others are in every
//! sentence, as `57 node(s) didn't match Pod's node affinity/selector`, in numbers that nobody can foresee:
//!
//! ```text
//!  0/60 nodes are available: 2 node(s) did not have enough free storage, 58 node(s) didn't match Pod's node affinity/selector. preemption: 0/60 …
//!  0/N  nodes are available: 2 node(s) did not have enough free storage. preemption: 0/N …
//! ```

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Value, json};

const OTHERS: &str = "node(s) didn't match Pod's node affinity/selector";
/// Of nodes of one's own and of others alike.
const UNHELPFUL: &str = "Preemption is not helpful for scheduling";

static LIST: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"0/\d+ nodes are available: ((?:\d+ [^,.]+, )*\d+ [^,.]+)\.").ok());
static COUNT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"0/\d+ nodes are available").ok());

/// A scheduler's sentence without the others' nodes.
pub fn without_others(message: &str) -> String {
    let (Some(list), Some(count)) = (LIST.as_ref(), COUNT.as_ref()) else { return message.to_owned() };
    let own = list.replace_all(message, |found: &Captures<'_>| {
        let mut reasons: Vec<&str> = found[1].split(", ").filter(|reason| !reason.ends_with(OTHERS)).collect();
        let unhelpful = reasons.iter().any(|reason| reason.ends_with(UNHELPFUL));
        reasons.retain(|reason| !reason.ends_with(UNHELPFUL));
        // Sorted with their numbers, as text: with the others' nodes gone the order may be another.
        reasons.sort_unstable();
        let others = if unhelpful { UNHELPFUL } else { OTHERS };
        // Beside another reason it may be of others' nodes alone.
        if reasons.is_empty() {
            reasons.push(others);
        }
        format!("0/N nodes are available: {}.", reasons.join(", "))
    });
    count.replace_all(&own, "0/N nodes are available").into_owned()
}

/// A pod's condition PodScheduled; `null` where it has none.
pub fn of(pod: &Value) -> Value {
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    let condition = conditions.into_iter().flatten().find(|condition| condition["type"] == "PodScheduled");
    condition.map_or(Value::Null, |condition| {
        let message = condition["message"].as_str().map(without_others);
        json!({"status": condition["status"], "reason": condition["reason"], "message": message})
    })
}

#[cfg(test)]
mod tests {
    use super::without_others;

    #[test]
    fn the_nodes_of_others_are_left_out_and_the_order_is_by_text() {
        let said = "0/60 nodes are available: 11 node(s) didn't match Pod's node affinity/selector, \
            2 node(s) did not have enough free storage, 47 Too many pods. preemption: 0/60 nodes are available: \
            1 No preemption victims found for incoming pod, 59 Preemption is not helpful for scheduling.";
        let wanted = "0/N nodes are available: 2 node(s) did not have enough free storage, 47 Too many pods. \
            preemption: 0/N nodes are available: 1 No preemption victims found for incoming pod.";
        assert_eq!(without_others(said), wanted);
    }

    #[test]
    fn what_is_said_of_the_whole_pod_stays() {
        let said = "0/3 nodes are available: persistentvolumeclaim \"data\" not found.";
        assert_eq!(without_others(said), "0/N nodes are available: persistentvolumeclaim \"data\" not found.");
    }
}
