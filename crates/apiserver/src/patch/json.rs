//! JSON patch (RFC 6902), with the liberties and the sentences of the library that upstream uses: negative indices count from the
//! end, `replace` of a field that is not there adds it, `test` of one that is not there passes for null.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::unprocessable;
use crate::field::go_quoted;
use crate::status::Status;

/// A patch with more operations is refused: applying each may copy much.
const MOST_OPERATIONS: usize = 10_000;

/// What `copy` may add up to, as upstream has it: a document that is copied into itself doubles each time.
const MOST_COPIED_BYTES: usize = 3 * 1024 * 1024;

/// Where a path may lead, and how deep the result may be: parsed JSON is at most 128 levels deep, and so is the rest of the program
/// made for it. Upstream ends at 10,000 levels.
pub(super) const DEEPEST_PATH: usize = 256;
const DEEPEST_RESULT: usize = 512;

/// The original with the operations applied to it.
///
/// Which operation failed is not said, as upstream does not say it: every failure is the same 422.
pub fn json(original: &Value, patch: &Value) -> Result<Value, Status> {
    let operations = operations(patch)?;
    if operations.len() > MOST_OPERATIONS {
        return Err(Status::new(
            413,
            "RequestEntityTooLarge",
            format!(
                "Request entity too large: The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {}",
                operations.len()
            ),
        ));
    }
    let mut document = original.clone();
    let mut copied = 0;
    for operation in operations {
        if apply(&mut document, operation, &mut copied).is_err() {
            return Err(unprocessable());
        }
    }
    if deeper_than(&document, DEEPEST_RESULT) {
        return Err(unprocessable());
    }
    Ok(document)
}

/// What is wrong with the form of the operations beyond what stops them from being applied: fields that no operation has. Upstream
/// warns of these, or refuses the patch under `fieldValidation=Strict`. A field of the wrong type is refused either way; under
/// `fieldValidation=Ignore` this is not to be called.
pub fn json_strict(patch: &Value) -> Result<Vec<String>, Status> {
    let mut found = Vec::new();
    for (i, operation) in operations(patch).map_err(|s| decoding(&s.message))?.into_iter().enumerate() {
        for (key, value) in operation {
            match key.as_str() {
                "value" => {}
                "op" | "path" | "from" if value.is_string() || value.is_null() => {}
                "op" | "path" | "from" => {
                    return Err(decoding(&format!(
                        "json: cannot unmarshal {} into Go struct field jsonPatchOp.{key} of type string",
                        super::json_kind(value)
                    )));
                }
                other => found.push(format!("json patch unknown field \"[{i}].{other}\"")),
            }
        }
    }
    Ok(found)
}

fn decoding(why: &str) -> Status {
    Status::bad_request(format!(
        "error decoding patch: {}",
        why.replace("jsonpatch.Patch", "[]handlers.jsonPatchOp").replace("jsonpatch.Operation", "handlers.jsonPatchOp")
    ))
}

/// The operations; an operation that is null has no fields.
fn operations(patch: &Value) -> Result<Vec<&Map<String, Value>>, Status> {
    static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    let list = match patch {
        Value::Array(list) => list,
        Value::Null => return Ok(Vec::new()),
        other => {
            let kind = super::json_kind(other);
            return Err(Status::bad_request(format!(
                "json: cannot unmarshal {kind} into Go value of type jsonpatch.Patch"
            )));
        }
    };
    list.iter()
        .map(|operation| match operation {
            Value::Object(map) => Ok(map),
            Value::Null => Ok(&*NONE),
            other => {
                let kind = super::json_kind(other);
                Err(Status::bad_request(format!(
                    "json: cannot unmarshal {kind} into Go value of type jsonpatch.Operation"
                )))
            }
        })
        .collect()
}

/// Applies one operation; the error says why not, for people who debug.
fn apply(document: &mut Value, operation: &Map<String, Value>, total_copied: &mut usize) -> Result<(), String> {
    let text = |field: &str| match operation.get(field) {
        Some(Value::String(text)) => Ok(text.as_str()),
        _ => Err(format!("operation missing {field} field: missing value")),
    };
    let value = || operation.get("value").cloned().unwrap_or(Value::Null);
    match text("op").unwrap_or("unknown") {
        "add" => add(document, text("path")?, value()),
        "remove" => remove(document, text("path")?).map(|_| ()),
        "replace" => replace(document, text("path")?, value()),
        "test" => test(document, text("path")?, operation.get("value")),
        "move" => {
            let moved = remove(document, text("from")?)?;
            add(document, text("path")?, moved)
        }
        "copy" => {
            let from = text("from")?;
            let copied = find(document, from).and_then(|(parent, key)| get(parent, &key))?.cloned();
            let copied = copied.unwrap_or(Value::Null);
            *total_copied += copied.to_string().len();
            if *total_copied > MOST_COPIED_BYTES {
                return Err("Unable to complete the copy, the accumulated size increase of copy is too large".into());
            }
            add(document, text("path")?, copied)
        }
        other => Err(format!("Unexpected kind: {other}")),
    }
}

