//! Assume and forget: a choice that the next pod must see, before the API server has it.
//!
//! ```text
//!            assume (version as planned)
//!   observed ────────────────────────────► assumed ──┐ an event of the same version: a repeat, nothing changes
//!      ▲ ▲                                  │  │ └───┘
//!      │ └────────── forget ────────────────┘  │
//!      └────── an event of a newer version ────┘   whatever it says, it wins
//! ```
//!
//! Two pods may share a claim, so that a volume or claim is assumed by both. It is as observed again only when both
//! placements are forgotten (upstream's is when the first is).

use std::sync::Arc;

use crate::labels::{Name, ObjectKey};
use crate::model::{ClaimRef, Version};
use crate::volumes::catalog::VolumeCatalog;
use crate::volumes::plan::{ClaimPlan, Outcome, VolumePlan};
use crate::volumes::slab::Observed;

/// Why a plan could not be assumed. Nothing of it is then assumed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssumeError {
    /// The object changed after the plan was made.
    #[error("\"{key}\" is out of sync (stored: {stored}, assume: {planned})")]
    OutOfSync {
        /// The volume or claim.
        key: String,
        /// Its version now.
        stored: Version,
        /// Its version when the plan was made.
        planned: Version,
    },
    /// The object is gone.
    #[error("could not find \"{key}\"")]
    NotFound {
        /// The volume or claim.
        key: String,
    },
    /// The volume was promised to another claim in the meantime.
    #[error("\"{volume}\" is promised to claim {claim}")]
    Taken {
        /// The volume.
        volume: Name,
        /// Whose it is.
        claim: ObjectKey,
    },
}

impl VolumeCatalog {
    /// Whether every claim of a plan is bound by now.
    pub(crate) fn is_bound(&self, plan: &VolumePlan) -> bool {
        plan.claims.iter().all(|c| self.claims.get(&c.claim).is_some_and(|r| r.claim.is_fully_bound()))
    }

