//! The desk: what the scheduler knows and has in hand, under one lock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_api::Interner;
use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::model::Pod;
use plimsoll_engine::object::{Kind, Object};
use plimsoll_engine::reason::{Code, Plugin};
use plimsoll_engine::rules::Rules;
use plimsoll_engine::wakeups::Change;
use plimsoll_engine::{Catalog, Event};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::journal::Journal;
use crate::nominations::Nominations;
use crate::queue::{Failure, PodQueue};
use crate::running::Placements;

/// What is behind a lock that a panic elsewhere does not take away.
pub(crate) struct Shared<T>(Mutex<T>);

impl<T> Shared<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self(Mutex::new(inner))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the scheduler knows and has in hand.
pub(crate) struct Desk {
    pub(crate) catalog: Catalog,
    pub(crate) queue: PodQueue,
    pub(crate) journal: Journal,
    pub(crate) nominations: Nominations,
    pub(crate) placements: Placements,
    pub(crate) names: Interner,
    /// The `schedulerName`s that are ours.
    ours: Vec<Name>,
    /// Placements that wait for something of an object: told when it changes. A placement that has moved on is told in
    /// vain, and looks again.
    waiting: BTreeMap<(Kind, ObjectKey), Vec<Arc<Notify>>>,
    work: Arc<Notify>,
    /// When the first pod was looked at, and the seconds since then that the catalog was told of.
    began: Option<Instant>,
    told_time: u64,
}

impl Desk {
    pub(crate) fn new(ours: Vec<Name>, queue: PodQueue, work: Arc<Notify>) -> Self {
        Self {
            catalog: Catalog::new(),
            queue,
            nominations: Nominations::default(),
            placements: Placements::default(),
            journal: Journal::default(),
            names: Interner::new(),
            ours,
            waiting: BTreeMap::new(),
            work,
            began: None,
            told_time: 0,
        }
    }

    /// Tells the catalog the time, once a second at most: space that was promised to volumes made long ago is in the pools'
    /// own figures by now. Whoever waits for space is woken, for no event will tell of it.
    pub(crate) fn pass_time(&mut self, now: Instant) {
        let seconds = now.duration_since(*self.began.get_or_insert(now)).as_secs();
        if seconds > self.told_time {
            self.told_time = seconds;
            for pool in self.catalog.settle(seconds) {
                self.wake(Change::Added(&pool));
            }
        }
    }

    /// When passing the time will next make a difference.
    pub(crate) fn settles_at(&self) -> Option<Instant> {
        self.began?.checked_add(Duration::from_secs(self.catalog.settles_at()?))
    }

    /// Whether a pod is ours to place now.
    pub(crate) fn is_ours(&self, pod: &Pod) -> bool {
        pod.node.is_none() && !pod.ended && self.ours.contains(&pod.scheduler)
    }

    /// Whether a place is to be found for a pod.
    pub(crate) fn is_to_be_placed(&self, pod: &Pod) -> bool {
        self.is_ours(pod) && !pod.deleting && !self.catalog.is_assumed(pod)
    }

    /// A pod that was in hand needs no more scheduling. One that was made anew under its name is another pod.
    pub(crate) fn done(&mut self, pod: &Pod) {
        self.queue.done(&pod.key, &pod.uid);
    }

    /// A pod that was in hand fits nowhere: these refused it.
    pub(crate) fn refused(&mut self, pod: &Pod, rules: &Rules, refused_by: &BTreeSet<(Plugin, Code)>) {
        let why = Failure::Refused(self.catalog.wait_of(pod, rules, refused_by));
        self.queue.failed(&pod.key, &pod.uid, why, &self.catalog, Instant::now());
    }

    /// Something went wrong with a pod that was in hand.
    pub(crate) fn failed(&mut self, pod: &Pod) {
        self.queue.failed(&pod.key, &pod.uid, Failure::Error, &self.catalog, Instant::now());
    }

