//! Simulated nodes: what a kubelet does as the API server sees it, and nothing else, so that a real one can take the place.
//!
//! ```text
//!                    no room                        claim unbound, or the volume out of reach
//!        ┌──────────────────────────► Failed          ┌──────┐
//!        │                                            ▼      │ looked at again
//!   pod bound to the node ── admitted ──► Pending ────┴──────┘
//!        │                                   │ all volumes there
//!        │ deletion                          ▼
//!        └──────────────────────────────► Running ── deletion, grace over ──► gone
//! ```
//! A node registers itself, renews its lease, and reports its state once: reports that repeat the same are left out, so
//! that a cluster at rest is at rest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_api::interner::Interner;
use plimsoll_api::kinds::{CsiNode, Node, PersistentVolume, Pod};
use plimsoll_controllers::node_check;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_engine::model::Resources;
use plimsoll_engine::nodes::demand;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::write::about;
use plimsoll_runtime::{
    Backoff, Change, Context, Error, Mirror, Next, Objects, Queue, Recorder, Resource, Selection, Severity, Whole,
    reflect,
};
use serde_json::{Value, json};

use crate::component::Component;
use crate::laboratory::lock;

/// Where the nodes' leases are.
const LEASES: &str = "kube-node-lease";
/// How long a lease lasts, and how often it is renewed: a kubelet's.
const LEASE: Duration = Duration::from_secs(40);
const RENEW: Duration = Duration::from_secs(10);
/// How often a pod whose volumes are not there is looked at again.
const AGAIN: Duration = Duration::from_secs(2);
/// How often the same is said of a pod that waits: a kubelet waits about that long for volumes before it says so.
const COMPLAIN: Duration = Duration::from_secs(123);
/// How long an answer that did not come is waited for.
const RETRY: Duration = Duration::from_secs(1);
/// How long a pod has to end unless it says otherwise.
const GRACE: u64 = 30;

/// A node to be simulated.
#[derive(Clone, Debug)]
pub struct Machine {
    name: String,
    labels: BTreeMap<String, String>,
    allocatable: BTreeMap<String, String>,
}

impl Machine {
    /// A node with room for 110 pods, 8 cores and 32 GiB.
    pub fn new(name: &str) -> Self {
        let amounts = [("cpu", "8"), ("memory", "32Gi"), ("ephemeral-storage", "100Gi"), ("pods", "110")];
        let allocatable = amounts.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        let labels = BTreeMap::from([("kubernetes.io/hostname".to_owned(), name.to_owned())]);
        Self { name: name.to_owned(), labels, allocatable }
    }

    /// With a label.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// With this much of a resource.
    pub fn allocatable(mut self, resource: &str, amount: &str) -> Self {
        self.allocatable.insert(resource.to_owned(), amount.to_owned());
        self
    }

    /// The node as a component of a bed.
    pub fn component(self) -> Component {
        let name = format!("node-{}", self.name);
        Component::new(&name, move |context| live(self.clone(), context))
    }
}

/// Lives as a node until the context's tasks end.
pub async fn live(machine: Machine, context: Context) {
    let node = Arc::new(Simulated {
        objects: context.objects(),
        recorder: Recorder::new(&context, "kubelet"),
        pods: Mirror::new(),
        queue: Queue::new(Backoff::default()),
        admitted: Mutex::default(),
        said: Mutex::default(),
        machine,
        context,
    });
    node.clone().run().await;
}

struct Simulated {
    machine: Machine,
    context: Context,
    objects: Objects,
    recorder: Recorder,
    pods: Arc<Mirror<Whole<Pod>>>,
    queue: Arc<Queue<ObjectKey>>,
    /// The uids of pods that were given room in this life, though they may still wait for their volumes.
    admitted: Mutex<BTreeSet<String>>,
    /// Why pods wait, by their uids, and when that was said.
    said: Mutex<BTreeMap<String, (String, tokio::time::Instant)>>,
}

