//! What a story came to, without what differs from run to run.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::names::{Names, prefix};
use crate::volumes::observe::{Look, Seen};
use crate::volumes::outcome::{in_order, metadata, texts};

/// The kinds that are looked at.
pub const OBSERVED: [&str; 11] =
    ["node", "pv", "pvc", "pod", "deployment", "replicaset", "statefulset", "daemonset", "revision", "job", "budget"];

/// Fields that tell when, or by which address or version; no two runs have the same.
const FLEETING: [&str; 19] = [
    "completionTime",
    "containerID",
    "creationTimestamp",
    "disruptedPods",
    "finishedAt",
    "hostIP",
    "hostIPs",
    "lastHeartbeatTime",
    "lastPhaseTransitionTime",
    "lastProbeTime",
    "lastTransitionTime",
    "lastUpdateTime",
    "podIP",
    "podIPs",
    "resourceVersion",
    "startTime",
    "startedAt",
    "timeAdded",
    "verdict",
];

/// What the nodes say is left out: they are the same on both, and say it one after the other, long after it happened where many pods
/// come and go at once.
const OF_NODES: &str = " (kubelet) ";

/// Whether an event comes or not as things race, in any story and under upstream alone: somebody was a moment too late and tries again,
/// or a claim was looked at before its pod had a node. When claims say what is compared by the scenarios of claims and volumes.
pub fn races(event: &str) -> bool {
    event.contains("Operation cannot be fulfilled on")
        || event.starts_with("pvc/")
            && (event.contains(" WaitForFirstConsumer ") || event.contains(" WaitForPodScheduled "))
}

/// How a story's end is told.
#[derive(Debug, Clone)]
pub struct Telling {
    /// Its namespace.
    pub id: String,
    /// The nodes of the cluster, in their order.
    pub nodes: Vec<String>,
    /// Whether the nodes are told of.
    pub of_nodes: bool,
    /// Whether it is known which node each pod is on.
    pub placed: bool,
}

impl Telling {
    /// `{objects, events}` as they are recorded.
    pub fn state(&self, look: &Look, seen: &Seen) -> Value {
        let mut names = Names::of(seen, &self.id, &self.nodes, self.placed);
        names.learn(self.numbered(seen, &names), seen);
        let mut objects: Map<String, Value> = seen
            .objects
            .iter()
            .map(|(reference, object)| (names.text(reference), texts(&self.essence(object), &|text| names.text(text))))
            .collect();
        if self.of_nodes {
            let in_order = Names::of(&Seen::default(), &self.id, &self.nodes, true);
            for node in look.all("node") {
                let name = node.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
                objects.insert(in_order.text(&format!("node/{name}")), health(node));
            }
        }
        let told = seen.events.iter().filter(|event| !event.contains(OF_NODES));
        let mut events: Vec<String> = told.map(|event| in_order(&names.event(event))).collect();
        events.sort();
        events.dedup();
        json!({"objects": objects, "events": events})
    }

    /// Generated names with the numbers that stand for them: in the order of what the objects are, so that it does not matter which was
    /// first.
    fn numbered(&self, seen: &Seen, names: &Names) -> Vec<(String, String)> {
        let mut groups: BTreeMap<(&str, &str), Vec<(String, &str)>> = BTreeMap::new();
        for (reference, object) in &seen.objects {
            let Some((kind, name)) = reference.split_once('/') else { continue };
            let Some(prefix) = prefix(object) else { continue };
            // What it is, whatever it is called.
            let what = texts(&self.essence(object), &|text| names.text(&text.replace(name, "<self>"))).to_string();
            groups.entry((kind, prefix)).or_default().push((what, name));
        }
        let mut numbered = Vec::new();
        for ((_, prefix), mut group) in groups {
            group.sort();
            for (index, (_, name)) in group.into_iter().enumerate() {
                numbered.push((name.to_owned(), format!("{prefix}<{}>", index + 1)));
            }
        }
        numbered
    }

    /// What of an object its controllers are responsible for.
    fn essence(&self, object: &Value) -> Value {
        let deleting = object.pointer("/metadata/deletionTimestamp").is_some();
        let mut whole = json!({"deleting": deleting, "metadata": metadata(object)});
        let generation = object.pointer("/metadata/generation").unwrap_or(&Value::Null);
        for (field, value) in object.as_object().into_iter().flatten() {
            if !["apiVersion", "kind", "metadata"].contains(&field.as_str()) {
                whole[field.as_str()] = value.clone();
            }
        }
        // How often its specification was written depends on how many steps were taken at once; whether the last was heeded does not.
        if let Some(observed) = whole.pointer_mut("/status/observedGeneration")
            && observed == generation
        {
            *observed = "<generation>".into();
        }
        // The server labels a pod with the zone of the node that it is bound to.
        if let (false, Some(zone)) = (self.placed, whole.pointer_mut("/metadata/labels/topology.kubernetes.io~1zone")) {
            *zone = "<zone>".into();
        }
        without_fleeting(whole)
    }
}

fn without_fleeting(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(field, _)| !FLEETING.contains(&field.as_str()));
            let mut kept: Map<String, Value> = kept.map(|(field, value)| (field, without_fleeting(value))).collect();
            if let Some(Value::Array(conditions)) = kept.get_mut("conditions") {
                // Of a pod: its generation is that of its object.
                conditions
                    .iter_mut()
                    .filter_map(Value::as_object_mut)
                    .for_each(|c| drop(c.remove("observedGeneration")));
                conditions.sort_by_key(|condition| condition["type"].to_string());
            }
            Value::Object(kept)
        }
        Value::Array(items) => items.into_iter().map(without_fleeting).collect(),
        other => other,
    }
}

/// What controllers and people say of a node.
fn health(node: &Value) -> Value {
    let mut taints: Vec<Value> = node.pointer("/spec/taints").and_then(Value::as_array).cloned().unwrap_or_default();
    taints.sort_by_key(|taint| format!("{} {}", taint["key"], taint["effect"]));
    let conditions = node.pointer("/status/conditions").and_then(Value::as_array);
    let ready = conditions.into_iter().flatten().find(|condition| condition["type"] == "Ready").cloned();
    let unschedulable = node.pointer("/spec/unschedulable").cloned().unwrap_or_default();
    without_fleeting(json!({"taints": taints, "unschedulable": unschedulable, "ready": ready}))
}
