//! Nominations: pods that are expected on a node before they are placed there.
//!
//! Room is made for a pod by removing others, and until they are gone the room must not go to somebody of the same or a
//! lower priority. A nomination is decided here, or read from `status.nominatedNodeName`: another replica, or this one
//! before it was started anew, may have made it.
//!
//! ```text
//!               decided here, or the API shows another value than before
//!   (none) ───────────────────────────────────────────────────────────► nominated ──┐ the same
//!      ▲                                                                    │  ▲────┘
//!      └── withdrawn, assumed elsewhere, placed, gone, or the API shows ────┘
//!          that it was taken away
//! ```
//!
//! What the API shows counts only when it changes: between a decision and its echo the old value is still seen.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::model::Pod;
use plimsoll_engine::nodes::NodeIndex;
use plimsoll_engine::preemption::Expected;
use plimsoll_engine::reason::Refusal;
use plimsoll_engine::rules::Rules;
use plimsoll_engine::wakeups::Change;
use plimsoll_engine::{Catalog, Choice, Object};

use crate::desk::Desk;

/// Who is nominated to which node.
#[derive(Debug, Default)]
pub(crate) struct Nominations {
    pods: BTreeMap<ObjectKey, Nominated>,
    nodes: BTreeMap<Name, BTreeSet<ObjectKey>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Nominated {
    uid: Name,
    node: Name,
}

impl Nominations {
    /// Nominates a pod.
    pub(crate) fn set(&mut self, pod: &Pod, node: &Name) {
        self.clear(&pod.key);
        self.pods.insert(pod.key.clone(), Nominated { uid: pod.uid.clone(), node: node.clone() });
        self.nodes.entry(node.clone()).or_default().insert(pod.key.clone());
    }

    /// Takes a nomination back. Returns the node it was for.
    pub(crate) fn clear(&mut self, key: &ObjectKey) -> Option<Name> {
        let Nominated { node, .. } = self.pods.remove(key)?;
        if let Some(pods) = self.nodes.get_mut(&node) {
            pods.remove(key);
            if pods.is_empty() {
                self.nodes.remove(&node);
            }
        }
        Some(node)
    }

    /// Takes note of a waiting pod as the API shows it. Returns the node that it is nominated to no longer.
    pub(crate) fn seen(&mut self, old: Option<&Pod>, pod: &Pod) -> Option<Name> {
        let old = old.filter(|old| old.uid == pod.uid);
        let before = if old.is_none() { self.clear(&pod.key) } else { None };
        if old.is_some_and(|old| old.nominated_node == pod.nominated_node) {
            return before;
        }
        let before = before.or_else(|| self.clear(&pod.key));
        if let Some(node) = &pod.nominated_node {
            self.set(pod, node);
        }
        before.filter(|node| pod.nominated_node.as_ref() != Some(node))
    }

    /// The node that a pod is nominated to.
    pub(crate) fn of(&self, pod: &Pod) -> Option<&Name> {
        self.pods.get(&pod.key).filter(|nominated| nominated.uid == pod.uid).map(|nominated| &nominated.node)
    }

    /// The pods of a pod's priority and above that are expected on nodes. One that is placed already is not expected.
    fn expected(&self, catalog: &Catalog, pod: &Pod) -> Expected {
        let mut expected = Expected::new();
        for (node, keys) in &self.nodes {
            let guests: Vec<Arc<Pod>> = self
                .waiting(catalog, keys)
                .filter(|guest| guest.priority >= pod.priority && guest.key != pod.key)
                .cloned()
                .collect();
            if !guests.is_empty() {
                expected.insert(node.clone(), guests);
            }
        }
        expected
    }

    /// The pods below a priority that are nominated to a node.
    pub(crate) fn below(&self, catalog: &Catalog, node: &Name, priority: i32) -> Vec<Arc<Pod>> {
        let Some(keys) = self.nodes.get(node) else { return Vec::new() };
        self.waiting(catalog, keys).filter(|pod| pod.priority < priority).cloned().collect()
    }

    fn waiting<'c>(&self, catalog: &'c Catalog, keys: &BTreeSet<ObjectKey>) -> impl Iterator<Item = &'c Arc<Pod>> {
        let known = keys.iter().filter_map(|key| catalog.pod(key));
        known.filter(|pod| catalog.nodes().pod(&pod.key).is_none())
    }
}

/// Where a pod cannot go, or not for the usual reasons.
pub(crate) struct Refused {
    /// Nodes that do not fit beside the pods which are expected there.
    pub(crate) beside: Vec<(NodeIndex, Vec<Refusal>)>,
    /// The pods that are expected on nodes.
    pub(crate) expected: Expected,
}

