//! RuntimeClass: what a container runtime needs for itself, and where it runs.

use std::sync::Arc;

use serde_json::Value;

use super::{Cluster, Request, tolerations};
use crate::status::Status;
use crate::value::{ensure, fields, get, list, text, texts};

fn class_of(request: &Request<'_>, pod: &Value, cluster: &dyn Cluster) -> Result<Option<Arc<Value>>, Status> {
    let Some(name) = get(pod, &["spec", "runtimeClassName"]).and_then(Value::as_str) else { return Ok(None) };
    match cluster.get("node.k8s.io", "runtimeclasses", "", name) {
        Some(class) => Ok(Some(class)),
        None => Err(request.forbidden(pod, &format!("pod rejected: RuntimeClass \"{name}\" not found"))),
    }
}

pub(super) fn admit(request: &Request<'_>, pod: &mut Value, cluster: &dyn Cluster) -> Result<(), Status> {
    let Some(class) = class_of(request, pod, cluster)? else { return Ok(()) };
    if get(&class, &["overhead"]).is_some() {
        let fixed = get(&class, &["overhead", "podFixed"]).cloned();
        if fields(pod, &["spec", "overhead"]).is_some_and(|own| !own.is_empty())
            && get(pod, &["spec", "overhead"]) != fixed.as_ref()
        {
            return Err(
                request.forbidden(pod, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
            );
        }
        if let Some(fixed) = fixed {
            ensure(pod, &["spec"]).insert("overhead".into(), fixed);
        }
    }
    if get(&class, &["scheduling"]).is_none() {
        return Ok(());
    }
    for (key, value) in texts(&class, &["scheduling", "nodeSelector"]) {
        let own = text(pod, &["spec", "nodeSelector", key]);
        if get(pod, &["spec", "nodeSelector", key]).is_some() && own != value {
            let why = format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {own}"
            );
            return Err(request.forbidden(pod, &why));
        }
        ensure(pod, &["spec", "nodeSelector"]).insert(key.into(), value.into());
    }
    let merged = tolerations::merged(list(pod, &["spec", "tolerations"]), list(&class, &["scheduling", "tolerations"]));
    if !merged.is_empty() {
        ensure(pod, &["spec"]).insert("tolerations".into(), merged.into());
    }
    Ok(())
}

pub(super) fn check(request: &Request<'_>, pod: &Value, cluster: &dyn Cluster) -> Result<(), Status> {
    let class = class_of(request, pod, cluster)?;
    let own = get(pod, &["spec", "overhead"]);
    match class.as_deref().filter(|class| get(class, &["overhead"]).is_some()) {
        Some(class) if get(class, &["overhead", "podFixed"]) != own => {
            Err(request.forbidden(pod, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"))
        }
        None if own.is_some() => Err(request
            .forbidden(pod, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")),
        _ => Ok(()),
    }
}
