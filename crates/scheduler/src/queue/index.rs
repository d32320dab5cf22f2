//! The waiting pods by what they wait for.
//!
//! A change finds the pods that it could help by the keys that it touches, so that its cost is that of those pods and not
//! of all that wait. Room on a node is no key: whom it helps depends on how much there is, so that those who wait for
//! room stand in order of what they ask for.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_engine::collections::Map;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_engine::model::Resources;
use plimsoll_engine::wakeups::{Key, Touched, Wait};

#[derive(Debug, Default)]
pub(super) struct WaitIndex {
    waits: BTreeMap<ObjectKey, Wait>,
    by_key: Map<Key, BTreeSet<ObjectKey>>,
    by_cpu: BTreeSet<(i64, ObjectKey)>,
    by_memory: BTreeSet<(i64, ObjectKey)>,
    /// Those who wait for room and may have others removed for it.
    by_priority: BTreeSet<(i32, ObjectKey)>,
}

impl WaitIndex {
    pub(super) fn insert(&mut self, pod: &ObjectKey, wait: Wait) {
        self.remove(pod);
        for key in wait.keys() {
            match self.by_key.get_mut(key) {
                Some(pods) => drop(pods.insert(pod.clone())),
                None => drop(self.by_key.insert(key.clone(), BTreeSet::from([pod.clone()]))),
            }
        }
        if let Some(asks) = wait.asks() {
            self.by_cpu.insert((asks.amounts.cpu_milli, pod.clone()));
            self.by_memory.insert((asks.amounts.memory, pod.clone()));
            self.by_priority.extend(asks.preempts_below.map(|priority| (priority, pod.clone())));
        }
        self.waits.insert(pod.clone(), wait);
    }

    pub(super) fn remove(&mut self, pod: &ObjectKey) -> Option<Wait> {
        let wait = self.waits.remove(pod)?;
        for key in wait.keys() {
            if let Some(pods) = self.by_key.get_mut(key) {
                pods.remove(pod);
                if pods.is_empty() {
                    self.by_key.remove(key);
                }
            }
        }
        if let Some(asks) = wait.asks() {
            self.by_cpu.remove(&(asks.amounts.cpu_milli, pod.clone()));
            self.by_memory.remove(&(asks.amounts.memory, pod.clone()));
            if let Some(priority) = asks.preempts_below {
                self.by_priority.remove(&(priority, pod.clone()));
            }
        }
        Some(wait)
    }

    pub(super) fn wait_of(&self, pod: &ObjectKey) -> Option<&Wait> {
        self.waits.get(pod)
    }

    pub(super) fn len(&self) -> usize {
        self.waits.len()
    }

    /// The pods that wait for something of what was touched.
    pub(super) fn touched(&self, touched: &Touched) -> BTreeSet<ObjectKey> {
        let mut found = BTreeSet::new();
        for key in touched.keys() {
            found.extend(self.by_key.get(key).into_iter().flatten().cloned());
        }
        for free in touched.free() {
            found.extend(self.asking_at_most(&free.left).into_iter().cloned());
            if let Some(above) = free.lowest.and_then(|lowest| lowest.checked_add(1)) {
                found.extend(self.by_priority.range((above, ObjectKey::default())..).map(|(_, pod)| pod.clone()));
            }
        }
        found
    }

    /// The pods that ask for no more cpu, or for no more memory, than is left: of the two lists the shorter one, found by
    /// walking both at once. Nobody is short of what it does not ask for, even where less than nothing is left.
    fn asking_at_most(&self, left: &Resources) -> Vec<&ObjectKey> {
        let above = |amount: i64| (amount.max(0).saturating_add(1), ObjectKey::default());
        let mut by_cpu = self.by_cpu.range(..above(left.cpu_milli));
        let mut by_memory = self.by_memory.range(..above(left.memory));
        let (mut cheap, mut small) = (Vec::new(), Vec::new());
        loop {
            match by_cpu.next() {
                Some((_, pod)) => cheap.push(pod),
                None => return cheap,
            }
            match by_memory.next() {
                Some((_, pod)) => small.push(pod),
                None => return small,
            }
        }
    }
}
