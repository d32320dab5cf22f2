//! What becomes of a volume whose claim is gone (pv-controller.md 4.8.1).

use std::sync::Arc;

use plimsoll_api::names;
use plimsoll_engine::Catalog;
use plimsoll_engine::binder::{Deleter, Say, VolumeStep, deleter};
use plimsoll_engine::labels::Name;
use plimsoll_engine::model::{self, ReclaimPolicy};
use plimsoll_runtime::{Error, Next, Preconditions, Resource};

use crate::binder::{Binder, deletion};
use crate::provision::DeleteError;
use crate::world::Volume;
use plimsoll_api::edit::finalizer;
use plimsoll_runtime::write::{Part, about};

impl Binder {
    pub(super) async fn reclaim(&self, volume: &Arc<Volume>, seen: &model::Volume) -> Result<Next, Error> {
        if volume.slim.metadata.annotation(names::MIGRATED_TO).is_some_and(|driver| !driver.is_empty()) {
            return Ok(Next::Done);
        }
        match seen.reclaim {
            ReclaimPolicy::Retain => Ok(Next::Done),
            ReclaimPolicy::Delete => self.delete(volume, seen).await,
            ReclaimPolicy::Recycle => self.recycle(volume, seen).await,
            ReclaimPolicy::Other => {
                let text = "Volume has unrecognized PersistentVolumeReclaimPolicy";
                self.fail_volume(volume, &warning("VolumeUnknownReclaimPolicy", text)).await?;
                Ok(Next::Done)
            }
        }
    }

    /// Deletes what is behind a volume, then its finalizer, then the volume. Each step may be the second time.
    async fn delete(&self, volume: &Arc<Volume>, seen: &model::Volume) -> Result<Next, Error> {
        let plugin = seen.provisioned_by.as_deref().and_then(|by| self.options.provisioners.internal(by));
        let plugin = match (deleter(seen, plugin.is_some(), false), plugin) {
            (Deleter::Here, Some(plugin)) => plugin,
            (Deleter::Nobody(why), _) => {
                let why = explain(&volume.value(), why);
                self.fail_volume(volume, &warning("VolumeFailedDelete", why)).await?;
                return Ok(Next::Done);
            }
            _ => return Ok(Next::Done),
        };
        // The last look before what cannot be undone is at the API itself, not at the mirror.
        let name: Name = volume.slim.metadata.name.as_str().into();
        let Some(live) = self.volume_writer.look("", &name).await? else { return Ok(Next::Done) };
        if live.slim.metadata.uid != volume.slim.metadata.uid || !self.is_released(&name).await? {
            return Ok(Next::Done);
        }
        let work = deletion(&name, &live.slim.metadata.uid);
        match plugin.delete(&live.value()).await {
            Ok(()) => self.succeeded(&work),
            Err(DeleteError::InUse(why)) => {
                let say = Say { warning: false, reason: "VolumeDelete", message: why };
                self.say(&about(&*live), &say);
                return Ok(self.failed(&work));
            }
            Err(DeleteError::Failed(why)) => {
                self.fail_volume(&live, &warning("VolumeFailedDelete", why)).await?;
                return Ok(self.failed(&work));
            }
        }
        let live =
            self.volume_writer.change(&live, Part::Object, |v| finalizer(v, names::DELETION_IN_TREE, false)).await?;
        let only_if = Preconditions { uid: Some(live.slim.metadata.uid.clone()), version: None };
        self.context.objects().delete(Resource::VOLUMES, "", &name, &only_if).await?;
        Ok(Next::Done)
    }

    /// Whether a volume is released for certain: its claim is gone, by the API's own word, or has another volume.
    async fn is_released(&self, name: &Name) -> Result<bool, Error> {
        let Some((volume, claim)) = self.volume_and_claim(name) else { return Ok(false) };
        match Catalog::volume_step(&volume, claim.as_deref()) {
            // Its claim was asked a moment ago.
            VolumeStep::Surplus | VolumeStep::LetGo => Ok(true),
            VolumeStep::Release => {
                let Some(claim_ref) = &volume.claim_ref else { return Ok(false) };
                let live = self.claim_writer.look(&claim_ref.claim.namespace, &claim_ref.claim.name).await?;
                Ok(live.is_none_or(|claim| *claim.slim.metadata.uid != *claim_ref.uid))
            }
            _ => Ok(false),
        }
    }

    /// There is no recycler here, as there is none upstream for most volumes.
    async fn recycle(&self, volume: &Arc<Volume>, seen: &model::Volume) -> Result<Next, Error> {
        let Some(claim_ref) = &seen.claim_ref else { return Ok(Next::Done) };
        let users = self.ledger().users(&claim_ref.claim);
        if !users.is_empty() && self.world.claims.get(&claim_ref.claim).is_none() {
            let message = format!("Volume is used by pods: {}", users.join(","));
            self.say(&about(&**volume), &Say { warning: false, reason: "VolumeFailedRecycle", message });
            return Ok(Next::After(self.options.sync_period));
        }
        self.fail_volume(volume, &warning("VolumeFailedRecycle", "No recycler plugin found for the volume!")).await?;
        Ok(Next::Done)
    }
}

/// Upstream's words for volumes whose plugins it has, though none of them deletes anything of other machines.
fn explain(volume: &serde_json::Value, why: String) -> String {
    match why.strip_suffix("no volume plugin matched") {
        Some(what) if volume["spec"]["nfs"].is_object() => format!("{what}no deletable volume plugin matched"),
        _ => why,
    }
}

fn warning(reason: &'static str, message: impl Into<String>) -> Say {
    Say { warning: true, reason, message: message.into() }
}
