//! What a change touches.

use crate::catalog::Catalog;
use crate::collections::Set;
use crate::labels::{Labels, Name};
use crate::model::{Claim, Pod, Resources, Volume, VolumeSource};
use crate::object::Object;
use crate::volumes::{claims_of, is_free};
use crate::wakeups::change::{gives_back, place, taints_differ};
use crate::wakeups::pods::usable;
use crate::wakeups::volumes::{loosened_drivers, promise, volume_differs};
use crate::wakeups::wait::carried;
use crate::wakeups::{Change, Key};

/// What a change touches.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    pub(super) keys: Set<Key>,
    pub(super) free: Vec<Free>,
    /// The largest volume for which there is room now where a promise was taken back; `None` where that cannot be said.
    pub(super) room: Option<i64>,
}

/// Room on a node that may be more than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Free {
    /// The node.
    pub node: Name,
    /// What is left there.
    pub left: Resources,
    /// The lowest priority of a pod there: whoever is above it may have it removed.
    pub lowest: Option<i32>,
}

impl Touched {
    /// What is touched, room on nodes aside.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.keys.iter()
    }

    /// The nodes that may have more room than before.
    pub fn free(&self) -> &[Free] {
        &self.free
    }

    fn note(&mut self, keys: impl IntoIterator<Item = Key>) {
        self.keys.extend(keys);
    }

    /// A driver's slots, and so the slots of drivers that nobody can name.
    fn note_slots(&mut self, driver: &Name) {
        self.note([Key::Slots(driver.clone()), Key::SomeSlots]);
    }

    fn note_any_slots(&mut self) {
        self.note([Key::AnySlots, Key::SomeSlots]);
    }

    /// The ways in which somebody may look for a pod like this.
    fn note_labels(&mut self, namespace: &Name, labels: &Labels) {
        for namespace in [Some(namespace.clone()), None] {
            self.note([Key::Pods(namespace.clone())]);
            self.note(labels.iter().map(|(key, value)| Key::Label {
                namespace: namespace.clone(),
                key: key.clone(),
                value: value.clone(),
            }));
        }
    }
}

impl Catalog {
    /// What a change touches that the catalog has just been told of.
    pub fn touched_by(&self, change: Change<'_>) -> Touched {
        let mut touched = Touched::default();
        if !is_heartbeat(change) {
            touched.note([Key::Anything]);
        }
        for part in change.parts() {
            match part {
                Change::Added(object) => self.note_one(object, None, &mut touched),
                Change::Updated { old, new } => self.note_one(new, Some(old), &mut touched),
                Change::Deleted(object) => self.note_gone(object, &mut touched),
            }
        }
        touched
    }

