//! JSON values as field ownership compares, orders and prints them.

use std::cmp::Ordering;
use std::io;

use serde::Serialize;
use serde_json::{Number, Value};

/// Whether two values are the same: numbers by what they are worth, so that `1` and `1.0` are one value.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || order_numbers(a, b) == Ordering::Equal,
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((ka, va), (kb, vb))| ka == kb && same(va, vb))
        }
        _ => a == b,
    }
}

/// A total order over values: numbers, text, booleans, lists, maps, null.
pub(crate) fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => order_numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let differing = a.iter().zip(b).map(|(a, b)| order(a, b)).find(|o| o.is_ne());
            differing.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let mut orders = a.iter().zip(b).map(|((ka, va), (kb, vb))| ka.cmp(kb).then_with(|| order(va, vb)));
            orders.find(|o| o.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn order_numbers(a: &Number, b: &Number) -> Ordering {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) {
        return a.cmp(&b);
    }
    let float = |n: &Number| n.as_f64().unwrap_or_default();
    float(a).partial_cmp(&float(b)).unwrap_or(Ordering::Equal)
}

/// JSON as Go's encoder writes it: `<`, `>` and `&` escaped, whole floats without a fraction.
pub(crate) fn go_json(value: &Value) -> String {
    let mut out = Vec::with_capacity(64);
    let mut writer = serde_json::Serializer::with_formatter(&mut out, GoFormat);
    // Writing a `Value` into memory cannot fail: its keys are text and no sink can refuse it.
    let _ = value.serialize(&mut writer);
    String::from_utf8(out).unwrap_or_default()
}

struct GoFormat;

impl serde_json::ser::Formatter for GoFormat {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(go_float(value).as_bytes())
    }

    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            let (before, from) = rest.split_at(at);
            writer.write_all(before.as_bytes())?;
            let mut chars = from.chars();
            if let Some(c) = chars.next() {
                write!(writer, "\\u{:04x}", c as u32)?;
            }
            rest = chars.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}

/// A float as Go prints it with `%v`.
fn go_float(value: f64) -> String {
    if value != 0.0 && (value.abs() < 1e-4 || value.abs() >= 1e21) {
        let text = format!("{value:e}");
        let Some((mantissa, exponent)) = text.split_once('e') else { return text };
        let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |d| ('-', d));
        return format!("{mantissa}e{sign}{digits:0>2}");
    }
    format!("{value}")
}

fn go_number(number: &Number) -> String {
    if number.is_f64() { go_float(number.as_f64().unwrap_or_default()) } else { number.to_string() }
}

/// A value inside a path, as errors print it.
pub(crate) fn in_path(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => go_number(n),
        Value::String(s) => crate::field::go_quoted(s),
        Value::Array(items) => format!("[{}]", items.iter().map(in_path).collect::<Vec<_>>().join(",")),
        Value::Object(map) => map.iter().map(|(k, v)| format!("{k}={}", in_path(v))).collect(),
    }
}

/// As Go's `%v` shows a decoded value.
pub(crate) fn go_plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => go_number(n),
        Value::String(s) => s.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(go_plain).collect::<Vec<_>>().join(" ")),
        Value::Object(map) => {
            let fields: Vec<String> = map.iter().map(|(k, v)| format!("{k}:{}", go_plain(v))).collect();
            format!("map[{}]", fields.join(" "))
        }
    }
}

/// As Go's `%#v` shows a decoded value.
pub(crate) fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::String(s) => crate::field::go_quoted(s),
        Value::Array(items) => {
            format!("[]interface {{}}{{{}}}", items.iter().map(go_syntax).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let fields: Vec<String> =
                map.iter().map(|(k, v)| format!("{}:{}", crate::field::go_quoted(k), go_syntax(v))).collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
        other => go_plain(other),
    }
}

/// The Go type of a decoded value (`%T`).
pub(crate) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
