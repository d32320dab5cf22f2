//! Which objects are refused, and with which sentences.
//!
//! - [`create`]: a new object (canonical and with its defaults; name generation has been done);
//! - [`update`]: an object that replaces another;
//! - [`update_subresource`]: the same through a subresource (`status`, `ephemeralcontainers`, `resize`, …; for `binding` and `scale` the new
//!   object is the Binding or Scale itself, and the real server answers a wrong binding with a plain 500 that holds the sentences).
//!
//! All give upstream's errors in upstream's order; an empty list accepts. What they build on:
//! - [`path::Path`] (`Path::new("spec").child("ports").index(0)`, `.key("k")`), and readers of canonical objects (`path::text`, …);
//! - [`names`]: `is_dns1123_label(&str) -> Vec<String>` and its like, `NameRule`s such as `name_is_dns_subdomain(&str, prefix: bool)`;
//! - [`ip`]: `is_ip(&Path, &str)`, `is_ip_legacy(&Path, &str, before)`, `is_cidr…`;
//! - [`meta`]: `object_meta(&metadata, namespaced, rule, &Path)`, `object_meta_update(&new, &old, &Path)`, `labels(&object, "field", &Path)`,
//!   `builtin_meta` and `builtin_meta_update` (the same with the check of finalizers that core, apps and batch kinds have),
//!   `immutable(&new, &old, &Path)`, `non_negative(Option<i64>, &Path)`, `too_long(&Path, max)`;
//! - [`shown`]: values that a sentence shows as Go's JSON.

pub mod claim;
pub mod cluster;
pub mod diff;
pub mod found;
pub mod internal;
pub mod ip;
pub mod meta;
pub mod names;
pub mod path;
pub mod pod;
pub mod resources;
pub mod selectors;
pub mod shown;
pub mod workloads;

#[cfg(test)]
mod tests;

use plimsoll_schema::{Scope, Table};
use serde_json::Value;

use crate::field::FieldError;
use crate::kind::Kind;
use path::{Path, get};

/// What is wrong with a new object.
pub fn create(kind: Kind<'_>, new: &Value) -> Vec<FieldError> {
    let found = match workloads::create(kind, new) {
        Some(found) => once(found),
        None => match cluster::create(kind, new) {
            Some(found) => return found,
            None => Vec::new(),
        },
    };
    // What all kinds have in common is only looked at where nothing more exact was found. Requests that are no objects have none of it.
    if !found.is_empty() || matches!(kind.kind, "Binding" | "Eviction") {
        return found;
    }
    meta::object_meta(get(new, "metadata"), namespaced(kind, new), names::name_is_path_segment, &Path::new("metadata"))
}

/// What is wrong with an object that replaces another.
pub fn update(kind: Kind<'_>, new: &Value, old: &Value) -> Vec<FieldError> {
    with_common(kind, new, old, workloads::update(kind, new, old), || cluster::update(kind, new, old))
}

/// What is wrong with an object written through a subresource.
pub fn update_subresource(kind: Kind<'_>, subresource: &str, new: &Value, old: &Value) -> Vec<FieldError> {
    let found = workloads::subresource(kind, subresource, new, old);
    match found {
        // A binding is no pod and a scale no workload: they have nothing in common with them.
        Some(found) if matches!(subresource, "binding" | "scale") => found,
        found => with_common(kind, new, old, found, || cluster::update_subresource(kind, subresource, new, old)),
    }
}

/// What was found for a workload behind what all kinds have in common; what `else_found` says of other kinds has that in it already.
fn with_common(
    kind: Kind<'_>,
    new: &Value,
    old: &Value,
    found: Option<Vec<FieldError>>,
    else_found: impl FnOnce() -> Option<Vec<FieldError>>,
) -> Vec<FieldError> {
    let more = match found {
        Some(found) => found,
        None => match else_found() {
            Some(found) => return found,
            None => Vec::new(),
        },
    };
    let mut out = common(kind, new, old);
    out.extend(more);
    once(out)
}

/// What all kinds have in common.
fn common(kind: Kind<'_>, new: &Value, old: &Value) -> Vec<FieldError> {
    let (now, before, path) = (get(new, "metadata"), get(old, "metadata"), Path::new("metadata"));
    let mut out = meta::object_meta(now, namespaced(kind, new), names::name_is_path_segment, &path);
    out.extend(meta::object_meta_update(now, before, &path));
    out
}

/// Each error once: rules that overlap find the same.
fn once(errors: Vec<FieldError>) -> Vec<FieldError> {
    let mut out: Vec<FieldError> = Vec::with_capacity(errors.len());
    for error in errors {
        if !out.contains(&error) {
            out.push(error);
        }
    }
    out
}

/// Whether objects of the kind live in namespaces, as the table of kinds has it. Of kinds that are not in it (custom ones), the object
/// itself is believed.
pub fn namespaced(kind: Kind<'_>, object: &Value) -> bool {
    let table = Table::builtin();
    let group = table.groups().iter().find(|group| group.group == kind.group && group.version == kind.version);
    let resource =
        group.and_then(|group| group.resources.iter().find(|resource| resource.response_kind.kind == kind.kind));
    match resource {
        Some(resource) => resource.scope == Scope::Namespaced,
        None => !path::text(get(object, "metadata"), "namespace").is_empty(),
    }
}
