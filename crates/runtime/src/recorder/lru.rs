//! A map that forgets what was not used for longest.

use std::collections::BTreeMap;

/// A map of bounded size.
pub(super) struct Lru<K, V> {
    entries: BTreeMap<K, (u64, V)>,
    /// The keys by when they were last used.
    order: BTreeMap<u64, K>,
    clock: u64,
    capacity: usize,
}

impl<K: Ord + Clone, V> Lru<K, V> {
    /// Of at most this many entries.
    pub(super) fn new(capacity: usize) -> Self {
        Self { entries: BTreeMap::new(), order: BTreeMap::new(), clock: 0, capacity }
    }

    /// The value of a key, made where there is none; used now.
    pub(super) fn entry(&mut self, key: &K, make: impl FnOnce() -> V) -> &mut V {
        self.clock += 1;
        let now = self.clock;
        if let Some((used, _)) = self.entries.get(key) {
            self.order.remove(used);
        } else if self.entries.len() >= self.capacity
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.entries.remove(&oldest);
        }
        self.order.insert(now, key.clone());
        let (used, value) = self.entries.entry(key.clone()).or_insert_with(|| (now, make()));
        *used = now;
        value
    }
}

#[cfg(test)]
mod tests {
    use super::Lru;

    #[test]
    fn the_least_recently_used_is_forgotten() {
        let mut lru = Lru::new(2);
        *lru.entry(&"a", || 0) += 1;
        *lru.entry(&"b", || 0) += 1;
        *lru.entry(&"a", || 0) += 1;
        lru.entry(&"c", || 0);
        assert_eq!(*lru.entry(&"a", || 0), 2);
        assert_eq!(*lru.entry(&"b", || 0), 0);
        assert_eq!((lru.entries.len(), lru.order.len()), (2, 2));
    }
}
