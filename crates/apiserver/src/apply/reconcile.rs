//! Ownership written under an older schema, brought up to date.

use super::Target;
use super::managers::Managed;
use super::path::PathElement;
use super::set::FieldSet;
use super::shape::{Place, Shape};

/// What was owned part by part and is one value now is owned as a whole. Managers of versions that are not served any more are
/// forgotten.
pub(crate) fn reconcile(target: &Target<'_>, managed: &mut Managed<'_>) {
    let own = target.kind.api_version();
    managed.entries.retain_mut(|entry| {
        let schema =
            if entry.api_version == own { Some(target.schema) } else { target.versions.schema(&entry.api_version) };
        let Some(schema) = schema else { return false };
        if splits_one_value(Place::root(schema), &entry.fields) {
            let fields = close(Place::root(schema), &entry.fields);
            entry.set_fields(fields);
        }
        true
    });
}

/// Where a step leads.
fn step_into<'s>(place: Place<'s>, step: &PathElement<'_>) -> Option<Place<'s>> {
    match (step, place.shape(None)) {
        (PathElement::Field(name), Shape::Map(map)) => Some(map.child(name)).filter(|c| c.known).map(|c| c.place),
        (PathElement::Field(_), _) => None,
        _ => Some(place.element()),
    }
}

fn splits_one_value(place: Place<'_>, set: &FieldSet<'_>) -> bool {
    set.nodes().iter().filter(|node| !node.below.is_empty()).any(|node| match step_into(place, &node.step) {
        None => false,
        Some(inner) if inner.is_deduced() => false,
        Some(inner) => matches!(inner.shape(None), Shape::Atomic) || splits_one_value(inner, &node.below),
    })
}

fn close<'a>(place: Place<'_>, set: &FieldSet<'a>) -> FieldSet<'a> {
    let mut out = FieldSet::default();
    for node in set.nodes() {
        let inner = step_into(place, &node.step).filter(|inner| !inner.is_deduced() && !node.below.is_empty());
        match inner {
            Some(inner) if matches!(inner.shape(None), Shape::Atomic) => {
                out.push(node.step.clone(), true, FieldSet::default());
            }
            Some(inner) => out.push(node.step.clone(), node.member, close(inner, &node.below)),
            None => out.push(node.step.clone(), node.member, node.below.clone()),
        }
    }
    out
}
