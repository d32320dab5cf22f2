//! Nodes that no longer answer: noticed by their leases, said in their conditions, and kept free of pods by taints.
//!
//! ```text
//!                    lease and status not renewed for 50 s
//!   Ready=True ───────────────────────────────────────────────► Ready=Unknown: taint unreachable
//!     ▲    │ the kubelet says so                                    │
//!     │    └──────────────────────────► Ready=False: taint not-ready│
//!     └──── the kubelet reports again: taints removed ──────────────┘
//! ```
//! A taint with the effect NoSchedule mirrors each condition at once. The one with NoExecute, which has pods evicted
//! ([`crate::taint_eviction`]), is given to one node of a zone every ten seconds, to none where most of a small zone is out of
//! reach, and to none at all where everything is: then it is this process that is cut off, not the nodes.

mod health;
mod monitor;
mod taints;
mod zones;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_api::kinds::{Node, Pod};
use plimsoll_clock::Clock;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::write::{Part, Writer};
use plimsoll_runtime::{Backoff, Change, Context, Error, Mirrored, Next, Objects, Queue, Recorder, Whole};

use crate::world::World;
use health::{Facts, Health};
use zones::Zones;

/// What the events of this controller have as their source; upstream's name.
pub const COMPONENT: &str = "node-controller";
/// Nodes at a time whose taints are brought in line.
const WORKERS: usize = 8;

/// How nodes are watched.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How often (`--node-monitor-period`).
    pub period: Duration,
    /// How long a node may be silent (`--node-monitor-grace-period`).
    pub grace: Duration,
    /// How long a node may take to say anything at all (`--node-startup-grace-period`).
    pub startup_grace: Duration,
    /// How nodes of a zone are tainted when several fall silent.
    pub zones: zones::Options,
}

impl Default for Options {
    /// Upstream's.
    fn default() -> Self {
        Self {
            period: Duration::from_secs(5),
            grace: Duration::from_secs(50),
            startup_grace: Duration::from_secs(60),
            zones: zones::Options::default(),
        }
    }
}

pub use zones::Options as ZoneOptions;

struct Lifecycle {
    options: Options,
    world: World,
    objects: Objects,
    nodes: Writer<Node>,
    pods: Writer<Pod>,
    recorder: Recorder,
    clock: Clock,
    /// Nodes whose taints and labels may be out of line, by name.
    queue: Arc<Queue<ObjectKey>>,
    /// Pods that came to a node which is not ready.
    arrivals: Arc<Queue<ObjectKey>>,
    state: Mutex<State>,
    /// Told when a node waits for a taint.
    waiting: tokio::sync::Notify,
}

#[derive(Default)]
struct State {
    /// What is read of each node: once for each change of it, not at every look.
    facts: BTreeMap<String, Arc<Facts>>,
    health: BTreeMap<String, Health>,
    /// Nodes that were seen, with their uids.
    known: BTreeMap<String, String>,
    /// Nodes that fell silent, and of whose pods it could not be said yet that they are not ready.
    untold: BTreeSet<String>,
    zones: Zones,
}

