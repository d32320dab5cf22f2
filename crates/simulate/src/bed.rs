//! One run: a cluster, a scenario, and what became of it.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use plimsoll_apiserver::auth::User;
use plimsoll_apiserver::core::Core;
use plimsoll_apiserver::start;
use plimsoll_apiserver::store::ListRequest;
use plimsoll_clock::{Clock, Entropy};
use plimsoll_runtime::Objects;
use tokio::runtime::RngSeed;

use crate::component::{self, Component};
use crate::faults::{Faults, Trace, mix};
use crate::invariants::{Invariant, State};
use crate::laboratory::{ADMIN, Laboratory, SERVER, lock};

/// When every run begins: 2026-01-01T00:00:00Z.
const EPOCH: i64 = 1_767_225_600;

/// How a run is made.
pub struct Options {
    /// What everything that is left to chance follows from.
    pub seed: u64,
    /// What goes wrong.
    pub faults: Faults,
    /// How long nothing must change for the cluster to be at rest: longer than the longest wait of its components.
    pub quiet: Duration,
    /// A cluster that is not at rest by then never will be.
    pub limit: Duration,
    /// Whether the API server also collects garbage, empties namespaces and lets events expire.
    pub housekeeping: bool,
    /// Whether the API server has the roles of a new cluster: needed where a component is no administrator, and half the
    /// work of a small run.
    pub roles: bool,
    /// What must hold after every change.
    pub invariants: Vec<Box<dyn Invariant>>,
}

impl Options {
    /// A run without faults or invariants.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            faults: Faults::none(),
            quiet: Duration::from_secs(130),
            limit: Duration::from_secs(24 * 3600),
            housekeeping: true,
            roles: false,
            invariants: Vec::new(),
        }
    }

    /// With these faults.
    pub fn faults(mut self, faults: Faults) -> Self {
        self.faults = faults;
        self
    }

    /// With these invariants.
    pub fn invariants(mut self, invariants: Vec<Box<dyn Invariant>>) -> Self {
        self.invariants = invariants;
        self
    }

    /// At rest when nothing changes for this long.
    pub fn quiet(mut self, quiet: Duration) -> Self {
        self.quiet = quiet;
        self
    }
}

/// What became of a run.
#[derive(Debug)]
pub struct Report {
    /// Its seed.
    pub seed: u64,
    /// Why it failed, if it did.
    pub outcome: Result<(), String>,
    /// What happened.
    pub trace: Trace,
    /// Every object at the end, as stored.
    pub dump: String,
    /// The objects that the invariants follow, at the end.
    pub state: State,
    /// How many writes each component sent.
    pub writes: BTreeMap<String, u64>,
    /// How long it took, in the run's own time.
    pub virtual_time: Duration,
}

/// Makes a run: the scenario, then rest, then the invariants' last word. Panics of the scenario are failures of the run.
pub fn run<F, W>(options: Options, scenario: F) -> Report
where
    F: FnOnce(Bed) -> W,
    W: Future<Output = Result<(), String>>,
{
    let seed = options.seed;
    let failed = |why: String| Report {
        seed,
        outcome: Err(why),
        trace: Trace::default(),
        dump: String::new(),
        state: State::default(),
        writes: BTreeMap::new(),
        virtual_time: Duration::ZERO,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .rng_seed(RngSeed::from_bytes(&seed.to_le_bytes()))
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return failed(format!("no runtime: {error}")),
    };
    runtime.block_on(async {
        match Bed::new(options).await {
            Ok(bed) => bed.carry_out(scenario).await,
            Err(why) => failed(why),
        }
    })
}

/// A cluster in one process.
#[derive(Clone)]
pub struct Bed {
    laboratory: Arc<Laboratory>,
    client: Client,
    quiet: Duration,
    limit: Duration,
}

impl Bed {
    async fn new(options: Options) -> Result<Self, String> {
        let epoch = Timestamp::from_second(EPOCH).map_err(|e| e.to_string())?;
        let clock = Clock::starting_at(epoch);
        let entropy = Entropy::seeded(mix(options.seed, &[4]));
        let core = start::in_process_with(clock.clone(), entropy, options.housekeeping, options.roles).await;
        let core = core.map_err(|e| e.to_string())?;
        let laboratory = Laboratory::new(options.seed, options.faults, core, clock, options.invariants)?;
        let laboratory = Arc::new(laboratory);
        let admin = User::in_groups(ADMIN, &["system:masters"]);
        let client = component::client(&laboratory, &component::outside(ADMIN), admin);
        Ok(Self { laboratory, client, quiet: options.quiet, limit: options.limit })
    }

