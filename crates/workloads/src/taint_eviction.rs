//! Pods that do not stand the taints of their node: deleted at once, or after as long as they can stand them.
//!
//! ```text
//!                       a NoExecute taint comes
//!   at peace ──────────────────────────────────────► on notice ── time is over ──► evicted
//!      ▲  ▲        tolerated for some seconds            │                            ▲
//!      │  └──────── the taint goes: event ───────────────┘                            │
//!      └─ tolerated for ever      not tolerated ──────────────────────────────────────┘
//! ```
//! The time counts from when this process first saw it, as upstream's does: a process that was away must not evict at its start
//! what the nodes had no time to answer for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_api::kinds::{Node, Pod, Taint};
use plimsoll_clock::Clock;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::write::{Part, Writer};
use plimsoll_runtime::{
    About, Backoff, Change, Context, Error, Mirrored, Next, Objects, Queue, Recorder, Resource, Severity, Whole,
};
use serde::Deserialize;
use tokio::time::Instant;

use crate::conditions::{self, Said};
use crate::remove::{Only, remove};
use crate::world::World;

/// What the events of this controller have as their source; upstream's name.
pub const COMPONENT: &str = "taint-eviction-controller";
const REASON: &str = "TaintManagerEviction";
/// Pods at a time.
const WORKERS: usize = 8;

struct Eviction {
    world: World,
    pods: Writer<Pod>,
    objects: Objects,
    recorder: Recorder,
    clock: Clock,
    queue: Arc<Queue<ObjectKey>>,
    /// When pods are to be evicted, and of which uid they are.
    notices: Mutex<BTreeMap<ObjectKey, Notice>>,
}

#[derive(Clone, Debug)]
struct Notice {
    uid: String,
    at: Instant,
    /// Whether it was said that the time is over.
    told: bool,
}

/// Begins to evict. Must be called before the world is started.
pub fn start(context: &Context, world: &World) {
    let eviction = Arc::new(Eviction {
        world: world.clone(),
        pods: Writer::new(context, &world.pods),
        objects: context.objects(),
        recorder: Recorder::new(context, COMPONENT),
        clock: context.clock.clone(),
        queue: Queue::named(Backoff::default(), "noexec_taint_pod", &context.metrics),
        notices: Mutex::default(),
    });
    let told = eviction.clone();
    world.nodes.listen(move |change| told.hear_of_node(change));
    let told = eviction.clone();
    world.pods.listen(move |change| told.hear_of_pod(change));
    let stop = context.tasks.token();
    context.tasks.spawn("taint-eviction", async move {
        tokio::select! {
            () = stop.cancelled() => return,
            () = async { eviction.world.nodes.synced().await; eviction.world.pods.synced().await } => {}
        }
        eviction.queue.run(WORKERS, stop.clone(), |key| eviction.pod(key)).await;
    });
}

impl Eviction {
    fn hear_of_node(&self, change: &Change<Whole<Node>>) {
        let Change::Set { old, new } = change else {
            // Its pods are the garbage collector's now; those on notice stay so.
            return;
        };
        let keys = |node: &Whole<Node>| -> Vec<(String, String)> {
            executing(&node.slim).map(|t| (t.key.clone(), t.value.clone())).collect()
        };
        if old.as_ref().map(|old| keys(old)).unwrap_or_default() != keys(new) {
            for pod in self.world.pods_on.pods(&new.meta().name) {
                self.queue.add(pod);
            }
        }
    }

    fn hear_of_pod(&self, change: &Change<Whole<Pod>>) {
        let key = match change {
            Change::Set { old, new } => {
                let node = &new.slim.spec.node_name;
                let stays = old.as_ref().filter(|old| old.slim.spec.node_name == *node);
                // On a node without such taints, none of this matters.
                let tainted =
                    || self.world.nodes.named(node).is_some_and(|node| executing(&node.slim).next().is_some());
                if stays.is_some_and(|old| !tainted() || tolerations(old) == tolerations(new)) {
                    return;
                }
                key_of(&**new)
            }
            Change::Gone { old } => key_of(&**old),
        };
        self.queue.add(key);
    }

    async fn pod(&self, key: ObjectKey) -> Result<Next, Error> {
        let pod = self.world.pods.get(&key).filter(|pod| !pod.meta().deletion_timestamp.0);
        let Some(pod) = pod else {
            self.cancel(&key);
            return Ok(Next::Done);
        };
        let node = Some(&pod.slim.spec.node_name).filter(|name| !name.is_empty());
        let Some(node) = node.and_then(|name| self.world.nodes.named(name)) else {
            let at = self.notices().get(&key).filter(|notice| notice.uid == pod.meta().uid).map(|notice| notice.at);
            return match at {
                Some(at) => self.evict_at(&key, &pod, at).await,
                None => Ok(Next::Done),
            };
        };
        let taints: Vec<&Taint> = executing(&node.slim).collect();
        if taints.is_empty() {
            self.cancel(&key);
            return Ok(Next::Done);
        }
        let tolerations = tolerations(&pod);
        match patience(&taints, &tolerations) {
            Patience::Endless => {
                self.cancel(&key);
                Ok(Next::Done)
            }
            Patience::For(time) => {
                let now = Instant::now();
                // Longer than the clock reaches is for ever.
                let Some(end) = now.checked_add(time) else {
                    self.cancel(&key);
                    return Ok(Next::Done);
                };
                let at = {
                    let mut notices = self.notices();
                    let fresh = Notice { uid: pod.meta().uid.clone(), at: end, told: false };
                    let notice = notices.entry(key.clone()).or_insert_with(|| fresh.clone());
                    if notice.uid != fresh.uid {
                        *notice = fresh;
                    } else if time.is_zero() {
                        notice.at = notice.at.min(now);
                    }
                    notice.at
                };
                self.evict_at(&key, &pod, at).await
            }
        }
    }

