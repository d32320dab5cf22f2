//! Deleting pods so that the mirror knows at once: the next look must not count, nor delete, what is on its way out.

use plimsoll_api::kinds::Pod;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::write::Writer;
use plimsoll_runtime::{Context, Error, Mirrored, Objects, Resource, Whole};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::world;

/// Deletes pods.
#[derive(Clone)]
pub struct Removal {
    objects: Objects,
    pods: world::Objects<Pod>,
    writer: Writer<Pod>,
}

impl Removal {
    /// For the pods of this mirror.
    pub fn new(context: &Context, pods: &world::Objects<Pod>) -> Self {
        Self { objects: context.objects(), pods: pods.clone(), writer: Writer::new(context, pods) }
    }

    /// Deletes a pod: that one, and no other of its name. `grace` is how long it is given; `None` is what it asks for itself.
    /// Returns whether it was there to be deleted.
    pub async fn delete(&self, pod: &Whole<Pod>, grace: Option<i64>) -> Result<bool, Error> {
        let meta = pod.meta();
        let mut options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": meta.uid}});
        if let Some(grace) = grace {
            options["gracePeriodSeconds"] = json!(grace);
        }
        let path = Resource::PODS.path(&meta.namespace, &meta.name);
        match self.objects.send::<Box<RawValue>>(http::Method::DELETE, &path, Some(&options)).await {
            Ok(answer) => {
                self.learn(pod, &answer);
                Ok(true)
            }
            // Gone, or another has the name by now.
            Err(Error::NotFound(_) | Error::Conflict(_)) => {
                self.writer.look(&meta.namespace, &meta.name).await?;
                self.pods.gone(&key_of(pod), meta.version());
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// The answer is the pod: as it waits for its end, or as it was at its end.
    fn learn(&self, pod: &Whole<Pod>, answer: &RawValue) {
        let value: Value = serde_json::from_str(answer.get()).unwrap_or_default();
        if is_still_there(&value) {
            // It cannot be unreadable: it was read before.
            let _ = self.writer.learn(answer);
        } else if value["kind"] == "Pod" {
            let version = value["metadata"]["resourceVersion"].as_str().and_then(|v| v.parse().ok()).unwrap_or(0);
            self.pods.gone(&key_of(pod), version);
        }
    }
}

/// Whether a pod that was deleted is kept a while, by its grace or by its finalizers.
fn is_still_there(pod: &Value) -> bool {
    let meta = &pod["metadata"];
    let kept = meta["deletionGracePeriodSeconds"].as_i64().is_some_and(|grace| grace > 0)
        || meta["finalizers"].as_array().is_some_and(|f| !f.is_empty());
    meta["deletionTimestamp"].is_string() && kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grace_and_finalizers_keep_a_pod() {
        for (meta, there) in [
            (json!({"deletionTimestamp": "t", "deletionGracePeriodSeconds": 30}), true),
            (json!({"deletionTimestamp": "t", "deletionGracePeriodSeconds": 0}), false),
            (json!({"deletionTimestamp": "t", "deletionGracePeriodSeconds": 0, "finalizers": ["f"]}), true),
            (json!({"deletionTimestamp": "t", "deletionGracePeriodSeconds": 0, "finalizers": []}), false),
            (json!({"finalizers": ["f"]}), false),
            (json!({}), false),
        ] {
            assert_eq!(is_still_there(&json!({"metadata": meta})), there, "{meta}");
        }
    }
}
