//! Pods that no job will count: the finalizer that waits for that would keep them for ever.

use plimsoll_api::kinds::Pod;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::{Error, Mirrored, Next, Resource, Whole};
use serde_json::json;

use super::Jobs;
use super::member::{TRACKING, is_tracked};
use super::spec::{Spec, Status};
use crate::children::controller_key;

impl Jobs {
    /// Has every pod of a job that is over, or gone, looked at.
    pub(super) fn release_all(&self, uid: &str) {
        for key in self.world.pods_of.of_owner(uid) {
            if self.world.pods.get(&key).is_some_and(|pod| is_tracked(pod.meta())) {
                self.orphans.add(key);
            }
        }
    }

    /// Takes the finalizer off one pod, unless its job will.
    pub(super) async fn release_orphan(&self, key: ObjectKey) -> Result<Next, Error> {
        let Some(pod) = self.world.pods.get(&key).filter(|pod| is_tracked(pod.meta())) else { return Ok(Next::Done) };
        if self.will_be_counted(&key).await? {
            return Ok(Next::Done);
        }
        self.release(&pod).await.map(|()| Next::Done)
    }

    async fn will_be_counted(&self, key: &ObjectKey) -> Result<bool, Error> {
        let Some(pod) = self.world.pods.get(key) else { return Ok(true) };
        let Some(owner) = pod.meta().controller() else { return Ok(false) };
        let Some(job) = controller_key(pod.meta(), Resource::JOBS) else {
            // Another kind of owner knows what the finalizer is there for.
            return Ok(true);
        };
        let found = match self.world.jobs.get(&job).filter(|job| job.meta().uid == owner.uid) {
            Some(found) => Some(found),
            // The mirror may be behind, and a finalizer that is gone does not come back.
            None => self.jobs.look(&job.namespace, &job.name).await?.filter(|job| job.meta().uid == owner.uid),
        };
        let Some(found) = found else { return Ok(false) };
        let mut value = found.value();
        let spec = serde_json::from_value::<Spec>(value["spec"].take()).unwrap_or_default();
        let status = serde_json::from_value::<Status>(value["status"].take()).unwrap_or_default();
        Ok(spec.is_managed_elsewhere() || status.finished().is_none())
    }

    /// Takes the finalizer off a pod. The mirror knows when this returns, also of a pod that is gone.
    pub(super) async fn release(&self, pod: &Whole<Pod>) -> Result<(), Error> {
        let meta = pod.meta();
        let patch = json!({"metadata": {"uid": meta.uid, "$deleteFromPrimitiveList/finalizers": [TRACKING]}});
        self.change(meta, &patch).await.map(|_| ())
    }
}
