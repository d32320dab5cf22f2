//! Components of the cluster under test, and their lives.
//!
//! ```text
//!              start                 crash (a fault, a kill, the test)
//!   (named) ─────────► alive ──────────────────────────────────────────► over
//!                      │   ▲                                               │ after a while: a new life,
//!               freeze │   │ the time is up                                │ with nothing remembered
//!                      ▼   │                                               ▼
//!                      frozen                                            alive
//! ```
//! A life ends as a process does under SIGKILL: none of its tasks is polled again, requests that were sent are done or not,
//! and nobody hears of it. A frozen one is as under SIGSTOP: none of its tasks is polled, while time passes and the API
//! server answers.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use kube::Client;
use plimsoll_apiserver::auth::User;
use plimsoll_apiserver::start;
use plimsoll_clock::Entropy;
use plimsoll_runtime::{Context, Tasks};

use crate::faults::layer::Layer;
use crate::faults::{mix, text};
use crate::laboratory::{Laboratory, lock};

type Start = Arc<dyn Fn(Context) -> BoxFuture<'static, ()> + Send + Sync>;

/// A component: what it is called, who it is, and what it does.
#[derive(Clone)]
pub struct Component {
    name: String,
    user: User,
    start: Start,
    faulty: bool,
}

impl Component {
    /// A component that may do everything, and to which faults happen.
    pub fn new<F, W>(name: &str, start: F) -> Self
    where
        F: Fn(Context) -> W + Send + Sync + 'static,
        W: Future<Output = ()> + Send + 'static,
    {
        let start: Start = Arc::new(move |context| start(context).boxed());
        Self { name: name.to_owned(), user: User::in_groups(name, &["system:masters"]), start, faulty: true }
    }

    /// Under another identity.
    pub fn acting_as(mut self, user: User) -> Self {
        self.user = user;
        self
    }

    /// Without faults by rate.
    pub fn spared(mut self) -> Self {
        self.faulty = false;
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// What a component did so far, over all its lives.
#[derive(Default)]
pub(crate) struct Counters {
    calls: AtomicU64,
    writes: AtomicU64,
    watches: AtomicU64,
    in_flight: AtomicU64,
}

impl Counters {
    pub(crate) fn next_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn next_write(&self) -> u64 {
        self.writes.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn next_watch(&self) -> u64 {
        self.watches.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.load(Ordering::Relaxed) == 0
    }

    pub(crate) fn begin(self: &Arc<Self>) -> Flight {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Flight(self.clone())
    }
}

/// A request on its way.
pub(crate) struct Flight(Arc<Counters>);

impl Drop for Flight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One life of a component.
pub(crate) struct Life {
    pub(crate) name: Arc<str>,
    pub(crate) faulty: bool,
    pub(crate) counters: Arc<Counters>,
    tasks: Tasks,
    over: AtomicBool,
    /// Freezes that have not ended.
    freezes: AtomicU64,
}

impl Life {
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Ends it; false where it was over already.
    pub(crate) fn end(&self) -> bool {
        if self.over.swap(true, Ordering::Relaxed) {
            return false;
        }
        self.tasks.abort();
        true
    }
}

/// A component with its present life.
pub(crate) struct Slot {
    component: Component,
    pub(crate) counters: Arc<Counters>,
    generation: u64,
    pub(crate) life: Option<Arc<Life>>,
}

/// A client of the laboratory's API. `life` says whose.
pub(crate) fn client(laboratory: &Arc<Laboratory>, life: &Arc<Life>, user: User) -> Client {
    let service = start::service(&laboratory.core, user);
    Client::new(Layer { laboratory: laboratory.clone(), life: life.clone(), service }, "default")
}

fn life(name: &str, faulty: bool, counters: Arc<Counters>, tasks: Tasks) -> Arc<Life> {
    let (over, freezes) = (AtomicBool::new(false), AtomicU64::new(0));
    Arc::new(Life { name: name.into(), faulty, counters, tasks, over, freezes })
}

/// A life that is nobody's but the test's: no faults, and no end.
pub(crate) fn outside(name: &str) -> Arc<Life> {
    life(name, false, Arc::default(), Tasks::new())
}

/// Puts a component into the cluster and lets it live.
pub(crate) fn start(laboratory: &Arc<Laboratory>, component: Component) {
    let name = component.name.clone();
    let slot = Slot { component, counters: Arc::default(), generation: 0, life: None };
    lock(&laboratory.components).insert(name.clone(), slot);
    live(laboratory, &name);
}

/// Begins a new life of a component that has none.
pub(crate) fn live(laboratory: &Arc<Laboratory>, name: &str) {
    let mut components = lock(&laboratory.components);
    let Some(slot) = components.get_mut(name) else { return };
    if slot.life.as_ref().is_some_and(|life| !life.is_over()) {
        return;
    }
    slot.generation += 1;
    let tasks = Tasks::new();
    let life = life(name, slot.component.faulty, slot.counters.clone(), tasks.clone());
    let entropy = Entropy::seeded(mix(laboratory.seed, &[5, text(name), slot.generation]));
    let client = client(laboratory, &life, slot.component.user.clone());
    let mut context = Context::new(client, laboratory.clock.clone(), Arc::new(entropy));
    context.tasks = tasks.clone();
    slot.life = Some(life);
    let work = (slot.component.start)(context);
    drop(components);
    laboratory.note(name, "", "begins", false);
    tasks.spawn("main", work);
    let (laboratory, name) = (laboratory.clone(), name.to_owned());
    tokio::spawn(async move {
        tasks.failed().await;
        laboratory.violate(format!("a task of {name} panicked"));
    });
}

/// Kills this life; the component lives again after a while.
pub(crate) fn crash(laboratory: &Arc<Laboratory>, life: &Arc<Life>) {
    if !life.end() {
        return;
    }
    let draw = mix(laboratory.seed, &[6, text(&life.name), laboratory.now().as_millis() as u64]);
    let wait = Duration::from_millis(1 + draw % 3000);
    later(laboratory, wait, {
        let name = life.name.clone();
        move |laboratory| live(laboratory, &name)
    });
}

/// Stops this life where it stands, for a while.
pub(crate) fn freeze(laboratory: &Arc<Laboratory>, life: &Arc<Life>, wait: Duration) {
    life.freezes.fetch_add(1, Ordering::Relaxed);
    life.tasks.gate().close();
    let life = life.clone();
    later(laboratory, wait, move |laboratory| {
        if life.freezes.fetch_sub(1, Ordering::Relaxed) == 1 {
            if !life.is_over() {
                laboratory.note(&life.name, "", "goes on", false);
            }
            life.tasks.gate().open();
        }
    });
}

fn later(laboratory: &Arc<Laboratory>, wait: Duration, then: impl FnOnce(&Arc<Laboratory>) + Send + 'static) {
    laboratory.to_come.fetch_add(1, Ordering::Relaxed);
    let laboratory = laboratory.clone();
    tokio::spawn(async move {
        tokio::time::sleep(wait).await;
        then(&laboratory);
        laboratory.to_come.fetch_sub(1, Ordering::Relaxed);
    });
}
