//! The scheduling queue: which pod is next, and which wait for what.
//!
//! ```text
//!             due, or nothing else to do
//!   backoff ─────────────────────────────► active ── pop ──► in hand ── bound, gone ──► (left)
//!      ▲ ▲                                   ▲                  │
//!      │ └─ a change that could help ────────┤ its time is over │ refused
//!      │      (while its backoff runs)       │                  ▼
//!      │                                     └────────── unschedulable
//!      └──────────────────────────────────── error ─────────────┘
//! ```
//!
//! Active pods leave by priority, then by how long they have waited. A pod with scheduling gates stands aside until they
//! are gone.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use plimsoll_engine::collections::Map;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_engine::model::Pod;
use plimsoll_engine::reason::{Code, Plugin};
use plimsoll_engine::volumes::wakeups::{Change, could_help};
use tokio::time::Instant;

/// How long a pod stays unschedulable before it is tried whatever happened.
const LONGEST_STAY: Duration = Duration::from_secs(300);

/// How long a pod waits after it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// After the first time.
    pub first: Duration,
    /// At most.
    pub most: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first: Duration::from_secs(1), most: Duration::from_secs(10) }
    }
}

impl Backoff {
    /// After so many failures in a row.
    fn after(self, failures: u32) -> Duration {
        let doubled = self.first.saturating_mul(1u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX));
        doubled.min(self.most)
    }
}

/// Why a pod comes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It fits nowhere: these refused it.
    Refused(BTreeSet<(Plugin, Code)>),
    /// Something went wrong.
    Error,
}

/// Where a pod stands.
#[derive(Clone, Debug, PartialEq)]
enum State {
    Gated,
    Active { place: Place },
    Backoff { until: Instant },
    Unschedulable { since: Instant, refused_by: BTreeSet<(Plugin, Code)> },
    InHand,
}

/// The order in which active pods leave.
type Place = (Reverse<i32>, u64);

#[derive(Clone, Debug)]
struct Entry {
    pod: Pod,
    state: State,
    /// When it first came, as a number that grows: of two with equal priority the earlier goes first.
    arrival: u64,
    failures: u32,
    /// Its last failure's backoff ends then.
    backoff_ends: Option<Instant>,
}

/// The scheduling queue.
#[derive(Debug)]
pub struct PodQueue {
    backoff: Backoff,
    pods: Map<ObjectKey, Entry>,
    active: BTreeMap<Place, ObjectKey>,
    waiting: BTreeSet<(Instant, ObjectKey)>,
    unschedulable: BTreeSet<ObjectKey>,
    arrivals: u64,
}

impl PodQueue {
    /// An empty queue.
    pub fn new(backoff: Backoff) -> Self {
        Self {
            backoff,
            pods: Map::default(),
            active: BTreeMap::new(),
            waiting: BTreeSet::new(),
            unschedulable: BTreeSet::new(),
            arrivals: 0,
        }
    }

    /// A pod that is to be scheduled came, or changed.
    pub fn set(&mut self, _old: Option<&Pod>, pod: &Pod, now: Instant) {
        let Some(entry) = self.pods.get_mut(&pod.key) else {
            self.arrivals += 1;
            let entry = Entry {
                pod: pod.clone(),
                state: State::Gated,
                arrival: self.arrivals,
                failures: 0,
                backoff_ends: None,
            };
            self.pods.insert(pod.key.clone(), entry);
            self.ready(&pod.key, now);
            return;
        };
        let changed = differs(&entry.pod, pod);
        entry.pod = pod.clone();
        match entry.state {
            State::InHand | State::Backoff { .. } => {}
            State::Unschedulable { .. } if !changed => {}
            _ => self.ready(&pod.key, now),
        }
    }

    /// A pod is not to be scheduled any more.
    pub fn remove(&mut self, key: &ObjectKey) {
        self.leave(key);
        self.pods.remove(key);
    }

