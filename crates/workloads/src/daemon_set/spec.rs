//! A DaemonSet as its controller reads it.

use plimsoll_runtime::Whole;
use serde_json::Value;

use super::plan::Limits;
use crate::children::Owner;
use crate::kinds::DaemonSet;
use crate::portion;

/// Annotation on a DaemonSet: how often its template changed. The API server counts.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// What a DaemonSet asks for, with the API's defaults where it does not say.
#[derive(Clone, Debug)]
pub(super) struct Spec {
    /// Who it is, as its children name it.
    pub owner: Owner,
    /// `spec.template`.
    pub template: Value,
    /// How often the template changed, where the API server says so.
    pub template_generation: Option<i64>,
    /// `spec.updateStrategy.rollingUpdate`; `None` where pods are replaced when somebody deletes them.
    pub rolling: Option<Value>,
    /// `spec.minReadySeconds`.
    pub min_ready: i64,
    /// `spec.revisionHistoryLimit`.
    pub history_limit: i64,
    /// `metadata.annotations`.
    pub annotations: Value,
    /// `metadata.generation`.
    pub generation: i64,
    /// `status`.
    pub status: Value,
}

impl Spec {
    /// Reads a set.
    pub(super) fn read(set: &Whole<DaemonSet>) -> Self {
        let mut whole = set.value();
        let mut take = |pointer: &str| whole.pointer_mut(pointer).map(Value::take).unwrap_or_default();
        let (annotations, status) = (take("/metadata/annotations"), take("/status"));
        let mut strategy = take("/spec/updateStrategy");
        let rolls = matches!(strategy["type"].as_str(), None | Some("" | "RollingUpdate"));
        Self {
            owner: Owner::of(&set.slim),
            template: take("/spec/template"),
            template_generation: annotations[TEMPLATE_GENERATION].as_str().and_then(|text| text.parse().ok()),
            rolling: rolls.then(|| strategy["rollingUpdate"].take()),
            min_ready: take("/spec/minReadySeconds").as_i64().unwrap_or(0),
            history_limit: take("/spec/revisionHistoryLimit").as_i64().unwrap_or(10),
            generation: set.slim.0.metadata.generation.unwrap_or(0),
            annotations,
            status,
        }
    }

    /// How many pods a rolling update may take away or add where so many are wanted; `None` where there is none.
    pub(super) fn limits(&self, wanted: usize) -> Option<Limits> {
        let rolling = self.rolling.as_ref()?;
        let total = i64::try_from(wanted).unwrap_or(i64::MAX);
        let part = |field: &str| usize::try_from(portion::of(&rolling[field], total, true).unwrap_or(0)).unwrap_or(0);
        let (mut max_unavailable, max_surge) = (part("maxUnavailable"), part("maxSurge"));
        if max_unavailable == 0 && max_surge == 0 {
            // Nothing may change then, and the update would never come.
            max_unavailable = 1;
        }
        Some(Limits { max_unavailable, max_surge })
    }

    /// Whether two pods may be on a node during an update.
    pub(super) fn surges(&self) -> bool {
        self.limits(1).is_some_and(|limits| limits.max_surge > 0)
    }
}
