//! Topology spread constraints, as filter and score read them.

use std::borrow::Cow;

use crate::labels::{Labels, Name};
use crate::model::{Node, Pod, SpreadConstraint, WorkloadKind};
use crate::nodes::NodeTable;
use crate::rules::DefaultSpread;
use crate::selector::{Requirement, SelectorError};
use crate::view::ClusterView;

use super::RequiredNodes;
use super::taint_toleration::TaintToleration;

/// The label that tells single nodes apart.
pub(crate) const HOSTNAME: &str = "kubernetes.io/hostname";
/// The label that tells zones apart.
const ZONE: &str = "topology.kubernetes.io/zone";

/// A constraint, ready to count with.
#[derive(Clone, Debug)]
pub(crate) struct Constraint<'p> {
    pub(crate) topology_key: Cow<'p, str>,
    pub(crate) max_skew: i32,
    pub(crate) min_domains: i32,
    counted: CountedPods<'p>,
    honor_affinity: bool,
    honor_taints: bool,
}

/// Which pods a constraint counts.
#[derive(Clone, Debug)]
enum CountedPods<'p> {
    /// No selector: none.
    None,
    /// Those that meet the requirements and carry the labels (UP-9: `matchLabelKeys`, merged in by the scheduler).
    Meeting { requirements: Cow<'p, [Requirement]>, labels: Vec<(&'p Name, &'p Name)> },
}

impl CountedPods<'_> {
    fn include(&self, pod_labels: &Labels) -> bool {
        match self {
            CountedPods::None => false,
            CountedPods::Meeting { requirements, labels } => {
                labels.iter().all(|(key, value)| pod_labels.get(key) == Some(value))
                    && requirements.iter().all(|requirement| requirement.matches(pod_labels))
            }
        }
    }

    /// Whether every pod would be included.
    fn is_everything(&self) -> bool {
        matches!(self, CountedPods::Meeting { requirements, labels } if requirements.is_empty() && labels.is_empty())
    }
}

impl Constraint<'_> {
    /// Whether the pod to be placed counts itself.
    pub(crate) fn includes(&self, pod: &Pod) -> bool {
        self.counted.include(&pod.labels)
    }

    /// Whether a placed pod of the namespace counts, as [`Constraint::count_by_node`] counts them.
    pub(crate) fn counts(&self, placed: &Pod) -> bool {
        !self.counted.is_everything() && !placed.deleting && self.counted.include(&placed.labels)
    }

    /// How many pods of the namespace count on each node, by the rows' indices. A selector that selects everything
    /// counts none, and pods that are being deleted do not count (UP-8).
    pub(crate) fn count_by_node(&self, nodes: &NodeTable, namespace: &Name) -> Vec<i64> {
        let mut counts = vec![0; nodes.capacity()];
        if self.counted.is_everything() {
            return counts;
        }
        for group in nodes.groups().filter(|group| group.namespace() == namespace) {
            if self.counted.include(group.labels()) {
                for (index, count) in group.nodes() {
                    if let Some(sum) = counts.get_mut(index.as_usize()) {
                        *sum += i64::from(count.pods.saturating_sub(count.deleting));
                    }
                }
            }
        }
        counts
    }

    /// Whether the node's pods count: it is one that the pod could go to, as far as the constraint's policies ask.
    pub(crate) fn counts_on(&self, node: &Node, pod: &Pod, required: &RequiredNodes<'_>) -> bool {
        (!self.honor_affinity || required.include(node))
            && (!self.honor_taints || TaintToleration::prepare(pod).forbidding(&node.taints).is_none())
    }

    /// Whether every node's pods count.
    pub(crate) fn counts_everywhere(&self, required: &RequiredNodes<'_>) -> bool {
        (!self.honor_affinity || required.are_all()) && !self.honor_taints
    }

    /// Whether this constraint tells single nodes apart.
    pub(crate) fn is_per_node(&self) -> bool {
        self.topology_key == HOSTNAME
    }
}

