//! What the binder knows: the engine's catalog of claims, volumes and classes, and who must be looked at again when one of
//! them changes. Kept when the event arrives; nothing here is scanned per claim.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_api::Interner;
use plimsoll_api::kinds::{Pod, StorageClass};
use plimsoll_engine::binder::ClaimStep;
use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::model::{self, AccessModes, VolumeMode, VolumePhase};
use plimsoll_engine::object::{Kind, Object};
use plimsoll_engine::quantity::Quantity;
use plimsoll_engine::{Catalog, Event, Promise};
use plimsoll_runtime::Mirrored;
use plimsoll_runtime::mirror::key_of;

use crate::world::{Claim, Volume};

/// Who must be looked at again.
#[derive(Debug, Default)]
pub struct Wake {
    /// Claims.
    pub claims: BTreeSet<ObjectKey>,
    /// Volumes.
    pub volumes: BTreeSet<Name>,
    /// Classes of which a volume became free: their claims may find one.
    pub classes: BTreeSet<Name>,
}

/// What the binder knows.
#[derive(Default)]
pub struct Ledger {
    /// Claims, volumes and classes.
    pub catalog: Catalog,
    names: Interner,
    /// Volume → the claims that name it, bound or not.
    naming: BTreeMap<Name, BTreeSet<ObjectKey>>,
    /// Class → the claims of it that are not bound. The empty class stands for none.
    unbound: BTreeMap<Name, BTreeSet<ObjectKey>>,
    /// Claim → the pods that name it and are not over, with whether they have a node.
    pods: BTreeMap<ObjectKey, BTreeMap<Name, bool>>,
    /// Volumes that were taken for claims in passing; see [`Ledger::match_class`].
    pub promises: BTreeMap<ObjectKey, (Name, Promise)>,
    /// Volumes that a claim is being bound to now: between the decision and the last write.
    pub binding: BTreeMap<Name, usize>,
    /// Class → how many of its volumes became free since its claims were last matched.
    freed: BTreeMap<Name, usize>,
}

impl Ledger {
    /// A volume came or changed.
    pub fn volume_set(&mut self, old: Option<&Volume>, new: &Volume) -> Wake {
        let name: Name = new.slim.metadata.name.as_str().into();
        let mut wake = Wake::default();
        wake.volumes.insert(name.clone());
        match new.slim.to_engine(&mut self.names) {
            Ok(volume) => {
                if volume.phase == VolumePhase::Available && volume.claim_ref.is_none() {
                    *self.freed.entry(volume.class.clone()).or_default() += 1;
                    wake.classes.insert(volume.class.clone());
                }
                self.catalog.apply(Event::Set(Object::Volume(volume)));
            }
            Err(error) => {
                tracing::error!(volume = %name, %error, "a volume cannot be read; nothing is done about it");
                self.forget(Kind::PersistentVolume, &cluster_wide(&name), new);
            }
        }
        self.wake_claims_of(&name, old, &mut wake);
        self.wake_claims_of(&name, Some(new), &mut wake);
        wake
    }

    /// A volume went.
    pub fn volume_gone(&mut self, old: &Volume) -> Wake {
        let name: Name = old.slim.metadata.name.as_str().into();
        self.forget(Kind::PersistentVolume, &cluster_wide(&name), old);
        let mut wake = Wake::default();
        self.wake_claims_of(&name, Some(old), &mut wake);
        wake
    }

    /// A claim came or changed.
    pub fn claim_set(&mut self, old: Option<&Claim>, new: &Claim) -> Wake {
        let key = key_of(new);
        if let Some(old) = old {
            self.unlink(&key, old);
        }
        let mut wake = Wake::default();
        wake.claims.insert(key.clone());
        match new.slim.to_engine(&mut self.names) {
            Ok(claim) => {
                if !claim.volume.is_empty() {
                    self.naming.entry(claim.volume.clone()).or_default().insert(key.clone());
                    wake.volumes.insert(claim.volume.clone());
                }
                if !claim.bind_completed {
                    self.unbound.entry(claim.class.clone()).or_default().insert(key.clone());
                }
                self.catalog.apply(Event::Set(Object::Claim(claim)));
            }
            Err(error) => {
                tracing::error!(claim = %key, %error, "a claim cannot be read; nothing is done about it");
                self.forget(Kind::PersistentVolumeClaim, &key, new);
            }
        }
        wake.volumes.extend(self.catalog.volumes_naming(&key).cloned());
        wake
    }