    /// Takes note of an object that came or changed. `old` tells what it was, and is asked only where somebody waits for
    /// changes: most of the time nobody does.
    pub(crate) fn set(&mut self, old: impl FnOnce(&mut Interner) -> Option<Object>, new: Object) {
        let (kind, key) = (new.kind(), new.key());
        self.journal.saw(kind, new.version());
        if kind == Kind::Pod {
            let before = self.catalog.pod(&key).cloned();
            if !self.catalog.apply(Event::Set(new)) {
                return;
            }
            if let Some(pod) = self.catalog.pod(&key).cloned() {
                self.pod_set(before.as_deref(), &pod);
            }
        } else {
            let awaited = self.queue.has_waiting().then(|| new.clone());
            if !self.catalog.apply(Event::Set(new)) {
                return;
            }
            if let Some(new) = &awaited {
                match &old(&mut self.names) {
                    Some(old) => self.wake(Change::Updated { old, new }),
                    None => self.wake(Change::Added(new)),
                }
            }
        }
        self.tell(kind, &key);
    }

    /// Takes note of an object that went.
    pub(crate) fn gone(&mut self, old: Object) {
        let (kind, key, version) = (old.kind(), old.key(), old.version());
        // A pod may go before it was seen on the node that it was given: what it held there is free now.
        let old = match self.catalog.nodes().pod(&key).filter(|_| kind == Kind::Pod) {
            Some(seated) => Object::Pod(Box::new((**seated).clone())),
            None => old,
        };
        self.catalog.apply(Event::Gone { kind, key: key.clone(), version });
        if let Object::Pod(pod) = &old {
            self.queue.remove(&key);
            self.journal.left(&key);
            self.withdraw_nomination(pod);
        }
        self.wake(Change::Deleted(&old));
        self.tell(kind, &key);
    }

    fn pod_set(&mut self, before: Option<&Pod>, pod: &Pod) {
        let now = Instant::now();
        if self.is_ours(pod) {
            if self.catalog.is_assumed(pod) {
                // It has its place, which an older view of it does not show yet. What it is expected on is where it is.
                self.queue.changed_in_hand(pod);
                return;
            }
            self.queue.set(before, pod, now);
            self.journal.came(pod, now);
            self.work.notify_one();
            if let Some(left) = self.nominations.seen(before, pod) {
                self.nomination_left(pod, left);
            }
            return;
        }
        self.queue.remove(&pod.key);
        self.journal.left(&pod.key);
        if let Some(left) = self.nominations.clear(&pod.key).filter(|left| pod.node.as_ref() != Some(left)) {
            self.nomination_left(pod, left);
        }
        if pod.node.is_some() && self.queue.has_waiting() {
            let object = |pod: &Pod| Object::Pod(Box::new(pod.clone()));
            match before.filter(|before| before.node.is_some()) {
                Some(before) => self.wake(Change::Updated { old: &object(before), new: &object(pod) }),
                None => self.wake(Change::Added(&object(pod))),
            }
        }
    }

    /// Wakes the pods that a change could help.
    pub(crate) fn wake(&mut self, change: Change<'_>) {
        if self.queue.wake(change, &self.catalog, Instant::now()) {
            self.work.notify_one();
        }
    }

    /// Has `placement` told of the next change of any of these objects, and of no others.
    pub(crate) fn wait(&mut self, objects: &BTreeSet<(Kind, ObjectKey)>, placement: &Arc<Notify>) {
        for object in objects {
            let waiting = self.waiting.entry(object.clone()).or_default();
            if !waiting.iter().any(|known| Arc::ptr_eq(known, placement)) {
                waiting.push(placement.clone());
            }
        }
    }

    /// A placement waits for these no more.
    pub(crate) fn stop_waiting(&mut self, objects: &BTreeSet<(Kind, ObjectKey)>, placement: &Arc<Notify>) {
        for object in objects {
            let Some(waiting) = self.waiting.get_mut(object) else { continue };
            waiting.retain(|known| !Arc::ptr_eq(known, placement));
            if waiting.is_empty() {
                self.waiting.remove(object);
            }
        }
    }

    fn tell(&mut self, kind: Kind, key: &ObjectKey) {
        for placement in self.waiting.remove(&(kind, key.clone())).into_iter().flatten() {
            placement.notify_one();
        }
    }
}
