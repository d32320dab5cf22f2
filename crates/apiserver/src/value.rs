//! Small tools for objects as JSON: reading along a path, and making what is missing.
//!
//! Reading never fails: what is absent, or of another type, reads as the type's zero value, as it would in Go.

use serde_json::{Map, Value};

/// The fields of an object.
pub type Fields = Map<String, Value>;

/// What stands at the end of a path of keys.
pub fn get<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |at, key| at.get(*key))
}

/// The same, to change it.
pub fn get_mut<'a>(value: &'a mut Value, path: &[&str]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |at, key| at.get_mut(*key))
}

/// The text at a path; empty where there is none.
pub fn text<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    get(value, path).and_then(Value::as_str).unwrap_or_default()
}

/// The whole number at a path.
pub fn int(value: &Value, path: &[&str]) -> Option<i64> {
    get(value, path).and_then(Value::as_i64)
}

/// Whether the value at a path is true.
pub fn is_true(value: &Value, path: &[&str]) -> bool {
    get(value, path).and_then(Value::as_bool).unwrap_or_default()
}

/// The elements of the list at a path.
pub fn list<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    get(value, path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The elements of the list at a path, to change them.
pub fn list_mut<'a>(value: &'a mut Value, path: &[&str]) -> &'a mut [Value] {
    get_mut(value, path).and_then(Value::as_array_mut).map(Vec::as_mut_slice).unwrap_or_default()
}

/// The fields of the object at a path.
pub fn fields<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Fields> {
    get(value, path).and_then(Value::as_object)
}

/// The keys and texts of a map of text, such as labels.
pub fn texts<'a>(value: &'a Value, path: &[&str]) -> impl Iterator<Item = (&'a str, &'a str)> {
    fields(value, path).into_iter().flatten().filter_map(|(k, v)| Some((k.as_str(), v.as_str()?)))
}

/// The fields of a value; what is no object becomes an empty one.
pub fn as_fields(value: &mut Value) -> &mut Fields {
    if !value.is_object() {
        *value = Value::Object(Fields::new());
    }
    match value {
        Value::Object(fields) => fields,
        _ => unreachable!("made an object just above"),
    }
}

/// The object at a path, made where it is missing.
pub fn ensure<'a>(value: &'a mut Value, path: &[&str]) -> &'a mut Fields {
    let mut at = value;
    for key in path {
        at = as_fields(at).entry(*key).or_insert(Value::Null);
    }
    as_fields(at)
}

/// The object under a key, made where it is missing.
pub fn ensure_in<'a>(of: &'a mut Fields, key: &str) -> &'a mut Fields {
    as_fields(of.entry(key).or_insert(Value::Null))
}

/// The list under a key, made where it is missing.
pub fn ensure_list<'a>(of: &'a mut Fields, key: &str) -> &'a mut Vec<Value> {
    let value = of.entry(key).or_insert(Value::Null);
    if !value.is_array() {
        *value = Value::Array(Vec::new());
    }
    match value {
        Value::Array(list) => list,
        _ => unreachable!("made a list just above"),
    }
}

/// Whether a value is what Go calls zero (for a pointer: what it would point to).
pub fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(yes) => !yes,
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// Sets a field that is absent (a nil pointer in Go).
pub fn default_absent(of: &mut Fields, key: &str, value: impl Into<Value>) {
    if of.get(key).is_none_or(Value::is_null) {
        of.insert(key.into(), value.into());
    }
}

/// Sets a field that is absent or zero (a plain value in Go).
pub fn default_zero(of: &mut Fields, key: &str, value: impl Into<Value>) {
    if of.get(key).is_none_or(is_zero) {
        of.insert(key.into(), value.into());
    }
}

/// Takes a field from another object: sets it, or takes it away where the other has none.
pub fn copy_field(to: &mut Value, from: &Value, path: &[&str]) {
    let Some((last, parents)) = path.split_last() else { return };
    match get(from, path) {
        Some(value) => {
            ensure(to, parents).insert((*last).into(), value.clone());
        }
        None => remove(to, path),
    }
}

/// Takes the field at a path away.
pub fn remove(value: &mut Value, path: &[&str]) {
    let Some((last, parents)) = path.split_last() else { return };
    if let Some(Value::Object(fields)) = get_mut(value, parents) {
        fields.remove(*last);
    }
}

/// `metadata.name`.
pub fn name(object: &Value) -> &str {
    text(object, &["metadata", "name"])
}

/// `metadata.namespace`.
pub fn namespace(object: &Value) -> &str {
    text(object, &["metadata", "namespace"])
}