    /// A claim went.
    pub fn claim_gone(&mut self, old: &Claim) -> Wake {
        let key = key_of(old);
        self.unlink(&key, old);
        let mut wake = self.withdraw_promise(&key);
        self.forget(Kind::PersistentVolumeClaim, &key, old);
        wake.volumes.extend(self.catalog.volumes_naming(&key).cloned());
        let named = old.slim.spec.volume_name.as_str();
        if !named.is_empty() {
            wake.volumes.insert(named.into());
        }
        wake
    }

    /// A class came or changed. Claims without a class are looked at, too: it may be the default one.
    pub fn class_set(&mut self, new: &StorageClass) -> Wake {
        let name: Name = new.metadata.name.as_str().into();
        match new.to_engine(&mut self.names) {
            Ok(class) => {
                self.catalog.apply(Event::Set(Object::Class(class)));
            }
            Err(error) => {
                tracing::error!(class = %name, %error, "a class cannot be read; it is taken as not there");
                self.forget(Kind::StorageClass, &cluster_wide(&name), new);
            }
        }
        self.wake_class(&name)
    }

    /// A class went.
    pub fn class_gone(&mut self, old: &StorageClass) -> Wake {
        let name: Name = old.metadata.name.as_str().into();
        self.forget(Kind::StorageClass, &cluster_wide(&name), old);
        self.wake_class(&name)
    }

    /// A pod came, changed or went (`new` is `None`). Its claims say whom they wait for.
    pub fn pod_changed(&mut self, old: Option<&Pod>, new: Option<&Pod>) -> Wake {
        let mut wake = Wake::default();
        for (claim, pod) in old.into_iter().flat_map(uses) {
            if let Some(pods) = self.pods.get_mut(&claim) {
                pods.remove(&pod);
                if pods.is_empty() {
                    self.pods.remove(&claim);
                }
            }
            wake.claims.insert(claim);
        }
        if let Some(new) = new.filter(|pod| !is_over(pod)) {
            for (claim, pod) in uses(new) {
                self.pods.entry(claim.clone()).or_default().insert(pod, !new.spec.node_name.is_empty());
                wake.claims.insert(claim);
            }
        }
        // Bound claims do not wait for pods.
        wake.claims.retain(|claim| self.catalog.observed_claim(claim).is_some_and(|c| !c.bind_completed));
        wake
    }

    /// The pods that wait for a claim: named by them, not over, without a node.
    pub fn consumers(&self, claim: &ObjectKey) -> Vec<Name> {
        let pods = self.pods.get(claim).into_iter().flatten();
        pods.filter(|(_, placed)| !**placed).map(|(pod, _)| pod.clone()).collect()
    }

    /// The pods that use a claim, wherever they are.
    pub fn users(&self, claim: &ObjectKey) -> Vec<String> {
        let pods = self.pods.get(claim).into_iter().flatten();
        pods.map(|(pod, _)| format!("{}/{pod}", claim.namespace)).collect()
    }

    /// Matches the unbound claims of a class with volumes that became free since the last time, and takes those volumes
    /// for them. Returns the claims to be looked at, and how many were asked.
    ///
    /// A free volume concerns one claim, but which one only asking them shows. Asking all again for each volume would cost
    /// claims × volumes; so the volumes of a moment are gathered and handed out in one pass, which ends with the last.
    pub fn match_class(&mut self, class: &Name) -> (Vec<ObjectKey>, usize) {
        let mut freed = self.freed.remove(class).unwrap_or_default();
        let mut found = Vec::new();
        let mut asked = 0;
        // A hundred claims of one shape that nothing fits are one question.
        let mut hopeless: Vec<Shape> = Vec::new();
        let waiting: Vec<ObjectKey> = self.unbound.get(class).into_iter().flatten().cloned().collect();
        for key in &waiting {
            if freed == 0 {
                break;
            }
            let Some(claim) = self.catalog.observed_claim(key).cloned() else { continue };
            if !claim.volume.is_empty() || self.promises.contains_key(key) {
                continue;
            }
            if self.catalog.waits_for_consumer(&claim) {
                // All of them are of this class: none takes a volume by itself.
                break;
            }
            let shape = Shape::of(&claim);
            if self.catalog.volumes_naming(key).next().is_none() && hopeless.contains(&shape) {
                continue;
            }
            asked += 1;
            let ClaimStep::Bind(volume) = self.catalog.claim_step(&claim, &[]) else {
                if claim.selector.is_none() && hopeless.len() < SHAPES {
                    hopeless.push(shape);
                }
                continue;
            };
            if self.catalog.volumes_naming(key).any(|name| *name == volume) {
                // It has this one already, or it is being written: that is not one of those that became free.
                found.push(key.clone());
            } else if let Ok(promise) = self.catalog.promise(key, &volume) {
                freed -= 1;
                self.promises.insert(key.clone(), (volume, promise));
                found.push(key.clone());
            }
        }
        (found, asked)
    }

