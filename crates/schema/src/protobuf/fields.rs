//! The text of a set of owned fields, in the order in which upstream writes it: it is kept as bytes, so the order shows.

use std::cmp::Ordering;

use serde_json::Value;

/// The JSON text of a set of owned fields (`fieldsV1`), in upstream's order.
pub fn owned_fields_text(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value);
    out
}

fn write(out: &mut String, value: &Value) {
    let Value::Object(map) = value else {
        out.push_str(&value.to_string());
        return;
    };
    let mut entries: Vec<(&String, &Value)> = map.iter().collect();
    entries.sort_by(|a, b| compare(a.0, b.0));
    out.push('{');
    for (i, (key, value)) in entries.into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push_str(&Value::from(key.as_str()).to_string());
        out.push(':');
        write(out, value);
    }
    out.push('}');
}

/// The set itself first, then fields by name, elements by key, by value, by index.
fn compare(a: &str, b: &str) -> Ordering {
    let rank = |key: &str| match key.as_bytes() {
        b"." => 0,
        [b'f', ..] => 1,
        [b'k', ..] => 2,
        [b'v', ..] => 3,
        _ => 4,
    };
    let element = |key: &str| serde_json::from_str::<Value>(key.get(2..)?).ok();
    rank(a).cmp(&rank(b)).then_with(|| match rank(a) {
        2..=4 => element(a).zip(element(b)).map_or(Ordering::Equal, |(a, b)| by_value(&a, &b)).then_with(|| a.cmp(b)),
        _ => a.cmp(b),
    })
}

/// Values are ordered by type first, numbers as numbers, keys name by name.
fn by_value(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let first = a.iter().zip(b).map(|(a, b)| by_value(a, b)).find(|o| o.is_ne());
            first.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let first = a.iter().zip(b).map(|(a, b)| a.0.cmp(b.0).then_with(|| by_value(a.1, b.1)));
            first.into_iter().find(|o| o.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (a, b) => kind(a).cmp(&kind(b)),
    }
}

fn kind(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}
