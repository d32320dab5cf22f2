//! From a client's JSON to canonical form: what a round trip through Kubernetes' own Go types would leave.
//!
//! Upstream decodes a request into structs, stores them as protobuf and encodes them again. That trip drops unknown fields and empty
//! optional ones, writes structs that are no pointers even when they are empty, prints quantities and times in one way, and refuses
//! values of the wrong type. Objects here stay `serde_json::Value`s, so the trip is made by rule: [`canonical`].

mod error;
pub(crate) mod leaf;
mod parse;
mod scan;
#[cfg(test)]
mod tests;

pub use error::{DecodeError, Report};
pub use leaf::{micro_time, whole_seconds};
pub use parse::{ParseError, parse};

use serde_json::{Map, Value};

use crate::table::{Field, Schema, StructType, Type};

/// Where the walk is: a list on the stack, so that the way costs nothing until somebody asks for it.
#[derive(Clone, Copy)]
pub(crate) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
    /// The struct that the innermost named field belongs to.
    owner: &'a str,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Field(&'a str),
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    fn root() -> Path<'static> {
        Path { parent: None, step: Step::Root, owner: "" }
    }

    fn then(&'a self, step: Step<'a>) -> Path<'a> {
        Path { parent: Some(self), step, owner: self.owner }
    }

    fn field(&'a self, owner: &'a str, name: &'a str) -> Path<'a> {
        Path { parent: Some(self), step: Step::Field(name), owner }
    }

    /// As unknown fields are reported: `spec.containers[0].image`.
    fn full(&self) -> String {
        let mut out = self.parent.map(Path::full).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Field(name) | Step::Key(name) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            Step::Index(i) => out.push_str(&format!("[{i}]")),
        }
        out
    }

    /// As Go names a field in a type error: the fields only, no indexes and no keys of maps.
    fn fields(&self) -> String {
        let mut out = self.parent.map(Path::fields).unwrap_or_default();
        if let Step::Field(name) = self.step {
            if !out.is_empty() {
                out.push('.');
            }
            out.push_str(name);
        }
        out
    }
}

/// The canonical form of a value of this type. Unknown fields are dropped and reported; a value of the wrong type is an error.
///
/// Of several errors, the first is told, and before them all the first of a type that reads its own form, such as a quantity: that
/// one ends Go's decoding at once.
pub fn canonical(schema: Schema<'_>, value: Value, report: &mut Report) -> Result<Value, DecodeError> {
    let value = convert(schema, value, &Path::root(), report)?;
    report.mismatch.take().map_or(Ok(value), Err)
}

fn convert(schema: Schema<'_>, value: Value, path: &Path<'_>, report: &mut Report) -> Result<Value, DecodeError> {
    match schema.ty {
        Type::Struct(id) => structure(schema, schema.table.get(*id), value, path, report),
        Type::List(element) | Type::Wrapped(element) => match value {
            Value::Null => Ok(Value::Null),
            Value::Array(items) => {
                let element = Schema::new(schema.table, element);
                let mut out = Vec::with_capacity(items.len());
                for (i, item) in items.into_iter().enumerate() {
                    let item = if item.is_null() { zero(element) } else { item };
                    out.push(convert(element, item, &path.then(Step::Index(i)), report)?);
                }
                Ok(Value::Array(out))
            }
            other => Ok(report.pass_over(|| DecodeError::wrong_type(schema, &other, path))),
        },
        Type::Map(element) => match value {
            Value::Null => Ok(Value::Null),
            Value::Object(entries) => {
                let element = Schema::new(schema.table, element);
                let mut out = Map::new();
                for (key, item) in entries {
                    let item = if item.is_null() { zero(element) } else { item };
                    let item = convert(element, item, &path.then(Step::Key(&key)), report)?;
                    out.insert(key, item);
                }
                Ok(Value::Object(out))
            }
            other => Ok(report.pass_over(|| DecodeError::wrong_type(schema, &other, path))),
        },
        _ => leaf::convert(schema, value, path, report),
    }
}

