//! Placement: a plan being written, as a state machine without I/O.
//!
//! Whoever has a client asks [`Placement::next`] what to do, does it, and tells how it went. The catalog, fed by watch
//! events as always, is what the placement waits on; nothing is polled and no clock is read.
//!
//! ```text
//!               written              written             every claim bound          written
//!  bind volumes ───────► select nodes ──────► wait ───────────────────────► bind pod ──────► done
//!       │ refused            │ refused         │ a volume, claim, node or       │ refused
//!       │                    │                 │ the pod went or changed;       │
//!       │                    │                 │ timed out; cancelled           │
//!       └────────────────────┴─────────────────┴───────────────────────────────┴──► failed
//! ```
//!
//! Who takes which arrow: `written` and `refused` are the caller's report of a write; the arrow out of `wait` is taken by
//! what the catalog has observed; `timed out` and `cancelled` are the caller's. What was written stays written when a
//! placement fails: the volume controller completes it or the provisioner clears it, and the next decision sees it. The
//! caller forgets the assumption ([`Catalog::forget`]) and lets the pod come back.
//!
//! ```
//! use plimsoll_engine::placement::{Next, Placement, Write};
//! # fn send(_: &Write) -> Result<u64, String> { Ok(7) }
//! # fn wait_for_the_next_event() {}
//! fn carry_out(mut placement: Placement, catalog: &plimsoll_engine::Catalog) -> Result<(), String> {
//!     loop {
//!         match placement.next(catalog) {
//!             Next::Write(write) => match send(&write) {
//!                 Ok(version) => placement.written(version),
//!                 Err(error) => placement.refused(error),
//!             },
//!             Next::Wait(_) => wait_for_the_next_event(),
//!             Next::Done => return Ok(()),
//!             Next::Failed(failure) => return Err(failure.to_string()),
//!         }
//!     }
//! }
//! ```

mod wait;

#[cfg(test)]
mod tests;

use crate::catalog::Catalog;
use crate::labels::{Name, ObjectKey};
use crate::model::Version;
use crate::volumes::{ClaimPlan, Outcome, VolumePlan};

/// A write to the API server. Each is conditional on the version it was decided from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Set `spec.claimRef` of a volume to the claim.
    BindVolume {
        /// The volume.
        volume: Name,
        /// Its version that must still be true.
        version: Version,
        /// The claim to refer to.
        claim: ObjectKey,
        /// The claim's uid.
        claim_uid: Name,
        /// The claim's version.
        claim_version: Version,
        /// Whether to add the annotation `pv.kubernetes.io/bound-by-controller: yes`. A volume that a person reserved
        /// does not get it, so that undoing the binding leaves their reservation.
        mark: bool,
    },
    /// Set the annotation `volume.kubernetes.io/selected-node` of a claim.
    SelectNode {
        /// The claim.
        claim: ObjectKey,
        /// Its version that must still be true.
        version: Version,
        /// The node.
        node: Name,
    },
    /// Bind the pod to the node.
    BindPod {
        /// The pod.
        pod: ObjectKey,
        /// Its uid.
        uid: Name,
        /// The node.
        node: Name,
    },
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Write this, then report with [`Placement::written`] or [`Placement::refused`].
    Write(Write),
    /// Nothing until the catalog has seen an event of one of these.
    Wait(WaitFor),
    /// The pod is bound.
    Done,
    /// The placement is over; forget it and try again.
    Failed(Failure),
}

/// The objects whose events can end a wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitFor {
    /// Claims that are not bound yet.
    pub claims: Vec<ObjectKey>,
    /// Volumes that are not there, or not up to date, yet.
    pub volumes: Vec<Name>,
}

/// Why a placement failed, in upstream's words where upstream has them. Every failure means the same for the pod: it
/// goes back with backoff. They differ in what the next decision will find.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// A write was refused: the object changed or the API server did not answer. Nothing else was written.
    #[error("{0}")]
    Refused(String),
    /// The node is gone.
    #[error("binding volumes: failed to get node \"{0}\": node \"{0}\" not found")]
    NodeGone(Name),
    /// The pod is gone; there is nothing to come back.
    #[error("binding volumes: pod does not exist any more: pod \"{0}\" not found")]
    PodGone(Name),
    /// A volume or claim of a static binding is gone.
    #[error("binding volumes: failed to check binding: {0}")]
    BindingGone(String),
    /// The volume cannot be reached from the node any more.
    #[error(
        "binding volumes: pv \"{volume}\" node affinity doesn't match node \"{node}\": no matching NodeSelectorTerms"
    )]
    Unreachable {
        /// The volume.
        volume: Name,
        /// The node.
        node: Name,
    },
    /// Somebody took the claim off the volume.
    #[error("binding volumes: ClaimRef got reset for pv \"{0}\"")]
    ClaimRefReset(Name),
    /// A claim to be provisioned is gone.
    #[error("binding volumes: failed to check provisioning pvc: {0}")]
    ClaimGone(String),
    /// The claim lost its annotations altogether.
    #[error("binding volumes: selectedNode annotation reset for PVC \"{0}\"")]
    SelectedNodeReset(Name),
    /// The provisioner gave up on this node: any node is possible next time.
    #[error("binding volumes: provisioning failed for PVC \"{0}\"")]
    ProvisioningFailed(Name),
    /// A volume's in-tree plugin cannot be translated.
    #[error("binding volumes: {0}")]
    Untranslatable(String),
    /// The time to bind ran out. Selected nodes stay, so that the next attempt goes to the same node.
    #[error("binding volumes: context deadline exceeded")]
    TimedOut,
    /// The caller gave up, for example because the pod was preempted. Upstream then tells the cause alone.
    #[error("{0}")]
    Cancelled(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// The writes are being made; the number counts those that are done.
    Writing(usize),
    /// All writes are made; the claims are not all bound.
    Waiting,
    /// Every claim is bound; the pod is being bound.
    BindingPod,
    Done,
    Failed(Failure),
}

