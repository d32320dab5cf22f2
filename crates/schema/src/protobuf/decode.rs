//! From a message to JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Number, Value};

use super::DecodeError;
use super::json_schema;
use super::layout::{Slot, slots};
use super::leaf::{duration, int_or_string, time};
use super::wire::{Reader, Wire};
use crate::table::{Field, Schema, StructType, Table, Type, TypeId};

/// Deeper messages are refused: JSON of this depth would be refused too, and the stack is finite.
const DEEPEST: u32 = 100;

/// The object of a message without its envelope. Fields that the type does not know are skipped.
pub fn decode_message(schema: Schema<'_>, bytes: &[u8]) -> Result<Value, DecodeError> {
    let Type::Struct(id) = schema.ty else {
        return Err(DecodeError("only structs have messages".into()));
    };
    let mut out = Map::new();
    read_struct(schema.table, *id, bytes, &mut out, DEEPEST)?;
    Ok(Value::Object(out))
}

/// Reads a struct's fields over those that are there already: a message that comes in parts is merged.
pub(super) fn read_struct(
    table: &Table,
    id: TypeId,
    bytes: &[u8],
    out: &mut Map<String, Value>,
    depth: u32,
) -> Result<(), DecodeError> {
    let depth = depth.checked_sub(1).ok_or_else(|| DecodeError("proto: message is nested too deeply".into()))?;
    read_level(table, table.get(id), bytes, out, &slots(table, id), 0, depth)
}

fn read_level(
    table: &Table,
    ty: &StructType,
    bytes: &[u8],
    out: &mut Map<String, Value>,
    slots: &[Slot],
    level: usize,
    depth: u32,
) -> Result<(), DecodeError> {
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.next()? {
        // Slots are sorted by their numbers.
        let first = slots.partition_point(|s| s.number(level) < number);
        let group = slots.get(first..).unwrap_or_default();
        let group = &group[..group.partition_point(|s| s.number(level) == number)];
        let Some(slot) = group.first() else { continue };
        if slot.depth > level + 1 {
            read_level(table, ty, wire.bytes(ty.short_name())?, out, group, level + 1, depth)?;
        } else if let Some(field) = ty.fields.get(slot.field) {
            read_field(table, ty, field, wire, out, depth)?;
        }
    }
    Ok(())
}

fn read_field(
    table: &Table,
    ty: &StructType,
    field: &Field,
    wire: Wire<'_>,
    out: &mut Map<String, Value>,
    depth: u32,
) -> Result<(), DecodeError> {
    let old = out.remove(&*field.name);
    let value = match json_schema::union(ty, field) {
        Some(union) => json_schema::read(table, union, wire, old, depth)?,
        None => read_value(table, &field.ty, wire, old, depth).map_err(|e| named(e, field))?,
    };
    if field.pointer || !left_out(field, &value) {
        out.insert(field.name.to_string(), value);
    }
    Ok(())
}

/// The sentences about a wrong wire type name the field.
fn named(error: DecodeError, field: &Field) -> DecodeError {
    match error.0.strip_suffix("for field ") {
        Some(start) => DecodeError(format!("{start}for field {}", field.name)),
        None => error,
    }
}

/// Whether JSON leaves out a value that is no pointer's: a zero, where the field says so.
fn left_out(field: &Field, value: &Value) -> bool {
    let zero = match value {
        Value::Bool(b) => !b,
        Value::String(text) => text.is_empty(),
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::Null => true,
        Value::Array(_) | Value::Object(_) => false,
    };
    let is_struct = matches!(
        field.ty,
        Type::Time | Type::MicroTime | Type::Duration | Type::Quantity | Type::IntOrString | Type::Raw | Type::Json
    );
    zero && (field.omit_zero || (field.omit_empty && !is_struct))
}

