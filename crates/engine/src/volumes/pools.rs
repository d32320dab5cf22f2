//! Pools of storage (CSIStorageCapacity), and the space promised in them.
//!
//! A pool's object says what was free when its driver last looked. Volumes that were decided on since then are *promised*:
//! a claim that has a selected node but no volume yet takes its size from the pool it will be made in. That follows
//! from the claims alone, so it is the same after a restart. What this process itself assumed stays promised a little
//! longer, until the pool's object has had the time to show it (see [`Pools::settle`]).

use std::collections::BTreeMap;

use smallvec::SmallVec;

use crate::collections::Map;
use crate::labels::{Name, ObjectKey};
use crate::model::Pool;
use crate::quantity::Quantity;
use crate::topology::{Place, ReachId, Topologies, TopologyId};

/// A pool and its reach.
#[derive(Clone, Debug)]
pub(crate) struct PoolRecord {
    /// The object.
    pub(crate) pool: Pool,
    /// From where it can be reached; `None` is nowhere.
    pub(crate) reach: Option<ReachId>,
    /// The largest volume it says it can make, in whole bytes.
    pub(crate) limit: Option<i64>,
    /// Its space in whole bytes.
    pub(crate) capacity: Option<i64>,
}

/// Space that a claim will take.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Promise {
    /// Where the claim's volume will be made.
    node: Name,
    /// How much it takes.
    bytes: i64,
    /// The pools that could make it, in order of their keys. Nearly always there is one.
    pools: SmallVec<[ObjectKey; 1]>,
}

/// Space of a volume that was made by our own choice and may not show in its pool's object yet.
#[derive(Clone, Debug)]
struct Settling {
    pool: ObjectKey,
    bytes: i64,
    since: u64,
}

/// How long a made volume's space stays promised when its pool's object does not change, in seconds. The provisioner
/// looks at its driver every minute and writes only what changed, so that after two of these the space is in there.
const SETTLE_SECONDS: u64 = 120;

/// The pools of one class.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClassPools {
    pools: Vec<Option<PoolRecord>>,
    free: Vec<u32>,
    by_key: BTreeMap<ObjectKey, u32>,
    /// Makes a node's pools cheap to find; each list is in order of the keys.
    by_reach: Map<ReachId, SmallVec<[u32; 1]>>,
    /// The topologies of the reaches, with how many reaches each.
    topologies: SmallVec<[(TopologyId, u32); 1]>,
    promises: BTreeMap<ObjectKey, Promise>,
    settling: BTreeMap<ObjectKey, Settling>,
}

