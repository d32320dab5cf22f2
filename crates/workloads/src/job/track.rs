//! Counting pods that have ended, each once: noted in the status, released from their finalizer, then counted.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::StreamExt;
use plimsoll_api::kinds::Pod;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::write::Part;
use plimsoll_runtime::{Error, Mirrored, Severity, Whole};

use super::policy::Verdict;
use super::spec::{Condition, Status};
use super::sync::Round;
use super::{Jobs, lock};

/// How many uids a status may have at once: about 20 KiB.
const MOST_UNCOUNTED: usize = 500;
/// How many finalizers are removed at a time.
const WIDTH: usize = 16;

impl Jobs {
    /// Brings the counting as far as it goes, and the job to its end where that is decided.
    pub(super) async fn track(&self, key: &ObjectKey, round: &mut Round) -> Result<(), Error> {
        let noted = round.note();
        round.announce();
        if self.flush(round).await? {
            lock(&self.records).insert(key.clone(), round.record);
        }
        let mut kept = noted.kept;
        let mut trouble = None;
        let releasing: Vec<_> =
            noted.ended.iter().filter_map(|at| round.members.get(*at)).map(|m| m.pod.clone()).collect();
        let steps: Vec<_> = releasing.into_iter().map(|pod| self.release_for_counting(pod)).collect();
        let mut results = futures_util::stream::iter(steps).buffered(WIDTH);
        while let Some((uid, result)) = results.next().await {
            match result {
                Ok(()) => {
                    kept.remove(&uid);
                }
                Err(error) => trouble = trouble.or(Some(error)),
            }
        }
        round.status.settle(&kept);
        if let Some(error) = trouble {
            self.flush(round).await?;
            return Err(error);
        }
        let finished = if noted.all { round.finish_now() } else { None };
        self.flush(round).await?;
        if let Some(condition) = finished {
            self.say_finished(round, &condition);
        }
        Ok(())
    }

    async fn release_for_counting(&self, pod: Arc<Whole<Pod>>) -> (String, Result<(), Error>) {
        (pod.meta().uid.clone(), self.release(&pod).await)
    }

    /// Writes the status where it differs from what is written. Returns whether it did.
    async fn flush(&self, round: &mut Round) -> Result<bool, Error> {
        if round.status == round.written {
            return Ok(false);
        }
        round.status.write_into(&mut round.object);
        round.job = self.jobs.replace(&round.job, Part::Status, &round.object).await?;
        round.object = round.job.value();
        let status = serde_json::from_value::<Status>(round.object["status"].clone());
        round.status = status.map_err(|e| Error::Unknown(format!("the answer cannot be read: {e}")))?;
        round.status.uncounted();
        round.written = round.status.clone();
        Ok(true)
    }

    fn say_finished(&self, round: &Round, condition: &Condition) {
        let recorder = self.control.recorder();
        if condition.kind != "Complete" {
            recorder.event(&round.about, Severity::Warning, &condition.reason, &condition.message);
            return;
        }
        if round.spec.completions.is_some_and(|wanted| round.status.succeeded > wanted) {
            let message = "Too many succeeded pods running after completion count reached";
            recorder.event(&round.about, Severity::Warning, "TooManySucceededPods", message);
        }
        recorder.event(&round.about, Severity::Normal, "Completed", "Job completed");
    }
}

/// What was noted of a job's pods.
pub(super) struct Noted {
    /// The members whose finalizer may go, by their places.
    pub(super) ended: Vec<usize>,
    /// The uids of pods that have the finalizer.
    pub(super) kept: BTreeSet<String>,
    /// Whether these are all that ended.
    pub(super) all: bool,
}

