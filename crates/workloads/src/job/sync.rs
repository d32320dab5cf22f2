//! One look at a job: what its pods have come to, whether it is over, and what is to be done.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::write::about;
use plimsoll_runtime::{About, Error, Next, Severity, Whole};
use serde_json::Value;

use super::backoff::Record;
use super::indexes::Indexes;
use super::member::Member;
use super::policy::Verdict;
use super::spec::{Condition, Spec, Status};
use super::{Jobs, lock};
use crate::children::Owner;
use crate::kinds::Job;
use crate::times;

/// One look at a job.
pub(super) struct Round {
    pub(super) now: Timestamp,
    /// The job as last seen or written, and the same as JSON.
    pub(super) job: Arc<Whole<Job>>,
    pub(super) object: Value,
    pub(super) owner: Owner,
    pub(super) about: About,
    pub(super) spec: Spec,
    /// The status as it is to be, and as it was last written.
    pub(super) status: Status,
    pub(super) written: Status,
    pub(super) members: Vec<Member>,
    pub(super) active: i64,
    pub(super) ready: i64,
    pub(super) terminating: i64,
    /// Those counted and those to be counted.
    pub(super) succeeded: i64,
    pub(super) failed: i64,
    /// The indexes that succeeded: by the status, and with the pods to be counted.
    pub(super) succeeded_before: Indexes,
    pub(super) succeeded_indexes: Indexes,
    pub(super) failed_indexes: Option<Indexes>,
    /// Where failures count for each index: the failed pod, by its place among the members, whose count its successor takes over.
    /// Until there is a successor, it keeps its finalizer.
    pub(super) handing_over: BTreeMap<i64, usize>,
    /// How the job ends, where it does.
    pub(super) finish: Option<Condition>,
    pub(super) record: Record,
    /// When to look again, though nothing changes.
    pub(super) again: Option<Duration>,
}

impl Jobs {
    /// Looks at one job.
    pub(super) async fn sync(&self, key: ObjectKey) -> Result<Next, Error> {
        let Some(job) = self.world.jobs.get(&key) else {
            lock(&self.records).remove(&key);
            return Ok(Next::Done);
        };
        let Some(mut round) = Round::new(&job, self.clock.now()) else {
            tracing::warn!(job = %key, "the job cannot be read; it is left alone");
            return Ok(Next::Done);
        };
        if round.spec.is_managed_elsewhere() {
            return Ok(Next::Done);
        }
        if round.status.finished().is_some() {
            lock(&self.records).remove(&key);
            // None of its pods should have the finalizer any more.
            self.release_all(&round.owner.uid);
            return Ok(Next::Done);
        }
        if !matches!(round.spec.completion_mode.as_deref(), None | Some("NonIndexed" | "Indexed")) {
            let message = "Skipped Job sync because completion mode is unknown";
            self.control.recorder().event(&round.about, Severity::Warning, "UnknownCompletionMode", message);
            return Ok(Next::Done);
        }
        round.members = self.claim(&round.owner, &job.slim).await?;
        let record = lock(&self.records).get(&key).copied().unwrap_or_default();
        round.count(record);
        round.judge();
        let managed = self.act(&mut round).await;
        round.status.active = round.active;
        round.status.ready = Some(round.ready);
        round.status.terminating = Some(round.terminating);
        self.track(&key, &mut round).await?;
        managed?;
        Ok(round.again.map_or(Next::Done, Next::After))
    }

    /// Makes and deletes pods as the judgement asks for. Trouble is for later: what has ended must be counted all the same.
    async fn act(&self, round: &mut Round) -> Result<(), Error> {
        if round.finish.is_some() {
            let all: Vec<usize> = round.which(Member::is_active);
            let wanted = round.active;
            let result = self.delete(round, &all, false).await;
            if wanted > 0 && round.active > 0 {
                // Some are left: it is not over yet.
                round.finish = None;
            }
            return result;
        }
        let managing = !round.owner.deleting;
        let result = if managing { self.manage(round).await } else { Ok(()) };
        let enough = match round.spec.completions {
            // Any success is enough, once those that run beside it have ended.
            None => round.succeeded > 0,
            Some(completions) => round.succeeded >= completions,
        };
        if enough && round.active == 0 {
            let message = "Reached expected number of succeeded pods";
            round.finish = Some(Condition::new("SuccessCriteriaMet", "CompletionsReached", message, round.now));
        } else if managing {
            self.say_whether_suspended(round);
        }
        result
    }

