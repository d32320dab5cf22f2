//! A mirror: the objects of one kind as last seen, and who wants to know of changes.
//!
//! Three sources feed it: lists, watch events, and the answers to the component's own writes. They overtake each other,
//! so the object's version decides: an older one never replaces a newer one (PC-31), and what was deleted does not come
//! back by a late answer.
//!
//! ```text
//!               set, newer than its deletion and than the last list         set, newer
//!   (not there) ──────────────────────────────────────────────────► there ◄───────────┐
//!        ▲                                                            │ └─────────────┘
//!        └── gone, or not in a list, unless it is newer than that ────┘
//! ```

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_api::kinds::ObjectMeta;
use plimsoll_engine::collections::Map;
use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::model::Version;
use tokio::sync::watch;

use crate::resource::Resource;

/// A kind that can be mirrored.
pub trait Mirrored: Sized + Send + Sync + 'static {
    /// Which kind.
    const RESOURCE: Resource;

    /// Reads an object from its JSON.
    fn read(text: &str) -> Result<Self, serde_json::Error>;

    /// Its metadata.
    fn meta(&self) -> &ObjectMeta;
}

/// An object of which only the slim form is kept.
macro_rules! mirrored {
    ($kind:ty, $resource:expr) => {
        impl Mirrored for $kind {
            const RESOURCE: Resource = $resource;

            fn read(text: &str) -> Result<Self, serde_json::Error> {
                serde_json::from_str(text)
            }

            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }
        }
    };
}

mirrored!(plimsoll_api::kinds::Pod, Resource::PODS);
mirrored!(plimsoll_api::kinds::Node, Resource::NODES);
mirrored!(plimsoll_api::kinds::StorageClass, Resource::CLASSES);
mirrored!(plimsoll_api::kinds::CsiNode, Resource::CSI_NODES);
mirrored!(plimsoll_api::kinds::PersistentVolume, Resource::VOLUMES);
mirrored!(plimsoll_api::kinds::PersistentVolumeClaim, Resource::CLAIMS);
mirrored!(plimsoll_api::kinds::CsiDriver, Resource::CSI_DRIVERS);
mirrored!(plimsoll_api::kinds::CsiStorageCapacity, Resource::CAPACITIES);
mirrored!(plimsoll_api::kinds::VolumeAttachment, Resource::ATTACHMENTS);
mirrored!(plimsoll_api::kinds::Namespace, Resource::NAMESPACES);
mirrored!(plimsoll_api::kinds::Service, Resource::SERVICES);
mirrored!(plimsoll_api::kinds::ReplicationController, Resource::REPLICATION_CONTROLLERS);
mirrored!(plimsoll_api::kinds::ReplicaSetSelector, Resource::REPLICA_SETS);
mirrored!(plimsoll_api::kinds::StatefulSetSelector, Resource::STATEFUL_SETS);
mirrored!(plimsoll_api::kinds::PodDisruptionBudget, Resource::BUDGETS);

/// What happened to an object.
#[derive(Debug)]
pub enum Change<T> {
    /// It came, or changed.
    Set {
        /// As it was; `None` where it was not there.
        old: Option<Arc<T>>,
        /// As it is.
        new: Arc<T>,
    },
    /// It went.
    Gone {
        /// As it was last seen.
        old: Arc<T>,
    },
}

type Listener<T> = Arc<dyn Fn(&Change<T>) + Send + Sync>;

/// How many deletions are remembered. What overtakes is recent.
const REMEMBERED_DELETIONS: usize = 10_000;
/// How many own writes are remembered whose echo did not come by the watch yet.
const REMEMBERED_WRITES: usize = 10_000;

/// The objects of one kind as last seen.
pub struct Mirror<T> {
    /// Held only for single looks and changes, never while listeners run: they may look, too.
    state: Mutex<State<T>>,
    /// Held while listeners run, so that they hear of changes in the order these happened.
    delivery: Mutex<()>,
    listeners: Mutex<Vec<Listener<T>>>,
    synced: watch::Sender<bool>,
}

