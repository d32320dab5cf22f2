//! Spans: where the time of a piece of work went, told to a collector of OpenTelemetry's by OTLP over HTTP. Off unless asked for.
//!
//! ```text
//!   work ──► Trace, kept beside it ── let go of ──► queue (bounded) ──► one task, a batch at a time ──► POST /v1/traces
//!     │ off, or not sampled: nothing                  │ full                  │ refused, or nobody there for a while
//!     ▼ is kept                                       ▼                       ▼
//!                                                 dropped, counted        dropped, counted
//! ```
//!
//! Work never waits for a collector. Off, a look at one pointer is all that it costs.
//!
//! Why this is ours and not OpenTelemetry's: theirs takes time from the machine and runs threads and queues of its own, so that
//! nothing would replay from a seed in virtual time, and brings ten crates for a handful of messages (`wire.rs`). Here time is
//! the context's clock and identities come from its randomness.

mod export;
mod read;
mod trace;
mod wire;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use http::Uri;
use plimsoll_clock::Clock;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use rand::rngs::SmallRng;
use rand::{RngCore, SeedableRng};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::context::Context;
use crate::lease;
use crate::outbound::{self, Transport};

use export::Exporter;
pub use read::{Told, read};
use trace::Tree;
pub use trace::{Origin, Phase, Trace, Value};

/// How many traces may wait for the collector: some seconds of a scheduler at its fastest, and a few megabytes at most.
const QUEUE: usize = 4096;
/// What an answer of a collector may have: it says how many spans it did not take, and why.
const LONGEST_ANSWER: usize = 64 << 10;
/// Where a collector takes spans, below its address.
const PATH: &str = "/v1/traces";
/// A rate at which every trace is kept.
pub const ALL: u32 = 1_000_000;

/// Where spans go.
#[derive(Clone)]
pub struct SpansConfig {
    /// The whole address that they are posted to.
    pub endpoint: Uri,
    /// Who speaks: `service.name`.
    pub service: &'static str,
    /// How many traces of a million are kept, as Kubernetes' `samplingRatePerMillion` has it.
    pub per_million: u32,
    /// The way there.
    pub transport: Transport,
}

impl SpansConfig {
    /// To a collector on the network. Must be called inside a runtime.
    pub fn network(endpoint: Uri, service: &'static str, per_million: u32) -> Result<Self, String> {
        let tls = outbound::tls_by_machine(endpoint.scheme_str() == Some("https"))?;
        let transport = outbound::network(tls, None, LONGEST_ANSWER);
        Ok(Self { endpoint, service, per_million, transport })
    }
}

/// Reads the address of a collector, as `OTEL_EXPORTER_OTLP_ENDPOINT` means it: the path for spans is put below it.
pub fn endpoint(text: &str) -> Result<Uri, String> {
    let wrong = || format!("{text:?} is not the address of a collector, such as http://127.0.0.1:4318");
    let uri: Uri = text.parse().map_err(|_| wrong())?;
    let known = matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(|host| !host.is_empty());
    if !known || uri.query().is_some() {
        return Err(wrong());
    }
    // It would be sent to nobody, and be read in the log.
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err("the address of a collector has no name or password in it".to_owned());
    }
    let base = text.trim_end_matches('/');
    let whole = if base.ends_with(PATH) { base.to_owned() } else { format!("{base}{PATH}") };
    whole.parse().map_err(|_| wrong())
}

/// Keeps spans, where they are wanted. Clones are of the same.
#[derive(Clone, Default)]
pub struct Spans {
    on: Option<Arc<On>>,
}

impl fmt::Debug for Spans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_on() { "Spans(on)" } else { "Spans(off)" })
    }
}

/// What spans that are kept need.
struct On {
    clock: Clock,
    /// Its own generator, so that whether spans are kept changes no other random choice.
    ids: Mutex<SmallRng>,
    per_million: u32,
    queue: mpsc::Sender<Tree>,
    counts: Counts,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Why {
    reason: &'static str,
}

/// What became of spans.
#[derive(Clone)]
struct Counts {
    exported: Counter,
    dropped: Family<Why, Counter>,
}

/// Why spans were dropped.
mod dropped {
    /// More came than the collector took.
    pub(super) const QUEUE_FULL: &str = "queue_full";
    /// The collector said that it will not have them.
    pub(super) const REFUSED: &str = "refused";
    /// Nobody answered, however often it was tried.
    pub(super) const UNREACHABLE: &str = "unreachable";
    /// The process ended before they were taken.
    pub(super) const SHUTDOWN: &str = "shutdown";
}

impl Counts {
    fn register(context: &Context) -> Self {
        let dropped = "Spans that the collector did not get, by why";
        Self {
            exported: context.metrics.register(
                "plimsoll_spans_exported",
                "Spans that the collector took",
                Counter::default(),
            ),
            dropped: context.metrics.register("plimsoll_spans_dropped", dropped, Family::default()),
        }
    }

    fn dropped(&self, reason: &'static str, spans: usize) {
        if spans > 0 {
            self.dropped.get_or_create(&Why { reason }).inc_by(spans as u64);
        }
    }
}

impl Spans {
    /// Begins to tell a collector, as a task of the context that outlives those which keep spans.
    pub fn start(context: &Context, config: SpansConfig) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let counts = Counts::register(context);
        let generator = || context.entropy.with(SmallRng::from_rng);
        let (ids, of_phases) = (Mutex::new(generator()), generator());
        let instance = lease::identity(&context.entropy);
        let per_million = config.per_million;
        let exporter = Exporter::new(config, &instance, of_phases, counts.clone());
        context.tasks.spawn_servant("spans", exporter.run(waiting, context.tasks.closing()));
        Self { on: Some(Arc::new(On { clock: context.clock.clone(), ids, per_million, queue, counts })) }
    }

    /// Whether spans are kept at all.
    pub fn is_on(&self) -> bool {
        self.on.is_some()
    }

    /// The time, where it is worth knowing for a span.
    pub fn mark(&self) -> Option<Instant> {
        self.on.as_ref().map(|_| Instant::now())
    }

    /// Begins to keep the spans of a piece of work; none where they are off, or this one is not among those that are sampled.
    pub fn trace(&self, name: &'static str, began: Instant) -> Option<Box<Trace>> {
        let on = self.on.as_ref()?;
        let mut id = [0; 24];
        on.ids.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(&mut id);
        let (trace, span) = id.split_at(16);
        let origin = Origin { trace: trace.try_into().unwrap_or_default(), span: span.try_into().unwrap_or_default() };
        origin.is_sampled(on.per_million).then(|| Box::new(Trace::new(self.clone(), origin, Phase::begun(name, began))))
    }

    /// Tells of a phase of work whose trace was let go of already.
    pub fn late(&self, of: Origin, phase: Phase) {
        if let Some(on) = &self.on {
            on.take(Tree {
                trace: of.trace,
                span: None,
                parent: Some(of.span),
                top: phase,
                at: (on.clock.now(), Instant::now()),
            });
        }
    }
}

impl On {
    /// Takes spans for the collector. Never waits.
    fn take(&self, tree: Tree) {
        if let Err(error) = self.queue.try_send(tree) {
            let (reason, tree) = match error {
                mpsc::error::TrySendError::Full(tree) => (dropped::QUEUE_FULL, tree),
                mpsc::error::TrySendError::Closed(tree) => (dropped::SHUTDOWN, tree),
            };
            self.counts.dropped(reason, tree.top.spans());
        }
    }
}