    fn say_whether_suspended(&self, round: &mut Round) {
        let now = round.now;
        if round.spec.is_suspended() {
            if round.status.set("Suspended", true, "JobSuspended", "Job suspended", now) {
                self.control.recorder().event(&round.about, Severity::Normal, "Suspended", "Job suspended");
                round.status.start_time = None;
            }
        } else if round.status.set("Suspended", false, "JobResumed", "Job resumed", now) {
            self.control.recorder().event(&round.about, Severity::Normal, "Resumed", "Job resumed");
            // Its deadline is counted from here: the time that it was suspended is not its own.
            round.status.start_time = Some(times::written(now));
        }
    }
}

impl Round {
    /// `None` where the job cannot be read.
    pub(super) fn new(job: &Arc<Whole<Job>>, now: Timestamp) -> Option<Self> {
        let object = job.value();
        let spec: Spec = serde_json::from_value(object["spec"].clone()).ok()?;
        let written: Status = match &object["status"] {
            Value::Null => Status::default(),
            status => serde_json::from_value(status.clone()).ok()?,
        };
        let mut status = written.clone();
        status.uncounted();
        Some(Self {
            now,
            owner: Owner::of(&job.slim),
            about: about(&**job),
            job: job.clone(),
            object,
            spec,
            status,
            written,
            members: Vec::new(),
            active: 0,
            ready: 0,
            terminating: 0,
            succeeded: 0,
            failed: 0,
            succeeded_before: Indexes::default(),
            succeeded_indexes: Indexes::default(),
            failed_indexes: None,
            handing_over: BTreeMap::new(),
            finish: None,
            record: Record::default(),
            again: None,
        })
    }

    /// The places of the members of which something holds.
    pub(super) fn which(&self, holds: impl Fn(&Member) -> bool) -> Vec<usize> {
        self.members.iter().enumerate().filter(|(_, m)| holds(m)).map(|(i, _)| i).collect()
    }

    /// Looks again no later than after this.
    pub(super) fn again_after(&mut self, wait: Duration) {
        self.again = Some(self.again.map_or(wait, |earlier| earlier.min(wait)));
    }

    /// What the failure of a pod means.
    pub(super) fn verdict(&self, member: &Member) -> Verdict {
        self.spec.pod_failure_policy.as_ref().map_or(Verdict::Count, |policy| policy.judge(member))
    }

    /// Counts the pods. `record` is what is remembered of failures.
    pub(super) fn count(&mut self, record: Record) {
        let uncounted = self.status.uncounted().clone();
        let spec = &self.spec;
        let fresh = |known: &[String], holds: &dyn Fn(&Member) -> bool| -> Vec<&Member> {
            let known: BTreeSet<&str> = known.iter().map(String::as_str).collect();
            let is_new = |m: &&Member| m.tracked && m.fits(spec) && !known.contains(m.uid());
            self.members.iter().filter(is_new).filter(|m| holds(m)).collect()
        };
        let succeeded = fresh(&uncounted.succeeded, &Member::has_succeeded);
        let failed = fresh(&uncounted.failed, &|m: &Member| m.has_failed(spec));
        let counted = failed.iter().filter(|m| self.verdict(m) != Verdict::Ignore).count();
        let record = record.after(&succeeded, &failed);
        let ended = (succeeded.len() + uncounted.succeeded.len(), counted + uncounted.failed.len());
        let ready = self.members.iter().filter(|m| m.is_active() && crate::pods::is_ready(&m.pod.slim)).count();
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let totals = (count(self.which(Member::is_active).len()), count(self.which(Member::is_terminating).len()));
        self.record = record;
        (self.active, self.terminating) = totals;
        self.ready = count(ready);
        self.succeeded = self.status.succeeded + count(ended.0);
        self.failed = self.status.failed + count(ended.1);
        if self.status.start_time.is_none() && !self.spec.is_suspended() {
            self.status.start_time = Some(times::written(self.now));
        }
    }

    /// Whether the job is over, and how. What was decided before stays; then failure goes before success.
    pub(super) fn judge(&mut self) {
        let now = self.now;
        self.finish = if let Some(met) = self.status.holds("SuccessCriteriaMet") {
            Some(met.clone())
        } else if let Some(target) = self.status.holds("FailureTarget") {
            Some(target.fulfilled("Failed", now))
        } else {
            self.failed_by_policy()
                .map(|message| ("PodFailurePolicy", message))
                .or_else(|| self.failed_by_limits())
                .map(|(reason, message)| Condition::new("FailureTarget", reason, &message, now))
        };
        if self.spec.is_indexed() {
            self.judge_indexes();
        }
    }

