//! Placed pods grouped by namespace and labels.
//!
//! No selector can tell the pods of a group apart. A rule about other pods is asked once for each group instead of
//! once for each pod: there are about as many groups as workloads, while pods go into the hundreds of thousands.

use std::collections::BTreeMap;

use crate::collections::Map;
use crate::labels::{Labels, Name};
use crate::model::Pod;
use crate::nodes::NodeIndex;

/// Pods of one namespace with the same labels, counted by node.
#[derive(Clone, Debug, PartialEq)]
pub struct PodGroup {
    namespace: Name,
    labels: Labels,
    nodes: BTreeMap<NodeIndex, GroupCount>,
}

/// How many pods of a group are on a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupCount {
    /// All of them.
    pub pods: u32,
    /// Those that are being deleted.
    pub deleting: u32,
}

impl PodGroup {
    /// The pods' namespace.
    pub fn namespace(&self) -> &Name {
        &self.namespace
    }

    /// The pods' labels.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Where they are, in the order of the rows.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeIndex, GroupCount)> {
        self.nodes.iter().map(|(&index, &count)| (index, count))
    }

    /// Whether the pod is one of the group.
    pub fn includes(&self, pod: &Pod) -> bool {
        self.namespace == pod.key.namespace && self.labels == pod.labels
    }
}

/// All groups that have a pod.
#[derive(Clone, Debug, Default)]
pub(super) struct PodGroups {
    slots: Vec<Option<PodGroup>>,
    free: Vec<usize>,
    by_labels: Map<(Name, Labels), usize>,
}

impl PodGroups {
    pub(super) fn iter(&self) -> impl Iterator<Item = &PodGroup> {
        self.slots.iter().flatten()
    }

    pub(super) fn add(&mut self, pod: &Pod, node: NodeIndex) {
        let key = (pod.key.namespace.clone(), pod.labels.clone());
        let at = match self.by_labels.get(&key) {
            Some(&at) => at,
            None => {
                let at = self.free.pop().unwrap_or_else(|| {
                    self.slots.push(None);
                    self.slots.len() - 1
                });
                self.by_labels.insert(key, at);
                at
            }
        };
        let Some(slot) = self.slots.get_mut(at) else { return };
        let group = slot.get_or_insert_with(|| PodGroup {
            namespace: pod.key.namespace.clone(),
            labels: pod.labels.clone(),
            nodes: BTreeMap::new(),
        });
        let count = group.nodes.entry(node).or_default();
        count.pods = count.pods.saturating_add(1);
        count.deleting = count.deleting.saturating_add(u32::from(pod.deleting));
    }

    pub(super) fn remove(&mut self, pod: &Pod, node: NodeIndex) {
        let key = (pod.key.namespace.clone(), pod.labels.clone());
        let Some(&at) = self.by_labels.get(&key) else { return };
        let Some(Some(group)) = self.slots.get_mut(at) else { return };
        let Some(count) = group.nodes.get_mut(&node) else { return };
        count.pods = count.pods.saturating_sub(1);
        count.deleting = count.deleting.saturating_sub(u32::from(pod.deleting));
        if count.pods == 0 {
            group.nodes.remove(&node);
        }
        if group.nodes.is_empty() {
            self.by_labels.remove(&key);
            self.free.push(at);
            if let Some(slot) = self.slots.get_mut(at) {
                *slot = None;
            }
        }
    }
}
