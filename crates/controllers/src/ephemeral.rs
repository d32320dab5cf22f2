//! Ephemeral claims: a pod with a generic ephemeral volume gets the claim that its template describes.
//!
//! ```text
//!                                    ┌── not the pod's own: Warning FailedBinding, tried again
//!   pod comes, claim goes ─► claim? ─┼── the pod's own: done
//!                                    └── none: read the pod ─┬─ it is gone, going or another: done
//!                                                            └─ create ─► AlreadyExists: read the claim, and judge it
//! ```
//!
//! The claim's name says all: a create that is repeated after a crash or a lost answer meets the first one's claim.
//! Deletion is the garbage collector's, by the owner reference.

use std::sync::Arc;

use plimsoll_api::kinds::{PersistentVolumeClaim, Pod};
use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::{Backoff, Change, Context, Error, Next, Objects, Queue, Recorder, Resource, Severity};
use prometheus_client::metrics::counter::Counter;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::protection::pods::{Pods, claim_name, owns};
use crate::world::{Claim, World};
use plimsoll_runtime::write::{Writer, about};

/// What the events of this controller have as their source; upstream's name.
pub const COMPONENT: &str = "ephemeral_volume";
/// The reason of events about claims that cannot be made.
const FAILED: &str = "FailedBinding";

/// How ephemeral claims are made.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Pods at a time (`--concurrent-ephemeralvolume-syncs`).
    pub workers: usize,
}

impl Default for Options {
    /// Upstream's.
    fn default() -> Self {
        Self { workers: 5 }
    }
}

struct Ephemeral {
    world: World,
    objects: Objects,
    claims: Writer<PersistentVolumeClaim>,
    recorder: Recorder,
    created: Counter,
    failed: Counter,
}

/// Begins to make claims. Must be called before the world is started.
pub fn start(context: &Context, world: &World, options: Options) {
    let queue = Queue::<ObjectKey>::named(Backoff::default(), COMPONENT, &context.metrics);
    let pods = Pods::of(&world.pods);
    let wanted = queue.clone();
    world.pods.listen(move |change| {
        // A pod's volumes never change; another pod under the same name is news even where its predecessor's end was missed.
        if let Change::Set { old, new } = change
            && old.as_ref().is_none_or(|old| old.metadata.uid != new.metadata.uid)
            && is_wanted(new)
        {
            wanted.add(key_of(&**new));
        }
    });
    let (wanted, all) = (queue.clone(), world.pods.clone());
    world.claims.listen(move |change| {
        let gone = match change {
            Change::Gone { old } => old,
            Change::Set { old: Some(old), new } if old.slim.metadata.uid != new.slim.metadata.uid => old,
            Change::Set { .. } => return,
        };
        let key = key_of(&**gone);
        for usage in pods.of_claim(&key).iter().filter(|usage| usage.ephemeral.contains(&key.name)) {
            let pod = ObjectKey { namespace: key.namespace.clone(), name: usage.pod.clone() };
            if all.get(&pod).is_some_and(|pod| is_wanted(&pod)) {
                wanted.add(pod);
            }
        }
    });
    let total = "Number of PersistentVolumeClaim creation requests";
    let failures = "Number of PersistentVolumeClaim creation requests that failed";
    let ephemeral = Ephemeral {
        world: world.clone(),
        objects: context.objects(),
        claims: Writer::new(context, &world.claims),
        recorder: Recorder::new(context, COMPONENT),
        // The text form appends `_total`.
        created: context.metrics.register("ephemeral_volume_controller_create", total, Counter::default()),
        failed: context.metrics.register("ephemeral_volume_controller_create_failures", failures, Counter::default()),
    };
    let stop = context.tasks.token();
    context.tasks.spawn("ephemeral-volume", async move {
        tokio::select! {
            () = stop.cancelled() => return,
            () = ephemeral.world.pods.synced() => {}
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = ephemeral.world.claims.synced() => {}
        }
        queue.run(options.workers.max(1), stop.clone(), |key| ephemeral.pod(key)).await;
    });
}

fn is_wanted(pod: &Pod) -> bool {
    !pod.metadata.deletion_timestamp.0 && pod.spec.volumes.iter().any(|v| v.ephemeral.is_some())
}

/// Why a volume's claim is not there. The text is upstream's.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("PVC {0} was not created for pod {1} (pod is not owner)")]
    NotOwner(ObjectKey, ObjectKey),
    #[error("create PVC {0}: {1}")]
    Create(Name, Error),
    #[error("{0}")]
    Read(Error),
}

impl Trouble {
    /// What the work queue is told: how long to wait is said by the API server's error, where it is one.
    fn into_error(self) -> Error {
        match self {
            Self::Create(_, error) | Self::Read(error) => error,
            Self::NotOwner(..) => Error::Conflict(self.to_string()),
        }
    }
}

