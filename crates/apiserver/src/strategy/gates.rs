//! Fields that upstream knows but does not serve yet: a write loses them, unless the object already has them.

use plimsoll_schema::{Table, Type};
use serde_json::Value;

use crate::kind::Kind;
use crate::value::remove;

/// Types with the fields that are behind a gate which is off by default. Fields in one row are behind the same gate.
const OFF: &[&[(&str, &str)]] = &[
    &[
        ("SecretVolumeSource", "defaultUser"),
        ("ConfigMapVolumeSource", "defaultUser"),
        ("DownwardAPIVolumeSource", "defaultUser"),
        ("ProjectedVolumeSource", "defaultUser"),
        ("KeyToPath", "user"),
        ("DownwardAPIVolumeFile", "user"),
        ("ServiceAccountTokenProjection", "user"),
        ("ClusterTrustBundleProjection", "user"),
        ("PodCertificateProjection", "user"),
    ],
    &[("GRPCAction", "mode")],
    &[("HTTPGetAction", "protocol")],
    &[("Lifecycle", "stopSignal")],
    &[("EmptyDirVolumeSource", "mode")],
    &[("VolumeMount", "bindMountOptions")],
    &[("PodSpec", "evictionResponders")],
    &[("PodSpec", "schedulingGroup")],
    &[("JobSpec", "scheduling")],
    &[("NodeSpec", "podPreemptionPolicy")],
    &[
        ("PodStatus", "volumeHealth"),
        ("PersistentVolumeClaimStatus", "healthStatus"),
        ("CSINodeStatus", "storageHealth"),
    ],
    &[("PodStatus", "nodeAllocatableResourceClaimStatuses")],
    &[("VolumeStatus", "image")],
    &[("ExactDeviceRequest", "derivedAttributes"), ("DeviceSubRequest", "derivedAttributes")],
    &[("DeviceCounterConsumption", "compatibilityGroups")],
    &[
        ("DeviceAttribute", "ints"),
        ("DeviceAttribute", "bools"),
        ("DeviceAttribute", "strings"),
        ("DeviceAttribute", "versions"),
    ],
    &[("Device", "nodeAllocatableResources")],
    &[("ResourceSliceSpec", "partitionTypeAttribute")],
    &[("ResourceSliceSpec", "skipNodeOperations"), ("DeviceRequestAllocationResult", "skipNodeOperations")],
];

/// Annotations that stood for init containers once.
const INIT_CONTAINERS: [&str; 4] = [
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
];

pub(super) fn drop_disabled(kind: Kind<'_>, object: &mut Value, old: Option<&Value>) {
    for path in annotation_paths(kind) {
        if let Some(Value::Object(annotations)) = object.pointer_mut(path) {
            INIT_CONTAINERS.iter().for_each(|key| {
                annotations.remove(*key);
            });
            if annotations.is_empty() {
                let keys: Vec<&str> = path.split('/').skip(1).collect();
                remove(object, &keys);
            }
        }
    }
    // Status and spec of these hold nothing of it; most writes are theirs.
    if !matches!(kind.group, "" | "apps" | "batch" | "storage.k8s.io" | "resource.k8s.io") || kind.kind == "Event" {
        return;
    }
    let table = Table::builtin();
    let Some(id) = table.kind(kind.group, kind.version, kind.kind) else { return };
    let ty = Type::Struct(id);
    if !uses(&table, &ty, object, &OFF.concat()) {
        return;
    }
    // Hardly any object has any of them.
    for gate in OFF.iter().filter(|gate| uses(&table, &ty, object, gate)).collect::<Vec<_>>() {
        if !old.is_some_and(|old| uses(&table, &ty, old, gate)) {
            forget(&table, &ty, object, gate);
        }
    }
}

fn annotation_paths(kind: Kind<'_>) -> &'static [&'static str] {
    match (kind.group, kind.kind) {
        ("", "Pod") => &["/metadata/annotations"],
        ("", "PodTemplate") => &["/template/metadata/annotations"],
        ("batch", "CronJob") => &["/spec/jobTemplate/spec/template/metadata/annotations"],
        ("", "ReplicationController") | ("apps" | "batch", _) => &["/spec/template/metadata/annotations"],
        _ => &[],
    }
}

fn uses(table: &Table, ty: &Type, value: &Value, gate: &[(&str, &str)]) -> bool {
    match (ty, value) {
        (Type::Struct(id), Value::Object(fields)) => {
            let ty = table.get(*id);
            let name = ty.short_name();
            fields.iter().any(|(key, value)| {
                gate.contains(&(name, key)) || ty.field(key).is_some_and(|f| uses(table, &f.ty, value, gate))
            })
        }
        (Type::List(of) | Type::Wrapped(of), Value::Array(list)) => list.iter().any(|v| uses(table, of, v, gate)),
        (Type::Map(of), Value::Object(map)) => map.values().any(|v| uses(table, of, v, gate)),
        _ => false,
    }
}

fn forget(table: &Table, ty: &Type, value: &mut Value, gate: &[(&str, &str)]) {
    match (ty, value) {
        (Type::Struct(id), Value::Object(fields)) => {
            let ty = table.get(*id);
            let name = ty.short_name();
            fields.retain(|key, _| !gate.contains(&(name, key)));
            for (key, value) in fields.iter_mut() {
                if let Some(field) = ty.field(key) {
                    forget(table, &field.ty, value, gate);
                }
            }
            // What held only the field goes with it.
            if gate.contains(&("Lifecycle", "stopSignal"))
                && fields.get("lifecycle") == Some(&Value::Object(Default::default()))
            {
                fields.remove("lifecycle");
            }
        }
        (Type::List(of) | Type::Wrapped(of), Value::Array(list)) => {
            list.iter_mut().for_each(|v| forget(table, of, v, gate));
        }
        (Type::Map(of), Value::Object(map)) => map.values_mut().for_each(|v| forget(table, of, v, gate)),
        _ => {}
    }
}
