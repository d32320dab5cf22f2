//! What a schema does to an object before it is looked at: unknown fields go, nulls that may not be go, defaults come.

use serde_json::{Map, Value};

use super::schema::{Additional, Node};

/// What every whole object has, whether its schema says so or not.
const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Drops the fields that the schema does not know and returns their paths, sorted. `root` is yes for a whole object.
pub(super) fn unknown(value: &mut Value, node: &Node, root: bool) -> Vec<String> {
    let mut walk = Walk { path: Vec::new(), found: Vec::new() };
    walk.prune(value, Some(node), root || node.embedded);
    walk.found.sort();
    walk.found
}

struct Walk {
    path: Vec<String>,
    found: Vec<String>,
}

impl Walk {
    fn key(&mut self, key: &str) {
        let step = if self.path.is_empty() { key.to_owned() } else { format!(".{key}") };
        self.path.push(step);
    }

    fn record(&mut self, key: &str) {
        self.key(key);
        self.found.push(self.path.concat());
        self.path.pop();
    }

    fn prune(&mut self, value: &mut Value, node: Option<&Node>, embedded: bool) {
        let preserve = node.is_some_and(|n| n.preserve);
        match value {
            Value::Object(fields) => self.fields(fields, node, embedded, preserve),
            Value::Array(items) => {
                let inner = node.and_then(|n| n.items.as_deref());
                if preserve && inner.is_none() {
                    return;
                }
                for (i, item) in items.iter_mut().enumerate() {
                    self.path.push(format!("[{i}]"));
                    match inner {
                        // Below a list that keeps everything, elements keep everything too.
                        Some(inner) if preserve && !inner.preserve => {
                            let kept = Node { preserve: true, ..inner.clone() };
                            self.prune(item, Some(&kept), inner.embedded);
                        }
                        _ => self.prune(item, inner, inner.is_some_and(|n| n.embedded)),
                    }
                    self.path.pop();
                }
            }
            _ => {}
        }
    }

    fn fields(&mut self, fields: &mut Map<String, Value>, node: Option<&Node>, embedded: bool, preserve: bool) {
        let keys: Vec<String> = fields.keys().cloned().collect();
        for key in keys {
            if embedded && META.contains(&key.as_str()) {
                continue;
            }
            let inner = node.map(|n| (n.properties.get(&key), &n.additional));
            let (inner, known) = match inner {
                Some((Some(property), _)) => (Some(property), true),
                Some((None, Some(Additional::Schema(node)))) => (Some(&**node), true),
                Some((None, Some(Additional::Any(_)))) => (None, true),
                _ => (None, false),
            };
            if known {
                self.key(&key);
                if let Some(value) = fields.get_mut(&key) {
                    self.prune(value, inner, inner.is_some_and(|n| n.embedded));
                }
                self.path.pop();
            } else if !preserve {
                if !META.contains(&key.as_str()) || !self.path.is_empty() {
                    self.record(&key);
                }
                fields.remove(&key);
            }
        }
    }
}

/// Drops nulls where the schema allows none and has nothing to put in their place.
pub(super) fn nulls(value: &mut Value, node: Option<&Node>) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, value| {
                let gone = value.is_null()
                    && node.and_then(|n| n.at(key)).is_some_and(|inner| !inner.nullable && inner.default.is_none());
                !gone
            });
            for (key, value) in fields {
                nulls(value, node.and_then(|n| n.at(key)));
            }
        }
        Value::Array(items) => {
            let inner = node.and_then(|n| n.items.as_deref());
            items.iter_mut().for_each(|item| nulls(item, inner));
        }
        _ => {}
    }
}

/// Fills in the defaults.
pub(super) fn defaults(value: &mut Value, node: &Node) {
    let replaced = |value: &Value, node: &Node| value.is_null() && !node.nullable;
    match value {
        Value::Object(fields) => {
            for (key, property) in &node.properties {
                let Some(default) = &property.default else { continue };
                if fields.get(key).is_none_or(|value| replaced(value, property)) {
                    fields.insert(key.clone(), default.clone());
                }
            }
            for (key, value) in fields {
                if let Some(property) = node.properties.get(key) {
                    defaults(value, property);
                } else if let Some(inner) = node.others() {
                    if replaced(value, inner) {
                        *value = inner.default.clone().unwrap_or_default();
                    }
                    defaults(value, inner);
                }
            }
        }
        Value::Array(items) => {
            let Some(inner) = node.items.as_deref() else { return };
            for item in items {
                if replaced(item, inner) {
                    *item = inner.default.clone().unwrap_or_default();
                }
                defaults(item, inner);
            }
        }
        _ => {}
    }
}

/// Numbers as Go's JSON has them after a round trip: whole ones have no fraction.
pub(super) fn numbers(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(numbers),
        Value::Array(items) => items.iter_mut().for_each(numbers),
        Value::Number(number) if !number.is_i64() => {
            let Some(float) = number.as_f64() else { return };
            // Beyond 2^53 a float is no longer the whole number that was written.
            if float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0 {
                #[expect(clippy::cast_possible_truncation, reason = "whole, and within 53 bits")]
                let whole = float as i64;
                *value = whole.into();
            } else if let Some(number) = serde_json::Number::from_f64(float) {
                *value = Value::Number(number);
            }
        }
        _ => {}
    }
}