fn add(document: &mut Value, path: &str, value: Value) -> Result<(), String> {
    let (parent, key) = find(document, path)?;
    match parent {
        Value::Object(map) => {
            map.insert(key, value);
            Ok(())
        }
        Value::Array(list) if key == "-" => {
            list.push(value);
            Ok(())
        }
        Value::Array(list) => {
            let at = index(&key, list.len() + 1)?;
            list.insert(at, value);
            Ok(())
        }
        _ => Err(missing(path)),
    }
}

fn remove(document: &mut Value, path: &str) -> Result<Value, String> {
    let (parent, key) = find(document, path)?;
    match parent {
        Value::Object(map) => {
            map.remove(&key).ok_or_else(|| format!("Unable to remove nonexistent key: {key}: missing value"))
        }
        Value::Array(list) => {
            let at = index(&key, list.len())?;
            Ok(list.remove(at))
        }
        _ => Err(missing(path)),
    }
}

fn replace(document: &mut Value, path: &str, value: Value) -> Result<(), String> {
    if path.is_empty() {
        if !matches!(value, Value::Object(_) | Value::Array(_)) {
            return Err("replace operation value must be object or array".into());
        }
        *document = value;
        return Ok(());
    }
    let (parent, key) = find(document, path)?;
    match parent {
        Value::Object(map) => {
            map.insert(key, value);
            Ok(())
        }
        Value::Array(list) => {
            let at = index(&key, list.len())?;
            if let Some(slot) = list.get_mut(at) {
                *slot = value;
            }
            Ok(())
        }
        _ => Err(missing(path)),
    }
}

fn test(document: &mut Value, path: &str, want: Option<&Value>) -> Result<(), String> {
    let want = want.unwrap_or(&Value::Null);
    let equal = if path.is_empty() {
        document == want
    } else {
        let (parent, key) = find(document, path)?;
        get(parent, &key)?.unwrap_or(&Value::Null) == want
    };
    if equal { Ok(()) } else { Err(format!("testing value {path} failed: test failed")) }
}

/// The container that holds the last step of a path, and that step. What stands before the first slash is not looked at.
fn find<'a>(document: &'a mut Value, path: &str) -> Result<(&'a mut Value, String), String> {
    let mut steps = path.split('/').skip(1).map(unescaped);
    let Some(mut step) = steps.next() else { return Err(missing(path)) };
    let mut at = document;
    for (depth, next) in steps.enumerate() {
        if depth > DEEPEST_PATH {
            return Err(missing(path));
        }
        at = match at {
            Value::Object(map) => map.get_mut(&step),
            Value::Array(list) => {
                let i = index(&step, list.len())?;
                list.get_mut(i)
            }
            _ => None,
        }
        .ok_or_else(|| missing(path))?;
        step = next;
    }
    match at {
        Value::Object(_) | Value::Array(_) => Ok((at, step)),
        _ => Err(missing(path)),
    }
}

/// Without recursion, since it is the depth that is in question.
fn deeper_than(document: &Value, levels: usize) -> bool {
    let mut open = vec![(document, 0)];
    while let Some((value, depth)) = open.pop() {
        if depth > levels {
            return true;
        }
        match value {
            Value::Object(map) => open.extend(map.values().map(|v| (v, depth + 1))),
            Value::Array(list) => open.extend(list.iter().map(|v| (v, depth + 1))),
            _ => {}
        }
    }
    false
}

fn get<'a>(parent: &'a Value, key: &str) -> Result<Option<&'a Value>, String> {
    match parent {
        Value::Object(map) => Ok(map.get(key)),
        Value::Array(list) => Ok(list.get(index(key, list.len())?)),
        _ => Ok(None),
    }
}

/// A place among `length`; negative ones count from the end.
fn index(key: &str, length: usize) -> Result<usize, String> {
    let n: i64 = key.parse().map_err(|_| format!("strconv.Atoi: parsing {}: invalid syntax", go_quoted(key)))?;
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let from_start = if n < 0 { n.saturating_add(length) } else { n };
    if (0..length).contains(&from_start) {
        usize::try_from(from_start).map_err(|e| e.to_string())
    } else {
        Err(format!("Unable to access invalid index: {n}: invalid index referenced"))
    }
}

fn unescaped(step: &str) -> String {
    if !step.contains('~') {
        return step.to_owned();
    }
    let mut out = String::with_capacity(step.len());
    let mut rest = step;
    while let Some(at) = rest.find('~') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (plain, width) = match rest.as_bytes().get(1) {
            Some(b'1') => ('/', 2),
            Some(b'0') => ('~', 2),
            _ => ('~', 1),
        };
        out.push(plain);
        rest = &rest[width..];
    }
    out.push_str(rest);
    out
}

fn missing(path: &str) -> String {
    format!("doc is missing path: {}: missing value", go_quoted(path))
}
