//! The binding cycle: a placement is carried out, beside the loop that chooses.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_api::edit::{Reference, refer, select_node};
use plimsoll_api::kinds::{PersistentVolume, PersistentVolumeClaim, Pod as ApiPod};
use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::model::{Pod, Version};
use plimsoll_engine::object::{Kind, Object};
use plimsoll_engine::placement::{Next, Placement, Write};
use plimsoll_engine::volumes::VolumePlan;
use plimsoll_engine::wakeups::Change;
use plimsoll_runtime::write::{Part, Writer};
use plimsoll_runtime::{Backoff, Error, Mirrored, Resource, Whole};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::Inner;
use crate::figures::Outcome;
use crate::journal::Attempt;
use crate::traces::Record;

/// When a server that has too much to do is asked again, where it does not say when.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// A pod that counts as placed though the API server does not know of it yet.
pub(crate) struct Assumed {
    pub(crate) pod: Arc<Pod>,
    pub(crate) node: Name,
    pub(crate) plan: VolumePlan,
    /// Told when there may be something to do for the placement.
    pub(crate) told: Arc<Notify>,
    pub(crate) attempt: Attempt,
    /// What the decision log and spans will say, where there are any.
    pub(crate) record: Record,
}

/// Why a write was not made.
pub(crate) enum Unwritten {
    /// It will not be, as it is: what the pod's condition is to say.
    Refused(String),
    /// The API server has too much to do, and did nothing: what it said, and when it wants to be asked again.
    Busy(String, Duration),
}

impl Unwritten {
    fn said(&self) -> &str {
        match self {
            Self::Refused(said) | Self::Busy(said, _) => said,
        }
    }

    fn of(error: Error, say: impl FnOnce(&Error) -> String) -> Self {
        let said = say(&error);
        match error {
            Error::Busy { after, .. } => Self::Busy(said, after.unwrap_or(ASK_AGAIN)),
            _ => Self::Refused(said),
        }
    }
}

/// What a placement does next, as far as this side is concerned.
enum Step {
    Write(Write),
    Wait,
    Done,
    Failed(String),
}

impl Inner {
    /// Carries out a placement to its end, good or bad.
    pub(crate) async fn bind(self: Arc<Self>, mut assumed: Assumed, mut placement: Placement) {
        let began = Instant::now();
        let mut bound_volumes = None;
        let told = assumed.told.clone();
        let mut waits = BTreeSet::new();
        let mut wait_ends = None;
        let mut expected = false;
        let bind_timeout = self.profile(&assumed.pod).bind_timeout;
        let outcome = loop {
            match self.next(&assumed, &mut placement, &mut waits) {
                Step::Write(write) => {
                    if matches!(write, Write::BindPod { .. }) {
                        bound_volumes = Some(Instant::now());
                    }
                    let phase = assumed.record.writes(&write);
                    let written = self.write_for(&assumed, write).await;
                    assumed.record.wrote(phase, written.as_ref().err().map(Unwritten::said));
                    match written {
                        Ok(version) => placement.written(version),
                        Err(Unwritten::Busy(why, after)) if Instant::now() + after >= began + bind_timeout => {
                            placement.refused(why);
                        }
                        Err(Unwritten::Busy(_, after)) => {
                            self.expect(&assumed, &mut expected);
                            tokio::select! {
                                biased;
                                () = self.context.tasks.stopping() => return,
                                () = self.called_off(&assumed) => {}
                                () = tokio::time::sleep(after) => {}
                            }
                        }
                        Err(Unwritten::Refused(why)) => placement.refused(why),
                    }
                }
                Step::Wait => {
                    assumed.record.waits();
                    self.expect(&assumed, &mut expected);
                    let end = *wait_ends.get_or_insert_with(|| Instant::now() + bind_timeout);
                    tokio::select! {
                        biased;
                        // Nothing is heard of the cluster any more. What is written stays for whoever goes on.
                        () = self.context.tasks.stopping() => return,
                        waited = tokio::time::timeout_at(end, told.notified()) => {
                            if waited.is_err() {
                                placement.timed_out();
                            }
                        }
                    }
                }
                Step::Done => break Ok(()),
                Step::Failed(why) => break Err(why),
            }
        };
        self.carried_out(&assumed, began, bound_volumes, outcome.is_ok());
        match outcome {
            Ok(()) => {
                self.ended(&assumed.pod, assumed.attempt, std::mem::take(&mut assumed.record), Outcome::Scheduled, "");
                let mut desk = self.desk.lock();
                desk.placements.end(&assumed.pod);
                desk.done(&assumed.pod);
                drop(desk);
                self.reporter.scheduled(&assumed.pod, &assumed.node);
            }
            Err(why) => self.take_back(&mut assumed, &why),
        }
    }