    /// Takes the pod that is next. Where there is none: when the next one is due, if any is.
    pub fn pop(&mut self, now: Instant) -> Result<ObjectKey, Option<Instant>> {
        while let Some((until, key)) = self.waiting.first().cloned() {
            if until > now {
                break;
            }
            self.ready(&key, now);
        }
        let overdue: Vec<ObjectKey> = self
            .unschedulable
            .iter()
            .filter(|key| {
                matches!(self.pods.get(*key).map(|e| &e.state), Some(State::Unschedulable { since, .. }) if *since + LONGEST_STAY <= now)
            })
            .cloned()
            .collect();
        for key in overdue {
            self.ready(&key, now);
        }
        match self.active.pop_first() {
            Some((_, key)) => {
                if let Some(entry) = self.pods.get_mut(&key) {
                    entry.state = State::InHand;
                }
                Ok(key)
            }
            None => {
                let due = self.waiting.first().map(|(until, _)| *until);
                let stay = if self.unschedulable.is_empty() { None } else { Some(now + Duration::from_secs(30)) };
                Err(due.into_iter().chain(stay).min())
            }
        }
    }

    /// A pod that was taken needs no more scheduling.
    pub fn done(&mut self, key: &ObjectKey) {
        self.remove(key);
    }

    /// A pod that was taken could not be placed.
    pub fn failed(&mut self, key: &ObjectKey, why: Failure, now: Instant) {
        self.leave(key);
        let Some(entry) = self.pods.get_mut(key) else { return };
        entry.failures += 1;
        let until = now + self.backoff.after(entry.failures);
        entry.backoff_ends = Some(until);
        match why {
            Failure::Refused(refused_by) => {
                entry.state = State::Unschedulable { since: now, refused_by };
                self.unschedulable.insert(key.clone());
            }
            Failure::Error => {
                entry.state = State::Backoff { until };
                self.waiting.insert((until, key.clone()));
            }
        }
    }

    /// Wakes the pods that a change could help. Returns whether there was one.
    pub fn wake(&mut self, change: Change<'_>, now: Instant) -> bool {
        let helped: Vec<ObjectKey> = self
            .unschedulable
            .iter()
            .filter(|key| {
                self.pods.get(*key).is_some_and(|entry| match &entry.state {
                    State::Unschedulable { refused_by, .. } => {
                        refused_by.iter().any(|(plugin, code)| could_help(*plugin, *code, &entry.pod, change))
                    }
                    _ => false,
                })
            })
            .cloned()
            .collect();
        for key in &helped {
            self.ready(key, now);
        }
        !helped.is_empty()
    }

    /// Whether no pod is in hand and none is due.
    pub fn is_idle(&self, now: Instant) -> bool {
        self.active.is_empty()
            && self.waiting.first().is_none_or(|(until, _)| *until > now)
            && !self.pods.values().any(|e| e.state == State::InHand)
    }

    /// Lets a pod be taken, as soon as its backoff is over.
    fn ready(&mut self, key: &ObjectKey, now: Instant) {
        self.leave(key);
        let Some(entry) = self.pods.get_mut(key) else { return };
        if entry.pod.gated {
            entry.state = State::Gated;
            return;
        }
        if let Some(until) = entry.backoff_ends.filter(|until| *until > now) {
            entry.state = State::Backoff { until };
            self.waiting.insert((until, key.clone()));
            return;
        }
        let place = (Reverse(entry.pod.priority), entry.arrival);
        entry.state = State::Active { place };
        self.active.insert(place, key.clone());
    }

    /// Takes a pod out of the list it is in.
    fn leave(&mut self, key: &ObjectKey) {
        let Some(entry) = self.pods.get(key) else { return };
        match &entry.state {
            State::Active { place } => drop(self.active.remove(place)),
            State::Backoff { until } => drop(self.waiting.remove(&(*until, key.clone()))),
            State::Unschedulable { .. } => drop(self.unschedulable.remove(key)),
            State::Gated | State::InHand => {}
        }
    }
}

/// Whether anything but the version and the status of a pod changed.
fn differs(old: &Pod, new: &Pod) -> bool {
    let bare = |pod: &Pod| Pod { version: 0, nominated_node: None, started: None, ..pod.clone() };
    bare(old) != bare(new)
}