impl Desk {
    /// Where a pod has no room beside the pods that are expected there.
    pub(crate) fn beside(&mut self, pod: &Pod, rules: &Rules) -> Refused {
        let expected = self.nominations.expected(&self.catalog, pod);
        Refused { beside: self.catalog.refused_beside(pod, rules, &expected), expected }
    }

    /// Every node that fits, with its total, for extenders to choose from.
    pub(crate) fn rank(&mut self, pod: &Pod, rules: &Rules) -> Result<Vec<(Name, i64)>, Refused> {
        let refused = self.beside(pod, rules);
        let except: Vec<NodeIndex> = refused.beside.iter().map(|(index, _)| *index).collect();
        match self.catalog.rank_by(pod, rules, &except) {
            Ok(ranked) if !ranked.is_empty() => Ok(ranked),
            _ => Err(refused),
        }
    }

    /// Whether a pod is still there to be placed.
    pub(crate) fn has(&self, pod: &Pod) -> bool {
        let known = self.catalog.pod(&pod.key).filter(|known| known.uid == pod.uid && !known.deleting);
        known.is_some_and(|known| self.is_ours(known))
    }

    /// Chooses a node for a pod: the one that it is nominated to if it fits there, otherwise the best of those that have
    /// room for the pods, too, which are expected there.
    pub(crate) fn choose(&mut self, pod: &Pod, rules: &Rules) -> Result<Choice, Refused> {
        let Refused { beside, expected } = self.beside(pod, rules);
        if let Some(node) = self.nominations.of(pod) {
            let index = self.catalog.nodes().by_name(node).map(|row| row.index());
            if !beside.iter().any(|(refused, _)| Some(*refused) == index)
                && let Some(plan) = self.catalog.plan_on(pod, rules, node)
            {
                return Ok(Choice { node: node.clone(), plan, feasible: 1, score: None });
            }
        }
        let except: Vec<NodeIndex> = beside.iter().map(|(index, _)| *index).collect();
        match self.catalog.choose_by(pod, rules, &except) {
            Ok(Some(choice)) => Ok(choice),
            Ok(None) | Err(_) => Err(Refused { beside, expected }),
        }
    }

    /// Takes back a pod's nomination. Others may have been kept from the node by it.
    pub(crate) fn withdraw_nomination(&mut self, pod: &Pod) {
        if self.nominations.of(pod).is_some()
            && let Some(node) = self.nominations.clear(&pod.key)
        {
            self.nomination_left(pod, node);
        }
    }

    /// To everybody else it is as though a pod had gone from the node.
    pub(crate) fn nomination_left(&mut self, pod: &Pod, node: Name) {
        let freed = Pod { node: Some(node), ..pod.clone() };
        self.wake(Change::Deleted(&Object::Pod(Box::new(freed))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(nominated: Option<&str>) -> Pod {
        let mut pod = Pod::named("default", "p");
        pod.uid = Name::from("u1");
        pod.nominated_node = nominated.map(Name::from);
        pod
    }

    #[test]
    fn what_the_api_shows_counts_when_it_changes() {
        let mut nominations = Nominations::default();
        let (none, n1, n2) = (pod(None), pod(Some("n1")), pod(Some("n2")));
        // First seen with one: another replica made it, or this one before its restart.
        assert_eq!(nominations.seen(None, &n1), None);
        assert_eq!(nominations.of(&none).map(|n| &**n), Some("n1"));
        // Decided here; until the API shows it, the old value says nothing.
        nominations.set(&none, &Name::from("n2"));
        assert_eq!(nominations.seen(Some(&n1), &n1), None);
        assert_eq!(nominations.of(&none).map(|n| &**n), Some("n2"));
        assert_eq!(nominations.seen(Some(&n1), &n2), None);
        assert_eq!(nominations.of(&none).map(|n| &**n), Some("n2"));
        // Somebody took it away.
        assert_eq!(nominations.seen(Some(&n2), &none).as_deref(), Some("n2"));
        assert_eq!(nominations.of(&none), None);
        assert!(nominations.nodes.is_empty());
    }

    #[test]
    fn a_pod_made_anew_has_no_nomination() {
        let mut nominations = Nominations::default();
        nominations.set(&pod(None), &Name::from("n1"));
        let mut anew = pod(None);
        anew.uid = Name::from("u2");
        assert_eq!(nominations.of(&anew), None);
        assert_eq!(nominations.seen(Some(&pod(None)), &anew).as_deref(), Some("n1"));
    }
}
