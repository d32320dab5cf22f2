//! Whose object is whose: the children of an owner, adoption of those that lost theirs, release of those that no longer fit.
//!
//! ```text
//!                 selector matches, owner lives: adopt
//!      orphan ────────────────────────────────────────► child
//!        ▲                                                │
//!        └──────── selector no longer matches: release ───┘
//! ```

mod wake;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_api::kinds::{ObjectMeta, OwnerReference};
use plimsoll_engine::labels::{Labels, ObjectKey};
use plimsoll_engine::selector::LabelSelector;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::{Change, Error, Mirror, Mirrored, Objects, Resource, Whole};
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub use wake::{controller_key, selecting, wake};

/// Children by their owner's uid and orphans by their namespace: to look for either costs what is found, not what there is.
#[derive(Clone, Default)]
pub struct Children(Arc<Mutex<Index>>);

#[derive(Default)]
struct Index {
    by_owner: BTreeMap<String, BTreeSet<ObjectKey>>,
    orphans: BTreeMap<String, BTreeSet<ObjectKey>>,
}

impl Children {
    /// Follows a mirror. Must be made before the mirror is fed.
    pub fn of<T: Mirrored>(mirror: &Mirror<T>) -> Self {
        let children = Self::default();
        let index = children.clone();
        mirror.listen(move |change| {
            let mut index = index.0.lock().unwrap_or_else(PoisonError::into_inner);
            match change {
                Change::Set { old, new } => {
                    if let Some(old) = old {
                        index.set(old.meta(), &key_of(&**old), false);
                    }
                    index.set(new.meta(), &key_of(&**new), true);
                }
                Change::Gone { old } => index.set(old.meta(), &key_of(&**old), false),
            }
        });
        children
    }

    /// The children of the owner with this uid, in order of their keys.
    pub fn of_owner(&self, uid: &str) -> Vec<ObjectKey> {
        let index = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        index.by_owner.get(uid).into_iter().flatten().cloned().collect()
    }

    /// The same, as the mirror that this follows has them.
    pub fn get<T: Mirrored>(&self, mirror: &Mirror<T>, uid: &str) -> Vec<Arc<T>> {
        self.of_owner(uid).iter().filter_map(|key| mirror.get(key)).collect()
    }

    /// The objects of a namespace that nobody controls.
    pub fn orphans(&self, namespace: &str) -> Vec<ObjectKey> {
        let index = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        index.orphans.get(namespace).into_iter().flatten().cloned().collect()
    }
}

impl Index {
    fn set(&mut self, meta: &ObjectMeta, key: &ObjectKey, there: bool) {
        let (map, place) = match meta.controller() {
            Some(owner) => (&mut self.by_owner, owner.uid.as_str()),
            None => (&mut self.orphans, meta.namespace.as_str()),
        };
        if there {
            map.entry(place.to_owned()).or_default().insert(key.clone());
        } else if let Some(keys) = map.get_mut(place) {
            keys.remove(key);
            if keys.is_empty() {
                map.remove(place);
            }
        }
    }
}

/// The owner of others: what a reference to it says.
#[derive(Clone, Debug)]
pub struct Owner {
    /// Its kind.
    pub resource: Resource,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Whether it is being deleted: it adopts nothing then.
    pub deleting: bool,
}

impl Owner {
    /// The owner that an object is.
    pub fn of<T: Mirrored>(object: &T) -> Self {
        let meta = object.meta();
        Self {
            resource: T::RESOURCE,
            namespace: meta.namespace.clone(),
            name: meta.name.clone(),
            uid: meta.uid.clone(),
            deleting: meta.deletion_timestamp.0,
        }
    }

    /// What stands in `metadata.ownerReferences` of its children.
    pub fn reference(&self) -> Value {
        json!({
            "apiVersion": self.resource.api_version(), "kind": self.resource.kind, "name": self.name, "uid": self.uid,
            "controller": true, "blockOwnerDeletion": true,
        })
    }

    /// Whether a reference names it.
    pub fn is(&self, reference: &OwnerReference) -> bool {
        reference.uid == self.uid
    }
}