struct State<T> {
    objects: BTreeMap<ObjectKey, (Version, Arc<T>)>,
    /// The version of the newest list: what is older and not here does not exist.
    listed: Version,
    deleted: Map<ObjectKey, Version>,
    deletions: VecDeque<(ObjectKey, Version)>,
    /// The versions that own writes made. The watch will tell of each, which is no news then.
    written: BTreeSet<Version>,
}

/// The key of an object; the namespace of a cluster-wide one is empty.
pub fn key_of<T: Mirrored>(object: &T) -> ObjectKey {
    let meta = object.meta();
    let namespace = if T::RESOURCE.namespaced { meta.namespace.as_str() } else { "" };
    ObjectKey { namespace: Name::from(namespace), name: Name::from(meta.name.as_str()) }
}

impl<T: Mirrored> Default for Mirror<T> {
    fn default() -> Self {
        let state = State {
            objects: BTreeMap::new(),
            listed: 0,
            deleted: Map::default(),
            deletions: VecDeque::new(),
            written: BTreeSet::new(),
        };
        Self {
            state: Mutex::new(state),
            delivery: Mutex::new(()),
            listeners: Mutex::default(),
            synced: watch::Sender::new(false),
        }
    }
}

impl<T: Mirrored> Mirror<T> {
    /// An empty mirror.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Tells `listener` of every change from now on, in order. It must not change this mirror, nor wait.
    pub fn listen(&self, listener: impl Fn(&Change<T>) + Send + Sync + 'static) {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::new(listener));
    }

    /// The object with this key.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<T>> {
        self.look().objects.get(key).map(|(_, object)| object.clone())
    }

    /// The cluster-wide object with this name.
    pub fn named(&self, name: &str) -> Option<Arc<T>> {
        self.get(&ObjectKey { namespace: Name::from(""), name: Name::from(name) })
    }

    /// All objects, in order of their keys.
    pub fn all(&self) -> Vec<Arc<T>> {
        self.look().objects.values().map(|(_, object)| object.clone()).collect()
    }

    /// The objects of a namespace, in order of their names. Costs what is found.
    pub fn in_namespace(&self, namespace: &str) -> Vec<Arc<T>> {
        let first = ObjectKey { namespace: Name::from(namespace), name: Name::from("") };
        let state = self.look();
        let from = state.objects.range(&first..).take_while(|(key, _)| *key.namespace == *namespace);
        from.map(|(_, (_, object))| object.clone()).collect()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.look().objects.len()
    }

    /// Done when the first list is in.
    pub async fn synced(&self) {
        let mut synced = self.synced.subscribe();
        // The sender lives as long as the mirror.
        let _ = synced.wait_for(|s| *s).await;
    }

    /// Whether the first list is in.
    pub fn is_synced(&self) -> bool {
        *self.synced.borrow()
    }

    /// Takes note of an object, from the watch or as the answer to a write. Returns whether it is newer than what was known.
    pub fn set(&self, object: Arc<T>) -> bool {
        let _in_order = self.delivery.lock().unwrap_or_else(PoisonError::into_inner);
        let changes = self.look().set(object);
        self.tell(&changes);
        !changes.is_empty()
    }

    /// Takes note of what an own write made of an object.
    pub fn written(&self, object: Arc<T>) {
        let version = object.meta().version();
        if self.set(object) {
            let mut state = self.look();
            state.written.insert(version);
            if state.written.len() > REMEMBERED_WRITES {
                state.written.pop_first();
            }
        }
    }

    /// Whether an object of the version that `read` finds is known from an own write. It is asked once for each: by then the watch
    /// has told of it. `read` is not asked where there is nothing to know.
    pub(crate) fn is_echo(&self, read: impl FnOnce() -> Option<Version>) -> bool {
        let mut state = self.look();
        !state.written.is_empty() && read().is_some_and(|version| state.written.remove(&version))
    }

    /// Takes note that an object is gone. `version` is that of the deletion; 0 where it is not known.
    pub fn gone(&self, key: &ObjectKey, version: Version) -> bool {
        let _in_order = self.delivery.lock().unwrap_or_else(PoisonError::into_inner);
        let change = self.look().gone(key, version);
        self.tell(change.as_slice());
        change.is_some()
    }

    /// Takes note of everything that there is at `version`: what is not among it, and not newer, is gone.
    pub fn replace(&self, objects: Vec<T>, version: Version) {
        self.replace_except(objects, &BTreeSet::new(), version);
    }

    /// The same, except that nothing is known of the objects with the keys in `unread` but that they are there. They stay as
    /// they were last seen: to report an object as gone that cannot be read would have its volume released.
    pub fn replace_except(&self, objects: Vec<T>, unread: &BTreeSet<ObjectKey>, version: Version) {
        let _in_order = self.delivery.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changes = Vec::new();
        {
            let mut state = self.look();
            let listed: BTreeSet<ObjectKey> = objects.iter().map(key_of).collect();
            let missing: Vec<ObjectKey> = state
                .objects
                .iter()
                .filter(|(key, (seen, _))| *seen <= version && !listed.contains(*key) && !unread.contains(*key))
                .map(|(key, _)| key.clone())
                .collect();
            changes.extend(missing.iter().filter_map(|key| state.gone(key, version)));
            changes.extend(objects.into_iter().flat_map(|object| state.set(Arc::new(object))));
            state.listed = state.listed.max(version);
            // The watch begins behind the list: it will not tell of these.
            state.written = state.written.split_off(&version.saturating_add(1));
        }
        self.tell(&changes);
        self.synced.send_replace(true);
    }

    fn look(&self) -> std::sync::MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, changes: &[Change<T>]) {
        let listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for change in changes {
            for listener in listeners.iter() {
                listener(change);
            }
        }
    }
}

