//! A claim's turn: what the engine says it needs, written.

use std::sync::Arc;

use plimsoll_api::names;
use plimsoll_engine::Promise;
use plimsoll_engine::binder::{ClaimStep, Say, migrated_to};
use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_runtime::{Error, Next};
use serde_json::{Value, json};

use crate::binder::{Binder, edits};
use crate::edit::{annotation, phase};
use crate::world::{Claim, Volume};
use crate::write::{Part, about};

impl Binder {
    pub(super) async fn sync_claim(&self, key: ObjectKey) -> Result<Next, Error> {
        let Some(claim) = self.world.claims.get(&key) else {
            return Ok(Next::Done);
        };
        let claim = self.upkeep_claim(&claim).await?;
        let (step, promise) = self.decide(&key);
        match step {
            None => Ok(Next::Done),
            Some(ClaimStep::Bind(volume)) => {
                let result = self.bind(&volume, &claim, promise).await;
                result.map(|()| Next::Done)
            }
            Some(ClaimStep::TakeClass(class)) => {
                let edit = |claim: &mut Value| claim["spec"]["storageClassName"] = json!(&*class);
                self.claim_writer.change(&claim, Part::Object, edit).await?;
                Ok(Next::Done)
            }
            Some(ClaimStep::Provision(class)) => self.provision(&claim, &class).await,
            Some(ClaimStep::Wait(waiting)) => {
                let next = if waiting.say.is_some() { Next::After(self.options.sync_period) } else { Next::Done };
                if let Some(say) = &waiting.say {
                    self.say(&about(&*claim), say);
                }
                self.claim_writer.change(&claim, Part::Status, |c| edits::claim_without_volume(c, "Pending")).await?;
                Ok(next)
            }
            Some(ClaimStep::Refused(say)) => {
                self.say(&about(&*claim), &say);
                Ok(Next::After(self.options.sync_period))
            }
            Some(ClaimStep::Lost(say)) => self.lose(&claim, &say).await,
            Some(ClaimStep::Error(text)) => {
                tracing::warn!(claim = %key, "{text}");
                Ok(Next::After(self.options.sync_period))
            }
        }
    }

    /// What the claim needs, and the volume that is taken for it where it is to be bound. `None` where the claim went, or
    /// cannot be read.
    fn decide(&self, key: &ObjectKey) -> (Option<ClaimStep>, Option<Promise>) {
        let mut ledger = self.ledger();
        let promised = ledger.promises.remove(key);
        let Some(claim) = ledger.catalog.observed_claim(key).cloned() else {
            if let Some((_, promise)) = promised {
                ledger.catalog.withdraw(promise);
            }
            return (None, None);
        };
        let consumers = ledger.consumers(key);
        let step = ledger.catalog.claim_step(&claim, &consumers);
        match (&step, promised) {
            (ClaimStep::Bind(volume), Some((taken, promise))) if *volume == taken => {
                return (Some(step), Some(promise));
            }
            (_, Some((_, promise))) => ledger.catalog.withdraw(promise),
            (_, None) => {}
        }
        let promise = match &step {
            ClaimStep::Bind(volume) if !claim.bind_completed => ledger.catalog.promise(key, volume).ok(),
            _ => None,
        };
        (Some(step), promise)
    }

    /// The four writes. Each is left out where it is done already; dying between any two leaves what the next turn
    /// completes.
    async fn bind(&self, name: &Name, claim: &Arc<Claim>, promise: Option<Promise>) -> Result<(), Error> {
        if self.world.volumes.named(name).is_some_and(|volume| is_bound(&volume, claim)) {
            return Ok(());
        }
        let result = self.bind_volume(name, claim).await;
        if let (Err(_), Some(promise)) = (&result, promise) {
            self.ledger().catalog.withdraw(promise);
        }
        let volume = result?;
        let claim = self.claim_writer.change(claim, Part::Object, |c| edits::name_volume(c, name)).await?;
        let shown = volume.value();
        if shown["spec"]["capacity"]["storage"].is_null() && claim.slim.status.phase != "Bound" {
            tracing::warn!(volume = %name, "PersistentVolume {name:?} is without a storage capacity");
            return Err(Error::Invalid(format!("PersistentVolume \"{name}\" is without a storage capacity")));
        }
        self.claim_writer.change(&claim, Part::Status, |c| edits::claim_bound(c, &shown)).await?;
        Ok(())
    }

