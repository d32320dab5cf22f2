//! A patched object as upstream shows it when it cannot be decoded: as JSON in which the objects that the patch went through have
//! their fields sorted, and all others in the order of their declaration.

use plimsoll_schema::protobuf::owned_fields_text;
use plimsoll_schema::{Schema, Type};
use serde_json::{Map, Value};

use super::json::DEEPEST_PATH;

/// The JSON of an object that a merge patch or a JSON patch has left, for [`super::undecodable`]. Custom
/// resources have no type whose fields are declared in an order: theirs are sorted.
pub fn patched_text(schema: Option<Schema<'_>>, patched: &Value, patch: &Value) -> String {
    let opened = match patch {
        Value::Array(operations) => {
            let mut opened = Value::Object(Map::new());
            for operation in operations {
                let text = |field: &str| operation[field].as_str().unwrap_or_default();
                open(&mut opened, text("path"));
                // Others have no origin, whatever they say.
                if matches!(text("op"), "move" | "copy") {
                    open(&mut opened, text("from"));
                }
            }
            opened
        }
        merged => merged.clone(),
    };
    let mut out = String::new();
    write(&mut out, schema, patched, Some(&opened));
    out
}

/// Marks the objects that an operation goes through on its way.
fn open(opened: &mut Value, path: &str) {
    let mut at = opened;
    let steps: Vec<&str> = path.split('/').skip(1).collect();
    for step in steps.iter().take(steps.len().saturating_sub(1).min(DEEPEST_PATH)) {
        let Value::Object(map) = at else { return };
        let step = step.replace("~1", "/").replace("~0", "~");
        at = map.entry(step).or_insert_with(|| Value::Object(Map::new()));
    }
}

/// `opened` is the part of the patch at this place: None where the patch did not come.
fn write(out: &mut String, schema: Option<Schema<'_>>, value: &Value, opened: Option<&Value>) {
    match value {
        Value::Object(_) if schema.is_some_and(|s| matches!(s.ty, Type::Fields)) => {
            escaped(out, &owned_fields_text(value));
        }
        Value::Object(map) => {
            let declared = match (opened, schema.and_then(|s| s.as_struct())) {
                (None, Some(ty)) => ty.fields.iter().map(|f| &*f.name).filter(|name| map.contains_key(*name)).collect(),
                _ => Vec::new(),
            };
            let rest = map.keys().map(String::as_str).filter(|key| !declared.contains(key));
            out.push('{');
            for (i, key) in declared.iter().copied().chain(rest).enumerate() {
                if i > 0 {
                    out.push(',');
                }
                escaped(out, &Value::from(key).to_string());
                out.push(':');
                let inner = schema.and_then(|s| s.field(key).map(|f| f.1).or_else(|| s.element()));
                write(out, inner, map.get(key).unwrap_or(&Value::Null), opened.and_then(|o| o.get(key)));
            }
            out.push('}');
        }
        Value::Array(list) => {
            out.push('[');
            for (i, item) in list.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                // A list of the patch is written as it came; an operation opens the elements it goes through.
                let part = match opened {
                    Some(Value::Object(places)) => places.get(&i.to_string()),
                    whole => whole,
                };
                write(out, schema.filter(|s| !matches!(s.ty, Type::Map(_))).and_then(Schema::element), item, part);
            }
            out.push(']');
        }
        other => escaped(out, &other.to_string()),
    }
}

/// Go escapes what could end a script.
fn escaped(out: &mut String, json: &str) {
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
}
