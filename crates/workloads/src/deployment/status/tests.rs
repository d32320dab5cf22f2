//! A rollout told by its status.

use std::sync::Arc;

use plimsoll_runtime::{Mirrored, Whole};

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_767_225_600 + seconds).unwrap()
}

/// A set of so many replicas, with so many of them there and available.
fn set(name: &str, replicas: i64, there: i64, available: i64) -> Set {
    let set = json!({"metadata": {"name": name}, "spec": {"replicas": replicas}, "status": {"replicas": there,
        "readyReplicas": available, "availableReplicas": available, "observedGeneration": 1, "terminatingReplicas": 0}});
    read(set)
}

fn read(value: Value) -> Set {
    Set::new(Arc::new(Whole::read(&value.to_string()).unwrap()))
}

fn wish(replicas: i64, deadline: Option<i64>) -> Wish<'static> {
    let room = Room { replicas, surge: 1, unavailable: 0, rolling: true };
    Wish { name: "web", generation: 2, room, deadline }
}

/// The status after a look; the last set is the new one.
fn look(old: &Value, wish: &Wish<'_>, sets: &[Set], now: i64) -> Value {
    let new = sets.last();
    let counted = counted(old, wish, sets, new, at(now));
    with_progress(old, counted, wish, sets, new, at(now))
}

fn progress(status: &Value) -> (&str, &str, &str) {
    let Some(condition) = condition(status, PROGRESSING) else { return ("", "", "") };
    let text = |field: &str| condition[field].as_str().unwrap_or_default();
    (text("status"), text("reason"), text("message"))
}

#[test]
fn replicas_are_counted_and_none_is_left_out() {
    let sets = [set("old", 3, 3, 2), set("new", 1, 1, 0)];
    let status = look(&json!({"unheard": 1, "collisionCount": 2}), &wish(3, None), &sets, 0);
    let mut plain = status.clone();
    plain.as_object_mut().unwrap().remove("conditions");
    assert_eq!(
        plain,
        json!({"observedGeneration": 2, "replicas": 4, "updatedReplicas": 1, "readyReplicas": 2, "availableReplicas": 2,
            "unavailableReplicas": 2, "terminatingReplicas": 0, "collisionCount": 2, "unheard": 1})
    );
    let available = condition(&status, AVAILABLE).unwrap();
    assert_eq!((&available["status"], &available["reason"]), (&json!("False"), &json!("MinimumReplicasUnavailable")));
    let empty = look(&status, &wish(0, None), &[set("new", 0, 0, 0)], 1);
    assert!(["replicas", "availableReplicas", "unavailableReplicas"].iter().all(|field| empty[field].is_null()));
    assert_eq!(condition(&empty, AVAILABLE).unwrap()["status"], "True");
}

#[test]
fn those_on_their_way_out_are_unknown_where_a_set_does_not_say() {
    let says = |status: Value| read(json!({"metadata": {"name": "s"}, "status": status}));
    let known = says(json!({"observedGeneration": 1, "terminatingReplicas": 2}));
    let fresh = says(json!({}));
    let mute = says(json!({"observedGeneration": 1}));
    assert_eq!(terminating(&[]), Some(0));
    assert_eq!(terminating(&[known.clone(), fresh.clone(), known.clone()]), Some(4));
    assert_eq!(terminating(&[known, fresh, mute]), None);
}

#[test]
fn a_condition_changes_its_time_with_its_status_only() {
    let mut status = json!({});
    set_condition(&mut status, fresh("A", "True", "One", "first", at(0)));
    set_condition(&mut status, fresh("B", "True", "One", "", at(0)));
    set_condition(&mut status, fresh("A", "True", "One", "second", at(5)));
    assert_eq!(condition(&status, "A").unwrap()["message"], "first", "the same is not said again");
    set_condition(&mut status, fresh("A", "True", "Two", "third", at(6)));
    let now = condition(&status, "A").unwrap().clone();
    assert_eq!((&now["lastTransitionTime"], &now["lastUpdateTime"]), (&json!(moment(at(0))), &json!(moment(at(6)))));
    set_condition(&mut status, fresh("A", "False", "Two", "", at(7)));
    assert_eq!(condition(&status, "A").unwrap()["lastTransitionTime"], json!(moment(at(7))));
    remove_condition(&mut status, "A");
    assert!(condition(&status, "A").is_none() && condition(&status, "B").is_some());
}

