//! The order of a merged list: what the patch names stands in the patch's order, the rest in the order it had, and both are woven
//! together by the order it had.

use serde_json::Value;

use super::go::Shape;
use super::lists::find;
use super::strategic::{PATCH, no_merge_key, panicked, same, wrong_type};
use crate::status::Status;

/// Splits plain values into those that are in `by`, and the others.
pub(super) fn split_by_value(list: Vec<Value>, by: &[Value]) -> Result<(Vec<Value>, Vec<Value>), Status> {
    if list.iter().chain(by).any(|v| v.is_array() || v.is_object()) {
        return Err(panicked());
    }
    Ok(list.into_iter().partition(|v| by.contains(v)))
}

/// Splits objects into those whose key is found in `by`, and the others.
pub(super) fn split_by_key(list: Vec<Value>, by: &[Value], key: &str) -> Result<(Vec<Value>, Vec<Value>), Status> {
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for element in list {
        let Value::Object(map) = &element else { return Err(wrong_type(Shape::Map, &element)) };
        let value = map.get(key).ok_or_else(|| no_merge_key(map, key))?;
        if find(by, key, value)?.is_some() { inside.push(element) } else { outside.push(element) }
    }
    Ok((inside, outside))
}

/// One list of both: `first` in `first_order`, `rest` in `live_order`, woven together along `live_order`.
pub(super) fn in_order(
    first: Vec<Value>,
    rest: Vec<Value>,
    first_order: &[Value],
    live_order: &[Value],
    key: &str,
    shape: Shape,
) -> Result<Vec<Value>, Status> {
    let by = By { key, shape };
    let first = by.sorted(first, first_order)?;
    let rest = by.sorted(rest, live_order)?;
    by.woven(rest, first, live_order)
}

/// How elements are told apart.
struct By<'a> {
    key: &'a str,
    shape: Shape,
}

impl By<'_> {
    /// The place of an element in a list.
    fn place(&self, list: &[Value], element: &Value) -> Result<Option<usize>, Status> {
        let value = |of| match self.shape {
            Shape::Map => Value::get(of, self.key).unwrap_or(&Value::Null),
            _ => of,
        };
        for (i, other) in list.iter().enumerate() {
            if same(value(element), value(other))? {
                return Ok(Some(i));
            }
        }
        Ok(None)
    }

    fn sorted(&self, list: Vec<Value>, order: &[Value]) -> Result<Vec<Value>, Status> {
        let mut deleted = Vec::new();
        let mut placed: Vec<(Option<usize>, Value)> = Vec::with_capacity(list.len());
        if self.shape == Shape::Map {
            for element in list.iter().chain(order) {
                let Value::Object(map) = element else { return Err(wrong_type(Shape::Map, element)) };
                if !map.contains_key(self.key) {
                    return Err(no_merge_key(map, self.key));
                }
            }
        }
        for element in list {
            if self.shape == Shape::Map && element.get(PATCH).and_then(Value::as_str) == Some("delete") {
                deleted.push(element);
            } else {
                placed.push((self.place(order, &element)?, element));
            }
        }
        if placed.iter().all(|(place, _)| place.is_some()) {
            placed.sort_by_key(|(place, _)| *place);
        } else {
            sink(&mut placed);
        }
        Ok(placed.into_iter().map(|(_, element)| element).chain(deleted).collect())
    }

    /// Puts each of `left` before the first of `right` that the live order has behind it; both keep their own order.
    fn woven(&self, left: Vec<Value>, right: Vec<Value>, live: &[Value]) -> Result<Vec<Value>, Status> {
        let mut out = Vec::with_capacity(left.len() + right.len());
        let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
        loop {
            let take_left = match (left.peek(), right.peek()) {
                (None, None) => return Ok(out),
                (None, Some(_)) => false,
                (Some(_), None) => true,
                (Some(l), Some(r)) => {
                    let places = (self.place(live, l)?, self.place(live, r)?);
                    matches!(places, (Some(l), Some(r)) if l < r)
                }
            };
            out.extend(if take_left { left.next() } else { right.next() });
        }
    }
}

/// Sorts as upstream's insertion sort does where elements without a place are called smaller than whatever they are compared with.
fn sink(list: &mut [(Option<usize>, Value)]) {
    let smaller = |a: Option<usize>, b: Option<usize>| match (a, b) {
        (Some(a), Some(b)) => a < b,
        _ => true,
    };
    for i in 1..list.len() {
        for j in (1..=i).rev() {
            let places = (list.get(j).and_then(|e| e.0), list.get(j - 1).and_then(|e| e.0));
            if !smaller(places.0, places.1) {
                break;
            }
            list.swap(j, j - 1);
        }
    }
}
