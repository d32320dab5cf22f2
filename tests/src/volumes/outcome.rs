//! What a scenario came to, without what differs from run to run, and how two outcomes differ.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value, json};

use super::observe::Seen;
use super::scenario::Subject;

/// The end of a scenario.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// `{objects, events}` as they are recorded.
    pub state: Value,
    /// Why it is not what the scenario itself expects, or could not be played.
    pub failure: Option<String>,
}

/// The component name under which kube-scheduler's events come.
pub const SCHEDULER: &str = "(default-scheduler)";

static UID: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").ok());

/// What was seen, with `$ID` for the id, names for uids, and no times and versions.
pub fn state(seen: &Seen, id: &str, kept: &BTreeMap<String, String>, subject: Subject) -> Value {
    let mut uids: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in kept {
        uids.insert(value.clone(), format!("<uid kept as {name}>"));
    }
    for (reference, object) in &seen.objects {
        if let Some(uid) = object.pointer("/metadata/uid").and_then(Value::as_str) {
            uids.insert(uid.to_owned(), format!("<uid of {reference}>"));
        }
    }
    let text = |text: &str| {
        let named = UID.as_ref().map_or_else(
            || text.to_owned(),
            |uid| {
                let name =
                    |found: &Captures<'_>| uids.get(&found[0]).cloned().unwrap_or_else(|| "<another uid>".into());
                uid.replace_all(text, name).into_owned()
            },
        );
        in_order(&named.replace(id, "$ID"))
    };
    let objects: Map<String, Value> = seen
        .objects
        .iter()
        .map(|(reference, object)| (text(reference), texts(&essence(reference, object, subject), &text)))
        .collect();
    let mut events: Vec<String> = seen.events.iter().map(|event| text(event)).collect();
    events.sort();
    events.dedup();
    json!({"objects": objects, "events": events})
}

/// The names of waiting pods in order: upstream lists them as its index happens to have them, now so, now so.
pub fn in_order(event: &str) -> String {
    let (begin, end) = ("waiting for pods ", " to be scheduled");
    let Some((before, rest)) = event.split_once(begin) else { return event.to_owned() };
    let mut names: Vec<&str> = rest.trim_end_matches(end).split(',').collect();
    names.sort_unstable();
    format!("{before}{begin}{}{end}", names.join(","))
}

/// What of an object its controllers are responsible for.
fn essence(reference: &str, object: &Value, subject: Subject) -> Value {
    let deleting = object.pointer("/metadata/deletionTimestamp").is_some();
    if reference.starts_with("pod/") {
        let mut pod = json!({"deleting": deleting, "nodeName": object.pointer("/spec/nodeName"), "phase": object.pointer("/status/phase")});
        if subject == Subject::Scheduling {
            pod["verdict"] = object["verdict"].clone();
            pod["nominated"] = object.pointer("/status/nominatedNodeName").cloned().unwrap_or_default();
        }
        return pod;
    }
    let (mut spec, mut status) = (object["spec"].clone(), object["status"].clone());
    if let Some(Value::Object(claim)) = spec.get_mut("claimRef") {
        claim.remove("resourceVersion");
    }
    if let Value::Object(status) = &mut status {
        status.remove("lastPhaseTransitionTime");
    }
    for condition in status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Value::Object(condition) = condition {
            condition.retain(|field, _| !field.ends_with("Time"));
        }
    }
    json!({"deleting": deleting, "metadata": metadata(object), "spec": spec, "status": status})
}

/// What of an object's metadata its controllers are responsible for.
pub fn metadata(object: &Value) -> Map<String, Value> {
    let mut metadata = Map::new();
    for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
        if let Some(value) = object["metadata"].get(field) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    // The order in which finalizers were added says nothing.
    if let Some(Value::Array(finalizers)) = metadata.get_mut("finalizers") {
        finalizers.sort_by_key(Value::to_string);
    }
    metadata
}

/// A value with all its texts, keys included, changed.
pub fn texts(value: &Value, change: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => change(text).into(),
        Value::Array(items) => items.iter().map(|item| texts(item, change)).collect(),
        Value::Object(fields) => fields.iter().map(|(key, item)| (change(key), texts(item, change))).collect(),
        other => other.clone(),
    }
}

/// Where a state is not the wanted one, a line for each difference; some events are not compared.
pub fn differences(wanted: &Value, found: &Value, ignored: impl Fn(&str) -> bool) -> Vec<String> {
    let mut lines = Vec::new();
    walk("", &wanted["objects"], &found["objects"], &mut lines);
    let events = |state: &Value| -> Vec<String> {
        let all = state["events"].as_array().into_iter().flatten().filter_map(Value::as_str);
        all.filter(|event| !ignored(event)).map(str::to_owned).collect()
    };
    let (wanted, found) = (events(wanted), events(found));
    lines.extend(wanted.iter().filter(|event| !found.contains(event)).map(|event| format!("event missing: {event}")));
    lines.extend(found.iter().filter(|event| !wanted.contains(event)).map(|event| format!("event too many: {event}")));
    lines
}

fn walk(at: &str, wanted: &Value, found: &Value, lines: &mut Vec<String>) {
    match (wanted, found) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                walk(&format!("{at}/{}", key.replace('/', "~1")), &wanted[key.as_str()], &found[key.as_str()], lines);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for index in 0..a.len() {
                walk(&format!("{at}/{index}"), &a[index], &b[index], lines);
            }
        }
        _ if wanted == found => {}
        _ => lines.push(format!("{at}: upstream {wanted}, ours {found}")),
    }
}
