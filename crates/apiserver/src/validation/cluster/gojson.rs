//! How Go prints a value of an internal type as JSON, and how upstream shows the difference of two of them.

use serde_json::Value;

use crate::validation::shown::go_json;

/// A field of a Go struct.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    /// The name Go prints.
    pub go: &'static str,
    /// The name in the object.
    pub json: &'static str,
    /// What it holds.
    pub ty: Type,
    /// Whether it is left out when empty.
    pub omit_empty: bool,
}

/// The type of a field, as far as it decides what an absent value prints as.
#[derive(Debug, Clone, Copy)]
pub(super) enum Type {
    /// Text: `""` when absent.
    Text,
    /// A number, or a number or text: `0` when absent.
    Number,
    /// `false` when absent.
    Flag,
    /// A time: `null` when absent.
    Time,
    /// Anything, printed as it is; `null` when absent.
    Json,
    /// Text by text: `null` when absent.
    Map,
    /// `null` when absent.
    List(&'static Type),
    /// A pointer: `null` when absent.
    Opt(&'static Type),
    /// All its fields, even when absent.
    Struct(&'static [Field]),
}

/// One line, as a refusal shows a value.
pub(super) fn compact(ty: Type, value: &Value) -> String {
    let mut out = String::new();
    print(&mut out, ty, value, None);
    out
}

/// Several lines, indented by one space, as upstream compares two values.
pub(super) fn pretty(ty: Type, value: &Value) -> String {
    let mut out = String::new();
    print(&mut out, ty, value, Some(0));
    out
}

/// The unified difference of two values, three lines of context, as upstream's refusals carry it.
pub(super) fn diff(ty: Type, old: &Value, new: &Value) -> String {
    crate::validation::diff::unified(&pretty(ty, old), &pretty(ty, new))
}

fn print(out: &mut String, ty: Type, value: &Value, indent: Option<usize>) {
    match ty {
        Type::Text => quoted(out, value.as_str().unwrap_or_default()),
        Type::Number => match value {
            Value::String(text) => quoted(out, text),
            Value::Number(number) => out.push_str(&number.to_string()),
            _ => out.push('0'),
        },
        Type::Flag => out.push_str(if value.as_bool().unwrap_or_default() { "true" } else { "false" }),
        Type::Json => out.push_str(&go_json(value)),
        Type::Time => match value {
            Value::String(text) => quoted(out, text),
            _ => out.push_str("null"),
        },
        Type::Opt(inner) => match value {
            Value::Null => out.push_str("null"),
            value => print(out, *inner, value, indent),
        },
        Type::Map => match value {
            Value::Object(map) => {
                let items = map.iter().map(|(key, value)| (key.as_str(), Type::Text, value));
                object(out, items, indent);
            }
            _ => out.push_str("null"),
        },
        Type::List(inner) => match value {
            Value::Array(items) => {
                let deeper = indent.map(|depth| depth + 1);
                enclosed(out, '[', ']', items.iter(), indent, |out, item| print(out, *inner, item, deeper));
            }
            _ => out.push_str("null"),
        },
        Type::Struct(fields) => {
            let shown = fields.iter().filter(|field| !field.omit_empty || !is_empty(&value[field.json]));
            object(out, shown.map(|field| (field.go, field.ty, &value[field.json])), indent);
        }
    }
}

fn object<'a>(out: &mut String, items: impl Iterator<Item = (&'a str, Type, &'a Value)>, indent: Option<usize>) {
    let deeper = indent.map(|depth| depth + 1);
    enclosed(out, '{', '}', items, indent, |out, (name, ty, value)| {
        quoted(out, name);
        out.push_str(if indent.is_some() { ": " } else { ":" });
        print(out, ty, value, deeper);
    });
}

fn enclosed<I>(
    out: &mut String,
    open: char,
    close: char,
    items: impl Iterator<Item = I>,
    indent: Option<usize>,
    mut each: impl FnMut(&mut String, I),
) {
    out.push(open);
    let mut any = false;
    for item in items {
        if any {
            out.push(',');
        }
        any = true;
        if let Some(depth) = indent {
            line(out, depth + 1);
        }
        each(out, item);
    }
    if let (true, Some(depth)) = (any, indent) {
        line(out, depth);
    }
    out.push(close);
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', depth));
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

/// Text in JSON's quotes as Go writes them: what HTML would take for markup is escaped.
pub(super) fn quoted(out: &mut String, text: &str) {
    let plain = Value::String(text.to_owned()).to_string();
    for c in plain.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
}
