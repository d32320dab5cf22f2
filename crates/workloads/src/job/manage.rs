//! As many pods as a job may have now: made where they lack, deleted where they are too many.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use plimsoll_api::kinds::Pod;
use plimsoll_api::names::JOB_INDEX;
use plimsoll_runtime::{About, Error, Whole};
use serde_json::{Value, json};

use super::member::{FAILURES, IGNORED, Member, TRACKING};
use super::policy::Verdict;
use super::sync::Round;
use super::{BATCH, Jobs, backoff};
use crate::pods;

/// How many pods are made or deleted at one look, so that a large job does not hold up the others.
const MOST_AT_ONCE: usize = 500;
/// What a name that the API server completes may begin with at most: it adds five letters to make a label.
const LONGEST_PREFIX: usize = 58;

impl Jobs {
    /// Makes or deletes pods.
    pub(super) async fn manage(&self, round: &mut Round) -> Result<(), Error> {
        if round.spec.is_suspended() {
            let all = round.expendable(round.active);
            return self.delete(round, &all, true).await;
        }
        let parallelism = round.spec.parallelism.unwrap_or(1);
        let wanted = match round.spec.completions {
            // After the first success no more begin; those that run may end.
            None if round.succeeded > 0 => round.active,
            None => parallelism,
            Some(completions) => (completions - round.succeeded).min(parallelism).max(0),
        };
        let mut surplus = round.expendable((round.active - wanted).max(0));
        if !surplus.is_empty() {
            // Deletion goes first; what lacks is made at the next look.
            surplus.truncate(MOST_AT_ONCE);
            return self.delete(round, &surplus, true).await;
        }
        let leaving = if round.spec.only_replaces_failed() { round.terminating } else { 0 };
        let lacking = usize::try_from(wanted - leaving - round.active).unwrap_or(0).min(MOST_AT_ONCE);
        if lacking == 0 {
            return Ok(());
        }
        if !round.spec.is_per_index()
            && let Some(wait) = round.record.wait(round.now)
        {
            round.again_after(wait.max(BATCH));
            return Ok(());
        }
        let made: Vec<Value> = if round.spec.is_indexed() {
            round.indexes_to_begin(lacking).into_iter().map(|index| round.pod_of_index(index)).collect()
        } else {
            (0..lacking).map(|_| round.pod()).collect()
        };
        self.create(round, &made).await
    }

    /// Makes pods: one, then two, then four … at a time, and no more once one is refused, since the others would be, too.
    async fn create(&self, round: &mut Round, wanted: &[Value]) -> Result<(), Error> {
        let (mut rest, mut batch) = (wanted, 1);
        while !rest.is_empty() {
            let (now, later) = rest.split_at(batch.min(rest.len()));
            let steps: Vec<_> = now.iter().map(|pod| self.control.create(&round.about, pod)).collect();
            let results = join_all(steps).await;
            let mut trouble = None;
            for result in results {
                match result {
                    Ok(_) => round.active += 1,
                    Err(error) => trouble = trouble.or(Some(error)),
                }
            }
            if let Some(error) = trouble {
                return Err(error);
            }
            (rest, batch) = (later, batch * 2);
        }
        Ok(())
    }

    /// Deletes pods, which then no longer are active. `uncounted` takes their finalizer first: they did not fail, they are not
    /// needed.
    pub(super) async fn delete(&self, round: &mut Round, which: &[usize], uncounted: bool) -> Result<(), Error> {
        let members: Vec<&Member> = which.iter().filter_map(|i| round.members.get(*i)).collect();
        let steps: Vec<_> =
            members.iter().map(|m| self.delete_one(&round.about, m.pod.clone(), uncounted && m.tracked)).collect();
        let results = join_all(steps).await;
        let (mut gone, mut ready, mut trouble) = (0, 0, None);
        for (member, result) in members.iter().zip(results) {
            match result {
                Ok(()) => {
                    gone += 1;
                    ready += i64::from(pods::is_ready(&member.pod.slim));
                }
                Err(error) => trouble = trouble.or(Some(error)),
            }
        }
        round.active -= gone;
        round.terminating += gone;
        round.ready -= ready;
        trouble.map_or(Ok(()), Err)
    }

    async fn delete_one(&self, of: &About, pod: Arc<Whole<Pod>>, release: bool) -> Result<(), Error> {
        if release {
            self.release(&pod).await?;
        }
        self.control.delete(of, &pod).await
    }
}

impl Round {
    /// The active pods that are to go where at least so many are: those without an index of their own first, then those that
    /// are least far.
    pub(super) fn expendable(&self, at_least: i64) -> Vec<usize> {
        let mut left = self.which(Member::is_active);
        let mut out = Vec::new();
        let order = |a: &usize, b: &usize| self.members[*a].expendable_before(&self.members[*b]);
        if self.spec.is_indexed() {
            let mut by_index: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
            for at in std::mem::take(&mut left) {
                match self.members[at].index.filter(|_| self.members[at].fits(&self.spec)) {
                    Some(index) => by_index.entry(index).or_default().push(at),
                    None => out.push(at),
                }
            }
            for (_, mut same) in by_index {
                if same.len() > 1 {
                    same.sort_by(order);
                }
                left.extend(same.pop());
                out.extend(same);
            }
        }
        let more = usize::try_from(at_least).unwrap_or(0).saturating_sub(out.len());
        if more > 0 {
            left.sort_by(order);
            out.extend(left.into_iter().take(more));
        }
        out
    }

