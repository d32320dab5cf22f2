//! Changes that came while pods were being judged by what was before.
//!
//! A decision under the desk's lock sees every change before it and none after it. One that lets go of the lock, to ask an
//! extender or to look for victims, may end in a refusal that a change has overtaken; it must not wait for that change.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use plimsoll_engine::Object;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_engine::wakeups::{Change, Touched};

/// How many changes are remembered. Whoever missed more than that is tried again whatever they were: that costs one look.
const REMEMBERED: usize = 1000;

#[derive(Clone, Debug)]
pub(super) struct Remembered {
    old: Option<Arc<Object>>,
    new: Option<Arc<Object>>,
    pub(super) touched: Touched,
}

impl Remembered {
    pub(super) fn change(&self) -> Option<Change<'_>> {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => Some(Change::Updated { old, new }),
            (Some(old), None) => Some(Change::Deleted(old)),
            (None, Some(new)) => Some(Change::Added(new)),
            (None, None) => None,
        }
    }
}

/// The changes since the earliest decision that is under way.
#[derive(Debug, Default)]
pub(super) struct Recent {
    changes: VecDeque<Remembered>,
    /// The number of the first of `changes`, counted from the beginning of time.
    first: u64,
    /// The pods that are being judged, with the number of the first change that they did not see.
    judged: BTreeMap<ObjectKey, u64>,
}

impl Recent {
    pub(super) fn is_empty(&self) -> bool {
        self.judged.is_empty()
    }

    /// A pod is judged by what is known now.
    pub(super) fn begin(&mut self, pod: &ObjectKey) {
        // Who is judged twice in one go has seen nothing of what came in between.
        let now = self.first + self.changes.len() as u64;
        self.judged.entry(pod.clone()).or_insert(now);
    }

    /// A pod's decision is over. Returns the changes that it did not see; `None` where they are too many to tell.
    pub(super) fn end(&mut self, pod: &ObjectKey) -> Option<Vec<Remembered>> {
        let Some(since) = self.judged.remove(pod) else { return Some(Vec::new()) };
        let missed = since
            .checked_sub(self.first)
            .map(|skip| self.changes.iter().skip(usize::try_from(skip).unwrap_or(usize::MAX)).cloned().collect());
        let earliest = self.judged.values().min().copied().unwrap_or(u64::MAX);
        while self.first < earliest && self.changes.pop_front().is_some() {
            self.first += 1;
        }
        missed
    }

    /// Remembers a change, if anybody could have missed it.
    pub(super) fn note(&mut self, change: Change<'_>, touched: &Touched) {
        if self.judged.is_empty() {
            return;
        }
        let keep = |object: &Object| Some(Arc::new(object.clone()));
        let (old, new) = match change {
            Change::Added(new) => (None, keep(new)),
            Change::Updated { old, new } => (keep(old), keep(new)),
            Change::Deleted(old) => (keep(old), None),
        };
        self.changes.push_back(Remembered { old, new, touched: touched.clone() });
        if self.changes.len() > REMEMBERED {
            self.changes.pop_front();
            self.first += 1;
        }
    }
}
