//! Selectors of labels and of nodes.

use serde_json::Value;

use crate::field::FieldError;
use crate::validation::found::Found;
use crate::validation::meta;
use crate::validation::names;
use crate::validation::path::{Path, entries, list, text, texts};

/// The published type of label selectors, for sentences that show one.
pub const LABEL_SELECTOR: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector";

/// A label selector (null is accepted). `lenient` takes values that are no label values, where they were there before.
pub fn label_selector(selector: &Value, lenient: bool, path: &Path) -> Vec<FieldError> {
    let mut out = Found::new();
    out.extend(meta::labels(selector, "matchLabels", &path.child("matchLabels")));
    for (i, wanted) in list(selector, "matchExpressions").iter().enumerate() {
        out.extend(label_requirement(wanted, lenient, &path.child("matchExpressions").index(i)));
    }
    out.into_errors()
}

/// One expression of a label selector.
pub fn label_requirement(wanted: &Value, lenient: bool, path: &Path) -> Vec<FieldError> {
    let mut out = Found::new();
    let values = texts(wanted, "values");
    match text(wanted, "operator") {
        "In" | "NotIn" if values.is_empty() => {
            out.required(&path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'");
        }
        "In" | "NotIn" => {}
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            out.forbidden(&path.child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        }
        "Exists" | "DoesNotExist" => {}
        other => out.invalid(&path.child("operator"), other, "not a valid selector operator"),
    }
    out.extend(meta::label_name(text(wanted, "key"), &path.child("key")));
    if !lenient {
        for (i, value) in values.iter().enumerate() {
            out.said(&path.child("values").index(i), value, names::is_label_value(value));
        }
    }
    out.into_errors()
}

/// Whether an expression of the selector has a value that is no label value.
pub fn has_invalid_value(selector: &Value) -> bool {
    list(selector, "matchExpressions")
        .iter()
        .flat_map(|wanted| texts(wanted, "values"))
        .any(|value| !names::is_label_value(value).is_empty())
}

/// What became of making a label selector usable.
pub enum Compiled<'a> {
    /// There was none: it selects nothing.
    Nothing,
    /// It is empty: it selects all.
    Everything,
    /// It can be asked.
    Some(&'a Value),
    /// It cannot be used.
    Broken,
}

/// Makes a label selector usable, where that is possible.
pub fn compile(selector: &Value) -> Compiled<'_> {
    if selector.is_null() {
        return Compiled::Nothing;
    }
    let mut empty = true;
    for (key, value) in entries(selector, "matchLabels") {
        empty = false;
        let value = value.as_str().unwrap_or_default();
        if !names::is_qualified_name(key).is_empty() || !names::is_label_value(value).is_empty() {
            return Compiled::Broken;
        }
    }
    for wanted in list(selector, "matchExpressions") {
        empty = false;
        if !label_requirement_reads(wanted) {
            return Compiled::Broken;
        }
    }
    if empty { Compiled::Everything } else { Compiled::Some(selector) }
}

/// Whether a requirement of labels can be used.
pub fn label_requirement_reads(wanted: &Value) -> bool {
    let values = texts(wanted, "values");
    let fits = match text(wanted, "operator") {
        "In" | "NotIn" => !values.is_empty(),
        "Exists" | "DoesNotExist" => values.is_empty(),
        _ => false,
    };
    let sound = values.iter().all(|value| names::is_label_value(value).is_empty());
    fits && sound && names::is_qualified_name(text(wanted, "key")).is_empty()
}

/// Whether a selector that can be used takes these labels (a map, or null).
pub fn matches(selector: &Value, labels: &Value) -> bool {
    let label = |key: &str| labels.get(key).and_then(Value::as_str);
    entries(selector, "matchLabels").all(|(key, value)| label(key) == value.as_str())
        && list(selector, "matchExpressions").iter().all(|wanted| {
            let has = label(text(wanted, "key"));
            let values = texts(wanted, "values");
            match text(wanted, "operator") {
                "In" => has.is_some_and(|has| values.contains(&has)),
                "NotIn" => has.is_none_or(|has| !values.contains(&has)),
                "Exists" => has.is_some(),
                "DoesNotExist" => has.is_none(),
                _ => false,
            }
        })
}

/// A node selector: terms that are or'ed.
pub fn node_selector(selector: &Value, lenient: bool, path: &Path) -> Vec<FieldError> {
    let mut out = Found::new();
    let path = path.child("nodeSelectorTerms");
    let terms = list(selector, "nodeSelectorTerms");
    if terms.is_empty() {
        out.required(&path, "must have at least one node selector term");
    }
    for (i, term) in terms.iter().enumerate() {
        out.extend(node_selector_term(term, lenient, &path.index(i)));
    }
    out.into_errors()
}

/// One term of a node selector.
pub fn node_selector_term(term: &Value, lenient: bool, path: &Path) -> Vec<FieldError> {
    let mut out = Found::new();
    for (i, wanted) in list(term, "matchExpressions").iter().enumerate() {
        node_requirement(&mut out, wanted, lenient, &path.child("matchExpressions").index(i));
    }
    for (i, wanted) in list(term, "matchFields").iter().enumerate() {
        node_field_requirement(&mut out, wanted, &path.child("matchFields").index(i));
    }
    out.into_errors()
}

fn node_requirement(out: &mut Found, wanted: &Value, lenient: bool, path: &Path) {
    let values = texts(wanted, "values");
    match text(wanted, "operator") {
        "In" | "NotIn" => {
            if values.is_empty() {
                out.required(&path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'");
            }
        }
        "Exists" | "DoesNotExist" => {
            if !values.is_empty() {
                let said = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                out.forbidden(&path.child("values"), said);
            }
        }
        "Gt" | "Lt" => {
            if values.len() != 1 {
                let said = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                out.required(&path.child("values"), said);
            }
        }
        other => out.invalid(&path.child("operator"), other, "not a valid selector operator"),
    }
    out.extend(meta::label_name(text(wanted, "key"), &path.child("key")));
    if !lenient {
        for (i, value) in values.iter().enumerate() {
            out.said(&path.child("values").index(i), value, names::is_label_value(value));
        }
    }
}

fn node_field_requirement(out: &mut Found, wanted: &Value, path: &Path) {
    let values = texts(wanted, "values");
    match text(wanted, "operator") {
        "In" | "NotIn" => {
            if values.len() != 1 {
                let said = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                out.required(&path.child("values"), said);
            }
        }
        other => out.invalid(&path.child("operator"), other, "not a valid selector operator"),
    }
    let key = text(wanted, "key");
    if key != "metadata.name" {
        out.invalid(&path.child("key"), key, "not a valid field selector key");
        return;
    }
    for (i, value) in values.iter().enumerate() {
        out.said(&path.child("values").index(i), value, names::is_dns1123_subdomain(value));
    }
}
