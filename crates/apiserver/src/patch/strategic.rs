//! Strategic merge patch: a merge patch that knows the types. Lists that the type marks are merged, by a key or by value, and
//! directives in the patch say what plain merging cannot.
//!
//! ```text
//! $patch: replace | delete           on an object, or on an element of a merged list
//! $retainKeys: [a, b]                on an object: every other field goes
//! $deleteFromPrimitiveList/f: [x]    beside a field: these values leave its list
//! $setElementOrder/f: [...]          beside a field: the order of its list
//! ```
//!
//! The patch is worked on in place, because upstream shows what is left of it when the result cannot be decoded.

use plimsoll_schema::Schema;
use serde_json::{Map, Value};

use super::go::{Shape, shown, shown_as_text};
use super::lists::{merge_list, set_element_orders};
use super::meta::Meta;
use crate::status::Status;

pub(super) type Object = Map<String, Value>;

pub(super) const PATCH: &str = "$patch";
pub(super) const SET_ORDER: &str = "$setElementOrder";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_VALUES: &str = "$deleteFromPrimitiveList";

/// The original with a strategic merge patch applied. `schema` is the type of the whole object.
pub fn strategic(schema: Schema<'_>, original: &Value, patch: &Value) -> Result<Value, Status> {
    strategic_leaving(schema, original, &mut patch.clone())
}

/// [`strategic`], leaving in `patch` what upstream would show of it ([`super::undecodable`]).
pub fn strategic_leaving(schema: Schema<'_>, original: &Value, patch: &mut Value) -> Result<Value, Status> {
    let patch = match patch {
        Value::Object(patch) => patch,
        Value::Null => return Ok(original.clone()),
        other => {
            let kind = super::json_kind(other);
            let why = format!("json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}");
            return Err(Status::bad_request(why));
        }
    };
    let original = original.as_object().cloned().unwrap_or_default();
    merge_object(Meta::new(schema), original, patch).map(Value::Object)
}

/// A refusal that upstream did not foresee: it goes out as a 500 without a reason.
pub(super) fn failed(message: impl Into<String>) -> Status {
    Status::new(500, "", message)
}

/// Where upstream's handler panics: values are compared that Go cannot compare.
pub(super) fn panicked() -> Status {
    Status::new(500, "InternalError", "This request caused apiserver to panic. Look in the logs for details.")
}

pub(super) fn wrong_type(want: Shape, got: &Value) -> Status {
    failed(format!("expected a {}, but received a {}", want.name(), Shape::of(got).name()))
}

pub(super) fn no_merge_key(element: &Object, key: &str) -> Status {
    let element = shown(&Value::Object(element.clone()));
    failed(format!("map: {element} does not contain declared merge key: {key}"))
}

pub(super) fn unknown_directive(directive: &Value, object: &Object) -> Status {
    let object = shown(&Value::Object(object.clone()));
    failed(format!("unknown patch type: {} in map: {object}", shown_as_text(directive)))
}

/// Values are the same to Go. Lists and objects cannot be compared with their like.
pub(super) fn same(a: &Value, b: &Value) -> Result<bool, Status> {
    match (Shape::of(a), Shape::of(b)) {
        (Shape::Map, Shape::Map) | (Shape::List, Shape::List) => Err(panicked()),
        _ => Ok(a == b),
    }
}

/// The field that a directive beside it (`$directive/field`) is about.
pub(super) fn field_of<'k>(key: &'k str, directive: &str) -> Option<&'k str> {
    key.split_once('/').filter(|(prefix, _)| *prefix == directive).map(|(_, field)| field)
}

/// Merges a patch into an object of the type.
pub(super) fn merge_object(meta: Meta<'_>, mut original: Object, patch: &mut Object) -> Result<Object, Status> {
    match patch.get(PATCH) {
        None => {}
        Some(Value::String(word)) if word == "replace" => {
            patch.remove(PATCH);
            return Ok(patch.clone());
        }
        Some(Value::String(word)) if word == "delete" => return Ok(Object::new()),
        Some(other) => return Err(unknown_directive(other, patch)),
    }
    retain_keys(&mut original, patch)?;
    set_element_orders(meta, &mut original, patch)?;
    for (key, change) in patch.iter_mut() {
        merge_field(meta, &mut original, key, change)?;
    }
    Ok(original)
}

fn merge_field(meta: Meta<'_>, original: &mut Object, key: &str, change: &mut Value) -> Result<(), Status> {
    let removes_values = key.starts_with(DELETE_VALUES);
    let mut field = key;
    if removes_values {
        let of = field_of(key, DELETE_VALUES)
            .ok_or_else(|| Status::bad_request("invalid patch format of primitive list"))?;
        if !of.is_empty() {
            field = of;
        }
    }
    if change.is_null() {
        original.remove(field);
        return Ok(());
    }
    let shape = Shape::of(change);
    let old = match original.get_mut(field) {
        Some(old) if Shape::of(old) == shape => old,
        // There is nothing to merge with: the patch's value is taken as it is, nulls and directives aside.
        _ => {
            if !removes_values {
                drop_nulls(change);
                match without_directives(change) {
                    Some(value) => original.insert(field.to_owned(), value),
                    None => original.remove(field),
                };
            }
            return Ok(());
        }
    };
    match (old, change) {
        (Value::Object(old), Value::Object(change)) => {
            let of = meta.object(field)?;
            *old =
                if of.strategy.replace { change.clone() } else { merge_object(of.inner, std::mem::take(old), change)? };
        }
        (Value::Array(old), Value::Array(change)) => {
            let of = meta.list(field)?;
            *old = if of.strategy.merge || removes_values {
                merge_list(of.inner, std::mem::take(old), change, of.key, removes_values)?
            } else {
                change.clone()
            };
        }
        (old, change) => *old = change.clone(),
    }
    Ok(())
}

/// Obeys `$retainKeys`: the patch may only set what it retains, and everything else goes.
fn retain_keys(original: &mut Object, patch: &mut Object) -> Result<(), Status> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let malformed = || Status::bad_request("invalid patch format of retainKeys");
    let Value::Array(keys) = keys else { return Err(malformed()) };
    if keys.iter().any(|k| k.is_array() || k.is_object()) {
        return Err(panicked());
    }
    let retained = |key: &str| keys.iter().any(|k| k.as_str() == Some(key));
    for (key, change) in patch.iter() {
        let counts = !change.is_null() && !key.starts_with(DELETE_VALUES) && !key.starts_with(SET_ORDER);
        if counts && !retained(key) {
            return Err(malformed());
        }
    }
    original.retain(|key, _| retained(key));
    Ok(())
}

/// Drops fields that are null, at any depth; elements of lists stay.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, v| !v.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// A value of the patch that is taken as it is: objects with a `$patch` in them are left out, whatever it says. None if the value
/// itself is such an object. Objects are cleaned where they stand; a list at the top is left as it was and answered as a copy.
pub(super) fn without_directives(value: &mut Value) -> Option<Value> {
    match value {
        Value::Object(map) => {
            if map.contains_key(PATCH) {
                return None;
            }
            map.retain(|_, value| match without_directives(value) {
                Some(clean) => {
                    *value = clean;
                    true
                }
                None => false,
            });
            Some(Value::Object(map.clone()))
        }
        Value::Array(items) => Some(items.iter_mut().filter_map(without_directives).collect()),
        scalar => Some(scalar.clone()),
    }
}