    /// The binding of a volume begins.
    pub fn begin(&mut self, volume: &Name) {
        *self.binding.entry(volume.clone()).or_default() += 1;
    }

    /// The binding of a volume ended, one way or the other.
    pub fn end(&mut self, volume: &Name) {
        if let Some(count) = self.binding.get_mut(volume) {
            *count -= 1;
            if *count == 0 {
                self.binding.remove(volume);
            }
        }
    }

    /// Takes back what was taken for a claim in passing.
    pub fn withdraw_promise(&mut self, claim: &ObjectKey) -> Wake {
        let promised = self.promises.remove(claim);
        self.withdraw(promised)
    }

    /// Takes back a promise. The volume is free again, which others may have waited for.
    pub fn withdraw(&mut self, promised: Option<(Name, Promise)>) -> Wake {
        let mut wake = Wake::default();
        if let Some((volume, promise)) = promised {
            self.catalog.withdraw(promise);
            if let Some(volume) = self.catalog.observed_volume(&volume).filter(|v| v.claim_ref.is_none()) {
                *self.freed.entry(volume.class.clone()).or_default() += 1;
                wake.classes.insert(volume.class.clone());
            }
            // Those that name it were told that it is another's.
            wake.claims.extend(self.naming.get(&volume).into_iter().flatten().cloned());
        }
        wake
    }

    /// Everything that may still have to be done, whatever the events said: unbound claims, and volumes on their way.
    pub fn unfinished(&self) -> Wake {
        let claims = self.unbound.values().flatten().cloned().collect();
        Wake { claims, ..Wake::default() }
    }

    fn wake_class(&self, name: &Name) -> Wake {
        let mut wake = Wake::default();
        for class in [name, &Name::from("")] {
            wake.claims.extend(self.unbound.get(class).into_iter().flatten().cloned());
        }
        wake
    }

    /// The claims that a volume names or that name it.
    fn wake_claims_of(&self, name: &Name, volume: Option<&Volume>, wake: &mut Wake) {
        if let Some(claim_ref) = volume.and_then(|v| v.slim.spec.claim_ref.as_ref()) {
            wake.claims.insert(ObjectKey::new(claim_ref.namespace.as_str(), claim_ref.name.as_str()));
        }
        wake.claims.extend(self.naming.get(name).into_iter().flatten().cloned());
    }

    fn unlink(&mut self, key: &ObjectKey, old: &Claim) {
        let Ok(old) = old.slim.to_engine(&mut self.names) else { return };
        remove(&mut self.naming, &old.volume, key);
        remove(&mut self.unbound, &old.class, key);
    }

    fn forget<T: Mirrored>(&mut self, kind: Kind, key: &ObjectKey, old: &T) {
        let version = old.meta().version();
        self.catalog.apply(Event::Gone { kind, key: key.clone(), version });
    }
}

/// How many shapes a pass remembers; beyond that it asks again.
const SHAPES: usize = 16;

/// What makes claims of one class find the same volumes, where they have no selector.
#[derive(Clone, Debug, PartialEq)]
struct Shape {
    request: Quantity,
    access_modes: AccessModes,
    mode: VolumeMode,
    attributes_class: Name,
    selects: bool,
}

impl Shape {
    fn of(claim: &model::Claim) -> Self {
        Self {
            request: claim.requested(),
            access_modes: claim.access_modes,
            mode: claim.mode,
            attributes_class: claim.attributes_class.clone(),
            selects: claim.selector.is_some(),
        }
    }
}

fn remove(index: &mut BTreeMap<Name, BTreeSet<ObjectKey>>, at: &Name, key: &ObjectKey) {
    if let Some(keys) = index.get_mut(at) {
        keys.remove(key);
        if keys.is_empty() {
            index.remove(at);
        }
    }
}

fn cluster_wide(name: &Name) -> ObjectKey {
    ObjectKey { namespace: Name::from(""), name: name.clone() }
}

/// Whether a pod has run to its end.
fn is_over(pod: &Pod) -> bool {
    matches!(pod.status.phase.as_str(), "Succeeded" | "Failed")
}

/// The claims that a pod names, each with the pod's name.
fn uses(pod: &Pod) -> impl Iterator<Item = (ObjectKey, Name)> {
    let meta = &pod.metadata;
    pod.spec.volumes.iter().filter_map(move |volume| {
        let claim = match (&volume.persistent_volume_claim, &volume.ephemeral) {
            (Some(source), _) => source.claim_name.clone(),
            (None, Some(_)) => format!("{}-{}", meta.name, volume.name),
            (None, None) => return None,
        };
        Some((ObjectKey::new(meta.namespace.as_str(), claim.as_str()), Name::from(meta.name.as_str())))
    })
}
