//! Objects in short form, so that a scenario shows what it is about: `{pv: NAME}` is a volume of 1Gi with everything that one needs, and
//! what stands beside the name is merged over it (a `null` takes away).

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

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

const KINDS: [Kind; 6] = [
    kind("pv", "PersistentVolume", "v1", "persistentvolumes", false),
    kind("pvc", "PersistentVolumeClaim", "v1", "persistentvolumeclaims", true),
    kind("pod", "Pod", "v1", "pods", true),
    kind("node", "Node", "v1", "nodes", false),
    kind("class", "StorageClass", "storage.k8s.io/v1", "storageclasses", false),
    kind("attributes", "VolumeAttributesClass", "storage.k8s.io/v1", "volumeattributesclasses", false),
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
        let group = if self.api_version == "v1" { "/api/v1".to_owned() } else { format!("/apis/{}", self.api_version) };
        if self.namespaced {
            format!("{group}/namespaces/{namespace}/{}", self.plural)
        } else {
            format!("{group}/{}", self.plural)
        }
    }

    /// The path of its list over all namespaces.
    pub fn everywhere(self) -> String {
        format!("/api/v1/{}", self.plural)
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
    whole["metadata"] = json!({"name": name});
    let mut over = fields.clone();
    over.remove(kind.short);
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
        "node" => json!({"status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "100"},
            "capacity": {"cpu": "4", "memory": "8Gi", "pods": "100"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": "",
                "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}),
        "class" => json!({"provisioner": "csi.example.com"}),
        "attributes" => json!({"driverName": "csi.example.com", "parameters": {"tier": "gold"}}),
        _ => json!({}),
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
