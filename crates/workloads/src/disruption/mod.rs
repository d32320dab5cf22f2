//! Disruption budgets: how many of a budget's pods may be taken away now. The API server asks the answer, which is in the
//! budget's status, before it lets a pod be evicted (`kubectl drain`).
//!
//! ```text
//!   pods of the budget ──┬─ healthy: ready, not on their way out ──► currentHealthy ──┐
//!                        └─ their controllers' scale ──► expectedPods                 ├─► disruptionsAllowed
//!                  minAvailable, or expectedPods less maxUnavailable ► desiredHealthy ┘   (healthy beyond the desired)
//!
//!   eviction: the API server takes one from disruptionsAllowed and notes the pod in disruptedPods
//!             ── the pod is being deleted ──► no longer noted, no longer healthy
//!             ── two minutes, and it is not ──► no longer noted, an event says so
//! ```

mod cover;
mod expected;
mod reckon;
mod stale;

use std::sync::Arc;

use plimsoll_api::kinds::Pod;
use plimsoll_clock::Clock;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::write::{Part, Writer, about};
use plimsoll_runtime::{Backoff, Change, Context, Error, Mirrored, Next, Objects, Queue, Recorder, Severity, Whole};

use crate::kinds::Budget;
use crate::times;
use crate::world::World;
use cover::Cover;
use expected::Trouble;
use reckon::{Spec, Status};

/// What the events of this controller have as their source; upstream's name.
pub const COMPONENT: &str = "controllermanager";
/// Budgets at a time.
const WORKERS: usize = 4;

struct Disruption {
    world: World,
    cover: Cover,
    objects: Objects,
    budgets: Writer<Budget>,
    pods: Writer<Pod>,
    recorder: Recorder,
    clock: Clock,
    queue: Arc<Queue<ObjectKey>>,
    /// Pods that are said to be disrupted, and are not.
    stale: Arc<Queue<ObjectKey>>,
}

/// Begins to reckon. Must be called before the world is started.
pub fn start(context: &Context, world: &World) {
    let disruption = Arc::new(Disruption {
        world: world.clone(),
        cover: Cover::default(),
        objects: context.objects(),
        budgets: Writer::new(context, &world.budgets),
        pods: Writer::new(context, &world.pods),
        recorder: Recorder::new(context, COMPONENT),
        clock: context.clock.clone(),
        queue: Queue::named(Backoff::default(), "disruption", &context.metrics),
        stale: Queue::named(Backoff::default(), "stale_pod_disruption", &context.metrics),
    });
    let told = disruption.clone();
    world.budgets.listen(move |change| told.hear_of_budget(change));
    let told = disruption.clone();
    world.pods.listen(move |change| told.hear_of_pod(change));
    let (stop, worker) = (context.tasks.token(), disruption.clone());
    context.tasks.spawn("disruption", async move {
        if worker.ready(stop.cancelled()).await {
            worker.queue.run(WORKERS, stop.clone(), |key| worker.sync(key)).await;
        }
    });
    let stop = context.tasks.token();
    context.tasks.spawn("stale-disruptions", async move {
        if disruption.ready(stop.cancelled()).await {
            disruption.stale.run(1, stop.clone(), |key| disruption.clean(key)).await;
        }
    });
}

impl Disruption {
    async fn ready(&self, stop: impl Future<Output = ()>) -> bool {
        let all = async {
            self.world.budgets.synced().await;
            self.world.pods.synced().await;
            self.world.replica_sets.synced().await;
            self.world.deployments.synced().await;
            self.world.stateful_sets.synced().await;
            self.world.replication_controllers.synced().await;
        };
        tokio::select! {
            () = stop => false,
            () = all => true,
        }
    }

    fn hear_of_budget(&self, change: &Change<Whole<Budget>>) {
        match change {
            Change::Set { new, .. } => {
                let key = key_of(&**new);
                self.cover.set_budget(&key, &new.slim, &self.world.pods);
                self.queue.add(key);
            }
            Change::Gone { old } => self.cover.drop_budget(&key_of(&**old)),
        }
    }