    /// Has it said once where a pod goes that waits for others.
    fn expect(&self, assumed: &Assumed, expected: &mut bool) {
        if !std::mem::replace(expected, true) {
            self.reporter.expect(&assumed.pod, assumed.node.clone());
        }
    }

    /// What is next, by what the catalog has seen. Where that is to wait, the placement hears of the next change of what it
    /// waits for, which is in `waits` then.
    fn next(&self, assumed: &Assumed, placement: &mut Placement, waits: &mut BTreeSet<(Kind, ObjectKey)>) -> Step {
        let mut desk = self.desk.lock();
        let binding_volumes = |why: String| format!("running PreBind plugin \"VolumeBinding\": {why}");
        if let Some(cause) = desk.placements.called_off(&assumed.pod) {
            placement.cancel(cause);
        }
        let next = placement.next(&desk.catalog);
        if !waits.is_empty() {
            desk.stop_waiting(waits, &assumed.told);
            waits.clear();
        }
        match next {
            Next::Write(write) => {
                if matches!(write, Write::BindPod { .. }) {
                    desk.placements.commit(&assumed.pod);
                }
                Step::Write(write)
            }
            Next::Wait(wait) => {
                let cluster_wide = |name: &Name| ObjectKey { namespace: Name::from(""), name: name.clone() };
                for claim in wait.claims {
                    // What becomes of the claim may show in its volume first.
                    let volume = desk.catalog.observed_claim(&claim).map(|c| c.volume.clone());
                    let volume = volume.filter(|v| !v.is_empty());
                    waits.extend(volume.map(|volume| (Kind::PersistentVolume, cluster_wide(&volume))));
                    waits.insert((Kind::PersistentVolumeClaim, claim));
                }
                let planned = assumed.plan.claims.iter().filter_map(|c| c.volume.as_ref());
                let volumes = wait.volumes.iter().chain(planned);
                waits.extend(volumes.map(|volume| (Kind::PersistentVolume, cluster_wide(volume))));
                waits.insert((Kind::Node, cluster_wide(&assumed.node)));
                waits.insert((Kind::Pod, assumed.pod.key.clone()));
                desk.wait(waits, &assumed.told);
                Step::Wait
            }
            Next::Done => Step::Done,
            Next::Failed(failure) => Step::Failed(match failure {
                plimsoll_engine::placement::Failure::Refused(why) => why,
                other => binding_volumes(other.to_string()),
            }),
        }
    }

    /// Done when a placement was called off.
    async fn called_off(&self, assumed: &Assumed) {
        while self.desk.lock().placements.called_off(&assumed.pod).is_none() {
            assumed.told.notified().await;
        }
    }

