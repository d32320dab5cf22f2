//! What a DaemonSet says of itself.

use serde_json::{Value, json};

use super::demand::Fit;
use super::plan::{Place, sort};

/// How many nodes there are, of which kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub desired: i64,
    pub current: i64,
    pub misscheduled: i64,
    pub ready: i64,
    pub updated: i64,
    pub available: i64,
}

/// Counts nodes; of several pods on one the oldest counts.
pub(super) fn count(places: &[Place]) -> Count {
    let mut count = Count::default();
    for place in places {
        let mut pods = place.pods.clone();
        sort(&mut pods);
        let first = pods.first();
        match (place.fit, first) {
            (Some(Fit::Runs), None) => count.desired += 1,
            (Some(Fit::Runs), Some(pod)) => {
                count.desired += 1;
                count.current += 1;
                count.ready += i64::from(pod.ready);
                count.available += i64::from(pod.ready && pod.available);
                count.updated += i64::from(pod.updated);
            }
            (Some(_), Some(_)) => count.misscheduled += 1,
            _ => {}
        }
    }
    count
}

/// The status of a set with so many; what others say in it stays.
pub(super) fn status(before: &Value, count: Count, generation: i64, collisions: i64) -> Value {
    let mut status = before.as_object().cloned().unwrap_or_default();
    // These four are always said; of the others only what is more than nothing.
    for (field, number) in [
        ("currentNumberScheduled", count.current),
        ("numberMisscheduled", count.misscheduled),
        ("desiredNumberScheduled", count.desired),
        ("numberReady", count.ready),
    ] {
        status.insert(field.to_owned(), json!(number));
    }
    for (field, number) in [
        ("observedGeneration", generation),
        ("updatedNumberScheduled", count.updated),
        ("numberAvailable", count.available),
        ("numberUnavailable", count.desired - count.available),
        ("collisionCount", collisions),
    ] {
        if number == 0 {
            status.remove(field);
        } else {
            status.insert(field.to_owned(), json!(number));
        }
    }
    Value::Object(status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon_set::plan::Daemon;

    fn place(fit: Fit, pods: &[(&str, bool, bool)]) -> Place {
        let pods = pods.iter().map(|(made, ready, updated)| Daemon {
            made: (*made).to_owned(),
            placed: true,
            ready: *ready,
            available: *ready,
            updated: *updated,
            ..Daemon::default()
        });
        Place { node: String::new(), fit: Some(fit), pods: pods.collect(), patient: false }
    }

    #[test]
    fn nodes_are_counted_by_their_oldest_pod() {
        let places = [
            place(Fit::Runs, &[]),
            place(Fit::Runs, &[("1", true, true)]),
            place(Fit::Runs, &[("2", true, true), ("1", false, false)]),
            place(Fit::Stays, &[("1", true, true)]),
            place(Fit::Never, &[]),
        ];
        let count = count(&places);
        assert_eq!(count, Count { desired: 3, current: 2, misscheduled: 1, ready: 1, updated: 1, available: 1 });
        let said = status(&json!({"conditions": [1], "numberAvailable": 7}), count, 2, 0);
        let wanted = json!({"currentNumberScheduled": 2, "numberMisscheduled": 1, "desiredNumberScheduled": 3, "numberReady": 1,
            "observedGeneration": 2, "updatedNumberScheduled": 1, "numberAvailable": 1, "numberUnavailable": 2, "conditions": [1]});
        assert_eq!(said, wanted);
    }
}
