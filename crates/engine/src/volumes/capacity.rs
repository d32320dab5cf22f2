//! Room for volumes to be made: does a pool that the node can reach have the space?

use std::collections::BTreeMap;

use crate::gates::Gate;
use crate::labels::ObjectKey;
use crate::volumes::binding::{Cause, Judgement, Provision};
use crate::volumes::catalog::VolumeCatalog;
use crate::volumes::claims::DelayedClaim;
use crate::volumes::pod::PodVolumes;
use crate::volumes::pools::PoolRecord;

/// Whether there is room for a claim.
pub(crate) enum Room<'c> {
    /// The driver does not say what it has.
    Unchecked,
    /// In this pool.
    Pool((&'c ObjectKey, &'c PoolRecord)),
    /// Nowhere that the node can reach.
    None,
}

/// How many assignments of claims to pools are tried before the node is refused. Claims of one pod that have several
/// pools to choose from on one node are a rarity; with one pool per class and node the first try decides.
const PACKING_STEPS: u32 = 10_000;

impl VolumeCatalog {
    /// The largest volume of a class for which there is room beside what is promised in pools that a node reaches; `None`
    /// where that cannot be said.
    pub(crate) fn room_at(&self, class: &str, node: &str) -> Option<i64> {
        self.pools.of_class(class)?.largest_at(*self.nodes.get(node)?, &self.topologies)
    }
}

impl<'c> PodVolumes<'c> {
    /// Upstream's check: is there a pool that could make this volume, were it the pod's only one?
    pub(crate) fn room_alone(&self, claim: &DelayedClaim<'c>, node: usize) -> Room<'c> {
        let Some(pools) = claim.pools else { return Room::Unchecked };
        let reachable = pools.0.into_iter().flat_map(|p| p.at(node, &self.catalog.topologies));
        let usable = reachable.filter(|(key, pool)| self.limit(key, pool) >= Some(claim.bytes));
        // The first by key: reaches come in the order in which they were first heard of, which must not show.
        match usable.min_by_key(|(key, _)| *key) {
            Some(found) => Room::Pool(found),
            None => Room::None,
        }
    }

    /// Finds room for all the volumes to be made together (gate `JointClaimCapacity`).
    pub(crate) fn pack(&self, node: usize, judgement: &mut Judgement<'c>) -> Option<Cause> {
        let mut checked: Vec<(usize, Vec<(&'c ObjectKey, &'c PoolRecord)>)> = Vec::new();
        for (i, pool) in &judgement.provisions {
            let claim = &self.claims.delayed[*i];
            if let (Some(_), Some(pools)) = (pool, claim.pools) {
                let reachable = pools.0.into_iter().flat_map(|p| p.at(node, &self.catalog.topologies));
                let usable = reachable.filter(|(key, pool)| self.limit(key, pool) >= Some(claim.bytes));
                let mut usable: Vec<_> = usable.collect();
                usable.sort_unstable_by_key(|(key, _)| *key);
                checked.push((*i, usable));
            }
        }
        if checked.len() < 2 {
            return None;
        }
        // The largest first: what is hardest to place fails, or fits, early.
        checked.sort_by_key(|(i, _)| std::cmp::Reverse(self.claims.delayed[*i].bytes));
        let mut packing = Packing { pod: self, taken: BTreeMap::new(), chosen: Vec::new(), steps: 0, deepest: 0 };
        if !packing.place(&checked) {
            return checked.get(packing.deepest).map(|(i, _)| Cause::NoRoom { delayed: *i });
        }
        let chosen = packing.chosen;
        for (i, pool) in &mut judgement.provisions {
            if let Some((_, found)) = chosen.iter().find(|(c, _)| c == i) {
                *pool = *found;
            }
        }
        None
    }

    /// The largest volume that a pool can make now; `None` where it does not say.
    pub(crate) fn limit(&self, key: &ObjectKey, pool: &PoolRecord) -> Option<i64> {
        let limit = pool.limit?;
        // Upstream goes by the largest volume alone, even where less space than that is left.
        let free = self.free(key, pool).filter(|_| self.gates.on(Gate::PromisedCapacity));
        Some(free.map_or(limit, |free| free.min(limit)))
    }

    /// The space left in a pool after what is promised; `None` where the pool does not say what it has.
    pub(crate) fn free(&self, key: &ObjectKey, pool: &PoolRecord) -> Option<i64> {
        let promised = self.promised.get(key).copied().unwrap_or(0);
        pool.capacity.map(|capacity| capacity.saturating_sub(promised))
    }
}

/// A search for pools that hold all claims together.
struct Packing<'p, 'c> {
    pod: &'p PodVolumes<'c>,
    taken: BTreeMap<&'c ObjectKey, i64>,
    chosen: Vec<Provision<'c>>,
    steps: u32,
    deepest: usize,
}

impl<'c> Packing<'_, 'c> {
    fn place(&mut self, claims: &[(usize, Vec<(&'c ObjectKey, &'c PoolRecord)>)]) -> bool {
        let depth = self.chosen.len();
        self.deepest = self.deepest.max(depth);
        let Some((i, pools)) = claims.get(depth) else { return true };
        let bytes = self.pod.claims.delayed[*i].bytes;
        for &(key, pool) in pools {
            self.steps += 1;
            if self.steps > PACKING_STEPS {
                return false;
            }
            let taken = self.taken.get(key).copied().unwrap_or(0);
            let together = taken.saturating_add(bytes);
            if self.pod.free(key, pool).is_some_and(|free| together > free) {
                continue;
            }
            self.taken.insert(key, together);
            self.chosen.push((*i, Some((key, pool))));
            if self.place(claims) {
                return true;
            }
            self.chosen.pop();
            self.taken.insert(key, taken);
        }
        false
    }
}
