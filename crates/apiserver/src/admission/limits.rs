//! LimitRanger: what containers, pods and claims of a namespace may ask for, and what they get if they do not say.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_engine::quantity::Quantity;
use serde_json::Value;

use super::{Cluster, Operation, Request};
use crate::status::Status;
use crate::strategy::{Amounts, amounts};
use crate::value::{ensure, fields, list, list_mut, text};

fn ranges(request: &Request<'_>, cluster: &dyn Cluster) -> Vec<Arc<Value>> {
    cluster.list("", "limitranges", Some(request.namespace))
}

/// Gives the containers of a new pod what the ranges say.
pub(super) fn fill(request: &Request<'_>, pod: &mut Value, cluster: &dyn Cluster) {
    for range in ranges(request, cluster) {
        let mut requests = BTreeMap::new();
        let mut limits = BTreeMap::new();
        for limit in list(&range, &["spec", "limits"]).iter().filter(|l| text(l, &["type"]) == "Container") {
            requests.extend(fields(limit, &["defaultRequest"]).cloned().into_iter().flatten());
            limits.extend(fields(limit, &["default"]).cloned().into_iter().flatten());
        }
        let mut notes = Vec::new();
        for (key, shown) in [("containers", "container"), ("initContainers", "init container")] {
            for container in list_mut(pod, &["spec", key]) {
                for (kind, word, amounts) in [("requests", "request", &requests), ("limits", "limit", &limits)] {
                    let set = fill_in(container, kind, amounts);
                    if !set.is_empty() {
                        notes.push(format!("{} {word} for {shown} {}", set.join(", "), text(container, &["name"])));
                    }
                }
            }
        }
        if !notes.is_empty() {
            let note = format!("LimitRanger plugin set: {}", notes.join("; "));
            ensure(pod, &["metadata", "annotations"]).insert("kubernetes.io/limit-ranger".into(), note.into());
        }
    }
}

fn fill_in(container: &mut Value, kind: &str, amounts: &BTreeMap<String, Value>) -> Vec<String> {
    let missing: Vec<String> = amounts
        .keys()
        .filter(|name| crate::value::get(container, &["resources", kind, name]).is_none())
        .cloned()
        .collect();
    for name in &missing {
        if let Some(amount) = amounts.get(name) {
            ensure(container, &["resources", kind]).insert(name.clone(), amount.clone());
        }
    }
    missing
}

/// Refuses what is outside of the ranges.
pub(super) fn check(request: &Request<'_>, object: &Value, cluster: &dyn Cluster) -> Result<(), Status> {
    let resize = request.resource.resource == "pods" && request.subresource == "resize";
    let pod = (request.is("", "pods") && request.operation == Operation::Create)
        || (resize && request.resource.group.is_empty() && request.operation == Operation::Update);
    let claim = request.is("", "persistentvolumeclaims");
    if !pod && !claim {
        return Ok(());
    }
    // What is on its way out may still lose its finalizers.
    if request.old.is_some_and(|old| crate::value::get(old, &["metadata", "deletionTimestamp"]).is_some()) {
        return Ok(());
    }
    for range in ranges(request, cluster) {
        let mut wrong = Vec::new();
        for limit in list(&range, &["spec", "limits"]) {
            match (text(limit, &["type"]), pod) {
                ("Container", true) => {
                    for container in
                        ["containers", "initContainers"].iter().flat_map(|key| list(object, &["spec", key]))
                    {
                        let requests = amounts(container, &["resources", "requests"]);
                        bounds(limit, &requests, &amounts(container, &["resources", "limits"]), &mut wrong);
                    }
                }
                ("Pod", true) => bounds(limit, &of_pod(object, "requests"), &of_pod(object, "limits"), &mut wrong),
                ("PersistentVolumeClaim", false) => {
                    let requests = amounts(object, &["spec", "resources", "requests"]);
                    for (name, bound) in amounts(limit, &["min"]) {
                        wrong.extend(minimum("PersistentVolumeClaim", &name, bound, &requests, &Amounts::new()));
                    }
                    for (name, bound) in amounts(limit, &["max"]) {
                        wrong.extend(most_requested("PersistentVolumeClaim", &name, bound, &requests));
                    }
                }
                _ => {}
            }
        }
        match wrong.as_slice() {
            [] => {}
            [one] => return Err(request.forbidden(object, one)),
            many => {
                let mut distinct: Vec<&str> = Vec::new();
                many.iter().for_each(|m| {
                    if !distinct.contains(&m.as_str()) {
                        distinct.push(m);
                    }
                });
                let all = if let [one] = distinct.as_slice() {
                    (*one).to_owned()
                } else {
                    format!("[{}]", distinct.join(", "))
                };
                return Err(request.forbidden(object, &all));
            }
        }
    }
    Ok(())
}

