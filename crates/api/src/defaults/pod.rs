//! Pods: what the API server, its admission and its create strategy fill in.

use std::collections::BTreeMap;

use super::pod_resources;
use crate::kinds::PriorityClass;
use crate::kinds::disk::AzureDiskSource;
use crate::kinds::pod::{Container, Pod, PodAffinityTerm, Toleration};
use crate::kinds::selectors::{Expression, RawLabelSelector};
use crate::lenient::Pairs;
use crate::names;

/// The classes that every API server has.
const SYSTEM_CLASSES: [(&str, i32); 2] =
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];

/// The priority of each PriorityClass.
#[derive(Clone, Debug)]
pub struct Priorities {
    by_name: BTreeMap<String, i32>,
    default: Option<i32>,
}

impl Default for Priorities {
    fn default() -> Self {
        let by_name = SYSTEM_CLASSES.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Self { by_name, default: None }
    }
}

impl Priorities {
    /// Takes note of a class. Of several defaults the lowest counts.
    pub fn see(&mut self, class: &PriorityClass) {
        self.by_name.insert(class.metadata.name.clone(), class.value);
        if class.global_default {
            self.default = Some(self.default.map_or(class.value, |d| d.min(class.value)));
        }
    }

    /// The priority of a pod that names this class (empty: none); `None` where the class is not known.
    fn of(&self, class: &str) -> Option<i32> {
        if class.is_empty() { Some(self.default.unwrap_or(0)) } else { self.by_name.get(class).copied() }
    }
}

/// Completes a pod without a phase. Gives back the name of its PriorityClass where the input does not have it.
pub(crate) fn complete_pod(pod: &mut Pod, priorities: &Priorities) -> Option<String> {
    if !pod.status.phase.is_empty() {
        return None;
    }
    pod.status.phase = "Pending".to_owned();
    for container in pod.spec.containers.iter_mut().chain(&mut pod.spec.init_containers) {
        requests_from_limits(container);
        if pod.spec.host_network {
            host_ports(container);
        }
    }
    pod.spec.volumes.iter_mut().filter_map(|v| v.azure_disk.as_mut()).for_each(AzureDiskSource::complete);
    pod_resources::complete(&mut pod.spec);
    tolerate_for_a_while(&mut pod.spec.tolerations);
    merge_label_keys(pod);
    if pod.spec.priority.is_none() {
        let class = &pod.spec.priority_class_name;
        let known = priorities.of(class);
        pod.spec.priority = Some(known.unwrap_or(0));
        return known.is_none().then(|| class.clone());
    }
    None
}

/// A limit without a request asks for as much.
fn requests_from_limits(container: &mut Container) {
    if let Some(limits) = &container.resources.limits {
        container.resources.requests.get_or_insert_default().fill_from(limits);
    }
}

/// On the node's network a container's ports are the node's.
fn host_ports(container: &mut Container) {
    for port in &mut container.ports {
        if port.host_port == 0 {
            port.host_port = port.container_port;
        }
    }
}

/// Every pod stands a node that is not ready or not reachable for five minutes, unless it says otherwise.
fn tolerate_for_a_while(tolerations: &mut Vec<Toleration>) {
    for key in [names::TAINT_NOT_READY, names::TAINT_UNREACHABLE] {
        let said = tolerations
            .iter()
            .any(|t| (t.key == key || t.key.is_empty()) && (t.effect == "NoExecute" || t.effect.is_empty()));
        if !said {
            tolerations.push(exists(key, "NoExecute"));
        }
    }
}

/// A toleration of a taint whatever its value.
pub(crate) fn exists(key: &str, effect: &str) -> Toleration {
    Toleration { key: key.to_owned(), operator: "Exists".to_owned(), value: String::new(), effect: effect.to_owned() }
}

/// `matchLabelKeys` and `mismatchLabelKeys` become requirements with the pod's own values, once, on creation.
fn merge_label_keys(pod: &mut Pod) {
    let labels = &pod.metadata.labels;
    let affinity = &mut pod.spec.affinity;
    for side in [&mut affinity.pod_affinity, &mut affinity.pod_anti_affinity] {
        let preferred = side.preferred.iter_mut().map(|w| &mut w.pod_affinity_term);
        for PodAffinityTerm { label_selector, match_label_keys, mismatch_label_keys, .. } in
            preferred.chain(&mut side.required)
        {
            require(label_selector.as_mut(), match_label_keys, "In", labels);
            require(label_selector.as_mut(), mismatch_label_keys, "NotIn", labels);
        }
    }
    for constraint in &mut pod.spec.topology_spread_constraints {
        require(constraint.label_selector.as_mut(), &constraint.match_label_keys, "In", labels);
    }
}

/// Adds a requirement for each key that the pod has. No selector matches no pod, and stays so.
fn require(selector: Option<&mut RawLabelSelector>, keys: &[String], operator: &str, labels: &Pairs) {
    let Some(selector) = selector else { return };
    for key in keys {
        if let Some(value) = labels.get(key) {
            selector.match_expressions.push(Expression {
                key: key.clone(),
                operator: operator.to_owned(),
                values: vec![value.to_owned()],
            });
        }
    }
}
