//! `pods/eviction`: a deletion that asks the disruption budgets first.
//!
//! ```text
//!   pod done, pending or on its way out ──────────────────────────▶ delete
//!   no budget ────────────────────────────────────────────────────▶ delete
//!   more than one budget ─────────────────────────────────────────▶ 500
//!   pod unhealthy, and the budget does not mind ──────────────────▶ delete this very version
//!   budget behind, or empty ──────────────────────────────────────▶ 429
//!   budget has room ──────────────────────────────────────────────▶ take one from it, delete
//! ```

use std::sync::Arc;

use serde_json::{Value, json};

use super::selector;
use crate::status::{Cause, Details, GroupResource, Status};
use crate::strategy::set_condition;
use crate::value::{ensure, ensure_list, fields, get, int, list, name, text};

/// How many evictions may wait for the controller that counts them.
const MOST_PENDING: usize = 2000;
const REFUSED: &str = "Cannot evict pod as it would violate the pod's disruption budget.";

/// What an eviction that is allowed does.
#[derive(Debug, Clone, PartialEq)]
pub struct Eviction {
    /// The budget with one disruption taken from it, to be written as a status update before the pod is deleted. If that fails because
    /// the budget has changed, decide again. Upstream does not write it in a dry run.
    pub budget: Option<Value>,
    /// The deletion is of this version of the pod only (unless the request itself names one). If the pod has changed and this follows
    /// from a budget ([`Self::unhealthy`]), the answer is [`too_busy`]; otherwise decide again.
    pub this_version: bool,
    /// The budget let the pod go because it is not healthy. Its name.
    pub unhealthy: Option<String>,
}

/// Decides whether a pod may be evicted. `budgets` are those of its namespace.
pub fn decide(pod: &Value, budgets: &[Arc<Value>], now: &str) -> Result<Eviction, Status> {
    let phase = text(pod, &["status", "phase"]);
    let leaving = get(pod, &["metadata", "deletionTimestamp"]).is_some();
    let done = matches!(phase, "Succeeded" | "Failed") || leaving;
    if done || phase == "Pending" {
        return Ok(Eviction { budget: None, this_version: !done, unhealthy: None });
    }
    let labels = get(pod, &["metadata", "labels"]);
    let covers = |b: &&Arc<Value>| selector::matches(get(b, &["spec", "selector"]), labels).unwrap_or(false);
    let mut covering = budgets.iter().filter(covers);
    let Some(budget) = covering.next() else {
        return Ok(Eviction { budget: None, this_version: false, unhealthy: None });
    };
    if covering.next().is_some() {
        let message =
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
        return Err(Status::new(500, "", message));
    }
    let number = |field: &str| int(budget, &["status", field]).unwrap_or_default();
    if !is_ready(pod) {
        let careless = text(budget, &["spec", "unhealthyPodEvictionPolicy"]) == "AlwaysAllow";
        let enough = number("currentHealthy") >= number("desiredHealthy") && number("desiredHealthy") > 0;
        if careless || enough {
            return Ok(Eviction { budget: None, this_version: true, unhealthy: Some(name(budget).to_owned()) });
        }
    }
    let taken = take_one(budget, name(pod), now)?;
    Ok(Eviction { budget: Some(taken), this_version: false, unhealthy: None })
}

/// Says on the pod that it is being evicted; written before the deletion, unless it is a dry run.
pub fn mark(pod: &mut Value, now: &str) {
    let condition = json!({
        "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting",
    });
    set_condition(pod, condition, now);
}

/// 429: the budget's controller has not caught up.
pub fn too_busy(budget: &str) -> Status {
    too_many(10, format!("The disruption budget {budget} is still being processed by the server."))
}

fn is_ready(pod: &Value) -> bool {
    list(pod, &["status", "conditions"]).iter().any(|c| text(c, &["type"]) == "Ready" && text(c, &["status"]) == "True")
}