    async fn bind_volume(&self, name: &Name, claim: &Arc<Claim>) -> Result<Arc<Volume>, Error> {
        let Some(volume) = self.world.volumes.named(name) else {
            return Err(Error::Conflict(format!("volume {name} went while it was being bound")));
        };
        let whole = claim.value();
        let volume = self.volume_writer.change(&volume, Part::Object, |v| edits::refer_to_claim(v, &whole)).await?;
        self.volume_writer.change(&volume, Part::Status, |v| phase(v, "Bound", "")).await
    }

    /// A claim's volume is gone, or another's. Before a person is told that data is lost, the API itself is asked.
    async fn lose(&self, claim: &Arc<Claim>, say: &Say) -> Result<Next, Error> {
        if claim.slim.status.phase == "Lost" {
            return Ok(Next::Done);
        }
        let name = claim.slim.spec.volume_name.as_str();
        if !name.is_empty() {
            let known = self.world.volumes.named(name).map(|v| v.slim.metadata.version());
            let live = self.volume_writer.look("", name).await?;
            if live.map(|v| v.slim.metadata.version()) != known {
                return Err(Error::Conflict(format!("volume {name} is not as it was seen")));
            }
            if self.ledger().catalog.observed_volume(name).is_none() && known.is_some() {
                // It is there and cannot be read: that is not a loss.
                return Ok(Next::After(self.options.sync_period));
            }
        }
        let lost = self.claim_writer.change(claim, Part::Status, |c| edits::claim_without_volume(c, "Lost")).await?;
        self.say(&about(&*lost), say);
        Ok(Next::Done)
    }

    /// Keeps the annotation true that says which driver took over from an in-tree plugin.
    async fn upkeep_claim(&self, claim: &Arc<Claim>) -> Result<Arc<Claim>, Error> {
        let meta = &claim.slim.metadata;
        let asked = meta.annotation(names::STORAGE_PROVISIONER).or(meta.annotation(names::BETA_STORAGE_PROVISIONER));
        let Some(asked) = asked else { return Ok(claim.clone()) };
        let driver = migrated_to(asked, self.serves(asked));
        if driver == meta.annotation(names::MIGRATED_TO).filter(|d| !d.is_empty()) {
            return Ok(claim.clone());
        }
        self.claim_writer.change(claim, Part::Object, |c| edits::migrated(c, driver)).await
    }
}

/// Whether nothing is missing: each of the four writes would change nothing. Most looks at a claim end here.
fn is_bound(volume: &Volume, claim: &Claim) -> bool {
    let (volume, claim) = (&volume.slim, &claim.slim);
    let (meta, name) = (&claim.metadata, &volume.metadata.name);
    let refers = volume
        .spec
        .claim_ref
        .as_ref()
        .is_some_and(|r| r.uid == meta.uid && r.name == meta.name && r.namespace == meta.namespace);
    refers
        && volume.status.phase == "Bound"
        && claim.spec.volume_name == *name
        && meta.annotation(names::BIND_COMPLETED).is_some()
        && claim.status.phase == "Bound"
        && claim.status.access_modes == volume.spec.access_modes
}

/// Whether a claim asks for its volume to be filled from somewhere.
pub(super) fn has_data_source(claim: &Value) -> bool {
    claim["spec"]["dataSource"].is_object()
}

/// The node that was selected for a claim.
pub(super) fn selected_node(claim: &Value) -> Option<&str> {
    annotation(claim, names::SELECTED_NODE)
}
