//! What a pod as a whole asks for, filled in from its containers where it says only a part of it.

use std::collections::BTreeMap;

use plimsoll_engine::quantity::Quantity;
use serde_json::Value;

use crate::value::{ensure, fields, get, list, text};

pub(crate) type Amounts = BTreeMap<String, Quantity>;

/// Whether a resource can be asked for by a pod as a whole.
pub(super) fn of_pods(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || is_huge_pages(name)
}

fn is_huge_pages(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Whether more of a resource can be promised than there is.
fn overcommits(name: &str) -> bool {
    let native = !name.contains('/') || name.contains("kubernetes.io/");
    native && !is_huge_pages(name)
}

/// Completes `spec.resources` of a pod that has any.
pub(super) fn complete(pod: &mut Value) {
    let own = |pod: &Value, kind: &str| amounts(pod, &["spec", "resources", kind]);
    if own(pod, "requests").is_empty() && own(pod, "limits").is_empty() {
        return;
    }
    let container_limits = aggregate(pod, "limits");
    let container_requests = aggregate(pod, "requests");

    let mut limits = own(pod, "limits");
    let mut requests = own(pod, "requests");
    for (name, amount) in &container_limits {
        if is_huge_pages(name) && !requests.contains_key(name) {
            limits.entry(name.clone()).or_insert(*amount);
        }
    }
    for (name, amount) in &container_requests {
        if of_pods(name) && overcommits(name) {
            requests.entry(name.clone()).or_insert(*amount);
        }
    }
    for (name, amount) in &limits {
        if of_pods(name) {
            requests.entry(name.clone()).or_insert(*amount);
        }
    }
    for (name, request) in &requests {
        if !of_pods(name) || limits.contains_key(name) || !every_container_limits(pod, name) {
            continue;
        }
        if let Some(limit) = container_limits.get(name) {
            limits.insert(name.clone(), *limit.max(request));
        }
    }
    write(pod, "limits", &limits);
    write(pod, "requests", &requests);
}

fn write(pod: &mut Value, kind: &str, all: &Amounts) {
    if all.is_empty() {
        return;
    }
    let target = ensure(pod, &["spec", "resources", kind]);
    for (name, amount) in all {
        target.entry(name.clone()).or_insert_with(|| amount.to_string().into());
    }
}

/// The quantities under a path; what is none is left out.
pub(crate) fn amounts(of: &Value, path: &[&str]) -> Amounts {
    fields(of, path)
        .into_iter()
        .flatten()
        .filter_map(|(name, amount)| Some((name.clone(), Quantity::parse(amount.as_str()?).ok()?)))
        .collect()
}

fn every_container_limits(pod: &Value, name: &str) -> bool {
    ["containers", "initContainers"]
        .iter()
        .flat_map(|key| list(pod, &["spec", key]))
        .all(|c| get(c, &["resources", "limits", name]).is_some())
}

/// What the containers need at once: the containers and those that run beside them together, or, where that is more, what an init
/// container needs next to those started before it.
pub(crate) fn aggregate(pod: &Value, kind: &str) -> Amounts {
    let mut total = Amounts::new();
    for container in list(pod, &["spec", "containers"]) {
        add(&mut total, &amounts(container, &["resources", kind]));
    }
    let (mut beside, mut most) = (Amounts::new(), Amounts::new());
    for container in list(pod, &["spec", "initContainers"]) {
        let mut needs = amounts(container, &["resources", kind]);
        if text(container, &["restartPolicy"]) == "Always" {
            add(&mut total, &needs);
            add(&mut beside, &needs);
            needs = beside.clone();
        } else {
            add(&mut needs, &beside);
        }
        raise(&mut most, &needs);
    }
    raise(&mut total, &most);
    total
}

fn add(to: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        to.entry(name.clone()).and_modify(|have| *have = have.saturating_add(*amount)).or_insert(*amount);
    }
}

fn raise(to: &mut Amounts, at_least: &Amounts) {
    for (name, amount) in at_least {
        to.entry(name.clone()).and_modify(|have| *have = *(&*have).max(amount)).or_insert(*amount);
    }
}
