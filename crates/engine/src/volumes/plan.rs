//! Plans: what a pod's claims would become on a node.

use crate::labels::{Name, ObjectKey};
use crate::model::Version;

/// What a claim would become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is bound already.
    Bound,
    /// It would be bound to a volume that exists.
    Static,
    /// A volume would be made for it.
    Provision,
    /// Neither is possible.
    Unsatisfied,
}

/// One claim's part of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimPlan {
    /// The claim.
    pub claim: ObjectKey,
    /// The claim's version that the plan was made from.
    pub version: Version,
    /// Its class.
    pub class: Name,
    /// What it would become.
    pub outcome: Outcome,
    /// The volume it is, or would be, bound to.
    pub volume: Option<Name>,
    /// The volume's version that the plan was made from.
    pub volume_version: Version,
    /// The pool that its volume would be made in, where the driver publishes pools.
    pub pool: Option<ObjectKey>,
    /// Whether the claim does not exist yet and is taken as it will be made.
    pub forecast: bool,
}

/// What a pod's claims would become on one node, in the order of the pod's volumes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VolumePlan {
    /// The claims.
    pub claims: Vec<ClaimPlan>,
}

impl VolumePlan {
    /// Whether every claim has a volume or can get one.
    pub fn is_complete(&self) -> bool {
        self.claims.iter().all(|c| c.outcome != Outcome::Unsatisfied)
    }

    /// Whether there is nothing left to bind.
    pub fn is_bound(&self) -> bool {
        self.claims.iter().all(|c| c.outcome == Outcome::Bound)
    }
}
