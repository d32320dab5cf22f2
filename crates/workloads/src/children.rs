//! Whose object is whose: the children of an owner, adoption of those that lost theirs, release of those that no longer fit.
//!
//! ```text
//!                 selector matches, owner lives: adopt
//!      orphan ────────────────────────────────────────► child
//!        ▲                                                │
//!        └──────── selector no longer matches: release ───┘
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_api::kinds::{ObjectMeta, OwnerReference};
use plimsoll_engine::labels::{Labels, ObjectKey};
use plimsoll_engine::selector::LabelSelector;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::{Change, Error, Mirror, Mirrored, Objects, Resource, Whole};
use serde_json::{Value, json};

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
    let mut mine = Vec::new();
    for key in children.of_owner(&owner.uid) {
        let Some(child) = mirror.get(&key) else { continue };
        if matches(selector, child.meta()) {
            mine.push(child);
        } else if !owner.deleting {
            release(objects, T::RESOURCE, child.meta(), owner).await?;
        }
    }
    let mut may_adopt = None;
    for key in if owner.deleting { Vec::new() } else { children.orphans(&owner.namespace) } {
        let Some(orphan) = mirror.get(&key) else { continue };
        let meta = orphan.meta();
        if meta.deletion_timestamp.0 || !matches(selector, meta) {
            continue;
        }
        if may_adopt.is_none() {
            let live = objects.get::<Value>(owner.resource, &owner.namespace, &owner.name).await?;
            let same = |live: &Value| {
                live["metadata"]["uid"] == owner.uid.as_str() && live["metadata"]["deletionTimestamp"].is_null()
            };
            may_adopt = Some(live.as_ref().is_some_and(same));
        }
        if may_adopt == Some(true)
            && let Some(child) = adopt(objects, T::RESOURCE, meta, owner).await?
            && let Ok(child) = Whole::<T>::read(child.get())
        {
            let child = Arc::new(child);
            mirror.set(child.clone());
            mine.push(child);
        }
    }
    Ok(mine)
}

/// Whether a selector takes an object.
pub fn matches(selector: &LabelSelector, meta: &ObjectMeta) -> bool {
    let labels: Labels = meta.labels.to_labels(&mut plimsoll_api::interner::Interner::new());
    selector.matches(&labels)
}

async fn adopt(
    objects: &Objects,
    resource: Resource,
    meta: &ObjectMeta,
    owner: &Owner,
) -> Result<Option<Box<serde_json::value::RawValue>>, Error> {
    let patch = json!({"metadata": {"uid": meta.uid, "ownerReferences": [owner.reference()]}});
    match objects.merge_lists(resource, &meta.namespace, &meta.name, "", &patch).await {
        Ok(adopted) => Ok(Some(adopted)),
        // Gone, or another's by now: the watch will tell.
        Err(Error::NotFound(_) | Error::Conflict(_) | Error::Invalid(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn release(objects: &Objects, resource: Resource, meta: &ObjectMeta, owner: &Owner) -> Result<(), Error> {
    let entry = json!({"$patch": "delete", "uid": owner.uid});
    let patch = json!({"metadata": {"uid": meta.uid, "ownerReferences": [entry]}});
    match objects.merge_lists::<Value>(resource, &meta.namespace, &meta.name, "", &patch).await {
        Ok(_) | Err(Error::NotFound(_) | Error::Conflict(_) | Error::Invalid(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
