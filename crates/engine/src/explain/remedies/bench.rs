//! The bench: a copy of the cluster in which changes are made, judged and taken back.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::catalog::{Catalog, Event};
use crate::gates::Gates;
use crate::labels::{Name, ObjectKey};
use crate::model::Pod;
use crate::object::{Kind, Object};
use crate::rules::Rules;

/// A change of the cluster, or of the pod that is judged.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// Objects come or change: one that somebody edits, and those that follow from it by themselves.
    Set(Vec<Object>),
    /// An object goes.
    Gone(Kind, ObjectKey),
    /// Another placed pod goes.
    WithoutPod(ObjectKey),
    /// The judged pod is another.
    Judge(Box<Pod>),
}

/// How a change is taken back.
enum Undo {
    Set(Box<Object>),
    Gone(Kind, ObjectKey),
    Seat(Arc<Pod>),
}

/// A copy of the cluster to try changes in.
pub(super) struct Bench<'c> {
    original: &'c Catalog,
    scratch: Catalog,
    pod: &'c Pod,
    rules: Rules,
    /// Whether the catalog holds more than its objects say, because placements are assumed. Setting an object back as it
    /// was then loses something, and a new copy is needed.
    assuming: bool,
    /// How much more a pool was found to need, by the pool and the field. Many nodes reach one pool.
    pub(super) enough: BTreeMap<(ObjectKey, &'static str), i64>,
}

impl<'c> Bench<'c> {
    pub(super) fn new(original: &'c Catalog, pod: &'c Pod, gates: Gates) -> Self {
        let assuming = original.volumes.claims.values().any(|r| r.ours || r.observed.is_some());
        Self { original, scratch: original.clone(), pod, rules: Rules::new(gates), assuming, enough: BTreeMap::new() }
    }

    /// The cluster as it is.
    pub(super) fn catalog(&self) -> &'c Catalog {
        self.original
    }

    /// Decides again with a change made: the node that then fits, which is `node` where one is asked for.
    pub(super) fn prove(&mut self, change: &Change, node: Option<&Name>) -> Option<Name> {
        if let Change::Judge(pod) = change {
            return self.fits(pod, node);
        }
        let undo = self.make(change);
        let found = self.fits(self.pod, node);
        self.take_back(undo);
        found
    }

    /// The smallest number from `low` to `high` with which a change is enough for the node; `None` where even `high` is
    /// not. More must never be worse.
    pub(super) fn smallest(&mut self, low: i64, high: i64, node: &Name, change: impl Fn(i64) -> Change) -> Option<i64> {
        if low > high {
            return None;
        }
        self.prove(&change(high), Some(node))?;
        // Most answers are near the low end: find their range by doubling, and then halve it.
        let (mut low, mut high) = (low, high);
        let mut step = 1i64;
        let mut probe = low;
        while probe < high {
            if self.prove(&change(probe), Some(node)).is_some() {
                high = probe;
                break;
            }
            low = probe.saturating_add(1);
            probe = probe.saturating_add(step).min(high);
            step = step.saturating_mul(2);
        }
        while low < high {
            let middle = low + (high - low) / 2;
            match self.prove(&change(middle), Some(node)) {
                Some(_) => high = middle,
                None => low = middle + 1,
            }
        }
        Some(high)
    }

    fn fits(&self, pod: &Pod, node: Option<&Name>) -> Option<Name> {
        let Some(node) = node else {
            return self.scratch.choose_by(pod, &self.rules, &[]).ok().flatten().map(|choice| choice.node);
        };
        self.scratch.plan_on(pod, &self.rules, node).map(|_| node.clone())
    }

    fn make(&mut self, change: &Change) -> Vec<Undo> {
        match change {
            Change::Set(objects) => objects.iter().map(|object| self.set(object.clone())).collect(),
            Change::Gone(kind, key) => {
                let before = existing(&self.scratch, *kind, key);
                self.scratch.apply(Event::Gone { kind: *kind, key: key.clone(), version: 0 });
                before.map(|object| Undo::Set(Box::new(object))).into_iter().collect()
            }
            Change::WithoutPod(key) => {
                let seat = self.scratch.nodes.remove_pod(key);
                if let Some(pod) = &seat {
                    self.scratch.volumes.remove_pod(pod);
                }
                seat.map(Undo::Seat).into_iter().collect()
            }
            Change::Judge(_) => Vec::new(),
        }
    }

    fn set(&mut self, object: Object) -> Undo {
        let (kind, key) = (object.kind(), object.key());
        let undo = match existing(&self.scratch, kind, &key) {
            Some(before) => Undo::Set(Box::new(before)),
            None => Undo::Gone(kind, key),
        };
        // An event without a version is taken whatever is known.
        self.scratch.apply(Event::Set(unversioned(object)));
        undo
    }

    fn take_back(&mut self, undo: Vec<Undo>) {
        let loses =
            |kind| matches!(kind, Kind::CsiStorageCapacity | Kind::PersistentVolume | Kind::PersistentVolumeClaim);
        let mut stale = false;
        for step in undo.into_iter().rev() {
            match step {
                Undo::Set(object) => {
                    stale |= loses(object.kind());
                    self.scratch.apply(Event::Set(*object));
                }
                Undo::Gone(kind, key) => {
                    self.scratch.apply(Event::Gone { kind, key, version: 0 });
                }
                Undo::Seat(pod) => {
                    self.scratch.nodes.add_pod(Arc::clone(&pod));
                    self.scratch.volumes.add_pod(pod);
                }
            }
        }
        if stale && self.assuming {
            self.scratch = self.original.clone();
        }
    }
}

/// An object as the catalog has it, of the kinds that changes are about.
fn existing(catalog: &Catalog, kind: Kind, key: &ObjectKey) -> Option<Object> {
    let (volumes, name) = (&catalog.volumes, &*key.name);
    match kind {
        Kind::Node => catalog.nodes.by_name(name).map(|row| Object::Node(row.node().clone())),
        Kind::PersistentVolume => volumes.slab.by_name(name).map(|r| Object::Volume((*r.volume).clone())),
        Kind::PersistentVolumeClaim => volumes.claims.get(key).map(|r| Object::Claim((*r.claim).clone())),
        Kind::StorageClass => volumes.classes.get(name).map(|r| Object::Class(r.class.clone())),
        Kind::CsiNode => volumes.csi_nodes.get(name).map(|c| Object::CsiNode(c.clone())),
        Kind::CsiStorageCapacity => volumes.pools.get(key).map(|r| Object::Pool(r.pool.clone())),
        Kind::VolumeAttachment => volumes.attachments.get(name).map(|a| Object::Attachment(a.clone())),
        _ => None,
    }
}

fn unversioned(mut object: Object) -> Object {
    match &mut object {
        Object::Node(o) => o.version = 0,
        Object::Volume(o) => o.version = 0,
        Object::Claim(o) => o.version = 0,
        Object::Class(o) => o.version = 0,
        Object::CsiNode(o) => o.version = 0,
        Object::Pool(o) => o.version = 0,
        _ => {}
    }
    object
}
