//! Whether a value fits its schema: upstream's checks in upstream's order and words. Where upstream goes through a map in whatever order,
//! this goes by name.

use serde_json::{Map, Value};

use super::formats;
use super::lists;
use super::number;
use super::schema::{Additional, Node};
use crate::field::{FieldError, Wrong, go_quoted};
use plimsoll_schema::ListKind;

/// What is wrong with a value. `field` is the path of the value itself: nothing for a whole object. What has not changed since `old` is
/// not held against it.
pub(super) fn value(node: &Node, value: &Value, old: Option<&Value>, field: &str) -> Vec<FieldError> {
    let found = ratcheted(node, value, "", old);
    found.wrong.into_iter().map(|one| one.into_error(field)).collect()
}

/// One thing wrong, before it has its whole path.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    wrong: Wrong,
    /// The path below the value that is checked; nothing where upstream names none.
    name: Option<String>,
    /// The value as it is shown.
    shown: Value,
    detail: String,
    /// What tells it from others: two of the same text are one.
    text: String,
}

impl Fault {
    fn new(wrong: Wrong, name: &str, shown: Value, text: String) -> Self {
        Self { wrong, name: Some(name.into()), shown, detail: text.clone(), text }
    }

    pub(super) fn invalid(name: &str, shown: Value, text: String) -> Self {
        Self::new(Wrong::Invalid, name, shown, text)
    }

    /// One that upstream gives no path.
    pub(super) fn nameless(text: String) -> Self {
        Self { wrong: Wrong::Invalid, name: None, shown: "".into(), detail: text.clone(), text }
    }

    fn of_type(name: &str, expected: &str, found: &str) -> Self {
        let text = format!("{name} in body must be of type {expected}: {}", go_quoted(found));
        Self::new(Wrong::TypeInvalid, name, found.into(), text)
    }

    fn detailed(mut self, detail: String) -> Self {
        self.detail = detail;
        self
    }

    fn into_error(self, field: &str) -> FieldError {
        let name = self.name.unwrap_or_default();
        let name = name.strip_prefix('.').unwrap_or(&name);
        let field = match (field.is_empty(), name.is_empty()) {
            (true, true) => "<nil>".to_owned(),
            (true, false) => name.to_owned(),
            (false, true) => field.to_owned(),
            (false, false) => format!("{field}.{name}"),
        };
        FieldError {
            value: number::shown(&self.shown),
            ..FieldError::new(self.wrong, field, &Value::Null, self.detail)
        }
    }
}

/// What came of a check. `matched` counts what was in order: of several alternatives, the errors of the best are told.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) wrong: Vec<Fault>,
    pub(super) matched: u32,
}

impl Found {
    pub(super) fn add(&mut self, fault: Fault) {
        if !self.wrong.iter().any(|known| known.text == fault.text) {
            self.wrong.push(fault);
        }
    }

    fn merge(&mut self, other: Self) {
        other.wrong.into_iter().for_each(|fault| self.add(fault));
        self.matched += other.matched;
    }

    fn fits(&self) -> bool {
        self.wrong.is_empty()
    }
}

/// [`check`], but what is as it was before is accepted.
fn ratcheted(node: &Node, value: &Value, path: &str, old: Option<&Value>) -> Found {
    let mut found = check(node, value, path, old);
    if !found.fits() && old == Some(value) {
        found.wrong.clear();
    }
    found
}

fn check(node: &Node, value: &Value, path: &str, old: Option<&Value>) -> Found {
    let mut found = Found::default();
    if value.is_null() {
        if !node.types.is_empty() && !node.nullable {
            found.add(Fault::of_type(path, &node.types.join(","), "null"));
        } else {
            found.matched += 1;
        }
        enumerated(node, value, path, &mut found);
        return found;
    }
    if !node.types.is_empty() || !node.format.is_empty() {
        types(node, value, path, &mut found);
        found.matched += 1;
    }
    found.merge(combined(node, value, path, old));
    found.matched += 1;
    match value {
        Value::String(text) => {
            string(node, text, path, &mut found);
            found.matched += 1;
            if !node.format.is_empty() && !matches!(&*node.format, "int32" | "int64" | "float" | "double") {
                if !formats::fits(&node.format, text) {
                    found.add(Fault::of_type(path, &node.format, text));
                }
                found.matched += 1;
            }
        }
        Value::Number(given) => {
            number::check(node, given, path, &mut found);
            found.matched += 2;
        }
        Value::Array(items) => {
            array(node, items, path, old, &mut found);
            found.matched += 2;
        }
        _ => {}
    }
    enumerated(node, value, path, &mut found);
    found.matched += 1;
    if let Value::Object(fields) = value {
        object(node, fields, path, old, &mut found);
        found.matched += 1;
    }
    found.matched += 1;
    found
}