/// Makes children of the orphans that match and lets go of the children that no longer do; returns who is a child then.
///
/// Before the first adoption the owner itself is read: one that was deleted, or made anew under its name, adopts nothing.
pub async fn claim<T: Mirrored>(
    objects: &Objects,
    mirror: &Mirror<Whole<T>>,
    children: &Children,
    owner: &Owner,
    selector: &LabelSelector,
) -> Result<Vec<Arc<Whole<T>>>, Error> {
    claim_some(objects, mirror, children, owner, selector, |_| true).await
}

/// The same among those that `which` names: the others are neither adopted nor released, nor in the answer.
pub async fn claim_some<T: Mirrored>(
    objects: &Objects,
    mirror: &Mirror<Whole<T>>,
    children: &Children,
    owner: &Owner,
    selector: &LabelSelector,
    which: impl Fn(&T) -> bool,
) -> Result<Vec<Arc<Whole<T>>>, Error> {
    let mut mine = Vec::new();
    for child in children.get(mirror, &owner.uid).into_iter().filter(|child| which(&child.slim)) {
        if matches(selector, child.meta()) {
            mine.push(child);
        } else if !owner.deleting {
            release(objects, mirror, child.meta(), owner).await?;
        }
    }
    let mut asked = false;
    for key in if owner.deleting { Vec::new() } else { children.orphans(&owner.namespace) } {
        let Some(orphan) = mirror.get(&key).filter(|orphan| which(&orphan.slim)) else { continue };
        let meta = orphan.meta();
        if meta.deletion_timestamp.0 || !matches(selector, meta) {
            continue;
        }
        if !asked {
            must_live(objects, owner).await?;
            asked = true;
        }
        if let Some(child) = adopt(objects, mirror, meta, owner).await? {
            mine.push(child);
        }
    }
    Ok(mine)
}

/// Whether a selector takes an object.
pub fn matches(selector: &LabelSelector, meta: &ObjectMeta) -> bool {
    let labels: Labels = meta.labels.0.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    selector.matches(&labels)
}

/// Nothing may be done in the name of an owner that is gone, going, or another by now: the mirror is behind then, and the
/// owner is looked at again.
pub(crate) async fn must_live(objects: &Objects, owner: &Owner) -> Result<(), Error> {
    let live = objects.get::<Value>(owner.resource, &owner.namespace, &owner.name).await?;
    let (kind, name) = (owner.resource.kind, &owner.name);
    match live.as_ref().map(|live| &live["metadata"]) {
        Some(meta) if meta["uid"] != owner.uid.as_str() => {
            Err(Error::Conflict(format!("the {kind} {name} is another by now")))
        }
        Some(meta) if meta["deletionTimestamp"].is_null() => Ok(()),
        _ => Err(Error::Conflict(format!("the {kind} {name} is gone or going"))),
    }
}

async fn adopt<T: Mirrored>(
    objects: &Objects,
    mirror: &Mirror<Whole<T>>,
    meta: &ObjectMeta,
    owner: &Owner,
) -> Result<Option<Arc<Whole<T>>>, Error> {
    let patch = json!({"metadata": {"uid": meta.uid, "ownerReferences": [owner.reference()]}});
    change(objects, mirror, meta, &patch).await
}

async fn release<T: Mirrored>(
    objects: &Objects,
    mirror: &Mirror<Whole<T>>,
    meta: &ObjectMeta,
    owner: &Owner,
) -> Result<(), Error> {
    let entry = json!({"$patch": "delete", "uid": owner.uid});
    let patch = json!({"metadata": {"uid": meta.uid, "ownerReferences": [entry]}});
    change(objects, mirror, meta, &patch).await.map(|_| ())
}

/// Changes a child's owners; the mirror knows of it when this returns. `None` where the child is gone, made anew, or
/// another's by now: the watch will tell.
async fn change<T: Mirrored>(
    objects: &Objects,
    mirror: &Mirror<Whole<T>>,
    meta: &ObjectMeta,
    patch: &Value,
) -> Result<Option<Arc<Whole<T>>>, Error> {
    let answer = objects.merge_lists::<Box<RawValue>>(T::RESOURCE, &meta.namespace, &meta.name, "", patch).await;
    let raw = match answer {
        Ok(raw) => raw,
        Err(Error::NotFound(_) | Error::Conflict(_) | Error::Invalid(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let child = Whole::<T>::read(raw.get()).map_err(|e| Error::Unknown(format!("the answer cannot be read: {e}")))?;
    let child = Arc::new(child);
    mirror.set(child.clone());
    Ok(Some(child))
}

#[cfg(test)]
mod tests;
