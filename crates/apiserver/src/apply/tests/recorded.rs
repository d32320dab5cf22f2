//! Replays `tests/data/apply/*.json`: what a real kube-apiserver answered (`record.py` beside them says how).

use std::path::Path;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::with_target;
use crate::apply::{Manager, apply, keep_times, reset, reset_custom, update};
use crate::kind::Kind;

#[test]
fn recorded_sequences() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/apply");
    let count = replay_all(&folder, true);
    assert!(count >= 25, "only {count} sequences");
}

/// Replays another folder of recordings, made without pauses: times do not count there.
#[test]
#[ignore = "needs RECORDED=<folder>"]
fn other_recordings() {
    let folder = std::env::var("RECORDED").unwrap();
    replay_all(Path::new(&folder), false);
}

fn replay_all(folder: &Path, times: bool) -> usize {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "json"));
    files.sort();
    let mut failures = Vec::new();
    for file in &files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let document: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        replay(&name, &document, times, &mut failures);
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    files.len()
}

fn moment(step: usize) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + 60 * step as i64).unwrap()
}

/// The recorder writes times as the number of the step that set them.
fn with_times(mut list: Value) -> Value {
    for entry in list.as_array_mut().into_iter().flatten() {
        if let Some(step) = entry.get("time").and_then(Value::as_u64) {
            entry["time"] = json!(moment(step as usize).strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        }
    }
    list
}

fn object_of(step: &Value, key: &str) -> Option<Value> {
    let mut object = step.get(key)?.clone();
    if let Some(list) = object["metadata"].get("managedFields").cloned() {
        object["metadata"]["managedFields"] = with_times(list);
    }
    Some(object)
}

fn replay(name: &str, document: &Value, times: bool, failures: &mut Vec<String>) {
    let api_version = document["apiVersion"].as_str().unwrap();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = Kind::new(group, version, document["kind"].as_str().unwrap());
    let mut live: Option<Value> = None;
    for (at, step) in document["steps"].as_array().unwrap().iter().enumerate() {
        let text = |key: &str| step[key].as_str().unwrap();
        let manager = Manager { name: text("manager"), subresource: text("subresource") };
        let label = format!("{name} step {at} ({} by {})", text("do"), manager.name);
        let expected = object_of(step, "object");
        // The server's own controllers write too.
        live = object_of(step, "before").or(live);
        let fields = match kind.group {
            "fields.example.com" => reset_custom(manager.subresource, true),
            _ => reset(kind, manager.subresource),
        };
        if text("do") == "apply" {
            let force = step["force"].as_bool().unwrap();
            let config = &step["config"];
            let answer = with_target(kind, &fields, |t| apply(t, live.as_ref(), config, &manager, force, moment(at)));
            match (answer, &expected) {
                (Err(status), None) => {
                    // The recorder's object may be refused later, by validation: not ours to say.
                    let (got, want) = (sorted_causes(status.to_value()), sorted_causes(step["status"].clone()));
                    if got != want {
                        failures.push(format!("{label}: status\n  got  {got}\n  want {want}"));
                    }
                }
                (Err(status), Some(_)) => failures.push(format!("{label}: refused: {}", status.message)),
                (Ok(_), None) => {
                    if step["status"]["reason"] != "Invalid" {
                        failures.push(format!("{label}: accepted; want {}", step["status"]));
                    }
                }
                (Ok(object), Some(want)) => {
                    let mut got = object.or_else(|| live.clone()).unwrap();
                    let only = if manager.subresource.is_empty() { "" } else { "/status" };
                    let part = |v: &Value| v.pointer(only).cloned().unwrap_or_default();
                    if !matches(&part(&got), &part(want), live.as_ref().map(part).as_ref()) {
                        failures.push(format!("{label}: object\n  got  {got}\n  want {want}"));
                    }
                    // The caller decodes; here the recorded object stands for what it would get.
                    let list = got["metadata"]["managedFields"].take();
                    let mut stored = want.clone();
                    stored["metadata"]["managedFields"] = list;
                    check(&label, live.as_ref(), stored, want, times, failures);
                }
            }
        } else if let Some(want) = &expected {
            let mut new = want.clone();
            match &live {
                None => untracked(kind.kind, &mut new),
                Some(old) => untracked_later(kind.kind, old, &mut new),
            }
            let metadata = new["metadata"].as_object_mut().unwrap();
            metadata.remove("managedFields");
            if let Some(sent) = step.get("sent").filter(|sent| !sent.is_null()) {
                metadata.insert("managedFields".into(), with_times(sent.clone()));
            }
            with_target(kind, &fields, |t| update(t, live.as_ref(), &mut new, &manager, moment(at)));
            check(&label, live.as_ref(), new, want, times, failures);
        }
        live = expected.or(live);
    }
}

/// Upstream names the managers of a conflict in any order.
fn sorted_causes(mut status: Value) -> Value {
    if let Some(causes) = status.pointer_mut("/details/causes").and_then(Value::as_array_mut) {
        causes.sort_by_key(Value::to_string);
    }
    status
}

fn check(label: &str, old: Option<&Value>, mut new: Value, want: &Value, times: bool, failures: &mut Vec<String>) {
    if let Some(old) = old {
        keep_times(old, &mut new);
    }
    let list = |object: &Value| {
        let mut list = object["metadata"]["managedFields"].clone();
        if let (Some(entries), false) = (list.as_array_mut(), times) {
            entries.iter_mut().for_each(|entry| _ = entry.as_object_mut().unwrap().remove("time"));
            entries.sort_by_key(Value::to_string);
        }
        list
    };
    let (got, want) = (list(&new), list(want));
    if got != want {
        failures.push(format!("{label}: managedFields\n  got  {got}\n  want {want}"));
    }
}

/// Takes out what admission and the kind's strategy set on create, after the fields are tracked.
fn untracked(kind: &str, object: &mut Value) {
    let paths: &[&str] = match kind {
        "Pod" => &[
            "/spec/tolerations",
            "/spec/serviceAccount",
            "/spec/serviceAccountName",
            "/spec/priority",
            "/spec/preemptionPolicy",
        ],
        "Service" => &[
            "/spec/clusterIP",
            "/spec/clusterIPs",
            "/spec/ipFamilies",
            "/spec/ipFamilyPolicy",
            "/spec/ports/0/nodePort",
            "/spec/ports/1/nodePort",
        ],
        "PersistentVolumeClaim" | "PersistentVolume" => &["/metadata/finalizers"],
        "Job" => &["/spec/selector", "/spec/template/metadata/labels", "/metadata/labels"],
        _ => &[],
    };
    for path in paths {
        let (parent, key) = path.rsplit_once('/').unwrap();
        if let Some(map) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
            map.remove(key);
        }
    }
    if let (Some(taints), "Node") = (object.pointer_mut("/spec/taints").and_then(Value::as_array_mut), kind) {
        taints.retain(|taint| taint["key"] != "node.kubernetes.io/not-ready");
        if taints.is_empty() {
            object["spec"].as_object_mut().unwrap().remove("taints");
        }
    }
    if kind == "Pod" {
        let ours = |v: &Value| v["name"].as_str().is_some_and(|n| n.starts_with("kube-api-access"));
        if let Some(volumes) = object["spec"].get_mut("volumes").and_then(Value::as_array_mut) {
            volumes.retain(|v| !ours(v));
        }
        for container in object["spec"]["containers"].as_array_mut().unwrap() {
            if let Some(mounts) = container.get_mut("volumeMounts").and_then(Value::as_array_mut) {
                mounts.retain(|v| !ours(v));
            }
        }
        for path in ["/spec", "/spec/containers/0"] {
            let map = object.pointer_mut(path).and_then(Value::as_object_mut).unwrap();
            map.retain(|_, v| *v != json!([]));
        }
    }
}

