//! Many machines in one process: one watch of pods and one of nodes, one queue, and one task for all leases.
//!
//! ```text
//!   watch of pods ──► mirror ──► by node ──┐
//!                                          ├──► queue ──► some workers ──► the API
//!   watch of nodes ─► mirror ──────────────┘      ▲
//!                                                 └── what becomes due: an end, a restart, a report
//!   every 10 s ─────► all leases, in one go ──────────────────────────────► the API
//! ```
//! A fleet at rest costs its leases, and every five minutes a status of each node.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_api::kinds::{Node, Pod};
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::reflector::RELIST;
use plimsoll_runtime::write::Writer;
use plimsoll_runtime::{
    Backoff, Change, Context, Error, Mirror, Next, Objects, Queue, Recorder, Selection, Whole, reflect,
};

use super::kubelet::Kubelet;
use super::machine::Machine;
use crate::component::Component;
use crate::laboratory::lock;

/// How many things are worked on at a time: enough to keep a server busy that flushes many writes at once.
const WORKERS: usize = 32;
/// How many machines say things through one recorder: each writes its events one after the other.
const MACHINES_PER_RECORDER: usize = 25;

/// Machines that are simulated together.
#[derive(Clone, Debug)]
pub struct Fleet {
    machines: Vec<Machine>,
    relist: Duration,
}

impl Fleet {
    /// These machines. In a row of several, each has the network of pods of its place unless it has one of its own.
    pub fn of(machines: impl IntoIterator<Item = Machine>) -> Self {
        let mut machines: Vec<Machine> = machines.into_iter().collect();
        if machines.len() > 1 {
            for (number, machine) in machines.iter_mut().enumerate() {
                machine.place_by_default(u16::try_from(number).unwrap_or(u16::MAX));
            }
        }
        Self { machines, relist: RELIST }
    }

    /// Lists everything again after this long, in case a watch skipped something.
    pub fn relist(mut self, relist: Duration) -> Self {
        self.relist = relist;
        self
    }

    /// The machines.
    pub fn machines(&self) -> &[Machine] {
        &self.machines
    }

    /// The fleet as one component of a bed: all its machines live and die together.
    pub fn component(self, name: &str) -> Component {
        Component::new(name, move |context| self.clone().live(context))
    }

    /// Lives until the context's tasks end.
    pub async fn live(self, context: Context) {
        Site::new(self, context).run().await;
    }
}

/// What there is to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Work {
    /// A node is to be registered, or its status may have to be reported.
    Node(String),
    /// A pod is to be brought on.
    Pod(ObjectKey),
}

/// The machines at work.
pub(super) struct Site {
    pub(super) context: Context,
    pub(super) objects: Objects,
    pub(super) kubelets: BTreeMap<String, Kubelet>,
    pub(super) pods: Arc<Mirror<Whole<Pod>>>,
    pub(super) nodes: Arc<Mirror<Whole<Node>>>,
    pub(super) pod_writer: Writer<Pod>,
    pub(super) node_writer: Writer<Node>,
    pub(super) queue: Arc<Queue<Work>>,
    /// The pods of each node: what happens to a node costs its pods, not all there are.
    by_node: Mutex<BTreeMap<String, BTreeSet<ObjectKey>>>,
    relist: Duration,
}

impl Site {
    fn new(fleet: Fleet, context: Context) -> Arc<Self> {
        let mut kubelets = BTreeMap::new();
        for some in fleet.machines.chunks(MACHINES_PER_RECORDER) {
            let recorder = Recorder::new(&context, "kubelet");
            for machine in some {
                kubelets.insert(machine.name.clone(), Kubelet::new(machine.clone(), recorder.clone()));
            }
        }
        let (pods, nodes) = (Mirror::new(), Mirror::new());
        Arc::new(Self {
            objects: context.objects(),
            pod_writer: Writer::new(&context, &pods),
            node_writer: Writer::new(&context, &nodes),
            queue: Queue::new(Backoff::default()),
            by_node: Mutex::default(),
            relist: fleet.relist,
            context,
            kubelets,
            pods,
            nodes,
        })
    }