impl ClassPools {
    /// The pools that a node can reach, in order of their keys within each reach.
    pub(crate) fn at<'a>(
        &'a self,
        node: usize,
        topologies: &'a Topologies,
    ) -> impl Iterator<Item = (&'a ObjectKey, &'a PoolRecord)> {
        self.topologies
            .iter()
            .filter_map(move |(t, _)| topologies.segment_of(*t, node).map(|s| (*t, s)))
            .flat_map(move |place| self.at_place(place, topologies))
    }

    /// The pools that can be reached from a segment, in order of their keys within each reach.
    pub(crate) fn at_place<'a>(
        &'a self,
        place: Place,
        topologies: &'a Topologies,
    ) -> impl Iterator<Item = (&'a ObjectKey, &'a PoolRecord)> {
        let reaches = topologies.reaches_at(place).iter();
        let slots = reaches.filter_map(|reach| self.by_reach.get(reach)).flatten();
        slots.filter_map(|slot| self.get(*slot)).map(|record| (&record.pool.key, record))
    }

    /// The topology of all the pools' reaches, if they share one.
    pub(crate) fn only_topology(&self) -> Option<TopologyId> {
        match self.topologies.as_slice() {
            [(topology, _)] => Some(*topology),
            _ => None,
        }
    }

    fn get(&self, slot: u32) -> Option<&PoolRecord> {
        self.pools.get(slot as usize).and_then(Option::as_ref)
    }

    /// The space promised in each pool, leaving out the claims in `without`.
    pub(crate) fn promised(&self, without: &[&ObjectKey]) -> BTreeMap<ObjectKey, i64> {
        self.assign(without).0
    }

    /// Books every promise in a pool: those first that have no choice, then the others in order of their keys, each in the
    /// first pool that has room for it beside those before. The sums by pool, and who is in which.
    fn assign(&self, without: &[&ObjectKey]) -> (BTreeMap<ObjectKey, i64>, Vec<(&ObjectKey, &ObjectKey)>) {
        let mut sums: BTreeMap<ObjectKey, i64> = BTreeMap::new();
        let mut booked = Vec::new();
        let add = |sums: &mut BTreeMap<ObjectKey, i64>, pool: &ObjectKey, bytes: i64| {
            let sum = sums.entry(pool.clone()).or_default();
            *sum = sum.saturating_add(bytes);
        };
        for settling in self.settling.iter().filter(|(claim, _)| !without.contains(claim)).map(|(_, s)| s) {
            add(&mut sums, &settling.pool, settling.bytes);
        }
        let waiting = || self.promises.iter().filter(|(claim, _)| !without.contains(claim));
        for (claim, promise) in waiting() {
            if let [only] = promise.pools.as_slice() {
                add(&mut sums, only, promise.bytes);
                booked.push((claim, only));
            }
        }
        for (claim, promise) in waiting().filter(|(_, p)| p.pools.len() > 1) {
            let has_room = |pool: &&ObjectKey| {
                let capacity = self.by_key.get(*pool).and_then(|slot| self.get(*slot)).and_then(|r| r.capacity);
                let taken = sums.get(*pool).copied().unwrap_or(0);
                capacity.is_none_or(|capacity| capacity.saturating_sub(taken) >= promise.bytes)
            };
            if let Some(pool) = promise.pools.iter().find(has_room).or_else(|| promise.pools.first()) {
                add(&mut sums, pool, promise.bytes);
                booked.push((claim, pool));
            }
        }
        (sums, booked)
    }

    /// The largest volume that a pool reachable from a node could make beside what is promised. `None` where that does not
    /// say all: a promise that has a choice of pools may have moved from one to another.
    pub(crate) fn largest_at(&self, node: usize, topologies: &Topologies) -> Option<i64> {
        if self.promises.values().any(|promise| promise.pools.len() > 1) {
            return None;
        }
        let promised = self.promised(&[]);
        let free = |(key, record): (&ObjectKey, &PoolRecord)| {
            let taken = promised.get(key).copied().unwrap_or(0);
            let limit = record.limit?;
            Some(record.capacity.map_or(limit, |capacity| limit.min(capacity.saturating_sub(taken))))
        };
        Some(self.at(node, topologies).filter_map(free).max().unwrap_or(i64::MIN))
    }

    /// Whether anything is promised.
    pub(crate) fn has_promises(&self) -> bool {
        !self.promises.is_empty() || !self.settling.is_empty()
    }

    /// The pools that could make a volume of this size for this node, in order of their keys; where none could, the first
    /// that the node can reach.
    fn candidates(&self, node: Option<usize>, bytes: i64, topologies: &Topologies) -> SmallVec<[ObjectKey; 1]> {
        let Some(node) = node else { return SmallVec::new() };
        let mut reachable: SmallVec<[(&ObjectKey, bool); 2]> =
            self.at(node, topologies).map(|(key, r)| (key, r.limit.is_some_and(|l| l >= bytes))).collect();
        reachable.sort_unstable();
        let roomy = reachable.iter().filter(|(_, roomy)| *roomy).map(|(key, _)| (*key).clone());
        let found: SmallVec<[ObjectKey; 1]> = roomy.collect();
        if found.is_empty() { reachable.first().map(|(key, _)| (*key).clone()).into_iter().collect() } else { found }
    }

    fn reassign(&mut self, nodes: &Map<Name, usize>, topologies: &Topologies) {
        let mut promises = std::mem::take(&mut self.promises);
        for promise in promises.values_mut() {
            promise.pools = self.candidates(nodes.get(&promise.node).copied(), promise.bytes, topologies);
        }
        self.promises = promises;
    }
}

/// The pools of all classes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pools {
    by_class: Map<Name, ClassPools>,
    class_of: Map<ObjectKey, Name>,
    now: u64,
}

impl Pools {
    /// The pools of a class.
    pub(crate) fn of_class(&self, class: &str) -> Option<&ClassPools> {
        self.by_class.get(class)
    }

    /// The pool with this key.
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<&PoolRecord> {
        let class = self.by_class.get(self.class_of.get(key)?)?;
        class.get(*class.by_key.get(key)?)
    }

    /// Adds a pool; one of the same key must have been removed before.
    pub(crate) fn insert(
        &mut self,
        pool: Pool,
        reach: Option<ReachId>,
        nodes: &Map<Name, usize>,
        topologies: &Topologies,
    ) {
        let key = pool.key.clone();
        let class = self.by_class.entry(pool.class.clone()).or_default();
        self.class_of.insert(key.clone(), pool.class.clone());
        // A newer object shows what was made before it: nothing has to be remembered for it any longer.
        class.settling.retain(|_, s| s.pool != key);
        let record = PoolRecord {
            limit: pool.limit().map(|q: Quantity| q.value()),
            capacity: pool.capacity.map(|q| q.value()),
            reach,
            pool,
        };
        let slot = match class.free.pop() {
            Some(slot) => {
                class.pools[slot as usize] = Some(record);
                slot
            }
            None => {
                class.pools.push(Some(record));
                (class.pools.len() - 1) as u32
            }
        };
        class.by_key.insert(key.clone(), slot);
        if let Some(reach) = reach {
            let list = class.by_reach.entry(reach).or_default();
            if list.is_empty() {
                let topology = topologies.topology_of(reach);
                match class.topologies.iter_mut().find(|(t, _)| *t == topology) {
                    Some((_, n)) => *n += 1,
                    None => class.topologies.push((topology, 1)),
                }
            }
            let pools = &class.pools;
            let key_of = |slot: &u32| pools[*slot as usize].as_ref().map(|r| &r.pool.key);
            let at = list.partition_point(|other| key_of(other) < Some(&key));
            list.insert(at, slot);
        }
        class.reassign(nodes, topologies);
    }

