//! What readers, watchers and the writer share: the resources in memory and the revision up to which they are complete.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use tokio::sync::Notify;

use super::HistoryLimits;
use super::change::WriteError;
use super::object::{Event, Object, ResourceKey};
use super::resource::Resource;

/// The store as readers see it. Only one writer at a time calls [`Shared::publish`].
#[derive(Debug)]
pub(super) struct Shared {
    resources: RwLock<BTreeMap<ResourceKey, Arc<Resource>>>,
    /// Everything up to here is applied to the resources.
    revision: AtomicU64,
    /// What a resource that was never heard of reaches back to.
    floor: u64,
    limits: HistoryLimits,
    /// Why nothing more can be written.
    stopped: OnceLock<WriteError>,
    /// Told of that.
    stopping: Notify,
}

impl Shared {
    pub(super) fn new(
        resources: BTreeMap<ResourceKey, Arc<Resource>>,
        revision: u64,
        floor: u64,
        limits: HistoryLimits,
    ) -> Self {
        let revision = AtomicU64::new(revision);
        Self {
            resources: RwLock::new(resources),
            revision,
            floor,
            limits,
            stopped: OnceLock::new(),
            stopping: Notify::new(),
        }
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    pub(super) fn find(&self, resource: &str) -> Option<Arc<Resource>> {
        self.resources.read().unwrap_or_else(PoisonError::into_inner).get(resource).cloned()
    }

    /// The resource, made if it was never heard of.
    pub(super) fn resource(&self, resource: &ResourceKey) -> Arc<Resource> {
        if let Some(found) = self.find(resource) {
            return found;
        }
        let mut resources = self.resources.write().unwrap_or_else(PoisonError::into_inner);
        resources
            .entry(resource.clone())
            .or_insert_with(|| Arc::new(Resource::new(BTreeSet::new(), self.floor)))
            .clone()
    }

    pub(super) fn names(&self) -> Vec<ResourceKey> {
        self.resources.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    pub(super) fn get(&self, resource: &str, path: &str) -> Option<Arc<Object>> {
        self.find(resource)?.get(path)
    }

    pub(super) fn floor(&self) -> u64 {
        self.floor
    }

    pub(super) fn stop(&self, why: WriteError) -> WriteError {
        let why = self.stopped.get_or_init(|| why).clone();
        self.stopping.notify_waiters();
        why
    }

    /// Done when nothing more can be written.
    pub(super) async fn stopping(&self) -> WriteError {
        loop {
            // Listening comes first, so that what happens in between is not missed.
            let told = self.stopping.notified();
            if let Some(why) = self.stopped() {
                return why;
            }
            told.await;
        }
    }

    pub(super) fn stopped(&self) -> Option<WriteError> {
        self.stopped.get().cloned()
    }

    /// Makes durable events visible: first to readers of each resource, then in the store's revision, and only then are watchers
    /// woken. Whoever reads the revision first and a resource second therefore never misses an event up to that revision.
    pub(super) fn publish(&self, events: Vec<(ResourceKey, Arc<Event>)>) {
        let Some(last) = events.last().map(|(_, event)| event.revision()) else { return };
        let mut touched: BTreeMap<ResourceKey, Vec<Arc<Event>>> = BTreeMap::new();
        for (resource, event) in events {
            touched.entry(resource).or_default().push(event);
        }
        let mut changed = Vec::with_capacity(touched.len());
        for (name, events) in touched {
            let resource = self.resource(&name);
            resource.publish(events.into_iter(), self.limits);
            changed.push(resource);
        }
        self.revision.store(last, Ordering::Release);
        for resource in changed {
            resource.changed.notify_waiters();
        }
    }
}
