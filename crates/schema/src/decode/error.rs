//! What can be wrong with a client's JSON, in Go's words: clients and their tests read them.

use std::fmt;

use serde_json::Value;

use super::Path;
use crate::table::{Schema, Type};

/// What was dropped on the way, in the order met.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Sentences such as `unknown field "spec.foo"`.
    pub problems: Vec<String>,
    /// The first value of a wrong type.
    pub(super) mismatch: Option<DecodeError>,
}

/// More than this many problems are not written down: each costs memory, and nobody reads the hundredth.
const MOST_PROBLEMS: usize = 100;

impl Report {
    pub(super) fn unknown(&mut self, path: impl FnOnce() -> String) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(format!("unknown field {:?}", path()));
        }
    }

    /// A value of a wrong type is passed over, as Go's decoder does: it says so at its end, unless it meets something worse.
    pub(super) fn pass_over(&mut self, error: impl FnOnce() -> DecodeError) -> Value {
        self.mismatch.get_or_insert_with(error);
        Value::Null
    }
}

/// A value of the wrong type or form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError(pub(super) String);

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DecodeError {}

impl DecodeError {
    /// JSON of one type where Go wants another.
    pub(super) fn wrong_type(schema: Schema<'_>, value: &Value, path: &Path<'_>) -> Self {
        let found = match value {
            Value::Null => "null".to_owned(),
            Value::Bool(_) => "bool".to_owned(),
            Value::Number(n) if matches!(schema.ty, Type::Int32 | Type::Int64) => format!("number {n}"),
            Value::Number(_) => "number".to_owned(),
            Value::String(_) => "string".to_owned(),
            Value::Array(_) => "array".to_owned(),
            Value::Object(_) => "object".to_owned(),
        };
        let wanted = go_type(schema);
        let fields = path.fields();
        if fields.is_empty() {
            return Self(format!("json: cannot unmarshal {found} into Go value of type {wanted}"));
        }
        Self(format!("json: cannot unmarshal {found} into Go struct field {}.{fields} of type {wanted}", path.owner))
    }
}

/// The name of a type in Go.
fn go_type(schema: Schema<'_>) -> String {
    match schema.ty {
        Type::String => "string".into(),
        Type::Bool => "bool".into(),
        Type::Int32 => "int32".into(),
        Type::Int64 => "int64".into(),
        Type::Double => "float64".into(),
        Type::Bytes => "[]uint8".into(),
        Type::Quantity => "resource.Quantity".into(),
        Type::IntOrString => "intstr.IntOrString".into(),
        Type::Time => "v1.Time".into(),
        Type::MicroTime => "v1.MicroTime".into(),
        Type::Duration => "v1.Duration".into(),
        Type::Raw => "runtime.RawExtension".into(),
        Type::Json => "interface {}".into(),
        Type::Fields => "v1.FieldsV1".into(),
        Type::Struct(id) => {
            let mut parts = schema.table.get(*id).name.rsplit('.');
            let (name, package) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            format!("{package}.{name}")
        }
        Type::List(t) | Type::Wrapped(t) => format!("[]{}", go_type(Schema::new(schema.table, t))),
        Type::Map(t) => format!("map[string]{}", go_type(Schema::new(schema.table, t))),
    }
}
