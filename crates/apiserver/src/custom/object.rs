//! One object of a custom resource: read, completed, checked.

use serde_json::{Map, Value};

use super::{CustomResource, check, embedded, lists, prune};
use crate::field::{FieldError, Wrong};
use crate::status::Status;
use crate::validation::path::{Path, get};
use crate::validation::{meta, names};

impl CustomResource {
    /// An object that a client sent: of this kind, its metadata in form, without what the schema does not know. What was dropped is added
    /// to `problems`.
    pub fn decode(&self, mut value: Value, problems: &mut Vec<String>) -> Result<Value, Status> {
        let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
        let (kind, api_version) = (text(&value, "kind"), text(&value, "apiVersion"));
        let ours = format!("{}/{}", self.group, self.version);
        let cannot = |why: String| {
            let (kind, version) = (&self.kind, &self.version);
            Status::bad_request(format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"))
        };
        let mut unknown = Vec::new();
        prune::numbers(&mut value);
        let disowned = crate::codec::disowns(&value);
        if let Some(metadata) = value.get_mut("metadata") {
            let (new, found) = embedded::metadata(metadata.take(), "metadata").map_err(cannot)?;
            *metadata = new;
            if disowned {
                metadata["managedFields"] = Value::Array(Vec::new());
            }
            unknown.extend(found);
        }
        if api_version != ours {
            return Err(Status::bad_request(format!(
                "the API version in the data ({api_version}) does not match the expected API version ({ours})"
            )));
        }
        if kind != self.kind {
            let error = FieldError::invalid("kind", &kind.as_str().into(), format!("must be {}", self.kind));
            return Err(Status::invalid(&self.group, &kind, crate::value::name(&value), &[error]));
        }
        unknown.extend(prune::unknown(&mut value, &self.node, true));
        prune::nulls(&mut value, Some(&self.node));
        let mut inner = Vec::new();
        embedded::coerce(&self.node, &mut value, &Path::new(""), &mut inner)
            .map_err(|error| cannot(error.to_string()))?;
        inner.sort();
        unknown.extend(inner);
        problems.extend(unknown.into_iter().map(|path| format!("unknown field \"{path}\"")));
        Ok(value)
    }

    /// Refuses versions that only a webhook could convert to.
    pub fn convertible(&self) -> Result<(), Status> {
        let Some(stored) = &self.webhook else { return Ok(()) };
        let (group, kind) = (&self.group, &self.kind);
        Err(Status::internal(format!(
            "conversion webhook for {group}/{stored}, Kind={kind} failed: this server calls no conversion webhooks; use {group}/{stored}"
        )))
    }

    /// The version's schema as its definition has it, for the OpenAPI document.
    pub fn definition_schema(&self) -> &Value {
        &self.schema
    }

    /// Drops what the schema does not know and fills in its defaults.
    pub fn prune_and_default(&self, object: &mut Value) {
        prune::unknown(object, &self.node, true);
        prune::nulls(object, Some(&self.node));
        prune::defaults(object, &self.node);
        ensure_metadata(object);
    }

    /// A stored object as this version shows it: the schema may have changed since it was written.
    pub fn read(&self, object: &mut Value) {
        prune::unknown(object, &self.storage, true);
        prune::nulls(object, Some(&self.storage));
        prune::defaults(object, &self.storage);
        if !std::sync::Arc::ptr_eq(&self.node, &self.storage) {
            prune::unknown(object, &self.node, true);
            prune::nulls(object, Some(&self.node));
        }
    }

    /// An object of this version as the stored version keeps it.
    pub fn store(&self, object: &mut Value) {
        if !std::sync::Arc::ptr_eq(&self.node, &self.storage) {
            prune::unknown(object, &self.storage, true);
            prune::nulls(object, Some(&self.storage));
        }
    }

    /// What selectors may ask of a stored object beyond its metadata.
    pub fn selectable_fields(&self, object: &Value) -> Vec<(String, String)> {
        if self.selectable.is_empty() {
            return Vec::new();
        }
        let mut object = object.clone();
        prune::defaults(&mut object, &self.storage);
        let shown = |path: &String| {
            let value = path.split('.').fold(&object, |value, key| get(value, key));
            let text = match value {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => super::number::shown(other),
            };
            (path.clone(), text)
        };
        self.selectable.iter().map(shown).collect()
    }

    /// Whether a field can be selected by.
    pub fn is_selectable(&self, field: &str) -> bool {
        self.selectable.iter().any(|path| path == field)
    }

    /// Makes a new object ready.
    pub fn prepare_create(&self, object: &mut Value) {
        if self.has_status
            && let Some(fields) = object.as_object_mut()
        {
            fields.remove("status");
        }
        object["metadata"]["generation"] = 1.into();
    }

    /// Makes another state ready.
    pub fn prepare_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            let status = new.get("status").cloned();
            let managed = new["metadata"].get("managedFields").cloned();
            let version = new["metadata"].get("resourceVersion").cloned();
            *new = old.clone();
            set(new, "status", status);
            set(&mut new["metadata"], "managedFields", managed);
            set(&mut new["metadata"], "resourceVersion", version);
            return;
        }
        if self.has_status {
            set(new, "status", old.get("status").cloned());
        }
        if without_metadata(new) != without_metadata(old) {
            let generation = old["metadata"]["generation"].as_i64().unwrap_or(0);
            new["metadata"]["generation"] = (generation + 1).into();
        }
    }

    /// What is wrong with a new object.
    pub fn validate_create(&self, object: &Value) -> Vec<FieldError> {
        let rule = names::name_is_dns_subdomain;
        let mut errors = meta::object_meta(get(object, "metadata"), self.namespaced, rule, &Path::new("metadata"));
        errors.extend(check::value(&self.node, object, None, ""));
        errors.extend(self.replicas(object, true));
        errors.extend(embedded::errors(&self.node, object, &Path::new("")));
        errors.extend(lists::twice(&self.node, object, &Path::new("")));
        self.with_rules(errors)
    }

    /// What is wrong with another state.
    pub fn validate_update(&self, subresource: &str, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = meta::object_meta_update(get(new, "metadata"), get(old, "metadata"), &Path::new("metadata"));
        let root = Path::new("");
        if subresource == "status" {
            if let (Some(status), Some(node)) = (new.get("status"), self.node.properties.get("status")) {
                errors.extend(check::value(node, status, old.get("status"), "status"));
            }
            errors.extend(self.replicas(new, false));
        } else {
            errors.extend(check::value(&self.node, new, Some(old), ""));
            errors.extend(self.replicas(new, true));
            errors.extend(embedded::errors(&self.node, new, &root));
        }
        let twice = lists::twice(&self.node, new, &root);
        if !twice.is_empty() && lists::twice(&self.node, old, &root).is_empty() {
            errors.extend(twice);
        }
        self.with_rules(errors)
    }

    /// Rules in CEL are not looked at where the object is broken otherwise; upstream says so.
    fn with_rules(&self, mut errors: Vec<FieldError>) -> Vec<FieldError> {
        let blocks = |error: &FieldError| {
            matches!(
                error.wrong,
                Wrong::NotSupported | Wrong::Required | Wrong::TooLong | Wrong::TooMany | Wrong::TypeInvalid
            )
        };
        if self.node.has_rules && errors.iter().any(blocks) {
            let why = "some validation rules were not checked because the object was invalid; correct the existing errors to complete \
                       validation";
            errors.push(FieldError::invalid("<nil>", &Value::Null, why));
        }
        errors
    }

    /// Finalizers that could be anybody's.
    pub fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        let finalizers = |object: &Value| {
            let list = object["metadata"]["finalizers"].as_array().map(Vec::as_slice).unwrap_or_default();
            list.iter().filter_map(Value::as_str).map(str::to_owned).collect::<std::collections::BTreeSet<_>>()
        };
        let had = old.map(finalizers).unwrap_or_default();
        let mut out = Vec::new();
        for name in finalizers(new).difference(&had) {
            let quoted = crate::field::go_quoted(name);
            out.extend(
                names::is_qualified_name(name).into_iter().map(|why| format!("metadata.finalizers: {quoted}: {why}")),
            );
            if name.contains('/') || matches!(name.as_str(), "orphan" | "foregroundDeletion" | "kubernetes") {
                continue;
            }
            let what = if name.contains('.') { "finalizer name including a path (/)" } else { "finalizer name" };
            out.push(format!(
                "metadata.finalizers: {quoted}: prefer a domain-qualified {what} to avoid accidental conflicts with other finalizer writers"
            ));
        }
        out
    }

    fn replicas(&self, object: &Value, with_spec: bool) -> Vec<FieldError> {
        let Some(scale) = &self.scale else { return Vec::new() };
        let mut errors = Vec::new();
        if with_spec {
            errors.extend(count(object, &scale.spec_replicas));
        }
        errors.extend(count(object, &scale.status_replicas));
        if let Some(path) = &scale.label_selector {
            match nested(object, path) {
                Ok(Some(Value::String(_)) | None) => {}
                Ok(Some(other)) => errors.push(FieldError::invalid(path, &"".into(), accessor(path, other, "string"))),
                Err(why) => errors.push(FieldError::invalid(path, &"".into(), why)),
            }
        }
        errors
    }
}

