//! What the scheduler says about pods: events, the condition PodScheduled, and the node they are nominated to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_api::kinds::Pod as ApiPod;
use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::model::Pod;
use plimsoll_runtime::{
    About, Backoff, Context, Error, Mirror, Next, Pace, Queue, Resource, Saying, SeriesRecorder, Severity,
};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::traces::Reports;
use crate::world::World;

/// How many conditions are written at a time: pods that fit nowhere come in bursts.
const WIDTH: usize = 16;

/// How long a pod's volumes may take before it is written down where it is expected: most take less, and whoever makes nodes, or
/// takes them away, looks less often than that. It saves one call in four, and everybody's hearing of it.
const SHORT_WAIT: Duration = Duration::from_secs(1);

/// How many such writes are made: one each so long, and some more at once. Where many pods wait, it is mostly for an API server
/// that has too much to do already. Those that are left ask again when a pod would first ask, so all that a second allows may go
/// at once.
const EXPECTING: Duration = Duration::from_millis(100);
const EXPECTING_AT_ONCE: u32 = 9;

/// Why a pod is not scheduled, as its condition says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It fits nowhere.
    Unschedulable,
    /// Something went wrong.
    SchedulerError,
}

impl Reason {
    fn as_str(self) -> &'static str {
        match self {
            Self::Unschedulable => "Unschedulable",
            Self::SchedulerError => "SchedulerError",
        }
    }
}

/// What becomes of `status.nominatedNodeName`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Nominate {
    /// It stays as it is.
    Keep,
    /// It is taken away.
    Clear,
    /// It is this node.
    To(Name),
}

/// What is to be written into a pod's status.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    uid: Name,
    condition: Option<(Reason, String)>,
    nominate: Nominate,
}

impl Wanted {
    /// Puts something newer over it: what that leaves open stays as it was wanted before.
    fn overtaken_by(self, newer: Self) -> Self {
        if self.uid != newer.uid {
            return newer;
        }
        Self {
            uid: newer.uid,
            condition: newer.condition.or(self.condition),
            nominate: if newer.nominate == Nominate::Keep { self.nominate } else { newer.nominate },
        }
    }

    /// Whether it only says where the pod is expected.
    fn can_wait(&self) -> bool {
        self.condition.is_none() && matches!(self.nominate, Nominate::To(_))
    }

    /// The status with what is new, and nothing where that is as it should be.
    fn patch(&self, pod: &ApiPod, now: impl FnOnce() -> String) -> Option<Value> {
        let mut status = json!({});
        if let Some((reason, message)) = &self.condition {
            let known = pod.status.conditions.iter().find(|c| c.kind == "PodScheduled").filter(|c| c.status == "False");
            if !known.is_some_and(|c| c.reason == reason.as_str() && c.message == *message) {
                let since = known.map_or_else(now, |c| c.last_transition_time.clone());
                status["conditions"] = json!([{
                    "type": "PodScheduled", "status": "False", "reason": reason.as_str(), "message": message,
                    "lastProbeTime": null, "lastTransitionTime": since,
                    "observedGeneration": pod.metadata.generation}]);
            }
        }
        let nominated = pod.status.nominated_node_name.as_str();
        match &self.nominate {
            Nominate::Clear if !nominated.is_empty() => status["nominatedNodeName"] = Value::Null,
            Nominate::To(node) if **node != *nominated => status["nominatedNodeName"] = json!(&**node),
            Nominate::Keep | Nominate::Clear | Nominate::To(_) => {}
        }
        let nothing = status.as_object().is_none_or(serde_json::Map::is_empty);
        (!nothing).then_some(status)
    }
}

/// Says things about pods.
#[derive(Clone)]
pub(crate) struct Reporter {
    inner: Arc<Inner>,
}

struct Inner {
    context: Context,
    /// One for each profile: events say which scheduler speaks.
    recorders: BTreeMap<Name, SeriesRecorder>,
    pods: Arc<Mirror<ApiPod>>,
    /// The newest of each pod: one that was overtaken is never written.
    wanted: Mutex<BTreeMap<ObjectKey, Wanted>>,
    queue: Arc<Queue<ObjectKey>>,
    expecting: Mutex<Pace>,
    /// Those that spans are kept of.
    reports: Reports,
}

impl Reporter {
    /// Starts writing, for profiles of these names on this machine.
    pub(crate) fn start(context: &Context, names: &[Name], host: &str, world: &World) -> Self {
        let recorder = |name: &Name| (name.clone(), SeriesRecorder::new(context, name, host));
        let inner = Arc::new(Inner {
            context: context.clone(),
            recorders: names.iter().map(recorder).collect(),
            pods: world.pods.clone(),
            wanted: Mutex::default(),
            queue: Queue::new(Backoff::default()),
            expecting: Mutex::new(Pace::new(EXPECTING, EXPECTING_AT_ONCE, Instant::now())),
            reports: Reports::default(),
        });
        let (writer, stop) = (inner.clone(), context.tasks.token());
        context.tasks.spawn("conditions", async move {
            writer.queue.run(WIDTH, stop, |key| writer.write(key)).await;
        });
        Self { inner }
    }

    /// The reports that spans are kept of.
    pub(crate) fn reports(&self) -> &Reports {
        &self.inner.reports
    }

    /// A pod has its node.
    pub(crate) fn scheduled(&self, pod: &Pod, node: &str) {
        let note = format!("Successfully assigned {} to {node}", pod.key);
        self.lock().remove(&pod.key);
        let (about, severity) = (&about(pod), Severity::Normal);
        let saying = Saying { about, related: None, severity, reason: "Scheduled", action: "Binding", note: &note };
        self.say(&pod.scheduler, saying);
    }

