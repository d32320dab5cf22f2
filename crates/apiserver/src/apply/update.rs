//! Ownership after a write that is not an apply.

use std::sync::LazyLock;

use jiff::Timestamp;
use serde_json::Value;

use super::compare::{Diff, compare};
use super::managers::{Entry, Managed, Operation, managed_fields, set_managed_fields};
use super::reconcile::reconcile;
use super::reset::Reset;
use super::set::FieldSet;
use super::shape::Place;
use super::values::same;
use super::{Manager, Target};

/// Sets `metadata.managedFields` of `new`, which is about to be stored in the place of `old` (or is created).
///
/// `new` brings the `managedFields` that the client sent: none or broken ones leave the old ones in place, an empty list (or one with
/// a single empty entry) forgets them all, and any other list is taken as the base. Both objects are in canonical form.
pub fn update(target: &Target<'_>, old: Option<&Value>, new: &mut Value, manager: &Manager<'_>, now: Timestamp) {
    let sent = new.get_mut("metadata").and_then(Value::as_object_mut).and_then(|m| m.remove("managedFields"));
    let stored = old.and_then(managed_fields);
    let list = track(target, old, new, sent.as_ref(), manager, now).unwrap_or_else(|()| stored.cloned());
    set_managed_fields(new, list);
}

/// The new `managedFields`, or an error where no fields can be named: the old ones stay then.
fn track(
    target: &Target<'_>,
    old: Option<&Value>,
    new: &Value,
    sent: Option<&Value>,
    manager: &Manager<'_>,
    now: Timestamp,
) -> Result<Option<Value>, ()> {
    let stored = || Managed::decode(old.and_then(managed_fields)).unwrap_or_default();
    let mut managed = match sent {
        // A subresource cannot be used to change who owns what.
        _ if !manager.subresource.is_empty() => stored(),
        Some(sent) if is_reset(sent) => Managed::default(),
        Some(sent) => match Managed::decode(Some(sent)) {
            Ok(managed) if !managed.entries.is_empty() => managed,
            _ => stored(),
        },
        None => stored(),
    };
    // An object that nobody is known to own anything of is tracked again from its next apply on.
    if managed.entries.is_empty() && old.is_some() {
        return Ok(None);
    }
    let empty;
    let before = match old {
        Some(old) => old,
        None => {
            empty = target.empty();
            &empty
        }
    };
    let time = stamp(now);
    let api_version = target.kind.api_version();
    let entry = Entry::new(manager.name, Operation::Update, &api_version, manager.subresource);
    record(target, before, new, &mut managed, entry, &time)?;
    Ok(managed.encode())
}

/// Upstream's two ways to say "forget who owns what".
fn is_reset(sent: &Value) -> bool {
    match sent.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([only]) => only.as_object().is_some_and(serde_json::Map::is_empty),
        _ => false,
    }
}

/// A time as `managedFields` has it.
pub(crate) fn stamp(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Gives what has changed to `entry`'s manager and takes it from all others.
pub(crate) fn record<'v>(
    target: &Target<'v>,
    old: &'v Value,
    new: &'v Value,
    managed: &mut Managed<'v>,
    mut entry: Entry<'v>,
    time: &'v str,
) -> Result<(), ()> {
    reconcile(target, managed);
    let place = Place::root(target.schema);
    let mut diff = compare(place, old, new);
    filter(&mut diff, target.reset);
    if diff.broken {
        return Err(());
    }
    let own_version = entry.api_version.to_string();
    let others = OtherVersions::new(target, old, new, managed, &own_version);
    take_from_others(managed, &own_version, &diff, &others.diffs(), None);
    let mut gained = diff.changed;
    target.reset.apply(&mut gained);
    gained.subtract(&STRIPPED);
    if !gained.is_empty() {
        entry.time = Some(time.into());
        match managed.position(&entry).and_then(|at| managed.entries.get_mut(at)) {
            Some(known) => {
                known.gain(gained);
                known.time = entry.time;
            }
            None => {
                entry.set_fields(gained);
                managed.entries.push(entry);
            }
        }
    }
    managed.cap();
    Ok(())
}

