//! Small changes to objects as JSON: annotations, finalizers, phases. Each leaves alone what is as it should be, so that an
//! object which needs nothing is written by nobody.

use plimsoll_engine::labels::ObjectKey;
use plimsoll_engine::model::Version;
use serde_json::{Map, Value, json};

use crate::names;

/// The value of an annotation.
pub fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][key].as_str()
}

/// Sets an annotation.
pub fn annotate(object: &mut Value, key: &str, value: &str) {
    if annotation(object, key) != Some(value) {
        fields(fields(object, "metadata"), "annotations")[key] = json!(value);
    }
}

/// Takes an annotation away, and the map with its last one.
pub fn unannotate(object: &mut Value, key: &str) {
    let meta = fields(object, "metadata");
    let Some(annotations) = meta.get_mut("annotations").and_then(Value::as_object_mut) else { return };
    annotations.remove(key);
    if annotations.is_empty() {
        meta.as_object_mut().map(|m| m.remove("annotations"));
    }
}

/// Adds or removes a finalizer.
pub fn finalizer(object: &mut Value, name: &str, wanted: bool) {
    let meta = fields(object, "metadata");
    let mut all: Vec<Value> = meta["finalizers"].as_array().cloned().unwrap_or_default();
    let has = all.iter().any(|f| f == name);
    if has == wanted {
        if meta["finalizers"].is_null() {
            // Looking must not have made one.
            meta.as_object_mut().map(|m| m.remove("finalizers"));
        }
        return;
    }
    if wanted {
        all.push(json!(name));
    } else {
        all.retain(|f| f != name);
    }
    if all.is_empty() {
        meta.as_object_mut().map(|m| m.remove("finalizers"));
    } else {
        meta["finalizers"] = Value::Array(all);
    }
}

/// Sets the phase, and the message that goes with it. A phase that is the same keeps its message.
pub fn phase(object: &mut Value, phase: &str, message: &str) {
    let status = fields(object, "status");
    if status["phase"] == phase {
        return;
    }
    status["phase"] = json!(phase);
    if message.is_empty() {
        status.as_object_mut().map(|s| s.remove("message"));
    } else {
        status["message"] = json!(message);
    }
}

/// A claim, as a volume refers to it.
#[derive(Clone, Copy, Debug)]
pub struct Reference<'a> {
    /// Its key.
    pub claim: &'a ObjectKey,
    /// Its uid.
    pub uid: &'a str,
    /// Its version.
    pub version: Version,
}

/// Has a volume refer to a claim. `mark` says that no person did this, and that it may be undone.
pub fn refer(volume: &mut Value, to: Reference<'_>, mark: bool) {
    volume["spec"]["claimRef"] = json!({
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": &*to.claim.namespace,
        "name": &*to.claim.name,
        "uid": to.uid,
        "resourceVersion": to.version.to_string(),
    });
    if mark {
        annotate(volume, names::BOUND_BY_CONTROLLER, "yes");
    }
}

/// Chooses the node for which a claim's volume is to be made.
pub fn select_node(claim: &mut Value, node: &str) {
    annotate(claim, names::SELECTED_NODE, node);
}

/// The object's field `name`, an object itself even where it was missing.
fn fields<'a>(object: &'a mut Value, name: &str) -> &'a mut Value {
    if !object[name].is_object() {
        object[name] = Value::Object(Map::new());
    }
    &mut object[name]
}