impl Simulated {
    async fn run(self: Arc<Self>) {
        while let Err(error) = self.register().await {
            tracing::warn!(node = self.machine.name, %error, "cannot register; trying again");
            tokio::time::sleep(RETRY).await;
        }
        let node = self.clone();
        self.context.tasks.spawn("heartbeat", async move { node.beat().await });
        let node = self.clone();
        self.pods.listen(move |change| match change {
            Change::Set { new, .. } => node.queue.add(key_of(&**new)),
            Change::Gone { old } => {
                lock(&node.admitted).remove(&old.slim.metadata.uid);
                lock(&node.said).remove(&old.slim.metadata.uid);
            }
        });
        let fields = format!("spec.nodeName={}", self.machine.name);
        reflect(&self.context, &self.pods, Selection { fields, ..Selection::default() });
        self.pods.synced().await;
        let stop = self.context.tasks.token();
        // One at a time, as a kubelet admits: two pods must not both be given the last of the room.
        self.queue.run(1, stop, |key| self.sync(key)).await;
    }

    /// Makes the Node, or brings back its labels and amounts where there is one of an earlier life.
    async fn register(&self) -> Result<(), Error> {
        let machine = &self.machine;
        let object = json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": machine.name, "labels": machine.labels}, "spec": {}});
        match self.objects.create::<Value>(Resource::NODES, "", &object).await {
            Ok(_) => {}
            Err(Error::AlreadyExists(_)) => {
                let patch = json!({"metadata": {"labels": machine.labels}});
                self.objects.merge::<Value>(Resource::NODES, "", &machine.name, "", &patch).await?;
            }
            Err(error) => return Err(error),
        }
        let now = self.context.clock.now().to_string();
        let ready = json!({"type": "Ready", "status": "True", "reason": "KubeletReady",
            "message": "kubelet is posting ready status", "lastHeartbeatTime": now, "lastTransitionTime": now});
        let status = json!({"status": {"capacity": machine.allocatable, "allocatable": machine.allocatable,
            "conditions": [ready]}});
        self.objects.merge::<Value>(Resource::NODES, "", &machine.name, "status", &status).await?;
        Ok(())
    }

    async fn beat(&self) {
        loop {
            if let Err(error) = self.renew().await {
                tracing::debug!(node = self.machine.name, %error, "the lease is not renewed");
            }
            tokio::time::sleep(RENEW).await;
        }
    }

