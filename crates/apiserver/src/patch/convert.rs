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
        (Type::IntOrString, _) => unread(value, "int32", value.as_i64().is_some_and(|n| i32::try_from(n).is_ok())),
        (Type::Time | Type::MicroTime | Type::Duration, _) => unread(value, "string", value.is_string()),
        (Type::Quantity | Type::Raw | Type::Json | Type::Fields, _) => None,
    }
}

/// Makes numbers what a Go conversion makes of them, which knows no overflow: higher bits are lost. For what [`unconvertible`] has
/// nothing to say about.
pub fn convert(schema: Schema<'_>, value: &mut Value) {
    match (schema.ty, value) {
        (Type::Struct(_), Value::Object(map)) => {
            for field in schema.as_struct().map(|ty| &ty.fields).into_iter().flatten() {
                if let Some(value) = map.get_mut(&*field.name) {
                    convert(Schema::new(schema.table, &field.ty), value);
                }
            }
        }
        (Type::Map(of), Value::Object(map)) => {
            map.values_mut().for_each(|value| convert(Schema::new(schema.table, of), value));
        }
        (Type::List(of) | Type::Wrapped(of), Value::Array(list)) => {
            list.iter_mut().for_each(|value| convert(Schema::new(schema.table, of), value));
        }
        (Type::Int32, value) => {
            if let Some(number) = whole(value) {
                *value = low_half(number).into();
            }
        }
        (Type::Int64, value) => {
            if let Some(number) = whole(value) {
                *value = number.into();
            }
        }
        _ => {}
    }
}

/// A number without a fraction; the smallest there is where it does not fit, as processors have it.
#[allow(clippy::cast_possible_truncation, reason = "only what fits is cast")]
fn whole(value: &Value) -> Option<i64> {
    /// 2 to the power of 63.
    const END: f64 = 9_223_372_036_854_775_808.0;
    value.as_i64().or_else(|| {
        let number = value.as_f64().filter(|number| number.fract() == 0.0)?;
        Some(if (-END..END).contains(&number) { number as i64 } else { i64::MIN })
    })
}

fn low_half(number: i64) -> i32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
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
    let kind = if value.is_number() && want == "int32" { format!("{kind} {value}") } else { kind.to_owned() };
    (!fits).then(|| format!("json: cannot unmarshal {kind} into Go value of type {want}"))
}