fn bounds(limit: &Value, requests: &Amounts, limits: &Amounts, wrong: &mut Vec<String>) {
    let kind = text(limit, &["type"]);
    for (name, bound) in amounts(limit, &["min"]) {
        wrong.extend(minimum(kind, &name, bound, requests, limits));
    }
    for (name, bound) in amounts(limit, &["max"]) {
        wrong.extend(maximum(kind, &name, bound, requests, limits));
    }
    for (name, bound) in amounts(limit, &["maxLimitRequestRatio"]) {
        wrong.extend(ratio(kind, &name, bound, requests, limits));
    }
}

fn minimum(kind: &str, name: &str, bound: Quantity, requests: &Amounts, limits: &Amounts) -> Option<String> {
    let start = format!("minimum {name} usage per {kind} is {bound}");
    match (requests.get(name), limits.get(name)) {
        (None, _) => Some(format!("{start}.  No request is specified")),
        (Some(request), _) if *request < bound => Some(format!("{start}, but request is {request}")),
        (_, Some(limit)) if *limit < bound => Some(format!("{start}, but limit is {limit}")),
        _ => None,
    }
}

fn maximum(kind: &str, name: &str, bound: Quantity, requests: &Amounts, limits: &Amounts) -> Option<String> {
    let start = format!("maximum {name} usage per {kind} is {bound}");
    match (requests.get(name), limits.get(name)) {
        (_, None) => Some(format!("{start}.  No limit is specified")),
        (_, Some(limit)) if *limit > bound => Some(format!("{start}, but limit is {limit}")),
        (Some(request), _) if *request > bound => Some(format!("{start}, but request is {request}")),
        _ => None,
    }
}

fn most_requested(kind: &str, name: &str, bound: Quantity, requests: &Amounts) -> Option<String> {
    let start = format!("maximum {name} usage per {kind} is {bound}");
    match requests.get(name) {
        None => Some(format!("{start}.  No request is specified")),
        Some(request) if *request > bound => Some(format!("{start}, but request is {request}")),
        _ => None,
    }
}

fn ratio(kind: &str, name: &str, bound: Quantity, requests: &Amounts, limits: &Amounts) -> Option<String> {
    let start = format!("{name} max limit to request ratio per {kind} is {bound}");
    let Some(request) = requests.get(name).filter(|r| !r.is_zero()) else {
        return Some(format!("{start}, but no request is specified or request is 0"));
    };
    let Some(limit) = limits.get(name).filter(|l| !l.is_zero()) else {
        return Some(format!("{start}, but no limit is specified or limit is 0"));
    };
    let is = limit.milli_value() as f64 / request.milli_value() as f64;
    (is * 1000.0 > bound.milli_value() as f64).then(|| format!("{start}, but provided ratio is {is:.6}"))
}

/// What a pod asks for as a whole.
pub(super) fn of_pod(pod: &Value, kind: &str) -> Amounts {
    let mut all = crate::strategy::aggregate(pod, kind);
    for (name, amount) in amounts(pod, &["spec", "resources", kind]) {
        if matches!(name.as_str(), "cpu" | "memory") {
            all.insert(name, amount);
        }
    }
    all
}
