//! The binder: completes the binding of claims and volumes, hands claims to provisioners, and sees to volumes whose claims
//! are gone. It replaces upstream's persistentvolume-binder-controller.
//!
//! What is to be done is decided by `plimsoll_engine::binder`; here it is written, one conditional write after the other.
//! Every claim and every volume has its own place in a queue, so that independent ones go side by side, and each event
//! wakes only those that it can concern (`ledger`).

mod claims;
mod edits;
mod ledger;
mod provisioning;
mod reclaim;
mod volumes;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_api::kinds::{PersistentVolume, PersistentVolumeClaim};
use plimsoll_engine::binder::Say;
use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_runtime::{About, Backoff, Change, Context, Next, Queue, Recorder, Severity};

use crate::provision::Provisioners;
use crate::world::World;
use plimsoll_runtime::write::Writer;

use ledger::{Ledger, Wake};

/// The name under which events are said, upstream's.
const COMPONENT: &str = "persistentvolume-controller";

/// How the binder works.
#[derive(Clone)]
pub struct Options {
    /// Whether provisioners are asked for volumes at all.
    pub provisioning: bool,
    /// How often a claim that waits is looked at again, so that its event stays fresh.
    pub sync_period: Duration,
    /// The plugins of this process.
    pub provisioners: Provisioners,
    /// How many claims, and how many volumes, are worked on at a time.
    pub width: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            provisioning: true,
            sync_period: Duration::from_secs(15),
            provisioners: Provisioners::default(),
            width: WIDTH,
        }
    }
}

/// Starts the binder. Call it before the world is started.
pub fn start(context: &Context, world: &World, mut options: Options) {
    // Shorter would be a loop, not a look from time to time.
    options.sync_period = options.sync_period.max(Duration::from_secs(1));
    let binder = Arc::new(Binder {
        context: context.clone(),
        world: world.clone(),
        options,
        ledger: Mutex::default(),
        claims: Queue::named(Backoff::default(), "claims", &context.metrics),
        volumes: Queue::named(Backoff::default(), "volumes", &context.metrics),
        classes: Queue::new(Backoff::default()),
        claim_writer: Writer::new(context, &world.claims),
        volume_writer: Writer::new(context, &world.volumes),
        recorder: Recorder::new(context, COMPONENT),
        attempts: Mutex::default(),
    });
    binder.listen();
    binder.run();
}

struct Binder {
    context: Context,
    world: World,
    options: Options,
    /// Held for decisions only, never across a write.
    ledger: Mutex<Ledger>,
    claims: Arc<Queue<ObjectKey>>,
    volumes: Arc<Queue<Name>>,
    /// Classes of which volumes became free.
    classes: Arc<Queue<Name>>,
    claim_writer: Writer<PersistentVolumeClaim>,
    volume_writer: Writer<PersistentVolume>,
    recorder: Recorder,
    /// How often the deletion of a volume, or a provisioning, failed in a row.
    attempts: Mutex<BTreeMap<String, u32>>,
}

/// How many sync periods lie between two looks at everything unfinished.
const ROUND: u32 = 20;

/// The name of a piece of work: deleting what is behind a volume.
fn deletion(volume: &str, uid: &str) -> String {
    format!("delete-{volume}[{uid}]")
}

/// The name of a piece of work: making a claim's volume.
fn making(claim: &str, uid: &str) -> String {
    format!("provision-{claim}[{uid}]")
}

/// How many claims, and how many volumes, are worked on at a time. A claim costs four writes one after the other, and whoever
/// makes claims in bulk does so from some dozens of connections: with less than four times as many here, claims would pile up
/// before a busy API server. It is less than the 200 writes that kube-apiserver works on at once.
const WIDTH: usize = 128;

/// How long a plugin's failed work waits: upstream's.
const OPERATION_BACKOFF: Backoff = Backoff { first: Duration::from_millis(500), longest: Duration::from_secs(122) };

