//! A pod as its job sees it.

use std::cmp::{Ordering, Reverse};
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use plimsoll_api::kinds::{ObjectMeta, Pod};
use plimsoll_api::names::JOB_INDEX;
use plimsoll_runtime::{Mirrored, Whole};
use serde::Deserialize;

use super::spec::Spec;
use crate::{pods, times};

/// Keeps a pod until it is counted.
pub const TRACKING: &str = "batch.kubernetes.io/job-tracking";
/// Annotation: how many pods of the same index failed before this one.
pub const FAILURES: &str = plimsoll_api::names::JOB_INDEX_FAILURES;
/// Annotation: how many more failed and were not to be counted.
pub const IGNORED: &str = plimsoll_api::names::JOB_INDEX_IGNORED_FAILURES;

/// A pod of a job.
#[derive(Debug)]
pub struct Member {
    /// The pod.
    pub pod: Arc<Whole<Pod>>,
    /// Its completion index, where it has one.
    pub index: Option<i64>,
    /// Whether it is to be counted still.
    pub tracked: bool,
    /// What the mirror's form of a pod leaves out: read only of pods that ended, or that are weighed against each other.
    detail: OnceLock<Detail>,
}

/// What only a job asks of a pod.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Detail {
    metadata: DetailMeta,
    spec: DetailSpec,
    /// `status`.
    pub status: DetailStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DetailMeta {
    deletion_timestamp: Option<String>,
    deletion_grace_period_seconds: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DetailSpec {
    init_containers: Vec<InitContainer>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct InitContainer {
    name: String,
    restart_policy: String,
}

/// How the containers are.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DetailStatus {
    /// The containers.
    pub container_statuses: Vec<ContainerState>,
    /// The init containers.
    pub init_container_statuses: Vec<ContainerState>,
}

/// How a container is.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerState {
    name: String,
    restart_count: i64,
    state: State,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct State {
    terminated: Option<Terminated>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Terminated {
    exit_code: i64,
    finished_at: Option<String>,
}

impl ContainerState {
    /// Its name and how it ended; `None` where it has not.
    pub fn ended(&self) -> Option<(&str, i64)> {
        self.state.terminated.as_ref().map(|t| (self.name.as_str(), t.exit_code))
    }

    fn finished_at(&self) -> Option<Timestamp> {
        times::read(self.state.terminated.as_ref()?.finished_at.as_deref()?)
    }
}

impl Member {
    /// The pod as a member of its job.
    pub fn new(pod: Arc<Whole<Pod>>) -> Self {
        let meta = pod.meta();
        let index = meta.annotation(JOB_INDEX).and_then(|text| text.parse::<i32>().ok()).filter(|index| *index >= 0);
        let index = index.map(i64::from);
        let tracked = is_tracked(meta);
        Self { index, tracked, pod, detail: OnceLock::new() }
    }

    /// `metadata`.
    pub fn meta(&self) -> &ObjectMeta {
        self.pod.meta()
    }

    /// The uid.
    pub fn uid(&self) -> &str {
        &self.meta().uid
    }

    fn phase(&self) -> &str {
        &self.pod.slim.status.phase
    }

    /// Whether it succeeded.
    pub fn has_succeeded(&self) -> bool {
        self.phase() == "Succeeded"
    }

    /// Whether it counts as failed. A pod that is being deleted does, unless only what has failed is replaced: it may never
    /// come to say that it failed.
    pub fn has_failed(&self, spec: &Spec) -> bool {
        match self.phase() {
            "Failed" => true,
            "Succeeded" => false,
            _ => self.meta().deletion_timestamp.0 && !spec.only_replaces_failed(),
        }
    }

    /// Whether it runs, or is to.
    pub fn is_active(&self) -> bool {
        pods::is_active(&self.pod.slim)
    }

    /// Whether it is being deleted and has not ended.
    pub fn is_terminating(&self) -> bool {
        !pods::is_done(&self.pod.slim) && self.meta().deletion_timestamp.0
    }

    /// Whether its index, if it must have one, is one of the job's.
    pub fn fits(&self, spec: &Spec) -> bool {
        !spec.is_indexed() || self.index.is_some_and(|index| index < spec.indexes())
    }

    /// What the mirror's form of a pod leaves out.
    pub fn detail(&self) -> &Detail {
        self.detail.get_or_init(|| serde_json::from_value(self.pod.value()).unwrap_or_default())
    }

    /// How often its containers were started again.
    pub fn restarts(&self) -> i64 {
        let status = &self.detail().status;
        status.container_statuses.iter().chain(&status.init_container_statuses).map(|c| c.restart_count).sum()
    }

    /// How many pods of its index failed before it; `all` counts also those that are not to be counted.
    pub fn failures_before(&self, all: bool) -> i64 {
        let read = |key| {
            let text = self.meta().annotation(key)?;
            text.parse::<i64>().ok().filter(|n| (0..=i64::from(i32::MAX)).contains(n))
        };
        read(FAILURES).unwrap_or(0) + if all { read(IGNORED).unwrap_or(0) } else { 0 }
    }

    /// When it ended: by its containers, else when it was no longer ready, else when it was deleted, else when it was made.
    pub fn finished_at(&self) -> Timestamp {
        let detail = self.detail();
        let by_containers = || {
            let sidecar =
                |name: &str| detail.spec.init_containers.iter().any(|c| c.name == name && c.restart_policy == "Always");
            let sidecars = detail.status.init_container_statuses.iter().filter(|c| sidecar(&c.name));
            let mut last = None;
            for container in detail.status.container_statuses.iter().chain(sidecars) {
                last = last.max(Some(container.finished_at()?));
            }
            last
        };
        let by_readiness = || {
            let not_ready =
                self.pod.slim.status.conditions.iter().find(|c| c.kind == "Ready" && c.status == "False")?;
            times::read(&not_ready.last_transition_time)
        };
        let by_deletion = || {
            let at = times::read(detail.metadata.deletion_timestamp.as_deref()?)?;
            Some(times::plus(at, -detail.metadata.deletion_grace_period_seconds.unwrap_or(0)))
        };
        let by_creation = || times::read(&self.meta().creation_timestamp);
        by_containers().or_else(by_readiness).or_else(by_deletion).or_else(by_creation).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// Who of two active pods goes first where there are too many: the one that is less far.
    pub fn expendable_before(&self, other: &Self) -> Ordering {
        let rank = |member: &Self| {
            let pod = &member.pod.slim;
            let phase = match pod.status.phase.as_str() {
                "Pending" => 0,
                "Running" => 2,
                _ => 1,
            };
            let ready = pod.status.conditions.iter().find(|c| c.kind == "Ready" && c.status == "True");
            let since = ready.map(|c| c.last_transition_time.clone()).unwrap_or_default();
            (!pod.spec.node_name.is_empty(), phase, ready.is_some(), Reverse(since))
        };
        let key = |member: &Self| {
            (Reverse(member.restarts()), Reverse(member.meta().creation_timestamp.clone()), member.meta().name.clone())
        };
        rank(self).cmp(&rank(other)).then_with(|| key(self).cmp(&key(other)))
    }
}

/// Whether a pod is kept until its job has counted it.
pub fn is_tracked(meta: &ObjectMeta) -> bool {
    meta.finalizers.iter().any(|f| f == TRACKING)
}
