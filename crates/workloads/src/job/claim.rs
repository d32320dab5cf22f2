//! Which pods are a job's. As for other workloads, except that the tracking finalizer comes and goes with the owner: a pod that
//! is adopted is counted, one that is let go is not.

use plimsoll_api::kinds::ObjectMeta;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::{Error, Mirrored, Resource};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::Jobs;
use super::member::{Member, TRACKING};
use crate::children::{Owner, matches};
use crate::kinds::Job;

impl Jobs {
    /// The pods of a job, with those that it adopts now and without those that it lets go.
    pub(super) async fn claim(&self, owner: &Owner, job: &Job) -> Result<Vec<Member>, Error> {
        let Some(selector) = &job.0.selector else { return Ok(Vec::new()) };
        let mut members = Vec::new();
        for key in self.world.pods_of.of_owner(&owner.uid) {
            let Some(pod) = self.world.pods.get(&key) else { continue };
            if matches(selector, pod.meta()) {
                members.push(Member::new(pod));
            } else if !owner.deleting {
                let reference = json!({"$patch": "delete", "uid": owner.uid});
                let patch = json!({"metadata": {"uid": pod.meta().uid, "ownerReferences": [reference],
                    "$deleteFromPrimitiveList/finalizers": [TRACKING]}});
                self.change(pod.meta(), &patch).await?;
            }
        }
        let mut may_adopt = None;
        for key in if owner.deleting { Vec::new() } else { self.world.pods_of.orphans(&owner.namespace) } {
            let Some(pod) = self.world.pods.get(&key) else { continue };
            let meta = pod.meta();
            if meta.deletion_timestamp.0 || !matches(selector, meta) {
                continue;
            }
            if may_adopt.is_none() {
                may_adopt = Some(self.still_lives(owner).await?);
            }
            if may_adopt == Some(true) {
                let patch = json!({"metadata": {"uid": meta.uid, "ownerReferences": [owner.reference()],
                    "finalizers": [TRACKING]}});
                match self.change(meta, &patch).await {
                    Ok(adopted) => members.extend(adopted),
                    // Somebody else's by now: the watch will tell.
                    Err(Error::Invalid(_)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(members)
    }

    /// Whether a job is there and stays: asked before the first adoption, since the mirror may be behind.
    async fn still_lives(&self, owner: &Owner) -> Result<bool, Error> {
        let live = self.objects.get::<Value>(Resource::JOBS, &owner.namespace, &owner.name).await?;
        Ok(live.is_some_and(|live| {
            live["metadata"]["uid"] == owner.uid.as_str() && live["metadata"]["deletionTimestamp"].is_null()
        }))
    }

    /// Changes a pod's metadata. `None` where it is gone, or another has its name by now; the mirror knows that then. A refusal of a
    /// pod that is there is no answer: what was asked for is not done.
    pub(super) async fn change(&self, meta: &ObjectMeta, patch: &Value) -> Result<Option<Member>, Error> {
        let answer = self.objects.merge_lists::<Box<RawValue>>(Resource::PODS, &meta.namespace, &meta.name, "", patch);
        let error = match answer.await {
            Ok(raw) => return Ok(Some(Member::new(self.pods.learn(&raw)?))),
            Err(error @ (Error::NotFound(_) | Error::Conflict(_) | Error::Invalid(_))) => error,
            Err(error) => return Err(error),
        };
        match self.pods.look(&meta.namespace, &meta.name).await? {
            Some(pod) if pod.meta().uid == meta.uid => Err(error),
            _ => {
                let key = ObjectKey::new(meta.namespace.as_str(), meta.name.as_str());
                self.world.pods.gone(&key, meta.version());
                Ok(None)
            }
        }
    }
}