    /// An object that is there now.
    fn note_one(&self, new: &Object, old: Option<&Object>, touched: &mut Touched) {
        match (new, old) {
            (Object::Node(node), None) => {
                touched.note([Key::NewNode]);
                self.note_free(&node.name, touched);
            }
            (Object::Node(new), Some(Object::Node(old))) => {
                if new.labels != old.labels {
                    touched.note([Key::NodeLabels]);
                }
                if taints_differ(old, new) {
                    touched.note([Key::NodeTaints]);
                }
                if new.features != old.features {
                    touched.note([Key::NodeFeatures]);
                }
                if new.allocatable != old.allocatable {
                    self.note_free(&new.name, touched);
                }
            }
            (Object::Pod(new), None) => {
                touched.note_labels(&new.key.namespace, &new.labels);
                self.note_handles(new, touched);
            }
            (Object::Pod(new), Some(Object::Pod(old))) => {
                if new.labels != old.labels || new.deleting != old.deleting {
                    touched.note_labels(&old.key.namespace, &old.labels);
                    touched.note_labels(&new.key.namespace, &new.labels);
                }
                if new.required_anti_affinity != old.required_anti_affinity {
                    note_keeping_away(old, touched);
                }
                if let Some(node) = place(new).filter(|_| gives_back(old, new)) {
                    self.note_free(node, touched);
                }
            }
            (Object::Claim(new), Some(Object::Claim(old))) => {
                touched.note([Key::Claim(new.key.clone())]);
                if promise(old) != promise(new) {
                    self.note_promise(old, touched);
                }
                if self.volumes.users.contains_key(&new.key) && (old.volume != new.volume || old.class != new.class) {
                    // By another name it may count for another driver.
                    self.note_claim_slots(old, touched);
                    self.note_claim_handles(new, touched);
                }
            }
            (Object::Claim(new), _) => {
                touched.note([Key::Claim(new.key.clone())]);
                self.note_claim_handles(new, touched);
            }
            (Object::Volume(new), old) => {
                let old = match old {
                    Some(Object::Volume(old)) if !volume_differs(old, new) => return,
                    Some(Object::Volume(old)) => Some(old),
                    _ => None,
                };
                note_volume(new, touched);
                old.into_iter().for_each(|old| note_volume(old, touched));
                if is_free(new) {
                    touched.note([Key::VolumesOf(new.class.clone())]);
                }
                if old.is_some_and(|old| old.source != new.source || old.labels != new.labels)
                    || self.volumes.is_named(&new.name)
                {
                    touched.note_any_slots();
                }
            }
            (Object::Class(class), old) => {
                touched.note([Key::Class(class.name.clone())]);
                if matches!(old, Some(Object::Class(old)) if old.provisioner != class.provisioner) {
                    touched.note_any_slots();
                }
            }
            (Object::Driver(driver), _) => touched.note([Key::Driver(driver.name.clone())]),
            (Object::CsiNode(new), Some(Object::CsiNode(old))) => {
                loosened_drivers(old, new).for_each(|driver| touched.note_slots(driver));
                if old.migrated_plugins != new.migrated_plugins {
                    touched.note([Key::CsiNodes]);
                }
            }
            (Object::CsiNode(_), _) => {
                touched.note([Key::CsiNodes]);
                touched.note_any_slots();
            }
            (Object::Pool(new), old) => {
                touched.note([Key::PoolsOf(new.class.clone())]);
                if let Some(Object::Pool(old)) = old {
                    touched.note([Key::PoolsOf(old.class.clone())]);
                }
            }
            (Object::Attachment(new), old) => {
                let record = new.volume.as_ref().and_then(|volume| self.volumes.slab.by_name(volume));
                if let Some(VolumeSource::Csi { handle, .. }) = record.map(|r| &r.volume.source) {
                    touched.note([Key::Handle(new.attacher.clone(), handle.clone())]);
                }
                if let Some(free) = record.map(|r| &r.volume).filter(|volume| is_free(volume)) {
                    touched.note([Key::AnyVolumeOf(free.class.clone())]);
                }
                if let Some(Object::Attachment(old)) = old {
                    touched.note_slots(&old.attacher);
                }
            }
            (Object::Namespace(_), _) => touched.note([Key::Namespaces]),
            (Object::Workload(workload), _) => touched.note([Key::Workloads(workload.key.namespace.clone())]),
            (Object::Budget(_), _) => {}
            // Two kinds under one key: no watch tells such a thing.
            (Object::Node(_) | Object::Pod(_), Some(_)) => {}
        }
    }

    /// An object that is there no more.
    fn note_gone(&self, old: &Object, touched: &mut Touched) {
        match old {
            Object::Node(_) => touched.note([Key::NodeGone]),
            Object::Pod(gone) => {
                touched.note_labels(&gone.key.namespace, &gone.labels);
                touched.note(gone.host_ports.iter().map(|port| Key::Port(port.port)));
                touched.note(gone.volumes.iter().filter_map(|volume| Key::disk(&volume.source)));
                note_keeping_away(gone, touched);
                self.note_gone_claims(gone, touched);
                if let Some(node) = place(gone) {
                    self.note_free(node, touched);
                }
            }
            Object::Claim(claim) => {
                touched.note([Key::Claim(claim.key.clone())]);
                self.note_promise(claim, touched);
                if self.volumes.users.contains_key(&claim.key) {
                    self.note_claim_slots(claim, touched);
                }
            }
            Object::Volume(volume) => {
                note_volume(volume, touched);
                // What is left over of it on some node does not count any more.
                if let VolumeSource::Csi { driver, .. } = &volume.source {
                    touched.note_slots(driver);
                }
                touched.note_any_slots();
            }
            Object::Class(class) => {
                touched.note([Key::Class(class.name.clone())]);
                touched.note_any_slots();
            }
            Object::Driver(driver) => touched.note([Key::Driver(driver.name.clone())]),
            Object::CsiNode(_) => {
                touched.note([Key::CsiNodes]);
                touched.note_any_slots();
            }
            Object::Pool(pool) => touched.note([Key::PoolsOf(pool.class.clone())]),
            Object::Attachment(attachment) => touched.note_slots(&attachment.attacher),
            Object::Namespace(_) => touched.note([Key::Namespaces]),
            Object::Workload(workload) => touched.note([Key::Workloads(workload.key.namespace.clone())]),
            Object::Budget(_) => {}
        }
    }