    fn hear_of_pod(&self, change: &Change<Whole<Pod>>) {
        let (pod, new) = match change {
            Change::Set { new, .. } => (new, Some(new.meta())),
            Change::Gone { old } => (old, None),
        };
        let key = key_of(&**pod);
        let covering = self.cover.set_pod(&key, new);
        for budget in &covering.all {
            self.queue.add(budget.clone());
        }
        if let ([first, _, ..], Change::Set { .. }) = (covering.now.as_slice(), change)
            && covering.is_news
        {
            let message = format!(
                "Pod {:?}/{:?} matches multiple PodDisruptionBudgets.  Chose {:?} arbitrarily.",
                key.namespace, key.name, first.name
            );
            self.recorder.event(&about(&**pod), Severity::Warning, "MultiplePodDisruptionBudgets", &message);
        }
        if new.is_some()
            && let Some(wait) = stale::wait(&pod.slim, self.clock.now())
        {
            self.stale.add_after(key, wait);
        }
    }

    async fn sync(&self, key: ObjectKey) -> Result<Next, Error> {
        let Some(budget) = self.world.budgets.get(&key) else { return Ok(Next::Done) };
        let value = budget.value();
        let (Ok(spec), Ok(before)) = (Spec::read(&value), Status::read(&value)) else {
            tracing::warn!(budget = %key, "the budget cannot be read; it is left alone");
            return Ok(Next::Done);
        };
        let generation = budget.meta().generation.unwrap_or(0);
        let (status, again) = match self.reckon(&key, &budget, &spec, &before, generation).await {
            Ok(reckoned) => reckoned,
            Err(trouble) => {
                // Nobody may be evicted while nobody knows who may be.
                let mut status = before.clone();
                status.fail(&trouble.to_string(), self.clock.now());
                self.write(&budget, &status).await?;
                return trouble.into_retry().map_or(Ok(Next::Done), Err);
            }
        };
        self.write(&budget, &status).await?;
        Ok(again)
    }

    async fn reckon(
        &self,
        key: &ObjectKey,
        budget: &Arc<Whole<Budget>>,
        spec: &Spec,
        before: &Status,
        generation: i64,
    ) -> Result<(Status, Next), Trouble> {
        let now = self.clock.now();
        let keys = self.cover.pods_of(key);
        let pods: Vec<Arc<Whole<Pod>>> = keys.iter().filter_map(|key| self.world.pods.get(key)).collect();
        let of = about(&**budget);
        if pods.is_empty() {
            self.recorder.event(&of, Severity::Normal, "NoPods", "No matching pods found");
        }
        let expected = self.expected(spec, &pods).await.inspect_err(|trouble| {
            let message = format!("Failed to calculate the number of expected pods: {trouble}");
            self.recorder.event(&of, Severity::Warning, "CalculateExpectedPodCountFailed", &message);
        })?;
        if !expected.unmanaged.is_empty() {
            let message = format!(
                "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the status of the PDB \
                 cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set \
                 \".spec.minAvailable\" field of the PDB to an integer value.",
                expected::shown(&budget.value()["spec"]["selector"])
            );
            self.recorder.event(&of, Severity::Warning, "UnmanagedPods", &message);
        }
        let (disrupted, late) = before.still_disrupted(&pods, now);
        for pod in late {
            let namespace = &budget.meta().namespace;
            // Upstream says the namespace twice where it means the budget's name; the words are kept.
            let message = format!("Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't");
            self.recorder.event(&about(&*pod), Severity::Warning, "NotDeleted", &message);
        }
        let next = disrupted.values().filter_map(|at| times::read(at)).min();
        let wait = next.map(|at| times::until(reckon::expiry(at), now).unwrap_or_default());
        let status = before.reckoned(&pods, disrupted, expected.count, expected.desired, generation, now);
        // A moment later than the expiry, which must be over by then.
        Ok((status, wait.map_or(Next::Done, |wait| Next::After(wait + std::time::Duration::from_secs(1)))))
    }

    async fn write(&self, budget: &Arc<Whole<Budget>>, status: &Status) -> Result<(), Error> {
        match self.budgets.change(budget, Part::Status, |value| status.write_into(value)).await {
            Ok(_) | Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
