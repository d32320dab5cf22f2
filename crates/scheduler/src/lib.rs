//! The scheduler: a pod leaves the queue, the engine chooses its node and what happens to its claims there, the choice is
//! assumed, and a task of its own writes it down.
//!
//! ```text
//!            world.rs                    queue/              cycle.rs                     binding.rs
//!  API ── watch ──► Desk { catalog, queue } ──► next pod ──► choose ──► assume ──────────► volumes, claims,
//!   ▲                        ▲                                │ nothing fits    │ failed   wait, pod
//!   │                        └── comes back, with a reason ◄──┴─────────────────┘             │
//!   └──── conditions, events (report.rs) ◄────────────────────────────────────────────────────┘
//! ```
//!
//! Everything that decides stands under one lock, the desk (`desk.rs`): an event is either before a decision or after it. What
//! talks to the API server never holds it.

mod binding;
pub mod config;
mod cycle;
mod decisions;
mod desk;
pub mod extenders;
mod figures;
mod health;
mod journal;
mod nominations;
mod observe;
mod preemption;
pub mod queue;
mod report;
mod running;
mod traces;
mod world;

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_engine::Catalog;
use plimsoll_engine::labels::Name;
use plimsoll_engine::model::Pod;
use plimsoll_runtime::{Context, reflector};
use tokio::sync::Notify;

use config::Profile;
use decisions::Decisions;
use desk::{Desk, Shared};
use extenders::{Extenders, WholeNodes};
use figures::Figures;
use report::Reporter;
use world::World;

/// How the scheduler works.
#[derive(Clone, Debug)]
pub struct Options {
    /// How the pods of each `schedulerName` that is its own are placed; empty for the default profile.
    pub profiles: Vec<Profile>,
    /// How long a pod waits after its first failure, and at most.
    pub backoff: queue::Backoff,
    /// How long a pod that fits nowhere stays so before it is tried whatever happened.
    pub longest_stay: Duration,
    /// Whether a pod may go before its backoff is over when nobody else is there.
    pub early: bool,
    /// Processes elsewhere that have a say.
    pub extenders: Extenders,
    /// Where a line is written of every decision.
    pub decisions: Option<Arc<File>>,
    /// How long until everything is listed again, in case a watch skipped something.
    pub relist: Duration,
    /// The machine's name, by which events tell the replicas apart.
    pub host: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            profiles: Vec::new(),
            backoff: queue::Backoff::default(),
            longest_stay: queue::LONGEST_STAY,
            early: true,
            extenders: Extenders::default(),
            decisions: None,
            relist: reflector::RELIST,
            host: "localhost".to_owned(),
        }
    }
}

/// A scheduler at work.
#[derive(Clone)]
pub struct Scheduler {
    inner: Arc<Inner>,
}

struct Inner {
    context: Context,
    options: Options,
    desk: Arc<Shared<Desk>>,
    world: World,
    /// For extenders.
    nodes: WholeNodes,
    figures: Figures,
    decisions: Decisions,
    reporter: Reporter,
    /// Told when there may be a pod to schedule.
    work: Arc<Notify>,
}

/// Starts the scheduler as tasks of the context.
pub fn start(context: &Context, mut options: Options) -> Scheduler {
    let mut context = context.clone();
    context.gates = config::feasible(context.gates);
    if options.profiles.is_empty() {
        options.profiles.push(Profile::named("default-scheduler", context.gates));
    }
    let names: Vec<Name> = options.profiles.iter().map(|profile| profile.name.clone()).collect();
    let work = Arc::new(Notify::new());
    let queue = queue::PodQueue::new(options.backoff).longest_stay(options.longest_stay).takes_early(options.early);
    let desk = Arc::new(Shared::new(Desk::new(names.clone(), queue, work.clone())));
    let world = World::new();
    world.listen(&desk);
    let reporter = Reporter::start(&context, &names, &options.host, &world);
    world.start(&context, options.relist);
    health::tell(&context, &world);
    let nodes = WholeNodes::start(&context, &options.extenders, options.relist);
    let figures = Figures::start(&context, &desk);
    let decisions = Decisions::start(&context, options.decisions.clone());
    let context_of_inner = context.clone();
    let inner =
        Arc::new(Inner { context: context_of_inner, options, desk, world, nodes, figures, decisions, reporter, work });
    let running = inner.clone();
    let stop = context.tasks.token();
    context.tasks.spawn("scheduler", async move {
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = running.run() => {}
        }
    });
    Scheduler { inner }
}

impl Inner {
    /// The profile that a pod asks for. A pod that asks for none of ours never comes this far.
    fn profile(&self, pod: &Pod) -> &Profile {
        let profiles = &self.options.profiles;
        profiles.iter().find(|profile| profile.name == pod.scheduler).unwrap_or(&profiles[0])
    }
}

impl Scheduler {
    /// Whether everything was listed once: before that nothing is decided.
    pub fn is_synced(&self) -> bool {
        self.inner.world.is_synced()
    }

    /// Looks at what the scheduler knows of the cluster. Nothing is scheduled meanwhile.
    pub fn inspect<T>(&self, look: impl FnOnce(&Catalog) -> T) -> T {
        look(&self.inner.desk.lock().catalog)
    }

    /// Whether no pod is being placed and none is due.
    pub fn is_idle(&self) -> bool {
        self.inner.desk.lock().queue.is_idle(tokio::time::Instant::now())
    }
}
