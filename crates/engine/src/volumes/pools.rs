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
    /// The pool it is counted in.
    pool: Option<ObjectKey>,
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
        let mut sums: BTreeMap<ObjectKey, i64> = BTreeMap::new();
        let waiting = self.promises.iter().filter_map(|(claim, p)| Some((claim, p.pool.as_ref()?, p.bytes)));
        let settling = self.settling.iter().map(|(claim, s)| (claim, &s.pool, s.bytes));
        for (_, pool, bytes) in waiting.chain(settling).filter(|(claim, ..)| !without.contains(claim)) {
            let sum = sums.entry(pool.clone()).or_default();
            *sum = sum.saturating_add(bytes);
        }
        sums
    }

    /// Whether anything is promised.
    pub(crate) fn has_promises(&self) -> bool {
        !self.promises.is_empty() || !self.settling.is_empty()
    }

    /// The pool in which a claim of this size, to be made for this node, is counted: the first that could make it.
    fn pool_for(&self, node: Option<usize>, bytes: i64, topologies: &Topologies) -> Option<ObjectKey> {
        let node = node?;
        let mut keys: Vec<(&ObjectKey, bool)> =
            self.at(node, topologies).map(|(k, r)| (k, r.limit.is_some_and(|l| l >= bytes))).collect();
        keys.sort_by_key(|(k, roomy)| (!roomy, (*k).clone()));
        keys.first().map(|(k, _)| (*k).clone())
    }

    fn reassign(&mut self, nodes: &Map<Name, usize>, topologies: &Topologies) {
        let assigned: Vec<(ObjectKey, Option<ObjectKey>)> = self
            .promises
            .iter()
            .map(|(claim, p)| (claim.clone(), self.pool_for(nodes.get(&p.node).copied(), p.bytes, topologies)))
            .collect();
        for (claim, pool) in assigned {
            if let Some(promise) = self.promises.get_mut(&claim) {
                promise.pool = pool;
            }
        }
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
                let pool = pools.pool_for(nodes.get(&node).copied(), bytes, topologies);
                pools.promises.insert(claim.clone(), Promise { node, bytes, pool });
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
        if let Some(pools) = self.by_class.get_mut(class)
            && let Some(promise) = pools.promises.remove(claim)
            && let Some(pool) = promise.pool
        {
            pools.settling.insert(claim.clone(), Settling { pool, bytes: promise.bytes, since: now });
        }
    }

    /// Drops what is remembered of a claim that is gone.
    pub(crate) fn drop_settling(&mut self, class: &Name, claim: &ObjectKey) {
        if let Some(pools) = self.by_class.get_mut(class) {
            pools.settling.remove(claim);
        }
    }

    /// Tells the time (seconds of any clock that does not go back) and drops the promises of volumes made long ago.
    pub(crate) fn settle(&mut self, now: u64) {
        self.now = self.now.max(now);
        let now = self.now;
        for pools in self.by_class.values_mut() {
            pools.settling.retain(|_, s| now.saturating_sub(s.since) < SETTLE_SECONDS);
        }
    }

    /// Finds the pools of promised claims anew: nodes came, went or moved.
    pub(crate) fn reassign(&mut self, nodes: &Map<Name, usize>, topologies: &Topologies) {
        for pools in self.by_class.values_mut().filter(|p| !p.promises.is_empty()) {
            pools.reassign(nodes, topologies);
        }
    }
}
