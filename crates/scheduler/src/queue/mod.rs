//! The scheduling queue: which pod is next, and which wait for what.
//!
//! ```text
//!             due, or nothing else to do
//!   backoff ─────────────────────────────► active ── pop ──► in hand ── bound, gone ──► (left)
//!      ▲ ▲                                   ▲                  │
//!      │ └─ a change that could help ────────┤ its time is over │ refused
//!      │      (while its backoff runs)       │                  ▼
//!      │                                     └────────── unschedulable
//!      └──────────────── error, or refused by what has changed since ──┘
//! ```
//!
//! Active pods leave by priority, then by how long they have waited since they last failed. A pod with scheduling gates
//! stands aside until they are gone. When nobody is active, one whose backoff still runs may go early, unless it failed
//! by an error: then it is the API server, or us, that needs the rest.
//!
//! No operation looks at all pods: each list is in the order in which it is read, and those who wait are found by what
//! they wait for (index.rs).

mod backoff;
mod figures;
mod index;
mod recent;
#[cfg(test)]
mod tests;

pub use backoff::Backoff;
pub use figures::{Figures, Line};

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use plimsoll_engine::Catalog;
use plimsoll_engine::collections::Map;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_engine::model::Pod;
use plimsoll_engine::wakeups::{Change, Wait, own_change_helps};
use tokio::time::Instant;

use backoff::Failures;
use index::WaitIndex;
use recent::Recent;

/// How long a pod stays unschedulable before it is tried whatever happened.
pub const LONGEST_STAY: Duration = Duration::from_secs(300);
/// Pods whose backoffs end within one such window go early by priority, and not by whose ends first.
const WINDOW: Duration = Duration::from_secs(1);

/// Upstream's names of what moves pods, where it is no change of the cluster.
mod event {
    pub(super) const CAME: &str = "UnscheduledPodAdd";
    pub(super) const CHANGED: &str = "TargetPodUpdate";
    pub(super) const GATES_GONE: &str = "TargetPodUpdatePodSchedulingGatesEliminated";
    pub(super) const FAILED: &str = "ScheduleAttemptFailure";
    pub(super) const BACKOFF_OVER: &str = "BackoffComplete";
    pub(super) const TAKEN_EARLY: &str = "PopFromBackoffQ";
    pub(super) const STAYED_TOO_LONG: &str = "UnschedulableTimeout";
}

/// Why a pod comes back.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// It fits nowhere: that is what it waits for.
    Refused(Wait),
    /// Something went wrong.
    Error,
}

/// Where a pod stands.
#[derive(Clone, Debug, PartialEq)]
enum State {
    Gated,
    Active,
    Backoff {
        until: Instant,
        /// Whether it may be taken before that when nobody else is there.
        early: bool,
    },
    Unschedulable {
        until: Instant,
    },
    InHand {
        /// What the pod was when it was taken, where it changed since.
        taken_as: Option<Box<Pod>>,
    },
}

/// The order in which active pods leave.
type Place = (Reverse<i32>, u64);

#[derive(Clone, Debug)]
struct Entry {
    pod: Pod,
    state: State,
    /// Where it stands among active pods: by priority, then by when it came or last failed, as a number that grows.
    place: Place,
    failures: Failures,
    /// Its last failure's backoff ends then.
    backoff_ends: Option<Instant>,
    /// Whether it is tried, or to be, only because it stayed unschedulable for too long.
    flushed: bool,
}

