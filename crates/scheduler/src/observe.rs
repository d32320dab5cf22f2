//! What is told of an attempt: to figures, to the decision log and to spans, from wherever it ends.

use std::sync::Arc;

use plimsoll_engine::Diagnosis;
use plimsoll_engine::model::Pod;
use plimsoll_runtime::spans::{Phase, Trace};
use serde_json::Value;
use tokio::time::Instant;

use crate::Inner;
use crate::binding::Assumed;
use crate::decisions;
use crate::desk::Desk;
use crate::figures::{Outcome, Stage};
use crate::journal::Attempt;
use crate::traces::{self, Record};

impl Inner {
    /// An attempt begins.
    pub(crate) fn taken(&self, desk: &mut Desk, pod: &Pod) {
        let now = Instant::now();
        desk.journal.taken(pod, desk.queue.is_flushed(&pod.key), now);
        if self.context.spans.is_on()
            && let Some(trace) = traces::begin(&self.context.spans, pod, desk.journal.attempt(pod, now))
        {
            desk.journal.keep(pod, trace);
        }
    }

    /// A part of a decision took from `began` until now. That is known where spans are kept (`mark` of `Spans`).
    pub(crate) fn passed(&self, desk: &mut Desk, pod: &Pod, part: &'static str, began: Option<Instant>) {
        if let Some(began) = began {
            desk.journal.add(pod, [Phase::since(part, began)]);
        }
    }

    /// It was decided about a pod. Returns the attempt and what is kept of it; `add` adds to the line for the decision log.
    pub(crate) fn decided(&self, desk: &mut Desk, pod: &Pod, add: impl FnOnce(&mut Value)) -> (Attempt, Record) {
        let now = Instant::now();
        let attempt = desk.journal.attempt(pod, now);
        self.figures.chosen(attempt, now);
        let line = self.decisions.is_on().then(|| {
            let mut line = decisions::line(desk, pod, attempt, now);
            add(&mut line);
            line
        });
        let trace = self.context.spans.is_on().then(|| desk.journal.take_trace(pod)).flatten();
        (attempt, Record::decided(line, trace, attempt, now))
    }

    /// A pod fits nowhere. Its spans are told when what is returned is let go of.
    pub(crate) fn unschedulable(
        &self,
        desk: &mut Desk,
        pod: &Arc<Pod>,
        diagnosis: &Diagnosis,
        message: &str,
    ) -> Option<Box<Trace>> {
        let (attempt, record) = self.decided(desk, pod, |line| decisions::add_diagnosis(line, diagnosis));
        desk.journal.refused(pod, diagnosis.refused_by.iter().map(|(plugin, _)| *plugin));
        desk.journal.rests(pod, Instant::now());
        self.ended(pod, attempt, record, Outcome::Unschedulable, message)
    }

    /// An attempt ended. Its spans are told when what is returned is let go of.
    pub(crate) fn ended(
        &self,
        pod: &Pod,
        attempt: Attempt,
        mut record: Record,
        outcome: Outcome,
        message: &str,
    ) -> Option<Box<Trace>> {
        let now = Instant::now();
        self.figures.ended(&pod.scheduler, attempt, outcome, now);
        tracing::debug!(pod = %pod.key, attempt = attempt.number, outcome = outcome.as_str(), message, "an attempt ended");
        if let Some(mut line) = record.line.take() {
            decisions::end(&mut line, &self.context.clock.now(), outcome, message, attempt, now);
            self.decisions.take(line);
        }
        let trace = record.ended(outcome, message)?;
        if outcome != Outcome::Scheduled {
            self.reporter.reports().expect(pod, &trace);
        }
        Some(trace)
    }

    /// A placement was carried out, well or not. `bound_volumes` is when the pod itself came to be bound, if it did.
    pub(crate) fn carried_out(&self, assumed: &Assumed, began: Instant, bound_volumes: Option<Instant>, well: bool) {
        let (now, profile) = (Instant::now(), &assumed.pod.scheduler);
        let until = bound_volumes.unwrap_or(now);
        if !assumed.plan.claims.is_empty() {
            self.figures.took("PreBind", profile, bound_volumes.is_some(), until.duration_since(began));
            if bound_volumes.is_none() && !well {
                self.figures.failed(Stage::Bind);
            }
        }
        if bound_volumes.is_some() {
            self.figures.took("Bind", profile, well, now.duration_since(until));
        }
    }
}
