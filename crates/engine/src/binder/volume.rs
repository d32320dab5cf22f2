//! What a volume needs next (pv-controller.md 4.8).

use crate::binder::{Say, plugins};
use crate::catalog::Catalog;
use crate::model::{Claim, ReclaimPolicy, Volume, VolumeSource};

/// What a volume needs next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VolumeStep {
    /// Nobody has it: its phase is Available.
    Available,
    /// Its claim has it: its phase is Bound.
    Bound,
    /// It names a claim that does not name it yet: that claim is to be looked at.
    AskClaim,
    /// It names a claim that can never have it.
    Mismatch {
        /// What is said about the volume.
        volume: Say,
        /// What is said about the claim.
        claim: Say,
    },
    /// Its claim is gone. Unless that is known already (it is Released or Failed), the claim must be looked for in the
    /// API itself: what was not seen yet must not cost a volume.
    Release,
    /// It was made for a claim that has another volume: nobody needs it.
    Surplus,
    /// It is being deleted, and its claim does not name it yet. No claim takes a volume that is being deleted, so this one
    /// never would, and the volume would be kept for it for ever. Upstream keeps it. Before it is let go, the claim must be
    /// asked in the API itself: it may just be naming it.
    LetGo,
    /// It names a claim that has another volume: it becomes free again. One that a person reserved stays reserved by name.
    Unbind {
        /// Whether the whole reference goes, and not only the uid.
        wholly: bool,
    },
}

impl Catalog {
    /// What a volume needs next, given the claim that it names as far as that is known.
    pub fn volume_step(volume: &Volume, claim: Option<&Claim>) -> VolumeStep {
        let Some(claim_ref) = &volume.claim_ref else { return VolumeStep::Available };
        if claim_ref.uid.is_empty() {
            // Reserved by name; the claim's own turn completes it.
            return VolumeStep::Available;
        }
        let Some(claim) = claim.filter(|c| c.uid == claim_ref.uid) else { return VolumeStep::Release };
        if claim.volume.is_empty() && volume.deleting {
            return VolumeStep::LetGo;
        }
        if claim.volume.is_empty() {
            return if claim.mode == volume.mode { VolumeStep::AskClaim } else { mismatch(volume, claim) };
        }
        if claim.volume == volume.name {
            return VolumeStep::Bound;
        }
        Self::without_claim(volume)
    }

    /// What becomes of a volume that its claim does not take: one that was made for it is surplus, any other is free again.
    pub fn without_claim(volume: &Volume) -> VolumeStep {
        if volume.provisioned_by.is_some() && volume.reclaim == ReclaimPolicy::Delete {
            return VolumeStep::Surplus;
        }
        VolumeStep::Unbind { wholly: volume.bound_by_controller }
    }
}

fn mismatch(volume: &Volume, claim: &Claim) -> VolumeStep {
    let (name, claim) = (&volume.name, &claim.key.name);
    VolumeStep::Mismatch {
        volume: Say::warning(
            "VolumeMismatch",
            format!(
                "Cannot bind PersistentVolume to requested PersistentVolumeClaim \"{claim}\" due to incompatible volumeMode."
            ),
        ),
        claim: Say::warning(
            "VolumeMismatch",
            format!(
                "Cannot bind PersistentVolume \"{name}\" to requested PersistentVolumeClaim due to incompatible volumeMode."
            ),
        ),
    }
}

/// Who deletes a released volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deleter {
    /// The plugin of this process that made it.
    Here,
    /// Somebody who watches for Released volumes.
    Elsewhere,
    /// Nobody can; why.
    Nobody(String),
}

/// Who deletes a released volume. `served` says whether this process has the plugin that made it.
pub fn deleter(volume: &Volume, served: bool, migrated: bool) -> Deleter {
    match volume.provisioned_by.as_deref().filter(|by| !by.is_empty()) {
        Some(_) if served => Deleter::Here,
        Some(by) if plugins::is_in_tree(by) => Deleter::Nobody(format!("no volume plugin matched name: {by}")),
        Some(_) => Deleter::Elsewhere,
        None if migrated || matches!(volume.source, VolumeSource::Csi { .. }) => Deleter::Elsewhere,
        None => Deleter::Nobody(format!(
            "error getting deleter volume plugin for volume \"{}\": no volume plugin matched",
            volume.name
        )),
    }
}