/// The scheduling queue.
#[derive(Debug)]
pub struct PodQueue {
    backoff: Backoff,
    longest_stay: Duration,
    takes_early: bool,
    pods: Map<ObjectKey, Entry>,
    active: BTreeMap<Place, ObjectKey>,
    /// Pods whose backoff runs, by its end.
    resting: BTreeSet<(Instant, ObjectKey)>,
    /// Those of them that may go early, in the order in which they would.
    early: BTreeSet<(u64, Place, ObjectKey)>,
    /// Unschedulable pods by when they have waited too long.
    stays: BTreeSet<(Instant, ObjectKey)>,
    waits: WaitIndex,
    recent: Recent,
    arrivals: u64,
    in_hand: usize,
    gated: usize,
    /// The first moment that was ever told: windows count from there.
    epoch: Option<Instant>,
    incoming: BTreeMap<(&'static str, Line), u64>,
    looks: u64,
}

impl PodQueue {
    /// An empty queue.
    pub fn new(backoff: Backoff) -> Self {
        Self {
            backoff,
            longest_stay: LONGEST_STAY,
            takes_early: true,
            pods: Map::default(),
            active: BTreeMap::new(),
            resting: BTreeSet::new(),
            early: BTreeSet::new(),
            stays: BTreeSet::new(),
            waits: WaitIndex::default(),
            recent: Recent::default(),
            arrivals: 0,
            in_hand: 0,
            gated: 0,
            epoch: None,
            incoming: BTreeMap::new(),
            looks: 0,
        }
    }

    /// Sets how long a pod stays unschedulable before it is tried whatever happened (upstream's
    /// `--pod-max-in-unschedulable-pods-duration`, five minutes).
    #[must_use]
    pub fn longest_stay(mut self, longest: Duration) -> Self {
        self.longest_stay = longest;
        self
    }

    /// Sets whether a pod may go before its backoff is over when nobody else is there (upstream's gate
    /// `SchedulerPopFromBackoffQ`, on).
    #[must_use]
    pub fn takes_early(mut self, early: bool) -> Self {
        self.takes_early = early;
        self
    }

    /// A pod that is to be scheduled came, or changed.
    pub fn set(&mut self, _old: Option<&Pod>, pod: &Pod, now: Instant) {
        if self.pods.get(&pod.key).is_some_and(|entry| entry.pod.uid != pod.uid) || pod.deleting {
            // Another pod of the same name, whatever became of the one that was here; or one that needs no place any more.
            self.remove(&pod.key);
        }
        if pod.deleting {
            return;
        }
        let Some(entry) = self.pods.get_mut(&pod.key) else {
            let place = (Reverse(pod.priority), self.arrive());
            let (state, failures) = (State::Gated, Failures::default());
            let entry = Entry { pod: pod.clone(), state, place, failures, backoff_ends: None, flushed: false };
            self.pods.insert(pod.key.clone(), entry);
            self.gated += 1;
            self.ready(&pod.key, event::CAME, now);
            return;
        };
        let old = std::mem::replace(&mut entry.pod, pod.clone());
        match &mut entry.state {
            State::InHand { taken_as } => drop(taken_as.get_or_insert_with(|| Box::new(old))),
            State::Gated if !pod.gated => self.ready(&pod.key, event::GATES_GONE, now),
            State::Unschedulable { .. }
                if self.waits.wait_of(&pod.key).is_none_or(|wait| own_change_helps(wait, &old, pod)) =>
            {
                self.ready(&pod.key, event::CHANGED, now);
            }
            State::Active | State::Backoff { .. } if old.priority != pod.priority => {
                self.ready(&pod.key, event::CHANGED, now);
            }
            _ => {}
        }
    }

    /// A pod changed that has a place already, though nobody else knows of it: it counts should the place be lost.
    pub fn changed_in_hand(&mut self, pod: &Pod) {
        let Some(entry) = self.pods.get_mut(&pod.key).filter(|entry| entry.pod.uid == pod.uid) else { return };
        if let State::InHand { taken_as } = &mut entry.state {
            let old = std::mem::replace(&mut entry.pod, pod.clone());
            taken_as.get_or_insert_with(|| Box::new(old));
        }
    }

    /// A pod is not to be scheduled any more.
    pub fn remove(&mut self, key: &ObjectKey) {
        self.leave(key);
        self.pods.remove(key);
    }

