//! What the scheduler says about pods: events, and the condition PodScheduled.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_api::kinds::Pod as ApiPod;
use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::model::Pod;
use plimsoll_runtime::{About, Backoff, Context, Error, Mirror, Next, Queue, Recorder, Resource, Severity};
use serde_json::{Value, json};

use crate::world::World;

/// How many conditions are written at a time: pods that fit nowhere come in bursts.
const WIDTH: usize = 16;
/// Longer messages of events are cut, as upstream's are.
const LONGEST_NOTE: usize = 1024;

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

/// A condition that is to be written.
#[derive(Clone, Debug)]
struct Wanted {
    uid: Name,
    reason: Reason,
    message: String,
}

/// Says things about pods.
#[derive(Clone)]
pub(crate) struct Reporter {
    inner: Arc<Inner>,
}

struct Inner {
    context: Context,
    recorder: Recorder,
    pods: Arc<Mirror<ApiPod>>,
    /// The newest of each pod: one that was overtaken is never written.
    wanted: Mutex<BTreeMap<ObjectKey, Wanted>>,
    queue: Arc<Queue<ObjectKey>>,
}

impl Reporter {
    pub(crate) fn start(context: &Context, recorder: Recorder, world: &World) -> Self {
        let inner = Arc::new(Inner {
            context: context.clone(),
            recorder,
            pods: world.pods.clone(),
            wanted: Mutex::default(),
            queue: Queue::new(Backoff::default()),
        });
        let (writer, stop) = (inner.clone(), context.tasks.token());
        context.tasks.spawn("conditions", async move {
            writer.queue.run(WIDTH, stop, |key| writer.write(key)).await;
        });
        Self { inner }
    }

    /// A pod has its node.
    pub(crate) fn scheduled(&self, pod: &Pod, node: &str) {
        let message = format!("Successfully assigned {} to {node}", pod.key);
        self.lock().remove(&pod.key);
        self.inner.recorder.event(&about(pod), Severity::Normal, "Scheduled", &message);
    }

    /// A pod has none.
    pub(crate) fn failed(&self, pod: &Pod, reason: Reason, message: &str) {
        let note: String = message.chars().take(LONGEST_NOTE).collect();
        self.inner.recorder.event(&about(pod), Severity::Warning, "FailedScheduling", &note);
        let wanted = Wanted { uid: pod.uid.clone(), reason, message: message.to_owned() };
        self.lock().insert(pod.key.clone(), wanted);
        self.inner.queue.add(pod.key.clone());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<ObjectKey, Wanted>> {
        self.inner.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Writes a pod's condition, unless it says so already or the pod has moved on.
    async fn write(&self, key: ObjectKey) -> Result<Next, Error> {
        let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        let (Some(wanted), Some(pod)) = (wanted, self.pods.get(&key)) else { return Ok(Next::Done) };
        let meta = &pod.metadata;
        if *meta.uid != *wanted.uid || !pod.spec.node_name.is_empty() {
            self.done(&key, &wanted);
            return Ok(Next::Done);
        }
        let condition = pod.status.conditions.iter().find(|c| c.kind == "PodScheduled");
        let as_it_is = condition
            .is_some_and(|c| c.status == "False" && c.reason == wanted.reason.as_str() && c.message == wanted.message);
        if !as_it_is {
            let since = condition.filter(|c| c.status == "False").map(|c| c.last_transition_time.clone());
            let since = since.unwrap_or_else(|| {
                self.context.clock.now().round(jiff::Unit::Second).map(|t| t.to_string()).unwrap_or_default()
            });
            let patch = json!({"metadata": {"uid": meta.uid}, "status": {"conditions": [{
                "type": "PodScheduled", "status": "False", "reason": wanted.reason.as_str(), "message": wanted.message,
                "lastProbeTime": null, "lastTransitionTime": since, "observedGeneration": meta.generation}]}});
            let objects = self.context.objects();
            match objects.merge_lists::<Value>(Resource::PODS, &key.namespace, &key.name, "status", &patch).await {
                Ok(_) | Err(Error::NotFound(_) | Error::Conflict(_) | Error::Invalid(_)) => {}
                Err(error) => return Err(error),
            }
        }
        self.done(&key, &wanted);
        Ok(Next::Done)
    }

    /// Forgets what was written, unless something newer is to be said by now.
    fn done(&self, key: &ObjectKey, written: &Wanted) {
        let mut all = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        if all.get(key).is_some_and(|w| w.uid == written.uid && w.message == written.message) {
            all.remove(key);
        }
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
