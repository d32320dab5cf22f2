//! A Job as its controller reads it, and the status as it writes it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::policy::{FailurePolicy, SuccessPolicy};
use crate::times;

/// Who has the job's pods when nobody else is named.
pub const CONTROLLER: &str = "kubernetes.io/job-controller";

/// `spec` of a Job.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// How many pods may run at a time.
    pub parallelism: Option<i64>,
    /// How many must succeed; `None` is one, of as many as run.
    pub completions: Option<i64>,
    /// How many may fail.
    pub backoff_limit: Option<i64>,
    /// How many may fail of each index.
    pub backoff_limit_per_index: Option<i64>,
    /// How many indexes may fail.
    pub max_failed_indexes: Option<i64>,
    /// How long it may take.
    pub active_deadline_seconds: Option<i64>,
    /// How long it is kept when it is over.
    pub ttl_seconds_after_finished: Option<i64>,
    /// Whether it waits, with no pod running.
    pub suspend: Option<bool>,
    /// `NonIndexed`, or `Indexed`.
    pub completion_mode: Option<String>,
    /// What a pod's failure means.
    pub pod_failure_policy: Option<FailurePolicy>,
    /// When it has succeeded before all indexes have.
    pub success_policy: Option<SuccessPolicy>,
    /// When a pod is replaced: `TerminatingOrFailed`, or `Failed`.
    pub pod_replacement_policy: Option<String>,
    /// Who has its pods.
    pub managed_by: Option<String>,
    /// What its pods are made of.
    pub template: Template,
}

/// The part of a pod template that matters for what the job does.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Template {
    /// `spec`.
    pub spec: TemplateSpec,
}

/// `spec` of a template.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TemplateSpec {
    /// `OnFailure`, or `Never`.
    pub restart_policy: String,
}

impl Spec {
    /// Whether every pod has an index.
    pub fn is_indexed(&self) -> bool {
        self.completion_mode.as_deref() == Some("Indexed")
    }

    /// Whether it is suspended.
    pub fn is_suspended(&self) -> bool {
        self.suspend == Some(true)
    }

    /// Whether failures are counted for each index.
    pub fn is_per_index(&self) -> bool {
        self.backoff_limit_per_index.is_some()
    }

    /// Whether a pod is replaced only when it has failed, not while it is being deleted.
    pub fn only_replaces_failed(&self) -> bool {
        self.pod_replacement_policy.as_deref() == Some("Failed")
    }

    /// How many indexes there are.
    pub fn indexes(&self) -> i64 {
        self.completions.unwrap_or(0)
    }

    /// Whether another controller has it.
    pub fn is_managed_elsewhere(&self) -> bool {
        self.managed_by.as_deref().is_some_and(|by| by != CONTROLLER)
    }
}

/// A condition of a Job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Condition {
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// When it was last looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_probe_time: Option<String>,
    /// When it last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<String>,
    /// The reason.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The reason in full.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl Condition {
    /// That something holds, as of now.
    pub fn new(kind: &str, reason: &str, message: &str, now: Timestamp) -> Self {
        let now = Some(times::written(now));
        Self {
            kind: kind.to_owned(),
            status: "True".to_owned(),
            last_probe_time: now.clone(),
            last_transition_time: now,
            reason: reason.to_owned(),
            message: message.to_owned(),
        }
    }

    /// The same under another name: what was to be is.
    pub fn fulfilled(&self, kind: &str, now: Timestamp) -> Self {
        Self::new(kind, &self.reason, &self.message, now)
    }
}

/// Pods that have ended and are not in the counters yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Uncounted {
    /// The uids of those that succeeded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub succeeded: Vec<String>,
    /// The uids of those that failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

impl Uncounted {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.succeeded.len() + self.failed.len()
    }
}

/// `status` of a Job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Status {
    /// The conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// When it began, or went on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time: Option<String>,
    /// When it was complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<String>,
    /// Pods that run, or are to.
    #[serde(skip_serializing_if = "is_zero")]
    pub active: i64,
    /// Pods that succeeded.
    #[serde(skip_serializing_if = "is_zero")]
    pub succeeded: i64,
    /// Pods that failed.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed: i64,
    /// Pods that are being deleted and have not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminating: Option<i64>,
    /// Active pods that are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<i64>,
    /// The indexes that succeeded.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub completed_indexes: String,
    /// The indexes that failed for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_indexes: Option<String>,
    /// Pods that are being counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncounted_terminated_pods: Option<Uncounted>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// The fields of a status that this controller writes; others are left as they are.
const FIELDS: [&str; 11] = [
    "conditions",
    "startTime",
    "completionTime",
    "active",
    "succeeded",
    "failed",
    "terminating",
    "ready",
    "completedIndexes",
    "failedIndexes",
    "uncountedTerminatedPods",
];

impl Status {
    /// The condition of this type, where it holds.
    pub fn holds(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|c| c.kind == kind && c.status == "True")
    }

    /// The condition that says that the job is over.
    pub fn finished(&self) -> Option<&Condition> {
        self.conditions.iter().find(|c| matches!(c.kind.as_str(), "Complete" | "Failed") && c.status == "True")
    }

    /// Sets a condition; returns whether that changed anything. What never held need not be said not to hold.
    pub fn set(&mut self, kind: &str, holds: bool, reason: &str, message: &str, now: Timestamp) -> bool {
        let mut new = Condition::new(kind, reason, message, now);
        if !holds {
            "False".clone_into(&mut new.status);
        }
        match self.conditions.iter_mut().find(|c| c.kind == kind) {
            Some(old) if old.status == new.status && old.reason == reason && old.message == message => false,
            Some(old) => {
                *old = new;
                true
            }
            None if holds => {
                self.conditions.push(new);
                true
            }
            None => false,
        }
    }

    /// Those that are being counted.
    pub fn uncounted(&mut self) -> &mut Uncounted {
        self.uncounted_terminated_pods.get_or_insert_default()
    }

    /// Puts the status into the object.
    pub fn write_into(&self, job: &mut Value) {
        if !job["status"].is_object() {
            job["status"] = Value::Object(serde_json::Map::new());
        }
        let Some(status) = job["status"].as_object_mut() else { return };
        for field in FIELDS {
            status.remove(field);
        }
        if let Ok(Value::Object(fields)) = serde_json::to_value(self) {
            status.extend(fields);
        }
    }
}