impl Binder {
    fn listen(self: &Arc<Self>) {
        let binder = self.clone();
        self.world.volumes.listen(move |change| {
            let mut ledger = binder.ledger();
            let wake = match change {
                Change::Set { old, new } => ledger.volume_set(old.as_deref(), new),
                Change::Gone { old } => {
                    binder.succeeded(&deletion(&old.slim.metadata.name, &old.slim.metadata.uid));
                    ledger.volume_gone(old)
                }
            };
            drop(ledger);
            binder.wake(wake);
        });
        let binder = self.clone();
        self.world.claims.listen(move |change| {
            let mut ledger = binder.ledger();
            let wake = match change {
                Change::Set { old, new } => ledger.claim_set(old.as_deref(), new),
                Change::Gone { old } => {
                    binder.succeeded(&making(&old.slim.metadata.name, &old.slim.metadata.uid));
                    ledger.claim_gone(old)
                }
            };
            drop(ledger);
            binder.wake(wake);
        });
        let binder = self.clone();
        self.world.classes.listen(move |change| {
            let mut ledger = binder.ledger();
            let wake = match change {
                Change::Set { new, .. } => ledger.class_set(new),
                Change::Gone { old } => ledger.class_gone(old),
            };
            drop(ledger);
            binder.wake(wake);
        });
        let binder = self.clone();
        self.world.pods.listen(move |change| {
            let wake = match change {
                Change::Set { old, new } => binder.ledger().pod_changed(old.as_deref(), Some(new)),
                Change::Gone { old } => binder.ledger().pod_changed(Some(old), None),
            };
            binder.wake(wake);
        });
    }

    fn run(self: &Arc<Self>) {
        let (binder, stop) = (self.clone(), self.context.tasks.token());
        self.context.tasks.spawn("binder: claims", async move {
            if stop.run_until_cancelled(binder.world.synced()).await.is_none() {
                return;
            }
            binder.claims.run(binder.options.width, stop, |key| binder.sync_claim(key)).await;
        });
        let (binder, stop) = (self.clone(), self.context.tasks.token());
        self.context.tasks.spawn("binder: volumes", async move {
            if stop.run_until_cancelled(binder.world.synced()).await.is_none() {
                return;
            }
            binder.volumes.run(binder.options.width, stop, |name| binder.sync_volume(name)).await;
        });
        let (binder, stop) = (self.clone(), self.context.tasks.token());
        self.context.tasks.spawn("binder: rounds", async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = binder.go_round() => {}
            }
        });
        let (binder, stop) = (self.clone(), self.context.tasks.token());
        self.context.tasks.spawn("binder: classes", async move {
            if stop.run_until_cancelled(binder.world.synced()).await.is_none() {
                return;
            }
            binder.classes.run(1, stop, |class| binder.match_class(class)).await;
        });
    }

    /// Looks at everything unfinished from time to time: an event that this process did not understand as one that
    /// concerns a claim must not leave the claim waiting for ever.
    async fn go_round(&self) {
        let pause = self.options.sync_period.saturating_mul(ROUND);
        loop {
            tokio::time::sleep(pause).await;
            let mut wake = self.ledger().unfinished();
            let on_their_way = |volume: &Arc<crate::world::Volume>| {
                let (spec, phase) = (&volume.slim.spec, volume.slim.status.phase.as_str());
                !matches!((phase, spec.claim_ref.is_some()), ("Bound" | "Released", true) | ("Available", false))
            };
            let volumes = self.world.volumes.all();
            wake.volumes =
                volumes.iter().filter(|v| on_their_way(v)).map(|v| v.slim.metadata.name.as_str().into()).collect();
            self.wake(wake);
        }
    }

    fn wake(&self, wake: Wake) {
        wake.claims.into_iter().for_each(|key| self.claims.add(key));
        wake.volumes.into_iter().for_each(|name| self.volumes.add(name));
        wake.classes.into_iter().for_each(|class| self.classes.add(class));
    }

    async fn match_class(&self, class: Name) -> Result<Next, plimsoll_runtime::Error> {
        let (found, asked) = self.ledger().match_class(&class);
        found.into_iter().for_each(|key| self.claims.add(key));
        // Volumes that come while this waits are gathered, so that asking never takes more than a tenth of the time.
        tokio::time::sleep(Duration::from_micros(20).saturating_mul(u32::try_from(asked).unwrap_or(u32::MAX))).await;
        Ok(Next::Done)
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, about: &About, say: &Say) {
        let severity = if say.warning { Severity::Warning } else { Severity::Normal };
        self.recorder.event(about, severity, say.reason, &say.message);
    }

    /// Whether this process has the plugin of that name.
    fn serves(&self, provisioner: &str) -> bool {
        self.options.provisioners.internal(provisioner).is_some()
    }

    /// Notes one more failure in a row of a piece of work, and says how long to wait.
    fn failed(&self, work: &str) -> Next {
        let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        let failures = attempts.entry(work.to_owned()).or_default();
        *failures += 1;
        Next::After(OPERATION_BACKOFF.after(*failures))
    }

    fn succeeded(&self, work: &str) {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner).remove(work);
    }
}
