//! A resize of a pod that has a node: the node must know how, and must ever have as much.

use plimsoll_engine::quantity::Quantity;
use serde_json::Value;

use super::limits::of_pod;
use super::{Cluster, Operation, Request};
use crate::status::{Cause, Status};
use crate::strategy::amounts;
use crate::value::{get, list, text};

/// Refuses a resize that can never be done where the pod is.
pub(super) fn check(request: &Request<'_>, object: &Value, cluster: &dyn Cluster) -> Result<(), Status> {
    let resizes = (request.resource.group, request.resource.resource, request.subresource) == ("", "pods", "resize");
    let (true, Operation::Update, Some(old)) = (resizes, request.operation, request.old) else { return Ok(()) };
    let called = text(old, &["spec", "nodeName"]);
    if called.is_empty() || get(old, &["spec"]) == get(object, &["spec"]) {
        return Ok(());
    }
    let Some(node) = cluster.get("", "nodes", "", called) else {
        return Err(request.forbidden(object, &format!("node \"{called}\" not found")));
    };
    let known: Vec<&str> = list(&node, &["status", "declaredFeatures"]).iter().filter_map(Value::as_str).collect();
    let missing: Vec<&str> = needed(object, old).into_iter().filter(|feature| !known.contains(feature)).collect();
    if !missing.is_empty() {
        let features = missing.join(", ");
        let why = format!("pod update requires features {features} which are not available on node \"{called}\"");
        return Err(request.forbidden(object, &why));
    }
    let platform = text(&node, &["metadata", "labels", "kubernetes.io/os"]);
    if !matches!(platform, "" | "linux") {
        let why = format!("pod resize is only supported on linux nodes, node \"{called}\" is \"{platform}\"");
        return Err(caused(request.forbidden(object, &why), "UnsupportedPlatform"));
    }
    let (mut asked, has) = (of_pod(object, "requests"), amounts(&node, &["status", "allocatable"]));
    for (name, amount) in amounts(object, &["spec", "overhead"]) {
        let sum = asked.get(&name).map_or(amount, |asked| asked.saturating_add(amount));
        asked.insert(name, sum);
    }
    let amount = |name: &str| {
        let of = |all: &crate::strategy::Amounts| {
            let amount = all.get(name).copied().unwrap_or(Quantity::ZERO);
            if name == "cpu" { amount.milli_value() } else { amount.value() }
        };
        (of(&asked), of(&has))
    };
    let lacks = ["cpu", "memory"].into_iter().map(|name| (name, amount(name))).filter(|(_, (asked, has))| asked > has);
    let lacks: Vec<String> =
        lacks.map(|(name, (asked, has))| format!("{name}, requested: {asked}, allocatable: {has}")).collect();
    if lacks.is_empty() {
        return Ok(());
    }
    let why = format!("node didn't have enough allocatable resources: {}", lacks.join("; "));
    Err(caused(request.forbidden(object, &why), "NodeCapacity"))
}

/// A refusal with its cause in a word.
fn caused(mut status: Status, reason: &str) -> Status {
    if let Some(details) = &mut status.details {
        details.causes.push(Cause { reason: reason.to_owned(), message: String::new(), field: String::new() });
    }
    status
}

/// What not every node can resize.
fn needed(new: &Value, old: &Value) -> Vec<&'static str> {
    let mut out = Vec::new();
    if get(new, &["spec", "resources"]) != get(old, &["spec", "resources"]) {
        out.push("InPlacePodLevelResourcesVerticalScaling");
    }
    let before = list(old, &["spec", "initContainers"]);
    let changed = list(new, &["spec", "initContainers"]).iter().zip(before).any(|(new, old)| {
        text(new, &["restartPolicy"]) != "Always" && get(new, &["resources"]) != get(old, &["resources"])
    });
    if changed {
        out.push("InPlacePodVerticalScalingInitContainers");
    }
    out
}
