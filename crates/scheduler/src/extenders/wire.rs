//! What goes over the wire (`k8s.io/kube-scheduler/extender/v1`). Its types name their fields as Go does, with capitals, and are read
//! as Go reads them: whatever the case.

use std::collections::BTreeMap;

use plimsoll_engine::labels::Name;
use serde_json::{Map, Value, json};

/// The nodes of a request: whole, or their names for an extender that knows them.
pub(super) fn filter_args(pod: &Value, nodes: Nodes<'_>) -> Value {
    match nodes {
        Nodes::Names(names) => json!({"Pod": pod, "Nodes": null, "NodeNames": names}),
        Nodes::Whole(items) => json!({"Pod": pod, "Nodes": {"metadata": {}, "items": items}, "NodeNames": null}),
    }
}

/// How nodes are sent.
pub(super) enum Nodes<'a> {
    /// By name.
    Names(Vec<&'a str>),
    /// As the API server has them.
    Whole(Vec<Value>),
}

/// The answer to a filter.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Filtered {
    /// The nodes that are left.
    pub(super) nodes: Vec<String>,
    /// Why others are not.
    pub(super) failed: BTreeMap<String, String>,
    /// Why others are not, whatever pods were removed there.
    pub(super) unresolvable: BTreeMap<String, String>,
}

/// Reads the answer to a filter.
pub(super) fn filtered(answer: &Value, by_name: bool) -> Result<Filtered, String> {
    let error = text(field(answer, "Error"));
    if !error.is_empty() {
        return Err(error.to_owned());
    }
    let names = field(answer, "NodeNames").as_array();
    let nodes = match names.filter(|_| by_name) {
        Some(names) => names.iter().map(|name| text(name).to_owned()).collect(),
        None => {
            let items = field(field(answer, "Nodes"), "items").as_array().into_iter().flatten();
            items.map(|node| text(&node["metadata"]["name"]).to_owned()).collect()
        }
    };
    let reasons = |name: &str| {
        let map = field(answer, name).as_object().into_iter().flatten();
        map.map(|(node, why)| (node.clone(), text(why).to_owned())).collect()
    };
    Ok(Filtered { nodes, failed: reasons("FailedNodes"), unresolvable: reasons("FailedAndUnresolvableNodes") })
}

/// Reads the answer to a question for scores. What cannot be read scores nothing, as a number of another kind does for Go.
pub(super) fn scores(answer: &Value) -> Result<Vec<(String, i64)>, String> {
    let list = match answer {
        Value::Null => return Ok(Vec::new()),
        other => other.as_array().ok_or("the answer is not a list of scores")?,
    };
    let score = |entry: &Value| {
        let value = field(entry, "Score");
        let score = if value.is_null() { Some(0) } else { value.as_i64() };
        Ok((text(field(entry, "Host")).to_owned(), score.ok_or_else(|| format!("{value} is not a score"))?))
    };
    list.iter().map(score).collect()
}

/// Asks for a pod to be bound.
pub(super) fn binding_args(namespace: &str, name: &str, uid: &str, node: &str) -> Value {
    json!({"PodName": name, "PodNamespace": namespace, "PodUID": uid, "Node": node})
}

/// Reads the answer to a binding.
pub(super) fn bound(answer: &Value) -> Result<(), String> {
    match text(field(answer, "Error")) {
        "" => Ok(()),
        error => Err(error.to_owned()),
    }
}

/// Victims of a node, as they are sent and answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Victims {
    /// Their uids, the most important first.
    pub(super) uids: Vec<String>,
    /// How many of them go against a budget.
    pub(super) violations: i64,
}

/// Asks which candidates will do. `whole` finds the pods of uids, for an extender that does not know them.
pub(super) fn preemption_args(
    pod: &Value,
    candidates: &BTreeMap<Name, Victims>,
    whole: Option<&BTreeMap<String, Value>>,
) -> Value {
    let mut nodes = Map::new();
    for (node, victims) in candidates {
        let pods: Vec<Value> = match whole {
            None => victims.uids.iter().map(|uid| json!({"UID": uid})).collect(),
            Some(pods) => victims.uids.iter().filter_map(|uid| pods.get(uid)).cloned().collect(),
        };
        nodes.insert(node.to_string(), json!({"Pods": pods, "NumPDBViolations": victims.violations}));
    }
    match whole {
        None => json!({"Pod": pod, "NodeNameToVictims": null, "NodeNameToMetaVictims": nodes}),
        Some(_) => json!({"Pod": pod, "NodeNameToVictims": nodes, "NodeNameToMetaVictims": null}),
    }
}

/// Reads which candidates are left: always by uid.
pub(super) fn preempted(answer: &Value) -> BTreeMap<Name, Victims> {
    let nodes = field(answer, "NodeNameToMetaVictims").as_object().into_iter().flatten();
    nodes
        .map(|(node, victims)| {
            let pods = field(victims, "Pods").as_array().into_iter().flatten();
            let uids = pods.map(|pod| text(field(pod, "UID")).to_owned()).collect();
            let violations = field(victims, "NumPDBViolations").as_i64().unwrap_or(0);
            (Name::from(node.as_str()), Victims { uids, violations })
        })
        .collect()
}

/// An object as upstream's scheduler sends it: without what says its kind, and without who wrote which field.
pub(super) fn sent(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("kind");
        fields.remove("apiVersion");
        if let Some(meta) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            meta.remove("managedFields");
        }
    }
    object
}

/// A field of an object, by its exact name or by one that differs in case only.
fn field<'a>(object: &'a Value, name: &str) -> &'a Value {
    static NOTHING: Value = Value::Null;
    let Some(fields) = object.as_object() else { return &NOTHING };
    let other = || fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value);
    fields.get(name).or_else(other).unwrap_or(&NOTHING)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
