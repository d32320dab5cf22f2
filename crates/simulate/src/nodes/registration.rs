//! Registration: a node's Node and CSINode, and its status from then on.
//!
//! ```text
//!   (new life) ── is its Node there? ─┬─ no: make it ────────────────────────┐
//!                                     ├─ cut off: leave it as it is          ├──► CSINode, lease, on duty
//!                                     └─ yes: bring back labels and status ──┘
//!   on duty ── the status is another, or five minutes old ──► reported
//! ```

use std::time::Duration;

use plimsoll_api::names::MIGRATED_PLUGINS;
use plimsoll_runtime::{Error, Next, Resource};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::admission::has_amounts;
use super::fleet::Site;
use super::heartbeat::owner;
use super::kubelet::{Kubelet, Standing};
use super::machine::Machine;
use super::status::same;
use super::time;

/// How often a status that says the same is reported all the same: a kubelet's.
const REPORT: Duration = Duration::from_secs(300);
/// How often a kubelet looks whether its status says something else by now. Somebody who changes it again and again is not
/// answered faster.
const LOOK: Duration = Duration::from_secs(10);

/// Says that others attach the node's volumes.
const CONTROLLED_ATTACH: &str = "volumes.kubernetes.io/controller-managed-attach-detach";
/// The old plugins whose volumes are CSI drivers' now, as every kubelet of 1.37 has it.
const MIGRATED: &str = "kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/azure-file,kubernetes.io/cinder,\
                        kubernetes.io/gce-pd,kubernetes.io/portworx-volume,kubernetes.io/vsphere-volume";
/// Where a kubelet would listen. Nobody does.
const PORT: u16 = 10250;

/// The conditions that a kubelet reports: type, status, reason and message.
const CONDITIONS: [(&str, &str, &str, &str); 4] = [
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
];

/// What a new node says of itself beside that it starts.
const FIRST_EVENTS: [&str; 3] = ["NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID"];

impl Site {
    /// Registers a node, or reports its status where that is due.
    pub(super) async fn sync_node(&self, kubelet: &Kubelet) -> Result<Next, Error> {
        match kubelet.standing() {
            Standing::Unregistered => self.register(kubelet).await,
            Standing::OnDuty => self.report(kubelet).await,
            // Nobody hears a node that is cut off; one that lost its Node is not made again.
            Standing::CutOff | Standing::Deregistered(_) => Ok(Next::Done),
        }
    }

    async fn register(&self, kubelet: &Kubelet) -> Result<Next, Error> {
        let machine = &kubelet.machine;
        let made = match self.nodes.named(&machine.name) {
            Some(_) => false,
            None => self.make(kubelet).await?,
        };
        self.csi_node(kubelet).await?;
        self.renew(kubelet).await?;
        if !made {
            self.relabel(kubelet).await?;
        }
        // From here on nothing fails: what is left undone would not be done by the next try, which finds the node on duty.
        kubelet.registered();
        kubelet.say_of_node("Starting", "Starting kubelet.");
        if made {
            FIRST_EVENTS.iter().for_each(|state| kubelet.node_event(state));
            kubelet.note_report();
        }
        // Pods that were here before wait for this.
        self.look_at_pods_of(kubelet);
        self.report(kubelet).await
    }