/// Takes back what the kind's strategy sets on update, after the fields are tracked.
fn untracked_later(kind: &str, old: &Value, new: &mut Value) {
    if kind == "Service" {
        let was =
            |port: &Value| old["spec"]["ports"].as_array().is_some_and(|o| o.iter().any(|o| o["port"] == port["port"]));
        for port in new["spec"]["ports"].as_array_mut().unwrap() {
            if !was(port) {
                port.as_object_mut().unwrap().remove("nodePort");
            }
        }
    }
    let path = match kind {
        "DaemonSet" => "/metadata/annotations/deprecated.daemonset.template.generation",
        "PersistentVolume" => "/status/lastPhaseTransitionTime",
        _ => return,
    };
    let (parent, key) = path.rsplit_once('/').unwrap();
    let Some(map) = new.pointer_mut(parent).and_then(Value::as_object_mut) else { return };
    match old.pointer(path) {
        Some(before) => _ = map.insert(key.into(), before.clone()),
        None => _ = map.remove(key),
    }
}

/// Whether the merged object is the stored one: it may lack what defaults, admission and the server add, but nothing that was there
/// before; and it may have what canonical form drops.
fn matches(got: &Value, want: &Value, old: Option<&Value>) -> bool {
    let empty = Map::new();
    match (got, want) {
        (Value::Object(a), Value::Object(b)) => {
            let before = old.and_then(Value::as_object).unwrap_or(&empty);
            let server = |k: &str| {
                let dropped = matches!(k, "externalTrafficPolicy" | "sessionAffinityConfig");
                let set = matches!(k, "managedFields" | "generation" | "deprecated.daemonset.template.generation");
                dropped || set || (k == "status" && a.contains_key("apiVersion"))
            };
            let defaulted = |k: &str| matches!(k, "replicas" | "strategy" | "type");
            a.iter().all(|(k, v)| server(k) || b.get(k).map_or(blank(v), |w| matches(v, w, before.get(k))))
                // What has gone may have come back with its default.
                && b.iter().all(|(k, v)| server(k) || defaulted(k) || a.contains_key(k) || before.get(k).is_none_or(|old| old != v))
        }
        (Value::Array(a), Value::Array(b)) => a.len() <= b.len() && a.iter().zip(b).all(|(a, b)| matches(a, b, None)),
        // Quantities become canonical when the object is decoded.
        (Value::String(a), Value::String(b)) => {
            let known = [("1024Mi", "1Gi"), ("1.5Gi", "1536Mi"), ("1000m", "1"), ("0.5", "500m")];
            a == b || known.contains(&(a.as_str(), b.as_str()))
        }
        (Value::Null, _) => true,
        _ => got == want,
    }
}

fn blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.values().all(blank),
        Value::Array(items) => items.iter().all(blank),
        Value::Bool(b) => !b,
        Value::String(s) => s.is_empty(),
        Value::Number(n) => n.as_f64() == Some(0.0),
    }
}
