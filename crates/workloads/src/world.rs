//! The objects that the workloads' controllers look at: mirrored once, shared by all.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_api::kinds::{Node, PersistentVolumeClaim, Pod};
use plimsoll_runtime::{Context, Mirror, Mirrored, Selection, Whole, reflect};

use crate::children::Children;
use crate::kinds::{
    Budget, DaemonSet, Deployment, Job, Lease, ReplicaSet, ReplicationController, Revision, StatefulSet,
};
use crate::on_node::OnNode;

/// A mirror of whole objects: what is written back must not lose a field.
pub type Objects<T> = Arc<Mirror<Whole<T>>>;

/// The mirrors. Controllers add their listeners before they are fed, so that none of them misses anything.
#[derive(Clone)]
pub struct World {
    /// Pods.
    pub pods: Objects<Pod>,
    /// Pods by who controls them. It follows the mirror before any controller hears of a change.
    pub pods_of: Children,
    /// Pods by the node that they are on.
    pub pods_on: OnNode,
    /// Nodes.
    pub nodes: Objects<Node>,
    /// PersistentVolumeClaims.
    pub claims: Objects<PersistentVolumeClaim>,
    /// Deployments.
    pub deployments: Objects<Deployment>,
    /// ReplicaSets.
    pub replica_sets: Objects<ReplicaSet>,
    /// ReplicaSets by who controls them.
    pub replica_sets_of: Children,
    /// ReplicationControllers.
    pub replication_controllers: Objects<ReplicationController>,
    /// StatefulSets.
    pub stateful_sets: Objects<StatefulSet>,
    /// DaemonSets.
    pub daemon_sets: Objects<DaemonSet>,
    /// Jobs.
    pub jobs: Objects<Job>,
    /// ControllerRevisions.
    pub revisions: Objects<Revision>,
    /// ControllerRevisions by who controls them.
    pub revisions_of: Children,
    /// PodDisruptionBudgets.
    pub budgets: Objects<Budget>,
    /// The leases of nodes.
    pub leases: Objects<Lease>,
}

impl Default for World {
    fn default() -> Self {
        let (pods, replica_sets, revisions) = (Objects::default(), Objects::default(), Objects::default());
        Self {
            pods_of: Children::of(&*pods),
            pods_on: OnNode::of(&pods),
            replica_sets_of: Children::of(&*replica_sets),
            revisions_of: Children::of(&*revisions),
            pods,
            nodes: Objects::default(),
            claims: Objects::default(),
            deployments: Objects::default(),
            replica_sets,
            replication_controllers: Objects::default(),
            stateful_sets: Objects::default(),
            daemon_sets: Objects::default(),
            jobs: Objects::default(),
            revisions,
            budgets: Objects::default(),
            leases: Objects::default(),
        }
    }
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
        reflect(context, &self.replication_controllers, selection());
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
        self.replication_controllers.synced().await;
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
