//! Objects in short form, so that a scenario shows what it is about: `{pv: NAME}` is a volume of 1Gi with everything that one needs, and
//! what stands beside the name is merged over it (a `null` takes away).
//!
//! Some words stand for more: a pod with `claims: [data]` is for the default scheduler, on nodes of its scenario, with these claims; a
//! volume `on: NODE` is reached from that node alone; a class that is `delayed` waits for its first consumer, and one that is `local`
//! does so without a provisioner.

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value, json};

/// A kind of these scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// As in `pvc/data`.
    pub short: &'static str,
    /// As in manifests.
    pub name: &'static str,
    api_version: &'static str,
    plural: &'static str,
    namespaced: bool,
}

const KINDS: [Kind; 19] = [
    kind("pv", "PersistentVolume", "v1", "persistentvolumes", false),
    kind("pvc", "PersistentVolumeClaim", "v1", "persistentvolumeclaims", true),
    kind("pod", "Pod", "v1", "pods", true),
    kind("node", "Node", "v1", "nodes", false),
    kind("class", "StorageClass", "storage.k8s.io/v1", "storageclasses", false),
    kind("attributes", "VolumeAttributesClass", "storage.k8s.io/v1", "volumeattributesclasses", false),
    kind("driver", "CSIDriver", "storage.k8s.io/v1", "csidrivers", false),
    kind("csinode", "CSINode", "storage.k8s.io/v1", "csinodes", false),
    kind("pool", "CSIStorageCapacity", "storage.k8s.io/v1", "csistoragecapacities", true),
    kind("attachment", "VolumeAttachment", "storage.k8s.io/v1", "volumeattachments", false),
    kind("priority", "PriorityClass", "scheduling.k8s.io/v1", "priorityclasses", false),
    kind("namespace", "Namespace", "v1", "namespaces", false),
    kind("statefulset", "StatefulSet", "apps/v1", "statefulsets", true),
    kind("deployment", "Deployment", "apps/v1", "deployments", true),
    kind("replicaset", "ReplicaSet", "apps/v1", "replicasets", true),
    kind("daemonset", "DaemonSet", "apps/v1", "daemonsets", true),
    kind("revision", "ControllerRevision", "apps/v1", "controllerrevisions", true),
    kind("job", "Job", "batch/v1", "jobs", true),
    kind("budget", "PodDisruptionBudget", "policy/v1", "poddisruptionbudgets", true),
];

const fn kind(
    short: &'static str,
    name: &'static str,
    api_version: &'static str,
    plural: &'static str,
    namespaced: bool,
) -> Kind {
    Kind { short, name, api_version, plural, namespaced }
}

impl Kind {
    /// By its short name.
    pub fn of(short: &str) -> Result<Self> {
        KINDS.into_iter().find(|kind| kind.short == short).with_context(|| format!("there is no kind {short}"))
    }

    /// By its name in manifests.
    pub fn named(name: &str) -> Option<Self> {
        KINDS.into_iter().find(|kind| kind.name == name)
    }

    /// The path of its list, in a namespace where it has one.
    pub fn path(self, namespace: &str) -> String {
        if self.namespaced {
            format!("{}/namespaces/{namespace}/{}", self.group(), self.plural)
        } else {
            self.everywhere()
        }
    }

    /// The path of its list over all namespaces.
    pub fn everywhere(self) -> String {
        format!("{}/{}", self.group(), self.plural)
    }

    fn group(self) -> String {
        if self.api_version == "v1" { "/api/v1".to_owned() } else { format!("/apis/{}", self.api_version) }
    }
}

/// The path of `pvc/data`.
pub fn path(reference: &str, namespace: &str) -> Result<String> {
    let (short, name) = reference.split_once('/').with_context(|| format!("not KIND/NAME: {reference}"))?;
    Ok(format!("{}/{name}", Kind::of(short)?.path(namespace)))
}

