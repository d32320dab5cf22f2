//! PVC protection: a claim stays while a pod with a node holds it.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_api::kinds::{PersistentVolumeClaim, Pod};
use plimsoll_api::names::CLAIM_PROTECTION;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::{Backoff, Change, Context, Error, Next, Queue};

use super::Options;
use super::finalizers::{self, Duty};
use super::live::LivePods;
use super::pods::{self, Pods, Usage};
use crate::world::{Claim, World};
use plimsoll_api::edit;
use plimsoll_runtime::write::{Part, Writer};

/// When a claim is looked at again whose user the live list knows and the mirror does not: by then the watch has brought
/// the pod, whose end is then seen, or it has skipped the pod, whose end would not be.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

struct Protection {
    world: World,
    pods: Arc<Pods>,
    live: LivePods,
    writer: Writer<PersistentVolumeClaim>,
    queue: Arc<Queue<ObjectKey>>,
}

pub(super) fn start(context: &Context, world: &World, options: Options) {
    let protection = Arc::new(Protection {
        world: world.clone(),
        pods: Pods::of(&world.pods),
        live: LivePods::new(context.objects()),
        writer: Writer::new(context, &world.claims),
        queue: Queue::named(Backoff::default(), "pvcprotection", &context.metrics),
    });
    let told = protection.clone();
    world.claims.listen(move |change| {
        if let Change::Set { new, .. } = change
            && duty(new) != Duty::None
        {
            told.queue.add(key_of(&**new));
        }
    });
    let told = protection.clone();
    world.pods.listen(move |change| told.hear(change));
    let stop = context.tasks.token();
    context.tasks.spawn("pvc-protection", async move {
        tokio::select! {
            () = stop.cancelled() => return,
            () = protection.world.claims.synced() => {}
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = protection.world.pods.synced() => {}
        }
        protection.queue.run(options.width, stop.clone(), |key| protection.claim(key)).await;
    });
}

fn duty(claim: &Claim) -> Duty {
    finalizers::duty(&claim.slim.metadata, CLAIM_PROTECTION)
}

impl Protection {
    /// A pod lets go of claims when it goes, when another takes its name, and (of its own) when it is shut down. Everything
    /// else that happens to pods is no news, and neither is what becomes of claims that nobody deletes.
    fn hear(&self, change: &Change<Pod>) {
        let released = match change {
            Change::Gone { old } => Some(old),
            Change::Set { old: Some(old), new } if old.metadata.uid != new.metadata.uid => Some(old),
            Change::Set { new, .. } if new.metadata.deletion_timestamp.0 => Some(new),
            Change::Set { .. } => None,
        };
        let Some(pod) = released else { return };
        for key in pods::keys(pod, &Usage::of(pod)) {
            if self.world.claims.get(&key).is_some_and(|claim| duty(&claim) == Duty::Release) {
                self.queue.add(key);
            }
        }
    }

    async fn claim(&self, key: ObjectKey) -> Result<Next, Error> {
        let Some(claim) = self.world.claims.get(&key) else { return Ok(Next::Done) };
        let held = match duty(&claim) {
            Duty::None => return Ok(Next::Done),
            Duty::Add => true,
            Duty::Release => {
                // The mirror's word for "used" is enough: when the user goes, the claim is looked at again. For "unused" it
                // is not: a pod may be on its way here. And without proof of being unused, a claim counts as used.
                if self.pods.of_claim(&key).iter().any(|pod| pod.holds(&claim.slim)) {
                    return Ok(Next::Done);
                }
                let live = self.live.of(&key.namespace).await.inspect_err(
                    |error| tracing::warn!(claim = %key, %error, "cannot list pods; the claim that is being deleted waits"),
                )?;
                if live.iter().any(|pod| pod.holds(&claim.slim)) {
                    return Ok(Next::After(LOOK_AGAIN));
                }
                false
            }
        };
        match self.writer.change(&claim, Part::Object, |v| edit::finalizer(v, CLAIM_PROTECTION, held)).await {
            Ok(_) => Ok(Next::Done),
            // Gone already: nothing is left to protect.
            Err(error) if error.is_not_found() => Ok(Next::Done),
            Err(error) => {
                if !error.is_conflict() {
                    tracing::warn!(claim = %key, %error, "cannot change the finalizers; trying again");
                }
                Err(error)
            }
        }
    }
}
