//! Upstream's VolumeBinding filter: can this pod's claims be met on this node, and how.
//!
//! The decision for a node, in upstream's order:
//!
//! ```text
//!   bound claims ──► is the volume there, and reachable from the node?      reasons 4 and 1
//!   delayed claims ─► selected for another node?                            reason 2, no further look
//!        │ selected for this node ─────────────┐
//!        └─► smallest free volume that fits ──►│ none
//!              (matching.rs)                   └─► can one be made here?    reason 2
//!                                                    is there room?         reason 3 (capacity.rs)
//! ```
//!
//! Where that fails for a pod with several claims and the gate `MatchingSearch` is on, `matching` looks for another
//! assignment before the node is refused.

use smallvec::SmallVec;

use crate::gates::Gate;
use crate::labels::ObjectKey;
use crate::volumes::capacity::Room;
use crate::volumes::claims::DelayedClaim;
use crate::volumes::pod::PodVolumes;
use crate::volumes::pools::PoolRecord;
use crate::volumes::shelf::Fit;

/// Why a node is refused. Claims are named by their index among the bound or the delayed ones.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cause {
    /// A bound claim's volume cannot be reached from the node.
    Affinity { bound: usize },
    /// A delayed claim has no volume here and none can be made.
    NoVolume { delayed: usize, why: NoVolume },
    /// A volume could be made, were there room.
    NoRoom { delayed: usize },
    /// A bound claim's volume does not exist.
    VolumeMissing { bound: usize },
    /// The rule could not be applied.
    Error(String),
}

/// Why no volume can be had for a delayed claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoVolume {
    /// Another node was selected for it.
    SelectedElsewhere,
    /// Its class provisions nothing, and no free volume fits.
    NoProvisioner,
    /// Its class may not provision here, and no free volume fits.
    NotAllowedHere,
}

/// A volume to be made: the claim's index, and the pool where one is known.
pub(crate) type Provision<'c> = (usize, Option<(&'c ObjectKey, &'c PoolRecord)>);

/// What was found for a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Judgement<'c> {
    /// Why the node is refused, in the order of upstream's reasons; empty if it is not.
    pub(crate) causes: SmallVec<[Cause; 1]>,
    /// The free volumes to bind, by index among the delayed claims.
    pub(crate) statics: SmallVec<[(usize, Fit); 2]>,
    /// The volumes to make.
    pub(crate) provisions: SmallVec<[Provision<'c>; 2]>,
}

impl Judgement<'_> {
    /// Whether the node is accepted.
    pub(crate) fn fits(&self) -> bool {
        self.causes.is_empty()
    }
}

/// Why a set of delayed claims cannot be met.
pub(crate) type Unmet = Cause;

impl<'c> PodVolumes<'c> {
    /// Judges a node.
    pub(crate) fn judge(&self, node: usize) -> Judgement<'c> {
        let mut judgement = Judgement::default();
        let name = self.catalog.node_name(node);
        let bound = self.judge_bound(node, name);
        if let Some(Cause::Error(_)) = bound {
            judgement.causes.extend(bound);
            return judgement;
        }
        let unmet = self.judge_delayed(node, name, &mut judgement);
        // Upstream's order of reasons: affinity, no volume, no room, missing volume. An error drowns them all.
        match (bound, unmet) {
            (_, Some(error @ Cause::Error(_))) => judgement.causes.push(error),
            (Some(missing @ Cause::VolumeMissing { .. }), unmet) => {
                judgement.causes.extend(unmet);
                judgement.causes.push(missing);
            }
            (affinity, unmet) => {
                judgement.causes.extend(affinity);
                judgement.causes.extend(unmet);
            }
        }
        judgement
    }

    fn judge_bound(&self, node: usize, name: &str) -> Option<Cause> {
        for (i, bound) in self.claims.bound.iter().enumerate() {
            let Some(record) = bound.volume else { return Some(Cause::VolumeMissing { bound: i }) };
            let reach = match self.catalog.reach_from(record, name) {
                Ok(reach) => reach,
                Err(error) => return Some(Cause::Error(format!("running \"VolumeBinding\" filter plugin: {error}"))),
            };
            if !self.catalog.topologies.reaches(reach, node) {
                return Some(Cause::Affinity { bound: i });
            }
        }
        None
    }

    fn judge_delayed(&self, node: usize, name: &str, judgement: &mut Judgement<'c>) -> Option<Unmet> {
        let delayed = &self.claims.delayed;
        if delayed.is_empty() {
            return None;
        }
        for (i, claim) in delayed.iter().enumerate() {
            if claim.claim.selected_node.as_ref().is_some_and(|selected| &**selected != name) {
                return Some(Cause::NoVolume { delayed: i, why: NoVolume::SelectedElsewhere });
            }
        }
        let first = self.match_smallest_first(node, judgement);
        let unmet = match first {
            Ok(unmatched) => self.provide(node, &unmatched, judgement)?,
            Err(error) => return Some(error),
        };
        judgement.provisions.clear();
        if self.gates.on(Gate::MatchingSearch) && delayed.len() > 1 {
            let statics = std::mem::take(&mut judgement.statics);
            let unmatched = self.match_by_search(node, judgement);
            self.provide(node, &unmatched, judgement)?;
            judgement.statics = statics;
            judgement.provisions.clear();
        }
        Some(unmet)
    }

    /// Plans to make volumes for the claims, or says which of them cannot be had.
    fn provide(&self, node: usize, claims: &[usize], judgement: &mut Judgement<'c>) -> Option<Unmet> {
        for &i in claims {
            let claim = &self.claims.delayed[i];
            if let Some(why) = self.cannot_provision(claim, node) {
                return Some(Cause::NoVolume { delayed: i, why });
            }
            match self.room_alone(claim, node) {
                Room::Unchecked => judgement.provisions.push((i, None)),
                Room::Pool(pool) => judgement.provisions.push((i, Some(pool))),
                Room::None => return Some(Cause::NoRoom { delayed: i }),
            }
        }
        if self.gates.on(Gate::JointClaimCapacity) { self.pack(node, judgement) } else { None }
    }

    /// Why no volume could be made for the claim on this node, room aside.
    pub(crate) fn cannot_provision(&self, claim: &DelayedClaim<'_>, node: usize) -> Option<NoVolume> {
        match claim.allowed {
            None => Some(NoVolume::NoProvisioner),
            Some(reach) if !self.catalog.topologies.reaches(reach, node) => Some(NoVolume::NotAllowedHere),
            Some(_) => None,
        }
    }
}