fn structure(
    schema: Schema<'_>,
    ty: &StructType,
    value: Value,
    path: &Path<'_>,
    report: &mut Report,
) -> Result<Value, DecodeError> {
    let entries = match value {
        Value::Object(entries) => entries,
        Value::Null => Map::new(),
        other => return Ok(report.pass_over(|| DecodeError::wrong_type(schema, &other, path))),
    };
    let mut out = Map::new();
    for (name, value) in entries {
        let Some(field) = ty.field(&name) else {
            if ty.preserve_unknown {
                out.insert(name, value);
            } else {
                report.unknown(|| path.then(Step::Field(&name)).full());
            }
            continue;
        };
        if value.is_null() {
            continue;
        }
        let inner = Schema::new(schema.table, &field.ty);
        let value = convert(inner, value, &path.field(ty.short_name(), &name), report)?;
        if kept(field, inner, &value) {
            out.insert(name, value);
        }
    }
    for field in ty.always_written() {
        if !out.contains_key(&*field.name) {
            out.insert(field.name.to_string(), absent(schema, field));
        }
    }
    Ok(Value::Object(out))
}

/// Whether a value that is there is written: empty ones are not, where the field says so.
fn kept(field: &Field, schema: Schema<'_>, value: &Value) -> bool {
    if field.pointer {
        return true;
    }
    match value {
        // An empty list that must be written is written as null, as a nil slice is.
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(entries) => match schema.ty {
            Type::Map(_) => !entries.is_empty(),
            Type::Struct(_) => !(field.omit_zero && is_zero_struct(schema, value)),
            _ => true,
        },
        Value::String(text) => !(text.is_empty() && (field.omit_empty || field.omit_zero) && plain(schema)),
        Value::Number(n) => !((field.omit_empty || field.omit_zero) && plain(schema) && n.as_f64() == Some(0.0)),
        Value::Bool(b) => *b || !(field.omit_empty || field.omit_zero),
    }
}

/// Scalars whose zero value counts as empty; the others are structs in Go, which are never empty.
fn plain(schema: Schema<'_>) -> bool {
    matches!(schema.ty, Type::String | Type::Bool | Type::Int32 | Type::Int64 | Type::Double | Type::Bytes)
}

fn is_zero_struct(schema: Schema<'_>, value: &Value) -> bool {
    schema.as_struct().is_some_and(|ty| *value == empty_struct(schema, ty))
}

fn empty_struct(schema: Schema<'_>, ty: &StructType) -> Value {
    ty.always_written().map(|f| (f.name.to_string(), absent(schema, f))).collect()
}

/// What stands for a field that must be written and is not there.
fn absent(schema: Schema<'_>, field: &Field) -> Value {
    if field.pointer { Value::Null } else { written_zero(Schema::new(schema.table, &field.ty)) }
}

/// The zero value of a type, as it is written.
fn written_zero(schema: Schema<'_>) -> Value {
    match schema.ty {
        Type::String => Value::String(String::new()),
        Type::Bool => Value::Bool(false),
        Type::Int32 | Type::Int64 | Type::Double | Type::IntOrString => Value::from(0),
        Type::Quantity => Value::from("0"),
        Type::Duration => Value::from("0s"),
        Type::Struct(id) => empty_struct(schema, schema.table.get(*id)),
        _ => Value::Null,
    }
}

/// What a null stands for in a list or map.
fn zero(schema: Schema<'_>) -> Value {
    match schema.ty {
        Type::Struct(_) => Value::Object(Map::new()),
        _ => written_zero(schema),
    }
}

impl StructType {
    /// The fields that are written even when nobody set them.
    fn always_written(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|f| {
            if f.pointer {
                return !f.omit_empty;
            }
            // `omitempty` leaves out empty scalars, lists and maps; a struct is never empty, and needs `omitzero` to be left out.
            !f.omit_zero
                && (!f.omit_empty
                    || matches!(
                        f.ty,
                        Type::Struct(_)
                            | Type::Time
                            | Type::MicroTime
                            | Type::Quantity
                            | Type::IntOrString
                            | Type::Duration
                            | Type::Raw
                    ))
        })
    }
}
