//! Merging lists: by a key of their elements, or plain values as sets that remember their order.

use serde_json::Value;

use super::go::{Shape, shown, shown_lists};
use super::meta::Meta;
use super::order::{in_order, split_by_key, split_by_value};
use super::strategic::{
    Object, PATCH, SET_ORDER, failed, field_of, merge_object, no_merge_key, panicked, same, unknown_directive,
    without_directives, wrong_type,
};
use super::unprocessable;
use crate::status::Status;

/// Merges the patch's list into the original. `element` is the type of the elements, `key` the field that tells them apart (empty:
/// their value). With `remove`, the patch's values leave the list instead.
pub(super) fn merge_list(
    element: Meta<'_>,
    original: Vec<Value>,
    patch: &mut [Value],
    key: &str,
    remove: bool,
) -> Result<Vec<Value>, Status> {
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    let shape = common_shape(&[&original, patch])?;
    if shape != Shape::Map {
        if remove {
            return Ok(original.into_iter().filter(|v| !patch.contains(v)).collect());
        }
        let merged = distinct(original.iter().chain(patch.iter()).cloned().collect());
        let (patched, rest) =
            if key.is_empty() { split_by_value(merged, patch)? } else { split_by_key(merged, patch, key)? };
        return in_order(patched, rest, patch, &original, key, shape);
    }
    if key.is_empty() {
        return Err(failed(format!("cannot merge lists without merge key for {}", element.name())));
    }
    let (original, plain) = obey_directives(original, patch, key)?;
    let mut merged = original.clone();
    for i in &plain {
        let Some(Value::Object(change)) = patch.get_mut(*i) else { continue };
        merge_element(element, &mut merged, change, key)?;
    }
    let plain: Vec<Value> = plain.into_iter().filter_map(|i| patch.get(i).cloned()).collect();
    let (patched, rest) = split_by_key(merged, &plain, key)?;
    in_order(patched, rest, &plain, &original, key, shape)
}

fn merge_element(element: Meta<'_>, merged: &mut Vec<Value>, change: &mut Object, key: &str) -> Result<(), Status> {
    let value = change.get(key).cloned().ok_or_else(|| no_merge_key(change, key))?;
    match find(merged, key, &value)?.and_then(|at| merged.get_mut(at)) {
        Some(Value::Object(old)) => *old = merge_object(element, std::mem::take(old), change)?,
        _ => merged.push(Value::Object(change.clone())),
    }
    Ok(())
}

/// Obeys the elements of the patch that carry `$patch`: gives back what they leave of the original, and the places of the patch's
/// other elements. After a `replace` these are the list, and there is nothing left to merge.
fn obey_directives(mut original: Vec<Value>, patch: &[Value], key: &str) -> Result<(Vec<Value>, Vec<usize>), Status> {
    let mut plain = Vec::new();
    let mut replaces = false;
    for (i, element) in patch.iter().enumerate() {
        let Value::Object(element) = element else { continue };
        match element.get(PATCH) {
            None => plain.push(i),
            Some(Value::String(word)) if word == "delete" => {
                let value = element.get(key).ok_or_else(|| no_merge_key(element, key))?;
                while let Some(at) = find(&original, key, value)? {
                    original.remove(at);
                }
            }
            Some(Value::String(word)) if word == "replace" => replaces = true,
            Some(Value::String(word)) if word == "merge" => {
                return Err(failed("merging lists cannot yet be specified in the patch"));
            }
            Some(other) => return Err(unknown_directive(other, element)),
        }
    }
    if replaces {
        return Ok((plain.into_iter().filter_map(|i| patch.get(i).cloned()).collect(), Vec::new()));
    }
    Ok((original, plain))
}

/// The first element with this value of the key.
pub(super) fn find(list: &[Value], key: &str, value: &Value) -> Result<Option<usize>, Status> {
    for (i, element) in list.iter().enumerate() {
        let Value::Object(element) = element else {
            return Err(failed(format!("value for key {i} is not a map")));
        };
        if let Some(has) = element.get(key)
            && same(has, value)?
        {
            return Ok(Some(i));
        }
    }
    Ok(None)
}

/// The one shape that all elements have.
fn common_shape(lists: &[&[Value]]) -> Result<Shape, Status> {
    let mut shape = None;
    for value in lists.iter().copied().flatten() {
        let this = Shape::of(value);
        match shape {
            None if this == Shape::Null => return Err(panicked()),
            None if this == Shape::List => return Err(unprocessable()),
            None => shape = Some(this),
            Some(first) if first != this => {
                return Err(failed(format!("list element types are not identical: {}", shown_lists(lists))));
            }
            Some(_) => {}
        }
    }
    shape.ok_or_else(|| failed("no elements in any of the given slices"))
}

