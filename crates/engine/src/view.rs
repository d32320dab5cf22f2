//! What a decision about one pod looks at.

use std::collections::BTreeMap;

use crate::labels::{Labels, Name};
use crate::model::{Namespace, Workload, WorkloadKind};
use crate::nodes::NodeTable;

/// The cluster as filters and scores see it. Holds only borrows: making one costs nothing.
#[derive(Clone, Copy, Debug)]
pub struct ClusterView<'a> {
    /// Nodes with their pods. The pod to be placed is not among them.
    pub nodes: &'a NodeTable,
    /// Namespaces by name.
    pub namespaces: &'a BTreeMap<Name, Namespace>,
    /// What default spreading reads.
    pub workloads: &'a Workloads,
}

impl<'a> ClusterView<'a> {
    /// A namespace's labels; none where the namespace is not known.
    pub fn namespace_labels(&self, name: &str) -> Option<&'a Labels> {
        self.namespaces.get(name).map(|n| &n.labels)
    }
}

/// Services, ReplicationControllers, ReplicaSets and StatefulSets by namespace: a pod's own are found without
/// looking at those of other namespaces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workloads(BTreeMap<Name, BTreeMap<(WorkloadKind, Name), Workload>>);

impl Workloads {
    /// Adds or replaces one. An event older than what is known changes nothing.
    pub fn set(&mut self, workload: Workload) {
        let within = self.0.entry(workload.key.namespace.clone()).or_default();
        let key = (workload.kind, workload.key.name.clone());
        if within.get(&key).is_some_and(|known| workload.version != 0 && workload.version < known.version) {
            return;
        }
        within.insert(key, workload);
    }

    /// Removes one. False where there was none.
    pub fn remove(&mut self, kind: WorkloadKind, namespace: &str, name: &str) -> bool {
        let Some(within) = self.0.get_mut(namespace) else { return false };
        let removed = within.remove(&(kind, Name::from(name))).is_some();
        if within.is_empty() {
            self.0.remove(namespace);
        }
        removed
    }

    /// The one of this kind and name.
    pub fn get(&self, kind: WorkloadKind, namespace: &str, name: &Name) -> Option<&Workload> {
        self.0.get(namespace)?.get(&(kind, name.clone()))
    }

    /// A namespace's Services.
    pub fn services(&self, namespace: &str) -> impl Iterator<Item = &Workload> {
        self.0.get(namespace).into_iter().flat_map(|within| within.values()).filter(|w| w.kind == WorkloadKind::Service)
    }
}
