//! What follows from a write beside the write itself: the authorizer and the served kinds follow what is stored; dependents go with
//! their owners, namespaces take their content along, events expire, roles gather their parts.
//!
//! [`Core`] tells of every write (`Follow::written`); what can wait is queued for [`run`], one task that does it in order. Upstream does
//! the second half in kube-controller-manager; where a real one is pointed at this server, its part of [`Housekeeping`] is left out.

mod collector;
mod expiry;
mod namespaces;
mod owners;
mod roles;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use crate::core::Core;
use crate::registry::Served;
use crate::store::Object;
use expiry::Expiry;
use owners::Owners;
pub(crate) use roles::gather as gather_roles;

/// Which of the doings that follow from a write are this server's. Each can be left to a real kube-controller-manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Housekeeping {
    /// Dependents go with their owners: upstream's garbage-collector-controller.
    pub garbage: bool,
    /// Namespaces take their content along: namespace-controller.
    pub namespaces: bool,
    /// Roles gather their parts: clusterrole-aggregation-controller.
    pub roles: bool,
    /// Events expire. Upstream's API server does that itself, by etcd.
    pub events: bool,
}

impl Housekeeping {
    /// All of it.
    pub const ALL: Self = Self { garbage: true, namespaces: true, roles: true, events: true };
    /// Nothing: what kube-apiserver alone does.
    pub const NONE: Self = Self { garbage: false, namespaces: false, roles: false, events: false };
}