    /// Makes the Node; false where there is one by now.
    async fn make(&self, kubelet: &Kubelet) -> Result<bool, Error> {
        let machine = &kubelet.machine;
        let object = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": machine.name, "labels": machine.labels,
                         "annotations": {CONTROLLED_ATTACH: "true"}},
            "spec": {}, "status": self.status(machine, &Value::Null),
        });
        match self.objects.create::<Box<RawValue>>(Resource::NODES, "", &object).await {
            Ok(raw) => self.node_writer.learn(&raw).map(|_| true),
            // The answer of an earlier try was lost, or the mirror is behind.
            Err(Error::AlreadyExists(_)) => self.node_writer.look("", &machine.name).await.map(|_| false),
            Err(error) => Err(error),
        }
    }

    /// Brings back the labels that are the machine's, on a Node of an earlier life.
    async fn relabel(&self, kubelet: &Kubelet) -> Result<(), Error> {
        let machine = &kubelet.machine;
        let Some(node) = self.nodes.named(&machine.name) else { return Ok(()) };
        let meta = &node.value()["metadata"];
        let same = machine.labels.iter().all(|(key, value)| meta["labels"][key] == value.as_str())
            && meta["annotations"][CONTROLLED_ATTACH] == "true";
        if same {
            return Ok(());
        }
        let patch = json!({"metadata": {"uid": node.slim.metadata.uid, "labels": machine.labels,
            "annotations": {CONTROLLED_ATTACH: "true"}}});
        let raw = self.objects.merge::<Box<RawValue>>(Resource::NODES, "", &machine.name, "", &patch).await?;
        self.node_writer.learn(&raw).map(|_| ())
    }

    /// Makes the CSINode, or brings back what is the machine's own.
    async fn csi_node(&self, kubelet: &Kubelet) -> Result<(), Error> {
        let machine = &kubelet.machine;
        let drivers = drivers(machine);
        let object = json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSINode",
            "metadata": {"name": machine.name, "annotations": {MIGRATED_PLUGINS: MIGRATED},
                         "ownerReferences": [owner(kubelet)]},
            "spec": {"drivers": drivers},
        });
        match self.objects.create::<Value>(Resource::CSI_NODES, "", &object).await {
            Err(Error::AlreadyExists(_)) => {}
            other => return other.map(|_| ()),
        }
        let Some(mut found) = self.objects.get::<Value>(Resource::CSI_NODES, "", &machine.name).await? else {
            return Err(Error::Conflict(format!("the CSINode {} goes and comes", machine.name)));
        };
        let before = found.clone();
        // One of a Node that was deleted, and that the garbage collector will take: ours from now on.
        found["metadata"]["ownerReferences"] = json!([owner(kubelet)]);
        found["metadata"]["annotations"][MIGRATED_PLUGINS] = json!(MIGRATED);
        let is_ours = |name: &Value| machine.drivers.iter().any(|driver| *name == driver.name.as_str());
        let others = before["spec"]["drivers"].as_array().into_iter().flatten().filter(|d| !is_ours(&d["name"]));
        let all: Vec<Value> = others.cloned().chain(drivers).collect();
        found["spec"] = json!({"drivers": all});
        if !same(&found, &before) {
            self.objects.replace::<Value>(Resource::CSI_NODES, &found).await?;
        }
        Ok(())
    }

    /// Reports the status where it says something else than the API has, and every five minutes.
    async fn report(&self, kubelet: &Kubelet) -> Result<Next, Error> {
        let Some(node) = self.nodes.named(kubelet.name()) else { return Ok(Next::Done) };
        let value = node.value();
        let current = &value["status"];
        let since = kubelet.reported().map(|at| Instant::now() - at);
        let wait = if is_reported(&kubelet.machine, current) { REPORT } else { LOOK };
        if let Some(since) = since.filter(|since| *since < wait) {
            return Ok(Next::After(wait - since));
        }
        let patch =
            json!({"metadata": {"uid": node.slim.metadata.uid}, "status": self.status(&kubelet.machine, current)});
        let raw = self.objects.merge_lists::<Box<RawValue>>(Resource::NODES, "", kubelet.name(), "status", &patch);
        match raw.await {
            Ok(raw) => self.node_writer.learn(&raw)?,
            // Gone, or another's: the watch will tell.
            Err(Error::NotFound(_) | Error::Conflict(_)) => return Ok(Next::After(LOOK)),
            Err(error) => return Err(error),
        };
        kubelet.note_report();
        let ready = |status: &Value| condition(status, "Ready").map(|c| c["status"] == "True");
        if ready(current) == Some(false) {
            kubelet.node_event("NodeReady");
        }
        Ok(Next::After(REPORT))
    }

    /// The status of the machine, as it follows from the one it has.
    fn status(&self, machine: &Machine, current: &Value) -> Value {
        let now = time::text(self.context.clock.now());
        let conditions = CONDITIONS.map(|(kind, status, reason, message)| {
            let known = condition(current, kind).filter(|c| c["status"] == status);
            let since = known.map_or_else(|| json!(now), |c| c["lastTransitionTime"].clone());
            json!({"type": kind, "status": status, "reason": reason, "message": message,
                   "lastHeartbeatTime": now, "lastTransitionTime": since})
        });
        let mut status = Map::new();
        status.insert("conditions".to_owned(), json!(conditions));
        status.insert("capacity".to_owned(), json!(machine.allocatable));
        status.insert("allocatable".to_owned(), json!(machine.allocatable));
        status.insert("addresses".to_owned(), addresses(machine));
        status.insert("nodeInfo".to_owned(), machine.info());
        status.insert("daemonEndpoints".to_owned(), json!({"kubeletEndpoint": {"Port": PORT}}));
        Value::Object(status)
    }
}

fn addresses(machine: &Machine) -> Value {
    json!([{"type": "InternalIP", "address": machine.address().to_string()},
           {"type": "Hostname", "address": machine.name}])
}

fn condition<'v>(status: &'v Value, kind: &str) -> Option<&'v Value> {
    status["conditions"].as_array().into_iter().flatten().find(|c| c["type"] == kind)
}

/// Whether the API has all that the machine would report.
fn is_reported(machine: &Machine, current: &Value) -> bool {
    let conditions = CONDITIONS.iter().all(|(kind, status, reason, _)| {
        condition(current, kind).is_some_and(|c| c["status"] == *status && c["reason"] == *reason)
    });
    conditions
        && has_amounts(&current["capacity"], &machine.allocatable)
        && has_amounts(&current["allocatable"], &machine.allocatable)
        && current["addresses"] == addresses(machine)
        && current["nodeInfo"]["kubeletVersion"] == machine.info()["kubeletVersion"]
}

fn drivers(machine: &Machine) -> Vec<Value> {
    machine
        .drivers
        .iter()
        .map(|driver| {
            let keys = driver.topology_keys.iter().filter(|key| machine.labels.contains_key(*key));
            let keys: Vec<&String> = keys.collect();
            let mut entry = json!({"name": driver.name, "nodeID": machine.name, "topologyKeys": keys});
            if let Some(limit) = driver.attach_limit {
                entry["allocatable"] = json!({"count": limit});
            }
            entry
        })
        .collect()
}
