//! A StatefulSet as its controller reads it.

use plimsoll_runtime::Whole;
use serde_json::{Map, Value};

use crate::children::Owner;
use crate::kinds::StatefulSet;
use crate::portion;

/// What a StatefulSet asks for, with the API's defaults where it does not say.
#[derive(Clone, Debug)]
pub(super) struct Spec {
    /// Who it is, as its children name it.
    pub owner: Owner,
    /// `spec.replicas`.
    pub replicas: i64,
    /// `spec.ordinals.start`.
    pub start: i64,
    /// `spec.podManagementPolicy` is `Parallel`.
    pub parallel: bool,
    /// How pods are replaced when the template changes.
    pub strategy: Strategy,
    /// `spec.minReadySeconds`.
    pub min_ready: i64,
    /// `spec.revisionHistoryLimit`.
    pub history_limit: i64,
    /// `spec.serviceName`.
    pub service: String,
    /// `spec.volumeClaimTemplates`.
    pub claim_templates: Vec<Value>,
    /// `spec.selector.matchLabels`: every claim gets them.
    pub match_labels: Map<String, Value>,
    /// What becomes of the claims of pods that are no longer wanted.
    pub retention: Retention,
    /// `spec.template`.
    pub template: Value,
    /// `metadata.annotations`.
    pub annotations: Value,
    /// `metadata.generation`.
    pub generation: i64,
    /// `status`.
    pub status: Value,
}

/// `spec.updateStrategy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// Pods are replaced when somebody deletes them.
    OnDelete,
    /// Pods are replaced from the highest ordinal down.
    Rolling {
        /// Below this many, counted from the first, pods stay as they are; `None` where the details are left out.
        partition: Option<i64>,
        /// So many may be unavailable at a time.
        max_unavailable: i64,
    },
    /// One that is not served: upstream's gate for `Recreate` is off by default.
    Unknown,
}

/// `spec.persistentVolumeClaimRetentionPolicy`: whether claims go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Retention {
    /// When the set is deleted.
    pub when_deleted: bool,
    /// When it is scaled down.
    pub when_scaled: bool,
}

impl Spec {
    /// Reads a set.
    pub(super) fn read(set: &Whole<StatefulSet>) -> Self {
        let mut whole = set.value();
        let mut take = |pointer: &str| whole.pointer_mut(pointer).map(Value::take).unwrap_or_default();
        let (annotations, status) = (take("/metadata/annotations"), take("/status"));
        let mut spec = take("/spec");
        let mut take = |field: &str| spec.get_mut(field).map(Value::take).unwrap_or_default();
        let replicas = take("replicas").as_i64().unwrap_or(1).max(0);
        let retention = take("persistentVolumeClaimRetentionPolicy");
        let deletes = |when: &str| retention[when] == "Delete";
        Self {
            owner: Owner::of(&set.slim),
            replicas,
            start: take("ordinals")["start"].as_i64().unwrap_or(0),
            parallel: take("podManagementPolicy") == "Parallel",
            strategy: Strategy::read(&take("updateStrategy"), replicas),
            min_ready: take("minReadySeconds").as_i64().unwrap_or(0),
            history_limit: take("revisionHistoryLimit").as_i64().unwrap_or(10),
            service: take("serviceName").as_str().unwrap_or_default().to_owned(),
            claim_templates: take("volumeClaimTemplates").as_array().cloned().unwrap_or_default(),
            match_labels: take("selector")["matchLabels"].as_object().cloned().unwrap_or_default(),
            retention: Retention { when_deleted: deletes("whenDeleted"), when_scaled: deletes("whenScaled") },
            template: take("template"),
            generation: set.slim.0.metadata.generation.unwrap_or(0),
            annotations,
            status,
        }
    }

    /// Whether a pod of this ordinal is wanted.
    pub(super) fn wants(&self, ordinal: i64) -> bool {
        (self.start..self.start + self.replicas).contains(&ordinal)
    }

    /// Whether a pod that is not there is made as the set was before its update, and not as it is to be.
    pub(super) fn makes_as_before(&self, ordinal: i64) -> bool {
        let Strategy::Rolling { partition, .. } = self.strategy else { return false };
        let before = partition.unwrap_or_else(|| self.status["currentReplicas"].as_i64().unwrap_or(0));
        ordinal < self.start.saturating_add(before)
    }
}

impl Strategy {
    fn read(strategy: &Value, replicas: i64) -> Self {
        match strategy["type"].as_str() {
            Some("OnDelete") => Self::OnDelete,
            None | Some("" | "RollingUpdate") => {
                let rolling = &strategy["rollingUpdate"];
                // A small share must not stop the update.
                let max_unavailable = portion::of(&rolling["maxUnavailable"], replicas, false).unwrap_or(1).max(1);
                let partition = rolling.as_object().map(|_| rolling["partition"].as_i64().unwrap_or(0));
                Self::Rolling { partition, max_unavailable }
            }
            Some(_) => Self::Unknown,
        }
    }
}
