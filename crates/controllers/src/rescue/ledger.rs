//! What rescue knows: the engine's catalog, and which placed pods use which claims.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_api::kinds::pod::PodVolume;
use plimsoll_api::kinds::{CsiDriver, CsiNode, CsiStorageCapacity, Node, Pod, StorageClass};
use plimsoll_api::{ConvertError, Interner};
use plimsoll_engine::gates::Gates;
use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::model::{PodVolumeSource, Version};
use plimsoll_engine::object::{Kind, Object};
use plimsoll_engine::placement::Placement;
use plimsoll_engine::reason::Refusal;
use plimsoll_engine::volumes::VolumePlan;
use plimsoll_engine::{Catalog, Event};
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::{Change, Error, Mirrored};

use crate::world::{Claim, Volume};

/// What is to be done for a pod.
#[derive(Debug)]
pub enum Verdict {
    /// All its claims are bound or on their way.
    Nothing,
    /// This is to be written.
    Fits(VolumePlan),
    /// The claims cannot be met on the pod's node, and why.
    Refused(String),
}

/// What rescue knows.
#[derive(Default)]
pub struct Ledger {
    catalog: Catalog,
    names: Interner,
    /// Claim → the pods on nodes that use it: who is looked at when the claim changes.
    users: BTreeMap<ObjectKey, BTreeSet<ObjectKey>>,
    /// The same from the other side.
    using: BTreeMap<ObjectKey, BTreeSet<ObjectKey>>,
}

impl Ledger {
    /// A pod came or changed. Returns it where it is on a node and has a claim that is not bound.
    pub fn pod_set(&mut self, new: &Pod) -> Option<ObjectKey> {
        let key = key_of(new);
        self.unlink(&key);
        let placed = super::is_ours(new);
        let mut unbound = false;
        for claim in claims_of(new).filter(|_| placed) {
            unbound |= !self.catalog.observed_claim(&claim).is_some_and(|c| c.is_fully_bound());
            self.users.entry(claim.clone()).or_default().insert(key.clone());
            self.using.entry(key.clone()).or_default().insert(claim);
        }
        // Pods count where they hold volumes; the others would only take space here.
        match new.to_engine(&mut self.names) {
            Ok(pod) if pod.volumes.iter().any(|v| v.source != PodVolumeSource::Other) => {
                self.catalog.apply(Event::Set(Object::Pod(Box::new(pod))));
            }
            Ok(_) => {}
            Err(error) => {
                unreadable(&key, &error);
                self.forget_object(Kind::Pod, &key, new);
            }
        }
        unbound.then_some(key)
    }

    /// A pod went.
    pub fn pod_gone(&mut self, old: &Pod) {
        let key = key_of(old);
        self.unlink(&key);
        self.forget_object(Kind::Pod, &key, old);
    }

    /// A claim came or changed. Returns the pods to look at: none where it is bound.
    pub fn claim_set(&mut self, new: &Claim) -> Vec<ObjectKey> {
        let key = key_of(new);
        let read = new.slim.to_engine(&mut self.names);
        let bound = read.as_ref().is_ok_and(|claim| claim.is_fully_bound());
        self.note(Kind::PersistentVolumeClaim, key.clone(), new, read.map(Object::Claim));
        if bound { Vec::new() } else { self.users_of(&key) }
    }

    /// A claim went. Its pods are refused now, and say so.
    pub fn claim_gone(&mut self, old: &Claim) -> Vec<ObjectKey> {
        let key = key_of(old);
        self.forget_object(Kind::PersistentVolumeClaim, &key, old);
        self.users_of(&key)
    }

    /// A volume came, changed or went.
    pub fn volume(&mut self, change: &Change<Volume>) {
        self.change(Kind::PersistentVolume, change, |volume, names| volume.slim.to_engine(names).map(Object::Volume));
    }

    /// A node came, changed or went.
    pub fn node(&mut self, change: &Change<Node>) {
        self.change(Kind::Node, change, |node, names| node.to_engine(names).map(Object::Node));
    }

    /// A class came, changed or went.
    pub fn class(&mut self, change: &Change<StorageClass>) {
        self.change(Kind::StorageClass, change, |class, names| class.to_engine(names).map(Object::Class));
    }

    /// A CSINode came, changed or went.
    pub fn csi_node(&mut self, change: &Change<CsiNode>) {
        self.change(Kind::CsiNode, change, |node, names| node.to_engine(names).map(Object::CsiNode));
    }

    /// A CSIDriver came, changed or went.
    pub fn driver(&mut self, change: &Change<CsiDriver>) {
        self.change(Kind::CsiDriver, change, |driver, names| driver.to_engine(names).map(Object::Driver));
    }

    /// A CSIStorageCapacity came, changed or went.
    pub fn pool(&mut self, change: &Change<CsiStorageCapacity>) {
        self.change(Kind::CsiStorageCapacity, change, |pool, names| pool.to_engine(names).map(Object::Pool));
    }

