//! Unit tables, laws of the sets, and sequences recorded from a real kube-apiserver.

mod laws;
mod recorded;
mod tables;

use plimsoll_schema::{Schema, Table, Type};
use serde_json::Value;

use super::{FieldSet, Manager, OneVersion, Reset, Target};
use crate::kind::Kind;

/// Calls `act` with a target for a built-in kind.
fn with_target<T>(kind: Kind<'_>, reset: &Reset, act: impl FnOnce(&Target<'_>) -> T) -> T {
    let table = Table::builtin();
    let ty = Type::Struct(table.kind(kind.group, kind.version, kind.kind).unwrap());
    let schema = Schema::new(&table, &ty);
    act(&Target { schema, kind, custom: false, reset, versions: &OneVersion })
}

fn manager(name: &str) -> Manager<'_> {
    Manager { name, subresource: "" }
}

fn decoded(fields: &Value) -> FieldSet<'_> {
    FieldSet::decode(fields).unwrap()
}
