//! JSON merge patch, with the habits of the library that upstream uses.

use serde_json::{Map, Value};

use crate::status::Status;

/// The original with the patch merged into it (RFC 7386).
///
/// Where the two part ways, upstream's library is followed: a list from the patch that takes the place of an object keeps the nulls
/// inside its elements, every other list from the patch loses them.
pub fn merge(original: &Value, patch: &Value) -> Value {
    match (original, patch) {
        (Value::Object(original), Value::Object(patch)) => {
            let mut out = original.clone();
            merge_into(&mut out, patch);
            Value::Object(out)
        }
        (_, patch) => without_nulls(patch),
    }
}

/// [`merge`] for a request: a patch that is no object is refused in upstream's words.
pub fn merge_request(original: &Value, patch: &Value) -> Result<Value, Status> {
    match patch {
        Value::Object(_) => Ok(merge(original, patch)),
        Value::Null => Err(Status::bad_request("Invalid JSON Patch")),
        other => Err(Status::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            super::json_kind(other)
        ))),
    }
}

fn merge_into(out: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (key, change) in patch {
        if change.is_null() {
            out.remove(key);
            continue;
        }
        match (out.get_mut(key), change) {
            (Some(Value::Object(old)), Value::Object(change)) => merge_into(old, change),
            (Some(old @ Value::Object(_)), change) => *old = change.clone(),
            (Some(old), change) => *old = without_nulls(change),
            (None, change) => {
                out.insert(key.clone(), without_nulls(change));
            }
        }
    }
}

/// Fields that are null are dropped, in lists too; the elements of a list stay, so that places do not move.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            map.iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k.clone(), without_nulls(v))).collect()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        scalar => scalar.clone(),
    }
}