impl Round {
    /// Notes in the status which pods have ended: counts those that are released already, adds those that are to be.
    pub(super) fn note(&mut self) -> Noted {
        if self.spec.is_indexed() {
            // The places in `handing_over` are those of before.
            self.sort_by_index();
        }
        let known = self.status.uncounted().clone();
        let known = [known.succeeded, known.failed].map(|uids| uids.into_iter().collect::<BTreeSet<String>>());
        let [succeeded, failures] = &known;
        let kept = self.members.iter().filter(|m| m.tracked).map(|m| m.uid().to_owned()).collect();
        let mut noted = Noted { ended: Vec::new(), kept, all: true };
        self.status.settle(&noted.kept);
        let mut indexes = Vec::new();
        for at in 0..self.members.len() {
            let member = &self.members[at];
            let failed = member.has_failed(&self.spec);
            if !member.tracked || !self.may_release(at, failed) {
                continue;
            }
            noted.ended.push(at);
            if member.has_succeeded() && !failures.contains(member.uid()) {
                match member.index.filter(|_| self.spec.is_indexed()) {
                    // The index is enough to count it once.
                    Some(index) if member.fits(&self.spec) && !self.succeeded_before.has(index) => indexes.push(index),
                    Some(_) => {}
                    None if self.spec.is_indexed() || succeeded.contains(member.uid()) => {}
                    None => {
                        let uid = member.uid().to_owned();
                        self.status.uncounted().succeeded.push(uid);
                    }
                }
            } else if (failed || self.is_failing())
                && !failures.contains(member.uid())
                && member.fits(&self.spec)
                && self.verdict(member) != Verdict::Ignore
            {
                let uid = member.uid().to_owned();
                self.status.uncounted().failed.push(uid);
            }
            if indexes.len() + self.status.uncounted().len() >= MOST_UNCOUNTED {
                noted.all = false;
                break;
            }
        }
        if self.spec.is_indexed() {
            self.succeeded_indexes = self.succeeded_indexes.with(indexes);
            self.status.succeeded = self.succeeded_indexes.count();
            self.status.completed_indexes = self.succeeded_indexes.to_string();
            self.status.failed_indexes = self.failed_indexes.as_ref().map(ToString::to_string);
        }
        noted
    }

    fn sort_by_index(&mut self) {
        let handing: BTreeSet<String> =
            self.handing_over.values().filter_map(|at| self.members.get(*at)).map(|m| m.uid().to_owned()).collect();
        self.members.sort_by_key(|m| m.index);
        self.handing_over.clear();
        for (at, member) in self.members.iter().enumerate() {
            if let Some(index) = member.index.filter(|_| handing.contains(member.uid())) {
                self.handing_over.insert(index, at);
            }
        }
    }

    /// Whether the job ends without success: then every pod that has not ended counts as failed.
    fn is_failing(&self) -> bool {
        self.finish.as_ref().is_some_and(|finish| finish.kind != "SuccessCriteriaMet")
    }

    /// Whether a pod's finalizer may go: it has ended, or nobody waits for its end.
    fn may_release(&self, at: usize, failed: bool) -> bool {
        if self.owner.deleting || self.finish.is_some() || self.members[at].has_succeeded() {
            return true;
        }
        let hands_over = |index: i64| self.handing_over.get(&index) == Some(&at);
        failed && !self.members[at].index.is_some_and(hands_over)
    }

    /// Says in the status how the job is to end, before the finalizers go that could say why.
    fn announce(&mut self) {
        let Some(finish) = self.finish.take() else { return };
        let end = match finish.kind.as_str() {
            "FailureTarget" => "Failed",
            "SuccessCriteriaMet" => "Complete",
            _ => {
                self.finish = Some(finish);
                return;
            }
        };
        self.finish = Some(finish.fulfilled(end, self.now));
        if self.status.holds(&finish.kind).is_none() {
            self.status.conditions.push(finish);
        }
    }

    /// Says in the status that the job has ended, if nothing of it is left to be waited for.
    fn finish_now(&mut self) -> Option<Condition> {
        let finish = self.finish.clone()?;
        if self.status.uncounted().len() > 0 || self.terminating > 0 {
            return None;
        }
        self.status.set(&finish.kind, true, &finish.reason, &finish.message, self.now);
        if finish.kind == "Complete" {
            self.status.completion_time.clone_from(&finish.last_transition_time);
        }
        Some(finish)
    }
}

impl Status {
    /// Moves into the counters what has been noted and no longer has the finalizer.
    pub(super) fn settle(&mut self, kept: &BTreeSet<String>) {
        let uncounted = self.uncounted();
        let count = |list: &mut Vec<String>| {
            let before = list.len();
            list.retain(|uid| kept.contains(uid));
            i64::try_from(before - list.len()).unwrap_or(i64::MAX)
        };
        let (succeeded, failed) = (count(&mut uncounted.succeeded), count(&mut uncounted.failed));
        self.succeeded += succeeded;
        self.failed += failed;
    }
}
