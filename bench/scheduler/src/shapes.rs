//! What is measured: clusters, and the pods that come to them.

use serde_json::{Value, json};

/// Who places the pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placer {
    /// `plimsoll scheduler`.
    Ours,
    /// kube-scheduler.
    Upstream,
}

/// What the pods bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A claim each, of a class of local volumes that waits for its first consumer: so many volumes on every node.
    Local { volumes: usize },
    /// A claim each that is bound to a CSI volume already; so many pods are there before.
    Csi { before: usize },
    /// Nothing.
    Plain,
}

/// A cluster and its pods.
pub struct Shape {
    pub name: &'static str,
    pub kind: Kind,
    pub nodes: usize,
    pub pods: usize,
    pub placers: &'static [Placer],
}

const BOTH: &[Placer] = &[Placer::Ours, Placer::Upstream];

/// All of them. Upstream is not asked for 2,000 × 10: a pod would take it close to a minute.
pub const SHAPES: [Shape; 5] = [
    Shape { name: "local-200x5", kind: Kind::Local { volumes: 5 }, nodes: 200, pods: 200, placers: BOTH },
    Shape { name: "local-500x10", kind: Kind::Local { volumes: 10 }, nodes: 500, pods: 500, placers: BOTH },
    Shape {
        name: "local-2000x10",
        kind: Kind::Local { volumes: 10 },
        nodes: 2000,
        pods: 2000,
        placers: &[Placer::Ours],
    },
    // Upstream's SchedulingCSIPVs.
    Shape { name: "csi-500", kind: Kind::Csi { before: 500 }, nodes: 500, pods: 1000, placers: BOTH },
    Shape { name: "plain-1000", kind: Kind::Plain, nodes: 1000, pods: 5000, placers: BOTH },
];

/// The driver of CSI volumes, and how many of its volumes a node takes.
const DRIVER: &str = "bench.csi.plimsoll.dev";
const ATTACH_LIMIT: u32 = 39;

pub fn node(i: usize) -> Value {
    let name = format!("node-{i:05}");
    let amounts = json!({"cpu": "32", "memory": "64Gi", "pods": "110"});
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": format!("zone-{}", i % 3)}},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}})
}

pub fn csi_node(i: usize) -> Value {
    let name = format!("node-{i:05}");
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name},
        "spec": {"drivers": [{"name": DRIVER, "nodeID": name, "topologyKeys": [], "allocatable": {"count": ATTACH_LIMIT}}]}})
}

pub fn class() -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "local"},
        "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"})
}

pub fn local_volume(i: usize, per_node: usize) -> Value {
    let node = format!("node-{:05}", i / per_node);
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": format!("local-{i:06}")},
        "spec": {"capacity": {"storage": format!("{}Gi", 10 + i % per_node)}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local",
            "persistentVolumeReclaimPolicy": "Retain", "local": {"path": format!("/mnt/disk-{}", i % per_node)},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}]}}}})
}

/// A CSI volume that names its claim, so that the binder has nothing to choose.
pub fn csi_volume(i: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": format!("csi-{i:06}")},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "",
            "persistentVolumeReclaimPolicy": "Retain", "csi": {"driver": DRIVER, "volumeHandle": format!("handle-{i}")},
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "default", "name": format!("claim-{i:06}")}}})
}

pub fn claim(i: usize, class: &str, volume: Option<String>) -> Value {
    let mut claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": format!("claim-{i:06}"), "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": class, "resources": {"requests": {"storage": "1Gi"}}}});
    if let Some(volume) = volume {
        claim["spec"]["volumeName"] = json!(volume);
    }
    claim
}

pub fn pod(i: usize, claim: bool) -> Value {
    let volumes = if claim {
        json!([{"name": "data", "persistentVolumeClaim": {"claimName": format!("claim-{i:06}")}}])
    } else {
        json!([])
    };
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("pod-{i:06}"), "namespace": "default", "labels": {"app": "bench"}},
        "spec": {"containers": [{"name": "main", "image": "registry.example/pause:1",
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}], "volumes": volumes}})
}
