//! Server-side apply: a configuration becomes the object's, field by field.

use jiff::Timestamp;
use serde_json::Value;

use crate::kind::Kind;
use crate::status::Status;

use super::collect::collect;
use super::compare::{Diff, compare};
use super::conflict::{self, Conflict};
use super::last_applied;
use super::managers::{Entry, Managed, Operation, managed_fields, set_managed_fields};
use super::merge::merge;
use super::prune::prune;
use super::reconcile::reconcile;
use super::shape::Place;
use super::update::{OtherVersions, STRIPPED, filter, record, stamp, take_from_others};
use super::validate::validate;
use super::values::same;
use super::{Manager, Target};

/// Why an apply ends without an object.
enum Refused {
    Conflicts(Vec<Conflict>),
    Other(Status),
}

/// Applies a configuration to the live object, or makes a new one of it.
///
/// `config` is as the client sent it, `live` is in canonical form. The answer is the merged object with its `managedFields`, not yet
/// decoded and defaulted: the caller does that as with any object that a client sent. `None` means that the live object stays as it is.
///
/// # Errors
/// 409 where fields of other managers would change and `force` is not set; 400 and 500 for configurations that make no sense, as
/// upstream has them.
pub fn apply(
    target: &Target<'_>,
    live: Option<&Value>,
    config: &Value,
    manager: &Manager<'_>,
    force: bool,
    now: Timestamp,
) -> Result<Option<Value>, Status> {
    check_kind(target.kind, config)?;
    let managed = Managed::decode(live.and_then(managed_fields))
        .map_err(|why| plain_500(format!("failed to decode managed fields: {why}")))?;
    let empty;
    let (base, exists) = match live {
        Some(live) => (live, true),
        None => {
            empty = target.empty();
            (&empty, false)
        }
    };
    let time = stamp(now);
    let api_version = target.kind.api_version();
    let request = Request { target, base, exists, config, manager, api_version: &api_version, time: &time };
    let takes_over = manager.name == last_applied::TAKES_OVER;
    let outcome = match request.run(managed.clone(), force) {
        Err(Refused::Conflicts(conflicts)) if takes_over => request.take_over(managed, conflicts),
        other => other,
    };
    let mut object = outcome.map_err(|refused| match refused {
        Refused::Conflicts(conflicts) => conflict::status(conflicts),
        Refused::Other(status) => status,
    })?;
    if takes_over {
        last_applied::refresh(&mut object, config);
    }
    Ok((live != Some(&object)).then_some(object))
}

fn plain_500(message: String) -> Status {
    Status::new(500, "", message)
}

fn check_kind(kind: Kind<'_>, config: &Value) -> Result<(), Status> {
    let text = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api_version, name) = (text("apiVersion"), text("kind"));
    if api_version == kind.api_version() && name == kind.kind {
        return Ok(());
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    Err(Status::bad_request(format!("invalid object type: {group}/{version}, Kind={name}")))
}

struct Request<'r, 't> {
    target: &'r Target<'t>,
    base: &'r Value,
    exists: bool,
    config: &'r Value,
    manager: &'r Manager<'r>,
    api_version: &'r str,
    time: &'r str,
}

impl<'r> Request<'r, '_> {
    /// Applies by force where the conflicts are only with what client-side apply left.
    fn take_over(&self, managed: Managed<'r>, conflicts: Vec<Conflict>) -> Result<Value, Refused> {
        let Some(last) = last_applied::configuration(self.base) else { return Err(Refused::Conflicts(conflicts)) };
        let Some(takeable) = last_applied::takeable(self.target, self.base, &last) else {
            return Err(Refused::Conflicts(conflicts));
        };
        let rest: Vec<Conflict> = conflicts.into_iter().filter_map(|c| c.without(&takeable)).collect();
        if rest.is_empty() { self.run(managed, true) } else { Err(Refused::Conflicts(rest)) }
    }

    fn run(&self, mut managed: Managed<'r>, force: bool) -> Result<Value, Refused> {
        let target = self.target;
        let place = Place::root(target.schema);
        let empty = target.empty();
        if managed.entries.is_empty() && self.exists {
            // What was there before the first apply belongs to someone too.
            let mut found = Managed::default();
            let entry = Entry::new("before-first-apply", Operation::Update, self.api_version, self.manager.subresource);
            let _ = record(target, &empty, self.base, &mut found, entry, self.time);
            return self.merge_and_own(place, found, force);
        }
        reconcile(target, &mut managed);
        self.merge_and_own(place, managed, force)
    }

    fn merge_and_own<'m>(&self, place: Place<'m>, mut managed: Managed<'m>, force: bool) -> Result<Value, Refused>
    where
        'r: 'm,
    {
        let target = self.target;
        if managed_fields(self.config).is_some_and(Value::is_array) {
            return Err(Refused::Other(Status::bad_request("metadata.managedFields must be nil")));
        }
        validate(place, self.config, false).map_err(|why| {
            let what = described(target.kind, self.config);
            Refused::Other(plain_500(format!("failed to create typed patch object ({what}): {why}")))
        })?;
        let merged = merge(place, self.exists.then_some(self.base), Some(self.config)).unwrap_or_default();
        let mut fields = collect(place, self.config);
        target.reset.apply(&mut fields);

        let mut entry = Entry::new(self.manager.name, Operation::Apply, self.api_version, self.manager.subresource);
        let before = managed.position(&entry).map(|at| managed.entries.remove(at));
        entry.time = before.as_ref().and_then(|before| before.time.clone());
        entry.set_fields(fields);
        managed.entries.push(entry);
        let own = managed.entries.len() - 1;
        let merged = match before {
            Some(before) => prune(target, merged, &managed, &before),
            None => merged,
        };

        let mut diff = compare(place, self.base, &merged);
        filter(&mut diff, target.reset);
        let converted = OtherVersions::new(target, self.base, &merged, &managed, self.api_version);
        let others = converted.diffs();
        if !force {
            let conflicts = self.conflicts(&managed, own, &diff, &others);
            if !conflicts.is_empty() {
                return Err(Refused::Conflicts(conflicts));
            }
        }
        if let Some(entry) = managed.entries.get_mut(own) {
            entry.lose(&STRIPPED);
            if !self.exists || !same(self.base, &merged) {
                entry.time = Some(self.time.into());
            }
        }
        take_from_others(&mut managed, self.api_version, &diff, &others, Some(own));
        let list = managed.encode();
        let mut object = merged;
        set_managed_fields(&mut object, list);
        Ok(object)
    }

    /// The fields of others that would get another value.
    fn conflicts(
        &self,
        managed: &Managed<'_>,
        own: usize,
        diff: &Diff<'_>,
        others: &[(&str, Diff<'_>)],
    ) -> Vec<Conflict> {
        let mut out = Vec::new();
        for (at, entry) in managed.entries.iter().enumerate() {
            let diff = match others.iter().find(|(version, _)| *version == entry.api_version) {
                _ if at == own => continue,
                Some((_, diff)) => diff,
                None if entry.api_version == self.api_version => diff,
                None => continue,
            };
            let common = entry.fields.intersection(&diff.changed);
            if !common.is_empty() {
                out.push(Conflict::new(entry, &common));
            }
        }
        out
    }
}

/// A configuration as upstream's errors name it.
fn described(kind: Kind<'_>, config: &Value) -> String {
    let text = |name: &str| {
        config.get("metadata").and_then(|m| m.get(name)).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    format!("{}/{}; {}/{}, Kind={}", text("namespace"), text("name"), kind.group, kind.version, kind.kind)
}
