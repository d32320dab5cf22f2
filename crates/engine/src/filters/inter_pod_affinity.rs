//! InterPodAffinity: pods that must be near each other, or apart.

use std::borrow::Cow;

use crate::labels::{Labels, Name};
use crate::model::{Node, Pod, PodTerm};
use crate::nodes::NodeRow;
use crate::reason::{Code, Plugin, Refusal, Status};
use crate::selector::SelectorError;
use crate::view::ClusterView;

use super::domains::Domain;
use super::{DomainSums, IncomingTerm, existing_matches, incoming, readable};

const NOT_NEAR: &str = "node(s) didn't match pod affinity rules";
const NOT_APART: &str = "node(s) didn't match pod anti-affinity rules";
const KEPT_OUT: &str = "node(s) didn't satisfy existing pods anti-affinity rules";

/// The pod's required terms, and how many placed pods each topology domain has that matter to them.
#[derive(Clone, Debug, Default)]
pub(super) struct InterPodAffinity<'p> {
    affinity: Vec<IncomingTerm<'p>>,
    anti_affinity: Vec<IncomingTerm<'p>>,
    /// Placed pods that meet all affinity terms together, by the terms' keys.
    near: DomainSums,
    /// Placed pods that meet an anti-affinity term, by its key.
    apart: DomainSums,
    /// Anti-affinity terms of placed pods that mean this pod, by their keys.
    keeping_out: DomainSums,
    /// Whether the pod meets its own affinity terms: the first pod of a group must be able to start.
    meets_itself: bool,
}

impl<'p> InterPodAffinity<'p> {
    pub(super) fn prepare(pod: &'p Pod, cluster: &ClusterView<'_>) -> (Self, Option<Refusal>) {
        let affinity = incoming(pod, &pod.required_affinity, cluster);
        let anti_affinity = incoming(pod, &pod.required_anti_affinity, cluster);
        let (affinity, anti_affinity) = match (affinity, anti_affinity, unreadable(pod)) {
            (Ok(affinity), Ok(anti_affinity), None) => (affinity, anti_affinity),
            (_, _, problem) => return (Self::default(), problem),
        };
        let mut filter = Self { affinity, anti_affinity, ..Self::default() };
        filter.meets_itself = filter.meets_affinity(&pod.key.namespace, &pod.labels);
        filter.count_placed(cluster);
        filter.count_keeping_out(pod, cluster);
        (filter, None)
    }

    /// Whether pods of this namespace with these labels meet all affinity terms at once.
    fn meets_affinity(&self, namespace: &Name, labels: &Labels) -> bool {
        !self.affinity.is_empty() && self.affinity.iter().all(|term| term.matches(namespace, labels))
    }

    fn count_placed(&mut self, cluster: &ClusterView<'_>) {
        if self.affinity.is_empty() && self.anti_affinity.is_empty() {
            return;
        }
        for group in cluster.nodes.groups() {
            let (namespace, labels) = (group.namespace(), group.labels());
            if self.meets_affinity(namespace, labels) {
                for term in &self.affinity {
                    self.near.add_group(cluster.nodes, group, term.topology_key, 1);
                }
            }
            for term in self.anti_affinity.iter().filter(|term| term.matches(namespace, labels)) {
                self.apart.add_group(cluster.nodes, group, term.topology_key, 1);
            }
        }
    }

    fn count_keeping_out(&mut self, pod: &Pod, cluster: &ClusterView<'_>) {
        let none = Labels::default();
        let namespace_labels = cluster.namespace_labels(&pod.key.namespace).unwrap_or(&none);
        for row in cluster.nodes.with_anti_affinity() {
            for owner in row.with_anti_affinity() {
                for term in readable(&owner.required_anti_affinity) {
                    if existing_matches(term, owner, pod, namespace_labels) {
                        self.keeping_out.add(row.node(), &term.topology_key, 1, || Some(owner.key.clone()));
                    }
                }
            }
        }
    }

    /// Counts a pod that came to a node (1) or left it (-1).
    pub(super) fn note(&mut self, pod: &Pod, cluster: &ClusterView<'_>, node: &Node, other: &Pod, amount: i64) {
        let witness = || Some(other.key.clone());
        let (namespace, labels) = (&other.key.namespace, &other.labels);
        if self.meets_affinity(namespace, labels) {
            for term in &self.affinity {
                self.near.add(node, term.topology_key, amount, witness);
            }
        }
        for term in self.anti_affinity.iter().filter(|term| term.matches(namespace, labels)) {
            self.apart.add(node, term.topology_key, amount, witness);
        }
        if !other.required_anti_affinity.is_empty() {
            let none = Labels::default();
            let namespace_labels = cluster.namespace_labels(&pod.key.namespace).unwrap_or(&none);
            for term in readable(&other.required_anti_affinity) {
                if existing_matches(term, other, pod, namespace_labels) {
                    self.keeping_out.add(node, &term.topology_key, amount, witness);
                }
            }
        }
    }