    async fn renew(&self) -> Result<(), Error> {
        let name = &self.machine.name;
        let spec = json!({"holderIdentity": name, "leaseDurationSeconds": LEASE.as_secs(),
            "renewTime": micro_time(&self.context)});
        match self.objects.get::<Value>(Resource::LEASES, LEASES, name).await? {
            Some(mut lease) => {
                lease["spec"] = spec;
                self.objects.replace::<Value>(Resource::LEASES, &lease).await?;
            }
            None => {
                let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                    "metadata": {"name": name, "namespace": LEASES}, "spec": spec});
                self.objects.create::<Value>(Resource::LEASES, LEASES, &lease).await?;
            }
        }
        Ok(())
    }

    async fn sync(&self, key: ObjectKey) -> Result<Next, Error> {
        let Some(pod) = self.pods.get(&key) else { return Ok(Next::Done) };
        let value = pod.value();
        if value["metadata"]["deletionTimestamp"].is_string() {
            return self.end(&pod, &value).await;
        }
        match pod.slim.status.phase.as_str() {
            "Running" | "Succeeded" | "Failed" => Ok(Next::Done),
            _ => self.begin(&pod, value).await,
        }
    }

    async fn begin(&self, pod: &Arc<Whole<Pod>>, mut value: Value) -> Result<Next, Error> {
        let uid = pod.slim.metadata.uid.as_str();
        let admitted = lock(&self.admitted).contains(uid);
        if let Some((resource, message)) = self.lacks(pod).filter(|_| !admitted) {
            let reason = format!("OutOf{resource}");
            self.recorder.event(&about(&**pod), Severity::Warning, &reason, &message);
            value["status"] =
                json!({"phase": "Failed", "reason": reason, "message": format!("Pod was rejected: {message}")});
            return self.report(&value).await;
        }
        lock(&self.admitted).insert(uid.to_owned());
        if let Err(why) = self.volumes(pod).await? {
            self.complain(pod, why);
            return Ok(Next::After(AGAIN));
        }
        let now = self.context.clock.now().to_string();
        let condition = |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": now});
        let containers: Vec<Value> = value["spec"]["containers"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|container| {
                json!({"name": container["name"], "image": container["image"], "imageID": "", "ready": true,
                       "restartCount": 0, "started": true, "state": {"running": {"startedAt": now}}})
            })
            .collect();
        let scheduled = value["status"]["conditions"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|c| c["type"] == "PodScheduled")
            .cloned()
            .unwrap_or_else(|| condition("PodScheduled"));
        value["status"] = json!({"phase": "Running", "startTime": now, "containerStatuses": containers,
            "conditions": [scheduled, condition("Initialized"), condition("ContainersReady"), condition("Ready")]});
        self.report(&value).await
    }

    /// Says why a pod waits: at once where it is news, and otherwise as seldom as a kubelet does.
    fn complain(&self, pod: &Whole<Pod>, why: String) {
        let mut said = lock(&self.said);
        let now = tokio::time::Instant::now();
        let uid = pod.slim.metadata.uid.clone();
        if said.get(&uid).is_some_and(|(before, at)| *before == why && now - *at < COMPLAIN) {
            return;
        }
        self.recorder.event(&about(pod), Severity::Warning, node_check::REASON, &why);
        said.insert(uid, (why, now));
    }

    async fn report(&self, value: &Value) -> Result<Next, Error> {
        match self.objects.replace_status::<Value>(Resource::PODS, value).await {
            Ok(_) | Err(Error::NotFound(_)) => Ok(Next::Done),
            Err(error) => Err(error),
        }
    }

    /// The first resource that the pod asks for and the node does not have, with a kubelet's words.
    fn lacks(&self, pod: &Arc<Whole<Pod>>) -> Option<(String, String)> {
        let mut names = Interner::new();
        let asked = demand::asked(&pod.slim.to_engine(&mut names).ok()?);
        let room = self.node().to_engine(&mut names).ok()?.allocatable;
        let mut used = Resources::default();
        let mut count = 0;
        for other in self.pods.all() {
            let (uid, phase) = (&other.slim.metadata.uid, other.slim.status.phase.as_str());
            let mine = *uid == pod.slim.metadata.uid || matches!(phase, "Succeeded" | "Failed");
            if !mine
                && (phase == "Running" || lock(&self.admitted).contains(uid))
                && let Ok(other) = other.slim.to_engine(&mut names)
            {
                used.add(&demand::asked(&other));
                count += 1;
            }
        }
        let say = |name: &str, requested: i64, used: i64, capacity: i64| {
            let lacking = requested > 0 && used + requested > capacity;
            lacking.then(|| {
                let message = format!(
                    "Node didn't have enough resource: {name}, requested: {requested}, used: {used}, capacity: {capacity}"
                );
                (name.to_owned(), message)
            })
        };
        say("pods", 1, count, room.pods)
            .or_else(|| say("cpu", asked.cpu_milli, used.cpu_milli, room.cpu_milli))
            .or_else(|| say("memory", asked.memory, used.memory, room.memory))
            .or_else(|| {
                say("ephemeral-storage", asked.ephemeral_storage, used.ephemeral_storage, room.ephemeral_storage)
            })
            .or_else(|| {
                let scalar = |name: &str| say(name, asked.scalar(name), used.scalar(name), room.scalar(name));
                asked.scalar.keys().find_map(|name| scalar(name))
            })
    }

    fn node(&self) -> Node {
        let object = json!({"metadata": {"name": self.machine.name, "labels": self.machine.labels},
            "status": {"allocatable": self.machine.allocatable}});
        // It is written three lines above, so that it can be read is known.
        serde_json::from_value(object).unwrap_or_default()
    }

    /// Whether every volume of the pod can be mounted here; otherwise why not.
    async fn volumes(&self, pod: &Whole<Pod>) -> Result<Result<(), String>, Error> {
        let meta = &pod.slim.metadata;
        for entry in &pod.slim.spec.volumes {
            let claim = match (&entry.persistent_volume_claim, &entry.ephemeral) {
                (Some(source), _) => source.claim_name.clone(),
                (None, Some(_)) => format!("{}-{}", meta.name, entry.name),
                (None, None) => continue,
            };
            if let Err(why) = self.volume(meta, &claim, entry.ephemeral.is_some()).await? {
                return Ok(Err(why));
            }
        }
        Ok(Ok(()))
    }

    async fn volume(
        &self,
        pod: &plimsoll_api::kinds::ObjectMeta,
        claim: &str,
        ephemeral: bool,
    ) -> Result<Result<(), String>, Error> {
        let refuse = |why: &str| {
            let message =
                format!("Unable to attach or mount volumes: error processing PVC {}/{claim}: {why}", pod.namespace);
            Ok(Err(message))
        };
        let found = self.objects.get::<Value>(Resource::CLAIMS, &pod.namespace, claim).await?;
        let Some(found) = found else { return refuse("PVC is not there") };
        let owned = |claim: &Value| {
            claim["metadata"]["ownerReferences"].as_array().into_iter().flatten().any(|o| o["uid"] == pod.uid.as_str())
        };
        if ephemeral && !owned(&found) {
            return refuse("PVC was not created for the pod");
        }
        if found["status"]["phase"] != "Bound" {
            return refuse("PVC is not bound");
        }
        let name = found["spec"]["volumeName"].as_str().unwrap_or_default();
        let volume = self.objects.get::<PersistentVolume>(Resource::VOLUMES, "", name).await?;
        let Some(volume) = volume else { return refuse("its volume is not there") };
        let uid = volume.spec.claim_ref.as_ref().map(|reference| reference.uid.as_str());
        if uid != found["metadata"]["uid"].as_str() {
            return refuse("its volume has another claim");
        }
        let csi_node = self.objects.get::<CsiNode>(Resource::CSI_NODES, "", &self.machine.name).await?;
        Ok(node_check::check(&volume, &self.node(), csi_node.as_ref()).map_err(|refused| refused.message))
    }

    /// Ends a pod: one that runs has its grace first, one that never ran has not.
    async fn end(&self, pod: &Whole<Pod>, value: &Value) -> Result<Next, Error> {
        let meta = &value["metadata"];
        let now = self.context.clock.now();
        let grace = meta["deletionGracePeriodSeconds"].as_u64().unwrap_or(GRACE);
        // The server says when the grace is over.
        let over = meta["deletionTimestamp"].as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok());
        if pod.slim.status.phase == "Running"
            && grace > 0
            && let Some(over) = over.filter(|over| *over > now)
        {
            let left = over.duration_since(now).unsigned_abs();
            return Ok(Next::After(left));
        }
        let slim = &pod.slim.metadata;
        let path = Resource::PODS.path(&slim.namespace, &slim.name);
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0,
            "preconditions": {"uid": slim.uid}});
        match self.objects.send::<Value>(http::Method::DELETE, &path, Some(&options)).await {
            Ok(_) | Err(Error::NotFound(_) | Error::Conflict(_)) => Ok(Next::Done),
            Err(error) => Err(error),
        }
    }
}

/// The time as leases carry it.
fn micro_time(context: &Context) -> String {
    let now = context.clock.now();
    let (seconds, micros) = (now.as_second(), now.subsec_nanosecond() / 1000);
    let whole = jiff::Timestamp::from_second(seconds).map(|t| t.to_string()).unwrap_or_default();
    format!("{}.{micros:06}Z", whole.trim_end_matches('Z'))
}
