//! ReplicaSets, and ReplicationControllers, which are the same with an older selector: as many pods as asked for.
//!
//! ```text
//!                        ┌─ too few:  make, one, then two, then four, … until one fails ─┐
//!   a set, or a pod ─► count                                                             ├─► status ─► looked at again
//!   of it, changes       └─ too many: delete those that are missed least (ranking.rs) ───┘    when a pod has been ready
//!                                                                                              for long enough
//! ```
//! Nothing is remembered between two looks. The mirror knows of a pod that was made, or deleted, when the answer is there;
//! where an answer is lost, one pod too many may be made, and goes again at the look that the watch brings.

mod ranking;
mod scale;
mod status;

use std::sync::Arc;

use plimsoll_api::kinds::Pod;
use plimsoll_clock::Clock;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::write::{Part, Writer};
use plimsoll_runtime::{Backoff, Change, Context, Error, Mirror, Mirrored, Next, Objects, Queue, Whole};
use serde_json::Value;

use crate::children::{Children, Owner, claim_some, matches, wake};
use crate::kinds::{ReplicaSet, ReplicationController, Workload};
use crate::pods::{PodControl, available_in, is_active, is_terminating};
use crate::world::{self, World};
use status::{Counts, Trouble, min_ready_seconds};

/// Sets at a time; upstream's `--concurrent-replicaset-syncs` and `--concurrent-rc-syncs`.
const WORKERS: usize = 5;

/// A kind of set.
pub trait Replicated: Workload {
    /// What its events have as their source; upstream's name.
    const COMPONENT: &'static str;
    /// Whether its status has the pods that are on their way out.
    const SAYS_TERMINATING: bool;
}

impl Replicated for ReplicaSet {
    const COMPONENT: &'static str = "replicaset-controller";
    const SAYS_TERMINATING: bool = true;
}

impl Replicated for ReplicationController {
    const COMPONENT: &'static str = "replication-controller";
    const SAYS_TERMINATING: bool = false;
}

struct Sets<T> {
    sets: world::Objects<T>,
    /// Sets by who controls them: those of one Deployment are one family. `None` for kinds that nobody controls.
    family: Option<Children>,
    pods: world::Objects<Pod>,
    pods_of: Children,
    objects: Objects,
    writer: Writer<T>,
    control: PodControl,
    clock: Clock,
}

/// Begins to keep as many pods as the ReplicaSets ask for. Must be called before the world is started.
pub fn start(context: &Context, world: &World) {
    begin(context, world, &world.replica_sets, Some(world.replica_sets_of.clone()));
}

/// The same for ReplicationControllers.
pub fn start_controllers(context: &Context, world: &World) {
    begin(context, world, &world.replication_controllers, None);
}

fn begin<T: Replicated>(context: &Context, world: &World, sets: &world::Objects<T>, family: Option<Children>) {
    let queue = Queue::<ObjectKey>::named(Backoff::default(), T::COMPONENT, &context.metrics);
    let news = queue.clone();
    sets.listen(move |change| {
        if let Change::Set { new, .. } = change {
            news.add(key_of(&**new));
        }
    });
    wake(&*world.pods, sets, &queue);
    let this = Sets {
        sets: sets.clone(),
        family,
        pods: world.pods.clone(),
        pods_of: world.pods_of.clone(),
        objects: context.objects(),
        writer: Writer::new(context, sets),
        control: PodControl::new(context, &world.pods, T::COMPONENT),
        clock: context.clock.clone(),
    };
    let stop = context.tasks.token();
    context.tasks.spawn(T::COMPONENT, async move {
        tokio::select! {
            () = stop.cancelled() => return,
            () = async { this.pods.synced().await; this.sets.synced().await } => {}
        }
        queue.run(WORKERS, stop.clone(), |key| this.look(key)).await;
    });
}

impl<T: Replicated> Sets<T> {
    async fn look(&self, key: ObjectKey) -> Result<Next, Error> {
        let Some(set) = self.sets.get(&key) else { return Ok(Next::Done) };
        // One without a selector, or with one that cannot be read, selects nothing: there is nothing to be done for it.
        let Some(selector) = set.head().selector.as_ref() else { return Ok(Next::Done) };
        let (owner, value) = (Owner::of(&*set), set.value());
        let mut active = claim_some(&self.objects, &self.pods, &self.pods_of, &owner, selector, is_active).await?;
        let failure = if owner.deleting { None } else { self.scale(&set, &value, &owner, &mut active).await };
        let terminating = T::SAYS_TERMINATING.then(|| {
            let pods = self.pods_of.get(&*self.pods, &owner.uid);
            pods.iter().filter(|pod| is_terminating(&pod.slim) && matches(selector, &pod.slim.metadata)).count()
        });
        let now = self.clock.now();
        let counts = Counts::of(&active, terminating, &value, now);
        let trouble = failure.as_ref().map(|(trouble, _)| trouble);
        if let Some(status) = status::status(&value, &counts, trouble, now) {
            self.report(&set, value.clone(), status).await?;
        }
        if let Some((_, error)) = failure {
            return Err(error);
        }
        let min_ready = min_ready_seconds(&value);
        if min_ready == 0 || counts.available == counts.ready {
            return Ok(Next::Done);
        }
        let waits = active.iter().filter_map(|pod| available_in(&pod.slim, min_ready, now));
        Ok(waits.filter(|wait| !wait.is_zero()).min().map_or(Next::Done, Next::After))
    }

    /// Writes the status. Where the set changed since it was looked at, once more on what it is now: whoever scales it writes
    /// to it just when its status changes. What it says to have observed stays what it was decided from.
    async fn report(&self, seen: &Arc<Whole<T>>, mut value: Value, status: Value) -> Result<(), Error> {
        value["status"] = status;
        match self.writer.replace(seen, Part::Status, &value).await {
            Ok(_) => Ok(()),
            Err(Error::NotFound(_)) => Ok(()),
            Err(error @ Error::Conflict(_)) => {
                let now = self.sets.get(&key_of(&**seen)).filter(|now| now.meta().uid == seen.meta().uid);
                let Some(now) = now else { return Ok(()) };
                let mut whole = now.value();
                if whole["metadata"]["resourceVersion"] == value["metadata"]["resourceVersion"] {
                    return Err(error);
                }
                whole["status"] = value["status"].take();
                self.writer.replace(&now, Part::Status, &whole).await.map(|_| ())
            }
            Err(error) => Err(error),
        }
    }

    /// The sets that share the set's controller, itself among them: none where nobody controls it.
    fn kin(&self, set: &Whole<T>) -> Vec<Arc<Whole<T>>> {
        let (Some(family), Some(head)) = (&self.family, set.meta().controller()) else { return Vec::new() };
        let sets: &Mirror<Whole<T>> = &self.sets;
        family.get(sets, &head.uid)
    }
}
