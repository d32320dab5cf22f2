//! Pods that nobody else will remove: on nodes that are gone, ended ones beyond what is kept, terminating ones that no kubelet has.
//!
//! ```text
//!   node not in the mirror, pods on it ──► in quarantine ── 40 s, and the API does not have it ──► its pods: Failed, deleted
//!                 ▲                             │
//!                 └──── the node is (back) there┘
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_api::kinds::{Node, ObjectMeta, Pod};
use plimsoll_clock::Clock;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::write::{Part, Writer};
use plimsoll_runtime::{Change, Context, Error, Mirrored, Objects, Resource, Whole};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::conditions::{self, Said};
use crate::pods;
use crate::world::World;

/// How often is looked.
const PERIOD: Duration = Duration::from_secs(20);
/// How long a node must be missing before the API is asked whether it is: the mirror of nodes may be behind that of pods.
const QUARANTINE: Duration = Duration::from_secs(40);
/// The taint by which a person says that a node will not come back as it was.
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// What is kept.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many ended pods are kept (`--terminated-pod-gc-threshold`); 0 is all of them.
    pub ended: usize,
}

impl Default for Options {
    /// Upstream's.
    fn default() -> Self {
        Self { ended: 12_500 }
    }
}

struct Collector {
    options: Options,
    world: World,
    objects: Objects,
    pods: Writer<Pod>,
    clock: Clock,
    /// Pods that may be rubbish: a look at all costs what these are, not what there is.
    suspects: Mutex<Suspects>,
}

#[derive(Default)]
struct Suspects {
    ended: BTreeSet<ObjectKey>,
    deleting: BTreeSet<ObjectKey>,
}

/// Begins to collect. Must be called before the world is started.
pub fn start(context: &Context, world: &World, options: Options) {
    let collector = Arc::new(Collector {
        options,
        world: world.clone(),
        objects: context.objects(),
        pods: Writer::new(context, &world.pods),
        clock: context.clock.clone(),
        suspects: Mutex::default(),
    });
    let told = collector.clone();
    world.pods.listen(move |change| {
        let (key, pod) = match change {
            Change::Set { new, .. } => (key_of(&**new), Some(&new.slim)),
            Change::Gone { old } => (key_of(&**old), None),
        };
        let mut suspects = told.suspects();
        keep(&mut suspects.ended, &key, pod.is_some_and(pods::is_done));
        keep(&mut suspects.deleting, &key, pod.is_some_and(|pod| pod.metadata.deletion_timestamp.0));
    });
    let stop = context.tasks.token();
    context.tasks.spawn("pod-gc", async move {
        tokio::select! {
            () = stop.cancelled() => return,
            () = async { collector.world.nodes.synced().await; collector.world.pods.synced().await } => {}
        }
        let mut quarantine = BTreeMap::new();
        loop {
            collector.collect(&mut quarantine).await;
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(PERIOD) => {}
            }
        }
    });
}

fn keep(set: &mut BTreeSet<ObjectKey>, key: &ObjectKey, there: bool) {
    if there {
        set.insert(key.clone());
    } else {
        set.remove(key);
    }
}

impl Collector {
    async fn collect(&self, quarantine: &mut BTreeMap<String, Instant>) {
        let mut rubbish = self.surplus();
        rubbish.extend(self.out_of_service());
        for pod in rubbish {
            self.remove(&pod, None).await;
        }
        for node in self.nodes_gone(quarantine).await {
            for key in self.world.pods_on.pods(&node) {
                if let Some(pod) = self.world.pods.get(&key) {
                    let why = Said::disrupted("DeletionByPodGC", "PodGC: node no longer exists");
                    self.remove(&pod, Some(why)).await;
                }
            }
        }
        for pod in self.unplaced() {
            self.remove(&pod, None).await;
        }
    }

