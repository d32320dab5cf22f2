//! Priority: a pod's class becomes a number.

use std::sync::Arc;

use serde_json::Value;

use super::{Cluster, Operation, Request};
use crate::status::Status;
use crate::value::{copy_field, ensure, get, int, is_true, name, text};

const GROUP: &str = "scheduling.k8s.io";
const CLASSES: &str = "priorityclasses";

pub(super) fn admit(request: &Request<'_>, pod: &mut Value, cluster: &dyn Cluster) -> Result<(), Status> {
    if let (Operation::Update, Some(old)) = (request.operation, request.old) {
        // Clients that do not know these fields shall not take them away.
        for field in ["priority", "preemptionPolicy"] {
            if get(pod, &["spec", field]).is_none() {
                copy_field(pod, old, &["spec", field]);
            }
        }
        return Ok(());
    }
    let wanted = text(pod, &["spec", "priorityClassName"]).to_owned();
    let class = if wanted.is_empty() {
        default_class(cluster)
    } else {
        let found = cluster.get(GROUP, CLASSES, "", &wanted);
        if found.is_none() {
            return Err(request.forbidden(pod, &format!("no PriorityClass with name {wanted} was found")));
        }
        found
    };
    let (priority, policy) = match &class {
        Some(class) => {
            (int(class, &["value"]).unwrap_or_default(), get(class, &["preemptionPolicy"]).and_then(Value::as_str))
        }
        None => (0, Some("PreemptLowerPriority")),
    };
    if let Some(given) = int(pod, &["spec", "priority"])
        && given != priority
    {
        let why = format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller computed \
             {priority} from the given PriorityClass name"
        );
        return Err(request.forbidden(pod, &why));
    }
    if let (Some(given), Some(policy)) = (get(pod, &["spec", "preemptionPolicy"]).and_then(Value::as_str), policy)
        && given != policy
    {
        let why = format!(
            "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission controller computed \
             {policy} from the given PriorityClass name"
        );
        return Err(request.forbidden(pod, &why));
    }
    let spec = ensure(pod, &["spec"]);
    spec.insert("priority".into(), priority.into());
    if let Some(policy) = policy {
        spec.insert("preemptionPolicy".into(), policy.into());
    }
    if let Some(class) = &class {
        spec.insert("priorityClassName".into(), name(class).into());
    }
    Ok(())
}

/// The class of pods that name none. Of several, the lowest: a mistake shall not lift every pod.
fn default_class(cluster: &dyn Cluster) -> Option<Arc<Value>> {
    let classes = cluster.list(GROUP, CLASSES, None);
    classes.into_iter().filter(|class| is_true(class, &["globalDefault"])).min_by_key(|class| int(class, &["value"]))
}

pub(super) fn only_one_default(request: &Request<'_>, class: &Value, cluster: &dyn Cluster) -> Result<(), Status> {
    if !is_true(class, &["globalDefault"]) {
        return Ok(());
    }
    match default_class(cluster) {
        Some(other) if request.operation == Operation::Create || name(&other) != name(class) => {
            let why =
                format!("PriorityClass {} is already marked as default. Only one default can exist", name(&other));
            Err(request.forbidden(class, &why))
        }
        _ => Ok(()),
    }
}