impl<T: Mirrored> State<T> {
    /// Up to two changes: where an object of that name was made anew and its deletion was missed, that comes first.
    fn set(&mut self, new: Arc<T>) -> Vec<Change<T>> {
        let (key, version) = (key_of(&*new), new.meta().version());
        if self.deleted.get(&key).is_some_and(|deleted| version <= *deleted) {
            return Vec::new();
        }
        match self.objects.get(&key) {
            Some((seen, _)) if version <= *seen => return Vec::new(),
            // A late answer about an object that was deleted before everything was listed.
            None if version <= self.listed => return Vec::new(),
            _ => {}
        }
        match self.objects.insert(key, (version, new.clone())) {
            Some((_, old)) if old.meta().uid != new.meta().uid => {
                vec![Change::Gone { old }, Change::Set { old: None, new }]
            }
            old => vec![Change::Set { old: old.map(|(_, old)| old), new }],
        }
    }

    fn gone(&mut self, key: &ObjectKey, version: Version) -> Option<Change<T>> {
        let seen = self.objects.get(key).map(|(seen, _)| *seen);
        if version != 0 && seen.is_some_and(|seen| version < seen) {
            return None;
        }
        // Remembered even where it was never seen: the answer to the write that made it may still be on its way.
        self.remember(key, version.max(seen.unwrap_or(0)));
        let (_, old) = self.objects.remove(key)?;
        Some(Change::Gone { old })
    }

    fn remember(&mut self, key: &ObjectKey, version: Version) {
        match self.deleted.get(key) {
            Some(known) if *known >= version => return,
            _ => self.deleted.insert(key.clone(), version),
        };
        self.deletions.push_back((key.clone(), version));
        if self.deletions.len() > REMEMBERED_DELETIONS
            && let Some((key, version)) = self.deletions.pop_front()
            && self.deleted.get(&key) == Some(&version)
        {
            self.deleted.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests;
