//! A map that forgets what was not used for longest.

use std::collections::BTreeMap;

/// A map of bounded size.
pub(crate) struct Lru<K, V> {
    entries: BTreeMap<K, (u64, V)>,
    /// The keys by when they were last used.
    order: BTreeMap<u64, K>,
    clock: u64,
    capacity: usize,
}

impl<K: Ord + Clone, V> Lru<K, V> {
    /// Of at most this many entries.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { entries: BTreeMap::new(), order: BTreeMap::new(), clock: 0, capacity }
    }

    /// The value of a key, made where there is none; used now.
    pub(crate) fn entry(&mut self, key: &K, make: impl FnOnce() -> V) -> &mut V {
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

    /// The value of a key; not used by this.
    pub(crate) fn peek_mut(&mut self, key: &K) -> Option<&mut V> {
        self.entries.get_mut(key).map(|(_, value)| value)
    }

    /// All values; none is used by this.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.values_mut().map(|(_, value)| value)
    }

    /// Takes out what was not used for longest, if the caller wants it gone.
    pub(crate) fn pop_oldest_if(&mut self, gone: impl FnOnce(&V) -> bool) -> Option<V> {
        let (used, key) = self.order.first_key_value()?;
        let (used, key) = (*used, key.clone());
        if !self.entries.get(&key).is_some_and(|(_, value)| gone(value)) {
            return None;
        }
        self.order.remove(&used);
        self.entries.remove(&key).map(|(_, value)| value)
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
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

    #[test]
    fn looking_is_not_using_and_the_oldest_goes_when_asked_to() {
        let mut lru = Lru::new(2);
        lru.entry(&"a", || 1);
        lru.entry(&"b", || 2);
        *lru.peek_mut(&"a").unwrap() += 10;
        assert_eq!(lru.pop_oldest_if(|value| *value == 2), None);
        assert_eq!(lru.pop_oldest_if(|value| *value == 11), Some(11));
        assert_eq!((lru.len(), lru.order.len()), (1, 1));
        assert_eq!(lru.values_mut().map(|value| *value).collect::<Vec<_>>(), [2]);
    }
}
