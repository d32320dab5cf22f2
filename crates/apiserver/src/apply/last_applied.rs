//! The bridge from client-side apply: kubectl's annotation with the configuration it applied last.

use serde_json::{Map, Value, json};

use super::Target;
use super::collect::collect;
use super::compare::compare;
use super::set::FieldSet;
use super::shape::Place;
use super::validate::validate;
use super::values::go_json;

/// The annotation that client-side apply keeps its configuration in.
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// More than this in all annotations is refused, so the annotation goes rather than the write.
const MOST_ANNOTATION_BYTES: usize = 256 << 10;

/// The manager that takes over from client-side apply. Others have to resolve conflicts themselves.
pub(crate) const TAKES_OVER: &str = "kubectl";

fn annotation(object: &Value) -> Option<&str> {
    let text = object.get("metadata")?.get("annotations")?.get(ANNOTATION)?.as_str()?;
    (!text.is_empty()).then_some(text)
}

/// The configuration that client-side apply left in the object.
pub(crate) fn configuration(live: &Value) -> Option<Value> {
    serde_json::from_str(annotation(live)?).ok()
}

/// The fields that client-side apply set and that nobody has changed since: server-side apply may take them.
pub(crate) fn takeable<'v>(target: &Target<'v>, live: &'v Value, last: &'v Value) -> Option<FieldSet<'v>> {
    let place = Place::root(target.schema);
    if last.get("apiVersion").and_then(Value::as_str) != Some(target.kind.api_version().as_str()) {
        return None;
    }
    validate(place, live, false).ok()?;
    validate(place, last, false).ok()?;
    let mut fields = collect(place, last);
    let diff = compare(place, last, live);
    fields.subtract(&diff.changed);
    fields.subtract(&diff.removed);
    Some(fields)
}

/// Keeps the annotation true after a server-side apply, so that client-side apply can be used again.
pub(crate) fn refresh(object: &mut Value, config: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut config = config.clone();
    if let Some(annotations) = annotations(&mut config) {
        annotations.remove(ANNOTATION);
    }
    let text = go_json(&config) + "\n";
    let Some(annotations) = annotations(object) else { return };
    annotations.insert(ANNOTATION.into(), json!(text));
    let size: usize = annotations.iter().map(|(k, v)| k.len() + v.as_str().map_or(0, str::len)).sum();
    if size > MOST_ANNOTATION_BYTES {
        annotations.remove(ANNOTATION);
    }
}

fn annotations(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.get_mut("metadata")?.get_mut("annotations")?.as_object_mut()
}