/// Reads one occurrence of a value; `old` is what earlier ones left.
pub(super) fn read_value(
    table: &Table,
    ty: &Type,
    wire: Wire<'_>,
    old: Option<Value>,
    depth: u32,
) -> Result<Value, DecodeError> {
    Ok(match ty {
        Type::String => Value::String(wire.text("")?),
        Type::Bool => Value::Bool(wire.varint("")? != 0),
        Type::Int32 => Value::from(wire.varint("")? as i32),
        Type::Int64 => Value::from(wire.varint("")?.cast_signed()),
        Type::Double => match wire {
            Wire::Fixed64(bits) => double(f64::from_bits(bits)),
            other => return Err(other.wrong("")),
        },
        Type::Bytes => Value::String(STANDARD.encode(wire.bytes("")?)),
        Type::Quantity => {
            let mut text = String::from("0");
            let mut reader = Reader::new(wire.bytes("")?);
            while let Some((number, wire)) = reader.next()? {
                if number == 1 {
                    text = wire.text("String_")?;
                }
            }
            Value::String(text)
        }
        Type::IntOrString => int_or_string(wire.bytes("")?)?,
        Type::Time => time(wire.bytes("")?, false)?,
        Type::MicroTime => time(wire.bytes("")?, true)?,
        Type::Duration => {
            let mut nanos = 0;
            let mut reader = Reader::new(wire.bytes("")?);
            while let Some((number, wire)) = reader.next()? {
                if number == 1 {
                    nanos = wire.varint("Duration")?.cast_signed();
                }
            }
            Value::String(duration(nanos))
        }
        Type::Raw | Type::Json | Type::Fields => read_json(wire.bytes("")?)?,
        Type::Struct(id) => {
            let mut map = match old {
                Some(Value::Object(map)) => map,
                _ => Map::new(),
            };
            read_struct(table, *id, wire.bytes("")?, &mut map, depth)?;
            Value::Object(map)
        }
        Type::Wrapped(of) => {
            let mut list = as_list(old);
            let mut reader = Reader::new(wire.bytes("")?);
            while let Some((number, wire)) = reader.next()? {
                if number == 1 {
                    read_element(table, of, wire, &mut list, depth)?;
                }
            }
            Value::Array(list)
        }
        Type::List(of) => {
            let mut list = as_list(old);
            read_element(table, of, wire, &mut list, depth)?;
            Value::Array(list)
        }
        Type::Map(of) => {
            let mut map = match old {
                Some(Value::Object(map)) => map,
                _ => Map::new(),
            };
            let (mut key, mut value) = (String::new(), None);
            let mut reader = Reader::new(wire.bytes("")?);
            while let Some((number, wire)) = reader.next()? {
                match number {
                    1 => key = wire.text("key")?,
                    2 => value = Some(read_value(table, of, wire, value.take(), depth)?),
                    _ => {}
                }
            }
            map.insert(key, value.unwrap_or_else(|| zero(of)));
            Value::Object(map)
        }
    })
}

/// A float as Go's JSON has it: a whole one has no fraction.
fn double(f: f64) -> Value {
    if f.fract() == 0.0 && f.abs() < 9_007_199_254_740_992.0 {
        return Value::from(f as i64);
    }
    Number::from_f64(f).map_or(Value::Null, Value::Number)
}

fn as_list(old: Option<Value>) -> Vec<Value> {
    match old {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}

/// Reads one occurrence of a list's element, or several numbers packed into one.
fn read_element(
    table: &Table,
    of: &Type,
    wire: Wire<'_>,
    list: &mut Vec<Value>,
    depth: u32,
) -> Result<(), DecodeError> {
    let packed = matches!(of, Type::Int32 | Type::Int64 | Type::Bool | Type::Double);
    if let (true, Wire::Bytes(bytes)) = (packed, wire) {
        let mut reader = Reader::new(bytes);
        while !reader.is_empty() {
            let one = match of {
                Type::Double => Wire::Fixed64(u64::from_le_bytes(reader.array()?)),
                _ => Wire::Varint(reader.varint()?),
            };
            list.push(read_value(table, of, one, None, depth)?);
        }
        return Ok(());
    }
    list.push(read_value(table, of, wire, None, depth)?);
    Ok(())
}

/// JSON inside a message.
fn read_json(bytes: &[u8]) -> Result<Value, DecodeError> {
    let mut raw: &[u8] = b"";
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.next()? {
        if number == 1 {
            raw = wire.bytes("Raw")?;
        }
    }
    if raw.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(raw).map_err(|e| DecodeError(format!("no JSON in a field that holds JSON: {e}")))
}

/// What a map's entry without a value holds.
fn zero(ty: &Type) -> Value {
    match ty {
        Type::String | Type::Bytes => Value::String(String::new()),
        Type::Bool => Value::Bool(false),
        Type::Int32 | Type::Int64 | Type::Double | Type::IntOrString => Value::from(0),
        Type::Quantity => Value::String("0".into()),
        Type::Duration => Value::String("0s".into()),
        Type::Time | Type::MicroTime | Type::Raw | Type::Json | Type::Fields => Value::Null,
        Type::Struct(_) | Type::Map(_) => Value::Object(Map::new()),
        Type::List(_) | Type::Wrapped(_) => Value::Array(Vec::new()),
    }
}