    /// A pod has none.
    pub(crate) fn failed(&self, pod: &Pod, reason: Reason, message: &str, nominate: Nominate) {
        self.gone(pod, message);
        self.want(pod, Some((reason, message.to_owned())), nominate);
    }

    /// A pod went before it had a node: there is no condition left to write.
    pub(crate) fn gone(&self, pod: &Pod, note: &str) {
        let mut about = about(pod);
        // The newest version that is known, as upstream says it: the same words again under a newer one are another event.
        if let Some(known) = self.inner.pods.get(&pod.key).filter(|known| known.metadata.uid == *about.uid) {
            about.version = known.metadata.resource_version.clone();
        }
        let (about, severity) = (&about, Severity::Warning);
        let (reason, action) = ("FailedScheduling", "Scheduling");
        self.say(&pod.scheduler, Saying { about, related: None, severity, reason, action, note });
    }

    /// A pod is expected on a node as soon as its volumes are there.
    pub(crate) fn expect(&self, pod: &Pod, node: Name) {
        self.keep(pod, None, Nominate::To(node));
        self.inner.queue.add_after(pod.key.clone(), SHORT_WAIT);
    }

    /// A pod is expected on a node, or not any more.
    pub(crate) fn nominate(&self, pod: &Pod, nominate: Nominate) {
        self.want(pod, None, nominate);
    }

    /// A pod goes for another, whose scheduler says so.
    pub(crate) fn preempted(&self, pod: &Pod, preemptor: &Pod, note: &str) {
        let (victim, cause) = (about(pod), about(preemptor));
        let (severity, reason, action) = (Severity::Normal, "Preempted", "Preempting");
        let saying = Saying { about: &victim, related: Some(&cause), severity, reason, action, note };
        self.say(&preemptor.scheduler, saying);
    }

    fn say(&self, scheduler: &Name, saying: Saying<'_>) {
        if let Some(recorder) = self.inner.recorders.get(scheduler) {
            recorder.event(saying);
        }
    }

    /// The time, as conditions write it.
    pub(crate) fn now(&self) -> String {
        self.inner.now()
    }

    fn want(&self, pod: &Pod, condition: Option<(Reason, String)>, nominate: Nominate) {
        self.keep(pod, condition, nominate);
        self.inner.queue.add(pod.key.clone());
    }

    fn keep(&self, pod: &Pod, condition: Option<(Reason, String)>, nominate: Nominate) {
        let newer = Wanted { uid: pod.uid.clone(), condition, nominate };
        let mut all = self.lock();
        let wanted = match all.remove(&pod.key) {
            Some(before) => before.overtaken_by(newer),
            None => newer,
        };
        all.insert(pod.key.clone(), wanted);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<ObjectKey, Wanted>> {
        self.inner.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Writes what is wanted of a pod's status, unless it says so already or the pod has moved on. The write is conditional on
    /// the version that was looked at: one that is late must not say of a placed pod that it waits.
    async fn write(&self, key: ObjectKey) -> Result<Next, Error> {
        let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        let Some(wanted) = wanted else {
            // The pod has its node by now.
            self.reports.forget(&key);
            return Ok(Next::Done);
        };
        let waits = |pod: &ApiPod| *pod.metadata.uid == *wanted.uid && pod.spec.node_name.is_empty() && !pod.is_over();
        if let Some(pod) = self.pods.get(&key).filter(|pod| waits(pod))
            && let Some(status) = wanted.patch(&pod, || self.now())
        {
            if wanted.can_wait()
                && !self.expecting.lock().unwrap_or_else(PoisonError::into_inner).try_take(Instant::now())
            {
                return Ok(Next::After(SHORT_WAIT));
            }
            let meta = &pod.metadata;
            let patch =
                json!({"metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version}, "status": status});
            let objects = self.context.objects();
            let (namespace, name) = (&*key.namespace, &*key.name);
            match objects.merge_lists::<ApiPod>(Resource::PODS, namespace, name, "status", &patch).await {
                Ok(written) => self.learn(&key, written),
                Err(Error::NotFound(_) | Error::Invalid(_)) => {}
                Err(error) => {
                    if matches!(error, Error::Conflict(_))
                        && let Some(newer) = objects.get::<ApiPod>(Resource::PODS, namespace, name).await?
                    {
                        self.learn(&key, newer);
                    }
                    return Err(error);
                }
            }
        }
        let mut all = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        if all.get(&key) == Some(&wanted) {
            all.remove(&key);
        }
        drop(all);
        self.reports.done(&key, &self.context.spans);
        Ok(Next::Done)
    }

    /// Tells the mirror of a pod that was read or written. One that has ended is not in it, and the watch says nothing of it any
    /// more: put there, it would stay.
    fn learn(&self, key: &ObjectKey, pod: ApiPod) {
        if pod.is_over() {
            self.pods.gone(key, pod.metadata.version());
        } else {
            self.pods.set(Arc::new(pod));
        }
    }

    fn now(&self) -> String {
        self.context.clock.now().round(jiff::Unit::Second).map(|t| t.to_string()).unwrap_or_default()
    }
}

fn about(pod: &Pod) -> About {
    About {
        resource: Resource::PODS,
        namespace: pod.key.namespace.to_string(),
        name: pod.key.name.to_string(),
        uid: pod.uid.to_string(),
        version: pod.version.to_string(),
    }
}
