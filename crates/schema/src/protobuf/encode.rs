//! From canonical JSON to a message.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::fields::owned_fields_text;
use super::json_schema::{self, Union};
use super::layout::{Slot, slots};
use super::leaf::{nanos, put_int_or_string, put_time};
use super::wire::{put_bytes, put_double, put_message, put_number};
use crate::table::{Field, Schema, StructType, Table, Type, TypeId};

static NO_FIELDS: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);

/// The message of an object, without its envelope. What is not of the type counts as absent.
pub fn encode_message(schema: Schema<'_>, value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    if let Type::Struct(id) = schema.ty {
        put_struct(&mut out, schema.table, *id, value);
    }
    out
}

/// The message of a PartialObjectMetadata or, with `items`, a PartialObjectMetadataList: no kind of the table, since any kind may be
/// asked for as one.
pub fn encode_partial_metadata(table: &Table, value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    let meta = |out: &mut Vec<u8>, of: &Value, name: &str| {
        let id = table.named(&format!("io.k8s.apimachinery.pkg.apis.meta.v1.{name}"));
        put_message(out, 1, |out| {
            if let Some(id) = id {
                put_struct(out, table, id, of.get("metadata").unwrap_or(&Value::Null));
            }
        });
    };
    match value.get("items") {
        None => meta(&mut out, value, "ObjectMeta"),
        Some(items) => {
            meta(&mut out, value, "ListMeta");
            for item in items.as_array().into_iter().flatten() {
                put_message(&mut out, 2, |out| meta(out, item, "ObjectMeta"));
            }
        }
    }
    out
}

pub(super) fn put_struct(out: &mut Vec<u8>, table: &Table, id: TypeId, value: &Value) {
    let fields = value.as_object().unwrap_or(&NO_FIELDS);
    put_level(out, table, table.get(id), fields, &slots(table, id), 0);
}

/// Writes the fields of one level; those that stand deeper go into a message of their own, which is there even if it is empty.
fn put_level(
    out: &mut Vec<u8>,
    table: &Table,
    ty: &StructType,
    fields: &Map<String, Value>,
    slots: &[Slot],
    level: usize,
) {
    for group in slots.chunk_by(|a, b| a.number(level) == b.number(level)) {
        let Some(first) = group.first() else { continue };
        let number = first.number(level);
        if first.depth > level + 1 {
            put_message(out, number, |out| put_level(out, table, ty, fields, group, level + 1));
        } else if let Some(field) = ty.fields.get(first.field) {
            put_field(out, table, ty, field, number, fields.get(&*field.name));
        }
    }
}

fn put_field(out: &mut Vec<u8>, table: &Table, ty: &StructType, field: &Field, number: u32, value: Option<&Value>) {
    if let Some(union) = json_schema::union(ty, field) {
        if let Some(value) = value {
            json_schema::put(out, table, union, number, value);
        }
        return;
    }
    match &field.ty {
        // A list and a map have no form of their own: nothing is written for none.
        Type::List(of) => put_list(out, table, of, number, value),
        Type::Map(of) => put_map(out, table, of, number, value),
        Type::Bytes if value.is_none_or(Value::is_null) => {}
        // A pointer to nothing is written as null in JSON where it must be, and not at all here.
        _ if field.pointer && value.is_none_or(Value::is_null) => {}
        ty => put_value(out, table, ty, number, value.unwrap_or(&Value::Null)),
    }
}

pub(super) fn put_list(out: &mut Vec<u8>, table: &Table, of: &Type, number: u32, value: Option<&Value>) {
    for item in value.and_then(Value::as_array).into_iter().flatten() {
        put_value(out, table, of, number, item);
    }
}

fn put_map(out: &mut Vec<u8>, table: &Table, of: &Type, number: u32, value: Option<&Value>) {
    for (key, value) in value.and_then(Value::as_object).into_iter().flatten() {
        put_message(out, number, |out| {
            put_bytes(out, 1, key.as_bytes());
            if !(matches!(of, Type::Bytes) && value.is_null()) {
                put_value(out, table, of, 2, value);
            }
        });
    }
}

/// Writes a value; null is the zero of its type.
fn put_value(out: &mut Vec<u8>, table: &Table, ty: &Type, number: u32, value: &Value) {
    match ty {
        Type::String => put_bytes(out, number, value.as_str().unwrap_or("").as_bytes()),
        Type::Bool => put_number(out, number, i64::from(value.as_bool().unwrap_or(false))),
        Type::Int32 | Type::Int64 => put_number(out, number, whole(value)),
        Type::Double => put_double(out, number, value.as_f64().unwrap_or(0.0)),
        Type::Bytes => {
            let bytes = STANDARD.decode(value.as_str().unwrap_or("")).unwrap_or_default();
            put_bytes(out, number, &bytes);
        }
        Type::Quantity => put_message(out, number, |out| match value {
            Value::String(text) => put_bytes(out, 1, text.as_bytes()),
            Value::Number(n) => put_bytes(out, 1, n.to_string().as_bytes()),
            _ => put_bytes(out, 1, b"0"),
        }),
        Type::IntOrString => put_message(out, number, |out| put_int_or_string(out, value)),
        Type::Time => put_message(out, number, |out| put_time(out, value, false)),
        Type::MicroTime => put_message(out, number, |out| put_time(out, value, true)),
        Type::Duration => {
            put_message(out, number, |out| put_number(out, 1, nanos(value.as_str().unwrap_or(""))));
        }
        Type::Raw | Type::Fields if value.is_null() => put_message(out, number, |_| {}),
        Type::Raw | Type::Json => put_message(out, number, |out| put_bytes(out, 1, value.to_string().as_bytes())),
        Type::Fields => {
            put_message(out, number, |out| put_bytes(out, 1, owned_fields_text(value).as_bytes()));
        }
        Type::Struct(id) => put_message(out, number, |out| put_struct(out, table, *id, value)),
        Type::Wrapped(of) => put_message(out, number, |out| put_list(out, table, of, 1, Some(value))),
        Type::List(of) => put_list(out, table, of, number, Some(value)),
        Type::Map(of) => put_map(out, table, of, number, Some(value)),
    }
}

/// A whole number, also where it is spelt as a float.
fn whole(value: &Value) -> i64 {
    value.as_i64().or_else(|| value.as_f64().map(|f| f as i64)).unwrap_or(0)
}

/// For [`json_schema`]: the unions' own fields are written by number.
pub(super) fn put_union_schema(out: &mut Vec<u8>, table: &Table, union: Union, number: u32, value: &Value) {
    put_message(out, number, |out| put_struct(out, table, union.schema, value));
}
