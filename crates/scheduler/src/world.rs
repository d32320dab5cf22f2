//! What the scheduler watches: every kind that a decision reads, each event told to the desk.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_api::kinds::{
    CsiDriver, CsiNode, CsiStorageCapacity, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod,
    PodDisruptionBudget, ReplicaSetSelector, ReplicationController, Service, StatefulSetSelector, StorageClass,
    VolumeAttachment,
};
use plimsoll_api::{ConvertError, Interner};
use plimsoll_engine::object::Object;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::{Change, Context, Mirror, Mirrored, Selection, Whole, reflect};

use crate::desk::{Desk, Shared};

/// The mirrors.
#[derive(Clone, Default)]
pub(crate) struct World {
    pub(crate) pods: Arc<Mirror<Pod>>,
    pub(crate) volumes: Arc<Mirror<Whole<PersistentVolume>>>,
    pub(crate) claims: Arc<Mirror<Whole<PersistentVolumeClaim>>>,
    nodes: Arc<Mirror<Node>>,
    classes: Arc<Mirror<StorageClass>>,
    csi_nodes: Arc<Mirror<CsiNode>>,
    drivers: Arc<Mirror<CsiDriver>>,
    pools: Arc<Mirror<CsiStorageCapacity>>,
    attachments: Arc<Mirror<VolumeAttachment>>,
    namespaces: Arc<Mirror<Namespace>>,
    services: Arc<Mirror<Service>>,
    replication_controllers: Arc<Mirror<ReplicationController>>,
    replica_sets: Arc<Mirror<ReplicaSetSelector>>,
    stateful_sets: Arc<Mirror<StatefulSetSelector>>,
    budgets: Arc<Mirror<PodDisruptionBudget>>,
}

/// A kind that the engine is told of.
trait Told: Mirrored {
    fn told(&self, names: &mut Interner) -> Result<Object, ConvertError>;
}

macro_rules! told {
    ($($kind:ty => $object:expr),* $(,)?) => {
        $(impl Told for $kind {
            fn told(&self, names: &mut Interner) -> Result<Object, ConvertError> {
                self.to_engine(names).map($object)
            }
        })*
    };
}

told! {
    Node => Object::Node,
    StorageClass => Object::Class,
    CsiNode => Object::CsiNode,
    CsiDriver => Object::Driver,
    CsiStorageCapacity => Object::Pool,
    VolumeAttachment => Object::Attachment,
    Namespace => Object::Namespace,
    Service => Object::Workload,
    ReplicationController => Object::Workload,
    ReplicaSetSelector => Object::Workload,
    StatefulSetSelector => Object::Workload,
    PodDisruptionBudget => Object::Budget,
    Pod => |pod| Object::Pod(Box::new(pod)),
    PersistentVolume => Object::Volume,
    PersistentVolumeClaim => Object::Claim,
}

