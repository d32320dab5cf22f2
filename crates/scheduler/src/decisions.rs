//! The decision log: a line of JSON for every attempt to place a pod, with what it was decided from, what was decided and what came of
//! it. `plimsoll explain --decision-log` reads it.
//!
//! ```text
//!   attempt ended ──► queue (bounded) ──► one task, a batch at a time ──► the file, appended
//!        │ full
//!        ▼
//!   dropped, counted: placing pods never waits for a disk
//! ```

use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_engine::model::Pod;
use plimsoll_engine::volumes::{Outcome as ClaimOutcome, VolumePlan};
use plimsoll_engine::{Choice, Diagnosis};
use plimsoll_runtime::Context;
use prometheus_client::metrics::counter::Counter;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::desk::Desk;
use crate::figures::Outcome;
use crate::journal::Attempt;

/// How many lines may wait for the disk: a few seconds of a scheduler at its fastest.
const QUEUE: usize = 8192;
/// How many are written at once.
const BATCH: usize = 512;

/// Takes lines for the log; without one it takes nothing.
#[derive(Clone)]
pub(crate) struct Decisions {
    queue: Option<mpsc::Sender<Value>>,
    dropped: Counter,
}

impl Decisions {
    /// Begins to write to a file, where there is one.
    pub(crate) fn start(context: &Context, file: Option<Arc<File>>) -> Self {
        let help = "Lines of the decision log that were not written: the disk was too slow, or refused";
        let dropped: Counter = context.metrics.register("plimsoll_decisions_dropped", help, Counter::default());
        let queue = file.map(|file| {
            let (queue, lines) = mpsc::channel(QUEUE);
            context.tasks.spawn_servant("decisions", write(file, lines, context.tasks.closing(), dropped.clone()));
            queue
        });
        Self { queue, dropped }
    }

    /// Whether anything is written: what a line says is not gathered for nothing.
    pub(crate) fn is_on(&self) -> bool {
        self.queue.is_some()
    }

    /// Takes a line. Never waits.
    pub(crate) fn take(&self, line: Value) {
        if let Some(queue) = &self.queue
            && queue.try_send(line).is_err()
        {
            self.dropped.inc();
        }
    }
}

/// Writes until nobody can say anything any more, or, when closing, until what was said is written.
async fn write(
    file: Arc<File>,
    mut lines: mpsc::Receiver<Value>,
    closing: tokio_util::sync::CancellationToken,
    dropped: Counter,
) {
    let mut batch = Vec::new();
    loop {
        let taken = tokio::select! {
            biased;
            taken = lines.recv_many(&mut batch, BATCH) => taken,
            () = closing.cancelled() => {
                while batch.len() < QUEUE && let Ok(line) = lines.try_recv() {
                    batch.push(line);
                }
                batch.len()
            }
        };
        if taken == 0 {
            return;
        }
        let mut text = Vec::new();
        for line in batch.drain(..) {
            // A value that serde made is written by serde.
            let _ = serde_json::to_writer(&mut text, &line);
            text.push(b'\n');
        }
        let file = file.clone();
        let written = tokio::task::spawn_blocking(move || (&*file).write_all(&text)).await;
        if let Ok(Err(error)) = written {
            dropped.inc_by(taken as u64);
            tracing::warn!(%error, "the decision log cannot be written");
        }
    }
}

/// What was decided about a pod, before it is known what came of it.
pub(crate) fn line(desk: &Desk, pod: &Pod, attempt: Attempt, now: Instant) -> Value {
    let newest: serde_json::Map<String, Value> =
        desk.journal.newest().iter().map(|(kind, version)| (kind.name().to_owned(), json!(version))).collect();
    json!({
        "pod": {"namespace": &*pod.key.namespace, "name": &*pod.key.name, "uid": &*pod.uid},
        "profile": &*pod.scheduler,
        "attempt": attempt.number,
        "inputs": {"pod": pod.version, "claims": {}, "volumes": {}, "newest": newest},
        "nodes": desk.catalog.nodes().len(),
        "latency": {
            "waited": seconds(attempt.began.duration_since(attempt.came)),
            "decided": seconds(now.duration_since(attempt.began)),
        },
    })
}

/// Adds where the pod is to go.
pub(crate) fn add_choice(line: &mut Value, choice: &Choice) {
    line["feasible"] = json!(choice.feasible);
    line["choice"] = json!({"node": &*choice.node, "score": choice.score, "claims": claims(&choice.plan)});
    for claim in &choice.plan.claims {
        line["inputs"]["claims"][claim.claim.to_string()] = json!(claim.version);
        if let Some(volume) = claim.volume.as_ref().filter(|_| claim.volume_version != 0) {
            line["inputs"]["volumes"][volume.to_string()] = json!(claim.volume_version);
        }
    }
}

/// Adds why it goes nowhere.
pub(crate) fn add_diagnosis(line: &mut Value, diagnosis: &Diagnosis) {
    line["feasible"] = json!(0);
    let verdict = |((plugin, code), nodes): (
        &(plimsoll_engine::reason::Plugin, plimsoll_engine::reason::Code),
        &usize,
    )| { json!({"plugin": plugin.name(), "code": code.to_string(), "nodes": nodes}) };
    line["verdicts"] = diagnosis.counts.iter().map(verdict).collect();
}

/// Adds what came of it, and when.
pub(crate) fn end(
    line: &mut Value,
    at: &jiff::Timestamp,
    outcome: Outcome,
    message: &str,
    attempt: Attempt,
    now: Instant,
) {
    line["time"] = json!(format!("{at:.6}"));
    line["outcome"] = json!(outcome.as_str());
    line["message"] = if message.is_empty() { Value::Null } else { json!(message) };
    line["latency"]["total"] = seconds(now.duration_since(attempt.began));
}

fn claims(plan: &VolumePlan) -> Vec<Value> {
    let outcome = |outcome: &ClaimOutcome| match outcome {
        ClaimOutcome::Bound => "bound",
        ClaimOutcome::Static => "static",
        ClaimOutcome::Provision => "provision",
        ClaimOutcome::Unsatisfied => "unsatisfied",
    };
    let claim = |claim: &plimsoll_engine::volumes::ClaimPlan| {
        json!({"namespace": &*claim.claim.namespace, "name": &*claim.claim.name, "outcome": outcome(&claim.outcome),
            "volume": claim.volume.as_deref(), "class": &*claim.class})
    };
    plan.claims.iter().map(claim).collect()
}

fn seconds(span: Duration) -> Value {
    json!(span.as_secs_f64())
}
