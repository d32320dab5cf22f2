//! The arithmetic of budgets.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use plimsoll_api::kinds::Pod;
use plimsoll_runtime::{Mirrored, Whole};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{pods, times};

/// How long a pod whose eviction was allowed may take to be deleted, in seconds. If it is not, it will not be.
const DELETION: i64 = 120;

/// A number, or a share in percent.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum Amount {
    /// A number.
    Number(i64),
    /// A share, such as `50%`.
    Share(String),
}

impl Amount {
    /// How many that is of `total`, rounded up. The error is upstream's.
    pub(super) fn of(&self, total: i64) -> Result<i64, String> {
        let text = match self {
            Self::Number(number) => return Ok(*number),
            Self::Share(text) => text,
        };
        let percent = text.strip_suffix('%').and_then(|digits| digits.parse::<i64>().ok());
        let Some(percent) = percent else {
            return Err(format!("invalid value for IntOrString: invalid value {text:?}: not a percentage"));
        };
        Ok((i128::from(percent) * i128::from(total) + 99).div_euclid(100).try_into().unwrap_or(i64::MAX))
    }
}

/// `spec` of a budget: one of the two is there.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Spec {
    pub(super) min_available: Option<Amount>,
    pub(super) max_unavailable: Option<Amount>,
}

impl Spec {
    pub(super) fn read(budget: &Value) -> Result<Self, serde_json::Error> {
        Self::deserialize(&budget["spec"])
    }

    /// How many pods must be healthy, by how many there are to be.
    pub(super) fn desired(&self, expected: i64) -> Result<i64, String> {
        match (&self.max_unavailable, &self.min_available) {
            (Some(most), _) => Ok((expected - most.of(expected)?).max(0)),
            (None, Some(least)) => least.of(expected),
            (None, None) => Ok(0),
        }
    }

    /// Whether the number of pods that there are to be is asked of their controllers; otherwise they are counted.
    pub(super) fn asks_controllers(&self) -> bool {
        self.max_unavailable.is_some() || matches!(self.min_available, Some(Amount::Share(_)))
    }
}

/// `status` of a budget.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Status {
    #[serde(skip_serializing_if = "is_zero")]
    observed_generation: i64,
    /// Pods that are being evicted, and since when.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    disrupted_pods: BTreeMap<String, String>,
    disruptions_allowed: i64,
    current_healthy: i64,
    desired_healthy: i64,
    expected_pods: i64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    #[serde(skip_serializing_if = "is_zero")]
    observed_generation: i64,
    last_transition_time: String,
    reason: String,
    message: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// When a pod that was to be evicted at `since` no longer counts as being evicted.
pub(super) fn expiry(since: Timestamp) -> Timestamp {
    times::plus(since, DELETION)
}

impl Status {
    pub(super) fn read(budget: &Value) -> Result<Self, serde_json::Error> {
        if budget["status"].is_null() { Ok(Self::default()) } else { Self::deserialize(&budget["status"]) }
    }

    /// Puts the status into the object.
    pub(super) fn write_into(&self, budget: &mut Value) {
        if let Ok(Value::Object(fields)) = serde_json::to_value(self) {
            let mut status = match budget["status"].take() {
                Value::Object(map) => map,
                _ => Map::new(),
            };
            for field in ["observedGeneration", "disruptedPods", "conditions"] {
                status.remove(field);
            }
            status.extend(fields);
            budget["status"] = Value::Object(status);
        }
    }

    /// The pods whose eviction is still awaited, and those that were to be gone by now.
    pub(super) fn still_disrupted(
        &self,
        pods: &[Arc<Whole<Pod>>],
        now: Timestamp,
    ) -> (BTreeMap<String, String>, Vec<Arc<Whole<Pod>>>) {
        let (mut awaited, mut late) = (BTreeMap::new(), Vec::new());
        for pod in pods.iter().filter(|pod| !pod.meta().deletion_timestamp.0) {
            let Some(since) = self.disrupted_pods.get(&pod.meta().name) else { continue };
            if times::read(since).is_none_or(|since| expiry(since) < now) {
                late.push(pod.clone());
            } else {
                awaited.insert(pod.meta().name.clone(), since.clone());
            }
        }
        (awaited, late)
    }

