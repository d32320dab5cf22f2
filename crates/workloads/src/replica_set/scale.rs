//! Makes what is missing and deletes what is too many.

use std::sync::Arc;

use futures_util::future::join_all;
use plimsoll_api::kinds::Pod;
use plimsoll_runtime::write::about;
use plimsoll_runtime::{Error, Mirrored, Whole};
use serde_json::Value;

use super::ranking::{Crowds, first_to_go};
use super::{Replicated, Sets, Trouble};
use crate::children::Owner;
use crate::pods::{generated, is_active};

/// How many pods of a set are made or deleted at one look, at most: others have their turn in between.
const BURST: usize = 500;

impl<T: Replicated> Sets<T> {
    /// Brings the active pods nearer to the number that the set asks for, and `active` to what there is then. Returns what
    /// went wrong.
    pub(super) async fn scale(
        &self,
        set: &Arc<Whole<T>>,
        value: &Value,
        owner: &Owner,
        active: &mut Vec<Arc<Whole<Pod>>>,
    ) -> Option<(Trouble, Error)> {
        let wanted = value["spec"]["replicas"].as_u64().map_or(1, |count| usize::try_from(count).unwrap_or(usize::MAX));
        if active.len() < wanted {
            let count = (wanted - active.len()).min(BURST);
            let error = self.make(set, value, owner, count, active).await?;
            Some((Trouble { reason: "FailedCreate", message: error.to_string() }, error))
        } else if active.len() > wanted {
            let count = (active.len() - wanted).min(BURST);
            let error = self.delete(set, count, active).await?;
            Some((Trouble { reason: "FailedDelete", message: format!("unable to delete pods: {error}") }, error))
        } else {
            None
        }
    }

    /// Makes pods in batches, each twice as large as the one before: where all would be refused for the same reason, few are.
    async fn make(
        &self,
        set: &Arc<Whole<T>>,
        value: &Value,
        owner: &Owner,
        count: usize,
        active: &mut Vec<Arc<Whole<Pod>>>,
    ) -> Option<Error> {
        let (of, pod) = (about(&**set), generated(owner, &value["spec"]["template"]));
        let (mut left, mut batch) = (count, 1);
        while left > 0 {
            batch = batch.min(left);
            let mut failed = None;
            let mut ends = false;
            for made in join_all((0..batch).map(|_| self.control.create(&of, &pod))).await {
                match made {
                    Ok(pod) => active.push(pod),
                    Err(error) if error.is_ending_namespace() => ends = true,
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
            if failed.is_some() || ends {
                return failed;
            }
            left -= batch;
            batch *= 2;
        }
        None
    }

    /// Deletes the pods that are missed least.
    async fn delete(&self, set: &Whole<T>, count: usize, active: &mut Vec<Arc<Whole<Pod>>>) -> Option<Error> {
        let going = first_to_go(active.clone(), count, &self.crowds(set), self.clock.now());
        let of = about(set);
        let results = join_all(going.iter().map(|pod| self.control.delete(&of, pod))).await;
        let mut failed = None;
        for (pod, result) in going.iter().zip(results) {
            match result {
                Ok(()) => active.retain(|other| !Arc::ptr_eq(other, pod)),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed
    }

    /// How many active pods of the set's family each node has.
    fn crowds(&self, set: &Whole<T>) -> Crowds {
        let mut crowds = Crowds::new();
        for kin in self.kin(set) {
            let pods = self.pods_of.get(&*self.pods, &kin.meta().uid);
            for pod in pods.iter().filter(|pod| is_active(&pod.slim)) {
                *crowds.entry(pod.slim.spec.node_name.clone()).or_default() += 1;
            }
        }
        crowds
    }
}
