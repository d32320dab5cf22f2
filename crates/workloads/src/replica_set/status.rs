//! What a set says of itself.

use jiff::Timestamp;
use plimsoll_api::kinds::Pod;
use plimsoll_runtime::Whole;
use serde_json::{Value, json};
use std::sync::Arc;

use crate::pods::{is_available, is_ready, moment};

/// The condition of a set whose pods can be neither made nor deleted.
const REPLICA_FAILURE: &str = "ReplicaFailure";

/// Why the number of pods is not what it should be.
pub(super) struct Trouble {
    /// `FailedCreate` or `FailedDelete`.
    pub(super) reason: &'static str,
    /// What the API server said.
    pub(super) message: String,
}

/// The pods of a set, counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) all: usize,
    pub(super) labelled: usize,
    pub(super) ready: usize,
    pub(super) available: usize,
    /// `None` for kinds that do not say.
    pub(super) terminating: Option<usize>,
}

impl Counts {
    /// Counts active pods. `set` is the whole set.
    pub(super) fn of(active: &[Arc<Whole<Pod>>], terminating: Option<usize>, set: &Value, now: Timestamp) -> Self {
        let labels = set["spec"]["template"]["metadata"]["labels"].as_object();
        let min_ready = min_ready_seconds(set);
        let labelled = |pod: &Pod| {
            let has = |(key, value): (&String, &Value)| pod.metadata.labels.get(key) == value.as_str();
            labels.into_iter().flatten().all(has)
        };
        let count = |which: &dyn Fn(&Pod) -> bool| active.iter().filter(|pod| which(&pod.slim)).count();
        Self {
            all: active.len(),
            labelled: count(&labelled),
            ready: count(&|pod| is_ready(pod)),
            available: count(&|pod| is_available(pod, min_ready, now)),
            terminating,
        }
    }
}

/// How long a pod of the set must be ready to be available.
pub(super) fn min_ready_seconds(set: &Value) -> i64 {
    set["spec"]["minReadySeconds"].as_i64().unwrap_or(0)
}

/// The status of a set; `None` where it says all that already.
pub(super) fn status(set: &Value, counts: &Counts, trouble: Option<&Trouble>, now: Timestamp) -> Option<Value> {
    let (old, generation) = (&set["status"], &set["metadata"]["generation"]);
    let fields = [
        ("replicas", counts.all),
        ("fullyLabeledReplicas", counts.labelled),
        ("readyReplicas", counts.ready),
        ("availableReplicas", counts.available),
    ];
    let had = old["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let conditions = conditions(had, trouble, now);
    // A number that is not there is none; of those that terminate, that is not the same.
    let same = fields.iter().all(|(field, count)| old[field].as_u64().unwrap_or(0) == *count as u64)
        && old["terminatingReplicas"].as_u64() == counts.terminating.map(|count| count as u64)
        && old["observedGeneration"].as_i64().unwrap_or(0) == generation.as_i64().unwrap_or(0)
        && had == conditions;
    if same {
        return None;
    }
    let mut new = if old.is_object() { old.clone() } else { json!({}) };
    for (field, count) in fields {
        new[field] = json!(count);
    }
    new["terminatingReplicas"] = json!(counts.terminating);
    new["observedGeneration"] = generation.clone();
    new["conditions"] = json!(conditions);
    Some(new)
}

/// The first trouble is told until it is over: what each further attempt ran into is in the events.
fn conditions(had: &[Value], trouble: Option<&Trouble>, now: Timestamp) -> Vec<Value> {
    let failed = had.iter().any(|condition| condition["type"] == REPLICA_FAILURE);
    match trouble {
        None => had.iter().filter(|condition| condition["type"] != REPLICA_FAILURE).cloned().collect(),
        Some(_) if failed => had.to_vec(),
        Some(trouble) => {
            let condition = json!({"type": REPLICA_FAILURE, "status": "True", "lastTransitionTime": moment(now),
                "reason": trouble.reason, "message": trouble.message});
            had.iter().cloned().chain([condition]).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_runtime::Mirrored;

    use super::*;

    fn now() -> Timestamp {
        "2026-01-01T00:00:10.5Z".parse().unwrap()
    }

    fn pod(version: &str, ready: bool, since: &str) -> Arc<Whole<Pod>> {
        let status = if ready { "True" } else { "False" };
        let pod = json!({"metadata": {"name": "p", "labels": {"app": "web", "version": version}}, "status": {"conditions": [
            {"type": "Ready", "status": status, "lastTransitionTime": since}]}});
        Arc::new(Whole::read(&pod.to_string()).unwrap())
    }

    #[test]
    fn pods_are_counted() {
        let set = json!({"spec": {"minReadySeconds": 5, "template": {"metadata": {
            "labels": {"app": "web", "version": "1"}}}}});
        let pods = [
            pod("1", true, "2026-01-01T00:00:05Z"),
            pod("1", true, "2026-01-01T00:00:06Z"),
            pod("2", true, "2026-01-01T00:00:00Z"),
            pod("1", false, "2026-01-01T00:00:00Z"),
        ];
        let counts = Counts::of(&pods, Some(2), &set, now());
        assert_eq!(counts, Counts { all: 4, labelled: 3, ready: 3, available: 2, terminating: Some(2) });
    }

    #[test]
    fn a_status_is_written_when_it_says_something_new() {
        let counts = Counts { all: 1, labelled: 1, ready: 0, available: 0, terminating: Some(0) };
        let mut set = json!({"metadata": {"generation": 2}, "spec": {}});
        let first = status(&set, &counts, None, now()).unwrap();
        assert_eq!(first["replicas"], 1);
        assert_eq!(first["terminatingReplicas"], 0);
        assert_eq!(first["observedGeneration"], 2);
        // As the server keeps it: without what is none.
        set["status"] = json!({"replicas": 1, "fullyLabeledReplicas": 1, "terminatingReplicas": 0,
            "observedGeneration": 2, "unheard": 1});
        assert_eq!(status(&set, &counts, None, now()), None);
        let ready = Counts { ready: 1, ..counts };
        assert_eq!(status(&set, &ready, None, now()).unwrap()["unheard"], 1);
        let mute = Counts { terminating: None, ..counts };
        assert!(status(&set, &mute, None, now()).is_some(), "to say nothing is not to say none");
        set["metadata"]["generation"] = json!(3);
        assert_eq!(status(&set, &counts, None, now()).unwrap()["observedGeneration"], 3);
    }

    #[test]
    fn trouble_is_told_once_and_taken_back() {
        let counts = Counts { all: 0, labelled: 0, ready: 0, available: 0, terminating: Some(0) };
        let trouble = |message: &str| Trouble { reason: "FailedCreate", message: message.to_owned() };
        let mut set = json!({"metadata": {"generation": 1}, "status": {"replicas": 0, "observedGeneration": 1,
            "terminatingReplicas": 0}});
        let told = status(&set, &counts, Some(&trouble("no room")), now()).unwrap();
        assert_eq!(
            told["conditions"],
            json!([{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "no room",
                "lastTransitionTime": "2026-01-01T00:00:10Z"}])
        );
        set["status"] = told;
        assert_eq!(status(&set, &counts, Some(&trouble("still no room")), now()), None);
        assert_eq!(status(&set, &counts, None, now()).unwrap()["conditions"], json!([]));
    }
}
