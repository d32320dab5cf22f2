//! The fields of a custom resource's schema that are a schema or something else: in JSON whichever it is, in protobuf a message with
//! a field for each.

use serde_json::{Map, Value};

use super::DecodeError;
use super::decode::{read_struct, read_value};
use super::encode::{put_list, put_union_schema};
use super::wire::{Reader, Wire, put_bytes, put_message, put_number};
use crate::table::{Field, StructType, Table, Type, TypeId};

/// Which union a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// A schema, or yes or no.
    OrBool,
    /// A schema, or a list of schemas.
    OrList,
    /// By name, a schema or a list of names.
    Dependencies,
    /// No union: a list that the table calls wrapped, though this one is not.
    PlainList,
}

/// A union, and the type of its schema.
#[derive(Debug, Clone, Copy)]
pub(super) struct Union {
    shape: Shape,
    pub(super) schema: TypeId,
}

/// The union that a field is, if it is one.
pub(super) fn union(ty: &StructType, field: &Field) -> Option<Union> {
    if !ty.name.ends_with(".JSONSchemaProps") {
        return None;
    }
    let shape = match (&*field.name, &field.ty) {
        ("items", Type::Json) => Shape::OrList,
        ("additionalProperties" | "additionalItems", Type::Json) => Shape::OrBool,
        ("dependencies", Type::Map(_)) => Shape::Dependencies,
        ("x-kubernetes-validations", Type::Wrapped(_)) => Shape::PlainList,
        _ => return None,
    };
    let Type::Struct(schema) = ty.field("not")?.ty else { return None };
    Some(Union { shape, schema })
}

/// Writes the field.
pub(super) fn put(out: &mut Vec<u8>, table: &Table, union: Union, number: u32, value: &Value) {
    match union.shape {
        Shape::OrBool => put_message(out, number, |out| {
            put_number(out, 1, i64::from(value.as_bool().unwrap_or(true)));
            if value.is_object() {
                put_union_schema(out, table, union, 2, value);
            }
        }),
        Shape::OrList => put_message(out, number, |out| match value {
            Value::Array(items) => items.iter().for_each(|item| put_union_schema(out, table, union, 2, item)),
            value => put_union_schema(out, table, union, 1, value),
        }),
        Shape::Dependencies => {
            for (key, value) in value.as_object().into_iter().flatten() {
                put_message(out, number, |out| {
                    put_bytes(out, 1, key.as_bytes());
                    put_message(out, 2, |out| match value {
                        Value::Array(_) => put_list(out, table, &Type::String, 2, Some(value)),
                        value => put_union_schema(out, table, union, 1, value),
                    });
                });
            }
        }
        Shape::PlainList => {
            if let Some(Type::Wrapped(of)) = table.get(union.schema).field("x-kubernetes-validations").map(|f| &f.ty) {
                put_list(out, table, of, number, Some(value));
            }
        }
    }
}

/// Reads the field; `old` is what earlier occurrences left.
pub(super) fn read(
    table: &Table,
    union: Union,
    wire: Wire<'_>,
    old: Option<Value>,
    depth: u32,
) -> Result<Value, DecodeError> {
    match union.shape {
        Shape::PlainList => {
            let mut list = match old {
                Some(Value::Array(list)) => list,
                _ => Vec::new(),
            };
            if let Some(Type::Wrapped(of)) = table.get(union.schema).field("x-kubernetes-validations").map(|f| &f.ty) {
                list.push(read_value(table, of, wire, None, depth)?);
            }
            Ok(Value::Array(list))
        }
        Shape::Dependencies => {
            let mut map = match old {
                Some(Value::Object(map)) => map,
                _ => Map::new(),
            };
            let (mut key, mut value) = (String::new(), Value::Null);
            let mut reader = Reader::new(wire.bytes("Dependencies")?);
            while let Some((number, wire)) = reader.next()? {
                match number {
                    1 => key = wire.text("key")?,
                    2 => value = read_union(table, union, wire, depth)?,
                    _ => {}
                }
            }
            map.insert(key, value);
            Ok(Value::Object(map))
        }
        Shape::OrBool | Shape::OrList => read_union(table, union, wire, depth),
    }
}

fn read_union(table: &Table, union: Union, wire: Wire<'_>, depth: u32) -> Result<Value, DecodeError> {
    let (mut allows, mut schema, mut list) = (false, None, Vec::new());
    let mut reader = Reader::new(wire.bytes("Schema")?);
    while let Some((number, wire)) = reader.next()? {
        let one = |wire: Wire<'_>, depth| {
            let mut map = Map::new();
            read_struct(table, union.schema, wire.bytes("Schema")?, &mut map, depth)?;
            Ok::<_, DecodeError>(Value::Object(map))
        };
        match (union.shape, number) {
            (Shape::OrBool, 1) => allows = wire.varint("Allows")? != 0,
            (Shape::OrBool, 2) | (_, 1) => schema = Some(one(wire, depth)?),
            (Shape::OrList, 2) => list.push(one(wire, depth)?),
            (Shape::Dependencies, 2) => list.push(Value::String(wire.text("Property")?)),
            _ => {}
        }
    }
    Ok(match (schema, union.shape) {
        (Some(schema), _) if list.is_empty() => schema,
        (_, Shape::OrBool) => Value::Bool(allows),
        _ => Value::Array(list),
    })
}
