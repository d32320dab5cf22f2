//! One node with its pods and the sums over them.

use std::sync::Arc;

use crate::labels::ObjectKey;
use crate::model::{Node, Pod, Resources};
use crate::nodes::demand::Held;
use crate::nodes::{NodeIndex, UsedPorts};

/// A pod on a node, with what it holds there: computed once, given back exactly when it leaves.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedPod {
    pod: Arc<Pod>,
    held: Held,
}

impl PlacedPod {
    pub(super) fn new(pod: Arc<Pod>) -> Self {
        let held = Held::by(&pod);
        Self { pod, held }
    }

    /// The pod.
    pub fn pod(&self) -> &Arc<Pod> {
        &self.pod
    }

    /// What it holds.
    pub fn held(&self) -> &Held {
        &self.held
    }

    pub(super) fn into_pod(self) -> Arc<Pod> {
        self.pod
    }
}

/// A node, the pods on it, and sums that follow each pod that comes or goes.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeRow {
    index: NodeIndex,
    node: Node,
    /// Sorted by key, so that one namespace's pods stand together.
    pods: Vec<PlacedPod>,
    /// Sums over `pods`.
    held: Held,
    ports: UsedPorts,
    /// Those of `pods` that have inter-pod affinity or anti-affinity; sorted by key.
    with_affinity: Vec<Arc<Pod>>,
    /// Those of `pods` that have required anti-affinity; sorted by key.
    with_anti_affinity: Vec<Arc<Pod>>,
}

impl NodeRow {
    pub(super) fn new(index: NodeIndex, node: Node) -> Self {
        Self {
            index,
            node,
            pods: Vec::new(),
            held: Held::default(),
            ports: UsedPorts::default(),
            with_affinity: Vec::new(),
            with_anti_affinity: Vec::new(),
        }
    }

    pub(super) fn set_node(&mut self, node: Node) {
        self.node = node;
    }

    pub(super) fn into_parts(self) -> (Node, Vec<PlacedPod>) {
        (self.node, self.pods)
    }

    /// Adds a pod. The caller has removed an earlier version of it.
    pub(super) fn add(&mut self, placed: PlacedPod) {
        self.held.add(&placed.held);
        for port in &placed.pod.host_ports {
            self.ports.take(port);
        }
        let key = &placed.pod.key;
        if has_affinity(&placed.pod) {
            let at = self.with_affinity.partition_point(|p| p.key < *key);
            self.with_affinity.insert(at, placed.pod.clone());
        }
        if !placed.pod.required_anti_affinity.is_empty() {
            let at = self.with_anti_affinity.partition_point(|p| p.key < *key);
            self.with_anti_affinity.insert(at, placed.pod.clone());
        }
        let at = self.pods.partition_point(|p| p.pod.key < *key);
        self.pods.insert(at, placed);
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<PlacedPod> {
        let at = self.pods.binary_search_by(|p| p.pod.key.cmp(key)).ok()?;
        let placed = self.pods.remove(at);
        self.held.subtract(&placed.held);
        for port in &placed.pod.host_ports {
            self.ports.give_back(port);
        }
        self.with_affinity.retain(|p| p.key != *key);
        self.with_anti_affinity.retain(|p| p.key != *key);
        Some(placed)
    }

    /// Where the row stands in the table.
    pub fn index(&self) -> NodeIndex {
        self.index
    }

    /// The node.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The pods on it, sorted by namespace and name.
    pub fn pods(&self) -> &[PlacedPod] {
        &self.pods
    }

    /// The pod of this key, if it is here.
    pub fn pod(&self, key: &ObjectKey) -> Option<&PlacedPod> {
        let at = self.pods.binary_search_by(|p| p.pod.key.cmp(key)).ok()?;
        self.pods.get(at)
    }

    /// The pods of one namespace.
    pub fn pods_in(&self, namespace: &str) -> &[PlacedPod] {
        let from = self.pods.partition_point(|p| *p.pod.key.namespace < *namespace);
        let rest = self.pods.get(from..).unwrap_or_default();
        let len = rest.partition_point(|p| *p.pod.key.namespace == *namespace);
        rest.get(..len).unwrap_or_default()
    }

    /// What its pods hold together.
    pub fn requested(&self) -> &Resources {
        &self.held.resources
    }

    /// What its pods count for in scores: as `requested`, with a minimum for each container that names no request.
    pub fn held(&self) -> &Held {
        &self.held
    }

    /// The host ports in use.
    pub fn ports(&self) -> &UsedPorts {
        &self.ports
    }

    /// Its pods that have inter-pod affinity or anti-affinity, required or preferred.
    pub fn with_affinity(&self) -> &[Arc<Pod>] {
        &self.with_affinity
    }

    /// Its pods that have required anti-affinity.
    pub fn with_anti_affinity(&self) -> &[Arc<Pod>] {
        &self.with_anti_affinity
    }
}

fn has_affinity(pod: &Pod) -> bool {
    !(pod.required_affinity.is_empty()
        && pod.required_anti_affinity.is_empty()
        && pod.preferred_affinity.is_empty()
        && pod.preferred_anti_affinity.is_empty())
}