    /// Takes a pool out; its reach is the caller's to release.
    pub(crate) fn remove(
        &mut self,
        key: &ObjectKey,
        nodes: &Map<Name, usize>,
        topologies: &Topologies,
    ) -> Option<PoolRecord> {
        let class = self.by_class.get_mut(&self.class_of.remove(key)?)?;
        let slot = class.by_key.remove(key)?;
        let record = class.pools[slot as usize].take()?;
        class.free.push(slot);
        if let Some(reach) = record.reach
            && let Some(list) = class.by_reach.get_mut(&reach)
        {
            list.retain(|s| *s != slot);
            if list.is_empty() {
                class.by_reach.remove(&reach);
                let topology = topologies.topology_of(reach);
                if let Some(at) = class.topologies.iter().position(|(t, _)| *t == topology) {
                    class.topologies[at].1 -= 1;
                    if class.topologies[at].1 == 0 {
                        class.topologies.remove(at);
                    }
                }
            }
        }
        class.reassign(nodes, topologies);
        Some(record)
    }

    /// Notes that a claim will take space where its node is, or (`None`) no longer.
    pub(crate) fn promise(
        &mut self,
        class: &Name,
        claim: &ObjectKey,
        wanted: Option<(Name, i64)>,
        nodes: &Map<Name, usize>,
        topologies: &Topologies,
    ) {
        match wanted {
            Some((node, bytes)) => {
                let pools = self.by_class.entry(class.clone()).or_default();
                let candidates = pools.candidates(nodes.get(&node).copied(), bytes, topologies);
                pools.promises.insert(claim.clone(), Promise { node, bytes, pools: candidates });
            }
            None => {
                if let Some(pools) = self.by_class.get_mut(class) {
                    pools.promises.remove(claim);
                }
            }
        }
    }

    /// Turns a promise of ours into space that the pool's object will show soon: its volume has been made.
    pub(crate) fn made(&mut self, class: &Name, claim: &ObjectKey) {
        let now = self.now;
        let Some(pools) = self.by_class.get_mut(class) else { return };
        let pool = pools.assign(&[]).1.into_iter().find(|(c, _)| *c == claim).map(|(_, pool)| pool.clone());
        if let (Some(promise), Some(pool)) = (pools.promises.remove(claim), pool) {
            pools.settling.insert(claim.clone(), Settling { pool, bytes: promise.bytes, since: now });
        }
    }

    /// Drops what is remembered of a claim that is gone.
    pub(crate) fn drop_settling(&mut self, class: &Name, claim: &ObjectKey) {
        if let Some(pools) = self.by_class.get_mut(class) {
            pools.settling.remove(claim);
        }
    }

    /// Tells the time (seconds of any clock that does not go back) and drops the promises of volumes made long ago. Returns
    /// the pools that they were counted in, in order of their keys.
    pub(crate) fn settle(&mut self, now: u64) -> Vec<Pool> {
        self.now = self.now.max(now);
        let now = self.now;
        let mut settled: BTreeMap<ObjectKey, Pool> = BTreeMap::new();
        for pools in self.by_class.values_mut().filter(|pools| !pools.settling.is_empty()) {
            let is_over = |settling: &Settling| now.saturating_sub(settling.since) >= SETTLE_SECONDS;
            for over in pools.settling.values().filter(|settling| is_over(settling)) {
                let record = pools.by_key.get(&over.pool).and_then(|slot| pools.get(*slot));
                settled.extend(record.map(|record| (over.pool.clone(), record.pool.clone())));
            }
            pools.settling.retain(|_, settling| !is_over(settling));
        }
        settled.into_values().collect()
    }

    /// The earliest second at which [`Pools::settle`] drops something.
    pub(crate) fn settles_at(&self) -> Option<u64> {
        let settling = self.by_class.values().flat_map(|pools| pools.settling.values());
        settling.map(|settling| settling.since.saturating_add(SETTLE_SECONDS)).min()
    }

    /// Finds the pools of promised claims anew: nodes came, went or moved.
    pub(crate) fn reassign(&mut self, nodes: &Map<Name, usize>, topologies: &Topologies) {
        for pools in self.by_class.values_mut().filter(|p| !p.promises.is_empty()) {
            pools.reassign(nodes, topologies);
        }
    }
}