    /// Makes one write. Returns the version that the object has then.
    pub(crate) async fn write(&self, write: Write) -> Result<Version, Unwritten> {
        let binding_volumes = |error: Error| {
            Unwritten::of(error, |e| format!("running PreBind plugin \"VolumeBinding\": binding volumes: {e}"))
        };
        match write {
            Write::BindVolume { volume, version, claim, claim_uid, claim_version, mark } => {
                let to = Reference { claim: &claim, uid: &claim_uid, version: claim_version };
                let seen = self.world.volumes.named(&volume);
                let writer: Writer<PersistentVolume> = Writer::new(&self.context, &self.world.volumes);
                self.change(&writer, seen, &volume, version, |object| refer(object, to, mark))
                    .await
                    .map_err(binding_volumes)
            }
            Write::SelectNode { claim, version, node } => {
                let seen = self.world.claims.get(&claim);
                let writer: Writer<PersistentVolumeClaim> = Writer::new(&self.context, &self.world.claims);
                let edit = |object: &mut Value| select_node(object, &node);
                self.change(&writer, seen, &claim.name, version, edit).await.map_err(binding_volumes)
            }
            Write::BindPod { pod, uid, node } => {
                let binding = json!({"apiVersion": "v1", "kind": "Binding",
                    "metadata": {"namespace": &*pod.namespace, "name": &*pod.name, "uid": &*uid},
                    "target": {"kind": "Node", "name": &*node}});
                let path = Resource::PODS.sub_path(&pod.namespace, &pod.name, "binding");
                match self.context.objects().send::<IgnoredAny>(http::Method::POST, &path, Some(&binding)).await {
                    Ok(_) => Ok(0),
                    Err(error) if may_be_done(&error) && self.is_bound(&pod, &uid, &node).await => Ok(0),
                    Err(error) => Err(Unwritten::of(error, |e| format!("running Bind plugin \"DefaultBinder\": {e}"))),
                }
            }
        }
    }

    /// Whether the API server has the pod on the node, asked until it answers. While that is not known the pod keeps its
    /// place here: its room must not be given to another because an answer was lost.
    pub(crate) async fn is_bound(&self, pod: &ObjectKey, uid: &str, node: &str) -> bool {
        let backoff = Backoff::default();
        let mut failures = 0;
        loop {
            match self.context.objects().get::<ApiPod>(Resource::PODS, &pod.namespace, &pod.name).await {
                Ok(found) => return found.is_some_and(|p| *p.metadata.uid == *uid && *p.spec.node_name == *node),
                // Nobody who may not look will ever know. One whom the server does not know just now will.
                Err(Error::Fenced(_) | Error::Forbidden(_)) => return false,
                Err(_) => failures += 1,
            }
            tokio::time::sleep(backoff.after(failures)).await;
        }
    }

    /// Changes an object that is still what the plan was made from.
    async fn change<T: Mirrored>(
        &self,
        writer: &Writer<T>,
        seen: Option<Arc<Whole<T>>>,
        name: &str,
        planned: Version,
        edit: impl FnOnce(&mut Value),
    ) -> Result<Version, Error> {
        let seen = seen.ok_or_else(|| Error::NotFound(format!("{name} is gone")))?;
        if seen.meta().version() != planned {
            return Err(Error::Conflict(format!("{name} changed after it was planned for")));
        }
        let mut after = seen.value();
        edit(&mut after);
        Ok(writer.replace(&seen, Part::Object, &after).await?.meta().version())
    }

    /// Takes back what was assumed; the pod is tried again after a while. What was written stays: the volume controller
    /// completes it or the provisioner clears it, and the next decision sees it.
    fn take_back(&self, assumed: &mut Assumed, why: &str) {
        let mut desk = self.desk.lock();
        let pod = &assumed.pod;
        desk.placements.end(pod);
        desk.catalog.forget(&pod.key, &pod.uid, &assumed.plan);
        let known = desk.catalog.pod(&pod.key).filter(|known| known.uid == pod.uid && desk.is_ours(known)).cloned();
        match known {
            Some(known) => {
                let record = std::mem::take(&mut assumed.record);
                self.fail_after(&mut desk, &known, why, assumed.attempt, record);
            }
            None => {
                // Who looks for what became of the pod finds it among the events, as upstream has it; one that has its node
                // after all is no failure.
                if desk.catalog.pod(&pod.key).is_none_or(|other| other.uid != pod.uid) {
                    self.reporter.gone(pod, why);
                }
                desk.done(pod);
            }
        }
        // To everybody else it is as though a pod had gone from its node.
        let freed = Pod { node: Some(assumed.node.clone()), ..(**pod).clone() };
        desk.wake(Change::Deleted(&Object::Pod(Box::new(freed))));
    }
}

/// Whether a request that failed may have been done all the same: its answer was lost, or an earlier try of it came through.
fn may_be_done(error: &Error) -> bool {
    matches!(error, Error::Unknown(_) | Error::Conflict(_))
}
