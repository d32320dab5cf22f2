//! Takes fields out of an object.

use serde_json::{Map, Value};

use super::path::PathElement;
use super::set::FieldSet;
use super::shape::{Place, Shape};

/// The object without the fields of a set. What is empty then is null.
pub(crate) fn remove(place: Place<'_>, value: &Value, set: &FieldSet<'_>) -> Value {
    match (place.shape(Some(value)), value) {
        (Shape::Scalar, _) => value.clone(),
        (Shape::Map(shape), Value::Object(map)) => {
            let mut out = Map::new();
            for (key, value) in map {
                let step = PathElement::field(key);
                if set.has_step(&step) {
                    continue;
                }
                let kept = match set.below(&step) {
                    Some(below) => remove(shape.child(key).place, value, below),
                    None => value.clone(),
                };
                out.insert(key.clone(), kept);
            }
            if out.is_empty() { Value::Null } else { Value::Object(out) }
        }
        (Shape::List(shape), Value::Array(items)) => {
            let mut out = Vec::with_capacity(items.len());
            for item in items {
                let Ok(step) = shape.step(item) else {
                    out.push(item.clone());
                    continue;
                };
                if set.has_step(&step) {
                    continue;
                }
                out.push(match set.below(&step) {
                    Some(below) => remove(shape.element, item, below),
                    None => item.clone(),
                });
            }
            if out.is_empty() { Value::Null } else { Value::Array(out) }
        }
        // A part of something that is one value cannot go alone.
        _ => Value::Null,
    }
}
