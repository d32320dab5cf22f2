//! Why the result of a strategic merge patch is no object of its kind. Upstream does not go through JSON there, so the sentences are
//! not those of its JSON decoder.

use plimsoll_schema::{Schema, Type};
use serde_json::Value;

use super::go::Shape;

/// The first value that cannot be what its type says, in upstream's words; None if there is none. Text that is not what it should be
/// (a time, an amount) is left to the decoding that follows.
pub fn unconvertible(schema: Schema<'_>, value: &Value) -> Option<String> {
    let kind = match Shape::of(value) {
        Shape::Null => return None,
        Shape::List => "slice",
        Shape::Map => "map",
        other => other.name(),
    };
    match (schema.ty, value) {
        (Type::Struct(_), Value::Object(map)) => {
            let ty = schema.as_struct()?;
            ty.fields.iter().find_map(|f| unconvertible(Schema::new(schema.table, &f.ty), map.get(&*f.name)?))
        }
        (Type::Struct(_), _) => Some(format!("cannot restore struct from: {kind}")),
        (Type::Map(of), Value::Object(map)) => {
            map.values().find_map(|v| unconvertible(Schema::new(schema.table, of), v))
        }
        (Type::Map(_), _) => Some(format!("cannot restore map from {kind}")),
        (Type::List(of) | Type::Wrapped(of), Value::Array(list)) => {
            list.iter().find_map(|v| unconvertible(Schema::new(schema.table, of), v))
        }
        (Type::Bytes, Value::String(_)) => None,
        (Type::List(_) | Type::Wrapped(_) | Type::Bytes, _) => Some(format!("cannot restore slice from {kind}")),
        (Type::String, _) => plain("string", kind, value),
        (Type::Bool, _) => plain("bool", kind, value),
        (Type::Int32, _) => plain("int32", kind, value),
        (Type::Int64, _) => plain("int64", kind, value),
        (Type::Double, _) => plain("float64", kind, value),
        (Type::IntOrString, Value::String(_)) => None,
        (Type::IntOrString, _) => unread(value, "int32", matches!(value, Value::Number(n) if n.is_i64())),
        (Type::Time | Type::MicroTime | Type::Duration, _) => unread(value, "string", value.is_string()),
        (Type::Quantity | Type::Raw | Type::Json | Type::Fields, _) => None,
    }
}

/// Text, numbers and booleans: Go calls some pairs convertible that JSON does not, and says so in other words.
fn plain(want: &str, kind: &str, value: &Value) -> Option<String> {
    let whole = value.as_f64().is_some_and(|f| f.fract() == 0.0);
    match (kind, want) {
        (kind, want) if kind == want => None,
        ("int64", "int32" | "float64") => None,
        ("float64", "int32" | "int64") if whole => None,
        ("int64", "string") | ("float64", "int32" | "int64") => Some(format!("cannot convert {kind} to {want}")),
        _ => Some(format!("unrecognized type: {want}")),
    }
}

/// Types that read their own JSON.
fn unread(value: &Value, want: &str, fits: bool) -> Option<String> {
    let kind = super::json_kind(value);
    let kind = if value.is_f64() && want == "int32" { format!("{kind} {value}") } else { kind.to_owned() };
    (!fits).then(|| format!("json: cannot unmarshal {kind} into Go value of type {want}"))
}
