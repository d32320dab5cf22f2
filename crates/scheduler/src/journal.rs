//! What is remembered of pods that wait, for figures and the decision log: since when, how often tried, who refused them; and how
//! far each kind's watch has come.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::model::{Pod, Version};
use plimsoll_engine::object::Kind;
use plimsoll_engine::reason::Plugin;
use plimsoll_runtime::spans::{Phase, Trace};
use tokio::time::Instant;

/// One attempt to place a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// Since when the pod could have been placed.
    pub(crate) came: Instant,
    /// Since when it waits for this attempt: it came, or the last one ended.
    pub(crate) since: Instant,
    /// When it was taken.
    pub(crate) began: Instant,
    /// The first is one.
    pub(crate) number: u32,
    /// Whether nothing but time brought it about: the pod had stayed unschedulable for too long.
    pub(crate) flushed: bool,
}

#[derive(Debug)]
struct Waiting {
    uid: Name,
    profile: Name,
    attempt: Attempt,
    refused_by: BTreeSet<Plugin>,
    /// The spans of the attempt, while it is decided about.
    trace: Option<Box<Trace>>,
}

/// What is remembered.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    pods: BTreeMap<ObjectKey, Waiting>,
    /// How many of them each plugin refused, by profile: counted as it changes, since `/metrics` asks under the desk's lock.
    refusals: BTreeMap<(Plugin, Name), i64>,
    newest: BTreeMap<Kind, Version>,
}

impl Journal {
    /// A pod is there to be placed. With scheduling gates it is not yet.
    pub(crate) fn came(&mut self, pod: &Pod, now: Instant) {
        let known = self.pods.get(&pod.key).is_some_and(|waiting| waiting.uid == pod.uid);
        if !known && !pod.gated {
            let attempt = Attempt { came: now, since: now, began: now, number: 0, flushed: false };
            let (uid, profile) = (pod.uid.clone(), pod.scheduler.clone());
            let waiting = Waiting { uid, profile, attempt, refused_by: BTreeSet::new(), trace: None };
            let before = self.pods.insert(pod.key.clone(), waiting);
            self.uncount(before);
        }
    }

    /// A pod is not to be placed any more.
    pub(crate) fn left(&mut self, key: &ObjectKey) {
        let left = self.pods.remove(key);
        self.uncount(left);
    }

    /// A pod is taken from the queue.
    pub(crate) fn taken(&mut self, pod: &Pod, flushed: bool, now: Instant) {
        self.came(pod, now);
        if let Some(waiting) = self.pods.get_mut(&pod.key) {
            waiting.attempt.began = now;
            waiting.attempt.flushed = flushed;
            waiting.attempt.number = waiting.attempt.number.saturating_add(1);
            waiting.trace = None;
            uncount(&mut self.refusals, std::mem::take(&mut waiting.refused_by), &waiting.profile);
        }
    }

    /// A pod fits nowhere.
    pub(crate) fn refused(&mut self, pod: &Pod, by: impl Iterator<Item = Plugin>) {
        let Some(waiting) = self.pods.get_mut(&pod.key) else { return };
        let before = std::mem::replace(&mut waiting.refused_by, by.collect());
        for plugin in &waiting.refused_by {
            *self.refusals.entry((*plugin, waiting.profile.clone())).or_default() += 1;
        }
        uncount(&mut self.refusals, before, &waiting.profile);
    }

    /// The attempt with a pod that stays has ended.
    pub(crate) fn rests(&mut self, pod: &Pod, now: Instant) {
        if let Some(waiting) = self.pods.get_mut(&pod.key).filter(|waiting| waiting.uid == pod.uid) {
            waiting.attempt.since = now;
        }
    }

    /// Keeps the spans of the attempt that has begun.
    pub(crate) fn keep(&mut self, pod: &Pod, trace: Box<Trace>) {
        if let Some(waiting) = self.pods.get_mut(&pod.key).filter(|waiting| waiting.uid == pod.uid) {
            waiting.trace = Some(trace);
        }
    }

    /// Adds to the spans of the attempt, where they are kept.
    pub(crate) fn add(&mut self, pod: &Pod, phases: impl IntoIterator<Item = Phase>) {
        let waiting = self.pods.get_mut(&pod.key).filter(|waiting| waiting.uid == pod.uid);
        if let Some(trace) = waiting.and_then(|waiting| waiting.trace.as_mut()) {
            phases.into_iter().for_each(|phase| trace.add(phase));
        }
    }

    /// Hands over the spans of the attempt, which is decided.
    pub(crate) fn take_trace(&mut self, pod: &Pod) -> Option<Box<Trace>> {
        self.pods.get_mut(&pod.key).filter(|waiting| waiting.uid == pod.uid)?.trace.take()
    }

    /// The attempt that is under way, or was last.
    pub(crate) fn attempt(&self, pod: &Pod, now: Instant) -> Attempt {
        let known = self.pods.get(&pod.key).filter(|waiting| waiting.uid == pod.uid);
        known
            .map_or(Attempt { came: now, since: now, began: now, number: 1, flushed: false }, |waiting| waiting.attempt)
    }

    /// How many waiting pods each plugin refused, by profile.
    pub(crate) fn refusals(&self) -> BTreeMap<(Plugin, Name), i64> {
        self.refusals.clone()
    }

    fn uncount(&mut self, left: Option<Waiting>) {
        if let Some(left) = left {
            uncount(&mut self.refusals, left.refused_by, &left.profile);
        }
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

/// Takes a pod's refusals out of the count; what nobody refuses any more is not told.
fn uncount(refusals: &mut BTreeMap<(Plugin, Name), i64>, by: BTreeSet<Plugin>, profile: &Name) {
    for plugin in by {
        if let Entry::Occupied(mut count) = refusals.entry((plugin, profile.clone())) {
            *count.get_mut() -= 1;
            if *count.get() <= 0 {
                count.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_as_they_come_and_go() {
        let (now, mut journal) = (Instant::now(), Journal::default());
        let named = |name: &str| Pod { uid: name.into(), scheduler: "s".into(), ..Pod::named("default", name) };
        let (a, b) = (named("a"), named("b"));
        let count = |journal: &Journal| -> Vec<i64> { journal.refusals().into_values().collect() };
        for pod in [&a, &b] {
            journal.taken(pod, false, now);
            journal.refused(pod, [Plugin::VolumeBinding, Plugin::NodeName].into_iter());
        }
        assert_eq!(count(&journal), [2, 2]);
        journal.refused(&a, [Plugin::VolumeBinding].into_iter());
        assert_eq!(journal.refusals()[&(Plugin::VolumeBinding, Name::from("s"))], 2);
        assert_eq!(journal.refusals()[&(Plugin::NodeName, Name::from("s"))], 1);
        // Another of that name.
        journal.came(&Pod { uid: "anew".into(), ..b.clone() }, now);
        assert_eq!(count(&journal), [1]);
        journal.taken(&a, false, now);
        assert!(count(&journal).is_empty());
        journal.left(&a.key);
        assert!(journal.refusals().is_empty());
    }
}