impl Ephemeral {
    /// Looks at one pod. Like upstream's, it stops at the first volume that fails: what the pod needs is all of them.
    async fn pod(&self, key: ObjectKey) -> Result<Next, Error> {
        let Some(pod) = self.world.pods.get(&key).filter(|pod| is_wanted(pod)) else { return Ok(Next::Done) };
        // Read once for all volumes that need it. The mirror keeps no templates: they are large, and needed once.
        let mut live = None;
        for volume in pod.spec.volumes.iter().filter(|v| v.ephemeral.is_some()) {
            match self.volume(&key, &pod, &volume.name, &mut live).await {
                Ok(Found::Claim) => {}
                Ok(Found::NoPod) => return Ok(Next::Done),
                Err(trouble) => {
                    let message = format!("ephemeral volume {}: {trouble}", volume.name);
                    self.recorder.event(&about(&*pod), Severity::Warning, FAILED, &message);
                    return Err(trouble.into_error());
                }
            }
        }
        Ok(Next::Done)
    }

    async fn volume(
        &self,
        key: &ObjectKey,
        pod: &Pod,
        volume: &str,
        live: &mut Option<Value>,
    ) -> Result<Found, Trouble> {
        let name = claim_name(&pod.metadata.name, volume);
        let claim = ObjectKey { namespace: key.namespace.clone(), name: name.clone() };
        if let Some(found) = self.world.claims.get(&claim) {
            return judge(key, pod, &found);
        }
        if live.is_none() {
            let read = self.objects.get::<Value>(Resource::PODS, &key.namespace, &key.name).await;
            let Some(read) = read.map_err(Trouble::Read)? else { return Ok(Found::NoPod) };
            *live = Some(read);
        }
        let Some(live) = live.as_ref() else { return Ok(Found::NoPod) };
        let meta = &live["metadata"];
        if meta["uid"] != json!(pod.metadata.uid) || !meta["deletionTimestamp"].is_null() {
            // The mirror is behind: what it will learn brings the pod back here, if it is to.
            return Ok(Found::NoPod);
        }
        let Some(object) = claim_of(live, volume) else { return Ok(Found::Claim) };
        self.created.inc();
        match self.objects.create::<Box<RawValue>>(Resource::CLAIMS, &key.namespace, &object).await {
            Ok(raw) => self.claims.learn(&raw).map(|_| Found::Claim).map_err(Trouble::Read),
            Err(Error::AlreadyExists(message)) => {
                self.failed.inc();
                // Ours after all, if an answer was lost or the watch is behind.
                match self.claims.look(&key.namespace, &name).await.map_err(Trouble::Read)? {
                    Some(found) => judge(key, pod, &found),
                    None => Err(Trouble::Create(name, Error::AlreadyExists(message))),
                }
            }
            Err(error) => {
                self.failed.inc();
                Err(Trouble::Create(name, error))
            }
        }
    }
}

enum Found {
    Claim,
    /// The pod is gone, or going, or not the one that the mirror has.
    NoPod,
}

fn judge(key: &ObjectKey, pod: &Pod, claim: &Arc<Claim>) -> Result<Found, Trouble> {
    if owns(&pod.metadata.uid, &claim.slim.metadata) {
        return Ok(Found::Claim);
    }
    Err(Trouble::NotOwner(key_of(&**claim), key.clone()))
}

/// The claim of a pod's ephemeral volume: the template's labels, annotations and spec, owned by the pod. `None` where the
/// pod has no such volume.
fn claim_of(pod: &Value, volume: &str) -> Option<Value> {
    let volumes = pod["spec"]["volumes"].as_array()?;
    let found = volumes.iter().find(|v| v["name"] == json!(volume))?;
    let template = &found["ephemeral"]["volumeClaimTemplate"];
    let name = pod["metadata"]["name"].as_str()?;
    let mut meta = json!({
        "name": claim_name(name, volume).as_ref(),
        "ownerReferences": [{
            "apiVersion": "v1",
            "kind": "Pod",
            "name": name,
            "uid": pod["metadata"]["uid"],
            "controller": true,
            "blockOwnerDeletion": true,
        }],
    });
    for field in ["labels", "annotations"] {
        if !template["metadata"][field].is_null() {
            meta[field] = template["metadata"][field].clone();
        }
    }
    let spec = template.get("spec").cloned().unwrap_or_else(|| json!({}));
    Some(json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_claim_is_the_templates_and_the_pods() {
        let spec = json!({"accessModes": ["ReadWriteOnce"], "dataSource": {"kind": "VolumeSnapshot"}, "unheard": 1});
        let pod = json!({
            "metadata": {"name": "p", "namespace": "n", "uid": "u", "labels": {"not": "these"}},
            "spec": {"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {
                "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "name": "ignored"}, "spec": spec}}}]},
        });
        let claim = claim_of(&pod, "v").unwrap();
        assert_eq!(
            claim["metadata"],
            json!({
                "name": "p-v", "labels": {"a": "b"}, "annotations": {"c": "d"},
                "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u",
                                     "controller": true, "blockOwnerDeletion": true}],
            })
        );
        assert_eq!(claim["spec"], spec);
        assert!(claim_of(&pod, "w").is_none());
    }

    #[test]
    fn troubles_are_told_in_upstreams_words() {
        let (claim, pod) = (ObjectKey::new("n", "p-v"), ObjectKey::new("n", "p"));
        let text = Trouble::NotOwner(claim, pod).to_string();
        assert_eq!(text, "PVC n/p-v was not created for pod n/p (pod is not owner)");
        let text = Trouble::Create("p-v".into(), Error::Forbidden("no".to_owned())).to_string();
        assert_eq!(text, "create PVC p-v: no");
    }
}
