//! Selectors of labels and of nodes.

use serde_json::Value;

use crate::field::FieldError;
use crate::validation::meta;
use crate::validation::names;
use crate::validation::path::{Path, get, list, str_value, text, texts};

/// A label selector; nothing is wrong with an absent one.
pub(super) fn label_selector(selector: &Value, invalid_values: bool, path: &Path) -> Vec<FieldError> {
    let mut out = meta::labels(selector, "matchLabels", &path.child("matchLabels"));
    for (i, requirement) in list(selector, "matchExpressions").iter().enumerate() {
        let path = path.child("matchExpressions").index(i);
        let values = list(requirement, "values");
        match text(requirement, "operator") {
            "In" | "NotIn" if values.is_empty() => {
                let said = "must be specified when `operator` is 'In' or 'NotIn'";
                out.push(FieldError::required(path.child("values"), said));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let said = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                out.push(FieldError::forbidden(path.child("values"), said));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => {
                let said = "not a valid selector operator";
                out.push(FieldError::invalid(path.child("operator"), &str_value(other), said));
            }
        }
        out.extend(meta::label_name(text(requirement, "key"), &path.child("key")));
        if !invalid_values {
            out.extend(label_values(requirement, &path));
        }
    }
    out
}

fn label_values(requirement: &Value, path: &Path) -> Vec<FieldError> {
    let mut out = Vec::new();
    for (i, value) in texts(requirement, "values").into_iter().enumerate() {
        for complaint in names::is_label_value(value) {
            out.push(FieldError::invalid(path.child("values").index(i), &str_value(value), complaint));
        }
    }
    out
}

/// A node selector.
pub(super) fn node_selector(selector: &Value, invalid_values: bool, path: &Path) -> Vec<FieldError> {
    let (terms, path) = (list(selector, "nodeSelectorTerms"), path.child("nodeSelectorTerms"));
    if terms.is_empty() {
        return vec![FieldError::required(&path, "must have at least one node selector term")];
    }
    let mut out = Vec::new();
    for (i, term) in terms.iter().enumerate() {
        let path = path.index(i);
        for (j, requirement) in list(term, "matchExpressions").iter().enumerate() {
            out.extend(node_requirement(requirement, invalid_values, &path.child("matchExpressions").index(j)));
        }
        for (j, requirement) in list(term, "matchFields").iter().enumerate() {
            out.extend(node_field(requirement, &path.child("matchFields").index(j)));
        }
    }
    out
}

fn bad_operator(requirement: &Value, path: &Path) -> FieldError {
    let operator = str_value(text(requirement, "operator"));
    FieldError::invalid(path.child("operator"), &operator, "not a valid selector operator")
}

fn node_requirement(requirement: &Value, invalid_values: bool, path: &Path) -> Vec<FieldError> {
    let mut out = Vec::new();
    let (count, field) = (list(requirement, "values").len(), path.child("values"));
    match text(requirement, "operator") {
        "In" | "NotIn" if count == 0 => {
            out.push(FieldError::required(field, "must be specified when `operator` is 'In' or 'NotIn'"));
        }
        "Exists" | "DoesNotExist" if count > 0 => {
            let said = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            out.push(FieldError::forbidden(field, said));
        }
        "Gt" | "Lt" if count != 1 => {
            let said = "must be specified single value when `operator` is 'Lt' or 'Gt'";
            out.push(FieldError::required(field, said));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        _ => out.push(bad_operator(requirement, path)),
    }
    out.extend(meta::label_name(text(requirement, "key"), &path.child("key")));
    if !invalid_values {
        out.extend(label_values(requirement, path));
    }
    out
}

fn node_field(requirement: &Value, path: &Path) -> Vec<FieldError> {
    let mut out = Vec::new();
    match text(requirement, "operator") {
        "In" | "NotIn" => {
            if list(requirement, "values").len() != 1 {
                let said = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                out.push(FieldError::required(path.child("values"), said));
            }
        }
        _ => out.push(bad_operator(requirement, path)),
    }
    let key = text(requirement, "key");
    if key == "metadata.name" {
        for (i, value) in texts(requirement, "values").into_iter().enumerate() {
            for complaint in names::is_dns1123_subdomain(value) {
                out.push(FieldError::invalid(path.child("values").index(i), &str_value(value), complaint));
            }
        }
    } else {
        out.push(FieldError::invalid(path.child("key"), &str_value(key), "not a valid field selector key"));
    }
    out
}

/// Whether some term of a node selector asks for a label value that no label can have.
pub(super) fn has_invalid_label_value(terms: &Value) -> bool {
    let requirements = |term| list(term, "matchExpressions").iter();
    terms
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(requirements)
        .any(|requirement| get(requirement, "values").is_array() && !label_values(requirement, &Path::new("")).is_empty())
}
