//! The types with a form of their own: numbers, quantities, times, bytes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use plimsoll_engine::quantity::Quantity;
use serde_json::Value;

use super::{DecodeError, Path, Report};
use crate::table::{Schema, Type};

pub(super) fn convert(
    schema: Schema<'_>,
    value: Value,
    path: &Path<'_>,
    report: &mut Report,
) -> Result<Value, DecodeError> {
    // What a type that reads its own form takes its text or number for.
    let wrong = |inner: Type, value: &Value| DecodeError::wrong_type(Schema::new(schema.table, &inner), value, path);
    match (schema.ty, value) {
        (Type::Json | Type::Raw, value) => Ok(value),
        (_, Value::Null) => Ok(Value::Null),
        (Type::String, value @ Value::String(_)) | (Type::Bool, value @ Value::Bool(_)) => Ok(value),
        (Type::Fields, value @ Value::Object(_)) => Ok(value),
        (Type::Int64, Value::Number(n)) if n.is_i64() => Ok(Value::Number(n)),
        (Type::Int32 | Type::IntOrString, Value::Number(n)) if n.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) => {
            Ok(Value::Number(n))
        }
        (Type::Double, value @ Value::Number(_)) => Ok(value),
        (Type::IntOrString, value @ Value::String(_)) => Ok(value),
        (Type::IntOrString, other) => Err(wrong(Type::Int32, &other)),
        (Type::Bytes, Value::String(text)) => bytes(text).or_else(|error| Ok(report.pass_over(|| error))),
        (Type::Quantity, Value::String(text)) => quantity(&text),
        (Type::Quantity, other) => quantity(&other.to_string()),
        (Type::Time, Value::String(text)) => time(&text, false),
        (Type::MicroTime, Value::String(text)) => time(&text, true),
        (Type::Duration, value @ Value::String(_)) => Ok(value),
        (Type::Time | Type::MicroTime | Type::Duration, other) => Err(wrong(Type::String, &other)),
        (_, other) => Ok(report.pass_over(|| DecodeError::wrong_type(schema, &other, path))),
    }
}

fn bytes(text: String) -> Result<Value, DecodeError> {
    // Go skips line ends within base64.
    let clean: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    match STANDARD.decode(&clean) {
        Ok(_) => Ok(Value::String(clean)),
        Err(base64::DecodeError::InvalidByte(at, _)) | Err(base64::DecodeError::InvalidLastSymbol(at, _)) => {
            Err(DecodeError(format!("illegal base64 data at input byte {at}")))
        }
        Err(_) => Err(DecodeError(format!("illegal base64 data at input byte {}", clean.len() / 4 * 4))),
    }
}

fn quantity(text: &str) -> Result<Value, DecodeError> {
    // Upstream takes an empty text for zero, and trims nothing.
    if text.is_empty() {
        return Ok(Value::from("0"));
    }
    match Quantity::parse(text) {
        Ok(quantity) => Ok(Value::String(quantity.to_string())),
        Err(error) => Err(DecodeError(error.to_string())),
    }
}

fn time(text: &str, micro: bool) -> Result<Value, DecodeError> {
    // RFC 3339 with a capital T: what jiff reads beyond that, Go refuses.
    let strict = text.len() >= 20 && text.as_bytes().get(10) == Some(&b'T') && text.as_bytes().get(4) == Some(&b'-');
    let parsed = if strict { text.parse::<Timestamp>().ok() } else { None };
    let layout = if micro { "2006-01-02T15:04:05.000000Z07:00" } else { "2006-01-02T15:04:05Z07:00" };
    if let Some(rest) = text.get(19..).filter(|_| micro && parsed.is_some()) {
        // Go wants the six digits of the layout, no fewer and no more.
        let digits =
            rest.strip_prefix(['.', ',']).map_or(0, |digits| digits.bytes().take_while(u8::is_ascii_digit).count());
        let unread = match digits {
            0..6 => Some((rest, ".000000")),
            6 => None,
            _ => rest.get(7..).map(|more| (more, "Z07:00")),
        };
        if let Some((unread, part)) = unread {
            return Err(DecodeError(format!(
                "parsing time {text:?} as {layout:?}: cannot parse {unread:?} as {part:?}"
            )));
        }
    }
    match parsed {
        Some(time) if micro => Ok(Value::String(micro_time(time))),
        Some(time) => Ok(Value::String(whole_seconds(time))),
        None if text.is_empty() => Ok(Value::Null),
        None => Err(DecodeError(format!("parsing time {text:?} as {layout:?}: cannot parse {text:?} as \"2006\""))),
    }
}

/// A time as `metav1.Time` prints it.
pub fn whole_seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A time as `metav1.MicroTime` prints it.
pub fn micro_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}