impl<T: Told> Told for Whole<T> {
    fn told(&self, names: &mut Interner) -> Result<Object, ConvertError> {
        self.slim.told(names)
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Tells the desk of every change.
    pub(crate) fn listen(&self, desk: &Arc<Shared<Desk>>) {
        tell(&self.pods, desk);
        call_off_deleted(&self.pods, desk);
        tell(&self.volumes, desk);
        tell(&self.claims, desk);
        tell(&self.nodes, desk);
        tell(&self.classes, desk);
        tell(&self.csi_nodes, desk);
        tell(&self.drivers, desk);
        tell(&self.pools, desk);
        tell(&self.attachments, desk);
        tell(&self.namespaces, desk);
        tell(&self.services, desk);
        tell(&self.replication_controllers, desk);
        tell(&self.replica_sets, desk);
        tell(&self.stateful_sets, desk);
        tell(&self.budgets, desk);
    }

    /// Begins to keep the mirrors true. Everything is listed again after `relist`.
    pub(crate) fn start(&self, context: &Context, relist: Duration) {
        let selection = || Selection { relist, ..Selection::default() };
        // Pods that have ended hold nothing; to be told that they are gone is enough.
        let fields = "status.phase!=Succeeded,status.phase!=Failed".to_owned();
        reflect(context, &self.pods, Selection { fields, relist });
        reflect(context, &self.volumes, selection());
        reflect(context, &self.claims, selection());
        reflect(context, &self.nodes, selection());
        reflect(context, &self.classes, selection());
        reflect(context, &self.csi_nodes, selection());
        reflect(context, &self.drivers, selection());
        reflect(context, &self.pools, selection());
        reflect(context, &self.attachments, selection());
        reflect(context, &self.namespaces, selection());
        reflect(context, &self.services, selection());
        reflect(context, &self.replication_controllers, selection());
        reflect(context, &self.replica_sets, selection());
        reflect(context, &self.stateful_sets, selection());
        reflect(context, &self.budgets, selection());
    }

    /// Done when every mirror has its first list: nothing may be decided before (RG-2).
    pub(crate) async fn synced(&self) {
        self.pods.synced().await;
        self.volumes.synced().await;
        self.claims.synced().await;
        self.nodes.synced().await;
        self.classes.synced().await;
        self.csi_nodes.synced().await;
        self.drivers.synced().await;
        self.pools.synced().await;
        self.attachments.synced().await;
        self.namespaces.synced().await;
        self.services.synced().await;
        self.replication_controllers.synced().await;
        self.replica_sets.synced().await;
        self.stateful_sets.synced().await;
        self.budgets.synced().await;
    }

    /// The resources that were not listed yet.
    pub(crate) fn unsynced(&self) -> Vec<&'static str> {
        let all = [
            first_list(&self.pods),
            first_list(&self.volumes),
            first_list(&self.claims),
            first_list(&self.nodes),
            first_list(&self.classes),
            first_list(&self.csi_nodes),
            first_list(&self.drivers),
            first_list(&self.pools),
            first_list(&self.attachments),
            first_list(&self.namespaces),
            first_list(&self.services),
            first_list(&self.replication_controllers),
            first_list(&self.replica_sets),
            first_list(&self.stateful_sets),
            first_list(&self.budgets),
        ];
        all.into_iter().filter(|(_, synced)| !synced).map(|(resource, _)| resource).collect()
    }

    pub(crate) fn is_synced(&self) -> bool {
        self.unsynced().is_empty()
    }
}

fn first_list<T: Mirrored>(mirror: &Mirror<T>) -> (&'static str, bool) {
    (T::RESOURCE.plural, mirror.is_synced())
}

/// The API server binds a pod no more that is being deleted, whatever keeps it from going. One that nothing keeps is gone in a
/// moment, and its placement ends with that.
fn call_off_deleted(pods: &Mirror<Pod>, desk: &Arc<Shared<Desk>>) {
    let desk = desk.clone();
    pods.listen(move |change| {
        let Change::Set { new, .. } = change else { return };
        if new.metadata.deletion_timestamp.0 && !new.metadata.finalizers.is_empty() {
            let mut desk = desk.lock();
            if let Some(pod) = desk.catalog.pod(&key_of(&**new)).cloned() {
                desk.placements.call_off(&pod, &format!("skip schedule deleting pod: {}", pod.key));
            }
        }
    });
}

fn tell<T: Told>(mirror: &Mirror<T>, desk: &Arc<Shared<Desk>>) {
    let desk = desk.clone();
    mirror.listen(move |change| {
        let mut desk = desk.lock();
        match change {
            Change::Set { old, new } => {
                let old = |names: &mut Interner| old.as_ref().and_then(|old| old.told(names).ok());
                match new.told(&mut desk.names) {
                    Ok(new) => desk.set(old, new),
                    Err(error) => {
                        // What cannot be read is not there: better than what it was before, which it is not any more.
                        let (kind, key) = (T::RESOURCE.kind, key_of(&**new));
                        tracing::warn!(kind, %key, %error, "an object cannot be read and is left out");
                        if let Some(old) = old(&mut desk.names) {
                            desk.gone(old);
                        }
                    }
                }
            }
            Change::Gone { old } => {
                if let Ok(old) = old.told(&mut desk.names) {
                    desk.gone(old);
                }
            }
        }
    });
}
