//! The scheduler's figures, under upstream's names and with its buckets where they mean the same.
//!
//! What is counted is counted as it happens. How many there are of something is asked of the desk when somebody wants to know.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_engine::preemption::Preemption;
use plimsoll_runtime::Context;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use tokio::time::Instant;

use crate::desk::{Desk, Shared};
use crate::journal::Attempt;

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The pod is bound.
    Scheduled,
    /// It fits nowhere.
    Unschedulable,
    /// Something went wrong.
    Error,
}

impl Outcome {
    /// Upstream's word.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Unschedulable => "unschedulable",
            Self::Error => "error",
        }
    }
}

/// Where volumes went wrong, as upstream counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// A choice could not be assumed.
    Assume,
    /// It could not be written, or what was waited for did not come.
    Bind,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Attempted {
    profile: String,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Attempts {
    attempts: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Operation {
    operation: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Point {
    extension_point: &'static str,
    profile: String,
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Preemptor {
    preemptor: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Preempted {
    preemptor: &'static str,
    result: &'static str,
}

/// Upstream tells pods from groups of pods; here there are only pods.
const POD: &str = "pod";

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// What is counted.
#[derive(Clone)]
pub(crate) struct Figures {
    attempts: Family<Attempted, Counter>,
    durations: Histograms<Attempted>,
    algorithm: Histogram,
    waited: Histograms<Attempts>,
    tries: Histogram,
    after_flush: Counter,
    preemptions: Counter,
    victims: Histogram,
    violations: Family<Preemptor, Counter>,
    searches: Histograms<Preempted>,
    evictions: Histograms<Preempted>,
    stages: Family<Operation, Counter>,
    points: Histograms<Point>,
}

fn attempt_times() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 15))
}

fn waiting_times() -> Histogram {
    Histogram::new(exponential_buckets(0.01, 2.0, 20))
}

fn preemption_times() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 16))
}

fn point_times() -> Histogram {
    Histogram::new(exponential_buckets(0.0001, 2.0, 12))
}

impl Figures {
    /// Registers them all.
    pub(crate) fn start(context: &Context, desk: &Arc<Shared<Desk>>) -> Self {
        let metrics = &context.metrics;
        metrics.collect(Counts { desk: desk.clone() });
        let histograms = |times: fn() -> Histogram| Family::new_with_constructor(times);
        Self {
            attempts: metrics.register(
                "scheduler_schedule_attempts",
                "Attempts to place pods, by how they ended",
                Family::default(),
            ),
            durations: metrics.register(
                "scheduler_scheduling_attempt_duration_seconds",
                "How long an attempt took, from the queue to the bound pod or the reason why not",
                histograms(attempt_times),
            ),
            algorithm: metrics.register(
                "scheduler_scheduling_algorithm_duration_seconds",
                "How long it took to choose a node",
                attempt_times(),
            ),
            waited: metrics.register(
                "scheduler_pod_scheduling_sli_duration_seconds",
                "How long pods took to be placed since they could have been, by the number of attempts",
                Family::new_with_constructor(waiting_times as fn() -> Histogram),
            ),
            tries: metrics.register(
                "scheduler_pod_scheduling_attempts",
                "How many attempts it took to place a pod",
                Histogram::new(exponential_buckets(1.0, 2.0, 5)),
            ),
            after_flush: metrics.register(
                "scheduler_pod_scheduled_after_flush",
                "Pods that were placed when nothing but time had passed: a change that helped was not seen as such",
                Counter::default(),
            ),
            preemptions: metrics.register(
                "scheduler_preemption_attempts",
                "How often room was looked for by removing pods",
                Counter::default(),
            ),
            victims: metrics.register(
                "scheduler_preemption_victims",
                "How many pods were chosen to go for one",
                Histogram::new(exponential_buckets(1.0, 2.0, 7)),
            ),
            violations: metrics.register(
                "scheduler_preemption_pdb_violations",
                "Disruption budgets that were broken to make room",
                Family::default(),
            ),
            searches: metrics.register(
                "scheduler_preemption_evaluation_duration_seconds",
                "How long it took to find who could go",
                Family::new_with_constructor(preemption_times as fn() -> Histogram),
            ),
            evictions: metrics.register(
                "scheduler_preemption_execution_duration_seconds",
                "How long it took to ask those who go",
                Family::new_with_constructor(preemption_times as fn() -> Histogram),
            ),
            stages: metrics.register(
                "scheduler_volume_scheduling_stage_error",
                "How often volumes went wrong, by where",
                Family::default(),
            ),
            points: metrics.register(
                "scheduler_framework_extension_point_duration_seconds",
                "How long the steps of a binding took",
                Family::new_with_constructor(point_times as fn() -> Histogram),
            ),
        }
    }

    /// A node was chosen, or none was found.
    pub(crate) fn chosen(&self, attempt: Attempt, now: Instant) {
        self.algorithm.observe(now.duration_since(attempt.began).as_secs_f64());
    }