    /// Assumes a plan for a node, all of it or nothing. Where all its claims were bound in the meantime there is nothing
    /// left to assume, however old the plan.
    pub(crate) fn assume(&mut self, plan: &VolumePlan, node: &Name) -> Result<(), AssumeError> {
        if self.is_bound(plan) {
            return Ok(());
        }
        for (done, claim) in plan.claims.iter().enumerate() {
            let result = match claim.outcome {
                Outcome::Static => self.assume_static(claim),
                Outcome::Provision => self.assume_provision(claim, node),
                Outcome::Bound | Outcome::Unsatisfied => Ok(()),
            };
            if let Err(error) = result {
                self.forget_claims(&plan.claims[..done]);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Takes a free volume for a claim that no pod is placed for.
    pub(crate) fn promise(&mut self, claim: &ObjectKey, volume: &Name) -> Result<VolumePlan, AssumeError> {
        let record = self.slab.by_name(volume).ok_or_else(|| AssumeError::NotFound { key: volume.to_string() })?;
        let known = self.claims.get(claim).ok_or_else(|| AssumeError::NotFound { key: claim.to_string() })?;
        let plan = ClaimPlan {
            claim: claim.clone(),
            version: known.claim.version,
            class: known.claim.class.clone(),
            outcome: Outcome::Static,
            volume: Some(volume.clone()),
            volume_version: record.volume.version,
            pool: None,
            forecast: false,
        };
        self.assume_static(&plan)?;
        Ok(VolumePlan { claims: vec![plan] })
    }

    /// Takes back what was assumed of a plan, where no newer event did so already.
    pub(crate) fn forget(&mut self, plan: &VolumePlan) {
        self.forget_claims(&plan.claims);
    }

    fn assume_static(&mut self, plan: &ClaimPlan) -> Result<(), AssumeError> {
        let name = plan.volume.clone().unwrap_or_default();
        let record = self.slab.by_name(&name).ok_or_else(|| AssumeError::NotFound { key: name.to_string() })?;
        in_sync(&name, record.volume.version, plan.volume_version)?;
        let claim = self.claims.get(&plan.claim);
        let claim = claim.ok_or_else(|| AssumeError::NotFound { key: plan.claim.to_string() })?;
        let uid = claim.claim.uid.clone();
        let before = record.volume.claim_ref.as_ref();
        let was_ours = before.is_some_and(|r| r.is_to(&plan.claim, &uid));
        if let Some(other) = before.filter(|_| !was_ours) {
            return Err(AssumeError::Taken { volume: name, claim: other.claim.clone() });
        }
        let wanted = ClaimRef { claim: plan.claim.clone(), uid };
        if before == Some(&wanted) && record.observed.is_none() {
            return Ok(());
        }
        let observed = one_more(record.observed.as_ref(), &record.volume);
        let mut assumed = (*record.volume).clone();
        assumed.claim_ref = Some(wanted);
        // A volume that a person reserved by name stays theirs: only a free one is marked as bound by us.
        assumed.bound_by_controller |= !was_ours;
        self.put_volume(Arc::new(assumed), Some(observed));
        Ok(())
    }

    fn assume_provision(&mut self, plan: &ClaimPlan, node: &Name) -> Result<(), AssumeError> {
        let record = self.claims.get(&plan.claim);
        let record = record.ok_or_else(|| AssumeError::NotFound { key: plan.claim.to_string() })?;
        in_sync(&plan.claim.to_string(), record.claim.version, plan.version)?;
        let observed = one_more(record.observed.as_ref(), &record.claim);
        let mut assumed = (*record.claim).clone();
        assumed.selected_node = Some(node.clone());
        assumed.has_annotations = true;
        self.put_claim(Arc::new(assumed), Some(observed), true);
        Ok(())
    }

    fn forget_claims(&mut self, claims: &[ClaimPlan]) {
        for plan in claims {
            match plan.outcome {
                Outcome::Static => {
                    let record = plan.volume.as_ref().and_then(|v| self.slab.by_name(v));
                    // Another claim's assumption on the same version of the volume is not ours to take back.
                    let assumed = record.filter(|r| {
                        r.volume.version == plan.volume_version
                            && r.volume.claim_ref.as_ref().is_some_and(|c| c.claim == plan.claim)
                    });
                    if let Some((record, observed)) = assumed.and_then(|r| Some((r, r.observed.clone()?))) {
                        match one_less(observed) {
                            Ok(observed) => self.put_volume(Arc::clone(&record.volume), Some(observed)),
                            Err(object) => self.put_volume(object, None),
                        }
                    }
                }
                Outcome::Provision => {
                    let record = self.claims.get(&plan.claim).filter(|r| r.claim.version == plan.version);
                    if let Some((record, observed)) = record.and_then(|r| Some((r, r.observed.clone()?))) {
                        match one_less(observed) {
                            Ok(observed) => self.put_claim(Arc::clone(&record.claim), Some(observed), record.ours),
                            Err(object) => self.put_claim(object, None, false),
                        }
                    }
                }
                Outcome::Bound | Outcome::Unsatisfied => {}
            }
        }
    }
}

/// What was observed of an object of which one more placement assumes something.
fn one_more<T>(observed: Option<&Observed<T>>, object: &Arc<T>) -> Observed<T> {
    match observed {
        Some(observed) => Observed { holders: observed.holders.saturating_add(1), ..observed.clone() },
        None => Observed { object: Arc::clone(object), holders: 1 },
    }
}

/// What remains of it when one of them is forgotten; the object itself when none is left.
fn one_less<T>(observed: Observed<T>) -> Result<Observed<T>, Arc<T>> {
    match observed.holders {
        0 | 1 => Err(observed.object),
        holders => Ok(Observed { holders: holders - 1, ..observed }),
    }
}

fn in_sync(key: &str, stored: Version, planned: Version) -> Result<(), AssumeError> {
    if stored == planned { Ok(()) } else { Err(AssumeError::OutOfSync { key: key.to_owned(), stored, planned }) }
}
