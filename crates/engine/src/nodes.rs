//! The node table: every node with the pods on it and running sums of what they hold.
//!
//! Events arrive in any order: a pod may come before its node, and a node may go while its pods stay. Pods without a
//! node wait beside the table and join the row when the node appears, so that the table always equals one built from
//! scratch out of the same objects.

mod columns;
pub mod demand;
mod groups;
mod images;
mod ports;
mod row;
#[cfg(test)]
mod tests;

pub(crate) use columns::{EMPTY, LabelColumn, MISSING};
pub use groups::{GroupCount, PodGroup};
pub use ports::UsedPorts;
pub use row::{NodeRow, PlacedPod};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::collections::Map;
use crate::labels::{Name, ObjectKey};
use crate::model::{Node, Pod};

/// A row's place in the table: small and stable while the node exists, reused after it is gone.
///
/// Bit sets and vectors over nodes are keyed by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(pub u32);

impl NodeIndex {
    /// As an index into a vector.
    pub fn as_usize(self) -> usize {
        self.0 as usize
    }
}

/// Holds all nodes and the pods placed on them.
#[derive(Clone, Debug, Default)]
pub struct NodeTable {
    slots: Vec<Option<NodeRow>>,
    /// Slots without a row, the smallest taken first so that indices stay dense.
    free: BTreeSet<u32>,
    /// Rows by name: lookups, and the order of output.
    by_name: BTreeMap<Name, NodeIndex>,
    /// The node that each known pod names: makes removing a pod by its key cheap.
    pod_nodes: Map<ObjectKey, Name>,
    /// Pods whose node is not (or no longer) there, by the node's name.
    waiting: BTreeMap<Name, BTreeMap<ObjectKey, PlacedPod>>,
    /// Pods of the rows by labels: makes counting those that a selector means cheap.
    groups: groups::PodGroups,
    /// Which nodes have an image: scoring looks at no others for it.
    images: images::ImageSpread,
    /// Labels by which pods are spread, as numbers.
    columns: columns::LabelColumns,
    /// Rows with a pod that has inter-pod (anti-)affinity: scoring looks at no others for them.
    with_affinity: BTreeSet<NodeIndex>,
    /// Rows with a pod that has required anti-affinity: filtering looks at no others for them.
    with_anti_affinity: BTreeSet<NodeIndex>,
}

impl NodeTable {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces a node. An event older than what is known changes nothing.
    pub fn set_node(&mut self, node: Node) -> NodeIndex {
        if let Some(&index) = self.by_name.get(&node.name) {
            if let Some(row) = self.slots.get_mut(index.as_usize()).and_then(Option::as_mut) {
                if node.version != 0 && node.version < row.node().version {
                    return index;
                }
                // A node's status comes every few seconds, mostly with the same images and labels.
                if row.node().images != node.images {
                    self.images.remove(index, row.node());
                    self.images.add(index, &node);
                }
                if row.node().labels != node.labels {
                    self.columns.set(index, Some(&node.labels));
                }
                row.set_node(node);
            }
            return index;
        }
        let index = self.take_slot();
        let name = node.name.clone();
        let mut row = NodeRow::new(index, node);
        for placed in self.waiting.remove(&name).unwrap_or_default().into_values() {
            self.groups.add(placed.pod(), index);
            row.add(placed);
        }
        self.images.add(index, row.node());
        self.columns.set(index, Some(&row.node().labels));
        self.by_name.insert(name, index);
        if let Some(slot) = self.slots.get_mut(index.as_usize()) {
            *slot = Some(row);
        }
        self.note_affinity(index);
        index
    }

    /// Removes a node; its pods wait for it to come back. False where there was none.
    pub fn remove_node(&mut self, name: &str) -> bool {
        let Some(index) = self.by_name.remove(name) else { return false };
        let Some(row) = self.slots.get_mut(index.as_usize()).and_then(Option::take) else { return false };
        self.free.insert(index.0);
        self.with_affinity.remove(&index);
        self.with_anti_affinity.remove(&index);
        self.images.remove(index, row.node());
        self.columns.set(index, None);
        let (node, pods) = row.into_parts();
        for placed in &pods {
            self.groups.remove(placed.pod(), index);
        }
        if !pods.is_empty() {
            let pods = pods.into_iter().map(|p| (p.pod().key.clone(), p)).collect();
            self.waiting.insert(node.name, pods);
        }
        true
    }