    /// Takes the pod that is next. Where there is none: when the next one is due, if any is.
    pub fn pop(&mut self, now: Instant) -> Result<ObjectKey, Option<Instant>> {
        self.epoch.get_or_insert(now);
        while let Some((_, key)) = self.resting.first().filter(|(until, _)| *until <= now).cloned() {
            self.ready(&key, event::BACKOFF_OVER, now);
        }
        while let Some((_, key)) = self.stays.first().filter(|(until, _)| *until <= now).cloned() {
            if let Some(entry) = self.pods.get_mut(&key) {
                entry.flushed = true;
            }
            self.ready(&key, event::STAYED_TOO_LONG, now);
        }
        let next = self.active.first_key_value().map(|(_, key)| key.clone());
        let next = next.or_else(|| {
            let (_, _, key) = self.early.first()?.clone();
            self.count(event::TAKEN_EARLY, Line::Active);
            Some(key)
        });
        let Some(key) = next else {
            let ends = [self.resting.first(), self.stays.first()];
            return Err(ends.into_iter().flatten().map(|(until, _)| *until).min());
        };
        self.leave(&key);
        self.in_hand += 1;
        if let Some(entry) = self.pods.get_mut(&key) {
            entry.state = State::InHand { taken_as: None };
        }
        Ok(key)
    }

    /// A pod that was taken is judged by what is known now, and changes from here on are not seen. To be told where the
    /// desk's lock is let go of before [`PodQueue::failed`].
    pub fn judging(&mut self, key: &ObjectKey) {
        if self.is_in_hand(key) {
            self.recent.begin(key);
        }
    }

    /// A pod that was being judged has a place: what changes from here on is nothing that it would have to know.
    pub fn judged(&mut self, key: &ObjectKey) {
        self.recent.end(key);
    }

    /// A pod that was taken needs no more scheduling. Another that has its name by now stays.
    pub fn done(&mut self, key: &ObjectKey, uid: &str) {
        if self.pods.get(key).is_some_and(|entry| *entry.pod.uid == *uid) {
            self.remove(key);
        }
    }

    /// A pod that was taken could not be placed. Another that has its name by now stays where it is.
    pub fn failed(&mut self, key: &ObjectKey, uid: &str, why: Failure, catalog: &Catalog, now: Instant) {
        let arrival = self.arrive();
        let Some(entry) = self.pods.get_mut(key).filter(|entry| *entry.pod.uid == *uid) else { return };
        let State::InHand { taken_as } = &mut entry.state else { return };
        let taken_as = taken_as.take();
        entry.flushed = false;
        entry.place = (Reverse(entry.pod.priority), arrival);
        match why {
            Failure::Refused(_) => entry.failures.rejected(),
            Failure::Error => entry.failures.erred(),
        }
        let rest = entry.failures.wait(self.backoff);
        entry.backoff_ends = Some(now + rest);
        let missed = self.recent.end(key);
        let wait = match why {
            Failure::Refused(wait) => wait,
            Failure::Error => {
                self.rest(key, false, event::FAILED, now);
                return;
            }
        };
        let pod = &entry.pod;
        let overtaken = taken_as.is_some_and(|old| own_change_helps(&wait, &old, pod))
            || missed.is_none_or(|missed| {
                missed.iter().any(|m| m.change().is_some_and(|c| catalog.could_help(pod, &wait, c, &m.touched)))
            });
        if overtaken {
            self.ready(key, event::FAILED, now);
            return;
        }
        self.in_hand -= 1;
        let until = now + self.longest_stay;
        entry.state = State::Unschedulable { until };
        self.stays.insert((until, key.clone()));
        self.waits.insert(key, wait);
        self.count(event::FAILED, Line::Unschedulable);
    }

    /// Whether a change could help any pod: otherwise nobody needs to be told of it.
    pub fn has_waiting(&self) -> bool {
        self.waits.len() > 0 || !self.recent.is_empty()
    }

    /// Wakes the pods that a change could help, of which the catalog has just been told. Returns whether there was one.
    pub fn wake(&mut self, change: Change<'_>, catalog: &Catalog, now: Instant) -> bool {
        if !self.has_waiting() {
            return false;
        }
        let touched = catalog.touched_by(change);
        self.recent.note(change, &touched);
        let label = change.label();
        let mut woken = false;
        for key in self.waits.touched(&touched) {
            self.looks += 1;
            let (Some(entry), Some(wait)) = (self.pods.get(&key), self.waits.wait_of(&key)) else { continue };
            if catalog.could_help(&entry.pod, wait, change, &touched) {
                self.ready(&key, label, now);
                woken = true;
            }
        }
        woken
    }