/// Every value once. The gap that a repeated value leaves is filled from the end, as upstream fills it.
fn distinct(mut values: Vec<Value>) -> Vec<Value> {
    let mut i = 0;
    while i < values.len() {
        let mut j = i + 1;
        while j < values.len() {
            if values.get(i) == values.get(j) {
                values.swap_remove(j);
            } else {
                j += 1;
            }
        }
        i += 1;
    }
    values
}

/// Obeys every `$setElementOrder/field`, and merges the list of that field on the way; both leave the patch.
pub(super) fn set_element_orders(meta: Meta<'_>, original: &mut Object, patch: &mut Object) -> Result<(), Status> {
    let directives: Vec<String> = patch.keys().filter(|k| k.starts_with(SET_ORDER)).cloned().collect();
    for directive in directives {
        let Some(order) = patch.remove(&directive) else { continue };
        let Value::Array(order) = order else { return Err(wrong_type(Shape::List, &order)) };
        let field = field_of(&directive, SET_ORDER)
            .ok_or_else(|| Status::bad_request("invalid patch format of setElementOrder list"))?;
        set_element_order(meta, original, patch, field, &order)?;
    }
    Ok(())
}

fn set_element_order(
    meta: Meta<'_>,
    original: &mut Object,
    patch: &mut Object,
    field: &str,
    order: &[Value],
) -> Result<(), Status> {
    let list = |value: Option<&Value>| match value {
        None => Ok(None),
        Some(Value::Array(list)) => Ok(Some(list.clone())),
        Some(other) => Err(wrong_type(Shape::List, other)),
    };
    let live = list(original.get(field))?;
    let patched = list(patch.get(field))?;
    let of = meta.list(field)?;
    check_order(patched.as_deref().unwrap_or_default(), order, of.key)?;
    let merged = match (&live, patch.get_mut(field)) {
        (None, None) => return Ok(()),
        (Some(live), None) => live.clone(),
        (None, Some(change)) => match without_directives(change) {
            Some(Value::Array(list)) => list,
            _ => return Ok(()),
        },
        (Some(live), Some(Value::Array(change))) if of.strategy.merge => {
            merge_list(of.inner, live.clone(), change, of.key, false)?
        }
        (Some(_), Some(change)) => change.as_array().cloned().unwrap_or_default(),
    };
    let (first, rest) =
        if of.key.is_empty() { split_by_value(merged, order)? } else { split_by_key(merged, order, of.key)? };
    let live = live.unwrap_or_default();
    let shape = common_shape(&[&live, patched.as_deref().unwrap_or_default()])?;
    let ordered = in_order(first, rest, order, &live, of.key, shape)?;
    original.insert(field.to_owned(), Value::Array(ordered));
    patch.remove(field);
    Ok(())
}

/// The patch's elements must all be in the order list, in the same order; those to be deleted do not count.
fn check_order(patch: &[Value], order: &[Value], key: &str) -> Result<(), Status> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut kept = Vec::new();
    for element in patch {
        if key.is_empty() {
            kept.push(element);
            continue;
        }
        let Value::Object(map) = element else { return Err(wrong_type(Shape::Map, element)) };
        if map.get(PATCH).and_then(Value::as_str) != Some("delete") {
            kept.push(element);
        }
    }
    let mut places = order.iter();
    let mut kept = kept.into_iter().filter(|e| e.get(PATCH).is_none()).peekable();
    while let Some(element) = kept.peek() {
        let Some(place) = places.next() else {
            return Err(failed(format!(
                "The order in patch list:\n{}\n doesn't match {SET_ORDER} list:\n{}\n",
                shown(&Value::Array(patch.to_vec())),
                shown(&Value::Array(order.to_vec()))
            )));
        };
        if same_key(element, place, key)? {
            kept.next();
        }
    }
    Ok(())
}

fn same_key(left: &Value, right: &Value, key: &str) -> Result<bool, Status> {
    if key.is_empty() {
        return same(left, right);
    }
    same(key_of(left, key)?, key_of(right, key)?)
}

fn key_of<'v>(element: &'v Value, key: &str) -> Result<&'v Value, Status> {
    match element {
        Value::Object(map) => map.get(key).ok_or_else(|| no_merge_key(map, key)),
        other => Err(wrong_type(Shape::Map, other)),
    }
}