    /// Adds or replaces a pod. One that has ended or has no node holds nothing, and leaves the table.
    /// An event older than what is known changes nothing.
    pub fn add_pod(&mut self, pod: Arc<Pod>) {
        if let Some(known) = self.pod(&pod.key)
            && known.uid == pod.uid
            && pod.version != 0
            && pod.version < known.version
        {
            return;
        }
        self.remove_pod(&pod.key);
        let (Some(node), false) = (pod.node.clone(), pod.ended) else { return };
        self.pod_nodes.insert(pod.key.clone(), node.clone());
        let placed = PlacedPod::new(pod);
        match self.by_name.get(&node) {
            Some(&index) => {
                if let Some(row) = self.slots.get_mut(index.as_usize()).and_then(Option::as_mut) {
                    self.groups.add(placed.pod(), index);
                    row.add(placed);
                }
                self.note_affinity(index);
            }
            None => {
                self.waiting.entry(node).or_default().insert(placed.pod().key.clone(), placed);
            }
        }
    }

    /// Removes a pod, wherever it is, and returns it.
    pub fn remove_pod(&mut self, key: &ObjectKey) -> Option<Arc<Pod>> {
        let node = self.pod_nodes.remove(key)?;
        if let Some(&index) = self.by_name.get(&node) {
            let row = self.slots.get_mut(index.as_usize())?.as_mut()?;
            let removed = row.remove(key);
            if let Some(placed) = &removed {
                self.groups.remove(placed.pod(), index);
            }
            self.note_affinity(index);
            return removed.map(PlacedPod::into_pod);
        }
        let pods = self.waiting.get_mut(&node)?;
        let removed = pods.remove(key);
        if pods.is_empty() {
            self.waiting.remove(&node);
        }
        removed.map(PlacedPod::into_pod)
    }

    /// The pod of this key, if it is placed (its node need not be known).
    pub fn pod(&self, key: &ObjectKey) -> Option<&Arc<Pod>> {
        let node = self.pod_nodes.get(key)?;
        match self.by_name(node) {
            Some(row) => row.pod(key).map(PlacedPod::pod),
            None => self.waiting.get(node)?.get(key).map(PlacedPod::pod),
        }
    }

    /// The row at an index.
    pub fn get(&self, index: NodeIndex) -> Option<&NodeRow> {
        self.slots.get(index.as_usize())?.as_ref()
    }

    /// The row of a node.
    pub fn by_name(&self, name: &str) -> Option<&NodeRow> {
        self.get(*self.by_name.get(name)?)
    }

    /// All rows, by index: the order for work.
    pub fn iter(&self) -> impl Iterator<Item = &NodeRow> {
        self.slots.iter().flatten()
    }

    /// All rows, by name: the order for output.
    pub fn iter_by_name(&self) -> impl Iterator<Item = &NodeRow> {
        self.by_name.values().filter_map(|&index| self.get(index))
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// An index above all rows' indices: the size of a vector or bit set over nodes.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// Rows that have a pod with inter-pod affinity or anti-affinity, required or preferred.
    pub fn with_affinity(&self) -> impl Iterator<Item = &NodeRow> {
        self.with_affinity.iter().filter_map(|&index| self.get(index))
    }

    /// Rows that have a pod with required anti-affinity.
    pub fn with_anti_affinity(&self) -> impl Iterator<Item = &NodeRow> {
        self.with_anti_affinity.iter().filter_map(|&index| self.get(index))
    }

    /// The pods on rows, grouped by namespace and labels.
    pub fn groups(&self) -> impl Iterator<Item = &PodGroup> {
        self.groups.iter()
    }

    /// The nodes that have the image of this (full) name, with its size there.
    pub fn with_image(&self, name: &str) -> impl ExactSizeIterator<Item = (NodeIndex, i64)> {
        static NONE: BTreeMap<NodeIndex, i64> = BTreeMap::new();
        self.images.of(name).unwrap_or(&NONE).iter().map(|(&index, &size)| (index, size))
    }

    /// The nodes' values of a label as numbers, for those labels that have a column.
    pub(crate) fn column(&self, key: &str) -> Option<&LabelColumn> {
        self.columns.get(key)
    }

    fn take_slot(&mut self) -> NodeIndex {
        if let Some(index) = self.free.pop_first() {
            return NodeIndex(index);
        }
        self.slots.push(None);
        // More than 2^32 nodes do not fit into memory long before this saturates.
        NodeIndex(u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX))
    }

    fn note_affinity(&mut self, index: NodeIndex) {
        let (affinity, anti_affinity) = match self.get(index) {
            Some(row) => (!row.with_affinity().is_empty(), !row.with_anti_affinity().is_empty()),
            None => (false, false),
        };
        set_membership(&mut self.with_affinity, index, affinity);
        set_membership(&mut self.with_anti_affinity, index, anti_affinity);
    }
}

fn set_membership(set: &mut BTreeSet<NodeIndex>, index: NodeIndex, member: bool) {
    if member {
        set.insert(index);
    } else {
        set.remove(&index);
    }
}
