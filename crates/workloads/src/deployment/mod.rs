//! Deployments: ReplicaSets rolled out, one per pod template, and rolled back.
//!
//! ```text
//!   claim the sets ─► being deleted ─────────────────────────────────────────► status
//!        │             paused, or scaled: all sets in proportion ────────────► status
//!        │             asked to roll back: the old set's template ─► written, looked at again
//!        ▼
//!   new set of the template: found or made
//!        ├─ RollingUpdate: new up ─► old down ─► old ones beyond the history deleted ─► status
//!        └─ Recreate:      old down ─► wait for their pods to go ─► new up ─► the same ─► status
//! ```
//! One look takes one step; what it writes brings the next look. Nothing is remembered between them: the sets' annotations
//! say what was, and a set that was made by one who died then is found by its template.

mod annotations;
mod hash;
mod new_set;
mod numbers;
mod rollback;
mod rollout;
mod round;
mod set;
mod status;

use std::sync::Arc;

use plimsoll_api::kinds::Pod;
use plimsoll_clock::Clock;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::write::{Writer, about};
use plimsoll_runtime::{
    Backoff, Change, Context, Error, Mirrored, Next, Objects, Queue, Recorder, Resource, Severity, Whole,
};

use crate::children::{Owner, claim, controller_key, wake};
use crate::kinds::{Deployment, ReplicaSet};
use crate::world::World;
use round::Round;
use set::Set;

/// What the events of this controller have as their source; upstream's name.
pub const COMPONENT: &str = "deployment-controller";
/// Deployments at a time; upstream's `--concurrent-deployment-syncs`.
const WORKERS: usize = 5;

struct Deployments {
    world: World,
    objects: Objects,
    writer: Writer<Deployment>,
    sets: Writer<ReplicaSet>,
    recorder: Recorder,
    clock: Clock,
}

/// Begins to roll Deployments out. Must be called before the world is started.
pub fn start(context: &Context, world: &World) {
    let queue = Queue::<ObjectKey>::named(Backoff::default(), COMPONENT, &context.metrics);
    let news = queue.clone();
    world.deployments.listen(move |change| {
        if let Change::Set { new, .. } = change {
            news.add(key_of(&**new));
        }
    });
    wake(&*world.replica_sets, &world.deployments, &queue);
    wake_for_pods(world, &queue);
    let deployments = Deployments {
        world: world.clone(),
        objects: context.objects(),
        writer: Writer::new(context, &world.deployments),
        sets: Writer::new(context, &world.replica_sets),
        recorder: Recorder::new(context, COMPONENT),
        clock: context.clock.clone(),
    };
    let stop = context.tasks.token();
    context.tasks.spawn(COMPONENT, async move {
        tokio::select! {
            () = stop.cancelled() => return,
            () = deployments.synced() => {}
        }
        queue.run(WORKERS, stop.clone(), |key| deployments.look(key)).await;
    });
}

/// A Deployment that first empties its old sets waits for their pods to be gone, of which the sets say nothing.
fn wake_for_pods(world: &World, queue: &Arc<Queue<ObjectKey>>) {
    let (sets, queue) = (world.replica_sets.clone(), queue.clone());
    world.pods.listen(move |change: &Change<Whole<Pod>>| {
        let Change::Gone { old } = change else { return };
        let set = controller_key(old.meta(), Resource::REPLICA_SETS).and_then(|key| sets.get(&key));
        if let Some(deployment) = set.and_then(|set| controller_key(set.meta(), Resource::DEPLOYMENTS)) {
            queue.add(deployment);
        }
    });
}

impl Deployments {
    async fn synced(&self) {
        self.world.deployments.synced().await;
        self.world.replica_sets.synced().await;
        self.world.pods.synced().await;
    }

    async fn look(&self, key: ObjectKey) -> Result<Next, Error> {
        let Some(seen) = self.world.deployments.get(&key) else { return Ok(Next::Done) };
        match self.step(seen).await {
            // Whatever could not be made need not be.
            Err(error) if error.is_ending_namespace() => Ok(Next::Done),
            result => result,
        }
    }

    async fn step(&self, seen: Arc<Whole<Deployment>>) -> Result<Next, Error> {
        let Some(selector) = seen.slim.0.selector.clone() else { return Ok(Next::Done) };
        let owner = Owner::of(&*seen);
        if selector.is_empty() {
            let message = "This deployment is selecting all pods. A non-empty selector is required.";
            self.recorder.event(&about(&*seen), Severity::Warning, "SelectingAll", message);
            return Ok(Next::Done);
        }
        let (mirror, children) = (&self.world.replica_sets, &self.world.replica_sets_of);
        let claimed = claim(&self.objects, mirror, children, &owner, &selector).await?;
        let mut sets: Vec<Set> = claimed.into_iter().map(Set::new).collect();
        sets.sort_by(|a, b| a.age().cmp(&b.age()));
        let mut round = Round::new(self, seen, sets);
        if owner.deleting {
            round.follow_new_set().await?;
            return round.report_counts().await;
        }
        round.note_pause().await?;
        if round.is_paused() {
            return round.scale().await;
        }
        if let Some(revision) = round.rollback_to() {
            return round.roll_back(revision).await;
        }
        round.follow_new_set().await?;
        if round.was_scaled() {
            return round.scale().await;
        }
        if round.room().rolling { round.roll().await } else { round.recreate().await }
    }
}