    /// The ended pods beyond what is kept: evicted ones first, then the oldest.
    fn surplus(&self) -> Vec<Arc<Whole<Pod>>> {
        let suspects = self.suspects().ended.clone();
        let surplus = suspects.len().saturating_sub(self.options.ended);
        if self.options.ended == 0 || surplus == 0 {
            return Vec::new();
        }
        let mut ended: Vec<_> = suspects.iter().filter_map(|key| self.world.pods.get(key)).collect();
        ended.sort_by_cached_key(|pod| {
            let status = &pod.value()["status"];
            let evicted = status["phase"] == "Failed" && status["reason"] == "Evicted";
            (!evicted, pod.meta().creation_timestamp.clone(), pod.meta().name.clone())
        });
        ended.truncate(surplus);
        ended
    }

    fn deleting(&self) -> Vec<Arc<Whole<Pod>>> {
        let suspects = self.suspects().deleting.clone();
        suspects.iter().filter_map(|key| self.world.pods.get(key)).collect()
    }

    /// Terminating pods on nodes that a person has given up.
    fn out_of_service(&self) -> Vec<Arc<Whole<Pod>>> {
        let given_up = |node: &Whole<Node>| {
            node.slim.spec.taints.iter().any(|t| t.key == OUT_OF_SERVICE) && !is_ready(&node.value())
        };
        let mut pods = self.deleting();
        pods.retain(|pod| self.world.nodes.named(&pod.slim.spec.node_name).is_some_and(|node| given_up(&node)));
        pods
    }

    /// Terminating pods that never had a node.
    fn unplaced(&self) -> Vec<Arc<Whole<Pod>>> {
        let mut pods = self.deleting();
        pods.retain(|pod| pod.slim.spec.node_name.is_empty());
        pods
    }

    /// The nodes that have pods and do not exist, for sure.
    async fn nodes_gone(&self, quarantine: &mut BTreeMap<String, Instant>) -> Vec<String> {
        let now = Instant::now();
        let missing: BTreeSet<String> =
            self.world.pods_on.nodes().into_iter().filter(|name| self.world.nodes.named(name).is_none()).collect();
        quarantine.retain(|name, _| missing.contains(name));
        let mut gone = Vec::new();
        for name in missing {
            if *quarantine.entry(name.clone()).or_insert(now + QUARANTINE) > now {
                continue;
            }
            quarantine.remove(&name);
            match self.objects.get::<Value>(Resource::NODES, "", &name).await {
                Ok(None) => gone.push(name),
                Ok(Some(_)) => {}
                Err(error) => tracing::warn!(node = name, %error, "whether it is gone cannot be told; asking again"),
            }
        }
        gone
    }

    /// Removes a pod by force. One that has not ended has failed: no kubelet is left to say so.
    async fn remove(&self, pod: &Arc<Whole<Pod>>, why: Option<Said<'_>>) {
        let now = self.clock.now();
        let fail = |value: &mut Value| {
            value["status"]["phase"] = json!("Failed");
            if let Some(generation) = value["metadata"]["generation"].as_i64() {
                value["status"]["observedGeneration"] = json!(generation);
            }
            if let Some(why) = why {
                conditions::set(value, why, now);
            }
        };
        let removed = async {
            let mut pod = pod.clone();
            if !pods::is_done(&pod.slim) {
                pod = self.pods.change(&pod, Part::Status, fail).await?;
            }
            self.delete(pod.meta()).await
        };
        match removed.await {
            // Gone, or another has the name by now.
            Ok(()) | Err(Error::NotFound(_)) => {}
            Err(error) => {
                let meta = pod.meta();
                tracing::debug!(pod = meta.name, namespace = meta.namespace, %error, "cannot be removed; trying again");
            }
        }
    }

    /// By force: nobody is left who would end it in its own time.
    async fn delete(&self, meta: &ObjectMeta) -> Result<(), Error> {
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0,
            "preconditions": {"uid": meta.uid}});
        let path = Resource::PODS.path(&meta.namespace, &meta.name);
        self.objects.send::<Value>(http::Method::DELETE, &path, Some(&options)).await.map(|_| ())
    }

    fn suspects(&self) -> MutexGuard<'_, Suspects> {
        self.suspects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_ready(node: &Value) -> bool {
    let mut conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|c| c["type"] == "Ready" && c["status"] == "True")
}