    /// The status that follows from what there is.
    pub(super) fn reckoned(
        &self,
        pods: &[Arc<Whole<Pod>>],
        disrupted: BTreeMap<String, String>,
        expected: i64,
        desired: i64,
        generation: i64,
        now: Timestamp,
    ) -> Self {
        let is_awaited = |name: &str| {
            let since = disrupted.get(name).and_then(|since| times::read(since));
            since.is_some_and(|since| expiry(since) > now)
        };
        let is_healthy = |pod: &Pod| {
            let meta = &pod.metadata;
            !meta.deletion_timestamp.0 && !is_awaited(&meta.name) && pods::is_ready(pod)
        };
        let healthy = pods.iter().filter(|pod| is_healthy(&pod.slim)).count();
        let healthy = i64::try_from(healthy).unwrap_or(i64::MAX);
        // A budget without pods allows nothing: its first pods may be there before this is looked at again.
        let allowed = if expected <= 0 { 0 } else { (healthy - desired).max(0) };
        let mut status = Self {
            observed_generation: generation,
            disrupted_pods: disrupted,
            disruptions_allowed: allowed,
            current_healthy: healthy,
            desired_healthy: desired,
            expected_pods: expected,
            conditions: self.conditions.clone(),
        };
        let reason = if allowed > 0 { "SufficientPods" } else { "InsufficientPods" };
        status.say(allowed > 0, reason, "", now);
        status
    }

    /// The status where it cannot be reckoned: nothing is allowed.
    pub(super) fn fail(&mut self, why: &str, now: Timestamp) {
        self.disruptions_allowed = 0;
        self.say(false, "SyncFailed", why, now);
    }

