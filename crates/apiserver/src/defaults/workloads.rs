//! Controllers of pods: `apps` and `batch`.

use serde_json::{Value, json};

use crate::value::{Fields, default_absent, default_zero, ensure_in, is_zero};

/// How many old versions of a template are kept.
const REVISIONS_KEPT: i64 = 10;
/// After how long without progress a rollout counts as stuck.
const PROGRESS_DEADLINE_SECONDS: i64 = 600;
/// How often a job tries again.
const BACKOFF_LIMIT: i64 = 6;

pub(super) fn apps(name: &str, it: &mut Fields) {
    match name {
        "Deployment" => deployment(ensure_in(it, "spec")),
        "DaemonSet" => daemon_set(ensure_in(it, "spec")),
        "StatefulSet" => stateful_set(ensure_in(it, "spec")),
        "ReplicaSet" => default_absent(ensure_in(it, "spec"), "replicas", 1),
        _ => {}
    }
}

fn is_type(strategy: &Fields, name: &str) -> bool {
    strategy.get("type").and_then(Value::as_str) == Some(name)
}

fn deployment(spec: &mut Fields) {
    default_absent(spec, "replicas", 1);
    let strategy = ensure_in(spec, "strategy");
    default_zero(strategy, "type", "RollingUpdate");
    if is_type(strategy, "RollingUpdate") {
        let rolling = ensure_in(strategy, "rollingUpdate");
        default_absent(rolling, "maxUnavailable", "25%");
        default_absent(rolling, "maxSurge", "25%");
    }
    default_absent(spec, "revisionHistoryLimit", REVISIONS_KEPT);
    default_absent(spec, "progressDeadlineSeconds", PROGRESS_DEADLINE_SECONDS);
}

fn daemon_set(spec: &mut Fields) {
    let strategy = ensure_in(spec, "updateStrategy");
    default_zero(strategy, "type", "RollingUpdate");
    if is_type(strategy, "RollingUpdate") {
        let rolling = ensure_in(strategy, "rollingUpdate");
        default_absent(rolling, "maxUnavailable", 1);
        default_absent(rolling, "maxSurge", 0);
    }
    default_absent(spec, "revisionHistoryLimit", REVISIONS_KEPT);
}

fn stateful_set(spec: &mut Fields) {
    default_zero(spec, "podManagementPolicy", "OrderedReady");
    let strategy = ensure_in(spec, "updateStrategy");
    if strategy.get("type").is_none_or(is_zero) {
        strategy.insert("type".into(), "RollingUpdate".into());
        default_absent(strategy, "rollingUpdate", json!({}));
    }
    // Who names the type but not its details gets none.
    if is_type(strategy, "RollingUpdate")
        && let Some(Value::Object(rolling)) = strategy.get_mut("rollingUpdate")
    {
        default_absent(rolling, "partition", 0);
        default_absent(rolling, "maxUnavailable", 1);
    }
    let retention = ensure_in(spec, "persistentVolumeClaimRetentionPolicy");
    default_zero(retention, "whenDeleted", "Retain");
    default_zero(retention, "whenScaled", "Retain");
    default_absent(spec, "replicas", 1);
    default_absent(spec, "revisionHistoryLimit", REVISIONS_KEPT);
}

pub(super) fn batch(name: &str, it: &mut Fields) {
    match name {
        "Job" => job(it),
        "CronJob" => {
            let spec = ensure_in(it, "spec");
            default_zero(spec, "concurrencyPolicy", "Allow");
            default_absent(spec, "suspend", false);
            default_absent(spec, "successfulJobsHistoryLimit", 3);
            default_absent(spec, "failedJobsHistoryLimit", 1);
        }
        "PodFailurePolicyOnPodConditionsPattern" => default_zero(it, "status", "True"),
        _ => {}
    }
}

/// The job's labels follow from its template's only when the strategy has completed those.
fn job(it: &mut Fields) {
    let spec = ensure_in(it, "spec");
    if spec.get("completions").is_none() && spec.get("parallelism").is_none() {
        spec.insert("completions".into(), 1.into());
    }
    default_absent(spec, "parallelism", 1);
    let limit = if spec.contains_key("backoffLimitPerIndex") { i64::from(i32::MAX) } else { BACKOFF_LIMIT };
    default_absent(spec, "backoffLimit", limit);
    default_absent(spec, "completionMode", "NonIndexed");
    default_absent(spec, "suspend", false);
    let replaced = if spec.contains_key("podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    default_absent(spec, "podReplacementPolicy", replaced);
    default_absent(spec, "manualSelector", false);
}