impl From<bool> for Housekeeping {
    fn from(all: bool) -> Self {
        if all { Self::ALL } else { Self::NONE }
    }
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Task {
    /// The dependents of this uid lost their owner.
    OwnerGone(String),
    /// An object has owners; perhaps they are gone already.
    CheckOwners(Place),
    /// An object waits for its dependents.
    Waiting(Place),
    /// A namespace is being deleted.
    Namespace(String),
    /// The rules of a ClusterRole changed.
    Roles,
}

/// Where an object is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) key: Arc<str>,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// What is remembered of the stored objects, and what is to be done.
#[derive(Debug)]
pub struct Follow {
    owners: Mutex<Owners>,
    expiry: Mutex<Expiry>,
    /// The namespaces that are queued.
    namespaces: Mutex<BTreeSet<String>>,
    tasks: UnboundedSender<Task>,
    queue: Mutex<Option<UnboundedReceiver<Task>>>,
    /// What is done; all of it unless told otherwise before the first write.
    does: OnceLock<Housekeeping>,
    /// Whether the roles are to be gathered already: all that changed until then is gathered at once.
    roles: AtomicBool,
}

impl Default for Follow {
    fn default() -> Self {
        let (tasks, queue) = unbounded_channel();
        Self {
            owners: Mutex::default(),
            expiry: Mutex::default(),
            namespaces: Mutex::default(),
            tasks,
            queue: Mutex::new(Some(queue)),
            does: OnceLock::new(),
            roles: AtomicBool::new(false),
        }
    }
}

impl Follow {
    /// What this server does itself. What it does not is neither remembered nor queued: nobody would do it.
    pub(crate) fn set(&self, housekeeping: Housekeeping) {
        let _ = self.does.set(housekeeping);
        if housekeeping == Housekeeping::NONE {
            drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
    }

    fn does(&self) -> Housekeeping {
        self.does.get().copied().unwrap_or(Housekeeping::ALL)
    }

    fn add(&self, task: Task) {
        // The other end is gone when the server ends.
        let _ = self.tasks.send(task);
    }

    /// A namespace is looked through once for all that happened in it since the last look.
    fn add_namespace(&self, name: &str) {
        let mut waiting = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.insert(name.to_owned()) {
            self.add(Task::Namespace(name.to_owned()));
        }
    }

    fn add_roles(&self) {
        if !self.roles.swap(true, Ordering::Relaxed) {
            self.add(Task::Roles);
        }
    }

    /// An object was written.
    pub(crate) fn written(&self, core: &Core, served: &Served, value: &Value, object: &Object) {
        let place = Place { key: served.key.clone(), namespace: object.namespace().into(), name: object.name().into() };
        follow_kinds(core, served, object.namespace(), object.name());
        let does = self.does();
        if does.events && &*served.key == "events" {
            self.expiry.lock().unwrap_or_else(PoisonError::into_inner).note(core.clock.now(), &place, object.revision);
        }
        let owned = does.garbage && {
            let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
            // Two writers may come here in any order. Who finds a newer state, or none, leaves the note to the writer of that.
            let newest = core.store.get(&served.key, object.namespace(), object.name());
            newest.is_some_and(|now| now.revision == object.revision) && owners.put(&place, value)
        };
        let metadata = &value["metadata"];
        let deleting = metadata["deletionTimestamp"].is_string();
        if owned {
            self.add(Task::CheckOwners(place.clone()));
        }
        if does.garbage && deleting && collector::waits(value) {
            self.add(Task::Waiting(place));
        }
        if does.namespaces && deleting && &*served.key == "namespaces" {
            self.add_namespace(object.name());
        }
        if does.roles && served.kind == "ClusterRole" {
            self.add_roles();
        }
    }

    /// An object was removed.
    pub(crate) fn removed(&self, core: &Core, served: &Served, value: &Value, object: &Object) {
        let place = Place { key: served.key.clone(), namespace: object.namespace().into(), name: object.name().into() };
        follow_kinds(core, served, object.namespace(), object.name());
        let does = self.does();
        if does.garbage {
            let uid = value["metadata"]["uid"].as_str().unwrap_or_default();
            let owners: Vec<Place> = {
                let mut index = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
                let waiting = index.waiting_owners(&place);
                index.remove(&place, uid);
                waiting
            };
            self.add(Task::OwnerGone(uid.into()));
            owners.into_iter().for_each(|owner| self.add(Task::Waiting(owner)));
        }
        if does.namespaces && served.namespaced() {
            let namespace = core.store.get("namespaces", "", object.namespace());
            // Only the bytes are looked at: this runs for every deletion.
            if namespace.is_some_and(|ns| memmem(&ns.bytes, b"\"deletionTimestamp\"")) {
                self.add_namespace(object.namespace());
            }
        }
        if does.roles && served.kind == "ClusterRole" {
            self.add_roles();
        }
    }
}

fn memmem(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|w| w == needle)
}

/// The authorizer and the registry follow the store at once: the next request must see them.
fn follow_kinds(core: &Core, served: &Served, namespace: &str, name: &str) {
    match (served.group.as_str(), served.kind.as_str()) {
        ("rbac.authorization.k8s.io", kind) => {
            // What is stored now counts, not what was written: two writers may come here in any order.
            let mut rbac = core.rbac.write().unwrap_or_else(PoisonError::into_inner);
            match core.store.get(&served.key, namespace, name).and_then(|o| core.value(served, &o).ok()) {
                Some(value) => rbac.apply(kind, &value),
                None => rbac.remove(kind, namespace, name),
            }
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => core.follow_definitions(),
        _ => {}
    }
}

/// Does what is queued until the server ends.
pub async fn run(core: Arc<Core>) {
    let queue = core.follow.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(mut queue) = queue else { return };
    let mut sweep = tokio::time::interval(Duration::from_secs(60));
    // The namespaces that are to be looked at again, and when.
    let mut again: BTreeMap<String, Instant> = BTreeMap::new();
    loop {
        let next = again.values().min().copied();
        let task = tokio::select! {
            task = queue.recv() => task,
            () = reached(next) => {
                let now = Instant::now();
                again.iter().filter(|(_, at)| **at <= now).for_each(|(name, _)| core.follow.add_namespace(name));
                again.retain(|_, at| *at > now);
                continue;
            }
            _ = sweep.tick() => {
                expiry::sweep(&core).await;
                continue;
            }
        };
        match task {
            None => return,
            Some(Task::OwnerGone(uid)) => collector::owner_gone(&core, &uid).await,
            Some(Task::CheckOwners(place)) => collector::check_owners(&core, &place).await,
            Some(Task::Waiting(place)) => collector::waiting(&core, &place).await,
            Some(Task::Namespace(name)) => {
                // What happens from here on needs another look.
                core.follow.namespaces.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
                match namespaces::empty(&core, &name).await {
                    Some(wait) => again.insert(name, Instant::now() + wait),
                    None => again.remove(&name),
                };
            }
            Some(Task::Roles) => {
                core.follow.roles.store(false, Ordering::Relaxed);
                roles::gather(&core).await;
            }
        }
    }
}

/// Done at this time, or never.
async fn reached(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
