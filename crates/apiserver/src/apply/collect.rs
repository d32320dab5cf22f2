//! The fields that an object names: what an applied configuration owns.

use serde_json::Value;

use super::path::PathElement;
use super::set::FieldSet;
use super::shape::{Place, Shape, as_list, as_map};

/// Every leaf, list element and map key that the object names. The object must be valid.
pub(crate) fn collect<'v>(place: Place<'v>, object: &'v Value) -> FieldSet<'v> {
    let mut out = FieldSet::default();
    walk(place, object, &mut out);
    out
}

/// Fills in what is below; says whether the value's own path is named too.
fn walk<'v>(place: Place<'v>, value: &'v Value, out: &mut FieldSet<'v>) -> bool {
    match place.shape(Some(value)) {
        Shape::Scalar | Shape::Atomic => true,
        Shape::Map(map) => {
            for (key, value) in as_map(Some(value)).into_iter().flatten() {
                let child = map.child(key);
                let mut below = FieldSet::default();
                let own = walk(child.place, value, &mut below);
                let empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
                out.push(PathElement::field(key), own || empty || !child.declared, below);
            }
            false
        }
        Shape::List(list) => {
            let items = as_list(Some(value)).iter();
            let mut steps: Vec<(PathElement<'v>, &'v Value)> =
                items.filter_map(|item| Some((list.step(item).ok()?, item))).collect();
            steps.sort_by(|(a, _), (b, _)| a.cmp(b));
            for twins in steps.chunk_by(|(a, _), (b, _)| a == b) {
                let Some((step, item)) = twins.first() else { continue };
                let mut below = FieldSet::default();
                // Of elements that cannot be told apart, only that they are there is owned.
                if twins.len() == 1 {
                    walk(list.element, item, &mut below);
                }
                out.push(step.clone(), true, below);
            }
            false
        }
    }
}

/// The set with every struct field on the way to a member as a member too. Keys of maps and elements of lists stay as they are.
pub(crate) fn with_named_parents<'a>(place: Place<'_>, set: &FieldSet<'a>) -> FieldSet<'a> {
    let mut out = FieldSet::default();
    // Whatever the set says, the type decides: a null stands for any value.
    let shape = place.opened(&Value::Null);
    for node in set.nodes() {
        let (inner, declared) = match (&node.step, shape) {
            (PathElement::Field(name), Shape::Map(map)) => {
                let child = map.child(name);
                (child.place, child.declared)
            }
            _ => (place.element(), false),
        };
        let member = node.member || (declared && !node.below.is_empty());
        out.push(node.step.clone(), member, with_named_parents(inner, &node.below));
    }
    out
}
