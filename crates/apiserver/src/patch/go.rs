//! Values as Go's `fmt` prints them: upstream's sentences about patches show whole maps this way.

use std::fmt::Write;

use serde_json::{Number, Value};

/// What a value is to Go, once it has been read from JSON: lists and maps merge only with their like, and `1` is not `1.0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Null,
    Bool,
    Int,
    Float,
    Text,
    List,
    Map,
}

impl Shape {
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Bool,
            Value::Number(n) if n.is_i64() => Self::Int,
            Value::Number(_) => Self::Float,
            Value::String(_) => Self::Text,
            Value::Array(_) => Self::List,
            Value::Object(_) => Self::Map,
        }
    }

    /// The name of the Go type.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Null => "%!s(<nil>)",
            Self::Bool => "bool",
            Self::Int => "int64",
            Self::Float => "float64",
            Self::Text => "string",
            Self::List => "[]interface {}",
            Self::Map => "map[string]interface {}",
        }
    }
}

/// A value as `%v` prints it.
pub fn shown(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value, false);
    out
}

/// A value as `%s` prints it: anything but text is complained about.
pub(super) fn shown_as_text(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value, true);
    out
}

fn write_value(out: &mut String, value: &Value, text_wanted: bool) {
    match value {
        Value::String(text) => out.push_str(text),
        Value::Array(items) => write_list(out, items, text_wanted),
        Value::Object(map) => {
            out.push_str("map[");
            for (i, (key, value)) in map.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                out.push_str(key);
                out.push(':');
                write_value(out, value, text_wanted);
            }
            out.push(']');
        }
        Value::Null if text_wanted => out.push_str("%!s(<nil>)"),
        Value::Null => out.push_str("<nil>"),
        scalar if text_wanted => {
            let _ = write!(out, "%!s({}=", Shape::of(scalar).name());
            write_value(out, scalar, false);
            out.push(')');
        }
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Number(n) => out.push_str(&number(n)),
    }
}

fn write_list(out: &mut String, items: &[Value], text_wanted: bool) {
    out.push('[');
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(' ');
        }
        write_value(out, item, text_wanted);
    }
    out.push(']');
}

/// Several lists as `%v` prints a slice of them.
pub(super) fn shown_lists(lists: &[&[Value]]) -> String {
    let mut out = String::from("[");
    for (i, list) in lists.iter().enumerate() {
        if i > 0 {
            out.push(' ');
        }
        write_list(&mut out, list, false);
    }
    out.push(']');
    out
}

fn number(n: &Number) -> String {
    match (n.as_i64(), n.as_f64()) {
        (Some(i), _) => i.to_string(),
        (None, Some(f)) => float(f),
        (None, None) => n.to_string(),
    }
}

/// Go's `%v` of a float64: the shortest digits, with an exponent below 1e-4 and from 1e21 on.
fn float(f: f64) -> String {
    let scientific = format!("{f:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let Ok(power) = exponent.parse::<i32>() else { return scientific };
    if (-4..21).contains(&power) {
        return f.to_string();
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", power.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_printed_as_go_prints_them() {
        for (value, want) in [
            (json!({"b": [1, "x", null], "a": {"c": true}}), "map[a:map[c:true] b:[1 x <nil>]]"),
            (json!(1.5), "1.5"),
            (json!(1e21), "1e+21"),
            (json!(1e20), "100000000000000000000"),
            (json!(0.00001), "1e-05"),
            (json!(u64::MAX), "18446744073709552000"),
            (json!({}), "map[]"),
            (json!([]), "[]"),
        ] {
            assert_eq!(shown(&value), want);
        }
        assert_eq!(shown_as_text(&json!(5)), "%!s(int64=5)");
        assert_eq!(shown_as_text(&json!({"a": [true, null, "x"]})), "map[a:[%!s(bool=true) %!s(<nil>) x]]");
        assert_eq!(shown_lists(&[&[json!("a")], &[json!(1)]]), "[[a] [1]]");
    }
}