fn types(node: &Node, value: &Value, path: &str, found: &mut Found) {
    let has = |name: &str| node.types.iter().any(|t| t == name);
    let (kind, format) = match value {
        Value::Bool(_) => ("boolean", ""),
        Value::String(_) => ("string", ""),
        Value::Number(n) if n.is_i64() => ("integer", "int64"),
        Value::Number(_) => ("number", "float64"),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
        Value::Null => ("null", ""),
    };
    let whole = kind == "number" && value.as_f64().is_some_and(number::is_whole) && has("integer");
    let widened = kind == "integer" && has("number");
    let listed = matches!(value, Value::String(_) | Value::Array(_));
    let fits = has(kind) || format == node.format || whole || widened;
    if !listed && !node.format.is_empty() && !fits {
        found.add(Fault::of_type(path, &node.format, format));
        return;
    }
    let number = has("number") || has("integer");
    if listed && !number && !node.format.is_empty() {
        found.matched += 1;
        return;
    }
    if !(has(kind) || whole || widened) {
        found.add(Fault::of_type(path, &node.types.join(","), kind));
        return;
    }
    found.matched += 1;
}

fn combined(node: &Node, value: &Value, path: &str, old: Option<&Value>) -> Found {
    let mut main = Found::default();
    if !node.any_of.is_empty() {
        let mut best: Option<Found> = None;
        let mut fitting = None;
        for one in &node.any_of {
            let found = check(one, value, path, old);
            if found.fits() {
                fitting = Some(found);
                break;
            }
            if best.as_ref().is_none_or(|b| found.matched > b.matched) {
                best = Some(found);
            }
        }
        match fitting {
            Some(found) => main.merge(found),
            None => {
                main.add(Fault::nameless(format!("{} must validate at least one schema (anyOf)", go_quoted(path))));
                best.into_iter().for_each(|found| main.merge(found));
            }
        }
    }
    if !node.one_of.is_empty() {
        let mut best: Option<Found> = None;
        let mut first = None;
        let mut fitting = 0;
        for one in &node.one_of {
            let found = check(one, value, path, old);
            if found.fits() {
                fitting += 1;
                best = None;
                first.get_or_insert(found);
            } else if fitting == 0 && best.as_ref().is_none_or(|b| found.matched > b.matched) {
                best = Some(found);
            }
        }
        if fitting == 1 {
            first.into_iter().for_each(|found| main.merge(found));
        } else {
            let more = if fitting == 0 {
                "Found none valid".to_owned()
            } else {
                format!("Found {fitting} valid alternatives")
            };
            let text = format!("{} must validate one and only one schema (oneOf). {more}", go_quoted(path));
            main.add(Fault::nameless(text));
            best.into_iter().for_each(|found| main.merge(found));
        }
    }
    if !node.all_of.is_empty() {
        let mut fitting = 0;
        for one in &node.all_of {
            let found = check(one, value, path, old);
            fitting += usize::from(found.fits());
            main.merge(found);
        }
        if fitting != node.all_of.len() {
            let more = if fitting == 0 { ". None validated" } else { "" };
            main.add(Fault::nameless(format!("{} must validate all the schemas (allOf){more}", go_quoted(path))));
        }
    }
    if let Some(not) = &node.not
        && check(not, value, path, old).fits()
    {
        main.add(Fault::nameless(format!("{} must not validate the schema (not)", go_quoted(path))));
    }
    main.matched += 1;
    main
}

fn string(node: &Node, text: &str, path: &str, found: &mut Found) {
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    if let Some(most) = node.max_length.filter(|most| length > *most) {
        let fault = Fault::new(
            Wrong::TooLong,
            path,
            Value::Null,
            format!("{path} in body should be at most {most} chars long"),
        );
        let unit = if most == 1 { "byte" } else { "bytes" };
        let detail = if most >= 0 { format!("may not be more than {most} {unit}") } else { "value is too long".into() };
        return found.add(fault.detailed(detail));
    }
    if let Some(least) = node.min_length.filter(|least| length < *least) {
        let text_error = format!("{path} in body should be at least {least} chars long");
        return found.add(Fault::invalid(path, text.into(), text_error));
    }
    if let Some(pattern) = &node.pattern {
        let fits = pattern.regex.as_ref().is_none_or(|regex| regex.is_match(text));
        if !fits {
            found.add(Fault::invalid(path, text.into(), format!("{path} in body should match '{}'", pattern.text)));
        }
    }
}