fn cause(message: String) -> Cause {
    Cause { reason: "DisruptionBudget".into(), message, field: String::new() }
}

fn too_many(retry_after_seconds: u32, message: String) -> Status {
    let mut status = Status::new(429, "TooManyRequests", REFUSED);
    status.details =
        Some(Box::new(Details { retry_after_seconds, causes: vec![cause(message)], ..Details::default() }));
    status
}

fn forbidden(budget: &str, why: &str, message: &str) -> Status {
    let of = GroupResource { group: "policy", resource: "poddisruptionbudget" };
    let mut status = Status::forbidden(of, budget, why);
    if let Some(details) = &mut status.details {
        let message = format!("The disruption budget {budget} does not allow evicting pods currently: {message}");
        details.causes.push(cause(message));
    }
    status
}

fn take_one(budget: &Value, pod: &str, now: &str) -> Result<Value, Status> {
    let budget_name = name(budget);
    let number = |field: &str| int(budget, &["status", field]).unwrap_or_default();
    if number("observedGeneration") < int(budget, &["metadata", "generation"]).unwrap_or_default() {
        return Err(too_busy(budget_name));
    }
    let allowed = number("disruptionsAllowed");
    if allowed < 0 {
        let why = "pdb disruptions allowed is negative";
        return Err(forbidden(budget_name, why, why));
    }
    if fields(budget, &["status", "disruptedPods"]).is_some_and(|pods| pods.len() > MOST_PENDING) {
        let why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
        return Err(forbidden(budget_name, why, "too many pending evictions not confirmed by PDB controller"));
    }
    if allowed == 0 {
        return Err(too_many(0, why_none(budget)));
    }
    let mut taken = budget.clone();
    let generation = number("observedGeneration");
    let status = ensure(&mut taken, &["status"]);
    status.insert("disruptionsAllowed".into(), (allowed - 1).into());
    if allowed == 1 {
        exhausted(ensure_list(status, "conditions"), generation, now);
    }
    ensure(&mut taken, &["status", "disruptedPods"]).insert(pod.into(), now.into());
    Ok(taken)
}

fn why_none(budget: &Value) -> String {
    let budget_name = name(budget);
    let number = |field: &str| int(budget, &["status", field]).unwrap_or_default();
    let (healthy, desired) = (number("currentHealthy"), number("desiredHealthy"));
    let said = list(budget, &["status", "conditions"])
        .iter()
        .find(|c| text(c, &["type"]) == "DisruptionAllowed")
        .filter(|c| text(c, &["status"]) == "False" && !text(c, &["message"]).is_empty())
        .map(|c| (text(c, &["reason"]), text(c, &["message"])));
    match said {
        Some(("SyncFailed", message)) => {
            format!(
                "The disruption budget {budget_name} does not allow evicting pods currently because it failed sync: {message}"
            )
        }
        _ if healthy <= desired => {
            format!("The disruption budget {budget_name} needs {desired} healthy pods and has {healthy} currently")
        }
        Some((reason, message)) => {
            format!("The disruption budget {budget_name} does not allow evicting pods currently ({reason}): {message}")
        }
        None => format!("The disruption budget {budget_name} does not allow evicting pods currently"),
    }
}

/// The condition that says that the last disruption was taken.
fn exhausted(conditions: &mut Vec<Value>, generation: i64, now: &str) {
    let at = conditions.iter().position(|c| text(c, &["type"]) == "DisruptionAllowed");
    let since = at
        .and_then(|i| conditions.get(i))
        .filter(|c| text(c, &["status"]) == "False")
        .and_then(|c| c.get("lastTransitionTime").cloned())
        .unwrap_or_else(|| now.into());
    let mut condition = json!({
        "type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": "", "lastTransitionTime": since,
    });
    if generation != 0 {
        condition["observedGeneration"] = generation.into();
    }
    match at.and_then(|i| conditions.get_mut(i)) {
        Some(old) => *old = condition,
        None => conditions.push(condition),
    }
}
