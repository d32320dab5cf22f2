//! What is remembered of pods that wait, for figures and the decision log: since when, how often tried, who refused them; and how
//! far each kind's watch has come.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::model::{Pod, Version};
use plimsoll_engine::object::Kind;
use plimsoll_engine::reason::Plugin;
use tokio::time::Instant;

/// One attempt to place a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// Since when the pod could have been placed.
    pub(crate) came: Instant,
    /// When it was taken.
    pub(crate) began: Instant,
    /// The first is one.
    pub(crate) number: u32,
}

#[derive(Debug)]
struct Waiting {
    uid: Name,
    profile: Name,
    attempt: Attempt,
    refused_by: BTreeSet<Plugin>,
}

/// What is remembered.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    pods: BTreeMap<ObjectKey, Waiting>,
    newest: BTreeMap<Kind, Version>,
}

impl Journal {
    /// A pod is there to be placed. With scheduling gates it is not yet.
    pub(crate) fn came(&mut self, pod: &Pod, now: Instant) {
        let known = self.pods.get(&pod.key).is_some_and(|waiting| waiting.uid == pod.uid);
        if !known && !pod.gated {
            let attempt = Attempt { came: now, began: now, number: 0 };
            let (uid, profile) = (pod.uid.clone(), pod.scheduler.clone());
            self.pods.insert(pod.key.clone(), Waiting { uid, profile, attempt, refused_by: BTreeSet::new() });
        }
    }

    /// A pod is not to be placed any more.
    pub(crate) fn left(&mut self, key: &ObjectKey) {
        self.pods.remove(key);
    }

    /// A pod is taken from the queue.
    pub(crate) fn taken(&mut self, pod: &Pod, now: Instant) {
        self.came(pod, now);
        if let Some(waiting) = self.pods.get_mut(&pod.key) {
            waiting.attempt.began = now;
            waiting.attempt.number = waiting.attempt.number.saturating_add(1);
            waiting.refused_by.clear();
        }
    }

    /// A pod fits nowhere.
    pub(crate) fn refused(&mut self, pod: &Pod, by: impl Iterator<Item = Plugin>) {
        if let Some(waiting) = self.pods.get_mut(&pod.key) {
            waiting.refused_by = by.collect();
        }
    }

    /// The attempt that is under way, or was last.
    pub(crate) fn attempt(&self, pod: &Pod, now: Instant) -> Attempt {
        let known = self.pods.get(&pod.key).filter(|waiting| waiting.uid == pod.uid);
        known.map_or(Attempt { came: now, began: now, number: 1 }, |waiting| waiting.attempt)
    }

    /// How many waiting pods each plugin refused, by profile.
    pub(crate) fn refusals(&self) -> BTreeMap<(Plugin, Name), i64> {
        let mut counts = BTreeMap::new();
        for waiting in self.pods.values() {
            for plugin in &waiting.refused_by {
                *counts.entry((*plugin, waiting.profile.clone())).or_default() += 1;
            }
        }
        counts
    }

    /// An object of a kind was seen in this version.
    pub(crate) fn saw(&mut self, kind: Kind, version: Version) {
        let newest = self.newest.entry(kind).or_default();
        *newest = (*newest).max(version);
    }

    /// The newest version of each kind that was seen.
    pub(crate) fn newest(&self) -> &BTreeMap<Kind, Version> {
        &self.newest
    }
}
