//! What a claim needs next (pv-controller.md 4.4, 4.5).

use crate::binder::Say;
use crate::catalog::Catalog;
use crate::labels::Name;
use crate::model::{BindingMode, Claim};
use crate::volumes::ControllerMatch;

/// What a claim needs next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimStep {
    /// Volume and claim are to be bound to each other; where they are already, that writes nothing.
    Bind(Name),
    /// The claim asks for the default class, and there is one now.
    TakeClass(Name),
    /// A volume of this class is to be asked for.
    Provision(Name),
    /// The claim is Pending until something changes.
    Wait(Waiting),
    /// The claim names another claim's volume, which only somebody who edited it can have caused. Its phase is left alone.
    Refused(Say),
    /// The claim is Lost. This is said when it becomes so.
    Lost(Say),
    /// The rule cannot be applied; it may be when something changes.
    Error(String),
}

/// Why a claim is Pending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// What is said about it each time it is looked at; nothing where the claim names a volume that is not there yet.
    pub say: Option<Say>,
}

impl Catalog {
    /// What a claim needs next. `consumers` are the active pods without a node that name it, in the order of their names.
    pub fn claim_step(&self, claim: &Claim, consumers: &[Name]) -> ClaimStep {
        if claim.bind_completed { self.bound_claim_step(claim) } else { self.unbound_claim_step(claim, consumers) }
    }

    fn unbound_claim_step(&self, claim: &Claim, consumers: &[Name]) -> ClaimStep {
        let waits = |say| ClaimStep::Wait(Waiting { say });
        match self.match_for_controller(claim) {
            ControllerMatch::Bind(volume) => ClaimStep::Bind(volume),
            ControllerMatch::Awaited(_) => waits(None),
            ControllerMatch::Mismatch(text) => waits(Some(Say::warning("VolumeMismatch", text))),
            ControllerMatch::Taken(volume) => {
                let text = format!("volume \"{volume}\" already bound to a different claim.");
                let say = Say::warning("FailedBinding", text);
                if claim.bound_by_controller { ClaimStep::Refused(say) } else { waits(Some(say)) }
            }
            ControllerMatch::Error(text) => {
                ClaimStep::Error(format!("error finding PV for claim \"{}\": {text}", claim.key))
            }
            ControllerMatch::NoMatch => self.step_without_volume(claim, consumers),
        }
    }

    fn step_without_volume(&self, claim: &Claim, consumers: &[Name]) -> ClaimStep {
        if !claim.has_class
            && let Some(class) = self.default_class()
        {
            return ClaimStep::TakeClass(class);
        }
        // Any selected node, even an empty one, says that the choice was made (PC-33).
        if self.waits_for_consumer(claim) && claim.selected_node.is_none() {
            return ClaimStep::Wait(Waiting { say: Some(waiting_for(consumers)) });
        }
        if claim.class.is_empty() {
            let text = "no persistent volumes available for this claim and no storage class is set";
            return ClaimStep::Wait(Waiting { say: Some(Say::news("FailedBinding", text)) });
        }
        ClaimStep::Provision(claim.class.clone())
    }

    fn bound_claim_step(&self, claim: &Claim) -> ClaimStep {
        if claim.volume.is_empty() {
            let text = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!";
            return ClaimStep::Lost(Say::warning("ClaimLost", text));
        }
        let Some(volume) = self.observed_volume(&claim.volume) else {
            let text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!";
            return ClaimStep::Lost(Say::warning("ClaimLost", text));
        };
        match &volume.claim_ref {
            Some(claim_ref) if claim_ref.uid != claim.uid => {
                let text = "Two claims are bound to the same volume, this one is bound incorrectly";
                ClaimStep::Lost(Say::warning("ClaimMisbound", text))
            }
            _ => ClaimStep::Bind(claim.volume.clone()),
        }
    }

    /// Whether the claim's class leaves the choice to the scheduler. A class that does not exist does not.
    pub fn waits_for_consumer(&self, claim: &Claim) -> bool {
        self.binding_mode(&claim.class) == Some(BindingMode::WaitForFirstConsumer)
    }
}

fn waiting_for(consumers: &[Name]) -> Say {
    match consumers {
        [] => Say::news("WaitForFirstConsumer", "waiting for first consumer to be created before binding"),
        [pod] => Say::news("WaitForPodScheduled", format!("waiting for pod {pod} to be scheduled")),
        pods => Say::news("WaitForPodScheduled", format!("waiting for pods {} to be scheduled", pods.join(","))),
    }
}
