//! Lays an applied configuration over an object.

use std::collections::BTreeMap;

use plimsoll_engine::collections::Set;
use serde_json::{Map, Value};

use super::path::PathElement;
use super::shape::{ListShape, MapShape, Place, Shape, as_list, as_map};

/// The object with the configuration's values. Nothing is taken away.
pub(crate) fn merge(place: Place<'_>, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    let leaf = || config.or(live).cloned();
    match place.shape(config.or(live)) {
        Shape::Scalar | Shape::Atomic => leaf(),
        Shape::Map(map) => {
            let empty = |value| as_map(value).is_none_or(Map::is_empty);
            if empty(live) && empty(config) { leaf() } else { merge_maps(map, live, config) }
        }
        Shape::List(list) => {
            let (before, after) = (as_list(live), as_list(config));
            if before.is_empty() && after.is_empty() { leaf() } else { merge_lists(list, before, after) }
        }
    }
}

fn merge_maps(map: MapShape<'_>, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    let mut out = Map::new();
    for (key, value) in as_map(live).into_iter().flatten() {
        let over = as_map(config).and_then(|config| config.get(key));
        let merged = match over {
            None => Some(value.clone()),
            over => merge(map.child(key).place, Some(value), over),
        };
        out.extend(merged.map(|merged| (key.clone(), merged)));
    }
    for (key, value) in as_map(config).into_iter().flatten() {
        if as_map(live).is_none_or(|live| !live.contains_key(key)) {
            let merged = merge(map.child(key).place, None, Some(value));
            out.extend(merged.map(|merged| (key.clone(), merged)));
        }
    }
    (!out.is_empty()).then_some(Value::Object(out))
}

/// An element of one of the lists.
struct Item<'v> {
    step: PathElement<'v>,
    value: &'v Value,
    /// Where the same element first stands in the other list.
    twin: Option<usize>,
    /// Other elements of the same list have the same step.
    twice: bool,
}

/// The elements of a list, and where each of them stands first.
type Items<'v> = (Vec<Item<'v>>, BTreeMap<PathElement<'v>, usize>);

fn items<'v>(list: ListShape<'v>, values: &'v [Value]) -> Items<'v> {
    let mut out: Vec<Item<'v>> = Vec::with_capacity(values.len());
    let mut places = BTreeMap::new();
    for value in values {
        let Ok(step) = list.step(value) else { continue };
        let first = *places.entry(step.clone()).or_insert(out.len());
        let twice = first != out.len();
        if let Some(first) = out.get_mut(first).filter(|_| twice) {
            first.twice = true;
        }
        out.push(Item { step, value, twin: None, twice });
    }
    (out, places)
}

/// Elements of both lists stand in the configuration's order; those that only the live list has keep their place before the ones that
/// followed them.
fn merge_lists(list: ListShape<'_>, live: &[Value], config: &[Value]) -> Option<Value> {
    let (mut before, places_before) = items(list, live);
    let (mut after, places_after) = items(list, config);
    for item in &mut before {
        item.twin = places_after.get(&item.step).copied();
    }
    for item in &mut after {
        item.twin = places_before.get(&item.step).copied();
    }
    // The shared elements in the configuration's order: the next one is the one the live list is read up to.
    let mut shared = after.iter().enumerate().filter(|(_, item)| item.twin.is_some()).map(|(at, _)| at);
    let mut next_shared = shared.next();
    let mut taken: Set<usize> = Set::default();
    let mut out = Vec::with_capacity(before.len().max(after.len()));
    let (mut left, mut right) = (0, 0);
    let take = |at: usize, out: &mut Vec<Value>| {
        let Some(item) = after.get(at) else { return };
        let under =
            item.twin.and_then(|twin| before.get(twin)).map(|twin| if twin.twice { &Value::Null } else { twin.value });
        out.extend(merge(list.element, under, Some(item.value)));
    };
    while left < before.len() || right < after.len() {
        if let (Some(l), true) = (before.get(left), right < after.len()) {
            if l.twin == Some(right) {
                taken.insert(right);
                take(right, &mut out);
                left += 1;
                right += 1;
                next_shared = shared.next();
                continue;
            }
            if l.twin.is_some() && next_shared.is_some() && next_shared != l.twin {
                left += 1;
                continue;
            }
        }
        if let Some(l) = before.get(left) {
            match l.twin {
                None => {
                    out.extend(merge(list.element, Some(l.value), None));
                    left += 1;
                    continue;
                }
                Some(twin) if taken.contains(&twin) => left += 1,
                Some(_) => {}
            }
        }
        if right < after.len() {
            taken.insert(right);
            take(right, &mut out);
            if next_shared == Some(right) {
                next_shared = shared.next();
            }
            right += 1;
        }
    }
    (!out.is_empty()).then_some(Value::Array(out))
}
