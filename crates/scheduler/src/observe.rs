//! What is told of an attempt when it ends, to figures and to the decision log, from wherever it ends.

use std::sync::Arc;

use plimsoll_engine::Diagnosis;
use plimsoll_engine::model::Pod;
use serde_json::Value;
use tokio::time::Instant;

use crate::Inner;
use crate::binding::Assumed;
use crate::decisions;
use crate::desk::Desk;
use crate::figures::{Outcome, Stage};
use crate::journal::Attempt;

impl Inner {
    /// It was decided about a pod. Returns the attempt and, where there is a log, what it will say, which `add` adds to.
    pub(crate) fn decided(&self, desk: &Desk, pod: &Pod, add: impl FnOnce(&mut Value)) -> (Attempt, Option<Value>) {
        let now = Instant::now();
        let attempt = desk.journal.attempt(pod, now);
        self.figures.chosen(attempt, now);
        let line = self.decisions.is_on().then(|| {
            let mut line = decisions::line(desk, pod, attempt, now);
            add(&mut line);
            line
        });
        (attempt, line)
    }

    /// A pod fits nowhere.
    pub(crate) fn unschedulable(&self, desk: &mut Desk, pod: &Arc<Pod>, diagnosis: &Diagnosis, message: &str) {
        let (attempt, line) = self.decided(desk, pod, |line| decisions::add_diagnosis(line, diagnosis));
        desk.journal.refused(pod, diagnosis.refused_by.iter().map(|(plugin, _)| *plugin));
        self.ended(pod, attempt, line, Outcome::Unschedulable, message);
    }

    /// An attempt ended.
    pub(crate) fn ended(&self, pod: &Pod, attempt: Attempt, line: Option<Value>, outcome: Outcome, message: &str) {
        let now = Instant::now();
        self.figures.ended(&pod.scheduler, attempt, outcome, now);
        if let Some(mut line) = line {
            decisions::end(&mut line, &self.context.clock.now(), outcome, message, attempt, now);
            self.decisions.take(line);
        }
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
