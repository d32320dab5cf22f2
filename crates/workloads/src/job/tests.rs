//! Counting and judging as tables: pods in, status out.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use plimsoll_runtime::{Mirrored, Whole};
use serde_json::{Value, json};

use super::backoff::Record;
use super::member::{FAILURES, IGNORED, Member, TRACKING};
use super::policy::Verdict;
use super::spec::Status;
use super::sync::Round;

const NOW: &str = "2026-01-01T00:10:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

fn whole<T: Mirrored>(value: &Value) -> Arc<Whole<T>> {
    let raw = serde_json::value::to_raw_value(value).unwrap();
    Arc::new(Whole::read(raw.get()).unwrap())
}

fn round(spec: Value, status: Value, pods: &[Value]) -> Round {
    let job = json!({"metadata": {"name": "j", "namespace": "n", "uid": "u"}, "spec": spec, "status": status});
    let mut round = Round::new(&whole(&job), now()).unwrap();
    round.members = pods.iter().map(|pod| Member::new(whole(pod))).collect();
    round.count(Record::default());
    round.judge();
    round
}

/// `name phase`, then any of `bare` (no finalizer), `deleting`, `ready`, `index=3`, `exit=1`, `failures=2`, `ignored=1`, `target`.
fn pod(text: &str) -> Value {
    let mut words = text.split_whitespace();
    let (name, phase) = (words.next().unwrap(), words.next().unwrap());
    let mut pod = json!({
        "metadata": {"name": name, "namespace": "n", "uid": name, "finalizers": [TRACKING], "annotations": {},
                     "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {}, "status": {"phase": phase, "conditions": []},
    });
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let annotation = match key {
            "index" => "batch.kubernetes.io/job-completion-index",
            "failures" => FAILURES,
            "ignored" => IGNORED,
            _ => "",
        };
        match key {
            "bare" => pod["metadata"]["finalizers"] = json!([]),
            "deleting" => pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:05:30Z"),
            "ready" => pod["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]),
            "target" => pod["status"]["conditions"] = json!([{"type": "DisruptionTarget", "status": "True"}]),
            "exit" => {
                let state = json!({"terminated": {"exitCode": value.parse::<i64>().unwrap(),
                    "finishedAt": "2026-01-01T00:09:55Z"}});
                pod["status"]["containerStatuses"] = json!([{"name": "c", "restartCount": 0, "state": state}]);
            }
            "restarts" => {
                let count: i64 = value.parse().unwrap();
                pod["status"]["containerStatuses"] = json!([{"name": "c", "restartCount": count, "state": {}}]);
            }
            _ => pod["metadata"]["annotations"][annotation] = json!(value),
        }
    }
    pod
}

fn pods(texts: &[&str]) -> Vec<Value> {
    texts.iter().map(|text| pod(text)).collect()
}

#[test]
fn pods_are_counted_once() {
    let running = json!({"uncountedTerminatedPods": {}});
    let noted = json!({"succeeded": 2, "failed": 1, "uncountedTerminatedPods": {"succeeded": ["a"], "failed": ["b"]}});
    // The pods; the status before; active, ready, terminating, succeeded, failed; then the status: succeeded, failed, and the noted.
    for (texts, status, counts, after) in [
        (vec!["a Running", "b Pending"], &running, (2, 0, 0, 0, 0), (0, 0, vec![], vec![])),
        (vec!["a Running ready", "b Succeeded"], &running, (1, 1, 0, 1, 0), (0, 0, vec!["b"], vec![])),
        (vec!["a Failed", "b Succeeded bare"], &running, (0, 0, 0, 0, 1), (0, 0, vec![], vec!["a"])),
        (vec!["a Running deleting"], &running, (0, 0, 1, 0, 1), (0, 0, vec![], vec!["a"])),
        (vec!["a Succeeded deleting"], &running, (0, 0, 0, 1, 0), (0, 0, vec!["a"], vec![])),
        // Noted before, with the finalizer: still to be counted, and not twice.
        (vec!["a Succeeded", "b Failed"], &noted, (0, 0, 0, 3, 2), (2, 1, vec!["a"], vec!["b"])),
        // Noted before, released or gone: into the counters.
        (vec!["a Succeeded bare"], &noted, (0, 0, 0, 3, 2), (3, 2, vec![], vec![])),
        (vec![], &noted, (0, 0, 0, 3, 2), (3, 2, vec![], vec![])),
        // Counted before, as the missing finalizer says.
        (vec!["x Succeeded bare", "y Failed bare"], &noted, (0, 0, 0, 3, 2), (3, 2, vec![], vec![])),
    ] {
        let spec = json!({"completions": 9, "parallelism": 9, "backoffLimit": 9});
        let mut round = round(spec, status.clone(), &pods(&texts));
        let found = (round.active, round.ready, round.terminating, round.succeeded, round.failed);
        assert_eq!(found, counts, "{texts:?}");
        round.note();
        let status = &mut round.status;
        let uncounted = status.uncounted().clone();
        let found = (status.succeeded, status.failed, uncounted.succeeded, uncounted.failed);
        let names = |list: Vec<&str>| list.into_iter().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(found, (after.0, after.1, names(after.2), names(after.3)), "{texts:?}");
    }
}

#[test]
fn a_replacement_that_waits_for_failure_does_not_count_the_terminating() {
    let spec = json!({"completions": 2, "podReplacementPolicy": "Failed"});
    let mut found = round(spec, json!({}), &pods(&["a Running deleting", "b Failed"]));
    assert_eq!((found.failed, found.terminating), (1, 1));
    assert_eq!(found.note().ended.len(), 1);
}

#[test]
fn a_job_ends_for_one_reason() {
    let policy = json!({"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                                  {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]});
    let target = json!({"conditions": [{"type": "FailureTarget", "status": "True", "reason": "R", "message": "m"}]});
    let met = json!({"conditions": [{"type": "SuccessCriteriaMet", "status": "True", "reason": "R", "message": "m"}]});
    let late = json!({"startTime": "2026-01-01T00:00:00Z"});
    let plain = json!({});
    let restarting = json!({"spec": {"restartPolicy": "OnFailure"}});
    for (spec, status, texts, end) in [
        (json!({"backoffLimit": 1}), &plain, vec!["a Failed"], None),
        (
            json!({"backoffLimit": 1}),
            &plain,
            vec!["a Failed", "b Failed"],
            Some(("FailureTarget", "BackoffLimitExceeded")),
        ),
        (json!({"backoffLimit": 0}), &plain, vec!["a Failed"], Some(("FailureTarget", "BackoffLimitExceeded"))),
        (json!({"backoffLimit": 2, "template": restarting}), &plain, vec!["a Running restarts=1"], None),
        (
            json!({"backoffLimit": 2, "template": restarting}),
            &plain,
            vec!["a Running restarts=2"],
            Some(("FailureTarget", "BackoffLimitExceeded")),
        ),
        (json!({"activeDeadlineSeconds": 700}), &late, vec!["a Running"], None),
        (json!({"activeDeadlineSeconds": 600}), &late, vec!["a Running"], Some(("FailureTarget", "DeadlineExceeded"))),
        (json!({"activeDeadlineSeconds": 600, "suspend": true}), &late, vec!["a Running"], None),
        (json!({"podFailurePolicy": policy, "backoffLimit": 0}), &plain, vec!["a Failed target exit=1"], None),
        (
            json!({"podFailurePolicy": policy, "backoffLimit": 9}),
            &plain,
            vec!["a Failed exit=42"],
            Some(("FailureTarget", "PodFailurePolicy")),
        ),
        // What was decided stays, whatever came since.
        (json!({"backoffLimit": 0}), &met, vec!["a Failed"], Some(("SuccessCriteriaMet", "R"))),
        (json!({"backoffLimit": 9}), &target, vec![], Some(("Failed", "R"))),
    ] {
        let found = round(spec.clone(), status.clone(), &pods(&texts));
        let ended = found.finish.as_ref().map(|c| (c.kind.as_str(), c.reason.as_str()));
        assert_eq!(ended, end, "{spec} {status} {texts:?}");
    }
}

#[test]
fn failure_policies_tell_why_in_upstreams_words() {
    let rules = json!({"podFailurePolicy": {"rules": [
        {"action": "Count", "onExitCodes": {"containerName": "other", "operator": "NotIn", "values": [1]}},
        {"action": "FailJob", "onExitCodes": {"containerName": "c", "operator": "NotIn", "values": [1, 2]}},
        {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [2]}},
        {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
    ]}});
    let by_code = "Container c for pod n/a failed with exit code 3 matching FailJob rule at index 1";
    let by_condition = "Pod n/a has condition DisruptionTarget matching FailJob rule at index 3";
    for (text, verdict) in [
        ("a Failed exit=3", Verdict::FailJob(by_code.to_owned())),
        ("a Failed exit=2", Verdict::FailIndex),
        ("a Failed exit=1", Verdict::Count),
        ("a Failed exit=0", Verdict::Count),
        ("a Failed exit=1 target", Verdict::FailJob(by_condition.to_owned())),
        ("a Failed", Verdict::Count),
    ] {
        let round = round(rules.clone(), json!({}), &[pod(text)]);
        assert_eq!(round.verdict(&round.members[0]), verdict, "{text}");
    }
}

#[test]
fn indexes_succeed_fail_and_are_begun() {
    let indexed = |more: Value| {
        let mut spec =
            json!({"completionMode": "Indexed", "completions": 5, "parallelism": 5, "backoffLimit": 2147483647});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec
    };
    let one = json!({"completedIndexes": "0"});
    let per_index = json!({"backoffLimitPerIndex": 1});
    // The pods; completed and failed indexes then; how it ends.
    for (more, texts, completed, failed, end) in [
        (json!({}), vec!["a Succeeded index=2", "b Succeeded index=7", "c Succeeded"], "0,2", None, None),
        (json!({}), vec!["a Succeeded index=2 bare"], "0", None, None),
        (per_index.clone(), vec!["a Failed index=1"], "0", Some(""), None),
        (per_index.clone(), vec!["a Failed index=1 failures=1"], "0", Some("1"), None),
        (
            json!({"backoffLimitPerIndex": 1, "maxFailedIndexes": 0}),
            vec!["a Failed index=1 failures=1"],
            "0",
            Some("1"),
            Some("MaxFailedIndexesExceeded"),
        ),
        (
            json!({"backoffLimitPerIndex": 0}),
            vec!["a Failed index=1", "b Succeeded index=2", "c Succeeded index=3", "d Failed index=4"],
            "0,2,3",
            Some("1,4"),
            Some("FailedIndexes"),
        ),
        (
            json!({"successPolicy": {"rules": [{"succeededIndexes": "1-3", "succeededCount": 2}]}}),
            vec!["a Succeeded index=1", "b Succeeded index=3"],
            "0,1,3",
            None,
            Some("SuccessPolicy"),
        ),
    ] {
        let mut found = round(indexed(more.clone()), one.clone(), &pods(&texts));
        let ended = found.finish.as_ref().map(|c| c.reason.clone());
        found.note();
        assert_eq!(found.status.completed_indexes, completed, "{more} {texts:?}");
        assert_eq!(found.status.failed_indexes.as_deref(), failed, "{more} {texts:?}");
        assert_eq!(ended.as_deref(), end, "{more} {texts:?}");
    }
}

#[test]
fn a_failed_index_hands_its_count_over() {
    let spec = json!({"completionMode": "Indexed", "completions": 3, "parallelism": 3, "backoffLimitPerIndex": 5,
        "backoffLimit": 2147483647});
    let texts = ["a Failed index=0 failures=1", "b Failed index=0 failures=2", "c Failed index=1", "d Running index=1"];
    let mut found = round(spec, json!({}), &pods(&texts));
    assert_eq!(found.handing_over.iter().map(|(i, at)| (*i, *at)).collect::<Vec<_>>(), [(0, 1)]);
    // The one that is handed over keeps its finalizer; the others go.
    let noted = found.note();
    let gone: Vec<&str> = noted.ended.iter().map(|at| found.members[*at].uid()).collect();
    assert_eq!(gone, ["a", "c"]);
}

#[test]
fn those_that_are_least_far_go_first() {
    let plain = json!({"completions": 9});
    let indexed = json!({"completions": 2, "completionMode": "Indexed"});
    for (spec, texts, at_least, gone) in [
        (&plain, vec!["a Running ready", "b Pending", "c Running"], 2, vec!["b", "c"]),
        (&plain, vec!["a Running restarts=1", "b Running restarts=4"], 1, vec!["b"]),
        (&plain, vec!["a Running", "b Succeeded"], 0, vec![]),
        (&indexed, vec!["a Running index=0", "b Pending index=0", "c Running index=1"], 0, vec!["b"]),
        (&indexed, vec!["a Running", "b Pending index=5", "c Running index=1"], 0, vec!["a", "b"]),
    ] {
        let found = round(spec.clone(), json!({}), &pods(&texts));
        let names: Vec<&str> = found.expendable(at_least).into_iter().map(|at| found.members[at].uid()).collect();
        assert_eq!(names, gone, "{texts:?}");
    }
}

#[test]
fn failures_since_the_last_success_are_waited_for() {
    let ended = |name: &str, second: &str| {
        let mut pod = pod(&format!("{name} Failed exit=1"));
        pod["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"] =
            json!(format!("2026-01-01T00:09:{second}Z"));
        Member::new(whole(&pod))
    };
    let (early, middle, late) = (ended("a", "10"), ended("b", "20"), ended("c", "55"));
    let wait = |record: Record| record.wait(now()).map(|w| w.as_secs());
    let first = Record::default().after(&[], &[&late]);
    assert_eq!(wait(first), Some(5));
    assert_eq!(wait(first.after(&[], &[&early, &middle])), None, "the last failure counts, and it is long ago");
    assert_eq!(wait(Record::default().after(&[], &[&early, &middle, &late])), Some(35));
    assert_eq!(wait(first.after(&[&middle], &[&early, &late])), Some(5));
    assert_eq!(wait(first.after(&[&late], &[&early])), None);
}

#[test]
fn pods_end_when_their_containers_do() {
    let base = pod("a Failed");
    let with = |path: &str, value: Value| {
        let mut pod = base.clone();
        *pod.pointer_mut(path).unwrap() = value;
        Member::new(whole(&pod)).finished_at().to_string()
    };
    let ended = |at: &str| json!({"name": "c", "state": {"terminated": {"exitCode": 1, "finishedAt": at}}});
    let containers =
        json!({"phase": "Failed", "containerStatuses": [ended("2026-01-01T00:01:00Z"), ended("2026-01-01T00:02:00Z")]});
    assert_eq!(with("/status", containers), "2026-01-01T00:02:00Z");
    let not_ready = json!({"containerStatuses": [ended("2026-01-01T00:01:00Z"), {"name": "d", "state": {}}],
        "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:03:00Z"}]});
    assert_eq!(with("/status", not_ready), "2026-01-01T00:03:00Z");
    let mut deleted = base["metadata"].clone();
    deleted["deletionTimestamp"] = json!("2026-01-01T00:05:30Z");
    deleted["deletionGracePeriodSeconds"] = json!(30);
    assert_eq!(with("/metadata", deleted), "2026-01-01T00:05:00Z");
    assert_eq!(with("/spec", json!({})), "2026-01-01T00:00:00Z");
}

#[test]
fn a_status_keeps_what_is_not_known_of_it() {
    let mut job = json!({"status": {"new": 1, "active": 3, "ready": 2}});
    let mut status: Status = serde_json::from_value(job["status"].clone()).unwrap();
    status.active = 0;
    status.ready = Some(0);
    status.uncounted();
    status.set("Suspended", false, "JobResumed", "Job resumed", now());
    status.settle(&BTreeSet::new());
    status.write_into(&mut job);
    assert_eq!(job["status"], json!({"new": 1, "ready": 0, "uncountedTerminatedPods": {}}));
}

/// Each pod is noted in the same time, however many there are.
#[test]
#[allow(clippy::disallowed_methods, reason = "how long it takes is what is asked")]
fn fifty_thousand_failed_indexes_are_noted_at_once() {
    let many: Vec<Value> = (0..50_000).map(|i| pod(&format!("p{i} Failed index={i} failures=0"))).collect();
    let spec = json!({"completions": 50_000, "parallelism": 50_000, "completionMode": "Indexed",
        "backoffLimitPerIndex": 1, "backoffLimit": 100_000});
    let mut round = round(spec, json!({}), &many);
    assert_eq!(round.handing_over.len(), 50_000);
    let begun = std::time::Instant::now();
    assert!(round.note().ended.is_empty(), "each keeps its finalizer until it has a successor");
    let took = begun.elapsed();
    assert!(took.as_secs() < 5, "{took:?}");
}

/// Anybody who may change a pod can write such an index.
#[test]
fn an_index_beyond_all_numbers_is_none() {
    let spec = json!({"completions": 3, "parallelism": 3, "completionMode": "Indexed"});
    let huge = format!("a Running index={}", i64::MAX);
    let mut round = round(spec, json!({}), &pods(&[&huge, "b Running index=1"]));
    assert_eq!(round.indexes_to_begin(3), [0, 2]);
    assert_eq!(round.expendable(0), [0], "it is of no use");
}
