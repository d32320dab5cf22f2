//! Server-side apply and field ownership.
//!
//! Every write says who now owns which fields (`metadata.managedFields`): [`update`] for creates, updates and patches, [`apply`] for
//! server-side apply, which also merges. The algorithm is upstream's structured merge; the parts are:
//!
//! ```text
//!   shape     how a value is taken apart: one value, key by key, element by element (from the schema's table)
//!   path, set fields as paths, sets of them, and `fieldsV1`
//!   compare   old and new object  -> the fields that changed, the fields that are gone
//!   collect   a configuration     -> the fields it names
//!   merge     object + configuration;  prune, remove: minus what its applier no longer names
//!   managers  `managedFields`, read and written
//! ```

mod collect;
mod compare;
mod conflict;
mod last_applied;
mod managers;
mod merge;
mod path;
mod prune;
mod reconcile;
mod remove;
mod reset;
mod server_side;
mod set;
mod shape;
mod update;
mod validate;
mod values;

#[cfg(test)]
mod tests;

use plimsoll_schema::Schema;
use serde_json::{Map, Value};

use crate::kind::Kind;

pub use path::PathElement;
pub use reset::{Reset, reset, reset_custom};
pub use server_side::apply;
pub use set::FieldSet;
pub use update::{keep_times, update};

/// What is written: a kind, seen through its schema.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// The type of the objects.
    pub schema: Schema<'a>,
    /// Their kind, in the version of the request.
    pub kind: Kind<'a>,
    /// It is a custom resource: a new object has no fields at all, where a built-in kind has those that are always written.
    pub custom: bool,
    /// What the request's path leaves as it is ([`reset()`]).
    pub reset: &'a Reset,
    /// The other versions of the kind.
    pub versions: &'a dyn Versions,
}

impl Target<'_> {
    /// The object before anything is set.
    fn empty(&self) -> Value {
        if self.custom { Value::Object(Map::new()) } else { shape::zero(self.schema) }
    }
}

/// Who writes.
#[derive(Debug, Clone, Copy)]
pub struct Manager<'a> {
    /// The name ([`manager_name`]).
    pub name: &'a str,
    /// The subresource that is written through; empty for the object itself.
    pub subresource: &'a str,
}

/// Objects in other versions of their kind: ownership is kept in the version in which it was written.
pub trait Versions {
    /// The type of the kind in another version; nothing where there is no such version. Managers of such a version are forgotten.
    fn schema<'a>(&'a self, api_version: &str) -> Option<Schema<'a>>;

    /// The object in another version, or back in the request's own.
    fn convert(&self, object: &Value, api_version: &str) -> Option<Value>;
}

/// A kind with a single version.
#[derive(Debug, Clone, Copy, Default)]
pub struct OneVersion;

impl Versions for OneVersion {
    fn schema<'a>(&'a self, _: &str) -> Option<Schema<'a>> {
        None
    }

    fn convert(&self, _: &Value, _: &str) -> Option<Value> {
        None
    }
}

/// The most bytes of a manager's name.
const MOST_NAME_BYTES: usize = 128;

/// The name of the manager of a request: the `fieldManager` parameter, or the client's name from its user agent.
pub fn manager_name(field_manager: &str, user_agent: &str) -> String {
    if !field_manager.is_empty() {
        return field_manager.to_owned();
    }
    let mut out = String::new();
    for c in user_agent.split('/').next().unwrap_or_default().chars() {
        // Only the plain space counts as printable white space in Go.
        if c.is_control() || (c.is_whitespace() && c != ' ') {
            continue;
        }
        if out.len() + c.len_utf8() > MOST_NAME_BYTES {
            break;
        }
        out.push(c);
    }
    out
}
