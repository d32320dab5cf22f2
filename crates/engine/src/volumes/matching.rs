//! Static matching: free volumes for a pod's delayed claims on one node.

use smallvec::SmallVec;

use crate::volumes::binding::{Cause, Judgement};
use crate::volumes::claims::DelayedClaim;
use crate::volumes::pod::PodVolumes;
use crate::volumes::shelf::Fit;
use crate::volumes::slab::VolumeSlot;

/// Indexes among a pod's delayed claims.
pub(crate) type Indexes = SmallVec<[usize; 4]>;

impl PodVolumes<'_> {
    /// Upstream's way: the smallest claim first takes the smallest volume that fits. Returns the claims without one, those
    /// first whose node was selected before: they are made anew, whatever is free.
    pub(crate) fn match_smallest_first(&self, node: usize, judgement: &mut Judgement<'_>) -> Result<Indexes, Cause> {
        let mut unmatched: Indexes = self.selected.clone();
        let mut taken: SmallVec<[VolumeSlot; 4]> = SmallVec::new();
        for &i in &self.by_size {
            let claim = &self.claims.delayed[i];
            if let Some(Err(error)) = &claim.claim.selector {
                return Err(Cause::Error(format!(
                    "running \"VolumeBinding\" filter plugin: error creating internal label selector for claim: {}: {error}",
                    claim.claim.key
                )));
            }
            match self.smallest_fit(claim, node, &taken) {
                Some(fit) => {
                    taken.push(fit.slot);
                    judgement.statics.push((i, fit));
                }
                None => unmatched.push(i),
            }
        }
        Ok(unmatched)
    }

    /// The smallest free volume that fits a claim on a node, or the one reserved for it.
    fn smallest_fit(&self, claim: &DelayedClaim<'_>, node: usize, taken: &[VolumeSlot]) -> Option<Fit> {
        let (topologies, slab) = (&self.catalog.topologies, &self.catalog.slab);
        if let Some(&slot) = claim.reserved.iter().find(|slot| !taken.contains(slot)) {
            // A volume that refers to the claim is the answer or there is none: nothing else is looked at.
            let record = slab.get(slot)?;
            let size = record.volume.capacity;
            return topologies.reaches(record.reach, node).then(|| Fit { size, bytes: size.value(), slot });
        }
        let mut best: Option<Fit> = None;
        let closer = |a: &Fit, b: &Fit| (a.size, slab.name(a.slot)) < (b.size, slab.name(b.slot));
        for column in &claim.columns {
            if let Some(fit) = column.at(node, topologies, slab)
                && best.as_ref().is_none_or(|b| closer(&fit, b))
            {
                best = Some(fit);
            }
        }
        match best {
            Some(fit) if taken.contains(&fit.slot) => self.candidates(claim, node, taken, 1).first().copied(),
            best => best,
        }
    }

    /// The free volumes that fit a claim on a node, closest first; at most `limit`.
    fn candidates(&self, claim: &DelayedClaim<'_>, node: usize, taken: &[VolumeSlot], limit: usize) -> Vec<Fit> {
        let (topologies, slab) = (&self.catalog.topologies, &self.catalog.slab);
        let shelves = self.catalog.shelves.of_class(&claim.claim.class).iter().filter(|s| s.serves(&claim.claim));
        let mut found: Vec<Fit> =
            shelves.flat_map(|s| s.candidates(&claim.claim, node, taken, limit, topologies, slab)).collect();
        found.sort_by(|a, b| (a.size, slab.name(a.slot)).cmp(&(b.size, slab.name(b.slot))));
        found.truncate(limit);
        found
    }

    /// Finds an assignment that leaves as little as possible to be made (gate `MatchingSearch`). Returns the claims
    /// without a volume.
    ///
    /// Claims are served in order of need: first those for which none can be made here, then the largest. Each takes a
    /// volume directly or by moving earlier claims to others (augmenting paths), so that whoever was served stays
    /// served. With n claims no claim needs more than its n closest volumes: of these, the other n−1 leave one free. The
    /// search is therefore bounded by n³ steps and misses no assignment.
    pub(crate) fn match_by_search(&self, node: usize, judgement: &mut Judgement<'_>) -> Indexes {
        let count = self.by_size.len();
        let options: Vec<Vec<Fit>> = self
            .by_size
            .iter()
            .map(|&i| {
                let claim = &self.claims.delayed[i];
                if claim.reserved.is_empty() {
                    self.candidates(claim, node, &[], count)
                } else {
                    self.smallest_fit(claim, node, &[]).into_iter().collect()
                }
            })
            .collect();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|&at| {
            let claim = &self.claims.delayed[self.by_size[at]];
            (self.cannot_provision(claim, node).is_none(), std::cmp::Reverse(claim.claim.requested()))
        });
        let mut holder: Vec<(Fit, usize)> = Vec::new();
        for &at in &order {
            let mut visited: Vec<VolumeSlot> = Vec::new();
            serve(at, &options, &mut holder, &mut visited);
        }
        judgement.statics.clear();
        let mut unmatched: Indexes = self.selected.clone();
        for (at, &i) in self.by_size.iter().enumerate() {
            match holder.iter().find(|(_, h)| *h == at) {
                Some((fit, _)) => judgement.statics.push((i, *fit)),
                None => unmatched.push(i),
            }
        }
        unmatched
    }
}

/// Gives claim `at` a volume, moving the holders of taken ones where they have another choice.
fn serve(at: usize, options: &[Vec<Fit>], holder: &mut Vec<(Fit, usize)>, visited: &mut Vec<VolumeSlot>) -> bool {
    for fit in &options[at] {
        if visited.contains(&fit.slot) {
            continue;
        }
        visited.push(fit.slot);
        match holder.iter().position(|(f, _)| f.slot == fit.slot) {
            None => {
                holder.push((*fit, at));
                return true;
            }
            Some(found) => {
                let other = holder[found].1;
                if serve(other, options, holder, visited) {
                    // The other claim now holds a second volume; its old one is ours.
                    if let Some(old) = holder.iter_mut().find(|(f, h)| f.slot == fit.slot && *h == other) {
                        old.1 = at;
                    }
                    return true;
                }
            }
        }
    }
    false
}