/// Begins to watch the nodes. Must be called before the world is started.
pub fn start(context: &Context, world: &World, options: Options) {
    let lifecycle = Arc::new(Lifecycle {
        options,
        world: world.clone(),
        objects: context.objects(),
        nodes: Writer::new(context, &world.nodes),
        pods: Writer::new(context, &world.pods),
        recorder: Recorder::new(context, COMPONENT),
        clock: context.clock.clone(),
        queue: Queue::named(Backoff::default(), "node_lifecycle_controller", &context.metrics),
        arrivals: Queue::named(Backoff::default(), "node_lifecycle_controller_pods", &context.metrics),
        state: Mutex::new(State { zones: Zones::new(options.zones), ..State::default() }),
        waiting: tokio::sync::Notify::new(),
    });
    let told = lifecycle.clone();
    world.nodes.listen(move |change| told.hear_of_node(change));
    let told = lifecycle.clone();
    world.pods.listen(move |change| told.hear_of_pod(change));

    let (stop, worker) = (context.tasks.token(), lifecycle.clone());
    context.tasks.spawn("node-lifecycle", async move {
        if worker.ready(stop.cancelled()).await {
            worker.queue.run(WORKERS, stop.clone(), |key| worker.align(key)).await;
        }
    });
    let (stop, worker) = (context.tasks.token(), lifecycle.clone());
    context.tasks.spawn("node-lifecycle-pods", async move {
        if worker.ready(stop.cancelled()).await {
            worker.arrivals.run(4, stop.clone(), |key| worker.arrived(key)).await;
        }
    });
    let (stop, worker) = (context.tasks.token(), lifecycle.clone());
    context.tasks.spawn("node-lifecycle-tainter", async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = worker.taint_in_turn() => {}
        }
    });
    let stop = context.tasks.token();
    context.tasks.spawn("node-lifecycle-monitor", async move {
        if !lifecycle.ready(stop.cancelled()).await {
            return;
        }
        loop {
            lifecycle.look_at_all().await;
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(lifecycle.options.period) => {}
            }
        }
    });
}

impl Lifecycle {
    async fn ready(&self, stop: impl Future<Output = ()>) -> bool {
        let all = async {
            self.world.nodes.synced().await;
            self.world.pods.synced().await;
            self.world.leases.synced().await;
        };
        tokio::select! {
            () = stop => false,
            () = all => true,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear_of_node(&self, change: &Change<Whole<Node>>) {
        match change {
            Change::Set { new, .. } => {
                self.state().facts.insert(new.meta().name.clone(), Arc::new(Facts::of(new)));
                self.queue.add(key_of(&**new));
            }
            Change::Gone { old } => {
                let mut state = self.state();
                state.facts.remove(&old.meta().name);
                // One that is made anew under the name begins anew.
                state.health.remove(&old.meta().name);
                state.untold.remove(&old.meta().name);
            }
        }
    }

    fn hear_of_pod(&self, change: &Change<Whole<Pod>>) {
        let Change::Set { old, new } = change else { return };
        let node = &new.slim.spec.node_name;
        let came = old.as_ref().is_none_or(|old| old.slim.spec.node_name != *node);
        if came && self.is_not_ready(node) {
            self.arrivals.add(key_of(&**new));
        }
    }

    /// Whether a node that was looked at before says, or has it said of it, that it is not ready.
    fn is_not_ready(&self, node: &str) -> bool {
        let state = self.state();
        let ready = state.facts.get(node).and_then(|facts| facts.ready());
        state.health.contains_key(node) && ready.is_some_and(|ready| ready.status != "True")
    }

    /// Brings the NoSchedule taints and the labels of a node in line with what is said of it.
    async fn align(&self, key: ObjectKey) -> Result<Next, Error> {
        let Some(node) = self.world.nodes.get(&key) else { return Ok(Next::Done) };
        let Some(facts) = self.state().facts.get(&*key.name).cloned() else { return Ok(Next::Done) };
        let now = self.clock.now();
        let wanted = facts.no_schedule();
        let edit = |value: &mut serde_json::Value| {
            taints::align(value, &wanted, now);
            taints::align_labels(value);
        };
        match self.nodes.change(&node, Part::Object, edit).await {
            Ok(_) | Err(Error::NotFound(_)) => Ok(Next::Done),
            Err(error) => Err(error),
        }
    }

    async fn arrived(&self, key: ObjectKey) -> Result<Next, Error> {
        let Some(pod) = self.world.pods.get(&key) else { return Ok(Next::Done) };
        if self.is_not_ready(&pod.slim.spec.node_name) {
            self.mark_not_ready(&pod).await?;
        }
        Ok(Next::Done)
    }
}
