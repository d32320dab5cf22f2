//! The condition `Unused` of bound claims: whether any pod names them, and since when not. A hint for people and tools
//! that clean up; it says "nobody refers to it now", never "nobody used it" (pv-controller.md 4.11).

use std::sync::Arc;

use plimsoll_api::kinds::{PersistentVolumeClaim, Pod};
use plimsoll_clock::Clock;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::{Backoff, Change, Context, Error, Next, Queue};
use serde_json::{Value, json};

use super::Options;
use super::pods::{self, Pods, Usage};
use crate::world::{Claim, World};
use plimsoll_runtime::write::{Part, Writer};

const CONDITION: &str = "Unused";

struct Unused {
    world: World,
    pods: Arc<Pods>,
    writer: Writer<PersistentVolumeClaim>,
    queue: Arc<Queue<ObjectKey>>,
    clock: Clock,
}

pub(super) fn start(context: &Context, world: &World, options: Options) {
    let unused = Arc::new(Unused {
        world: world.clone(),
        pods: Pods::of(&world.pods),
        writer: Writer::new(context, &world.claims),
        queue: Queue::named(Backoff::default(), "pvcunused", &context.metrics),
        clock: context.clock.clone(),
    });
    let told = unused.clone();
    world.claims.listen(move |change| {
        if let Change::Set { new, .. } = change
            && concerns(new)
        {
            told.queue.add(key_of(&**new));
        }
    });
    let told = unused.clone();
    world.pods.listen(move |change| told.hear(change));
    let stop = context.tasks.token();
    context.tasks.spawn("pvc-unused", async move {
        tokio::select! {
            () = stop.cancelled() => return,
            () = unused.world.synced() => {}
        }
        unused.queue.run(options.width, stop.clone(), |key| unused.claim(key)).await;
    });
}

/// Only bound claims say it: the binder is done with them. Those that are being deleted are past caring.
fn concerns(claim: &Claim) -> bool {
    claim.slim.status.phase == "Bound" && !claim.slim.metadata.deletion_timestamp.0
}

impl Unused {
    fn hear(&self, change: &Change<Pod>) {
        let (old, new) = match change {
            Change::Set { old, new } => (old.as_deref(), Some(&**new)),
            Change::Gone { old } => (Some(&**old), None),
        };
        let usage = |pod: Option<&Pod>| pod.map(Usage::of).filter(|usage| !usage.over);
        if usage(old).map(|u| u.uid) == usage(new).map(|u| u.uid) {
            return;
        }
        for pod in [old, new].into_iter().flatten() {
            pods::keys(pod, &Usage::of(pod)).into_iter().for_each(|key| self.queue.add(key));
        }
    }

    async fn claim(&self, key: ObjectKey) -> Result<Next, Error> {
        let Some(claim) = self.world.claims.get(&key).filter(|claim| concerns(claim)) else { return Ok(Next::Done) };
        let used = self.pods.of_claim(&key).iter().any(|pod| pod.refers_to(&claim.slim));
        let wanted = if used { "False" } else { "True" };
        if claim.slim.status.conditions.iter().any(|c| c.kind == CONDITION && c.status == wanted) {
            return Ok(Next::Done);
        }
        let now = self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        match self.writer.change(&claim, Part::Status, |v| say(v, used, &now)).await {
            Ok(_) => Ok(Next::Done),
            Err(error) if error.is_not_found() => Ok(Next::Done),
            Err(error) => Err(error),
        }
    }
}

fn say(claim: &mut Value, used: bool, now: &str) {
    let (status, reason, message) = if used {
        ("False", "PodUsingPVC", "A pod is currently referencing this PVC")
    } else {
        ("True", "NoPodsUsingPVC", "No pods are currently referencing this PVC")
    };
    let condition =
        json!({"type": CONDITION, "status": status, "lastTransitionTime": now, "reason": reason, "message": message});
    let mut all = claim["status"]["conditions"].as_array().cloned().unwrap_or_default();
    match all.iter_mut().find(|c| c["type"] == CONDITION) {
        Some(known) => *known = condition,
        None => all.push(condition),
    }
    claim["status"]["conditions"] = Value::Array(all);
}
