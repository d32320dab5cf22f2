//! PersistentVolumeClaims.

use crate::labels::{Name, ObjectKey};
use crate::model::{AccessModes, Version, VolumeMode};
use crate::quantity::Quantity;
use crate::selector::{LabelSelector, SelectorError};

/// A PersistentVolumeClaim.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Namespace and name.
    pub key: ObjectKey,
    /// `metadata.uid`.
    pub uid: Name,
    /// `metadata.resourceVersion`.
    pub version: Version,
    /// The class name; the beta annotation wins over the field. Empty: no class.
    pub class: Name,
    /// Whether a class is asked for at all: an empty name asks for none, no name for the default one.
    pub has_class: bool,
    /// `spec.storageClassName` alone: upstream's score groups by the field and not by the annotation.
    pub class_field: Name,
    /// `spec.resources.requests.storage`; `None` where missing, which asks for nothing.
    pub request: Option<Quantity>,
    /// `spec.accessModes`.
    pub access_modes: AccessModes,
    /// `spec.volumeMode`.
    pub mode: VolumeMode,
    /// `spec.volumeAttributesClassName`; empty where unset.
    pub attributes_class: Name,
    /// `spec.selector`; `None` means any volume. One that does not parse fails every match.
    pub selector: Option<Result<LabelSelector, SelectorError>>,
    /// `spec.volumeName`; empty where unset.
    pub volume: Name,
    /// Whether the annotation `pv.kubernetes.io/bind-completed` is present.
    pub bind_completed: bool,
    /// Whether the annotation `pv.kubernetes.io/bound-by-controller` is present.
    pub bound_by_controller: bool,
    /// Whether the object has an annotations map at all (the wait for a provisioner tells the two apart).
    pub has_annotations: bool,
    /// The annotation `volume.kubernetes.io/selected-node`; `Some("")` is a choice that no node meets.
    pub selected_node: Option<Name>,
    /// `status.phase`.
    pub phase: ClaimPhase,
    /// Whether `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// The uid of the owner with `controller: true`, if there is one: an ephemeral claim belongs to its pod.
    pub controller_uid: Option<Name>,
}

/// `status.phase` of a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClaimPhase {
    /// Not bound.
    #[default]
    Pending,
    /// Bound.
    Bound,
    /// Its volume is gone for good.
    Lost,
}

impl Claim {
    /// Whether binding is complete in both directions. The phase is not consulted, as upstream does not.
    pub fn is_fully_bound(&self) -> bool {
        !self.volume.is_empty() && self.bind_completed
    }

    /// The size asked for; zero where the claim asks for none.
    pub fn requested(&self) -> Quantity {
        self.request.unwrap_or(Quantity::ZERO)
    }

    /// The claim's selector, where it has one that parses.
    pub fn usable_selector(&self) -> Option<&LabelSelector> {
        self.selector.as_ref().and_then(|s| s.as_ref().ok())
    }
}
