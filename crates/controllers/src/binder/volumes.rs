//! A volume's turn.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_api::names;
use plimsoll_engine::Catalog;
use plimsoll_engine::binder::{Say, VolumeStep, deletion_finalizers, migrated_to};
use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::model;
use plimsoll_runtime::{Error, Next};

use crate::binder::{Binder, edits};
use crate::world::Volume;
use plimsoll_api::edit::phase;
use plimsoll_runtime::write::{Part, about};

/// When a volume is looked at again whose claim is being bound.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl Binder {
    pub(super) async fn sync_volume(&self, name: Name) -> Result<Next, Error> {
        let Some(volume) = self.world.volumes.named(&name) else {
            return Ok(Next::Done);
        };
        let volume = self.upkeep_volume(&volume).await?;
        let Some((seen, claim)) = self.volume_and_claim(&name) else {
            return Ok(Next::Done);
        };
        if seen.version != volume.slim.metadata.version() {
            // The mirror is told a moment before the ledger: what is decided must be written to what it was decided about.
            return Err(Error::Conflict(format!("volume {name} is not as it was seen")));
        }
        let mut step = Catalog::volume_step(&seen, claim.as_deref());
        if step == VolumeStep::LetGo {
            if self.ledger().binding.contains_key(&name) {
                // The claim's own turn is about to name it, or to find that it may not.
                return Ok(Next::After(LOOK_AGAIN));
            }
            let key = claim.as_ref().map(|c| c.key.clone()).unwrap_or_default();
            let live = self.claim_writer.look(&key.namespace, &key.name).await?;
            if live.is_none_or(|live| !live.slim.spec.volume_name.is_empty()) {
                return Err(Error::Conflict(format!("claim {key} is not as it was seen")));
            }
            step = Catalog::without_claim(&seen);
        }
        match step {
            VolumeStep::LetGo => Ok(Next::Done),
            VolumeStep::Available => self.volume_phase(&volume, "Available").await,
            VolumeStep::Bound => self.volume_phase(&volume, "Bound").await,
            VolumeStep::AskClaim => {
                if let Some(claim) = claim {
                    self.claims.add(claim.key.clone());
                }
                Ok(Next::Done)
            }
            VolumeStep::Mismatch { volume: of_volume, claim: of_claim } => {
                self.say(&about(&*volume), &of_volume);
                if let Some(claim) = claim.and_then(|c| self.world.claims.get(&c.key)) {
                    self.say(&about(&*claim), &of_claim);
                }
                Ok(Next::After(self.options.sync_period))
            }
            VolumeStep::Release => {
                let known = matches!(seen.phase, model::VolumePhase::Released | model::VolumePhase::Failed);
                if (!known || claim.is_some()) && self.claim_is_there(&seen).await? {
                    // The mirror was behind. Its listener has woken this volume already if that changes anything.
                    return Err(Error::Conflict(format!("the claim of volume {name} is there after all")));
                }
                self.release(&volume, &seen).await
            }
            VolumeStep::Surplus => self.release(&volume, &seen).await,
            VolumeStep::Unbind { wholly } => {
                let volume = self.volume_writer.change(&volume, Part::Object, |v| edits::unbind(v, wholly)).await?;
                self.volume_phase(&volume, "Available").await
            }
        }
    }

    /// The volume, and the claim that it names, as last seen.
    pub(super) fn volume_and_claim(&self, name: &Name) -> Option<(Arc<model::Volume>, Option<Arc<model::Claim>>)> {
        let ledger = self.ledger();
        let volume = ledger.catalog.observed_volume(name)?.clone();
        let claim = volume.claim_ref.as_ref().and_then(|r| ledger.catalog.observed_claim(&r.claim)).cloned();
        Some((volume, claim))
    }

    /// Whether the API server has the very claim that a volume names. Asked before a volume is released: what the mirror
    /// has not seen yet must not cost a volume (PC-19).
    async fn claim_is_there(&self, volume: &model::Volume) -> Result<bool, Error> {
        let Some(claim_ref) = &volume.claim_ref else { return Ok(false) };
        let ObjectKey { namespace, name } = &claim_ref.claim;
        let live = self.claim_writer.look(namespace, name).await?;
        Ok(live.is_some_and(|claim| *claim.slim.metadata.uid == *claim_ref.uid))
    }

    async fn release(&self, volume: &Arc<Volume>, seen: &Arc<model::Volume>) -> Result<Next, Error> {
        // Failed says more than Released, and stays until it is over (PC-34).
        let volume = match seen.phase {
            model::VolumePhase::Released | model::VolumePhase::Failed => volume.clone(),
            _ => self.volume_writer.change(volume, Part::Status, |v| phase(v, "Released", "")).await?,
        };
        self.reclaim(&volume, seen).await
    }

    async fn volume_phase(&self, volume: &Arc<Volume>, wanted: &str) -> Result<Next, Error> {
        if volume.slim.status.phase != wanted {
            self.volume_writer.change(volume, Part::Status, |v| phase(v, wanted, "")).await?;
        }
        Ok(Next::Done)
    }

    /// Marks a volume as Failed, and says why when it becomes so.
    pub(super) async fn fail_volume(&self, volume: &Arc<Volume>, say: &Say) -> Result<Arc<Volume>, Error> {
        if volume.slim.status.phase == "Failed" {
            return Ok(volume.clone());
        }
        let failed = self.volume_writer.change(volume, Part::Status, |v| phase(v, "Failed", &say.message)).await?;
        self.say(&about(&*failed), say);
        Ok(failed)
    }

    /// Keeps the annotations and finalizers of volumes true that were made on demand.
    async fn upkeep_volume(&self, volume: &Arc<Volume>) -> Result<Arc<Volume>, Error> {
        let Some(made_by) = volume.slim.metadata.annotation(names::PROVISIONED_BY) else { return Ok(volume.clone()) };
        let served = self.serves(made_by);
        let Some(policy) = self.ledger().catalog.observed_volume(&volume.slim.metadata.name).map(|v| v.reclaim.clone())
        else {
            return Ok(volume.clone());
        };
        let wanted = deletion_finalizers(Some(made_by), served, &policy);
        let driver = migrated_to(made_by, served);
        let deleting = volume.slim.metadata.deletion_timestamp.0;
        let edit = |v: &mut serde_json::Value| {
            edits::migrated(v, driver);
            // The API server takes no new finalizer on an object that is being deleted.
            let adds = |wanted: Option<bool>| wanted.filter(|add| !(deleting && *add));
            let mut wanted = wanted;
            (wanted.in_tree, wanted.external) = (adds(wanted.in_tree), adds(wanted.external));
            edits::deletion_finalizers(v, wanted);
        };
        self.volume_writer.change(volume, Part::Object, edit).await
    }
}
