//! Makes the edit that a remedy names, in the objects as JSON: what a person, or kubectl, would do with it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "an edit that cannot be made fails the test")]

use plimsoll_engine::Patch;
use serde_json::{Map, Value};

/// Makes the edit. Panics where the patch does not say something that can be done.
pub fn apply(patch: &Patch, objects: &mut Vec<Value>) {
    let is_it = |o: &Value| {
        o["kind"] == patch.kind
            && o["metadata"]["name"] == *patch.name
            && (patch.namespace.is_none()
                || o["metadata"]["namespace"] == patch.namespace.as_deref().unwrap_or_default())
    };
    let at = objects.iter().position(is_it).unwrap_or_else(|| panic!("no object for {patch:?}"));
    if patch.field == "." {
        assert!(patch.value.is_none(), "{patch:?}");
        objects.remove(at);
        return;
    }
    let object = &mut objects[at];
    edit(object, &patch.field, patch.value.as_deref());
    if patch.field == "spec.unschedulable" {
        // What follows by itself: the node controller removes the taint of a cordon.
        if let Some(taints) = object["spec"]["taints"].as_array_mut() {
            taints.retain(|t| t["key"] != "node.kubernetes.io/unschedulable");
        }
    }
}

/// The steps of `a.b[c].d`: names outside brackets are split at dots, what is within is kept whole.
fn steps(field: &str) -> Vec<String> {
    let mut steps = vec![String::new()];
    let mut within = false;
    for c in field.chars() {
        match c {
            '[' if !within => {
                within = true;
                steps.push("[".to_owned());
            }
            ']' if within => within = false,
            '.' if !within => steps.push(String::new()),
            c => steps.last_mut().unwrap().push(c),
        }
    }
    steps.retain(|s| !s.is_empty());
    steps
}

fn edit(object: &mut Value, field: &str, value: Option<&str>) {
    let steps = steps(field);
    let (last, way) = steps.split_last().unwrap();
    let mut at = object;
    for step in way {
        at = match step.strip_prefix('[') {
            Some(entry) if at.is_array() => {
                let index = find(at.as_array().unwrap(), entry).unwrap_or_else(|| panic!("{field}: no {entry}"));
                &mut at.as_array_mut().unwrap()[index]
            }
            Some(key) => child(at, key),
            None => child(at, step),
        };
    }
    let key = last.strip_prefix('[').unwrap_or(last);
    match value {
        Some(text) if key == "-" => {
            if at.is_null() {
                *at = Value::Array(Vec::new());
            }
            at.as_array_mut().unwrap().push(serde_json::from_str(text).unwrap());
        }
        Some(text) => {
            let number = matches!(key, "maxSkew" | "count");
            let value = if number { serde_json::from_str(text).unwrap() } else { Value::from(text) };
            *child(at, key) = value;
        }
        None if at.is_array() => {
            let index = find(at.as_array().unwrap(), key).unwrap_or_else(|| panic!("{field}: no {key}"));
            at.as_array_mut().unwrap().remove(index);
        }
        None => assert!(at.as_object_mut().unwrap().remove(key).is_some(), "{field} is not there"),
    }
}

fn child<'v>(value: &'v mut Value, key: &str) -> &'v mut Value {
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().unwrap().entry(key).or_insert(Value::Null)
}

/// The entry of a list: by number, or by the values of its fields.
fn find(list: &[Value], entry: &str) -> Option<usize> {
    if let Ok(index) = entry.parse::<usize>() {
        return (index < list.len()).then_some(index);
    }
    let wanted: Vec<(&str, &str)> = entry.split(',').filter_map(|pair| pair.split_once('=')).collect();
    list.iter().position(|e| wanted.iter().all(|(key, value)| e[*key] == *value))
}