/// Whether the node has every constraint's label.
pub(crate) fn has_all_keys(node: &Node, constraints: &[Constraint<'_>]) -> bool {
    constraints.iter().all(|constraint| node.labels.contains_key(&constraint.topology_key))
}

/// The pod's own constraints: the hard or the soft ones.
pub(crate) fn own_constraints(pod: &Pod, hard: bool) -> Result<Vec<Constraint<'_>>, &SelectorError> {
    pod.spread.iter().filter(|constraint| constraint.hard == hard).map(|constraint| read(pod, constraint)).collect()
}

fn read<'p>(pod: &'p Pod, constraint: &'p SpreadConstraint) -> Result<Constraint<'p>, &'p SelectorError> {
    let counted = match constraint.selector.as_ref().map(Result::as_ref).transpose()? {
        None => CountedPods::None,
        Some(selector) => {
            let keys = constraint.match_label_keys.iter();
            CountedPods::Meeting {
                requirements: Cow::Borrowed(selector.requirements()),
                labels: keys.filter_map(|key| Some((key, pod.labels.get(key)?))).collect(),
            }
        }
    };
    Ok(Constraint { counted, ..listed(constraint) })
}

/// The hard or the soft constraints of a pod that has none of its own: they spread the pods that its Services and its
/// controller select. None where nothing selects it.
pub(crate) fn default_constraints<'p>(
    pod: &Pod,
    cluster: &ClusterView<'_>,
    spread: &'p DefaultSpread,
    hard: bool,
) -> Vec<Constraint<'p>> {
    let templates: Vec<Constraint<'p>> = match spread {
        DefaultSpread::System if hard => return Vec::new(),
        DefaultSpread::System => SYSTEM_SPREAD.into_iter().map(|(key, max_skew)| system(key, max_skew)).collect(),
        DefaultSpread::List(list) => list.iter().filter(|c| c.hard == hard).map(listed).collect(),
    };
    if templates.is_empty() {
        return templates;
    }
    let requirements = default_selector(pod, cluster);
    if requirements.is_empty() {
        return Vec::new();
    }
    let counted = || CountedPods::Meeting { requirements: Cow::Owned(requirements.clone()), labels: Vec::new() };
    templates.into_iter().map(|template| Constraint { counted: counted(), ..template }).collect()
}

/// Upstream's system defaults: soft constraints over nodes and zones.
const SYSTEM_SPREAD: [(&str, i32); 2] = [(HOSTNAME, 3), (ZONE, 5)];

fn system(topology_key: &str, max_skew: i32) -> Constraint<'_> {
    Constraint {
        topology_key: Cow::Borrowed(topology_key),
        max_skew,
        min_domains: 1,
        counted: CountedPods::None,
        honor_affinity: true,
        honor_taints: false,
    }
}

/// A default constraint of the profile. What it counts is said later: its own selector is not read.
fn listed(constraint: &SpreadConstraint) -> Constraint<'_> {
    Constraint {
        min_domains: constraint.min_domains.unwrap_or(1),
        honor_affinity: constraint.honor_affinity,
        honor_taints: constraint.honor_taints,
        ..system(&constraint.topology_key, constraint.max_skew)
    }
}

fn default_selector(pod: &Pod, cluster: &ClusterView<'_>) -> Vec<Requirement> {
    let namespace = &pod.key.namespace;
    let mut requirements: Vec<Requirement> = Vec::new();
    let services = cluster.workloads.services(namespace).filter_map(|service| service.selector.as_ref());
    for selector in services.filter(|selector| selector.matches(&pod.labels)) {
        requirements.extend_from_slice(selector.requirements());
    }
    let Some((kind, name)) = &pod.controller else { return requirements };
    let kind = match &**kind {
        "ReplicationController" => WorkloadKind::ReplicationController,
        "ReplicaSet" => WorkloadKind::ReplicaSet,
        "StatefulSet" => WorkloadKind::StatefulSet,
        _ => return requirements,
    };
    let Some(selector) = cluster.workloads.get(kind, namespace, name).and_then(|w| w.selector.as_ref()) else {
        return requirements;
    };
    if kind == WorkloadKind::ReplicationController {
        // Its labels are merged with the Services' as maps are: it wins where both name a key.
        requirements.retain(|known| selector.requirements().iter().all(|new| new.key() != known.key()));
    }
    requirements.extend_from_slice(selector.requirements());
    requirements
}