    async fn evict_at(&self, key: &ObjectKey, pod: &Arc<Whole<Pod>>, at: Instant) -> Result<Next, Error> {
        let left = at.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            return Ok(Next::After(left));
        }
        let news = self.notices().get_mut(key).is_some_and(|notice| !std::mem::replace(&mut notice.told, true));
        if news {
            self.say(key, &format!("Marking for deletion Pod {key}"));
        }
        let why = Said::disrupted("DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint");
        let now = self.clock.now();
        match self.pods.change(pod, Part::Status, |pod| conditions::set(pod, why, now)).await {
            Ok(pod) => {
                let done = remove(&self.objects, &self.world.pods, &pod, Only::Same).await?;
                let stays = |now: &Whole<Pod>| now.meta().uid == pod.meta().uid && !now.meta().deletion_timestamp.0;
                if !done && self.world.pods.get(key).is_some_and(|now| stays(&now)) {
                    return Err(Error::Conflict(format!("the pod {key} could not be deleted")));
                }
            }
            Err(Error::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
        self.notices().remove(key);
        Ok(Next::Done)
    }

    /// Takes a pod off notice.
    fn cancel(&self, key: &ObjectKey) {
        if self.notices().remove(key).is_some_and(|notice| !notice.told) {
            self.say(key, &format!("Cancelling deletion of Pod {key}"));
        }
    }

    fn say(&self, key: &ObjectKey, message: &str) {
        let about = About {
            resource: Resource::PODS,
            namespace: key.namespace.to_string(),
            name: key.name.to_string(),
            uid: String::new(),
            version: String::new(),
        };
        self.recorder.event(&about, Severity::Normal, REASON, message);
    }

    fn notices(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Notice>> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A toleration with how long it holds.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Toleration {
    key: String,
    operator: String,
    value: String,
    effect: String,
    toleration_seconds: Option<i64>,
}

impl Toleration {
    fn tolerates(&self, taint: &Taint) -> bool {
        let effect = self.effect.is_empty() || self.effect == taint.effect;
        let key = self.key.is_empty() || self.key == taint.key;
        let value = match self.operator.as_str() {
            "Exists" => true,
            "" | "Equal" => self.value == taint.value,
            _ => false,
        };
        effect && key && value
    }
}

fn tolerations(pod: &Whole<Pod>) -> Vec<Toleration> {
    serde_json::from_value(pod.value()["spec"]["tolerations"].take()).unwrap_or_default()
}

fn executing(node: &Node) -> impl Iterator<Item = &Taint> {
    node.spec.taints.iter().filter(|t| t.effect == "NoExecute")
}

/// How long a pod stands its node's taints.
#[derive(Debug, PartialEq, Eq)]
enum Patience {
    For(Duration),
    Endless,
}

/// By each taint's first toleration that fits; the shortest counts.
fn patience(taints: &[&Taint], tolerations: &[Toleration]) -> Patience {
    let mut shortest: Option<i64> = None;
    for taint in taints {
        let Some(used) = tolerations.iter().find(|t| t.tolerates(taint)) else {
            return Patience::For(Duration::ZERO);
        };
        if let Some(seconds) = used.toleration_seconds {
            shortest = Some(shortest.map_or(seconds, |s| s.min(seconds)));
        }
    }
    shortest.map_or(Patience::Endless, |s| Patience::For(Duration::from_secs(u64::try_from(s).unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_shortest_toleration_counts() {
        let taint = |key: &str, value: &str| Taint { key: key.into(), value: value.into(), effect: "NoExecute".into() };
        let (a, b) = (taint("a", "1"), taint("b", ""));
        let both = [&a, &b];
        let seconds = |s| Patience::For(Duration::from_secs(s));
        for (taints, tolerations, wanted) in [
            (&both[..1], json!([]), seconds(0)),
            (&both[..1], json!([{"operator": "Exists"}]), Patience::Endless),
            (
                &both[..1],
                json!([{"key": "a", "operator": "Equal", "value": "1", "effect": "NoExecute"}]),
                Patience::Endless,
            ),
            (&both[..1], json!([{"key": "a", "value": "2"}]), seconds(0)),
            (&both[..1], json!([{"key": "a", "operator": "Exists", "effect": "NoSchedule"}]), seconds(0)),
            (&both[..1], json!([{"key": "a", "operator": "Exists", "tolerationSeconds": 30}]), seconds(30)),
            (&both[..1], json!([{"key": "a", "operator": "Exists", "tolerationSeconds": -3}]), seconds(0)),
            (&both[..], json!([{"key": "a", "operator": "Exists", "tolerationSeconds": 30}]), seconds(0)),
            (
                &both[..],
                json!([{"key": "a", "operator": "Exists", "tolerationSeconds": 30},
                       {"key": "b", "operator": "Exists", "tolerationSeconds": 20}]),
                seconds(20),
            ),
            (
                &both[..],
                json!([{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists", "tolerationSeconds": 20}]),
                seconds(20),
            ),
        ] {
            let parsed: Vec<Toleration> = serde_json::from_value(tolerations.clone()).unwrap();
            assert_eq!(patience(taints, &parsed), wanted, "{tolerations}");
        }
    }
}