    fn say(&mut self, allowed: bool, reason: &str, message: &str, now: Timestamp) {
        const KIND: &str = "DisruptionAllowed";
        let status = if allowed { "True" } else { "False" };
        let old = self.conditions.iter().find(|c| c.kind == KIND && c.status == status);
        let new = Condition {
            kind: KIND.to_owned(),
            status: status.to_owned(),
            observed_generation: self.observed_generation,
            last_transition_time: old.map_or_else(|| times::written(now), |old| old.last_transition_time.clone()),
            reason: reason.to_owned(),
            message: message.to_owned(),
        };
        match self.conditions.iter_mut().find(|c| c.kind == KIND) {
            Some(old) => *old = new,
            None => self.conditions.push(new),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, ready: bool, deleting: bool) -> Arc<Whole<Pod>> {
        let status = if ready { "True" } else { "False" };
        let mut pod = json!({"metadata": {"name": name, "namespace": "n", "uid": name},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": status}]}});
        if deleting {
            pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        let raw = serde_json::value::to_raw_value(&pod).unwrap();
        Arc::new(Whole::read(raw.get()).unwrap())
    }

    #[test]
    fn shares_are_rounded_up() {
        for (amount, total, of) in [
            (json!(3), 10, Ok(3)),
            (json!("50%"), 10, Ok(5)),
            (json!("50%"), 3, Ok(2)),
            (json!("1%"), 1, Ok(1)),
            (json!("0%"), 9, Ok(0)),
            (json!("100%"), 7, Ok(7)),
            (json!("34%"), 3, Ok(2)),
            (json!("five"), 3, Err(())),
        ] {
            let parsed: Amount = serde_json::from_value(amount.clone()).unwrap();
            assert_eq!(parsed.of(total).map_err(|_| ()), of, "{amount} of {total}");
        }
    }

    #[test]
    fn what_may_be_disrupted_is_what_is_healthy_beyond_what_must_be() {
        let now: Timestamp = "2026-01-01T01:00:00Z".parse().unwrap();
        // Ready, not ready, being deleted; the budget; what there is to be: healthy, desired, allowed.
        for (ready, unready, deleting, spec, expected, wanted) in [
            (3, 0, 0, json!({"minAvailable": 2}), 3, (3, 2, 1)),
            (3, 0, 0, json!({"minAvailable": 3}), 3, (3, 3, 0)),
            (1, 2, 0, json!({"minAvailable": 2}), 3, (1, 2, 0)),
            (3, 0, 1, json!({"minAvailable": 2}), 4, (3, 2, 1)),
            (3, 0, 0, json!({"minAvailable": "50%"}), 3, (3, 2, 1)),
            (5, 0, 0, json!({"maxUnavailable": 2}), 5, (5, 3, 2)),
            (4, 1, 0, json!({"maxUnavailable": 2}), 5, (4, 3, 1)),
            (5, 0, 0, json!({"maxUnavailable": "30%"}), 5, (5, 3, 2)),
            (2, 0, 0, json!({"maxUnavailable": 5}), 2, (2, 0, 2)),
            (2, 0, 0, json!({"maxUnavailable": 0}), 2, (2, 2, 0)),
            (0, 0, 0, json!({"minAvailable": 0}), 0, (0, 0, 0)),
            (0, 0, 0, json!({}), 0, (0, 0, 0)),
        ] {
            let spec: Spec = serde_json::from_value(spec.clone()).unwrap();
            let all = (0..ready).map(|i| pod(&format!("r{i}"), true, false));
            let all = all.chain((0..unready).map(|i| pod(&format!("u{i}"), false, false)));
            let all: Vec<_> = all.chain((0..deleting).map(|i| pod(&format!("d{i}"), true, true))).collect();
            let desired = spec.desired(expected).unwrap();
            let status = Status::default().reckoned(&all, BTreeMap::new(), expected, desired, 4, now);
            let found = (status.current_healthy, status.desired_healthy, status.disruptions_allowed);
            assert_eq!(found, wanted, "{spec:?} of {ready}+{unready}+{deleting}");
            let reason = if wanted.2 > 0 { "SufficientPods" } else { "InsufficientPods" };
            assert_eq!((status.conditions[0].reason.as_str(), status.observed_generation), (reason, 4));
        }
    }

    #[test]
    fn an_eviction_is_awaited_for_two_minutes() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let before = Status {
            disrupted_pods: [
                ("a", "2026-01-01T00:00:00Z"),
                ("gone", "2026-01-01T00:00:00Z"),
                ("b", "2026-01-01T00:01:00Z"),
            ]
            .map(|(name, since)| (name.to_owned(), since.to_owned()))
            .into(),
            ..Status::default()
        };
        let pods = [pod("a", true, false), pod("b", true, false), pod("c", true, false), pod("d", true, true)];
        for (now, awaited, late, healthy) in [
            ("2026-01-01T00:01:30Z", vec!["a", "b"], vec![], 1),
            ("2026-01-01T00:02:01Z", vec!["b"], vec!["a"], 2),
            ("2026-01-01T00:03:01Z", vec![], vec!["a", "b"], 3),
        ] {
            let (left, over) = before.still_disrupted(&pods, at(now));
            assert_eq!(left.keys().collect::<Vec<_>>(), awaited, "{now}");
            assert_eq!(over.iter().map(|p| p.meta().name.as_str()).collect::<Vec<_>>(), late, "{now}");
            assert_eq!(before.reckoned(&pods, left, 4, 1, 1, at(now)).current_healthy, healthy, "{now}");
        }
    }

    #[test]
    fn what_is_not_known_of_a_status_stays_in_it() {
        let mut budget = json!({"status": {"new": 1, "disruptedPods": {"x": "2026-01-01T00:00:00Z"}}});
        let mut status = Status::read(&budget).unwrap();
        status.disrupted_pods.clear();
        status.fail("why", "2026-01-01T00:00:00Z".parse().unwrap());
        status.write_into(&mut budget);
        assert_eq!(
            budget["status"],
            json!({"new": 1, "disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0,
                   "conditions": [{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "why",
                                   "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
        );
    }
}
