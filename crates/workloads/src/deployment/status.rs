//! What a Deployment says of itself: how many replicas of which kind, whether enough are available, and whether the
//! rollout gets on.
//!
//! ```text
//!                 NewReplicaSetCreated                       all updated, available, none old
//!   new template ─────────────────────► ReplicaSetUpdated ────────────────────────────────────► NewReplicaSetAvailable
//!                 FoundNewReplicaSet      ▲    │      ▲                                            (until a new template)
//!                                         └────┘      │ again progress
//!                                        progress     │
//!                                              └──► ProgressDeadlineExceeded: none for progressDeadlineSeconds
//! ```

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::numbers::Room;
use super::set::Set;
use crate::pods::moment;

/// Whether the rollout gets on.
pub(super) const PROGRESSING: &str = "Progressing";
/// Whether enough replicas are available.
const AVAILABLE: &str = "Available";
/// A set's trouble with its pods.
const REPLICA_FAILURE: &str = "ReplicaFailure";

/// Reasons of the condition Progressing.
pub(super) mod reason {
    pub(crate) const UPDATED: &str = "ReplicaSetUpdated";
    pub(crate) const CREATE_FAILED: &str = "ReplicaSetCreateError";
    pub(crate) const CREATED: &str = "NewReplicaSetCreated";
    pub(crate) const FOUND: &str = "FoundNewReplicaSet";
    pub(crate) const COMPLETE: &str = "NewReplicaSetAvailable";
    pub(crate) const TIMED_OUT: &str = "ProgressDeadlineExceeded";
    pub(crate) const PAUSED: &str = "DeploymentPaused";
    pub(crate) const RESUMED: &str = "DeploymentResumed";
}

/// "For ever", where a number of seconds or of revisions is asked for.
const FOR_EVER: i64 = i32::MAX as i64;

/// What of a Deployment's spec decides about its status.
pub(super) struct Wish<'a> {
    pub(super) name: &'a str,
    pub(super) generation: i64,
    pub(super) room: Room,
    /// How long a rollout may stand still; `None` where nobody cares.
    pub(super) deadline: Option<i64>,
}

impl<'a> Wish<'a> {
    pub(super) fn of(object: &'a Value) -> Self {
        Self {
            name: object["metadata"]["name"].as_str().unwrap_or_default(),
            generation: object["metadata"]["generation"].as_i64().unwrap_or(0),
            room: Room::of(&object["spec"]),
            deadline: object["spec"]["progressDeadlineSeconds"].as_i64().filter(|seconds| *seconds != FOR_EVER),
        }
    }
}

/// How many old sets are kept; `None` for all.
pub(super) fn history_limit(object: &Value) -> Option<i64> {
    object["spec"]["revisionHistoryLimit"].as_i64().filter(|limit| *limit != FOR_EVER)
}

