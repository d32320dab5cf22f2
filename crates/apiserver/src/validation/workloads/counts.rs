//! The numbers in the status of workloads.

use serde_json::Value;

use crate::field::FieldError;
use crate::validation::found::Found;
use crate::validation::meta;
use crate::validation::path::{Path, get, number};

fn metadata(out: &mut Found, new: &Value, old: &Value) {
    out.extend(meta::builtin_meta_update(get(new, "metadata"), get(old, "metadata"), &Path::new("metadata")));
}

fn non_negative(out: &mut Found, status: &Value, names: &[&str]) {
    for name in names {
        out.non_negative(&Path::new("status").child(name), number(status, name));
    }
}

/// Some numbers are no greater than another.
fn within(out: &mut Found, status: &Value, names: &[&str], most: &str, said: &str) {
    for name in names {
        let count = number(status, name).unwrap_or_default();
        if count > number(status, most).unwrap_or_default() {
            out.invalid(&Path::new("status").child(name), count, said);
        }
    }
}

const OF_REPLICAS: &str = "cannot be greater than status.replicas";

fn not_decremented(out: &mut Found, new: &Value, old: &Value) {
    let (now, before) = (number(get(new, "status"), "collisionCount"), number(get(old, "status"), "collisionCount"));
    if before.is_some_and(|before| now.is_none_or(|now| now < before)) {
        let field = Path::new("status").child("collisionCount");
        out.invalid(&field, now.unwrap_or_default(), "cannot be decremented");
    }
}

fn replicas(out: &mut Found, status: &Value, more: &[&str]) {
    let counts = ["replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"];
    non_negative(out, status, &counts);
    non_negative(out, status, more);
    let all = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
    within(out, status, &all, "replicas", OF_REPLICAS);
    within(out, status, &["availableReplicas"], "readyReplicas", "cannot be greater than readyReplicas");
}

/// A replication controller's status.
pub fn replication_controller(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut out = Found::new();
    metadata(&mut out, new, old);
    replicas(&mut out, get(new, "status"), &[]);
    out.into_errors()
}

/// A replica set's status.
pub fn replica_set(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut out = Found::new();
    metadata(&mut out, new, old);
    replicas(&mut out, get(new, "status"), &["terminatingReplicas"]);
    out.into_errors()
}

/// A deployment's status.
pub fn deployment(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut out = Found::new();
    metadata(&mut out, new, old);
    let status = get(new, "status");
    let counts = [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ];
    non_negative(&mut out, status, &counts);
    let all = ["updatedReplicas", "readyReplicas", "availableReplicas"];
    within(&mut out, status, &all, "replicas", OF_REPLICAS);
    within(&mut out, status, &["availableReplicas"], "readyReplicas", "cannot be greater than readyReplicas");
    not_decremented(&mut out, new, old);
    out.into_errors()
}

/// A stateful set's status.
pub fn stateful_set(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut out = Found::new();
    let status = get(new, "status");
    let counts = [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ];
    non_negative(&mut out, status, &counts);
    let all = ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
    within(&mut out, status, &all, "replicas", OF_REPLICAS);
    let said = "cannot be greater than status.readyReplicas";
    within(&mut out, status, &["availableReplicas"], "readyReplicas", said);
    metadata(&mut out, new, old);
    not_decremented(&mut out, new, old);
    out.into_errors()
}

/// A daemon set's status.
pub fn daemon_set(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut out = Found::new();
    metadata(&mut out, new, old);
    let counts = [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ];
    non_negative(&mut out, get(new, "status"), &counts);
    not_decremented(&mut out, new, old);
    out.into_errors()
}
