//! The catalog: the cluster as events have told it, with every index that decisions read.
//!
//! Events may come in any order, twice, or late; the state they end in is that of the newest of each object. An
//! object's version decides which is newer, so a repeat changes nothing and an older one never overwrites.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::collections::Map;
use crate::labels::{Name, ObjectKey};
use crate::model::{Budget, Claim, Namespace, Pod, Version, Volume, WorkloadKind};
use crate::nodes::NodeTable;
use crate::object::{Kind, Object};
use crate::view::{ClusterView, Workloads};
use crate::volumes::{AssumeError, VolumeCatalog, VolumePlan};

/// A change of the cluster.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "nearly every event is the large one, and none is kept")]
pub enum Event {
    /// An object came or changed.
    Set(Object),
    /// An object went.
    Gone {
        /// Its kind.
        kind: Kind,
        /// Its key; the namespace of a cluster-wide object is empty.
        key: ObjectKey,
        /// Its last version; 0 where that is not known.
        version: Version,
    },
}

/// An assumed placement. The uid tells a pod from another that was made under the same name since.
#[derive(Clone, Debug)]
struct AssumedPod {
    uid: Name,
    node: Name,
}

/// A volume that is taken for a claim before the API server knows of it.
#[derive(Debug)]
#[must_use = "a promise is kept by writing it down, or withdrawn"]
pub struct Promise(VolumePlan);

/// How many deletions are remembered, so that a late event does not bring an object back. Watches repeat what is
/// recent; nothing repeats what lies ten thousand deletions back.
const REMEMBERED_DELETIONS: usize = 10_000;

/// The cluster as events have told it.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    pub(crate) nodes: NodeTable,
    pub(crate) namespaces: BTreeMap<Name, Namespace>,
    pub(crate) workloads: Workloads,
    pub(crate) volumes: VolumeCatalog,
    budgets: BTreeMap<ObjectKey, Budget>,
    /// Every pod as last seen, placed or not.
    pods: BTreeMap<ObjectKey, Arc<Pod>>,
    /// The pods whose placement is assumed, with their nodes.
    assumed: Map<ObjectKey, AssumedPod>,
    deleted: Map<(Kind, ObjectKey), Version>,
    deletions: VecDeque<(Kind, ObjectKey, Version)>,
}

impl Catalog {
    /// An empty catalog.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes note of a change. Returns whether it changed anything: a repeat or a late event does not.
    pub fn apply(&mut self, event: Event) -> bool {
        match event {
            Event::Set(object) => self.set(object),
            Event::Gone { kind, key, version } => self.gone(kind, &key, version),
        }
    }

    /// The pods, in order of their keys.
    pub fn pods(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods.values()
    }

    /// The pod with this key.
    pub fn pod(&self, key: &ObjectKey) -> Option<&Arc<Pod>> {
        self.pods.get(key)
    }

    /// The pods whose placement is assumed: the API server does not know of it yet.
    pub fn assumed(&self) -> impl Iterator<Item = &ObjectKey> {
        self.assumed.keys()
    }

    /// Whether the placement of this very pod is assumed.
    pub fn is_assumed(&self, pod: &Pod) -> bool {
        self.assumed.get(&pod.key).is_some_and(|assumed| assumed.uid == pod.uid)
    }

    /// The disruption budgets.
    pub fn budgets(&self) -> impl Iterator<Item = &Budget> {
        self.budgets.values()
    }

    /// The nodes.
    pub fn nodes(&self) -> &NodeTable {
        &self.nodes
    }

    /// The claims that a pod uses, those of its ephemeral volumes too.
    pub fn claims_of(pod: &Pod) -> impl Iterator<Item = ObjectKey> {
        crate::volumes::claims_of(pod).map(|(key, _)| key)
    }

    /// Whether there is such a namespace: as an object, by its pods, or because there always is.
    pub fn has_namespace(&self, name: &str) -> bool {
        name == "default" || self.namespaces.contains_key(name) || self.pods().any(|pod| &*pod.key.namespace == name)
    }