/// A condition of a status.
pub(super) fn condition<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    status["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}

/// A condition that begins now.
pub(super) fn fresh(kind: &str, status: &str, reason: &str, message: &str, now: Timestamp) -> Value {
    let now = moment(now);
    json!({"type": kind, "status": status, "lastUpdateTime": now, "lastTransitionTime": now, "reason": reason,
           "message": message})
}

/// Puts a condition into a status, unless it says the same already. Since when is only new where the status changes.
pub(super) fn set_condition(status: &mut Value, mut new: Value) {
    if let Some(kind) = new["type"].as_str()
        && let Some(old) = condition(status, kind)
    {
        if old["status"] == new["status"] && old["reason"] == new["reason"] {
            return;
        }
        if old["status"] == new["status"] {
            new["lastTransitionTime"] = old["lastTransitionTime"].clone();
        }
    }
    let kind = new["type"].as_str().unwrap_or_default().to_owned();
    remove_condition(status, &kind);
    match status["conditions"].as_array_mut() {
        Some(conditions) => conditions.push(new),
        None => status["conditions"] = json!([new]),
    }
}

/// Takes a condition out of a status.
pub(super) fn remove_condition(status: &mut Value, kind: &str) {
    if let Some(conditions) = status["conditions"].as_array_mut() {
        conditions.retain(|condition| condition["type"] != kind);
    }
}

/// A number of a status.
fn number(status: &Value, field: &str) -> i64 {
    status[field].as_i64().unwrap_or(0)
}

/// The status as the sets make it, with whether enough is available.
pub(super) fn counted(old: &Value, wish: &Wish<'_>, sets: &[Set], new: Option<&Set>, now: Timestamp) -> Value {
    let sum = |field: &str| sets.iter().map(|set| set.says(field)).sum::<i64>();
    let available = sum("availableReplicas");
    let asked: i64 = sets.iter().map(Set::replicas).sum();
    let mut status = if old.is_object() { old.clone() } else { json!({}) };
    let numbers = [
        ("observedGeneration", wish.generation),
        ("replicas", sum("replicas")),
        ("updatedReplicas", new.map_or(0, |set| set.says("replicas"))),
        ("readyReplicas", sum("readyReplicas")),
        ("availableReplicas", available),
        ("unavailableReplicas", (asked - available).max(0)),
    ];
    for (field, number) in numbers {
        put(&mut status, field, (number != 0).then(|| json!(number)));
    }
    put(&mut status, "terminatingReplicas", terminating(sets).map(|number| json!(number)));
    let (is, reason, message) = if available >= wish.room.fewest() {
        ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    } else {
        ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    };
    set_condition(&mut status, fresh(AVAILABLE, is, reason, message, now));
    status
}

/// A field that is none is left out, as the API server leaves it out: otherwise every look would find something to write.
fn put(status: &mut Value, field: &str, value: Option<Value>) {
    if let Some(value) = value {
        status[field] = value;
    } else if let Some(fields) = status.as_object_mut() {
        fields.remove(field);
    }
}

/// The pods on their way out. Unknown where a set that was looked at does not say; one that was not has none.
fn terminating(sets: &[Set]) -> Option<i64> {
    let looked_at = sets
        .iter()
        .filter(|set| set.says("observedGeneration") != 0 || !set.value["status"]["terminatingReplicas"].is_null());
    looked_at.map(|set| set.value["status"]["terminatingReplicas"].as_i64()).sum()
}

/// Whether all replicas are of the new template and available, and no other is left.
pub(super) fn is_complete(wish: &Wish<'_>, status: &Value) -> bool {
    let all = ["updatedReplicas", "replicas", "availableReplicas"];
    all.iter().all(|field| number(status, field) == wish.room.replicas)
        && number(status, "observedGeneration") >= wish.generation
}

/// Whether there is more of the new, or less of the old, than before.
fn is_progress(old: &Value, new: &Value) -> bool {
    let outdated = |status: &Value| number(status, "replicas") - number(status, "updatedReplicas");
    let more = |field: &str| number(new, field) > number(old, field);
    more("updatedReplicas") || outdated(new) < outdated(old) || more("readyReplicas") || more("availableReplicas")
}

/// Whether nothing got on for too long.
fn is_timed_out(wish: &Wish<'_>, status: &Value, now: Timestamp) -> bool {
    let (Some(deadline), Some(condition)) = (wish.deadline, condition(status, PROGRESSING)) else { return false };
    if condition["reason"] == reason::COMPLETE {
        // The rollout before this one: this one's condition is not there yet.
        return false;
    }
    condition["reason"] == reason::TIMED_OUT || deadline_of(condition, deadline).is_some_and(|at| at < now)
}

fn deadline_of(condition: &Value, seconds: i64) -> Option<Timestamp> {
    let since: Timestamp = condition["lastUpdateTime"].as_str()?.parse().ok()?;
    since.checked_add(SignedDuration::from_secs(seconds)).ok()
}

/// Adds to a counted status how the rollout gets on, and what troubles the sets. `old` is the status before.
pub(super) fn with_progress(
    old: &Value,
    mut status: Value,
    wish: &Wish<'_>,
    sets: &[Set],
    new: Option<&Set>,
    now: Timestamp,
) -> Value {
    if wish.deadline.is_none() {
        remove_condition(&mut status, PROGRESSING);
    }
    let current = condition(old, PROGRESSING);
    // A rollout that was complete stays so while nothing is rolled out: pods that fail later are no lack of progress.
    let was_complete = number(&status, "replicas") == number(&status, "updatedReplicas")
        && current.is_some_and(|condition| condition["reason"] == reason::COMPLETE);
    if wish.deadline.is_some() && !was_complete {
        let subject = match new {
            Some(set) => format!("ReplicaSet {:?}", set.name()),
            None => format!("Deployment {:?}", wish.name),
        };
        if is_complete(wish, &status) {
            let message = format!("{subject} has successfully progressed.");
            set_condition(&mut status, fresh(PROGRESSING, "True", reason::COMPLETE, &message, now));
        } else if is_progress(old, &status) {
            let message = format!("{subject} is progressing.");
            let mut condition = fresh(PROGRESSING, "True", reason::UPDATED, &message, now);
            // Said again with each step, so that the deadline counts from the last one.
            if let Some(current) = current.filter(|current| current["status"] == "True") {
                condition["lastTransitionTime"] = current["lastTransitionTime"].clone();
            }
            remove_condition(&mut status, PROGRESSING);
            set_condition(&mut status, condition);
        } else if is_timed_out(wish, &status, now) {
            let message = format!("{subject} has timed out progressing.");
            set_condition(&mut status, fresh(PROGRESSING, "False", reason::TIMED_OUT, &message, now));
        }
    }
    match trouble(sets, new) {
        Some(trouble) => set_condition(&mut status, trouble),
        None => remove_condition(&mut status, REPLICA_FAILURE),
    }
    status
}

/// What troubles the new set, or else any.
fn trouble(sets: &[Set], new: Option<&Set>) -> Option<Value> {
    let found = new.into_iter().chain(sets).find_map(|set| condition(&set.value["status"], REPLICA_FAILURE))?;
    let mut trouble = found.clone();
    trouble["lastUpdateTime"] = found["lastTransitionTime"].clone();
    Some(trouble)
}

/// When to look whether a rollout has stood still for too long; `None` where nobody asks, or the answer is known.
pub(super) fn check_after(wish: &Wish<'_>, status: &Value, now: Timestamp) -> Option<Duration> {
    let (deadline, condition) = (wish.deadline?, condition(status, PROGRESSING)?);
    let over = [reason::TIMED_OUT, reason::COMPLETE].iter().any(|reason| condition["reason"] == *reason);
    if over || is_complete(wish, status) {
        return None;
    }
    let left = deadline_of(condition, deadline)?.duration_since(now);
    // A second more: times are told in whole seconds.
    Some(Duration::try_from(left).unwrap_or(Duration::ZERO) + Duration::from_secs(1))
}

#[cfg(test)]
mod tests;