/// Takes what has changed or gone from everyone but `except`, each in its own version, and forgets who owns nothing then.
pub(crate) fn take_from_others(
    managed: &mut Managed<'_>,
    version: &str,
    diff: &Diff<'_>,
    others: &[(&str, Diff<'_>)],
    except: Option<usize>,
) {
    for (at, entry) in managed.entries.iter_mut().enumerate() {
        if Some(at) == except {
            continue;
        }
        if entry.api_version == version {
            entry.lose(&diff.changed);
            entry.lose(&diff.removed);
        } else if let Some(diff) = others.iter().find(|(version, _)| *version == entry.api_version).map(|(_, d)| d) {
            entry.lose(&diff.changed);
            entry.lose(&diff.removed);
        } else {
            // A version that is no longer served owns nothing.
            entry.set_fields(FieldSet::default());
        }
    }
    managed.drop_empty();
}

/// An old and a new object in the versions in which others own fields of them.
pub(crate) struct OtherVersions<'t> {
    objects: Vec<(String, plimsoll_schema::Schema<'t>, Value, Value)>,
    reset: &'t Reset,
}

impl<'t> OtherVersions<'t> {
    pub(crate) fn new(target: &Target<'t>, old: &Value, new: &Value, managed: &Managed<'_>, own: &str) -> Self {
        let mut objects: Vec<(String, plimsoll_schema::Schema<'t>, Value, Value)> = Vec::new();
        for entry in managed.entries.iter().filter(|entry| entry.api_version != own) {
            let version = &*entry.api_version;
            if objects.iter().any(|(known, ..)| known == version) {
                continue;
            }
            let Some(schema) = target.versions.schema(version) else { continue };
            let both = target.versions.convert(old, version).zip(target.versions.convert(new, version));
            objects.extend(both.map(|(old, new)| (version.to_owned(), schema, old, new)));
        }
        Self { objects, reset: target.reset }
    }

    /// How the objects differ in each version.
    pub(crate) fn diffs(&self) -> Vec<(&str, Diff<'_>)> {
        let mut out = Vec::with_capacity(self.objects.len());
        for (version, schema, old, new) in &self.objects {
            let mut diff = compare(Place::root(*schema), old, new);
            filter(&mut diff, self.reset);
            out.push((version.as_str(), diff));
        }
        out
    }
}

pub(crate) fn filter(diff: &mut Diff<'_>, reset: &Reset) {
    reset.apply(&mut diff.changed);
    reset.apply(&mut diff.removed);
}

/// What identifies an object, and what only the server writes, has no owner.
pub(crate) static STRIPPED: LazyLock<FieldSet<'static>> = LazyLock::new(|| {
    FieldSet::of_fields(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
});

/// Restores the old times in `managedFields` when nothing else has changed, so that a write without effect stores nothing. To be called
/// last before an update is stored.
pub fn keep_times(old: &Value, new: &mut Value) {
    let (Some(Value::Array(before)), Some(Value::Array(after))) = (managed_fields(old), managed_fields(new)) else {
        return;
    };
    if before.len() != after.len() || before.iter().zip(after).all(|(a, b)| a.get("time") == b.get("time")) {
        return;
    }
    let equal = before.iter().zip(after).all(|(a, b)| equal_but(a, b, "time", |_, _| true))
        && equal_but(old, new, "metadata", |a, b| equal_but(a, b, "managedFields", |_, _| true));
    if equal {
        let before = Value::Array(before.clone());
        set_managed_fields(new, Some(before));
    }
}

/// Whether two maps are the same but for one key, whose values `inner` judges.
fn equal_but(a: &Value, b: &Value, key: &str, inner: impl Fn(&Value, &Value) -> bool) -> bool {
    let (Some(left), Some(right)) = (a.as_object(), b.as_object()) else { return same(a, b) };
    let rest = |(k, _): &(&String, &Value)| *k != key;
    let mut one = left.iter().filter(rest);
    let mut two = right.iter().filter(rest);
    let others = loop {
        match (one.next(), two.next()) {
            (None, None) => break true,
            (Some((ka, va)), Some((kb, vb))) if ka == kb && same(va, vb) => {}
            _ => break false,
        }
    };
    others
        && match (left.get(key), right.get(key)) {
            (Some(a), Some(b)) => inner(a, b),
            _ => true,
        }
}
