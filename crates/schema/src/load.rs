//! Reads the generated table.

use plimsoll_engine::collections::Map;
use serde::Deserialize;
use serde_json::Value;

use crate::resources::GroupVersion;
use crate::table::{Field, ListKind, PatchStrategy, StructType, Table, Type, TypeId};

/// Made by `e2e/kubernetes/facts`; a newer release is a new file.
const KINDS: &str = include_str!("../data/kinds.json");

#[derive(Deserialize)]
struct Document {
    types: std::collections::BTreeMap<String, RawType>,
    kinds: std::collections::BTreeMap<String, String>,
    groups: Vec<GroupVersion>,
}

#[derive(Deserialize)]
struct RawType {
    #[serde(default)]
    mt: String,
    fields: Vec<RawField>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawField {
    n: String,
    t: Value,
    #[serde(default)]
    p: u32,
    #[serde(default)]
    via: u32,
    #[serde(default)]
    f: String,
    #[serde(default)]
    r: bool,
    #[serde(default)]
    d: Option<Value>,
    #[serde(default)]
    ps: String,
    #[serde(default)]
    pk: String,
    #[serde(default)]
    lt: String,
    #[serde(default)]
    lk: Vec<String>,
    #[serde(default)]
    mt: String,
}

/// The built-in table.
#[expect(clippy::expect_used, reason = "the file is part of the program, and a test reads it")]
pub(crate) fn builtin() -> Table {
    let document: Document = serde_json::from_str(KINDS).expect("data/kinds.json is what e2e/kubernetes/facts writes");
    let mut ids: Map<&str, TypeId> = Map::default();
    for (i, name) in document.types.keys().enumerate() {
        ids.insert(name, TypeId(u32::try_from(i).unwrap_or(u32::MAX)));
    }
    let mut table = Table::default();
    for (name, raw) in &document.types {
        let fields = raw.fields.iter().map(|f| field(f, &ids)).collect();
        let mut ty = StructType::new(name, fields);
        ty.atomic = raw.mt == "atomic";
        table.add(ty);
    }
    table.kinds = document.kinds.iter().map(|(kind, name)| (kind.as_str().into(), ids[name.as_str()])).collect();
    table.groups = document.groups;
    table
}

fn field(raw: &RawField, ids: &Map<&str, TypeId>) -> Field {
    Field {
        name: raw.n.as_str().into(),
        ty: expression(&raw.t, ids),
        number: raw.p,
        via: raw.via,
        pointer: raw.f.contains('p'),
        omit_empty: raw.f.contains('e'),
        omit_zero: raw.f.contains('z'),
        required: raw.r,
        default: raw.d.clone(),
        patch: PatchStrategy {
            merge: raw.ps.contains("merge"),
            retain_keys: raw.ps.contains("retainKeys"),
            replace: raw.ps.contains("replace"),
        },
        patch_key: raw.pk.as_str().into(),
        list: match raw.lt.as_str() {
            "map" => ListKind::Map,
            "set" => ListKind::Set,
            _ => ListKind::Atomic,
        },
        list_keys: raw.lk.iter().map(|k| k.as_str().into()).collect(),
        atomic: raw.mt == "atomic",
    }
}

#[expect(clippy::panic, reason = "the file is part of the program, and a test reads it")]
fn expression(raw: &Value, ids: &Map<&str, TypeId>) -> Type {
    if let Some(word) = raw.as_str() {
        return match word {
            "string" => Type::String,
            "bool" => Type::Bool,
            "int32" => Type::Int32,
            "int64" => Type::Int64,
            "double" => Type::Double,
            "bytes" => Type::Bytes,
            "quantity" => Type::Quantity,
            "intstr" => Type::IntOrString,
            "time" => Type::Time,
            "microtime" => Type::MicroTime,
            "duration" => Type::Duration,
            "raw" => Type::Raw,
            "json" => Type::Json,
            "fields" => Type::Fields,
            name => match name.strip_prefix('#').and_then(|n| ids.get(n)) {
                Some(id) => Type::Struct(*id),
                None => panic!("data/kinds.json: no type {name:?}"),
            },
        };
    }
    if let Some((key, of)) = raw.as_object().and_then(|object| object.iter().next()) {
        let of = Box::new(expression(of, ids));
        return match key.as_str() {
            "list" => Type::List(of),
            "wrapped" => Type::Wrapped(of),
            _ => Type::Map(of),
        };
    }
    panic!("data/kinds.json: no type expression {raw}")
}