/// The whole object of a short form.
pub fn object(short: &Value, id: &str) -> Result<(Kind, Value)> {
    let Some(fields) = short.as_object() else { bail!("not an object: {short}") };
    let kinds: Vec<Kind> = KINDS.into_iter().filter(|kind| fields.contains_key(kind.short)).collect();
    let [kind] = kinds.as_slice() else { bail!("not one kind: {short}") };
    let name = fields[kind.short].as_str().with_context(|| format!("no name: {short}"))?;
    let mut whole = template(*kind, name, id);
    whole["apiVersion"] = kind.api_version.into();
    whole["kind"] = kind.name.into();
    whole["metadata"]["name"] = name.into();
    let mut over = fields.clone();
    over.remove(kind.short);
    words(*kind, id, &mut whole, &mut over);
    merge(&mut whole, &Value::Object(over));
    Ok((*kind, whole))
}

fn template(kind: Kind, name: &str, id: &str) -> Value {
    let class = format!("c-{id}");
    match kind.short {
        "pv" => {
            json!({"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "persistentVolumeReclaimPolicy": "Retain", "csi": {"driver": "csi.example.com", "volumeHandle": name}}})
        }
        "pvc" => json!({"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "resources": {"requests": {"storage": "1Gi"}}}}),
        // No scheduler knows it unless the scenario says which.
        "pod" => json!({"spec": {"schedulerName": "nobody", "containers": [{"name": "c", "image": "i"}]}}),
        "node" => {
            json!({"metadata": {"labels": {"kubernetes.io/hostname": name, "scenario": id}}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "100"},
            "capacity": {"cpu": "4", "memory": "8Gi", "pods": "100"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": "",
                "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})
        }
        "class" => json!({"provisioner": "csi.example.com"}),
        "driver" => json!({"spec": {"attachRequired": false, "podInfoOnMount": false, "storageCapacity": true}}),
        "csinode" => json!({"spec": {"drivers": []}}),
        "pool" => json!({"storageClassName": class, "nodeTopology": {"matchLabels": {"scenario": id}}}),
        "attachment" => json!({"spec": {"attacher": "csi.example.com"}}),
        "attributes" => json!({"driverName": "csi.example.com", "parameters": {"tier": "gold"}}),
        _ => json!({}),
    }
}

/// What the words beside the name stand for.
fn words(kind: Kind, id: &str, whole: &mut Value, over: &mut Map<String, Value>) {
    match kind.short {
        "pod" => {
            let Some(Value::Array(claims)) = over.remove("claims") else { return };
            let volumes = claims.iter().enumerate();
            let volume =
                |(index, claim)| json!({"name": format!("v{index}"), "persistentVolumeClaim": {"claimName": claim}});
            let volumes: Vec<Value> = volumes.map(volume).collect();
            merge(
                whole,
                &json!({"spec": {"schedulerName": "default-scheduler", "nodeSelector": {"scenario": id}, "volumes": volumes}}),
            );
        }
        "pv" => {
            let Some(node) = over.remove("on") else { return };
            let expression = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [node]});
            let terms = json!([{"matchExpressions": [expression]}]);
            merge(whole, &json!({"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}}));
        }
        "class" => {
            let (delayed, local) = (over.remove("delayed").is_some(), over.remove("local").is_some());
            if delayed || local {
                merge(whole, &json!({"volumeBindingMode": "WaitForFirstConsumer"}));
            }
            if local {
                merge(whole, &json!({"provisioner": "kubernetes.io/no-provisioner"}));
            }
        }
        _ => {}
    }
}

/// A JSON merge patch.
fn merge(into: &mut Value, over: &Value) {
    let Value::Object(fields) = over else {
        *into = over.clone();
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (key, value) in fields {
        if value.is_null() {
            if let Some(into) = into.as_object_mut() {
                into.remove(key);
            }
        } else {
            merge(&mut into[key.as_str()], value);
        }
    }
}
