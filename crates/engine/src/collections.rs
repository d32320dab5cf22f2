//! Hash maps whose iteration order is the same in every run, so that a seed replays a decision.

use rustc_hash::FxBuildHasher;

/// A hash map with a fixed hasher. Iterate it only where the order cannot change an outcome.
pub type Map<K, V> = hashbrown::HashMap<K, V, FxBuildHasher>;
/// A hash set with a fixed hasher. Iterate it only where the order cannot change an outcome.
pub type Set<K> = hashbrown::HashSet<K, FxBuildHasher>;