#[test]
fn a_rollout_gets_on_and_is_complete() {
    let wish = wish(2, Some(600));
    let mut status = json!({"conditions": [fresh(PROGRESSING, "True", reason::CREATED, "Created", at(0))]});
    status = look(&status, &wish, &[set("old", 2, 2, 2), set("new", 1, 1, 0)], 1);
    assert_eq!(progress(&status), ("True", "ReplicaSetUpdated", "ReplicaSet \"new\" is progressing."));
    assert_eq!(condition(&status, PROGRESSING).unwrap()["lastTransitionTime"], json!(moment(at(0))));
    status = look(&status, &wish, &[set("old", 1, 1, 1), set("new", 2, 2, 1)], 9);
    assert_eq!(
        condition(&status, PROGRESSING).unwrap()["lastUpdateTime"],
        json!(moment(at(9))),
        "the deadline moves on"
    );
    status = look(&status, &wish, &[set("old", 0, 0, 0), set("new", 2, 2, 2)], 12);
    let done = ("True", "NewReplicaSetAvailable", "ReplicaSet \"new\" has successfully progressed.");
    assert_eq!(progress(&status), done);
    assert_eq!(check_after(&wish, &status, at(12)), None);
    // A pod that fails later is no rollout that stands still.
    let sick = look(&status, &wish, &[set("old", 0, 0, 0), set("new", 2, 2, 1)], 9000);
    assert_eq!(progress(&sick), done);
    assert_eq!(check_after(&wish, &sick, at(9000)), None);
    // Nothing new: nothing is written.
    assert_eq!(look(&status, &wish, &[set("old", 0, 0, 0), set("new", 2, 2, 2)], 99), status);
}

#[test]
fn a_rollout_that_stands_still_times_out_and_may_come_round() {
    let wish = wish(2, Some(60));
    let stuck = [set("old", 2, 2, 2), set("new", 1, 1, 0)];
    let mut status = json!({"conditions": [fresh(PROGRESSING, "True", reason::CREATED, "Created", at(0))]});
    status = look(&status, &wish, &stuck, 1);
    assert_eq!(check_after(&wish, &status, at(11)), Some(Duration::from_secs(51)));
    assert_eq!(look(&status, &wish, &stuck, 61), status, "to the second");
    status = look(&status, &wish, &stuck, 62);
    let late = ("False", "ProgressDeadlineExceeded", "ReplicaSet \"new\" has timed out progressing.");
    assert_eq!(progress(&status), late);
    assert_eq!(check_after(&wish, &status, at(62)), None);
    assert_eq!(look(&status, &wish, &stuck, 70), status);
    let moving = look(&status, &wish, &[set("old", 2, 2, 2), set("new", 1, 1, 1)], 80);
    assert_eq!(progress(&moving), ("True", "ReplicaSetUpdated", "ReplicaSet \"new\" is progressing."));
    // Who asks for no deadline is told nothing.
    let none = Wish { deadline: None, ..wish };
    assert_eq!(progress(&look(&status, &none, &stuck, 90)), ("", "", ""));
}

#[test]
fn a_sets_trouble_is_the_deployments() {
    let trouble = |name: &str, message: &str| {
        read(json!({"metadata": {"name": name}, "status": {"conditions": [{"type": "ReplicaFailure", "status": "True",
            "reason": "FailedCreate", "message": message, "lastTransitionTime": moment(at(3))}]}}))
    };
    let wish = wish(2, Some(60));
    let status = look(&json!({}), &wish, &[trouble("old", "of the old"), trouble("new", "of the new")], 5);
    let told = condition(&status, REPLICA_FAILURE).unwrap();
    assert_eq!((&told["message"], &told["lastUpdateTime"]), (&json!("of the new"), &json!(moment(at(3)))));
    let status = look(&status, &wish, &[set("old", 2, 2, 2), set("new", 1, 1, 0)], 6);
    assert!(condition(&status, REPLICA_FAILURE).is_none());
}