    /// What is left on a node, where there may be more of it.
    fn note_free(&self, node: &Name, touched: &mut Touched) {
        let Some(row) = self.nodes.by_name(node) else { return };
        let mut left = row.node().allocatable.clone();
        left.subtract(row.requested());
        let lowest = row.pods().iter().map(|placed| placed.pod().priority).min();
        touched.free.push(Free { node: node.clone(), left, lowest });
    }

    /// What the claims of a pod that left its place gave back: slots, and what was only promised to them.
    fn note_gone_claims(&self, gone: &Pod, touched: &mut Touched) {
        for (driver, _) in self.volumes.wanted_ids(gone) {
            touched.note_slots(&driver);
        }
        for (key, _) in claims_of(gone) {
            match self.volumes.claims.get(&key) {
                Some(record) if !record.claim.is_fully_bound() => {
                    let class = &record.claim.class;
                    touched.note([Key::VolumesOf(class.clone()), Key::PoolsOf(class.clone())]);
                }
                Some(_) => {}
                // Gone before its pod: one cannot say any more what it was.
                None => touched.note_any_slots(),
            }
            touched.note([Key::UsersOf(key)]);
        }
    }

    /// Volumes that a pod brought to its node: others that use them need not attach them again.
    fn note_handles(&self, pod: &Pod, touched: &mut Touched) {
        touched.note(self.volumes.wanted_ids(pod).into_iter().map(|(driver, handle)| Key::Handle(driver, handle)));
    }

    fn note_claim_slots(&self, claim: &Claim, touched: &mut Touched) {
        match self.volumes.volume_id(claim, true) {
            Some((driver, _)) => touched.note_slots(&driver),
            None => touched.note_any_slots(),
        }
    }

    fn note_claim_handles(&self, claim: &Claim, touched: &mut Touched) {
        if self.volumes.users.contains_key(&claim.key)
            && let Some((driver, handle)) = self.volumes.volume_id(claim, true)
        {
            touched.note([Key::Handle(driver, handle)]);
        }
    }

    /// Space that was promised to a claim, and is not any more.
    fn note_promise(&self, old: &Claim, touched: &mut Touched) {
        let Some((node, _, class)) = promise(old) else { return };
        touched.note([Key::PoolsOf(class.clone())]);
        touched.room = self.volumes.room_at(class, node);
    }
}

/// Nodes say every few seconds that they live; nothing that anybody waits for is in that.
fn is_heartbeat(change: Change<'_>) -> bool {
    matches!(change, Change::Updated { old: Object::Node(old), new: Object::Node(new) }
        if old.labels == new.labels
            && !taints_differ(old, new)
            && old.features == new.features
            && old.allocatable == new.allocatable)
}

fn note_volume(volume: &Volume, touched: &mut Touched) {
    touched.note([Key::Volume(volume.name.clone()), Key::AnyVolumeOf(volume.class.clone())]);
    touched.note(volume.claim_ref.iter().map(|claim_ref| Key::Claim(claim_ref.claim.clone())));
}

/// Whom a pod kept away that does so no more.
fn note_keeping_away(gone: &Pod, touched: &mut Touched) {
    for term in &gone.required_anti_affinity {
        match usable(&term.selector).map(carried) {
            None => {}
            Some(Some((key, values))) => {
                touched.note(values.iter().map(|value| Key::KeepsAway { key: key.clone(), value: value.clone() }));
            }
            Some(None) => touched.note([Key::KeepsAwayAny]),
        }
    }
}
