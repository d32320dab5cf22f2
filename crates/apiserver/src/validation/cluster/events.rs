//! Event, of core and of events.k8s.io. Both are one thing upstream, under two sets of names.

use serde_json::{Value, json};

use super::found::Found;
use super::gojson::Type;
use super::gotypes::{EVENT_SOURCE, OBJECT_REFERENCE};
use crate::validation::names::{self, name_is_dns_subdomain};
use crate::validation::path::{Path, get, has, number, same, text};

/// The longest note.
const NOTE_MAX: usize = 1024;
/// The longest of the other words.
const WORD_MAX: usize = 128;

/// What the fields are called in one of the two groups.
#[derive(Debug, Clone, Copy)]
struct Names {
    regarding: &'static str,
    note: &'static str,
    controller: &'static str,
    source: &'static str,
    first: &'static str,
    last: &'static str,
    count: &'static str,
}

const CORE: Names = Names {
    regarding: "involvedObject",
    note: "message",
    controller: "reportingComponent",
    source: "source",
    first: "firstTimestamp",
    last: "lastTimestamp",
    count: "count",
};

const EVENTS: Names = Names {
    regarding: "regarding",
    note: "note",
    controller: "reportingController",
    source: "deprecatedSource",
    first: "deprecatedFirstTimestamp",
    last: "deprecatedLastTimestamp",
    count: "deprecatedCount",
};

/// A new event of core. Its metadata is looked at only by what holds for all objects.
pub(super) fn create_core(found: &mut Found, new: &Value) {
    legacy(found, new, CORE);
}

/// An event of core that replaces another.
pub(super) fn update_core(found: &mut Found, new: &Value, _old: &Value) {
    legacy(found, new, CORE);
}

fn legacy(found: &mut Found, event: &Value, names: Names) {
    let namespace = text(get(event, "metadata"), "namespace");
    let regarding = text(get(event, names.regarding), "namespace");
    let path = Path::new("involvedObject").child("namespace");
    const ELSEWHERE: &str = "does not match event.namespace";
    if !has(event, "eventTime") {
        let fits = if regarding.is_empty() { matches!(namespace, "" | "default") } else { namespace == regarding };
        if !fits {
            found.invalid(path, regarding, ELSEWHERE);
        }
        return;
    }
    if regarding.is_empty() && !matches!(namespace, "default" | "kube-system") {
        found.invalid(path, regarding, ELSEWHERE);
    }
    let (controller, path) = (text(event, names.controller), Path::new(names.controller));
    if controller.is_empty() {
        found.required(&path, "");
    }
    found.complain(&path, controller, names::is_qualified_name(controller));
    for name in ["reportingInstance", "action", "reason"] {
        let word = text(event, name);
        if word.is_empty() {
            found.required(name, "");
        }
        if word.len() > WORD_MAX {
            found.invalid(name, "", format!("can have at most {WORD_MAX} characters"));
        }
    }
    if text(event, names.note).len() > NOTE_MAX {
        found.invalid("message", "", format!("can have at most {NOTE_MAX} characters"));
    }
}

fn series(found: &mut Found, event: &Value) {
    let series = get(event, "series");
    if series.is_null() {
        return;
    }
    if number(series, "count").unwrap_or_default() < 2 {
        found.invalid("series.count", "", "should be at least 2");
    }
    if !has(series, "lastObservedTime") {
        found.required("series.lastObservedTime", "");
    }
}

/// A new event of events.k8s.io.
pub(super) fn create_events(found: &mut Found, new: &Value) {
    legacy(found, new, EVENTS);
    found.metadata(new, true, name_is_dns_subdomain);
    series(found, new);
    if !has(new, "eventTime") {
        found.required("eventTime", "");
    }
    let kind = text(new, "type");
    if !matches!(kind, "Normal" | "Warning") {
        found.invalid("type", "", format!("has invalid value: {kind}"));
    }
    const UNSET: &str = "needs to be unset";
    for (name, shown) in [(EVENTS.first, CORE.first), (EVENTS.last, CORE.last)] {
        if has(new, name) {
            found.invalid(shown, "", UNSET);
        }
    }
    if number(new, EVENTS.count).unwrap_or_default() != 0 {
        found.invalid(CORE.count, "", UNSET);
    }
    let source = get(new, EVENTS.source);
    if ["component", "host"].iter().any(|name| !text(source, name).is_empty()) {
        found.invalid(CORE.source, "", UNSET);
    }
}

/// An event of events.k8s.io that replaces another: only its series may change.
pub(super) fn update_events(found: &mut Found, new: &Value, old: &Value) {
    legacy(found, new, EVENTS);
    found.metadata_update(new, old);
    if !same(get(new, "series"), get(old, "series")) {
        series(found, new);
    }
    let reference = Type::Struct(OBJECT_REFERENCE);
    let path = Path::new(CORE.regarding);
    found.unchanged_struct(&path, reference, get(new, EVENTS.regarding), get(old, EVENTS.regarding));
    let words = |found: &mut Found, name: &str, shown: &str| {
        found.unchanged_text(&Path::new(shown), text(new, name), text(old, name));
    };
    words(found, "reason", "reason");
    words(found, EVENTS.note, CORE.note);
    let path = Path::new(CORE.source);
    found.unchanged_struct(&path, Type::Struct(EVENT_SOURCE), get(new, EVENTS.source), get(old, EVENTS.source));
    for (name, shown) in [(EVENTS.first, CORE.first), (EVENTS.last, CORE.last)] {
        found.unchanged(&Path::new(shown), get(new, name), get(old, name));
    }
    let count = |event| json!(number(event, EVENTS.count).unwrap_or_default());
    found.unchanged(&Path::new(CORE.count), &count(new), &count(old));
    words(found, "reason", "reason");
    words(found, "type", "type");
    found.unchanged(&Path::new("eventTime"), get(new, "eventTime"), get(old, "eventTime"));
    words(found, "action", "action");
    found.unchanged_struct(
        &Path::new("related"),
        Type::Opt(&Type::Struct(OBJECT_REFERENCE)),
        get(new, "related"),
        get(old, "related"),
    );
    words(found, "reportingController", "reportingController");
    words(found, "reportingInstance", "reportingInstance");
}
