//! Jobs: pods that run to their end, counted once each.
//!
//! ```text
//!             fewer than wanted                 ends
//!   (wanted) ───────────────────► active pod ──────────► ended, with the tracking finalizer
//!       ▲   (backoff after failures)                        │ 1. its uid is written to status.uncountedTerminatedPods
//!       │                                                   ▼
//!       │                                                noted
//!       │                                                   │ 2. the finalizer is removed from the pod
//!       │ a failure within the limits                       ▼
//!       └─────────────────────────────────────────────── released
//!                                                           │ 3. the uid goes from the list into the counter
//!                                                           ▼
//!                                                        counted
//! ```
//! Whoever dies between two steps leaves what the next life needs to take the next one: a uid in the list whose pod still has
//! the finalizer is at step 2, one whose pod has none, or is gone, at step 3. So every pod counts once.
//!
//! ```text
//!                  enough pods, or the success policy               no pod is being deleted or uncounted
//!   (no condition) ───────────────────────────────────► SuccessCriteriaMet ──────────────────────────► Complete
//!        │
//!        └── backoff limit, deadline, failure policy, failed indexes ──► FailureTarget ──────────────► Failed
//! ```

mod backoff;
mod claim;
mod indexes;
mod manage;
mod member;
mod orphans;
mod policy;
mod spec;
mod sync;
mod track;
pub mod ttl;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_api::kinds::{ObjectMeta, Pod};
use plimsoll_api::names::JOB_NAMES;
use plimsoll_clock::Clock;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::write::Writer;
use plimsoll_runtime::{Backoff, Change, Context, Mirrored, Objects, Queue, Resource, Whole};

use crate::children::controller_key;
use crate::kinds::Job;
use crate::pods::PodControl;
use crate::world::World;
use backoff::Record;
use member::is_tracked;

/// What the events of this controller have as their source; upstream's name.
pub const COMPONENT: &str = "job-controller";
/// Jobs at a time (upstream's `--concurrent-job-syncs`).
const WORKERS: usize = 5;
/// How long news of pods are collected before the job is looked at: a job of many pods would be looked at for each of them.
const BATCH: Duration = Duration::from_secs(1);
/// How long a job waits whose writes fail.
const BACKOFF: Backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(60) };
/// The label that the API server gives to the pods of a job that does not select for itself.
const BY_UID: &str = "batch.kubernetes.io/controller-uid";

/// The controller.
pub(crate) struct Jobs {
    world: World,
    objects: Objects,
    control: PodControl,
    jobs: Writer<Job>,
    pods: Writer<Pod>,
    clock: Clock,
    queue: Arc<Queue<ObjectKey>>,
    /// Pods that no job will count, by their keys.
    orphans: Arc<Queue<ObjectKey>>,
    records: Mutex<BTreeMap<ObjectKey, Record>>,
    /// Jobs that select for themselves, by namespace: those that a pod without owner may belong to.
    selecting: Mutex<BTreeMap<String, BTreeSet<ObjectKey>>>,
}

/// Begins to run jobs. Must be called before the world is started.
pub fn start(context: &Context, world: &World) {
    let jobs = Arc::new(Jobs {
        world: world.clone(),
        objects: context.objects(),
        control: PodControl::new(context, &world.pods, COMPONENT),
        jobs: Writer::new(context, &world.jobs),
        pods: Writer::new(context, &world.pods),
        clock: context.clock.clone(),
        queue: Queue::named(BACKOFF, "job", &context.metrics),
        orphans: Queue::named(BACKOFF, "job_orphan_pod", &context.metrics),
        records: Mutex::default(),
        selecting: Mutex::default(),
    });
    let told = jobs.clone();
    world.jobs.listen(move |change| told.hear_of_job(change));
    let told = jobs.clone();
    world.pods.listen(move |change| told.hear_of_pod(change));
    let (stop, worker) = (context.tasks.token(), jobs.clone());
    context.tasks.spawn("job", async move {
        if worker.ready(stop.cancelled()).await {
            worker.queue.run(WORKERS, stop.clone(), |key| worker.sync(key)).await;
        }
    });
    let stop = context.tasks.token();
    context.tasks.spawn("job-orphans", async move {
        if jobs.ready(stop.cancelled()).await {
            jobs.orphans.run(WORKERS, stop.clone(), |key| jobs.release_orphan(key)).await;
        }
    });
}

impl Jobs {
    /// Waits until there is enough to decide by; `false` where the process ends first.
    async fn ready(&self, stop: impl Future<Output = ()>) -> bool {
        tokio::select! {
            () = stop => false,
            () = async { self.world.jobs.synced().await; self.world.pods.synced().await } => true,
        }
    }

    fn hear_of_job(&self, change: &Change<Whole<Job>>) {
        let (job, gone) = match change {
            Change::Set { new, .. } => (new, false),
            Change::Gone { old } => (old, true),
        };
        let key = key_of(&**job);
        let selects = job.slim.0.spec.selector.as_ref().is_some_and(|s| s.match_labels.get(BY_UID).is_none());
        if selects {
            let mut all = lock(&self.selecting);
            let of_namespace = all.entry(job.meta().namespace.clone()).or_default();
            if gone {
                of_namespace.remove(&key);
            } else {
                of_namespace.insert(key.clone());
            }
        }
        let respecified = match change {
            Change::Set { old: Some(old), new } => old.meta().generation != new.meta().generation,
            Change::Set { old: None, .. } | Change::Gone { .. } => true,
        };
        if gone {
            lock(&self.records).remove(&key);
            self.release_all(&job.meta().uid);
        }
        if respecified {
            self.queue.add(key);
        } else {
            self.queue.add_after(key, BATCH);
        }
    }

    fn hear_of_pod(&self, change: &Change<Whole<Pod>>) {
        let (old, new) = match change {
            Change::Set { old, new } => (old.as_deref(), Some(&**new)),
            Change::Gone { old } => (Some(&**old), None),
        };
        let owners = [old, new].map(|pod| pod.and_then(|pod| controller_key(pod.meta(), Resource::JOBS)));
        for job in owners.iter().flatten() {
            self.queue.add_after(job.clone(), BATCH);
        }
        let Some(pod) = new else { return };
        // Whether a job will count it is looked at when its turn comes: the jobs may not be known yet.
        if is_tracked(pod.meta()) && (owners[1].is_none() || pod.meta().deletion_timestamp.0) {
            self.orphans.add(key_of(pod));
        }
        let changed =
            |old: &Whole<Pod>| old.meta().controller().is_some() || old.meta().labels.0 != pod.meta().labels.0;
        if pod.meta().controller().is_none() && old.is_none_or(changed) {
            self.offer(pod.meta());
        }
    }

    /// Has the jobs look at a pod without owner that may be theirs.
    fn offer(&self, pod: &ObjectMeta) {
        if let Some(name) = pod.labels.get(JOB_NAMES[0]) {
            self.queue.add_after(ObjectKey::new(pod.namespace.as_str(), name), BATCH);
        }
        for job in lock(&self.selecting).get(&pod.namespace).into_iter().flatten() {
            self.queue.add_after(job.clone(), BATCH);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