/// A plan being written.
#[derive(Clone, Debug)]
pub struct Placement {
    pod: ObjectKey,
    pod_uid: Name,
    node: Name,
    claims: Vec<ClaimPlan>,
    writes: Vec<Write>,
    /// The versions that the API server answered with, one per write made.
    versions: Vec<Version>,
    state: State,
}

impl Placement {
    /// Begins to write a plan that was assumed for the pod. Volumes are written before claims: should a volume turn out
    /// to be taken, no provisioner has been set to work.
    pub fn begin(catalog: &Catalog, pod: &ObjectKey, node: &Name, plan: &VolumePlan) -> Self {
        let bindings = plan.claims.iter().filter_map(|c| bind_volume(catalog, c));
        let selections = plan.claims.iter().filter_map(|c| select_node(catalog, c, node));
        let writes: Vec<Write> = bindings.chain(selections).collect();
        Self {
            pod: pod.clone(),
            pod_uid: catalog.pod(pod).map(|p| p.uid.clone()).unwrap_or_default(),
            node: node.clone(),
            claims: plan.claims.clone(),
            writes,
            versions: Vec::new(),
            state: State::Writing(0),
        }
    }

    /// What to do next, given what the catalog has observed.
    pub fn next(&mut self, catalog: &Catalog) -> Next {
        if let State::Writing(done) = self.state {
            match self.writes.get(done) {
                Some(write) => return Next::Write(write.clone()),
                None => self.state = State::Waiting,
            }
        }
        if self.state == State::Waiting {
            match self.check(catalog) {
                Ok(wait) if wait == WaitFor::default() => self.state = State::BindingPod,
                Ok(wait) => return Next::Wait(wait),
                Err(failure) => self.state = State::Failed(failure),
            }
        }
        match &self.state {
            State::BindingPod => Next::Write(Write::BindPod {
                pod: self.pod.clone(),
                uid: self.pod_uid.clone(),
                node: self.node.clone(),
            }),
            State::Failed(failure) => Next::Failed(failure.clone()),
            State::Writing(_) | State::Waiting | State::Done => Next::Done,
        }
    }

    /// The last write succeeded; the object now has this version (any number for the pod's binding).
    pub fn written(&mut self, version: Version) {
        match self.state {
            State::Writing(done) => {
                self.versions.push(version);
                self.state = State::Writing(done + 1);
            }
            State::BindingPod => self.state = State::Done,
            State::Waiting | State::Done | State::Failed(_) => {}
        }
    }

    /// The last write failed. What was written before stays.
    pub fn refused(&mut self, error: impl Into<String>) {
        self.end(Failure::Refused(error.into()));
    }

    /// The time to bind ran out.
    pub fn timed_out(&mut self) {
        self.end(Failure::TimedOut);
    }

    /// The caller gives up.
    pub fn cancel(&mut self, cause: impl Into<String>) {
        self.end(Failure::Cancelled(cause.into()));
    }

    fn end(&mut self, failure: Failure) {
        if !matches!(self.state, State::Done | State::Failed(_)) {
            self.state = State::Failed(failure);
        }
    }

    /// The version a write was answered with.
    fn version_of(&self, wanted: impl Fn(&Write) -> bool) -> Version {
        let at = self.writes.iter().position(wanted);
        at.and_then(|i| self.versions.get(i)).copied().unwrap_or(0)
    }
}

/// The write of a static binding; none where the volume already refers to the claim in full.
fn bind_volume(catalog: &Catalog, plan: &ClaimPlan) -> Option<Write> {
    if plan.outcome != Outcome::Static {
        return None;
    }
    let volume = plan.volume.clone()?;
    let observed = catalog.observed_volume(&volume)?;
    let claim = catalog.observed_claim(&plan.claim)?;
    let reserved = observed.claim_ref.as_ref().filter(|r| r.is_to(&claim.key, &claim.uid));
    if reserved.is_some_and(|r| r.uid == claim.uid) {
        return None;
    }
    Some(Write::BindVolume {
        volume,
        version: observed.version,
        claim: claim.key.clone(),
        claim_uid: claim.uid.clone(),
        claim_version: claim.version,
        mark: reserved.is_none() && !observed.bound_by_controller,
    })
}

/// The write that hands a claim to its provisioner; none where the node is selected already.
fn select_node(catalog: &Catalog, plan: &ClaimPlan, node: &Name) -> Option<Write> {
    if plan.outcome != Outcome::Provision {
        return None;
    }
    let claim = catalog.observed_claim(&plan.claim)?;
    (claim.selected_node.as_ref() != Some(node)).then(|| Write::SelectNode {
        claim: claim.key.clone(),
        version: claim.version,
        node: node.clone(),
    })
}