fn too_many(path: &str, has: i64, most: i64, text: String) -> Fault {
    let unit = if most == 1 { "item" } else { "items" };
    Fault::new(Wrong::TooMany, path, Value::Null, text).detailed(format!("{has}: must have at most {most} {unit}"))
}

fn array(node: &Node, items: &[Value], path: &str, old: Option<&Value>, found: &mut Found) {
    if let Some(inner) = node.items.as_deref() {
        for (i, item) in items.iter().enumerate() {
            let place = format!("{path}[{i}]");
            let before = if node.list == ListKind::Map { twin(node, item, old) } else { None };
            found.merge(match before {
                Some(before) => ratcheted(inner, item, &place, Some(before)),
                None => check(inner, item, &place, None),
            });
        }
    }
    let size = i64::try_from(items.len()).unwrap_or(i64::MAX);
    if let Some(least) = node.min_items.filter(|least| size < *least) {
        found.add(Fault::invalid(path, size.into(), format!("{path} in body should have at least {least} items")));
    }
    if let Some(most) = node.max_items.filter(|most| size > *most) {
        found.add(too_many(path, size, most, format!("{path} in body should have at most {most} items")));
    }
    if node.unique_items && lists::repeats(items) {
        found.add(Fault::invalid(path, "".into(), format!("{path} in body shouldn't contain duplicates")));
    }
}

/// The element of the old list with the same keys.
fn twin<'a>(node: &Node, item: &Value, old: Option<&'a Value>) -> Option<&'a Value> {
    let keys = |item: &Value| node.list_keys.iter().map(|key| item.get(key).cloned()).collect::<Vec<_>>();
    let wanted = keys(item);
    old?.as_array()?.iter().find(|other| keys(other) == wanted)
}

fn enumerated(node: &Node, value: &Value, path: &str, found: &mut Found) {
    if node.allowed.is_empty() || node.allowed.iter().any(|allowed| number::equal(value, allowed)) {
        return;
    }
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let words: Vec<String> = node.allowed.iter().map(|allowed| go_quoted(&plain(allowed))).collect();
    let texts: Vec<String> = node.allowed.iter().map(plain).collect();
    let fault = Fault::new(
        Wrong::NotSupported,
        path,
        value.clone(),
        format!("{path} in body should be one of [{}]", texts.join(" ")),
    );
    found.add(fault.detailed(format!("supported values: {}", words.join(", "))));
}

fn object(node: &Node, fields: &Map<String, Value>, path: &str, old: Option<&Value>, found: &mut Found) {
    let size = i64::try_from(fields.len()).unwrap_or(i64::MAX);
    if let Some(least) = node.min_properties.filter(|least| size < *least) {
        found.add(Fault::invalid(path, size.into(), format!("{path} in body should have at least {least} properties")));
    }
    if let Some(most) = node.max_properties.filter(|most| size > *most) {
        found.add(too_many(path, size, most, format!("{path} in body should have at most {most} properties")));
    }
    let before = |key: &str| if node.atomic { None } else { old.and_then(|old| old.get(key)) };
    let inside = |inner: &Node, key: &str, value: &Value, place: &str| match before(key) {
        Some(before) if !(path.is_empty() && matches!(key, "kind" | "apiVersion")) => {
            ratcheted(inner, value, place, Some(before))
        }
        _ => check(inner, value, place, None),
    };
    match &node.additional {
        Some(Additional::Any(false)) => {
            for key in fields.keys().filter(|key| !node.properties.contains_key(*key)) {
                let text = format!("{path}.{key} in body is a forbidden property");
                found.add(Fault::invalid(path, key.as_str().into(), text));
            }
        }
        Some(Additional::Schema(inner)) => {
            for (key, value) in fields.iter().filter(|(key, _)| !node.properties.contains_key(*key)) {
                found.merge(inside(inner, key, value, &format!("{path}.{key}")));
            }
        }
        _ => {}
    }
    for (key, inner) in &node.properties {
        if let Some(value) = fields.get(key) {
            let place = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            found.merge(inside(inner, key, value, &place));
        }
    }
    for key in node.required.iter().filter(|key| !fields.contains_key(*key)) {
        let name = format!("{path}.{key}");
        let text = format!("{name} in body is required");
        found.add(Fault::new(Wrong::Required, &name, Value::Null, text).detailed(String::new()));
    }
}
