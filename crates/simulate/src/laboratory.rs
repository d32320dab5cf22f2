//! What a run is made of: the API server, who looks at its every change, and what happened so far.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_apiserver::core::Core;
use plimsoll_apiserver::store::{Event, EventKind, ResourceKey, Watcher};
use plimsoll_clock::Clock;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::component::Slot;
use crate::faults::{CrashPoint, Entry, Faults, Kind, Trace, When};
use crate::invariants::{Change, Invariant, State};

/// The name under which the server's own doings (garbage collection and the like) are known.
pub const SERVER: &str = "server";
/// The name of the test itself.
pub const ADMIN: &str = "admin";

/// More requests than any run needs: somebody asks in a circle, and virtual time does not stop that.
const MOST_REQUESTS: u64 = 200_000;

pub(crate) struct Laboratory {
    pub(crate) seed: u64,
    faults: Faults,
    pub(crate) core: Arc<Core>,
    pub(crate) clock: Clock,
    begun: Instant,
    observer: Mutex<Observer>,
    trace: Mutex<Trace>,
    violation: Mutex<Option<String>>,
    violated: Notify,
    pub(crate) components: Mutex<BTreeMap<String, Slot>>,
    /// Restarts and thaws to come.
    pub(crate) to_come: AtomicU64,
    requests: AtomicU64,
}

/// Follows the store from change to change.
struct Observer {
    seen: u64,
    last_change: Instant,
    watchers: Vec<(&'static str, Watcher)>,
    state: State,
    invariants: Vec<Box<dyn Invariant>>,
}

/// The resources whose every change is looked at.
const FOLLOWED: [&str; 6] = ["persistentvolumes", "persistentvolumeclaims", "pods", "nodes", LEASES, EVENTS];
const LEASES: &str = "coordination.k8s.io/leases";
const EVENTS: &str = "events";

impl Laboratory {
    pub(crate) fn new(
        seed: u64,
        faults: Faults,
        core: Arc<Core>,
        clock: Clock,
        invariants: Vec<Box<dyn Invariant>>,
    ) -> Result<Self, String> {
        let seen = core.store.revision();
        let mut watchers = Vec::new();
        for name in FOLLOWED {
            let watcher = core.store.watch(&ResourceKey::from(name), seen).map_err(|e| format!("{name}: {e}"))?;
            watchers.push((name, watcher));
        }
        let last_change = Instant::now();
        let observer = Observer { seen, last_change, watchers, state: State::default(), invariants };
        Ok(Self {
            seed,
            faults,
            core,
            clock,
            begun: last_change,
            observer: Mutex::new(observer),
            trace: Mutex::default(),
            violation: Mutex::default(),
            violated: Notify::new(),
            components: Mutex::default(),
            to_come: AtomicU64::new(0),
            requests: AtomicU64::new(0),
        })
    }

    /// The time of the run.
    pub(crate) fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    pub(crate) fn roll(&self, kind: Kind, component: &str, event: &[u64]) -> Option<u64> {
        self.faults.roll(self.seed, self.now(), kind, component, event)
    }

    /// When the last fault by rate can happen.
    pub(crate) fn faults_end(&self) -> Duration {
        if self.faults.rates.is_empty() { Duration::ZERO } else { self.faults.until }
    }

    pub(crate) fn kills(&self, component: &str, write: u64, when: When) -> bool {
        self.faults
            .crashes
            .iter()
            .any(|CrashPoint { component: c, write: w, when: n }| c == component && *w == write && *n == when)
    }

    pub(crate) fn note(&self, component: &str, request: &str, what: &str, fault: bool) {
        let entry = Entry {
            at: self.now(),
            component: component.to_owned(),
            request: request.to_owned(),
            what: what.to_owned(),
            fault,
        };
        lock(&self.trace).0.push(entry);
    }

    pub(crate) fn take_trace(&self) -> Trace {
        std::mem::take(&mut lock(&self.trace))
    }

    pub(crate) fn count_request(&self) {
        if self.requests.fetch_add(1, Ordering::Relaxed) == MOST_REQUESTS {
            self.violate(format!("{MOST_REQUESTS} requests were made: somebody asks in a circle"));
        }
    }

    /// Ends the run as failed. The first reason counts.
    pub(crate) fn violate(&self, why: String) {
        let mut violation = lock(&self.violation);
        if violation.is_none() {
            self.note("", "", &format!("VIOLATION: {why}"), false);
            *violation = Some(why);
            self.violated.notify_one();
        }
    }

    pub(crate) fn violation(&self) -> Option<String> {
        lock(&self.violation).clone()
    }

    /// Done when the run has failed.
    pub(crate) async fn violated(&self) -> String {
        loop {
            if let Some(why) = self.violation() {
                return why;
            }
            self.violated.notified().await;
        }
    }

    /// Looks at every change since the last look, as made by `by`.
    pub(crate) fn observe(&self, by: &str) {
        let violation = lock(&self.observer).observe(self, by);
        if let Err(why) = violation {
            self.violate(why);
        }
    }

    /// How long nothing has changed.
    pub(crate) fn quiet_for(&self) -> Duration {
        lock(&self.observer).last_change.elapsed()
    }

    /// The objects as they are now.
    pub(crate) fn state(&self) -> State {
        self.observe(SERVER);
        lock(&self.observer).state.clone()
    }

    /// What the invariants say of the end.
    pub(crate) fn judge(&self) -> Result<(), String> {
        self.observe(SERVER);
        let mut observer = lock(&self.observer);
        let observer = &mut *observer;
        for invariant in &mut observer.invariants {
            let at_the_end = invariant.at_the_end(&observer.state);
            at_the_end.map_err(|why| format!("{}: {why}", invariant.name()))?;
        }
        Ok(())
    }
}

impl Observer {
    fn observe(&mut self, laboratory: &Laboratory, by: &str) -> Result<(), String> {
        let revision = laboratory.core.store.revision();
        if revision == self.seen {
            return Ok(());
        }
        let mut events: Vec<(&'static str, Arc<Event>)> = Vec::new();
        for (name, watcher) in &mut self.watchers {
            while let Some(batch) = watcher.try_next().map_err(|e| format!("{name}: {e}"))? {
                events.extend(batch.events.into_iter().map(|event| (*name, event)));
            }
        }
        // Each resource tells of its own changes; the revision says what came first.
        events.sort_by_key(|(_, event)| event.revision());
        let silent = events.iter().filter(|(name, _)| is_silent(name)).count() as u64;
        if revision - self.seen > silent {
            self.last_change = Instant::now();
        }
        self.seen = revision;
        for (resource, event) in events {
            if resource == LEASES || resource == EVENTS {
                continue;
            }
            let read = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).map(Arc::new).map_err(|e| e.to_string());
            let key = event.object.path();
            let last = read(&event.object.bytes)?;
            let objects = self.state.of_mut(resource);
            let (before, after) = if event.kind == EventKind::Deleted {
                (objects.remove(key), None)
            } else {
                (objects.insert(key.to_owned(), last.clone()), Some(last))
            };
            let change = Change { at: laboratory.now(), by, revision: event.revision(), resource, key, before, after };
            for invariant in &mut self.invariants {
                let checked = invariant.check(&self.state, &change);
                checked.map_err(|why| format!("{}: {why} (by {by}, {resource} {key})", invariant.name()))?;
            }
        }
        Ok(())
    }
}

/// Changes that go on for ever in a cluster at rest: heartbeats, and events that are said again.
fn is_silent(resource: &str) -> bool {
    resource == LEASES || resource == EVENTS
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
