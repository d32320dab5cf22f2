//! Whole objects inside an object: their kind and metadata are those of any object.

use plimsoll_schema::decode::{self, Report};
use plimsoll_schema::{Schema, Table, Type};
use serde_json::Value;

use super::number;
use super::schema::Node;
use crate::field::{FieldError, Wrong};
use crate::validation::names;
use crate::validation::path::Path;

/// Metadata as Kubernetes' own types would leave it, and the paths of what they do not know.
pub(super) fn metadata(value: Value, prefix: &str) -> Result<(Value, Vec<String>), String> {
    let table = Table::builtin();
    let Some(id) = table.named("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta") else {
        return Ok((value, Vec::new()));
    };
    let ty = Type::Struct(id);
    let mut report = Report::default();
    let value = decode::canonical(Schema::new(&table, &ty), value, &mut report).map_err(|error| error.to_string())?;
    let path = |problem: &String| {
        let inner = problem.strip_prefix("unknown field \"")?.strip_suffix('"')?;
        Some(format!("{prefix}.{inner}"))
    };
    Ok((value, report.problems.iter().filter_map(path).collect()))
}

/// Brings the metadata of embedded objects into form. The error is that of the first that cannot be read.
pub(super) fn coerce(node: &Node, value: &mut Value, path: &Path, unknown: &mut Vec<String>) -> Result<(), FieldError> {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                if node.embedded {
                    match key.as_str() {
                        "apiVersion" | "kind" if !value.is_string() => {
                            return Err(invalid(&path.child(key), value, "must be a string"));
                        }
                        "metadata" => {
                            let place = path.child("metadata");
                            let (new, found) =
                                metadata(value.clone(), place.as_str()).map_err(|why| invalid(&place, value, &why))?;
                            *value = new;
                            unknown.extend(found);
                        }
                        _ => {}
                    }
                }
                if let Some(inner) = node.properties.get(key) {
                    coerce(inner, value, &path.child(key), unknown)?;
                } else if let Some(inner) = node.others() {
                    coerce(inner, value, &path.key(key), unknown)?;
                }
            }
        }
        Value::Array(items) => {
            let Some(inner) = node.items.as_deref() else { return Ok(()) };
            for (i, item) in items.iter_mut().enumerate() {
                coerce(inner, item, &path.index(i), unknown)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn invalid(path: &Path, value: &Value, why: &str) -> FieldError {
    FieldError { value: number::shown(value), ..FieldError::new(Wrong::Invalid, path.as_str(), &Value::Null, why) }
}

/// What is wrong with embedded objects.
pub(super) fn errors(node: &Node, value: &Value, path: &Path) -> Vec<FieldError> {
    let mut out = Vec::new();
    match value {
        Value::Object(fields) => {
            if node.embedded {
                out.extend(object(value, path));
            }
            for (key, value) in fields {
                if let Some(inner) = node.properties.get(key) {
                    out.extend(errors(inner, value, &path.child(key)));
                } else if let Some(inner) = node.others() {
                    out.extend(errors(inner, value, &path.key(key)));
                }
            }
        }
        Value::Array(items) => {
            if let Some(inner) = node.items.as_deref() {
                for (i, item) in items.iter().enumerate() {
                    out.extend(errors(inner, item, &path.index(i)));
                }
            }
        }
        _ => {}
    }
    out
}

fn object(value: &Value, path: &Path) -> Vec<FieldError> {
    let mut out = Vec::new();
    for field in ["apiVersion", "kind"] {
        if value.get(field).is_none() {
            out.push(FieldError::required(path.child(field).as_str(), ""));
        }
    }
    for (field, value) in value.as_object().into_iter().flatten() {
        let place = path.child(field);
        match (field.as_str(), value.as_str()) {
            ("apiVersion" | "kind", None) => out.push(invalid(&place, value, "must be a string")),
            ("apiVersion" | "kind", Some("")) => out.push(invalid(&place, value, "must not be empty")),
            ("apiVersion", Some(text)) if text.matches('/').count() > 1 => {
                out.push(invalid(&place, value, &format!("unexpected GroupVersion string: {text}")));
            }
            ("kind", Some(text)) => {
                let wrong = names::is_dns1035_label(&text.to_lowercase());
                if !wrong.is_empty() {
                    let why = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
                    out.push(invalid(&place, value, &why));
                }
            }
            ("metadata", _) => match metadata(value.clone(), place.as_str()) {
                Err(why) => out.push(invalid(&place, value, &why)),
                Ok((mut metadata, _)) => {
                    if metadata["name"].as_str().unwrap_or_default().is_empty() {
                        metadata["name"] = "fakename".into();
                    }
                    let namespaced = metadata["namespace"].as_str().is_some_and(|n| !n.is_empty());
                    let rule = names::name_is_path_segment;
                    out.extend(crate::validation::meta::object_meta(&metadata, namespaced, rule, &place));
                }
            },
            _ => {}
        }
    }
    out
}