    async fn carry_out<F, W>(self, scenario: F) -> Report
    where
        F: FnOnce(Bed) -> W,
        W: Future<Output = Result<(), String>>,
    {
        let laboratory = self.laboratory.clone();
        let whole = async {
            scenario(self.clone()).await?;
            self.settle().await?;
            laboratory.judge()
        };
        let whole = futures_util::FutureExt::catch_unwind(AssertUnwindSafe(whole));
        let outcome = tokio::select! {
            biased;
            why = laboratory.violated() => Err(why),
            outcome = whole => outcome.unwrap_or_else(|panic| Err(message(&*panic))),
        };
        // The last change may have been the one that must not be.
        let outcome = match laboratory.violation() {
            Some(why) => Err(why),
            None => outcome,
        };
        let components = std::mem::take(&mut *lock(&laboratory.components));
        let writes = components.iter().map(|(name, slot)| (name.clone(), slot.counters.writes())).collect();
        for slot in components.into_values() {
            if let Some(life) = slot.life {
                life.end();
            }
        }
        Report {
            seed: laboratory.seed,
            outcome,
            state: laboratory.state(),
            dump: dump(&laboratory.core),
            trace: laboratory.take_trace(),
            writes,
            virtual_time: laboratory.now(),
        }
    }

    /// The API as the administrator sees it, without faults.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The same, an object at a time.
    pub fn objects(&self) -> Objects {
        Objects::new(self.client.clone())
    }

    /// The run's calendar.
    pub fn clock(&self) -> &Clock {
        &self.laboratory.clock
    }

    /// The run's seed.
    pub fn seed(&self) -> u64 {
        self.laboratory.seed
    }

    /// Volumes, claims, pods and nodes as they are now.
    pub fn state(&self) -> State {
        self.laboratory.state()
    }

    /// Puts a component into the cluster and starts it.
    pub fn start(&self, component: Component) {
        component::start(&self.laboratory, component);
    }

    /// Kills a component; it starts again after a moment.
    pub fn crash(&self, name: &str) {
        if let Some(life) = self.life(name) {
            self.laboratory.note(name, "", "killed by the test", true);
            component::crash(&self.laboratory, &life);
        }
    }

    /// Kills a component for good, until [`Bed::revive`].
    pub fn kill(&self, name: &str) {
        if let Some(life) = self.life(name)
            && life.end()
        {
            self.laboratory.note(name, "", "ended by the test", true);
        }
    }

    /// Starts a component again that was killed for good.
    pub fn revive(&self, name: &str) {
        component::live(&self.laboratory, name);
    }

    /// Stops a component where it stands, for a while.
    pub fn freeze(&self, name: &str, wait: Duration) {
        if let Some(life) = self.life(name) {
            self.laboratory.note(name, "", &format!("frozen by the test for {wait:?}"), true);
            component::freeze(&self.laboratory, &life, wait);
        }
    }

    /// How many writes a component sent so far.
    pub fn writes(&self, name: &str) -> u64 {
        lock(&self.laboratory.components).get(name).map_or(0, |slot| slot.counters.writes())
    }

    /// Lets time pass.
    pub async fn wait(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Lets time pass until nothing changes any more: no write but heartbeats for the options' `quiet` time, after the last
    /// fault, with no request on its way and no component dead or frozen.
    pub async fn settle(&self) -> Result<(), String> {
        const STEP: Duration = Duration::from_secs(1);
        let laboratory = &self.laboratory;
        let begun = laboratory.now();
        loop {
            laboratory.observe(SERVER);
            let calm = laboratory.now().saturating_sub(laboratory.faults_end().max(begun));
            let quiet = laboratory.quiet_for().min(calm);
            let busy = laboratory.to_come.load(Ordering::Relaxed) > 0
                || lock(&laboratory.components).values().any(|slot| !slot.counters.is_idle());
            if quiet >= self.quiet && !busy {
                return Ok(());
            }
            if laboratory.now() - begun > self.limit {
                return Err(format!("still not at rest after {:?}; the last changes are in the trace", self.limit));
            }
            let left = self.quiet.saturating_sub(quiet);
            tokio::time::sleep(left.max(STEP)).await;
        }
    }

    fn life(&self, name: &str) -> Option<Arc<component::Life>> {
        lock(&self.laboratory.components).get(name)?.life.clone()
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("the scenario panicked").to_owned()
}

/// Every object of the store, in order.
fn dump(core: &Core) -> String {
    let mut out = String::new();
    let mut resources = core.store.resources();
    resources.sort();
    for resource in resources {
        let Ok(list) = core.store.list(&resource, &ListRequest::default()) else { continue };
        for object in list.items {
            out.push_str(&format!("{resource} {} {}\n", object.path(), String::from_utf8_lossy(&object.bytes).trim()));
        }
    }
    out
}
