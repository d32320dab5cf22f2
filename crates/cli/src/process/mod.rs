//! A long-running process: its client, its lease, its health, its orderly end.

pub mod args;
pub mod gates;
pub mod upstream_flags;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kube::Client;
use plimsoll_engine::gates::Gates;
use plimsoll_runtime::metrics::Metrics;
use plimsoll_runtime::spans::{Spans, SpansConfig};
use plimsoll_runtime::{
    Context, Ended, LeaseConfig, Pace, Recorder, health, lease, run_as_leader, throttle, transport,
};
use tokio::runtime::Builder;
use tokio::time::Instant;

use crate::Found;
use crate::failure::Failure;
use crate::load::live;
use crate::printer::Printer;
use crate::signals::Signals;

use args::{HealthListen, ProcessArgs};

/// What the last tasks of a leader get, after its work has ended.
const REST: Duration = Duration::from_secs(1);

/// How far apart the wake-ups of a single thread are in the long run, and how many may come closer together before that: what
/// one pod needs, and more.
///
/// An API server under load sends its answers and events one by one, and to wake for each costs more than the work that it
/// brings: the kernel's part, and a cache that others have filled meanwhile. So who is woken often lets some come together
/// first, as network cards do with interrupts. A process with little to do is woken at once.
const WAKING: Duration = Duration::from_millis(10);
const AT_ONCE: u32 = 16;

/// A process that is about to run.
pub struct Process<'a> {
    /// Its flags.
    pub args: &'a ProcessArgs,
    /// The lease's name.
    pub lease: &'a str,
    /// Where health and metrics are served.
    pub health_listen: HealthListen,
    /// How long begun work has at the end.
    pub grace: Duration,
    /// The deliberate differences that are on.
    pub gates: Gates,
    /// What it does, in a word for its first line: `controlling`.
    pub doing: &'static str,
    /// Pages beside health and metrics, by name: what they show does not change.
    pub pages: Vec<(&'static str, String)>,
    /// Where spans go; none are kept where nobody asked for them.
    pub spans: Option<SpansConfig>,
}

/// On how many threads a process does its work, beside the one that keeps its lease.
#[derive(Clone, Copy, Debug)]
pub enum Threads {
    /// On one: for many short steps that all need the same lock, handing them from thread to thread costs more than it gains.
    One {
        /// Whether what comes in under load may wait a moment for more; not where one step waits for another.
        paced: bool,
    },
    /// On as many as there are cores.
    AsManyAsCores,
}

/// Runs a future of this process on its own threads.
pub fn block_on<T>(
    args: &ProcessArgs,
    threads: Threads,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    crate::logging::start(args.verbosity, args.logging_format);
    let mut runtime = Builder::new_multi_thread();
    if let Threads::One { paced } = threads {
        runtime.worker_threads(1);
        if paced {
            pace(&mut runtime);
        }
    }
    let runtime = runtime
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("the process cannot start its threads: {error}")))?;
    runtime.block_on(work)
}

/// Has the runtime's only worker rest before it waits for more, where it is woken often.
fn pace(runtime: &mut Builder) {
    let pace = Mutex::new(Pace::new(WAKING, AT_ONCE, Instant::now()));
    let rest = move || pace.lock().unwrap_or_else(PoisonError::into_inner).wait(Instant::now());
    runtime.on_thread_park(move || std::thread::sleep(rest()));
}

impl Process<'_> {
    /// Runs `start`'s tasks until a signal, or the loss of the lease, ends them.
    pub async fn run(&self, printer: &mut Printer, start: impl FnOnce(Context)) -> Result<Found, Failure> {
        let args = self.args;
        args.notes.iter().for_each(|note| printer.note(note));
        let signals = Signals::new()?;
        let config = live::process_config(args.kubeconfig.as_deref(), args.master.as_deref()).await?;
        let server = config.cluster_url.to_string();
        let metrics = Metrics::default();
        let client = transport::connect(config, &metrics).map_err(|error| live::unreachable(&server, &error))?;
        let mut context = Context { metrics, ..Context::system(client) };
        context.metrics.describe_process(&context.clock);
        context.gates = self.gates;
        // A renewal that waited behind work for a throttle would cost the lease.
        let for_the_lease = context.client.clone();
        if let Some(per_second) = args.kube_api_qps.filter(|qps| *qps > 0.0) {
            context.client = throttle::throttled(&context.client, per_second, args.kube_api_burst.unwrap_or(0));
        }
        if let Some(spans) = &self.spans {
            context.spans = Spans::start(&context, spans.clone());
        }
        for (name, text) in self.pages.clone() {
            context.health.add_page(name, move || text.clone());
        }
        if let HealthListen(Some(address)) = self.health_listen {
            let bound = health::serve(&context, &context.health, address).await;
            let bound = bound.map_err(|error| {
                Failure::new(format!("health cannot be served on {address}: {error}"))
                    .help("take another address with --health-listen ADDRESS:PORT, or none with --health-listen off")
            })?;
            printer.note(&format!("health and metrics on http://{bound}"));
        }
        printer.note(&format!("{} {server}", self.doing));
        let ended = self.work(&context, for_the_lease, signals, start).await?;
        // The leader's own tasks have had their time by now; what is left are servants such as the health server.
        let grace = if args.leader_elect { REST } else { self.grace };
        context.tasks.shut_down(grace).await;
        match ended {
            Ended::Released => Ok(Found::Placeable),
            Ended::Lost => Err(Failure::new(format!(
                "the lease {}/{} was lost; another replica has it, or the API server did not answer in time",
                args.leader_elect_resource_namespace, self.lease
            ))),
            Ended::Failed => Err(Failure::new("a part of the process failed; see the log above".to_owned())),
        }
    }

    /// Works until a signal comes, or until it must not any more.
    async fn work(
        &self,
        context: &Context,
        for_the_lease: Client,
        signals: Signals,
        start: impl FnOnce(Context),
    ) -> Result<Ended, Failure> {
        let args = self.args;
        if !args.leader_elect {
            start(context.clone());
            return Ok(tokio::select! {
                () = signals.first() => Ended::Released,
                () = context.tasks.failed() => Ended::Failed,
            });
        }
        let namespace = &args.leader_elect_resource_namespace;
        let lease = LeaseConfig {
            lease_duration: args.leader_elect_lease_duration,
            renew_deadline: args.leader_elect_renew_deadline,
            retry_period: args.leader_elect_retry_period,
            // The lease is given back after that, and all of it within ten seconds of the signal.
            grace: self.grace,
            client: Some(for_the_lease),
            recorder: Some(Recorder::new(context, self.lease)),
            ..LeaseConfig::new(namespace, self.lease, &lease::identity(&context.entropy))
        };
        lease.check().map_err(|error| Failure::new(format!("--leader-elect: {error}")))?;
        let mut lead = std::pin::pin!(run_as_leader(context, lease, async |leader| start(leader)));
        Ok(tokio::select! {
            ended = &mut lead => ended,
            () = signals.first() => {
                context.tasks.stop();
                lead.await
            }
        })
    }
}
