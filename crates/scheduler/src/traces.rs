//! The spans of an attempt to place a pod: one trace for each, kept with the pod while it is decided about (in the journal) and with its
//! placement after that.
//!
//! ```text
//!   schedule ─┬─ queue            since it came, or since its last attempt
//!             ├─ decide ─┬─ choose             which node; with extenders: rank, extender filter, extender prioritize
//!             │          ├─ diagnose           why none
//!             │          └─ find room          who could go; extender preempt
//!             ├─ reserve          the choice is assumed
//!             ├─ write volume, write claim     one for each
//!             ├─ wait for volumes
//!             ├─ bind             the pod's own binding
//!             ├─ evict            victims are asked to go
//!             └─ report           its condition is written; told later than the rest
//! ```

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::model::Pod;
use plimsoll_engine::placement::Write;
use plimsoll_runtime::spans::{Origin, Phase, Spans, Trace};
use serde_json::Value;
use tokio::time::Instant;

use crate::figures::Outcome;
use crate::journal::Attempt;

/// OpenTelemetry's own name for the node.
pub(crate) const NODE: &str = "k8s.node.name";
const OUTCOME: &str = "plimsoll.outcome";

/// Begins to keep the spans of an attempt, where they are wanted.
pub(crate) fn begin(spans: &Spans, pod: &Pod, attempt: Attempt) -> Option<Box<Trace>> {
    let mut trace = spans.trace("schedule", attempt.since)?;
    trace.set("k8s.namespace.name", &pod.key.namespace);
    trace.set("k8s.pod.name", &pod.key.name);
    trace.set("k8s.pod.uid", &pod.uid);
    trace.set("plimsoll.profile", &pod.scheduler);
    trace.set("plimsoll.attempt", attempt.number);
    // Until it is known: the pod may go, or the process end, before anything comes of it.
    trace.set(OUTCOME, "abandoned");
    trace.add(Phase::begun("queue", attempt.since).until(attempt.began));
    Some(trace)
}

/// What is kept of an attempt from the decision to its end: a line for the decision log, and spans; nothing where neither is
/// wanted.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) line: Option<Value>,
    trace: Option<Box<Trace>>,
    /// Since when the placement waits for volumes.
    waits_since: Option<Instant>,
}

impl Record {
    /// It was decided just now; what was done for that is a part of it.
    pub(crate) fn decided(line: Option<Value>, mut trace: Option<Box<Trace>>, attempt: Attempt, now: Instant) -> Self {
        if let Some(trace) = &mut trace {
            trace.add_around(1, Phase::begun("decide", attempt.began).until(now));
        }
        Self { line, trace, waits_since: None }
    }

    /// The pod goes to this node.
    pub(crate) fn goes_to(&mut self, node: &Name) {
        if let Some(trace) = &mut self.trace {
            trace.set(NODE, node);
        }
    }

    /// The time, where it is worth knowing for a span.
    pub(crate) fn mark(&self) -> Option<Instant> {
        self.trace.as_ref().map(|_| Instant::now())
    }

    /// The choice was assumed, or could not be.
    pub(crate) fn reserved(&mut self, began: Option<Instant>, error: Option<&str>) {
        if let (Some(trace), Some(began)) = (&mut self.trace, began) {
            trace.add(Phase::since("reserve", began).failed(error));
        }
    }

    /// Something is written next. To be handed back with what came of it.
    pub(crate) fn writes(&mut self, write: &Write) -> Option<Phase> {
        self.waited();
        let now = self.mark()?;
        Some(match write {
            Write::BindVolume { volume, claim, .. } => Phase::begun("write volume", now)
                .with("k8s.persistentvolume.name", volume)
                .with("k8s.persistentvolumeclaim.name", &claim.name),
            Write::SelectNode { claim, node, .. } => {
                Phase::begun("write claim", now).with("k8s.persistentvolumeclaim.name", &claim.name).with(NODE, node)
            }
            Write::BindPod { node, .. } => Phase::begun("bind", now).with(NODE, node),
        })
    }

    /// It was written, or not.
    pub(crate) fn wrote(&mut self, phase: Option<Phase>, error: Option<&str>) {
        if let (Some(trace), Some(phase)) = (&mut self.trace, phase) {
            trace.add(phase.call().until(Instant::now()).failed(error));
        }
    }

    /// The placement waits for its volumes, or goes on doing so.
    pub(crate) fn waits(&mut self) {
        self.waits_since = self.waits_since.or(self.mark());
    }

    fn waited(&mut self) {
        if let (Some(began), Some(trace)) = (self.waits_since.take(), &mut self.trace) {
            trace.add(Phase::since("wait for volumes", began));
        }
    }

    /// The attempt ended so. What is returned is told when it is let go of.
    pub(crate) fn ended(mut self, outcome: Outcome, message: &str) -> Option<Box<Trace>> {
        self.waited();
        let mut trace = self.trace.take()?;
        trace.set(OUTCOME, outcome.as_str());
        match outcome {
            Outcome::Scheduled => {}
            // That a pod fits nowhere is no failure of the attempt.
            Outcome::Unschedulable => trace.set("plimsoll.message", message),
            Outcome::Error => trace.fail(message),
        }
        Some(trace)
    }
}

impl Drop for Record {
    /// A placement whose pod went, or whose process ends, waits no more.
    fn drop(&mut self) {
        self.waited();
    }
}

/// The reports that belong to an attempt: they are written after it has ended.
#[derive(Debug, Default)]
pub(crate) struct Reports(Mutex<BTreeMap<ObjectKey, (Origin, Instant)>>);

impl Reports {
    /// Something is reported of a pod next, which belongs to this attempt.
    pub(crate) fn expect(&self, pod: &Pod, trace: &Trace) {
        self.lock().insert(pod.key.clone(), (trace.origin(), Instant::now()));
    }

    /// What was to be reported of a pod is.
    pub(crate) fn done(&self, pod: &ObjectKey, spans: &Spans) {
        if spans.is_on()
            && let Some((of, began)) = self.lock().remove(pod)
        {
            spans.late(of, Phase::since("report", began).call());
        }
    }

    /// Nothing is reported of a pod any more.
    pub(crate) fn forget(&self, pod: &ObjectKey) {
        self.lock().remove(pod);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, (Origin, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The questions to extenders, while nothing is locked.
#[derive(Debug, Default)]
pub(crate) struct Calls(Option<Mutex<Vec<Phase>>>);

impl Calls {
    /// Kept where spans are.
    pub(crate) fn new(spans: &Spans) -> Self {
        Self(spans.is_on().then(Mutex::default))
    }

    /// The time, where it is worth knowing.
    pub(crate) fn mark(&self) -> Option<Instant> {
        self.0.as_ref().map(|_| Instant::now())
    }

    /// An extender was asked.
    pub(crate) fn add(&self, name: &'static str, began: Option<Instant>, url: &str, error: Option<&String>) {
        if let (Some(calls), Some(began)) = (&self.0, began) {
            let phase = Phase::since(name, began).call().with("url.full", url).failed(error.map(String::as_str));
            calls.lock().unwrap_or_else(PoisonError::into_inner).push(phase);
        }
    }

    /// Those so far.
    pub(crate) fn take(&self) -> Vec<Phase> {
        let take =
            |calls: &Mutex<Vec<Phase>>| std::mem::take(&mut *calls.lock().unwrap_or_else(PoisonError::into_inner));
        self.0.as_ref().map(take).unwrap_or_default()
    }
}
