//! Pods of workloads: made from a template, deleted, counted as ready or available.

use std::sync::Arc;

use jiff::Timestamp;
use plimsoll_api::kinds::Pod;
use plimsoll_runtime::write::{Writer, about};
use plimsoll_runtime::{About, Context, Error, Objects, Preconditions, Recorder, Resource, Severity, Whole};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::children::Owner;
use crate::world;

/// Makes and deletes the pods of one controller's workloads, and says so in events.
#[derive(Clone)]
pub struct PodControl {
    objects: Objects,
    pods: Writer<Pod>,
    recorder: Recorder,
}

impl PodControl {
    /// For a controller; `component` is what its events have as their source.
    pub fn new(context: &Context, pods: &world::Objects<Pod>, component: &str) -> Self {
        Self {
            objects: context.objects(),
            pods: Writer::new(context, pods),
            recorder: Recorder::new(context, component),
        }
    }

    /// Who says what happens.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Makes a pod. The mirror knows of it when this returns. `of` is the workload that the events are about.
    pub async fn create(&self, of: &About, pod: &Value) -> Result<Arc<Whole<Pod>>, Error> {
        match self.objects.create::<Box<RawValue>>(Resource::PODS, &of.namespace, pod).await {
            Ok(raw) => {
                let made = self.pods.learn(&raw)?;
                let message = format!("Created pod: {}", made.slim.metadata.name);
                self.recorder.event(of, Severity::Normal, "SuccessfulCreate", &message);
                Ok(made)
            }
            Err(error) => {
                self.recorder.event(of, Severity::Warning, "FailedCreate", &format!("Error creating: {error}"));
                Err(error)
            }
        }
    }

    /// Deletes a pod, that one and no other of its name. One that is gone is no trouble.
    pub async fn delete(&self, of: &About, pod: &Whole<Pod>) -> Result<(), Error> {
        let meta = &pod.slim.metadata;
        let only_if = Preconditions { uid: Some(meta.uid.clone()), version: None };
        match self.objects.delete(Resource::PODS, &meta.namespace, &meta.name, &only_if).await {
            // Another pod has the name by now.
            Err(Error::Conflict(_)) => Ok(()),
            Ok(()) => {
                let message = format!("Deleted pod: {}", meta.name);
                self.recorder.event(of, Severity::Normal, "SuccessfulDelete", &message);
                Ok(())
            }
            Err(error) => {
                self.recorder.event(of, Severity::Warning, "FailedDelete", &format!("Error deleting: {error}"));
                Err(error)
            }
        }
    }
}

/// The pod that a template describes, in the owner's namespace; it has no name yet.
pub fn from_template(owner: &Owner, template: &Value) -> Value {
    let mut meta = Map::new();
    for field in ["labels", "annotations", "finalizers"] {
        if let Some(value) = template["metadata"].get(field).filter(|v| !v.is_null()) {
            meta.insert(field.to_owned(), value.clone());
        }
    }
    meta.insert("namespace".to_owned(), json!(owner.namespace));
    meta.insert("ownerReferences".to_owned(), json!([owner.reference()]));
    let spec = template.get("spec").cloned().unwrap_or_else(|| json!({}));
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
}

/// The same, to be named by the API server after its owner.
pub fn generated(owner: &Owner, template: &Value) -> Value {
    let mut pod = from_template(owner, template);
    // A prefix that could not begin a name is left out by upstream, and the create then refused.
    pod["metadata"]["generateName"] = json!(format!("{}-", owner.name));
    pod
}

/// Whether a pod has ended, well or not.
pub fn is_done(pod: &Pod) -> bool {
    matches!(pod.status.phase.as_str(), "Succeeded" | "Failed")
}

/// Whether a pod counts for its owner: it has not ended and is not being deleted.
pub fn is_active(pod: &Pod) -> bool {
    !is_done(pod) && !pod.metadata.deletion_timestamp.0
}

/// Whether a pod is ready.
pub fn is_ready(pod: &Pod) -> bool {
    ready_since(pod).is_some()
}

/// Since when a pod is ready, as written; empty where it does not say.
fn ready_since(pod: &Pod) -> Option<&str> {
    let ready = pod.status.conditions.iter().find(|c| c.kind == "Ready" && c.status == "True")?;
    Some(&ready.last_transition_time)
}

/// Whether a pod is available: ready for at least so many seconds.
pub fn is_available(pod: &Pod, min_ready_seconds: i64, now: Timestamp) -> bool {
    let Some(since) = ready_since(pod) else { return false };
    if min_ready_seconds == 0 {
        return true;
    }
    let Ok(since) = since.parse::<Timestamp>() else { return false };
    now.duration_since(since).as_secs() >= min_ready_seconds
}

/// What an event about a workload refers to.
pub fn about_whole<T: plimsoll_runtime::Mirrored>(object: &Whole<T>) -> About {
    about(object)
}
