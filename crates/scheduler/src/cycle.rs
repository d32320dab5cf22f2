//! The scheduling cycle: one pod, from the queue to an assumed place or to the reason why there is none.

use std::sync::Arc;

use plimsoll_engine::labels::ObjectKey;
use plimsoll_engine::model::Pod;
use plimsoll_engine::placement::Placement;
use plimsoll_engine::reason::{Code, Plugin};
use plimsoll_engine::{Choice, Diagnosis};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::Inner;
use crate::binding::Assumed;
use crate::decisions;
use crate::desk::Desk;
use crate::figures::{Outcome, Stage};
use crate::journal::Attempt;
use crate::nominations::Refused;
use crate::preemption::Search;
use crate::report::{Nominate, Reason};
use crate::traces::Record;

/// What upstream says where there is no node at all.
const NO_NODES: &str = "no nodes available to schedule pods";

impl Inner {
    /// Schedules pods as they become due, until it is dropped.
    pub(crate) async fn run(self: Arc<Self>) {
        self.world.synced().await;
        self.nodes.synced().await;
        loop {
            let due = self.desk.lock().queue.pop(Instant::now());
            match due {
                Ok(pod) => {
                    self.schedule(&pod).await;
                    // Watches and bindings are to be heard between two pods, too.
                    tokio::task::yield_now().await;
                }
                Err(due) => {
                    let settles = {
                        let mut desk = self.desk.lock();
                        desk.pass_time(Instant::now());
                        desk.settles_at()
                    };
                    match due.into_iter().chain(settles).min() {
                        Some(at) => drop(tokio::time::timeout_at(at, self.work.notified()).await),
                        None => self.work.notified().await,
                    }
                }
            }
        }
    }

    /// One pod's cycle.
    async fn schedule(self: &Arc<Self>, key: &ObjectKey) {
        let pod = {
            let mut desk = self.desk.lock();
            desk.pass_time(Instant::now());
            let Some(pod) = desk.catalog.pod(key).filter(|pod| desk.is_to_be_placed(pod)).cloned() else {
                desk.queue.remove(key);
                return;
            };
            self.taken(&mut desk, &pod);
            if desk.catalog.nodes().is_empty() {
                let (attempt, record) = self.decided(&mut desk, &pod, |_| ());
                desk.journal.rests(&pod, Instant::now());
                self.ended(&pod, attempt, record, Outcome::Unschedulable, NO_NODES);
                desk.withdraw_nomination(&pod);
                self.reporter.failed(&pod, Reason::Unschedulable, NO_NODES, Nominate::Clear);
                // What every new node helps.
                let any_node = [(Plugin::NodeName, Code::NODE_NAME)].into();
                desk.refused(&pod, &self.profile(&pod).rules, &any_node);
                return;
            }
            if !self.options.extenders.concern(&pod) {
                let began = self.context.spans.mark();
                let chosen = desk.choose(&pod, &self.profile(&pod).rules);
                self.passed(&mut desk, &pod, "choose", began);
                match chosen {
                    Ok(choice) => self.place(&mut desk, &pod, choice),
                    Err(refused) => self.refuse(&mut desk, &pod, &refused),
                }
                return;
            }
            pod
        };
        self.schedule_extended(pod).await;
    }

    /// Assumes a choice and has it written down.
    pub(crate) fn place(self: &Arc<Self>, desk: &mut Desk, pod: &Arc<Pod>, choice: Choice) {
        let (attempt, mut record) = self.decided(desk, pod, |line| decisions::add_choice(line, &choice));
        record.goes_to(&choice.node);
        tracing::debug!(pod = %pod.key, node = %choice.node, score = choice.score, feasible = choice.feasible, "a node is chosen");
        let began = record.mark();
        if let Err(error) = desk.catalog.assume(&pod.key, &choice.node, &choice.plan) {
            let message = format!("running Reserve plugin \"VolumeBinding\": {error}");
            self.figures.failed(Stage::Assume);
            record.reserved(began, Some(&message));
            self.fail_after(desk, pod, &message, attempt, record);
            return;
        }
        record.reserved(began, None);
        if let Some(left) = desk.nominations.clear(&pod.key).filter(|left| *left != choice.node) {
            desk.nomination_left(pod, left);
        }
        let placement = Placement::begin(&desk.catalog, &pod.key, &choice.node, &choice.plan);
        let told = Arc::new(Notify::new());
        desk.placements.begin(pod, &told);
        let assumed = Assumed { pod: pod.clone(), node: choice.node, plan: choice.plan, told, attempt, record };
        let scheduler = self.clone();
        self.context.tasks.spawn("binding", async move { scheduler.bind(assumed, placement).await });
    }

    /// The pod fits nowhere: it waits until something changes that could help, or until others have made room.
    fn refuse(self: &Arc<Self>, desk: &mut Desk, pod: &Arc<Pod>, refused: &Refused) {
        if let Some((diagnosis, found)) = self.diagnose(desk, pod, refused) {
            self.settle(desk, pod, diagnosis, &found);
        }
    }

    /// Why a pod fits nowhere, and where room could be made for it; `None` where all is said and done already.
    pub(crate) fn diagnose(&self, desk: &mut Desk, pod: &Arc<Pod>, refused: &Refused) -> Option<(Diagnosis, Search)> {
        let began = self.context.spans.mark();
        let diagnosis = desk.catalog.diagnose_by(pod, &self.profile(pod).rules, &refused.beside);
        self.passed(desk, pod, "diagnose", began);
        if let Some(error) = &diagnosis.error {
            self.fail(desk, pod, error);
            return None;
        }
        let found = self.find_room(desk, pod, &diagnosis, &refused.expected);
        Some((diagnosis, found))
    }

    /// Makes room for the pod where some was found, and lets it wait.
    pub(crate) fn settle(self: &Arc<Self>, desk: &mut Desk, pod: &Arc<Pod>, diagnosis: Diagnosis, found: &Search) {
        let room = self.make_room(desk, pod, found);
        let message = format!("{} {}", diagnosis.summary, room.message);
        let trace = self.unschedulable(desk, pod, &diagnosis, message.trim_end());
        self.reporter.failed(pod, Reason::Unschedulable, message.trim_end(), room.nominate);
        match room.eviction {
            Some(eviction) => {
                // What changes before the victims have been asked is not to be missed.
                desk.queue.judging(&pod.key);
                self.evict(eviction, diagnosis.refused_by, trace);
            }
            None => desk.refused(pod, &self.profile(pod).rules, &diagnosis.refused_by),
        }
    }

    /// Something went wrong: the pod is tried again after a while.
    pub(crate) fn fail(&self, desk: &mut Desk, pod: &Arc<Pod>, message: &str) {
        let (attempt, record) = self.decided(desk, pod, |_| ());
        self.fail_after(desk, pod, message, attempt, record);
    }

    /// Something went wrong after it was decided where the pod goes.
    pub(crate) fn fail_after(&self, desk: &mut Desk, pod: &Arc<Pod>, message: &str, attempt: Attempt, record: Record) {
        desk.journal.rests(pod, Instant::now());
        self.ended(pod, attempt, record, Outcome::Error, message);
        desk.withdraw_nomination(pod);
        self.reporter.failed(pod, Reason::SchedulerError, message, Nominate::Clear);
        desk.failed(pod);
        self.work.notify_one();
    }
}
