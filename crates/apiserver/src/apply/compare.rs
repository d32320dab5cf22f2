//! Which fields differ between two objects.

use serde_json::Value;

use super::path::PathElement;
use super::set::FieldSet;
use super::shape::{ListShape, MapShape, Place, Shape, as_list, as_map};
use super::values::same;

/// The fields in which a new object differs from an old one.
#[derive(Debug, Default)]
pub(crate) struct Diff<'a> {
    /// New fields, and those with another value.
    pub(crate) changed: FieldSet<'a>,
    /// Fields that are gone.
    pub(crate) removed: FieldSet<'a>,
    /// A list has an element that cannot be told apart from the others: no set of fields can be named.
    pub(crate) broken: bool,
}

/// What became of the path that a walk began at.
#[derive(Clone, Copy, PartialEq)]
enum Own {
    Same,
    Changed,
    Removed,
}

/// Compares two objects of one type.
pub(crate) fn compare<'v>(place: Place<'v>, old: &'v Value, new: &'v Value) -> Diff<'v> {
    let mut diff = Diff::default();
    walk(place, Some(old), Some(new), &mut diff);
    diff
}

fn walk<'v>(place: Place<'v>, old: Option<&'v Value>, new: Option<&'v Value>, diff: &mut Diff<'v>) -> Own {
    if place.is_deduced() && old.is_some() && new.is_some() {
        return walk_deduced(place, old, new, diff);
    }
    by_shape(place.shape(new.or(old)), old, new, diff)
}

/// Without a type, the two sides may be of different shapes: each is taken apart in its own way.
fn walk_deduced<'v>(place: Place<'v>, old: Option<&'v Value>, new: Option<&'v Value>, diff: &mut Diff<'v>) -> Own {
    let (before, after) = (place.shape(old), place.shape(new));
    if std::mem::discriminant(&before) == std::mem::discriminant(&after) {
        return by_shape(after, old, new, diff);
    }
    let first = by_shape(before, old, new, diff);
    let second = by_shape(after, old, new, diff);
    if first == Own::Same { second } else { first }
}

fn by_shape<'v>(shape: Shape<'v>, old: Option<&'v Value>, new: Option<&'v Value>, diff: &mut Diff<'v>) -> Own {
    match shape {
        Shape::Scalar | Shape::Atomic => return leaf(old, new),
        Shape::List(list) => {
            let (before, after) = (as_list(old), as_list(new));
            if before.is_empty() && after.is_empty() {
                return leaf(old, new);
            }
            walk_list(list, before, after, diff);
        }
        Shape::Map(map) => {
            let empty = |value| as_map(value).is_none_or(serde_json::Map::is_empty);
            if empty(old) && empty(new) {
                return leaf(old, new);
            }
            walk_map(map, old, new, diff);
        }
    }
    match (old, new) {
        (None, _) => Own::Changed,
        (_, None) => Own::Removed,
        _ => Own::Same,
    }
}

fn leaf(old: Option<&Value>, new: Option<&Value>) -> Own {
    match (old, new) {
        (Some(old), Some(new)) if same(old, new) => Own::Same,
        (Some(_), None) => Own::Removed,
        (None, None) => Own::Same,
        _ => Own::Changed,
    }
}

/// Goes one step down and notes what it finds there.
fn descend<'v>(
    step: impl FnOnce() -> PathElement<'v>,
    place: Place<'v>,
    old: Option<&'v Value>,
    new: Option<&'v Value>,
    diff: &mut Diff<'v>,
) {
    let mut inner = Diff::default();
    let own = walk(place, old, new, &mut inner);
    diff.broken |= inner.broken;
    let (changed, removed) = (own == Own::Changed, own == Own::Removed);
    let in_changed = changed || !inner.changed.is_empty();
    let in_removed = removed || !inner.removed.is_empty();
    if !in_changed && !in_removed {
        return;
    }
    let step = step();
    if in_changed && in_removed {
        diff.removed.push(step.clone(), removed, inner.removed);
        diff.changed.push(step, changed, inner.changed);
    } else if in_changed {
        diff.changed.push(step, changed, inner.changed);
    } else {
        diff.removed.push(step, removed, inner.removed);
    }
}

fn walk_map<'v>(map: MapShape<'v>, old: Option<&'v Value>, new: Option<&'v Value>, diff: &mut Diff<'v>) {
    let mut before = as_map(old).into_iter().flatten().peekable();
    let mut after = as_map(new).into_iter().flatten().peekable();
    loop {
        // Both are sorted: the smaller key is next, and a key that both have is taken from both.
        let key = match (before.peek(), after.peek()) {
            (None, None) => return,
            (Some((key, _)), None) | (None, Some((key, _))) => *key,
            (Some((a, _)), Some((b, _))) => *a.min(b),
        };
        let was = before.next_if(|(k, _)| *k == key).map(|(_, v)| v);
        let is = after.next_if(|(k, _)| *k == key).map(|(_, v)| v);
        descend(|| PathElement::field(key), map.child(key).place, was, is, diff);
    }
}

/// The elements of a list, with all that one step names.
fn index<'v>(list: ListShape<'v>, items: &'v [Value], broken: &mut bool) -> Vec<(PathElement<'v>, Vec<&'v Value>)> {
    let mut steps: Vec<(PathElement<'v>, &'v Value)> = Vec::with_capacity(items.len());
    for item in items {
        match list.step(item) {
            Ok(step) => steps.push((step, item)),
            Err(_) => *broken = true,
        }
    }
    // Stable, so that elements with the same step stay in order.
    steps.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut out: Vec<(PathElement<'v>, Vec<&'v Value>)> = Vec::with_capacity(steps.len());
    for (step, item) in steps {
        match out.last_mut() {
            Some((last, same)) if *last == step => same.push(item),
            _ => out.push((step, vec![item])),
        }
    }
    out
}

fn walk_list<'v>(list: ListShape<'v>, before: &'v [Value], after: &'v [Value], diff: &mut Diff<'v>) {
    if before.len() == after.len() && before.iter().zip(after).all(|(a, b)| same(a, b)) {
        return;
    }
    let mut broken = false;
    let mut old = index(list, before, &mut broken).into_iter().peekable();
    let mut new = index(list, after, &mut broken).into_iter().peekable();
    diff.broken |= broken;
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some((a, _)), Some((b, _))) => a.cmp(b),
        };
        let was = if order.is_le() { old.next() } else { None };
        let is = if order.is_ge() { new.next() } else { None };
        let (step, was, is) = match (was, is) {
            (Some((step, was)), Some((_, is))) => (step, was, is),
            (Some((step, was)), None) => (step, was, Vec::new()),
            (None, Some((step, is))) => (step, Vec::new(), is),
            (None, None) => return,
        };
        match (was.as_slice(), is.as_slice()) {
            ([] | [_], [] | [_]) => {
                descend(|| step, list.element, was.first().copied(), is.first().copied(), diff);
            }
            // Elements that cannot be told apart count as one value.
            ([_, _, ..], [_, _, ..]) => {
                if was.len() != is.len() || was.iter().zip(&is).any(|(a, b)| !same(a, b)) {
                    diff.changed.push(step, true, FieldSet::default());
                }
            }
            ([_, _, ..], rest) => {
                if let Some(only) = rest.first() {
                    descend(|| step.clone(), list.element, None, Some(only), diff);
                }
                diff.removed.push(step, true, FieldSet::default());
            }
            (rest, _) => {
                if let Some(only) = rest.first() {
                    descend(|| step.clone(), list.element, Some(only), None, diff);
                }
                diff.changed.push(step, true, FieldSet::default());
            }
        }
    }
}