fn ensure_metadata(object: &mut Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    }
}

fn set(object: &mut Value, field: &str, value: Option<Value>) {
    let Some(fields) = object.as_object_mut() else { return };
    match value {
        Some(value) => fields.insert(field.into(), value),
        None => fields.remove(field),
    };
}

fn without_metadata(object: &Value) -> Vec<(&String, &Value)> {
    object.as_object().into_iter().flatten().filter(|(key, _)| *key != "metadata").collect()
}

/// The number of replicas at a path must be one.
fn count(object: &Value, path: &str) -> Option<FieldError> {
    let invalid = |value: i64, why: String| Some(FieldError::invalid(path, &value.into(), why));
    match nested(object, path) {
        Err(why) => invalid(0, why),
        Ok(None) => None,
        Ok(Some(found)) => match found.as_i64() {
            None => invalid(0, accessor(path, found, "int64")),
            Some(number) if number < 0 => invalid(number, "should be a non-negative integer".into()),
            Some(number) if number > i64::from(i32::MAX) => {
                invalid(number, format!("should be less than or equal to {}", i32::MAX))
            }
            Some(_) => None,
        },
    }
}

/// The value at a path such as `.spec.replicas`.
fn nested<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let mut here = object;
    let mut way = String::new();
    for key in path.trim_start_matches('.').split('.') {
        match here {
            Value::Null => return Ok(None),
            Value::Object(fields) => match fields.get(key) {
                Some(value) => here = value,
                None => return Ok(None),
            },
            other => {
                way.push('.');
                way.push_str(key);
                return Err(accessor(&way, other, "map[string]interface{}"));
            }
        }
        way.push('.');
        way.push_str(key);
    }
    Ok(Some(here))
}

fn accessor(path: &str, found: &Value, expected: &str) -> String {
    let path = if path.starts_with('.') { path.to_owned() } else { format!(".{path}") };
    let (shown, kind) = match found {
        Value::Null => ("<nil>".to_owned(), "<nil>"),
        Value::Bool(b) => (b.to_string(), "bool"),
        Value::String(text) => (text.clone(), "string"),
        Value::Number(n) if n.is_i64() => (n.to_string(), "int64"),
        Value::Number(_) => (super::number::shown(found), "float64"),
        Value::Array(_) => (go_plain(found), "[]interface {}"),
        Value::Object(_) => (go_plain(found), "map[string]interface {}"),
    };
    format!("{path} accessor error: {shown} is of the type {kind}, expected {expected}")
}

/// A value as Go's `%v` shows it.
fn go_plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(go_plain).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let pairs: Vec<String> = fields.iter().map(|(key, value)| format!("{key}:{}", go_plain(value))).collect();
            format!("map[{}]", pairs.join(" "))
        }
        other => super::number::shown(other),
    }
}
