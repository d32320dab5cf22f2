//! Pods that were to be disrupted, and are still there: after a while that is no longer said of them.

use std::time::Duration;

use jiff::Timestamp;
use plimsoll_api::kinds::Pod;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::write::Part;
use plimsoll_runtime::{Error, Next};

use super::Disruption;
use crate::conditions::{self, Said};
use crate::{pods, times};

/// How long a pod may be said to be disrupted without being deleted, in seconds.
const STALE: i64 = 120;

/// How long until a pod is no longer said to be disrupted; `None` where it is not, or rightly is. What a kubelet says stays:
/// it may take its time.
pub(super) fn wait(pod: &Pod, now: Timestamp) -> Option<Duration> {
    if pod.metadata.deletion_timestamp.0 || pods::is_done(pod) {
        return None;
    }
    let said = pod.status.conditions.iter().find(|c| c.kind == "DisruptionTarget" && c.status == "True")?;
    if said.reason == "TerminationByKubelet" {
        return None;
    }
    let since = times::read(&said.last_transition_time).unwrap_or(Timestamp::UNIX_EPOCH);
    Some(times::until(times::plus(since, STALE), now).unwrap_or_default())
}

impl Disruption {
    pub(super) async fn clean(&self, key: ObjectKey) -> Result<Next, Error> {
        let Some(pod) = self.world.pods.get(&key) else { return Ok(Next::Done) };
        let now = self.clock.now();
        match wait(&pod.slim, now) {
            None => return Ok(Next::Done),
            Some(left) if left > Duration::ZERO => return Ok(Next::After(left)),
            Some(_) => {}
        }
        let no = Said { kind: "DisruptionTarget", status: "False", reason: "", message: "" };
        match self.pods.change(&pod, Part::Status, |pod| conditions::set(pod, no, now)).await {
            Ok(_) | Err(Error::NotFound(_)) => Ok(Next::Done),
            Err(error) => Err(error),
        }
    }
}
