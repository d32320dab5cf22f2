//! DaemonSets: a pod on each node that its template accepts.

use plimsoll_engine::model::{Node, Pod as KnownPod, Taint, TaintEffect};
use plimsoll_engine::selector::NodeSelector;

use super::existing::Existing;
use super::made_names::unused;
use super::{Made, owner, pod};
use crate::defaults::exists;
use crate::interner::Interner;
use crate::kinds::PodSet;
use crate::kinds::node::effect;
use crate::kinds::pod::{PodSpec, Toleration};
use crate::kinds::selectors::{Expression, RawNodeSelector, RawNodeTerm};
use crate::names;

pub(super) fn expand(set: &PodSet, existing: &Existing<'_>) -> Made {
    let meta = &set.metadata;
    let namespace = meta.namespace_or_default();
    let mut template = set.spec.template.clone();
    stay_through_trouble(&mut template.spec);
    let required = template.spec.affinity.node_affinity.required.as_ref().map(|r| r.compile(&mut Interner::new()));
    let own: Vec<&KnownPod> = existing
        .pods(namespace)
        .iter()
        .copied()
        .filter(|p| !p.ended && !p.deleting)
        .filter(|p| p.controller.as_ref().is_some_and(|(k, n)| &**k == "DaemonSet" && **n == *meta.name))
        .collect();
    let mut taken = existing.names(namespace);
    let mut made = Made::default();
    for node in existing.nodes() {
        if own.iter().any(|p| is_for(p, node)) || !runs_on(&template.spec, required.as_ref(), node) {
            continue;
        }
        let name = unused(&meta.name, &["DaemonSet", namespace, &meta.name, &node.name], &mut taken);
        let mut pod = pod(&template, namespace, name, owner("apps/v1", "DaemonSet", meta));
        pod.spec.affinity.node_affinity.required = Some(only(&node.name));
        made.pods.push(pod);
    }
    made
}

/// Whether one of the set's pods is, or will be, on the node.
fn is_for(pod: &KnownPod, node: &Node) -> bool {
    match &pod.node {
        Some(name) => *name == node.name,
        None => pod.required_node_affinity.as_ref().is_some_and(|s| s.matches_node(&node.name, &node.labels)),
    }
}

/// The affinity that ties a pod to its node; whatever the template required has been checked before.
fn only(node: &str) -> RawNodeSelector {
    let name = Expression { key: "metadata.name".to_owned(), operator: "In".to_owned(), values: vec![node.to_owned()] };
    RawNodeSelector {
        node_selector_terms: vec![RawNodeTerm { match_expressions: Vec::new(), match_fields: vec![name] }],
    }
}

/// The tolerations that every pod of a DaemonSet has.
fn stay_through_trouble(spec: &mut PodSpec) {
    let mut added = vec![
        exists(names::TAINT_NOT_READY, "NoExecute"),
        exists(names::TAINT_UNREACHABLE, "NoExecute"),
        exists(names::TAINT_DISK_PRESSURE, "NoSchedule"),
        exists(names::TAINT_MEMORY_PRESSURE, "NoSchedule"),
        exists(names::TAINT_PID_PRESSURE, "NoSchedule"),
        exists(names::TAINT_UNSCHEDULABLE, "NoSchedule"),
    ];
    if spec.host_network {
        added.push(exists(names::TAINT_NETWORK_UNAVAILABLE, "NoSchedule"));
    }
    for toleration in added {
        let same = |t: &Toleration| {
            t.key == toleration.key
                && t.effect == toleration.effect
                && t.operator == toleration.operator
                && t.value == toleration.value
        };
        if !spec.tolerations.iter().any(same) {
            spec.tolerations.push(toleration);
        }
    }
}

fn runs_on(spec: &PodSpec, required: Option<&NodeSelector>, node: &Node) -> bool {
    (spec.node_name.is_empty() || *spec.node_name == *node.name)
        && spec.node_selector.0.iter().all(|(k, v)| node.labels.get(k).is_some_and(|l| **l == **v))
        && required.is_none_or(|r| r.matches_node(&node.name, &node.labels))
        && node
            .taints
            .iter()
            .filter(|t| t.effect != TaintEffect::PreferNoSchedule)
            .all(|taint| spec.tolerations.iter().any(|t| tolerates(t, taint)))
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let key = toleration.key.is_empty() || *toleration.key == *taint.key;
    let at = toleration.effect.is_empty() || effect(&toleration.effect) == Some(taint.effect);
    let number = |text: &str| text.parse::<i64>().ok();
    let value = match toleration.operator.as_str() {
        "" | "Equal" => *toleration.value == *taint.value,
        "Exists" => true,
        "Gt" => number(&taint.value).zip(number(&toleration.value)).is_some_and(|(t, v)| t > v),
        "Lt" => number(&taint.value).zip(number(&toleration.value)).is_some_and(|(t, v)| t < v),
        _ => false,
    };
    key && at && value
}