    fn failed_by_policy(&self) -> Option<String> {
        let policy = self.spec.pod_failure_policy.as_ref()?;
        self.members.iter().filter(|m| m.has_failed(&self.spec)).find_map(|m| match policy.judge(m) {
            Verdict::FailJob(message) => Some(message),
            _ => None,
        })
    }

    fn failed_by_limits(&mut self) -> Option<(&'static str, String)> {
        if self.failed > self.spec.backoff_limit.unwrap_or(6) || self.restarted_too_often() {
            return Some(("BackoffLimitExceeded", "Job has reached the specified backoff limit".to_owned()));
        }
        let limit = self.spec.active_deadline_seconds?;
        let start = times::read(self.status.start_time.as_deref()?)?;
        if self.spec.is_suspended() {
            return None;
        }
        match times::until(times::plus(start, limit), self.now) {
            None => Some(("DeadlineExceeded", "Job was active longer than specified deadline".to_owned())),
            Some(left) => {
                self.again_after(left);
                None
            }
        }
    }

    /// Where containers are started again in their pods, that counts as failing.
    fn restarted_too_often(&self) -> bool {
        if self.spec.template.spec.restart_policy != "OnFailure" {
            return false;
        }
        let runs = |m: &&Member| matches!(m.pod.slim.status.phase.as_str(), "Running" | "Pending");
        let restarts: i64 = self.members.iter().filter(runs).map(Member::restarts).sum();
        restarts >= self.spec.backoff_limit.unwrap_or(6).max(1)
    }

    fn judge_indexes(&mut self) {
        let completions = self.spec.indexes();
        let (now, spec) = (self.now, &self.spec);
        self.succeeded_before = Indexes::parse(&self.status.completed_indexes, completions);
        let new = self.members.iter().filter(|m| m.tracked && m.fits(spec) && m.has_succeeded());
        self.succeeded_indexes = self.succeeded_before.with(new.filter_map(|m| m.index));
        self.succeeded = self.succeeded_indexes.count();
        if let Some(limit) = spec.backoff_limit_per_index {
            let before = Indexes::parse(self.status.failed_indexes.as_deref().unwrap_or_default(), completions);
            let new = self.members.iter().filter(|m| m.tracked && m.fits(spec) && self.has_failed_its_index(m, limit));
            let failed = before.with(new.filter_map(|m| m.index));
            let all = failed.count() + self.succeeded;
            if self.finish.is_none() {
                let target = |reason, message| Some(Condition::new("FailureTarget", reason, message, now));
                if spec.max_failed_indexes.is_some_and(|most| failed.count() > most) {
                    let message = "Job has exceeded the specified maximal number of failed indexes";
                    self.finish = target("MaxFailedIndexesExceeded", message);
                } else if failed.count() > 0 && all >= completions {
                    self.finish = target("FailedIndexes", "Job has failed indexes");
                }
            }
            self.failed_indexes = Some(failed);
            self.hand_over();
        }
        if self.finish.is_none()
            && let Some(policy) = &self.spec.success_policy
            && let Some(message) = policy.met(&self.succeeded_indexes, completions)
        {
            self.finish = Some(Condition::new("SuccessCriteriaMet", "SuccessPolicy", &message, now));
        }
    }

    fn has_failed_its_index(&self, member: &Member, limit: i64) -> bool {
        if !member.has_failed(&self.spec) {
            return false;
        }
        match self.verdict(member) {
            Verdict::FailIndex => true,
            Verdict::Ignore => false,
            Verdict::Count | Verdict::FailJob(_) => member.failures_before(false) >= limit,
        }
    }

    /// Finds, for each index that waits for another pod, the failed pod whose count that one takes over.
    fn hand_over(&mut self) {
        let running: BTreeSet<i64> = self.members.iter().filter(|m| m.is_active()).filter_map(|m| m.index).collect();
        let failed = self.failed_indexes.clone().unwrap_or_default();
        for (at, member) in self.members.iter().enumerate() {
            let Some(index) = member.index else { continue };
            let over = self.succeeded_indexes.has(index) || failed.has(index) || running.contains(&index);
            if over || !member.tracked || !member.fits(&self.spec) || !member.has_failed(&self.spec) {
                continue;
            }
            let later = |other: usize| {
                let known = &self.members[other];
                known.failures_before(true) <= member.failures_before(true)
                    && known.finished_at() <= member.finished_at()
            };
            if self.handing_over.get(&index).is_none_or(|other| later(*other)) {
                self.handing_over.insert(index, at);
            }
        }
    }
}
