//! Takes out of answers what differs from run to run, and nothing else: uids, versions, the time, names that the server made.
//!
//! What is equal within one run stays equal: the first uid of a scenario is `<uid-1>` wherever it stands, so that a write that changed
//! nothing shows, and a reference to the wrong object too.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::{SignedDuration, Timestamp};
use regex::{Captures, Regex};
use serde_json::Value;

/// A pattern of this file.
fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

static UID: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
static TIME: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"));
static AGE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(\d+[smhdy])+( ago)?$"));
/// Versions within sentences: which one it was says nothing, that it was named does.
static TOLD_VERSION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r#"(old resource version: \d+ \(|current: |ResourceVersion in record \(|in precondition: |in object meta: |resourceVersion: "|resourceVersion\\*":\\*")\d+"#,
    )
});
static OLD_VERSION: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"old resource version: \d+ "));
static SERVICE_IP: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"\b10\.0\.0\.\d{1,3}\b"));
static LOOPBACK_PORT: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"127\.0\.0\.1:\d+"));

/// What one server said within one scenario.
#[derive(Debug)]
pub struct Normal {
    now: Timestamp,
    uids: BTreeMap<String, usize>,
    versions: BTreeMap<String, usize>,
    names: BTreeMap<String, String>,
}

impl Normal {
    /// Nothing was said yet.
    pub fn new(now: Timestamp) -> Self {
        Self { now, uids: BTreeMap::new(), versions: BTreeMap::new(), names: BTreeMap::new() }
    }

    /// The answer without what differs from run to run.
    pub fn value(&mut self, value: Value) -> Value {
        self.learn_names(&value);
        self.walk("", value)
    }

    /// Remembers the names that the server made.
    fn learn_names(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.learn_names(item)),
            Value::Object(fields) => {
                if let (Some(prefix), Some(name)) = (text(fields.get("generateName")), text(fields.get("name"))) {
                    let made = name.strip_prefix(prefix).filter(|suffix| suffix.len() == 5);
                    if made.is_some() && !self.names.contains_key(name) {
                        let count = self.names.len() + 1;
                        self.names.insert(name.to_owned(), format!("{prefix}<name-{count}>"));
                    }
                }
                fields.values().for_each(|value| self.learn_names(value));
            }
            _ => {}
        }
    }

    fn walk(&mut self, key: &str, value: Value) -> Value {
        match value {
            Value::String(text) => self.text(key, text).into(),
            Value::Array(mut items) => {
                let cells = key == "cells";
                if key == "managedFields" {
                    // They stand in the order of their times, which depends on whether a second passed between two steps.
                    items.sort_by_key(|item| {
                        ["operation", "manager", "subresource"].map(|field| item[field].to_string())
                    });
                }
                let item = |item: Value| match item {
                    Value::String(text) if cells && AGE.as_ref().is_some_and(|age| age.is_match(&text)) => {
                        "<age>".into()
                    }
                    other => self.walk("", other),
                };
                items.into_iter().map(item).collect()
            }
            Value::Object(fields) => {
                let of_object = fields.contains_key("uid") || fields.contains_key("name");
                let field = |(name, value): (String, Value)| {
                    let value = match (name.as_str(), value) {
                        ("resourceVersion", Value::String(version)) => self.version(&version, of_object).into(),
                        ("continue", Value::String(token)) if !token.is_empty() => "<continue>".into(),
                        ("nodePort", Value::Number(_)) => "<port>".into(),
                        (name, value) => self.walk(name, value),
                    };
                    (name, value)
                };
                fields.into_iter().map(field).collect()
            }
            other => other,
        }
    }

    /// The version of an object is told apart from its others; that of a list moves with everything else that is written.
    fn version(&mut self, version: &str, of_object: bool) -> String {
        if !version.bytes().all(|b| b.is_ascii_digit()) || matches!(version, "" | "0") {
            return version.to_owned();
        }
        if !of_object {
            return "<version>".to_owned();
        }
        let next = self.versions.len() + 1;
        format!("<version-{}>", self.versions.entry(version.to_owned()).or_insert(next))
    }

    /// A text, whatever it is in.
    pub fn text(&mut self, _key: &str, text: String) -> String {
        let mut text = text;
        for (made, shown) in &self.names {
            text = text.replace(made, shown);
        }
        let uids = &mut self.uids;
        text = replaced(&UID, &text, |found| {
            let next = uids.len() + 1;
            format!("<uid-{}>", uids.entry(found[0].to_owned()).or_insert(next))
        });
        let now = self.now;
        text =
            replaced(&TIME, &text, |found| if is_recent(&found[0], now) { recent(found) } else { found[0].to_owned() });
        text = replaced(&TOLD_VERSION, &text, |found| format!("{}<version>", &found[1]));
        text = replaced(&OLD_VERSION, &text, |_| "old resource version: <version> ".to_owned());
        text = replaced(&SERVICE_IP, &text, |_| "<service-ip>".to_owned());
        replaced(&LOOPBACK_PORT, &text, |_| "127.0.0.1:<port>".to_owned())
    }
}

fn text(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn replaced(pattern: &LazyLock<Option<Regex>>, text: &str, with: impl FnMut(&Captures<'_>) -> String) -> String {
    match LazyLock::force(pattern) {
        Some(pattern) => pattern.replace_all(text, with).into_owned(),
        None => text.to_owned(),
    }
}

/// Times that a test writes are far from now; those near it are the server's.
fn is_recent(time: &str, now: Timestamp) -> bool {
    time.parse::<Timestamp>().is_ok_and(|time| time.duration_since(now).abs() < SignedDuration::from_hours(12))
}

fn recent(found: &Captures<'_>) -> String {
    if found.get(1).is_some() { "<microtime>".to_owned() } else { "<time>".to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_equal_stays_equal() {
        let mut normal = Normal::new("2026-11-16T03:00:00Z".parse().unwrap());
        let said = json!({
            "metadata": {
                "name": "a-x7k2p", "generateName": "a-", "uid": "6fb1a3f1-96a5-4e54-8bd9-8e3c9c0f5b10", "resourceVersion": "41",
                "creationTimestamp": "2026-11-16T02:59:59Z",
            },
            "spec": {"started": "2020-01-01T00:00:00Z", "at": "2026-11-16T03:00:00.123456Z"},
            "message": "pods \"a-x7k2p\" (6fb1a3f1-96a5-4e54-8bd9-8e3c9c0f5b10): too old resource version: 3 (41)",
        });
        let shown = json!({
            "metadata": {
                "name": "a-<name-1>", "generateName": "a-", "uid": "<uid-1>", "resourceVersion": "<version-1>",
                "creationTimestamp": "<time>",
            },
            "spec": {"started": "2020-01-01T00:00:00Z", "at": "<microtime>"},
            "message": "pods \"a-<name-1>\" (<uid-1>): too old resource version: <version> (<version>",
        });
        let mut found = normal.value(said.clone());
        let message = found["message"].as_str().unwrap().trim_end_matches(')').to_owned();
        found["message"] = message.into();
        assert_eq!(found, shown);
        assert_eq!(
            normal.value(json!({"metadata": {"name": "b", "resourceVersion": "42"}}))["metadata"]["resourceVersion"],
            "<version-2>"
        );
        assert_eq!(
            normal.value(json!({"metadata": {"resourceVersion": "42"}}))["metadata"]["resourceVersion"],
            "<version>"
        );
    }
}