    /// Whether a pod is tried only because it stayed unschedulable for too long.
    pub fn is_flushed(&self, key: &ObjectKey) -> bool {
        self.pods.get(key).is_some_and(|entry| entry.flushed)
    }

    /// Whether no pod is in hand and none is due.
    pub fn is_idle(&self, now: Instant) -> bool {
        self.active.is_empty()
            && self.in_hand == 0
            && self.early.is_empty()
            && [self.resting.first(), self.stays.first()].into_iter().flatten().all(|(until, _)| *until > now)
    }

    /// How many pods stand where, and what brought them there.
    pub fn figures(&self) -> Figures {
        Figures {
            active: self.active.len(),
            backoff: self.resting.len(),
            unschedulable: self.stays.len(),
            gated: self.gated,
            in_hand: self.in_hand,
            incoming: self.incoming.clone(),
            looks: self.looks,
        }
    }

    fn is_in_hand(&self, key: &ObjectKey) -> bool {
        matches!(self.pods.get(key).map(|entry| &entry.state), Some(State::InHand { .. }))
    }

    fn arrive(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }

    fn count(&mut self, event: &'static str, line: Line) {
        *self.incoming.entry((event, line)).or_default() += 1;
    }

    /// Lets a pod be taken, as soon as its backoff is over.
    fn ready(&mut self, key: &ObjectKey, event: &'static str, now: Instant) {
        let Some(entry) = self.pods.get(key) else { return };
        if !entry.pod.gated && entry.backoff_ends.is_some_and(|until| until > now) {
            // Whoever rests after an error goes on doing so.
            let early = !matches!(entry.state, State::Backoff { early: false, .. });
            self.rest(key, early, event, now);
            return;
        }
        self.leave(key);
        let Some(entry) = self.pods.get_mut(key) else { return };
        if entry.pod.gated {
            entry.state = State::Gated;
            self.gated += 1;
            self.count(event, Line::Gated);
            return;
        }
        entry.place.0 = Reverse(entry.pod.priority);
        entry.state = State::Active;
        self.active.insert(entry.place, key.clone());
        self.count(event, Line::Active);
    }

    /// Lets a pod rest until its backoff is over.
    fn rest(&mut self, key: &ObjectKey, early: bool, event: &'static str, now: Instant) {
        self.leave(key);
        let epoch = *self.epoch.get_or_insert(now);
        let Some(entry) = self.pods.get_mut(key) else { return };
        let until = entry.backoff_ends.unwrap_or(now);
        entry.place.0 = Reverse(entry.pod.priority);
        entry.state = State::Backoff { until, early };
        self.resting.insert((until, key.clone()));
        if early && self.takes_early {
            self.early.insert((window(epoch, until), entry.place, key.clone()));
        }
        self.count(event, Line::Backoff);
    }

    /// Takes a pod out of the list it is in.
    fn leave(&mut self, key: &ObjectKey) {
        let Some(entry) = self.pods.get(key) else { return };
        match &entry.state {
            State::Active => drop(self.active.remove(&entry.place)),
            State::Backoff { until, early } => {
                self.resting.remove(&(*until, key.clone()));
                if let Some(epoch) = self.epoch.filter(|_| *early) {
                    self.early.remove(&(window(epoch, *until), entry.place, key.clone()));
                }
            }
            State::Unschedulable { until } => {
                self.stays.remove(&(*until, key.clone()));
                self.waits.remove(key);
            }
            State::Gated => self.gated -= 1,
            State::InHand { .. } => {
                self.in_hand -= 1;
                self.recent.end(key);
            }
        }
    }
}

/// The window that a backoff ends in.
fn window(epoch: Instant, until: Instant) -> u64 {
    until.saturating_duration_since(epoch).as_secs() / WINDOW.as_secs().max(1)
}
