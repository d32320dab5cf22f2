//! A claim's turn: what the engine says it needs, written.

use std::sync::Arc;

use plimsoll_api::kinds::volume::ObjectReference;
use plimsoll_api::names;
use plimsoll_engine::Promise;
use plimsoll_engine::binder::{ClaimStep, Say, migrated_to};
use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::model::Version;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::{Error, Next};
use serde_json::{Value, json};

use crate::binder::ledger::Wake;
use crate::binder::{Binder, edits};
use crate::world::{Claim, Volume};
use plimsoll_api::edit::{annotation, phase};
use plimsoll_runtime::write::{Part, about};

/// A volume that is to be bound: the version that was decided about, and the promise that keeps others from it.
#[derive(Default)]
pub(super) struct Taken {
    version: Option<Version>,
    promise: Option<Promise>,
}

impl Binder {
    pub(super) async fn sync_claim(&self, key: ObjectKey) -> Result<Next, Error> {
        let Some(claim) = self.world.claims.get(&key) else {
            return Ok(Next::Done);
        };
        let claim = match self.upkeep_claim(&claim).await {
            Ok(claim) => claim,
            Err(error) => {
                // Whoever can use what was taken for it should not wait for this.
                let wake = self.ledger().withdraw_promise(&key);
                self.wake(wake);
                return Err(error);
            }
        };
        let (step, promise) = self.decide(&key, &claim)?;
        match step {
            None => Ok(Next::Done),
            Some(ClaimStep::Bind(volume)) => {
                let result = self.bind(&volume, &claim, promise).await;
                self.ledger().end(&volume);
                result.map(|()| Next::Done)
            }
            Some(ClaimStep::TakeClass(class)) => {
                let edit = |claim: &mut Value| claim["spec"]["storageClassName"] = json!(&*class);
                self.claim_writer.change(&claim, Part::Object, edit).await?;
                Ok(Next::Done)
            }
            Some(ClaimStep::Provision(class)) => self.provision(&claim, &class).await,
            Some(ClaimStep::Wait(waiting)) => {
                if let Some(say) = &waiting.say {
                    self.say(&about(&*claim), say);
                }
                self.claim_writer.change(&claim, Part::Status, |c| edits::claim_without_volume(c, "Pending")).await?;
                Ok(Next::After(self.options.sync_period))
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
    ///
    /// The mirror is told of a change a moment before the ledger is. What is decided here is written to `written`, so the
    /// two must be the same version: a decision about one version, written to a newer one, would undo somebody's work.
    fn decide(&self, key: &ObjectKey, written: &Claim) -> Result<(Option<ClaimStep>, Option<Taken>), Error> {
        let mut wake = Wake::default();
        let decided = {
            let mut ledger = self.ledger();
            let promised = ledger.promises.remove(key);
            match ledger.catalog.observed_claim(key).cloned() {
                Some(claim) if claim.version == written.slim.metadata.version() => {
                    let consumers = ledger.consumers(key);
                    let step = ledger.catalog.claim_step(&claim, &consumers);
                    let mut taken = None;
                    if let ClaimStep::Bind(volume) = &step {
                        let version = ledger.catalog.observed_volume(volume).map(|v| v.version);
                        let promise = match promised {
                            Some((name, promise)) if name == *volume => Some(promise),
                            other => {
                                wake = ledger.withdraw(other);
                                (!claim.bind_completed).then(|| ledger.catalog.promise(key, volume).ok()).flatten()
                            }
                        };
                        ledger.begin(volume);
                        taken = Some(Taken { version, promise });
                    } else {
                        wake = ledger.withdraw(promised);
                    }
                    Ok((Some(step), taken))
                }
                Some(_) => {
                    wake = ledger.withdraw(promised);
                    Err(Error::Conflict(format!("claim {key} is not as it was seen")))
                }
                None => {
                    wake = ledger.withdraw(promised);
                    Ok((None, None))
                }
            }
        };
        self.wake(wake);
        decided
    }

    /// The four writes. Each is left out where it is done already; dying between any two leaves what the next turn
    /// completes.
    async fn bind(&self, name: &Name, claim: &Arc<Claim>, taken: Option<Taken>) -> Result<(), Error> {
        let Taken { version, promise } = taken.unwrap_or_default();
        if self.world.volumes.named(name).is_some_and(|volume| is_bound(&volume, claim)) {
            return Ok(());
        }
        let result = self.bind_volume(name, version, claim).await;
        if let (Err(_), Some(promise)) = (&result, promise) {
            let wake = self.ledger().withdraw(Some((name.clone(), promise)));
            self.wake(wake);
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

    /// The first two writes, to the version of the volume that was decided about.
    async fn bind_volume(
        &self,
        name: &Name,
        version: Option<Version>,
        claim: &Arc<Claim>,
    ) -> Result<Arc<Volume>, Error> {
        let seen = self.world.volumes.named(name).filter(|v| Some(v.slim.metadata.version()) == version);
        let Some(volume) = seen else {
            return Err(Error::Conflict(format!("volume {name} changed while it was being bound")));
        };
        let meta = &claim.slim.metadata;
        let anothers = |r: &ObjectReference| {
            r.name != meta.name || r.namespace != meta.namespace || !(r.uid.is_empty() || r.uid == meta.uid)
        };
        if volume.slim.spec.claim_ref.as_ref().is_some_and(anothers) {
            return Err(Error::Conflict(format!("volume {name} is another claim's")));
        }
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
            // By now the ledger knows what the look has shown.
            let ledger = self.ledger();
            let unreadable = known.is_some() && ledger.catalog.observed_volume(name).is_none();
            let key = key_of(&**claim);
            let step = ledger.catalog.observed_claim(&key).map(|c| ledger.catalog.claim_step(c, &[]));
            if unreadable {
                // It is there and cannot be read: that is not a loss.
                return Ok(Next::After(self.options.sync_period));
            }
            if !matches!(step, Some(ClaimStep::Lost(_))) {
                return Err(Error::Conflict(format!("claim {key} is not lost after all")));
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