    async fn run(self: Arc<Self>) {
        // The mirrors are the site's: they must not keep it alive in turn.
        let site = Arc::downgrade(&self);
        self.nodes.listen(move |change| site.upgrade().into_iter().for_each(|site| site.node_changed(change)));
        let site = Arc::downgrade(&self);
        self.pods.listen(move |change| site.upgrade().into_iter().for_each(|site| site.pod_changed(change)));
        let stop = self.context.tasks.token();
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = self.learn() => {}
        }
        self.kubelets.keys().for_each(|name| self.queue.add(Work::Node(name.clone())));
        let (site, stopped) = (self.clone(), stop.clone());
        self.context.tasks.spawn("leases", async move {
            tokio::select! {
                biased;
                () = stopped.cancelled() => {}
                () = site.beat() => {}
            }
        });
        self.queue.run(WORKERS, stop, |work| self.work(work)).await;
    }

    /// Begins to follow nodes and pods, and is done when all that there are are known: who has a seat must be known before
    /// another is given one.
    async fn learn(&self) {
        // One machine has its own pods sent; a fleet all that are anywhere.
        let alone = self.kubelets.keys().next().filter(|_| self.kubelets.len() == 1);
        let (nodes, pods) = match alone {
            Some(name) => (format!("metadata.name={name}"), format!("spec.nodeName={name}")),
            None => (String::new(), "spec.nodeName!=".to_owned()),
        };
        reflect(&self.context, &self.nodes, Selection { fields: nodes, relist: self.relist });
        self.nodes.synced().await;
        reflect(&self.context, &self.pods, Selection { fields: pods, relist: self.relist });
        self.pods.synced().await;
    }

    async fn work(&self, work: Work) -> Result<Next, Error> {
        match work {
            Work::Node(name) => match self.kubelets.get(&name) {
                Some(kubelet) => self.sync_node(kubelet).await,
                None => Ok(Next::Done),
            },
            Work::Pod(key) => self.sync_pod(&key).await,
        }
    }

    fn node_changed(&self, change: &Change<Whole<Node>>) {
        let node = match change {
            Change::Set { new, .. } => new,
            Change::Gone { old } => old,
        };
        let Some(kubelet) = self.kubelets.get(&node.slim.metadata.name) else { return };
        let another = match change {
            Change::Set { .. } => kubelet.note_node(node),
            Change::Gone { .. } => {
                kubelet.note_gone();
                true
            }
        };
        self.queue.add(Work::Node(kubelet.name().to_owned()));
        if another {
            self.look_at_pods_of(kubelet);
        }
    }

    fn pod_changed(&self, change: &Change<Whole<Pod>>) {
        let pod = match change {
            Change::Set { new, .. } => new,
            Change::Gone { old } => old,
        };
        let node = &pod.slim.spec.node_name;
        let Some(kubelet) = self.kubelets.get(node) else { return };
        let (key, uid) = (key_of(&**pod), pod.slim.metadata.uid.as_str());
        let mut by_node = lock(&self.by_node);
        match change {
            Change::Set { .. } => {
                by_node.entry(node.clone()).or_default().insert(key.clone());
                drop(by_node);
                let status = &pod.slim.status;
                let holds = !status.start_time.is_empty() && !is_over(&status.phase);
                let mut seats = lock(&kubelet.seats);
                if holds && !seats.has(uid) {
                    // Once in a life, for pods that an earlier one admitted.
                    let address = pod.value()["status"]["podIP"].as_str().and_then(|ip| ip.parse::<Ipv4Addr>().ok());
                    seats.restore(&pod.slim, address.and_then(|ip| kubelet.machine.pod_of(ip)));
                }
                drop(seats);
                self.queue.add(Work::Pod(key));
            }
            Change::Gone { .. } => {
                if let Some(keys) = by_node.get_mut(node) {
                    keys.remove(&key);
                }
                drop(by_node);
                kubelet.forget(uid);
            }
        }
    }

    /// Wants every pod of a node looked at.
    pub(super) fn look_at_pods_of(&self, kubelet: &Kubelet) {
        let keys: Vec<ObjectKey> = lock(&self.by_node).get(kubelet.name()).into_iter().flatten().cloned().collect();
        keys.into_iter().for_each(|key| self.queue.add(Work::Pod(key)));
    }
}

/// Whether a pod in this phase has ended.
pub(super) fn is_over(phase: &str) -> bool {
    matches!(phase, "Succeeded" | "Failed")
}
