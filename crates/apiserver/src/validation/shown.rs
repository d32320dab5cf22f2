//! Values as the sentences of errors show them, where they are more than one word or number.

use std::fmt::Write as _;

use plimsoll_schema::{Schema, Table, Type};
use serde_json::Value;

use crate::field::{FieldError, Wrong};
use crate::validation::path::Path;

/// `Invalid value` with the value already printed.
pub fn invalid(path: &Path, value: String, detail: impl Into<String>) -> FieldError {
    FieldError { wrong: Wrong::Invalid, field: path.into(), value, detail: detail.into() }
}

/// `Duplicate value` with the value already printed.
pub fn duplicate(path: &Path, value: String) -> FieldError {
    FieldError { wrong: Wrong::Duplicate, field: path.into(), value, detail: String::new() }
}

/// `Unsupported value` with the supported words in the order given (upstream does not always sort them).
pub fn unsupported(path: &Path, value: &Value, words: &[&str]) -> FieldError {
    let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    let mut out = FieldError::not_supported(path, value, &[]);
    // Words of a fixed set have a type of their own upstream, and those are shown as JSON.
    out.value = go_json(value);
    out.detail = format!("supported values: {}", words.join(", "));
    out
}

/// JSON as Go's encoder writes it: maps by key, `<`, `>` and `&` escaped.
pub fn go_json(value: &Value) -> String {
    let mut out = String::new();
    write_json(&mut out, value);
    out
}

/// A struct as JSON with its fields in the order of `fields`; others are left out.
pub fn ordered(value: &Value, fields: &[&str]) -> String {
    let parts: Vec<String> =
        fields.iter().filter_map(|name| Some(format!("\"{name}\":{}", go_json(value.get(name)?)))).collect();
    format!("{{{}}}", parts.join(","))
}

fn write_json(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_json(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (i, (name, item)) in fields.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_text(out, name);
                out.push(':');
                write_json(out, item);
            }
            out.push('}');
        }
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// A value of a published type as Go's JSON: structs in the order of their declaration. `name` is the type's name in the OpenAPI
/// documents, such as `io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector`.
pub fn published(name: &str, value: &Value) -> String {
    let table = Table::builtin();
    let mut out = String::new();
    match table.named(name) {
        Some(id) if !value.is_null() => write_typed(&mut out, Schema::new(&table, &Type::Struct(id)), value),
        _ => write_json(&mut out, value),
    }
    out
}

fn write_typed(out: &mut String, schema: Schema<'_>, value: &Value) {
    match (value, schema.as_struct(), schema.element()) {
        (Value::Object(fields), Some(ty), _) => {
            out.push('{');
            let mut first = true;
            for field in &ty.fields {
                let Some(item) = fields.get(&*field.name) else { continue };
                if !first {
                    out.push(',');
                }
                first = false;
                write_text(out, &field.name);
                out.push(':');
                write_typed(out, Schema::new(schema.table, &field.ty), item);
            }
            out.push('}');
        }
        (Value::Array(items), _, Some(element)) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_typed(out, element, item);
            }
            out.push(']');
        }
        _ => write_json(out, value),
    }
}
