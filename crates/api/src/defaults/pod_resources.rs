//! `spec.resources`: what a pod as a whole asks for where it only says part of it.

use std::collections::BTreeMap;

use plimsoll_engine::quantity::Quantity;

use crate::kinds::pod::{Container, PodSpec};
use crate::lenient::{QuantityText, ResourceList};
use crate::names;

type Amounts = BTreeMap<String, Quantity>;

/// Whether a pod as a whole can ask for this resource.
fn is_pod_level(resource: &str) -> bool {
    resource == names::CPU || resource == names::MEMORY || resource.starts_with(names::HUGEPAGES)
}

/// Completes pod-level limits and requests from the containers'.
pub(super) fn complete(spec: &mut PodSpec) {
    let Some(mut resources) = spec.resources.take() else { return };
    let is_set = |list: &Option<ResourceList>| list.as_ref().is_some_and(|l| !l.0.is_empty());

    // Hugepages cannot be overcommitted: the containers' limits are the pod's.
    if is_set(&resources.limits) || is_set(&resources.requests) {
        let limits = resources.limits.get_or_insert_default();
        let requested = |r: &str| resources.requests.as_ref().is_some_and(|l| l.get(r).is_some());
        for (resource, amount) in aggregate(spec, |c| c.resources.limits.as_ref()) {
            if resource.starts_with(names::HUGEPAGES) && !requested(&resource) {
                add(limits, &resource, amount);
            }
        }
    }

    // A pod-level limit makes pod-level requests: the containers' sum, else the limit itself.
    if is_set(&resources.limits) {
        let requests = resources.requests.get_or_insert_default();
        for (resource, amount) in aggregate(spec, |c| c.resources.requests.as_ref()) {
            if resource == names::CPU || resource == names::MEMORY {
                add(requests, &resource, amount);
            }
        }
        for (resource, amount) in resources.limits.iter().flat_map(|l| &l.0) {
            if is_pod_level(resource) && requests.get(resource).is_none() {
                requests.0.push((resource.clone(), amount.clone()));
            }
        }
    }
    spec.resources = Some(resources);
}

fn add(list: &mut ResourceList, resource: &str, amount: Quantity) {
    if list.get(resource).is_none() {
        list.0.push((resource.to_owned(), QuantityText(amount.to_string())));
    }
}

/// What the containers need together: those that run side by side add up, those that run before them count where they
/// need more. A quantity that does not parse is left out here; converting the pod reports it.
fn aggregate(spec: &PodSpec, list: impl Fn(&Container) -> Option<&ResourceList>) -> Amounts {
    let amounts = |container: &Container| -> Amounts {
        let parsed = list(container).into_iter().flat_map(|l| &l.0);
        parsed.filter_map(|(r, q)| Some((r.clone(), q.parse().ok()?))).collect()
    };
    let plus = |sum: &mut Amounts, more: &Amounts| {
        for (resource, amount) in more {
            let entry = sum.entry(resource.clone()).or_insert(Quantity::ZERO);
            *entry = entry.saturating_add(*amount);
        }
    };
    let mut lasting = Amounts::new();
    for container in &spec.containers {
        plus(&mut lasting, &amounts(container));
    }
    let (mut sidecars, mut peak) = (Amounts::new(), Amounts::new());
    for container in &spec.init_containers {
        let own = amounts(container);
        let mut now = sidecars.clone();
        plus(&mut now, &own);
        if container.is_sidecar() {
            plus(&mut lasting, &own);
            sidecars = now.clone();
        }
        raise(&mut peak, now);
    }
    raise(&mut lasting, peak);
    lasting
}

fn raise(to: &mut Amounts, amounts: Amounts) {
    for (resource, amount) in amounts {
        let entry = to.entry(resource).or_insert(amount);
        *entry = amount.max(*entry);
    }
}