    /// A volume as the API server last showed it, whatever is assumed of it.
    pub fn observed_volume(&self, name: &str) -> Option<&Arc<Volume>> {
        self.volumes.slab.by_name(name).map(|r| r.observed.as_ref().map_or(&r.volume, |o| &o.object))
    }

    /// A claim as the API server last showed it, whatever is assumed of it.
    pub fn observed_claim(&self, key: &ObjectKey) -> Option<&Arc<Claim>> {
        self.volumes.claims.get(key).map(|r| r.observed.as_ref().map_or(&r.claim, |o| &o.object))
    }

    /// The class that claims without one get; `None` where no class is marked as the default.
    pub fn default_class(&self) -> Option<Name> {
        self.volumes.default_class()
    }

    /// When claims of a class are bound; `None` where there is no such class, or it does not say.
    pub fn binding_mode(&self, class: &str) -> Option<crate::model::BindingMode> {
        self.volumes.classes.get(class).and_then(|record| record.class.binding_mode)
    }

    /// The volumes whose `claimRef` names a claim, by whatever uid.
    pub fn volumes_naming(&self, claim: &ObjectKey) -> impl Iterator<Item = &Name> {
        self.volumes.referring.get(claim).into_iter().flatten()
    }

    /// Takes a free volume for a claim, so that the next claim looks for another: until an event about the volume says
    /// what became of it, or [`Catalog::withdraw`].
    pub fn promise(&mut self, claim: &ObjectKey, volume: &Name) -> Result<Promise, AssumeError> {
        self.volumes.promise(claim, volume).map(Promise)
    }

    /// Takes back a promise that was not kept. One that an event has overtaken is nothing to take back.
    pub fn withdraw(&mut self, promise: Promise) {
        self.volumes.forget(&promise.0);
    }

    /// Whether a volume can be reached from a node; false where either is not known. The error is upstream's, of a disk
    /// that cannot be migrated.
    pub fn can_reach(&self, volume: &str, node: &str) -> Result<bool, String> {
        let (Some(record), Some(&index)) = (self.volumes.slab.by_name(volume), self.volumes.nodes.get(node)) else {
            return Ok(false);
        };
        let reach = self.volumes.reach_from(record, node)?;
        Ok(self.volumes.topologies.reaches(reach, index))
    }