    /// An attempt ended.
    pub(crate) fn ended(&self, profile: &str, attempt: Attempt, outcome: Outcome, now: Instant) {
        let labels = Attempted { profile: profile.to_owned(), result: outcome.as_str() };
        self.attempts.get_or_create(&labels).inc();
        self.durations.get_or_create(&labels).observe(now.duration_since(attempt.began).as_secs_f64());
        if outcome == Outcome::Scheduled {
            // Upstream puts all beyond fifteen together.
            let attempts = if attempt.number >= 16 { "16+".to_owned() } else { attempt.number.to_string() };
            let waited = now.duration_since(attempt.came).as_secs_f64();
            self.waited.get_or_create(&Attempts { attempts }).observe(waited);
            self.tries.observe(f64::from(attempt.number));
            if attempt.flushed {
                self.after_flush.inc();
            }
        }
    }

    /// Room was looked for.
    pub(crate) fn looked_for_room(&self, found: &Preemption, time: Duration) {
        self.preemptions.inc();
        let result = match found {
            Preemption::Possible(_) => "Success",
            Preemption::Ineligible(_) | Preemption::Useless(_) => "Unschedulable",
            Preemption::Failed(_) => "Error",
        };
        self.searches.get_or_create(&Preempted { preemptor: POD, result }).observe(time.as_secs_f64());
        if let Some(best) = found.best() {
            self.victims.observe(f64::from(u32::try_from(best.victims.len()).unwrap_or(u32::MAX)));
            if best.violations > 0 {
                self.violations.get_or_create(&Preemptor { preemptor: POD }).inc_by(best.violations as u64);
            }
        }
    }

    /// Those who go were asked to.
    pub(crate) fn made_room(&self, well: bool, time: Duration) {
        let result = if well { "success" } else { "error" };
        self.evictions.get_or_create(&Preempted { preemptor: POD, result }).observe(time.as_secs_f64());
    }

    /// Volumes went wrong.
    pub(crate) fn failed(&self, stage: Stage) {
        let operation = match stage {
            Stage::Assume => "assume",
            Stage::Bind => "bind",
        };
        self.stages.get_or_create(&Operation { operation }).inc();
    }

    /// A step of a binding took so long: `PreBind` is all that is written and waited for of volumes, `Bind` the pod.
    pub(crate) fn took(&self, point: &'static str, profile: &str, well: bool, time: Duration) {
        let status = if well { "Success" } else { "Error" };
        let labels = Point { extension_point: point, profile: profile.to_owned(), status };
        self.points.get_or_create(&labels).observe(time.as_secs_f64());
    }
}

/// How many there are.
struct Counts {
    desk: Arc<Shared<Desk>>,
}

impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Counts")
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct Queue {
    queue: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct Incoming {
    event: &'static str,
    queue: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct Entities {
    queue: &'static str,
    r#type: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct IncomingEntities {
    event: &'static str,
    queue: &'static str,
    r#type: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct Type {
    r#type: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct Refused {
    plugin: &'static str,
    profile: String,
}

impl Collector for Counts {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let (queue, sizes, refusals) = {
            let desk = self.desk.lock();
            let nodes = desk.catalog.nodes();
            let placed: usize = nodes.iter().map(|row| row.pods().len()).sum();
            let sizes = [("nodes", nodes.len()), ("pods", placed), ("assumed_pods", desk.catalog.assumed().count())];
            (desk.queue.figures(), sizes, desk.journal.refusals())
        };
        let lines = [
            ("active", queue.active),
            ("backoff", queue.backoff),
            ("unschedulable", queue.unschedulable),
            ("gated", queue.gated),
        ];
        let pending = lines.map(|(queue, number)| (Queue { queue }, count(number)));
        gauges(&mut encoder, "scheduler_pending_pods", "Pods that wait, by where", pending.into())?;
        let queued = lines.map(|(queue, number)| (Entities { queue, r#type: POD }, count(number)));
        gauges(&mut encoder, "scheduler_queued_entities", "The same, by what they are", queued.into())?;
        let sizes = sizes.map(|(r#type, number)| (Type { r#type }, count(number)));
        gauges(&mut encoder, "scheduler_cache_size", "What the scheduler knows of", sizes.into())?;
        let refusals = refusals.into_iter().map(|((plugin, profile), number)| {
            (Refused { plugin: plugin.name(), profile: profile.to_string() }, number)
        });
        let help = "Pods that wait because a plugin refused them; one counts for each of its plugins";
        gauges(&mut encoder, "scheduler_unschedulable_pods", help, refusals.collect())?;
        let help = "Pods that came into a queue, by what brought them there";
        let mut metric = encoder.encode_descriptor("scheduler_queue_incoming_pods", help, None, MetricType::Counter)?;
        for ((event, line), number) in &queue.incoming {
            let labels = Incoming { event, queue: line.as_str() };
            ConstCounter::new(*number).encode(metric.encode_family(&labels)?)?;
        }
        let (name, help) = ("scheduler_queue_incoming_entities", "The same, by what they are");
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for ((event, line), number) in &queue.incoming {
            let labels = IncomingEntities { event, queue: line.as_str(), r#type: POD };
            ConstCounter::new(*number).encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

fn gauges<L: EncodeLabelSet>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: BTreeMap<L, i64>,
) -> Result<(), fmt::Error> {
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, value) in values {
        ConstGauge::new(value).encode(metric.encode_family(&labels)?)?;
    }
    Ok(())
}
