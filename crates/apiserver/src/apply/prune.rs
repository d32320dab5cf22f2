//! Removes what an applier no longer names.

use std::borrow::Cow;

use serde_json::Value;

use super::Target;
use super::collect::{collect, with_named_parents};
use super::managers::{Entry, Managed};
use super::remove::remove;
use super::set::FieldSet;
use super::shape::Place;

/// The merged object without the fields that the applier named last time (`last`), does not name now, and nobody else owns.
pub(crate) fn prune(target: &Target<'_>, merged: Value, managed: &Managed<'_>, last: &Entry<'_>) -> Value {
    if last.fields.is_empty() {
        return merged;
    }
    let own = target.kind.api_version();
    if last.api_version == own {
        return prune_in(target, Place::root(target.schema), merged, managed, last);
    }
    // The fields were named in another version: they are removed there, and the rest comes back.
    let versions = target.versions;
    let Some(schema) = versions.schema(&last.api_version) else { return merged };
    let Some(other) = versions.convert(&merged, &last.api_version) else { return merged };
    let pruned = prune_in(target, Place::root(schema), other, managed, last);
    versions.convert(&pruned, &own).unwrap_or(merged)
}

fn prune_in(target: &Target<'_>, place: Place<'_>, merged: Value, managed: &Managed<'_>, last: &Entry<'_>) -> Value {
    let named = with_named_parents(place, &last.fields);
    let mut pruned = remove(place, &merged, &named);
    // What is owned in the same version comes back first: other versions may need it to be converted.
    let mut versions: Vec<&str> = managed.entries.iter().map(|entry| &*entry.api_version).collect();
    versions.sort_by_key(|version| (*version != last.api_version, *version));
    versions.dedup();
    for version in versions {
        pruned = add_owned(target, place, &merged, pruned, managed, (&last.api_version, version));
    }
    // Nothing goes that was not the applier's own.
    let kept = with_named_parents(place, &collect(place, &pruned));
    let mut gone = with_named_parents(place, &collect(place, &merged));
    gone.subtract(&kept);
    let gone = gone.intersection(&named);
    if gone.is_empty() { merged.clone() } else { remove(place, &merged, &gone) }
}

/// Brings back what someone owns in a version. `versions` are the one the objects are in, and the one to look at.
fn add_owned(
    target: &Target<'_>,
    place: Place<'_>,
    merged: &Value,
    pruned: Value,
    managed: &Managed<'_>,
    (from, version): (&str, &str),
) -> Value {
    let (place, merged, before) = if version == from {
        (place, Cow::Borrowed(merged), Cow::Borrowed(&pruned))
    } else {
        let converted = target.versions.convert(merged, version).zip(target.versions.convert(&pruned, version));
        let Some((schema, (merged, before))) = target.versions.schema(version).zip(converted) else { return pruned };
        (Place::root(schema), Cow::Owned(merged), Cow::Owned(before))
    };
    let mut owned = FieldSet::default();
    for entry in managed.entries.iter().filter(|entry| entry.api_version == version) {
        owned.union(entry.fields.clone());
    }
    let mut gone = with_named_parents(place, &collect(place, &merged));
    gone.subtract(&with_named_parents(place, &collect(place, &before)));
    gone.subtract(&with_named_parents(place, &owned));
    let back = if gone.is_empty() { merged.into_owned() } else { remove(place, &merged, &gone) };
    if version == from {
        return back;
    }
    target.versions.convert(&back, from).unwrap_or(pruned)
}
