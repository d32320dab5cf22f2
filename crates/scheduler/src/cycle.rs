//! The scheduling cycle: one pod, from the queue to an assumed place or to the reason why there is none.

use std::sync::Arc;

use plimsoll_engine::labels::ObjectKey;
use plimsoll_engine::model::Pod;
use plimsoll_engine::placement::Placement;
use plimsoll_engine::{Choice, Diagnosis};
use tokio::time::Instant;

use crate::Inner;
use crate::binding::Assumed;
use crate::desk::Desk;
use crate::queue::Failure;
use crate::report::Reason;

impl Inner {
    /// Schedules pods as they become due, until it is dropped.
    pub(crate) async fn run(self: Arc<Self>) {
        self.world.synced().await;
        loop {
            let due = {
                let mut desk = self.desk.lock();
                match desk.queue.pop(Instant::now()) {
                    Ok(pod) => Ok(pod),
                    Err(due) => Err(due),
                }
            };
            match due {
                Ok(pod) => {
                    self.schedule(&pod);
                    // Watches and bindings are to be heard between two pods, too.
                    tokio::task::yield_now().await;
                }
                Err(Some(due)) => {
                    let _ = tokio::time::timeout_at(due, self.work.notified()).await;
                }
                Err(None) => self.work.notified().await,
            }
        }
    }

    /// One pod's cycle.
    fn schedule(self: &Arc<Self>, key: &ObjectKey) {
        let mut desk = self.desk.lock();
        let Some(pod) = desk.catalog.pod(key).filter(|pod| desk.is_ours(pod) && !pod.deleting).cloned() else {
            desk.queue.remove(key);
            return;
        };
        match desk.catalog.choose(&pod, self.context.gates) {
            Ok(Some(choice)) => self.place(&mut desk, &pod, choice),
            Ok(None) | Err(_) => {
                let diagnosis = desk.catalog.diagnose(&pod, self.context.gates);
                self.refuse(&mut desk, &pod, &diagnosis);
            }
        }
    }

    /// Assumes a choice and has it written down.
    fn place(self: &Arc<Self>, desk: &mut Desk, pod: &Arc<Pod>, choice: Choice) {
        if let Err(error) = desk.catalog.assume(&pod.key, &choice.node, &choice.plan) {
            let message = format!("running Reserve plugin \"VolumeBinding\": {error}");
            self.fail(desk, pod, &message);
            return;
        }
        let placement = Placement::begin(&desk.catalog, &pod.key, &choice.node, &choice.plan);
        let assumed = Assumed { pod: pod.clone(), node: choice.node, plan: choice.plan };
        let scheduler = self.clone();
        self.context.tasks.spawn("binding", async move { scheduler.bind(assumed, placement).await });
    }

    /// The pod fits nowhere: it waits until something changes that could help.
    fn refuse(&self, desk: &mut Desk, pod: &Arc<Pod>, diagnosis: &Diagnosis) {
        if let Some(error) = &diagnosis.error {
            self.fail(desk, pod, error);
            return;
        }
        self.reporter.failed(pod, Reason::Unschedulable, &diagnosis.summary);
        let why = Failure::Refused(diagnosis.refused_by.clone());
        desk.queue.failed(&pod.key, &pod.uid, why, &desk.catalog, Instant::now());
    }

    /// Something went wrong: the pod is tried again after a while.
    pub(crate) fn fail(&self, desk: &mut Desk, pod: &Arc<Pod>, message: &str) {
        self.reporter.failed(pod, Reason::SchedulerError, message);
        desk.queue.failed(&pod.key, &pod.uid, Failure::Error, &desk.catalog, Instant::now());
        self.work.notify_one();
    }
}