    /// What the filters that are not about volumes look at.
    pub(crate) fn view(&self) -> ClusterView<'_> {
        ClusterView { nodes: &self.nodes, namespaces: &self.namespaces, workloads: &self.workloads }
    }

    /// Assumes that a pod is placed by a plan: the next decision sees its volumes taken and its resources used. Events
    /// that are newer win over what is assumed.
    pub fn assume(&mut self, pod: &ObjectKey, node: &Name, plan: &VolumePlan) -> Result<(), AssumeError> {
        let known = self.pods.get(pod).ok_or_else(|| AssumeError::NotFound { key: pod.to_string() })?;
        let mut placed = (**known).clone();
        placed.node = Some(node.clone());
        self.volumes.assume(plan, node)?;
        let assumed = AssumedPod { uid: placed.uid.clone(), node: node.clone() };
        self.assumed.insert(pod.clone(), assumed);
        self.seat(Arc::new(placed));
        Ok(())
    }

    /// Whether every claim of a plan is bound by now: then there is nothing to write and nothing to wait for.
    pub fn is_bound(&self, plan: &VolumePlan) -> bool {
        self.volumes.is_bound(plan)
    }

    /// Takes back an assumed placement, as far as no newer event did so already. A pod that was made anew under the same
    /// name, and has another uid, keeps its place.
    pub fn forget(&mut self, pod: &ObjectKey, uid: &str, plan: &VolumePlan) {
        self.volumes.forget(plan);
        if self.assumed.get(pod).is_some_and(|assumed| *assumed.uid == *uid) {
            self.assumed.remove(pod);
            self.unseat(pod);
            if let Some(known) = self.pods.get(pod).cloned() {
                self.seat(known);
            }
        }
    }

    /// Takes a pod out of the cluster while it is judged: it must not stand in its own way. Give it back with
    /// [`Catalog::put_back`].
    pub fn set_aside(&mut self, pod: &ObjectKey) -> Option<Arc<Pod>> {
        self.unseat(pod);
        self.pods.get(pod).cloned()
    }

    /// Gives back a pod that was set aside, also where its place is only assumed.
    pub fn put_back(&mut self, pod: &ObjectKey) {
        let Some(known) = self.pods.get(pod).cloned() else { return };
        match self.assumed.get(pod) {
            Some(assumed) => {
                let node = assumed.node.clone();
                self.seat(Arc::new(Pod { node: Some(node), ..(*known).clone() }));
            }
            None => self.seat(known),
        }
    }

    /// Tells the time, in seconds of any clock that does not go back. Space that was promised to volumes made long ago
    /// is then no longer counted twice. Returns the pools of which more counts from now on: to whoever waits for space they
    /// are as good as new ([`Change::Added`](crate::wakeups::Change::Added)), though no event tells of them.
    pub fn settle(&mut self, now: u64) -> Vec<Object> {
        self.volumes.pools.settle(now).into_iter().map(Object::Pool).collect()
    }

    /// The earliest second at which telling the time changes an answer; `None` where none would.
    pub fn settles_at(&self) -> Option<u64> {
        self.volumes.pools.settles_at()
    }

    fn set(&mut self, object: Object) -> bool {
        let (kind, key, version) = (object.kind(), object.key(), object.version());
        if version != 0 {
            let deleted = self.deleted.get(&(kind, key.clone()));
            if deleted.is_some_and(|at| version <= *at)
                || self.version(kind, &key).is_some_and(|known| version <= known)
            {
                return false;
            }
        }
        match object {
            Object::Node(node) => {
                let (name, labels) = (node.name.clone(), node.labels.clone());
                let index = self.nodes.set_node(node);
                self.volumes.set_node(index.as_usize(), &name, labels);
            }
            Object::Pod(pod) => self.set_pod(Arc::new(*pod)),
            Object::Volume(volume) => self.volumes.set_volume(Arc::new(volume)),
            Object::Claim(claim) => self.volumes.set_claim(Arc::new(claim)),
            Object::Class(class) => self.volumes.set_class(class),
            Object::Driver(driver) => self.volumes.set_driver(driver),
            Object::CsiNode(csi_node) => self.volumes.set_csi_node(csi_node),
            Object::Pool(pool) => self.volumes.set_pool(pool),
            Object::Attachment(attachment) => self.volumes.set_attachment(attachment),
            Object::Namespace(namespace) => {
                self.namespaces.insert(namespace.name.clone(), namespace);
            }
            Object::Workload(workload) => self.workloads.set(workload),
            Object::Budget(budget) => {
                self.budgets.insert(budget.key.clone(), budget);
            }
        }
        true
    }

    fn gone(&mut self, kind: Kind, key: &ObjectKey, version: Version) -> bool {
        let known = self.version(kind, key);
        if version != 0 {
            self.remember_deletion(kind, key, version);
            if known.is_some_and(|known| known > version) {
                // The deletion of an earlier object of the same name.
                return false;
            }
        }
        if known.is_none() {
            return false;
        }
        match kind {
            Kind::Node => {
                let index = self.nodes.by_name(&key.name).map(|row| row.index().as_usize());
                self.nodes.remove_node(&key.name);
                if let Some(index) = index {
                    self.volumes.remove_node(index, &key.name);
                }
            }
            Kind::Pod => {
                self.assumed.remove(key);
                self.unseat(key);
                self.pods.remove(key);
            }
            Kind::PersistentVolume => self.volumes.remove_volume(&key.name),
            Kind::PersistentVolumeClaim => self.volumes.remove_claim(key),
            Kind::StorageClass => self.volumes.remove_class(&key.name),
            Kind::CsiDriver => self.volumes.remove_driver(&key.name),
            Kind::CsiNode => self.volumes.remove_csi_node(&key.name),
            Kind::CsiStorageCapacity => self.volumes.remove_pool(key),
            Kind::VolumeAttachment => self.volumes.remove_attachment(&key.name),
            Kind::Namespace => {
                self.namespaces.remove(&key.name);
            }
            Kind::PodDisruptionBudget => {
                self.budgets.remove(key);
            }
            Kind::Service | Kind::ReplicationController | Kind::ReplicaSet | Kind::StatefulSet => {
                if let Some(workload) = workload_kind(kind) {
                    self.workloads.remove(workload, &key.namespace, &key.name);
                }
            }
        }
        true
    }

    /// The version of an object that is known; `None` where there is none.
    fn version(&self, kind: Kind, key: &ObjectKey) -> Option<Version> {
        let (v, name) = (&self.volumes, &*key.name);
        match kind {
            Kind::Node => self.nodes.by_name(name).map(|row| row.node().version),
            Kind::Pod => self.pods.get(key).map(|p| p.version),
            Kind::PersistentVolume => v.slab.by_name(name).map(|r| r.volume.version),
            Kind::PersistentVolumeClaim => v.claims.get(key).map(|r| r.claim.version),
            Kind::StorageClass => v.classes.get(name).map(|r| r.class.version),
            Kind::CsiDriver => v.drivers.get(name).map(|d| d.version),
            Kind::CsiNode => v.csi_nodes.get(name).map(|c| c.version),
            Kind::CsiStorageCapacity => v.pools.get(key).map(|r| r.pool.version),
            Kind::VolumeAttachment => v.attachments.get(name).map(|a| a.version),
            Kind::Namespace => self.namespaces.get(name).map(|n| n.version),
            Kind::PodDisruptionBudget => self.budgets.get(key).map(|b| b.version),
            Kind::Service | Kind::ReplicationController | Kind::ReplicaSet | Kind::StatefulSet => {
                self.workloads.get(workload_kind(kind)?, &key.namespace, &key.name).map(|w| w.version)
            }
        }
    }

    fn set_pod(&mut self, pod: Arc<Pod>) {
        let key = pod.key.clone();
        self.pods.insert(key.clone(), Arc::clone(&pod));
        let assumed = self.assumed.get(&key).filter(|a| a.uid == pod.uid && pod.node.is_none() && !pod.ended);
        if let Some(node) = assumed.map(|a| a.node.clone()) {
            // The API server does not know of our choice yet; it stands, with what is new of the pod.
            self.seat(Arc::new(Pod { node: Some(node), ..(*pod).clone() }));
            return;
        }
        self.assumed.remove(&key);
        self.unseat(&key);
        self.seat(pod);
    }

    /// Counts a placed pod where it is.
    pub(crate) fn seat(&mut self, pod: Arc<Pod>) {
        if pod.node.is_some() && !pod.ended {
            self.unseat(&pod.key);
            self.nodes.add_pod(Arc::clone(&pod));
            self.volumes.add_pod(pod);
        }
    }

    pub(crate) fn unseat(&mut self, key: &ObjectKey) {
        if let Some(pod) = self.nodes.remove_pod(key) {
            self.volumes.remove_pod(&pod);
        }
    }

    fn remember_deletion(&mut self, kind: Kind, key: &ObjectKey, version: Version) {
        let at = self.deleted.entry((kind, key.clone())).or_insert(0);
        if *at >= version {
            return;
        }
        *at = version;
        self.deletions.push_back((kind, key.clone(), version));
        if self.deletions.len() > REMEMBERED_DELETIONS
            && let Some((kind, key, version)) = self.deletions.pop_front()
            // A name that was deleted again since then stays for its newer deletion.
            && self.deleted.get(&(kind, key.clone())) == Some(&version)
        {
            self.deleted.remove(&(kind, key));
        }
    }
}

fn workload_kind(kind: Kind) -> Option<WorkloadKind> {
    match kind {
        Kind::Service => Some(WorkloadKind::Service),
        Kind::ReplicationController => Some(WorkloadKind::ReplicationController),
        Kind::ReplicaSet => Some(WorkloadKind::ReplicaSet),
        Kind::StatefulSet => Some(WorkloadKind::StatefulSet),
        _ => None,
    }
}
