//! How upstream shows values of its internal types: the names of Go's fields, all of them, in the order of their declaration.
//!
//! Internal types are what upstream's validation works on; where a sentence shows a whole struct, it shows one of these. The table is
//! made by `e2e/kubernetes/control-plane/internaltypes`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::validation::diff;
use crate::validation::path::{NOTHING, get};
use crate::validation::shown::go_json;

/// A field: its name as shown, the path of the published field, its type, and 1 where it is left out when empty.
type Row = (String, String, String, u8);

static TYPES: LazyLock<BTreeMap<String, Vec<Row>>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../data/internal_types.json")).unwrap_or_default());

/// What is to be written.
enum Node {
    Plain(String),
    List(Vec<Node>),
    Fields(Vec<(String, Node)>),
}

/// A value of an internal type on one line. `ty` is as the table has it: `core.PodSpec`, `[]core.Volume`, `*batch.SuccessPolicy`.
pub fn shown(ty: &str, value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, &node(ty, value), None);
    out
}

/// A value of an internal type over many lines, indented by one blank.
pub fn pretty(ty: &str, value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, &node(ty, value), Some(0));
    out
}

/// The difference of two values of an internal type, as a unified diff.
pub fn difference(ty: &str, old: &Value, new: &Value) -> String {
    diff::unified(&pretty(ty, old), &pretty(ty, new))
}

fn node(ty: &str, value: &Value) -> Node {
    if let Some(inner) = ty.strip_prefix('*') {
        return if value.is_null() { Node::Plain("null".into()) } else { node(inner, value) };
    }
    if let Some(inner) = ty.strip_prefix("[]") {
        return match value {
            Value::Array(items) => Node::List(items.iter().map(|item| node(inner, item)).collect()),
            _ => Node::Plain("null".into()),
        };
    }
    if let Some(inner) = ty.strip_prefix("{}") {
        return match value {
            Value::Object(fields) => {
                Node::Fields(fields.iter().map(|(key, item)| (key.clone(), node(inner, item))).collect())
            }
            _ => Node::Plain("null".into()),
        };
    }
    let empty = match ty {
        "string" => "\"\"",
        "bool" => "false",
        "number" => "0",
        "quantity" => "\"0\"",
        "null" => "null",
        _ => return fields(ty, value),
    };
    Node::Plain(if value.is_null() { empty.to_owned() } else { go_json(value) })
}

fn fields(ty: &str, value: &Value) -> Node {
    let Some(rows) = TYPES.get(ty) else { return Node::Plain(go_json(value)) };
    let mut out = Vec::with_capacity(rows.len());
    for (name, from, kind, omit) in rows {
        let item = if from.is_empty() { &NOTHING } else { from.split('.').fold(value, |value, part| get(value, part)) };
        if *omit == 1 && is_empty(item) && !TYPES.contains_key(kind) {
            continue;
        }
        out.push((name.clone(), node(kind, item)));
    }
    Node::Fields(out)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(on) => !on,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

fn write(out: &mut String, node: &Node, indent: Option<usize>) {
    let (open, close, count) = match node {
        Node::Plain(text) => {
            out.push_str(text);
            return;
        }
        Node::List(items) => ('[', ']', items.len()),
        Node::Fields(fields) => ('{', '}', fields.len()),
    };
    out.push(open);
    let deeper = indent.map(|indent| indent + 1);
    for i in 0..count {
        if i > 0 {
            out.push(',');
        }
        break_line(out, deeper);
        match node {
            Node::List(items) => items.get(i).into_iter().for_each(|item| write(out, item, deeper)),
            Node::Fields(fields) => {
                if let Some((name, item)) = fields.get(i) {
                    out.push_str(&go_json(&Value::String(name.clone())));
                    out.push_str(if indent.is_some() { ": " } else { ":" });
                    write(out, item, deeper);
                }
            }
            Node::Plain(_) => {}
        }
    }
    if count > 0 {
        break_line(out, indent);
    }
    out.push(close);
}

fn break_line(out: &mut String, indent: Option<usize>) {
    if let Some(indent) = indent {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', indent));
    }
}
