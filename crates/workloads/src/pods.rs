//! Pods of workloads: made from a template, deleted, counted as ready or available.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use plimsoll_api::kinds::Pod;
use plimsoll_runtime::write::{Writer, about};
use plimsoll_runtime::{About, Context, Error, Objects, Recorder, Resource, Severity, Whole};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::children::Owner;
use crate::remove::{Only, remove};
use crate::world;

/// The longest name that an object may have.
const LONGEST_NAME: usize = 253;

/// Makes and deletes the pods of one controller's workloads, and says so in events.
#[derive(Clone)]
pub struct PodControl {
    objects: Objects,
    pods: Writer<Pod>,
    mirror: world::Objects<Pod>,
    recorder: Recorder,
}

impl PodControl {
    /// For a controller; `component` is what its events have as their source.
    pub fn new(context: &Context, pods: &world::Objects<Pod>, component: &str) -> Self {
        Self {
            objects: context.objects(),
            pods: Writer::new(context, pods),
            mirror: pods.clone(),
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
                if !error.is_ending_namespace() {
                    self.recorder.event(of, Severity::Warning, "FailedCreate", &format!("Error creating: {error}"));
                }
                Err(error)
            }
        }
    }

    /// Deletes a pod, that one and no other of its name. One that is gone is no trouble. The mirror knows of it when this
    /// returns.
    pub async fn delete(&self, of: &About, pod: &Whole<Pod>) -> Result<(), Error> {
        match remove(&self.objects, &self.mirror, pod, Only::Same).await {
            Ok(false) => Ok(()),
            Ok(true) => {
                let message = format!("Deleted pod: {}", pod.slim.metadata.name);
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
    // As pretty as upstream's, also where a dash more would be too long.
    let dash = if owner.name.len() < LONGEST_NAME { "-" } else { "" };
    pod["metadata"]["generateName"] = json!(format!("{}{dash}", owner.name));
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

/// Whether a pod is on its way out and still has something to end.
pub fn is_terminating(pod: &Pod) -> bool {
    !is_done(pod) && pod.metadata.deletion_timestamp.0
}

/// Whether a pod is ready.
pub fn is_ready(pod: &Pod) -> bool {
    ready_since(pod).is_some()
}

/// Since when a pod is ready, as written; empty where it does not say, `None` where it is not.
pub fn ready_since(pod: &Pod) -> Option<&str> {
    let ready = pod.status.conditions.iter().find(|c| c.kind == "Ready")?;
    (ready.status == "True").then_some(ready.last_transition_time.as_str())
}

/// Whether a pod is available: ready for at least so many seconds.
pub fn is_available(pod: &Pod, min_ready_seconds: i64, now: Timestamp) -> bool {
    is_ready(pod) && (min_ready_seconds == 0 || available_in(pod, min_ready_seconds, now) == Some(Duration::ZERO))
}

/// How long until a ready pod is available; nothing where it is already. `None` where time alone will not make it so.
pub fn available_in(pod: &Pod, min_ready_seconds: i64, now: Timestamp) -> Option<Duration> {
    let since = ready_since(pod)?.parse::<Timestamp>().ok()?;
    let at = since.checked_add(SignedDuration::from_secs(min_ready_seconds)).ok()?;
    Some(Duration::try_from(at.duration_since(now)).unwrap_or(Duration::ZERO))
}

/// A moment as objects say it: whole seconds.
pub fn moment(now: Timestamp) -> String {
    // Cut off, not rounded: nothing may seem to have happened later than it did.
    Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

/// What an event about a workload refers to.
pub fn about_whole<T: plimsoll_runtime::Mirrored>(object: &Whole<T>) -> About {
    about(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(value: Value) -> Pod {
        serde_json::from_value(value).unwrap()
    }

    fn ready(status: &str, since: &str) -> Pod {
        let condition = json!({"type": "Ready", "status": status, "lastTransitionTime": since});
        pod(
            json!({"status": {"phase": "Running", "conditions": [{"type": "Initialized", "status": "True"}, condition]}}),
        )
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_pod_counts_until_it_ends_or_is_deleted() {
        for (phase, deleted, active, terminating) in [
            ("Pending", false, true, false),
            ("Running", false, true, false),
            ("Unknown", false, true, false),
            ("Succeeded", false, false, false),
            ("Failed", false, false, false),
            ("Running", true, false, true),
            ("Failed", true, false, false),
        ] {
            let time = deleted.then_some("2026-01-01T00:00:00Z");
            let pod = pod(json!({"metadata": {"deletionTimestamp": time}, "status": {"phase": phase}}));
            assert_eq!((is_active(&pod), is_terminating(&pod)), (active, terminating), "{phase} {deleted}");
        }
    }

    #[test]
    fn a_pod_is_available_after_its_time() {
        let pod = ready("True", "2026-01-01T00:00:10Z");
        let now = at("2026-01-01T00:00:14.5Z");
        assert!(is_ready(&pod) && is_available(&pod, 0, now) && is_available(&pod, 4, now));
        assert!(!is_available(&pod, 5, now));
        assert_eq!(available_in(&pod, 5, now), Some(Duration::from_millis(500)));
        assert_eq!(available_in(&pod, 4, now), Some(Duration::ZERO));
        // At the very moment it is.
        assert!(is_available(&pod, 5, at("2026-01-01T00:00:15Z")));
        assert!(!is_ready(&ready("False", "2026-01-01T00:00:10Z")));
        // Without a time it is never available where some is asked for.
        assert!(is_available(&ready("True", ""), 0, now) && !is_available(&ready("True", ""), 1, now));
        assert_eq!(available_in(&ready("True", ""), 1, now), None);
    }

    #[test]
    fn a_pod_is_its_templates_and_its_owners() {
        let owner = Owner {
            resource: Resource::REPLICA_SETS,
            namespace: "n".to_owned(),
            name: "web-1".to_owned(),
            uid: "u".to_owned(),
            deleting: false,
        };
        let template = json!({"metadata": {"labels": {"app": "web"}, "annotations": {"a": "b"}, "name": "ignored",
            "creationTimestamp": null, "finalizers": null}, "spec": {"containers": [{"name": "c", "unheard": 1}]}});
        let pod = generated(&owner, &template);
        assert_eq!(
            pod["metadata"],
            json!({"namespace": "n", "generateName": "web-1-", "labels": {"app": "web"}, "annotations": {"a": "b"},
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "u",
                                     "controller": true, "blockOwnerDeletion": true}]})
        );
        assert_eq!(pod["spec"], template["spec"]);
    }

    #[test]
    fn a_moment_is_whole_seconds() {
        assert_eq!(moment(at("2026-01-01T00:00:14.9Z")), "2026-01-01T00:00:14Z");
    }
}
