//! Lists that are sets, or maps by keys: no element twice.

use std::collections::BTreeMap;

use plimsoll_schema::ListKind;
use serde_json::{Map, Value};

use super::schema::Node;
use crate::field::FieldError;
use crate::validation::path::Path;

/// What stands twice in an object's lists.
pub(super) fn twice(node: &Node, value: &Value, path: &Path) -> Vec<FieldError> {
    match value {
        Value::Object(fields) => {
            let mut errors = Vec::new();
            if let Some(inner) = node.others() {
                for (key, value) in fields {
                    errors.extend(twice(inner, value, &path.key(key)));
                }
            }
            for (key, value) in fields {
                if let Some(inner) = node.properties.get(key) {
                    errors.extend(twice(inner, value, &path.child(key)));
                }
            }
            errors
        }
        Value::Array(items) => {
            let mut errors = match node.list {
                ListKind::Atomic => Vec::new(),
                ListKind::Set => repeated(items).map(|i| FieldError::duplicate(place(path, i), &items[i])).collect(),
                ListKind::Map => by_keys(node, items, path),
            };
            if let Some(inner) = node.items.as_deref() {
                for (i, item) in items.iter().enumerate() {
                    errors.extend(twice(inner, item, &path.index(i)));
                }
            }
            errors
        }
        _ => Vec::new(),
    }
}

fn place(path: &Path, index: usize) -> String {
    path.index(index).as_str().to_owned()
}

fn by_keys(node: &Node, items: &[Value], path: &Path) -> Vec<FieldError> {
    if let Some((i, item)) = items.iter().enumerate().find(|(_, item)| !item.is_object() && !item.is_null()) {
        let why = "must be an object for an array of list-type map";
        return vec![FieldError::invalid(place(path, i), item, why)];
    }
    let keys: Vec<Value> = items
        .iter()
        .map(|item| {
            let found = node.list_keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
            Value::Object(found.collect::<Map<_, _>>())
        })
        .collect();
    repeated(&keys).map(|i| FieldError::duplicate(place(path, i), &keys[i])).collect()
}

/// Where elements stand for the second time; the third is no further error.
fn repeated(items: &[Value]) -> impl Iterator<Item = usize> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    (0..items.len()).filter(move |i| {
        let times = seen.entry(items[*i].to_string()).or_default();
        *times += 1;
        *times == 2
    })
}

/// Whether an element stands twice.
pub(super) fn repeats(items: &[Value]) -> bool {
    repeated(items).next().is_some()
}
