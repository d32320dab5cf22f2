//! Jobs that are over and have been kept long enough: `ttlSecondsAfterFinished`.

use jiff::Timestamp;
use plimsoll_clock::Clock;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::write::Writer;
use plimsoll_runtime::{Backoff, Change, Context, Error, Mirrored, Next, Objects, Queue, Resource, Whole};
use serde_json::{Value, json};

use super::spec::{Spec, Status};
use crate::kinds::Job;
use crate::times;
use crate::world::World;

struct Expiry {
    world: World,
    objects: Objects,
    jobs: Writer<Job>,
    clock: Clock,
}

/// Begins to delete jobs whose time is over. Must be called before the world is started.
pub fn start(context: &Context, world: &World) {
    let queue = Queue::<ObjectKey>::named(Backoff::default(), "ttl_jobs_to_delete", &context.metrics);
    let told = queue.clone();
    world.jobs.listen(move |change| {
        if let Change::Set { new, .. } = change {
            told.add(key_of(&**new));
        }
    });
    let expiry = Expiry {
        world: world.clone(),
        objects: context.objects(),
        jobs: Writer::new(context, &world.jobs),
        clock: context.clock.clone(),
    };
    let stop = context.tasks.token();
    context.tasks.spawn("ttl-after-finished", async move {
        tokio::select! {
            () = stop.cancelled() => return,
            () = expiry.world.jobs.synced() => {}
        }
        queue.run(5, stop.clone(), |key| expiry.job(key)).await;
    });
}

impl Expiry {
    async fn job(&self, key: ObjectKey) -> Result<Next, Error> {
        let Some(job) = self.world.jobs.get(&key) else { return Ok(Next::Done) };
        let Some(end) = end_of(&job) else { return Ok(Next::Done) };
        if let Some(left) = times::until(end, self.clock.now()) {
            return Ok(Next::After(left));
        }
        // Somebody may have given it more time, and the mirror not know.
        let Some(job) = self.jobs.look(&key.namespace, &key.name).await? else { return Ok(Next::Done) };
        let Some(end) = end_of(&job) else { return Ok(Next::Done) };
        if let Some(left) = times::until(end, self.clock.now()) {
            return Ok(Next::After(left));
        }
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground",
            "preconditions": {"uid": job.meta().uid}});
        let path = Resource::JOBS.path(&key.namespace, &key.name);
        match self.objects.send::<Value>(http::Method::DELETE, &path, Some(&options)).await {
            Ok(_) | Err(Error::NotFound(_) | Error::Conflict(_)) => Ok(Next::Done),
            Err(error) => Err(error),
        }
    }
}

/// When a job is to be deleted; `None` where it is not.
fn end_of(job: &Whole<Job>) -> Option<Timestamp> {
    if job.meta().deletion_timestamp.0 {
        return None;
    }
    let mut value = job.value();
    let kept = serde_json::from_value::<Spec>(value["spec"].take()).ok()?.ttl_seconds_after_finished?;
    let status = serde_json::from_value::<Status>(value["status"].take()).ok()?;
    let finished = times::read(status.finished()?.last_transition_time.as_deref()?)?;
    Some(times::plus(finished, kept))
}