    pub(super) fn fits(&self, row: &NodeRow) -> bool {
        self.is_near(row) && self.not_apart(row).is_none() && self.kept_out(row).is_none()
    }

    fn is_near(&self, row: &NodeRow) -> bool {
        let node = row.node();
        // Also the first pod of a group needs every topology key on its node.
        self.affinity.iter().all(|term| node.labels.contains_key(term.topology_key))
            && (self.affinity.iter().all(|term| self.near.of(node, term.topology_key).is_some_and(|d| d.sum > 0))
                || (self.meets_itself && self.near.is_empty()))
    }

    fn not_apart(&self, row: &NodeRow) -> Option<&IncomingTerm<'p>> {
        let taken = |term: &&IncomingTerm<'p>| self.apart.of(row.node(), term.topology_key).is_some_and(|d| d.sum > 0);
        self.anti_affinity.iter().find(taken)
    }

    fn kept_out(&self, row: &NodeRow) -> Option<&str> {
        self.keeping_out
            .keys()
            .map(|key| &**key)
            .find(|key| self.keeping_out.of(row.node(), key).is_some_and(|d| d.sum > 0))
    }

    /// The first of the three rules that fails, as upstream tells only that one.
    pub(super) fn refusal(&self, row: &NodeRow) -> Option<Refusal> {
        let node = row.node();
        let place = |key: &str| match node.labels.get(key) {
            Some(value) => format!("{key}={value}"),
            None => format!("a node without {key}"),
        };
        let (code, status, reason, detail) = if !self.is_near(row) {
            let missing = self.affinity.iter().find(|term| !node.labels.contains_key(term.topology_key));
            let empty = self.affinity.iter().find(|t| self.near.of(node, t.topology_key).is_none_or(|d| d.sum <= 0));
            let detail = match (missing, empty) {
                (Some(term), _) => format!("node {} has no label {}", node.name, term.topology_key),
                (None, Some(term)) if self.near.is_empty() => format!(
                    "no placed pod meets the pod's required affinity (not in {} nor elsewhere), and the pod does not meet it itself",
                    place(term.topology_key)
                ),
                (None, Some(term)) => {
                    format!("no pod in {} meets the pod's required affinity", place(term.topology_key))
                }
                (None, None) => String::new(),
            };
            (Code::POD_AFFINITY, Status::UnschedulableAndUnresolvable, NOT_NEAR, detail)
        } else if let Some(term) = self.not_apart(row) {
            let other = self.apart.of(node, term.topology_key).map(Domain::witness).unwrap_or_default();
            let detail = format!("pod {other} in {} is one that the pod must be apart from", place(term.topology_key));
            (Code::POD_ANTI_AFFINITY, Status::Unschedulable, NOT_APART, detail)
        } else {
            let key = self.kept_out(row)?;
            let other = self.keeping_out.of(node, key).map(Domain::witness).unwrap_or_default();
            let detail = format!("pod {other} in {} must be apart from pods like this one", place(key));
            (Code::EXISTING_ANTI_AFFINITY, Status::Unschedulable, KEPT_OUT, detail)
        };
        Some(Refusal { plugin: Plugin::InterPodAffinity, code, status, reason: Cow::Borrowed(reason), detail })
    }
}

/// A pod with a term that cannot be read, preferred ones included, is refused as a whole: the first problem of each
/// list is told.
fn unreadable(pod: &Pod) -> Option<Refusal> {
    fn first<'p>(terms: impl IntoIterator<Item = &'p PodTerm>) -> Option<&'p SelectorError> {
        terms.into_iter().find_map(|term| {
            let selectors = [&term.selector, &term.namespace_selector];
            selectors.into_iter().find_map(|selector| selector.as_ref()?.as_ref().err())
        })
    }
    let problems = [
        ("requiredAffinityTerms", first(&pod.required_affinity)),
        ("requiredAntiAffinityTerms", first(&pod.required_anti_affinity)),
        ("preferredAffinityTerms", first(pod.preferred_affinity.iter().map(|w| &w.term))),
        ("preferredAntiAffinityTerms", first(pod.preferred_anti_affinity.iter().map(|w| &w.term))),
    ];
    let told: Vec<String> = problems.iter().filter_map(|(list, e)| e.map(|e| format!("{list}: {e}"))).collect();
    let reason = match told.as_slice() {
        [] => return None,
        [one] => format!("parsing pod: {one}"),
        several => format!("parsing pod: [{}]", several.join(", ")),
    };
    Some(Refusal {
        plugin: Plugin::InterPodAffinity,
        code: Code::INVALID_RULE,
        status: Status::UnschedulableAndUnresolvable,
        reason: Cow::Owned(reason),
        detail: "a selector in the pod's affinity cannot be read".to_owned(),
    })
}