    /// The indexes of which a pod is to be made now, so many at most. Where failures count for each index, those that wait are
    /// left out.
    pub(super) fn indexes_to_begin(&mut self, lacking: usize) -> Vec<i64> {
        let only_failed = self.spec.only_replaces_failed();
        let taken = |m: &&Member| m.is_active() || only_failed && m.is_terminating();
        let mut busy = self.succeeded_indexes.with(self.members.iter().filter(taken).filter_map(|m| m.index));
        if let Some(failed) = &self.failed_indexes {
            busy = busy.and(failed);
        }
        let pending = busy.first_missing(lacking, self.spec.indexes());
        if !self.spec.is_per_index() {
            return pending;
        }
        let mut now = Vec::new();
        for index in pending {
            let last = self.handing_over.get(&index).and_then(|at| self.members.get(*at));
            match last.and_then(|last| backoff::wait_for_index(last, self.now)) {
                None => now.push(index),
                Some(wait) => self.again_after(wait.max(BATCH)),
            }
        }
        now
    }

    /// A pod of the job.
    fn pod(&self) -> Value {
        let mut pod = pods::generated(&self.owner, &self.object["spec"]["template"]);
        plimsoll_api::edit::finalizer(&mut pod, TRACKING, true);
        pod
    }

    /// A pod of the job with an index. It is told by label, annotation, host name and environment.
    fn pod_of_index(&self, index: i64) -> Value {
        let mut pod = self.pod();
        let text = index.to_string();
        pod["metadata"]["labels"][JOB_INDEX] = json!(text);
        let annotations = &mut pod["metadata"]["annotations"];
        annotations[JOB_INDEX] = json!(text);
        if self.spec.is_per_index() {
            let (failures, ignored) = self.failures_of(index);
            annotations[FAILURES] = json!(failures.to_string());
            if ignored > 0 {
                annotations[IGNORED] = json!(ignored.to_string());
            }
        }
        pod["spec"]["hostname"] = json!(format!("{}-{index}", self.owner.name));
        pod["metadata"]["generateName"] = json!(prefix(&self.owner.name, index));
        for kind in ["initContainers", "containers"] {
            for container in pod["spec"][kind].as_array_mut().into_iter().flatten() {
                tell_index(container);
            }
        }
        pod
    }

    /// How many pods of an index have failed, with the last one: those that count, and those that do not.
    fn failures_of(&self, index: i64) -> (i64, i64) {
        let Some(last) = self.handing_over.get(&index).and_then(|at| self.members.get(*at)) else { return (0, 0) };
        let counted = last.failures_before(false);
        let ignored = last.failures_before(true) - counted;
        if self.verdict(last) == Verdict::Ignore { (counted, ignored + 1) } else { (counted + 1, ignored) }
    }
}

/// What the names of an index's pods begin with.
fn prefix(job: &str, index: i64) -> String {
    let end = format!("-{index}-");
    let most = LONGEST_PREFIX.saturating_sub(end.len());
    let job: String =
        if job.len() + end.len() > LONGEST_PREFIX { job.chars().take(most).collect() } else { job.into() };
    job + &end
}

/// Has a container find its index in its environment, unless its owner has thought of that.
fn tell_index(container: &mut Value) {
    const NAME: &str = "JOB_COMPLETION_INDEX";
    if !container["env"].is_array() {
        container["env"] = json!([]);
    }
    let Some(env) = container["env"].as_array_mut() else { return };
    if env.iter().all(|variable| variable["name"] != NAME) {
        let path = format!("metadata.labels['{JOB_INDEX}']");
        env.push(json!({"name": NAME, "valueFrom": {"fieldRef": {"fieldPath": path}}}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_indexes_stay_short_enough() {
        assert_eq!(prefix("j", 3), "j-3-");
        let long = prefix(&"a".repeat(63), 12);
        assert_eq!(long.len(), LONGEST_PREFIX);
        assert!(long.ends_with("aa-12-"));
    }

    #[test]
    fn an_index_is_told_once() {
        let mut container = json!({"name": "c"});
        tell_index(&mut container);
        tell_index(&mut container);
        let path = "metadata.labels['batch.kubernetes.io/job-completion-index']";
        let told = json!([{"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": {"fieldPath": path}}}]);
        assert_eq!(container["env"], told);
        let mut own = json!({"env": [{"name": "JOB_COMPLETION_INDEX", "value": "x"}]});
        tell_index(&mut own);
        assert_eq!(own["env"].as_array().unwrap().len(), 1);
    }
}
