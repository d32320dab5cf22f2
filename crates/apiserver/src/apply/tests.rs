//! Unit tables, laws of the sets, and sequences recorded from a real kube-apiserver.

mod laws;
mod recorded;
mod tables;

use std::sync::Arc;

use plimsoll_schema::{Field, ListKind, PatchStrategy, Schema, StructType, Table, Type};
use serde_json::{Value, json};

use super::{FieldSet, Manager, OneVersion, Reset, Target};
use crate::kind::Kind;

/// Calls `act` with a target for a built-in kind, or for the custom `Thing`.
fn with_target<T>(kind: Kind<'_>, reset: &Reset, act: impl FnOnce(&Target<'_>) -> T) -> T {
    let custom = kind.kind == "Thing";
    let (table, ty) = if custom {
        thing()
    } else {
        let table = Table::builtin();
        let ty = Type::Struct(table.kind(kind.group, kind.version, kind.kind).unwrap());
        (table, ty)
    };
    let schema = Schema::new(&table, &ty);
    act(&Target { schema, kind, custom, reset, versions: &OneVersion })
}

fn field(name: &str, ty: Type) -> Field {
    Field {
        name: name.into(),
        ty,
        number: 0,
        via: 0,
        pointer: false,
        omit_empty: true,
        omit_zero: false,
        required: false,
        default: None,
        patch: PatchStrategy::default(),
        patch_key: "".into(),
        list: ListKind::Atomic,
        list_keys: [].into(),
        atomic: false,
    }
}

/// The custom resource that `record.py` defines.
fn thing() -> (Arc<Table>, Type) {
    let list = |name: &str, element: Type, list: ListKind, keys: &[&str]| {
        let mut out = field(name, Type::List(Box::new(element)));
        out.list = list;
        out.list_keys = keys.iter().map(|k| (*k).into()).collect();
        out
    };
    let map = |name: &str, element: Type| field(name, Type::Map(Box::new(element)));
    let mut table = (*Table::builtin()).clone();
    let mut open = StructType::new("Open", vec![field("known", Type::String)]);
    open.preserve_unknown = true;
    let open = table.add(open);
    let mut zone = field("zone", Type::String);
    zone.default = Some(json!("z"));
    let item = StructType::new("Item", vec![field("id", Type::Int64), zone, field("v", Type::String)]);
    let item = table.add(item);
    let mut whole = map("whole", Type::String);
    whole.atomic = true;
    let spec = table.add(StructType::new(
        "Spec",
        vec![
            field("any", Type::Json),
            field("open", Type::Struct(open)),
            list("set", Type::String, ListKind::Set, &[]),
            list("keyed", Type::Struct(item), ListKind::Map, &["id", "zone"]),
            list("plain", Type::String, ListKind::Atomic, &[]),
            whole,
            map("map", Type::Int64),
            field("size", Type::IntOrString),
        ],
    ));
    let status = table.add(StructType::new("Status", vec![field("phase", Type::String)]));
    let meta = table.named("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta").unwrap();
    let root = table.add(StructType::new(
        "Thing",
        vec![
            field("apiVersion", Type::String),
            field("kind", Type::String),
            field("metadata", Type::Struct(meta)),
            field("spec", Type::Struct(spec)),
            field("status", Type::Struct(status)),
        ],
    ));
    (Arc::new(table), Type::Struct(root))
}

fn manager(name: &str) -> Manager<'_> {
    Manager { name, subresource: "" }
}

fn decoded(fields: &Value) -> FieldSet<'_> {
    FieldSet::decode(fields).unwrap()
}
