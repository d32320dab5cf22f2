//! The objects that the workloads' controllers look at: mirrored once, shared by all.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_api::kinds::{Node, PersistentVolumeClaim, Pod};
use plimsoll_runtime::{Context, Mirror, Mirrored, Selection, Whole, reflect};

use crate::kinds::{Budget, DaemonSet, Deployment, Job, Lease, ReplicaSet, Revision, StatefulSet};

/// A mirror of whole objects: what is written back must not lose a field.
pub type Objects<T> = Arc<Mirror<Whole<T>>>;

/// The mirrors. Controllers add their listeners before [`World::start`], so that none of them misses anything.
#[derive(Clone, Default)]
pub struct World {
    /// Pods.
    pub pods: Objects<Pod>,
    /// Nodes.
    pub nodes: Objects<Node>,
    /// PersistentVolumeClaims.
    pub claims: Objects<PersistentVolumeClaim>,
    /// Deployments.
    pub deployments: Objects<Deployment>,
    /// ReplicaSets.
    pub replica_sets: Objects<ReplicaSet>,
    /// StatefulSets.
    pub stateful_sets: Objects<StatefulSet>,
    /// DaemonSets.
    pub daemon_sets: Objects<DaemonSet>,
    /// Jobs.
    pub jobs: Objects<Job>,
    /// ControllerRevisions.
    pub revisions: Objects<Revision>,
    /// PodDisruptionBudgets.
    pub budgets: Objects<Budget>,
    /// The leases of nodes.
    pub leases: Objects<Lease>,
}

impl World {
    /// Begins to keep the mirrors true. Everything is listed again after `relist`.
    pub(crate) fn start(&self, context: &Context, relist: Duration) {
        let selection = || Selection { relist, ..Selection::default() };
        reflect(context, &self.pods, selection());
        reflect(context, &self.nodes, selection());
        reflect(context, &self.claims, selection());
        reflect(context, &self.deployments, selection());
        reflect(context, &self.replica_sets, selection());
        reflect(context, &self.stateful_sets, selection());
        reflect(context, &self.daemon_sets, selection());
        reflect(context, &self.jobs, selection());
        reflect(context, &self.revisions, selection());
        reflect(context, &self.budgets, selection());
        let of_nodes = Selection { fields: "metadata.namespace=kube-node-lease".to_owned(), relist };
        reflect(context, &self.leases, of_nodes);
    }

    /// Done when every mirror has its first list: nothing may be decided before.
    pub async fn synced(&self) {
        self.pods.synced().await;
        self.nodes.synced().await;
        self.claims.synced().await;
        self.deployments.synced().await;
        self.replica_sets.synced().await;
        self.stateful_sets.synced().await;
        self.daemon_sets.synced().await;
        self.jobs.synced().await;
        self.revisions.synced().await;
        self.budgets.synced().await;
        self.leases.synced().await;
    }
}

/// Where an object's key leads: shorthand for listeners.
pub fn key<T: Mirrored>(object: &Whole<T>) -> plimsoll_engine::labels::ObjectKey {
    plimsoll_runtime::mirror::key_of(object)
}