    /// Decides what is to be done for a pod on its node. `now` is in seconds of any clock.
    pub fn judge(&mut self, key: &ObjectKey, gates: Gates, now: u64) -> Verdict {
        self.catalog.settle(now);
        // It must not stand in its own way: it is counted on its node already.
        let Some(pod) = self.catalog.set_aside(key) else { return Verdict::Nothing };
        let verdict = self.judge_aside(&pod, gates);
        self.catalog.put_back(key);
        verdict
    }

    fn judge_aside(&self, pod: &plimsoll_engine::model::Pod, gates: Gates) -> Verdict {
        let Some(node) = &pod.node else { return Verdict::Nothing };
        if !self.has_delayed_claim(&pod.key) {
            return Verdict::Nothing;
        }
        let volumes = self.catalog.volumes_of(pod, gates);
        if !volumes.pod_refusals().is_empty() {
            return Verdict::Refused(words(volumes.pod_refusals()));
        }
        let Some(row) = self.catalog.nodes().by_name(node) else {
            return Verdict::Refused(format!("the pod's node {node} does not exist"));
        };
        let plan = volumes.plan(row.index());
        if plan.is_bound() {
            // Where the pod cannot reach what is bound, its kubelet says so.
            return Verdict::Nothing;
        }
        let refusals = volumes.refusals(row.index());
        if refusals.is_empty() && plan.is_complete() { Verdict::Fits(plan) } else { Verdict::Refused(words(&refusals)) }
    }

    /// Whether a pod uses a claim that waits for its first consumer. Where none does, whatever else is missing comes without
    /// us, or is for others to say.
    fn has_delayed_claim(&self, pod: &ObjectKey) -> bool {
        let waits = |claim: &ObjectKey| {
            let claim = self.catalog.observed_claim(claim);
            claim.is_some_and(|c| !c.is_fully_bound() && c.volume.is_empty() && self.catalog.waits_for_consumer(c))
        };
        self.using.get(pod).into_iter().flatten().any(waits)
    }

    /// Assumes a plan, so that the next decision sees it, and begins to write it.
    pub fn begin(&mut self, pod: &ObjectKey, node: &Name, plan: &VolumePlan) -> Result<Placement, Error> {
        self.catalog.assume(pod, node, plan).map_err(|e| Error::Conflict(e.to_string()))?;
        Ok(Placement::begin(&self.catalog, pod, node, plan))
    }

    /// Takes back what was assumed.
    pub fn forget(&mut self, pod: &ObjectKey, uid: &str, plan: &VolumePlan) {
        self.catalog.forget(pod, uid, plan);
    }

    /// What a placement is judged by.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    fn users_of(&self, claim: &ObjectKey) -> Vec<ObjectKey> {
        self.users.get(claim).into_iter().flatten().cloned().collect()
    }

    fn unlink(&mut self, pod: &ObjectKey) {
        for claim in self.using.remove(pod).into_iter().flatten() {
            if let Some(pods) = self.users.get_mut(&claim) {
                pods.remove(pod);
                if pods.is_empty() {
                    self.users.remove(&claim);
                }
            }
        }
    }

    fn change<T: Mirrored>(
        &mut self,
        kind: Kind,
        change: &Change<T>,
        read: impl Fn(&T, &mut Interner) -> Result<Object, ConvertError>,
    ) {
        match change {
            Change::Set { new, .. } => {
                let object = read(new, &mut self.names);
                self.note(kind, key_of(&**new), &**new, object);
            }
            Change::Gone { old } => self.forget_object(kind, &key_of(&**old), &**old),
        }
    }

    /// Takes note of an object; one that cannot be read is taken as not there.
    fn note<T: Mirrored>(&mut self, kind: Kind, key: ObjectKey, object: &T, read: Result<Object, ConvertError>) {
        match read {
            Ok(read) => {
                self.catalog.apply(Event::Set(read));
            }
            Err(error) => {
                unreadable(&key, &error);
                self.forget_object(kind, &key, object);
            }
        }
    }

    fn forget_object<T: Mirrored>(&mut self, kind: Kind, key: &ObjectKey, old: &T) {
        let version: Version = old.meta().version();
        self.catalog.apply(Event::Gone { kind, key: key.clone(), version });
    }
}

fn unreadable(key: &ObjectKey, error: &ConvertError) {
    tracing::error!(object = %key, %error, "an object cannot be read; rescue takes it as not there");
}

/// The engine's refusals as one sentence: upstream's reason, then ours.
fn words(refusals: &[Refusal]) -> String {
    let parts: Vec<String> = refusals.iter().map(|r| format!("{}: {}", r.reason, r.detail)).collect();
    parts.join("; ")
}

/// The claims that a pod names, and those that will be made for it.
fn claims_of(pod: &Pod) -> impl Iterator<Item = ObjectKey> {
    let meta = &pod.metadata;
    pod.spec.volumes.iter().filter_map(move |volume: &PodVolume| {
        let name = match (&volume.persistent_volume_claim, &volume.ephemeral) {
            (Some(source), _) => source.claim_name.clone(),
            (None, Some(_)) => format!("{}-{}", meta.name, volume.name),
            (None, None) => return None,
        };
        Some(ObjectKey::new(meta.namespace.as_str(), name))
    })
}
