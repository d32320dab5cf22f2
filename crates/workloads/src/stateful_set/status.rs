//! What a StatefulSet says of itself.

use jiff::Timestamp;
use plimsoll_api::kinds::Pod;
use serde_json::{Value, json};

use super::spec::Spec;
use crate::pods::{is_available, is_ready};
use crate::revisions::REVISION_HASH;

/// How many pods there are, of which kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub replicas: i64,
    pub ready: i64,
    pub available: i64,
    pub current: i64,
    pub updated: i64,
}

/// The names of the two revisions, and how often a name was taken.
pub(super) struct Names<'a> {
    pub current: &'a str,
    pub update: &'a str,
    pub collisions: i64,
}

/// Counts pods.
pub(super) fn count<'p>(
    pods: impl IntoIterator<Item = &'p Pod>,
    names: &Names<'_>,
    min_ready: i64,
    now: Timestamp,
) -> Count {
    let mut count = Count::default();
    for pod in pods {
        count.replicas += 1;
        if pod.status.phase == "Running" && is_ready(pod) {
            count.ready += 1;
            count.available += i64::from(is_available(pod, min_ready, now));
        }
        if !pod.metadata.deletion_timestamp.0 {
            let revision = pod.metadata.labels.get(REVISION_HASH).unwrap_or_default();
            count.current += i64::from(revision == names.current);
            count.updated += i64::from(revision == names.update);
        }
    }
    count
}

/// The status of a set with so many pods; the conditions of others stay. Once all are updated and ready, the update is over: what
/// was to be is what is.
pub(super) fn status(spec: &Spec, names: &Names<'_>, count: Count) -> Value {
    let done = [count.updated, count.ready, count.replicas].iter().all(|n| *n == spec.replicas);
    let (current, name) = if done { (count.updated, names.update) } else { (count.current, names.current) };
    let mut status = spec.status.as_object().cloned().unwrap_or_default();
    // These two are always said; of the others only what is more than nothing.
    status.insert("replicas".to_owned(), json!(count.replicas));
    status.insert("availableReplicas".to_owned(), json!(count.available));
    status.insert("collisionCount".to_owned(), json!(names.collisions));
    status.insert("currentRevision".to_owned(), json!(name));
    status.insert("updateRevision".to_owned(), json!(names.update));
    for (field, number) in [
        ("observedGeneration", spec.generation),
        ("readyReplicas", count.ready),
        ("currentReplicas", current),
        ("updatedReplicas", count.updated),
    ] {
        if number == 0 {
            status.remove(field);
        } else {
            status.insert(field.to_owned(), json!(number));
        }
    }
    Value::Object(status)
}
