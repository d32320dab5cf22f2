//! The events that may be said again: which become an object of their own, and which are counted on one that is there.
//!
//! ```text
//!           said               said again               said again
//!  (none) ────────► single ─────────────────► series ──────────────► series
//!    ▲    create      │      patch: two         │ ▲    counted only    │
//!    │                │                         │ └─ half an hour: patch
//!    └── 6 minutes ───┘◄── 6 minutes: patch ────┘
//! ```
//!
//! The steps and their times are client-go's: they decide which objects a cluster's users see. One event is written by one request at
//! a time, so that its series is never patched before it is there; what is said meanwhile is written after it.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use crate::lru::Lru;
use crate::recorder::{About, Severity};

/// After this long a silence an event that is said again is another one.
pub(super) const SILENCE: Duration = Duration::from_secs(6 * 60);
/// How many events are remembered. client-go sets no limit; a burst of pods that are placed would be remembered in vain.
const MEMORY: usize = 8192;

/// What makes two events one: everything but the words and the moment. The object's version is a part of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sameness {
    pub(super) about: About,
    pub(super) related: Option<About>,
    pub(super) severity: Severity,
    pub(super) reason: &'static str,
    pub(super) action: &'static str,
}

/// An event as it was first said.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) same: Arc<Sameness>,
    /// The name of the API's object.
    pub(super) name: String,
    pub(super) note: String,
    pub(super) at: Timestamp,
}

/// How often it was said, and when last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Series {
    pub(super) count: u32,
    pub(super) last: Timestamp,
}

/// What is to be written.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) event: Arc<Event>,
    /// Nothing for a new one.
    pub(super) series: Option<Series>,
}

struct Entry {
    event: Arc<Event>,
    series: Option<Series>,
    last: Instant,
    /// Whether a request about it is on its way.
    writing: bool,
    /// Whether it became a series while one was.
    again: bool,
}

impl Entry {
    fn write(&mut self) -> Write {
        self.writing = true;
        self.again = false;
        Write { event: self.event.clone(), series: self.series }
    }

    /// What is still to be written when it is forgotten: how often it was said.
    fn end(mut self) -> Option<Write> {
        (self.series.is_some() && !self.writing).then(|| self.write())
    }
}

/// The memory of what was said.
pub(super) struct Book {
    entries: Lru<Arc<Sameness>, Entry>,
}

impl Book {
    /// Nothing was said yet.
    pub(super) fn new() -> Self {
        Self { entries: Lru::new(MEMORY) }
    }

    /// Something is said. What is to be written for it, and for what is forgotten in its stead.
    pub(super) fn said(&mut self, event: Event) -> impl Iterator<Item = Write> + use<> {
        let (now, at) = (Instant::now(), event.at);
        let known = self.entries.peek_mut(&event.same).is_some();
        let full = !known && self.entries.len() >= MEMORY;
        let forgotten = if full { self.entries.pop_oldest_if(|_| true).and_then(Entry::end) } else { None };
        let same = event.same.clone();
        let entry = self.entries.entry(&same, || Entry {
            event: Arc::new(event),
            series: None,
            last: now,
            writing: false,
            again: false,
        });
        entry.last = now;
        let write = match &mut entry.series {
            _ if !known => Some(entry.write()),
            Some(series) => {
                series.count = series.count.saturating_add(1);
                series.last = at;
                None
            }
            none => {
                *none = Some(Series { count: 2, last: at });
                entry.again = entry.writing;
                (!entry.writing).then(|| entry.write())
            }
        };
        forgotten.into_iter().chain(write)
    }

    /// A request is done with, whatever came of it. What is to be written next.
    pub(super) fn written(&mut self, event: &Arc<Event>) -> Option<Write> {
        // One that was forgotten and said again is another.
        let entry = self.entries.peek_mut(&event.same).filter(|entry| Arc::ptr_eq(&entry.event, event))?;
        entry.writing = false;
        entry.again.then(|| entry.write())
    }

    /// Forgets what was not said for a while.
    pub(super) fn forget(&mut self) -> Vec<Write> {
        let now = Instant::now();
        let mut writes = Vec::new();
        // The order of use is that of being said.
        let over = |entry: &Entry| !entry.writing && now - entry.last >= SILENCE;
        while let Some(entry) = self.entries.pop_oldest_if(over) {
            writes.extend(entry.end());
        }
        writes
    }

    /// All series, so that the API server does not forget what goes on.
    pub(super) fn refresh(&mut self) -> Vec<Write> {
        let series = self.entries.values_mut().filter(|entry| entry.series.is_some() && !entry.writing);
        series.map(Entry::write).collect()
    }

    /// Whether nothing is remembered.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.len() == 0
    }
}
