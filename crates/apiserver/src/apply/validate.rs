//! Whether an applied configuration fits the schema. The sentences are upstream's.

use std::collections::BTreeSet;

use plimsoll_schema::Type;
use serde_json::Value;

use super::shape::{Place, Shape};
use super::values::{go_plain, go_syntax, go_type};

/// Something wrong, and where.
struct Wrong {
    path: String,
    message: String,
}

impl Wrong {
    fn new(message: impl Into<String>) -> Vec<Self> {
        vec![Self { path: String::new(), message: message.into() }]
    }
}

/// Why the configuration cannot be applied. `twins` allows list elements that cannot be told apart.
pub(crate) fn validate(place: Place<'_>, config: &Value, twins: bool) -> Result<(), String> {
    let wrong = walk(place, config, Rules { twins, unknown: false, root: true });
    let line = |w: &Wrong| if w.path.is_empty() { w.message.clone() } else { format!("{}: {}", w.path, w.message) };
    match wrong.as_slice() {
        [] => Ok(()),
        [one] => Err(line(one)),
        many => Err(format!("errors:{}", many.iter().map(|w| format!("\n  {}", line(w))).collect::<String>())),
    }
}

#[derive(Clone, Copy)]
struct Rules {
    twins: bool,
    /// A struct further up keeps unknown fields.
    unknown: bool,
    root: bool,
}

fn walk(place: Place<'_>, value: &Value, rules: Rules) -> Vec<Wrong> {
    if value.is_null() {
        return Vec::new();
    }
    let inner = Rules { root: false, ..rules };
    let list = matches!(place.ty(), Some(Type::List(_) | Type::Wrapped(_))) || (place.is_deduced() && value.is_array());
    if list {
        return walk_list(place, value, inner);
    }
    match place.opened(value) {
        Shape::Map(map) => {
            let Value::Object(fields) = value else {
                return Wrong::new(format!("expected map, got &{{{}}}", go_plain(value)));
            };
            let inner = Rules { unknown: rules.unknown || map.keeps_unknown(), ..inner };
            let mut out = Vec::new();
            for (key, value) in fields {
                let child = map.child(key);
                let always = rules.root && matches!(key.as_str(), "apiVersion" | "kind" | "metadata");
                if !child.known && !inner.unknown && !always {
                    out.push(Wrong { path: format!(".{key}"), message: "field not declared in schema".into() });
                    break;
                }
                out.extend(below(walk(child.place, value, inner), || format!(".{key}")));
            }
            out
        }
        _ => scalar(place.ty(), value),
    }
}

fn below(mut wrong: Vec<Wrong>, step: impl Fn() -> String) -> Vec<Wrong> {
    for one in &mut wrong {
        one.path.insert_str(0, &step());
    }
    wrong
}

fn walk_list(place: Place<'_>, value: &Value, rules: Rules) -> Vec<Wrong> {
    let Value::Array(items) = value else {
        return Wrong::new(format!("expected list, got &{{{}}}", go_plain(value)));
    };
    let mut out = Vec::new();
    let mut seen = BTreeSet::new();
    for (at, item) in items.iter().enumerate() {
        let Shape::List(list) = place.shape(Some(value)) else {
            out.extend(below(walk(place.element(), item, rules), || format!("[{at}]")));
            continue;
        };
        let step = match list.step(item) {
            Ok(step) => step,
            Err(why) => {
                out.extend(Wrong::new(format!("element {at}: {why}")));
                return out;
            }
        };
        if seen.contains(&step) && !rules.twins {
            out.extend(Wrong::new(format!("duplicate entries for key {step}")));
        }
        out.extend(below(walk(list.element, item, rules), || step.to_string()));
        seen.insert(step);
    }
    out
}

fn scalar(ty: Option<&Type>, value: &Value) -> Vec<Wrong> {
    match ty {
        Some(Type::Int32 | Type::Int64 | Type::Double) if !value.is_number() => {
            Wrong::new(format!("expected numeric (int or float), got {}", go_type(value)))
        }
        Some(Type::String | Type::Bytes | Type::Duration) if !value.is_string() => {
            Wrong::new(format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_syntax(value)))
        }
        Some(Type::Bool) if !value.is_boolean() => {
            Wrong::new(format!("expected boolean, got &{{{}}}", go_plain(value)))
        }
        Some(Type::Quantity | Type::Time | Type::MicroTime) if value.is_object() || value.is_array() => {
            Wrong::new(format!("expected any scalar, got &{{{}}}", go_plain(value)))
        }
        _ => Vec::new(),
    }
}
