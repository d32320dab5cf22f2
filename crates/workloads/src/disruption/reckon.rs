//! The arithmetic of budgets.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use plimsoll_api::kinds::Pod;
use plimsoll_runtime::{Mirrored, Whole};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{pods, portion, times};

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
            Self::Number(number) => return Ok(portion::within(*number)),
            Self::Share(text) => text,
        };
        portion::share(text, total, true)
            .ok_or_else(|| format!("invalid value for IntOrString: invalid value {text:?}: not a percentage"))
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
mod tests;
