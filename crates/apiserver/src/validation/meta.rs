//! What every object has: its metadata.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::field::{FieldError, Wrong, go_quoted};
use crate::validation::names::{self, NameRule};
use crate::validation::path::{Path, entries, flag, get, has, list, number, same, str_value, text, texts};
use crate::validation::shown::{self, go_json};

/// All annotations of an object together, keys and values.
const ANNOTATIONS_MAX: usize = 256 * 1024;
/// The longest name of a field manager.
const MANAGER_MAX: usize = 128;
/// The longest name of a subresource in managed fields.
const SUBRESOURCE_MAX: usize = 256;

/// `field is immutable`, where the field has changed.
pub fn immutable(new: &Value, old: &Value, path: &Path) -> Option<FieldError> {
    (!same(new, old)).then(|| FieldError::invalid(path, new, "field is immutable"))
}

/// `must be greater than or equal to 0`, where it is not.
pub fn non_negative(value: Option<i64>, path: &Path) -> Option<FieldError> {
    let value = value.filter(|value| *value < 0)?;
    Some(FieldError::invalid(path, &Value::from(value), "must be greater than or equal to 0"))
}

/// `Too long`, in bytes.
pub fn too_long(path: &Path, max: usize) -> FieldError {
    let unit = if max == 1 { "byte" } else { "bytes" };
    FieldError::new(Wrong::TooLong, path, &Value::Null, format!("may not be more than {max} {unit}"))
}

/// The metadata of a new object (`metadata` is the struct itself). Name generation has been done before.
pub fn object_meta(metadata: &Value, namespaced: bool, rule: NameRule, path: &Path) -> Vec<FieldError> {
    let mut out = Vec::new();
    let generate = text(metadata, "generateName");
    if !generate.is_empty() {
        let field = path.child("generateName");
        out.extend(rule(generate, true).into_iter().map(|m| FieldError::invalid(&field, &str_value(generate), m)));
    }
    let name = text(metadata, "name");
    let field = path.child("name");
    if name.is_empty() {
        out.push(FieldError::required(&field, "name or generateName is required"));
    } else {
        out.extend(rule(name, false).into_iter().map(|m| FieldError::invalid(&field, &str_value(name), m)));
    }
    let namespace = text(metadata, "namespace");
    let field = path.child("namespace");
    match (namespaced, namespace.is_empty()) {
        (true, true) => out.push(FieldError::required(&field, "")),
        (true, false) => {
            let said = names::name_is_dns_label(namespace, false);
            out.extend(said.into_iter().map(|m| FieldError::invalid(&field, &str_value(namespace), m)));
        }
        (false, false) => out.push(FieldError::forbidden(&field, "not allowed on this type")),
        (false, true) => {}
    }
    out.extend(non_negative(number(metadata, "generation"), &path.child("generation")));
    out.extend(labels(metadata, "labels", &path.child("labels")));
    out.extend(annotations(metadata, &path.child("annotations")));
    out.extend(owner_references(metadata, &path.child("ownerReferences")));
    out.extend(finalizers(metadata, &path.child("finalizers")));
    out.extend(managed_fields(metadata, &path.child("managedFields")));
    out
}

/// The metadata of an object that replaces another.
pub fn object_meta_update(new: &Value, old: &Value, path: &Path) -> Vec<FieldError> {
    let mut out = Vec::new();
    if has(old, "deletionTimestamp") {
        out.extend(no_new_finalizers(&texts(new, "finalizers"), &texts(old, "finalizers"), &path.child("finalizers")));
    }
    if text(new, "resourceVersion").is_empty() {
        let field = path.child("resourceVersion");
        out.push(FieldError::invalid(field, &str_value(""), "must be specified for an update"));
    }
    let field = path.child("generation");
    let generation = number(new, "generation").unwrap_or_default();
    out.extend(non_negative(Some(generation), &field));
    if generation < number(old, "generation").unwrap_or_default() {
        out.push(FieldError::invalid(field, &Value::from(generation), "must not be decremented"));
    }
    for name in ["name", "namespace", "uid"] {
        let (new, old) = (text(new, name), text(old, name));
        out.extend(immutable(&str_value(new), &str_value(old), &path.child(name)));
    }
    for name in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        out.extend(immutable(get(new, name), get(old, name), &path.child(name)));
    }
    out.extend(labels(new, "labels", &path.child("labels")));
    out.extend(annotations(new, &path.child("annotations")));
    out.extend(owner_references(new, &path.child("ownerReferences")));
    out.extend(managed_fields(new, &path.child("managedFields")));
    out
}

/// The key of a label.
pub fn label_name(name: &str, path: &Path) -> Vec<FieldError> {
    names::is_qualified_name(name).into_iter().map(|m| FieldError::invalid(path, &str_value(name), m)).collect()
}

/// A map of labels: the field `name` of `object`.
pub fn labels(object: &Value, name: &str, path: &Path) -> Vec<FieldError> {
    let mut out = Vec::new();
    for (key, value) in entries(object, name) {
        out.extend(label_name(key, path));
        let value = value.as_str().unwrap_or_default();
        out.extend(names::is_label_value(value).into_iter().map(|m| FieldError::invalid(path, &str_value(value), m)));
    }
    out
}

/// The annotations in some metadata.
pub fn annotations(metadata: &Value, path: &Path) -> Vec<FieldError> {
    let mut out = Vec::new();
    let mut size = 0;
    for (key, value) in entries(metadata, "annotations") {
        size += key.len() + value.as_str().map(str::len).unwrap_or_default();
        let said = names::is_qualified_name(&key.to_lowercase());
        out.extend(said.into_iter().map(|m| FieldError::invalid(path, &str_value(key), m)));
    }
    if size > ANNOTATIONS_MAX {
        out.push(too_long(path, ANNOTATIONS_MAX));
    }
    out
}

fn owner_references(metadata: &Value, path: &Path) -> Vec<FieldError> {
    const ORDER: &[&str] = &["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let mut out = Vec::new();
    let mut controller: Option<String> = None;
    for (i, owner) in list(metadata, "ownerReferences").iter().enumerate() {
        let field = path.index(i);
        let version = text(owner, "apiVersion");
        let parsed = group_version(version);
        if version.is_empty() {
            out.push(FieldError::required(field.child("apiVersion"), "must not be empty"));
        } else if parsed.is_none_or(|(_, version)| version.is_empty()) {
            let said = "must be <group>/<version> or <version>";
            out.push(FieldError::invalid(field.child("apiVersion"), &str_value(version), said));
        }
        for name in ["kind", "name", "uid"] {
            if text(owner, name).is_empty() {
                out.push(FieldError::required(field.child(name), "must not be empty"));
            }
        }
        if parsed == Some(("", "v1")) && text(owner, "kind") == "Event" {
            let said = "/v1, Kind=Event is disallowed from being an owner";
            out.push(shown::invalid(&field, shown::ordered(owner, ORDER), said));
        }
        if flag(owner, "controller") {
            let this = format!("{}/{}", text(owner, "kind"), text(owner, "name"));
            match &controller {
                Some(first) => {
                    let all: Vec<String> =
                        list(metadata, "ownerReferences").iter().map(|owner| shown::ordered(owner, ORDER)).collect();
                    let said = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                    );
                    out.push(shown::invalid(path, format!("[{}]", all.join(",")), said));
                }
                None => controller = Some(this),
            }
        }
    }
    out
}

/// Group and version; none where there are too many slashes.
fn group_version(text: &str) -> Option<(&str, &str)> {
    match text.split_once('/') {
        None => Some(("", text)),
        Some(("", "")) => Some(("", "")),
        Some((_, version)) if version.contains('/') => None,
        Some(parts) => Some(parts),
    }
}

fn finalizers(metadata: &Value, path: &Path) -> Vec<FieldError> {
    let all = texts(metadata, "finalizers");
    let mut out = Vec::new();
    for name in &all {
        out.extend(finalizer_name(name, path));
    }
    if all.contains(&"orphan") && all.contains(&"foregroundDeletion") {
        let said = "finalizer orphan and foregroundDeletion cannot be both set";
        out.push(shown::invalid(path, go_json(get(metadata, "finalizers")), said));
    }
    out
}

/// The name of a finalizer.
pub fn finalizer_name(name: &str, path: &Path) -> Vec<FieldError> {
    names::is_qualified_name(name).into_iter().map(|m| FieldError::invalid(path, &str_value(name), m)).collect()
}

fn no_new_finalizers(new: &[&str], old: &[&str], path: &Path) -> Option<FieldError> {
    let extra: BTreeSet<&str> = new.iter().filter(|name| !old.contains(name)).copied().collect();
    if extra.is_empty() {
        return None;
    }
    let extra: Vec<String> = extra.into_iter().map(go_quoted).collect();
    let said = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
        extra.join(", ")
    );
    Some(FieldError::forbidden(path, said))
}

/// Who manages which fields, in some metadata.
pub fn managed_fields(metadata: &Value, path: &Path) -> Vec<FieldError> {
    let mut out = Vec::new();
    for (i, entry) in list(metadata, "managedFields").iter().enumerate() {
        let field = path.index(i);
        match text(entry, "operation") {
            "" => out.push(FieldError::required(field.child("operation"), "must not be empty")),
            "Apply" | "Update" => {}
            _ => out.push(FieldError::not_supported(
                field.child("operation"),
                get(entry, "operation"),
                &["Apply", "Update"],
            )),
        }
        let kind = text(entry, "fieldsType");
        if !kind.is_empty() && kind != "FieldsV1" {
            out.push(FieldError::invalid(field.child("fieldsType"), &str_value(kind), "must be `FieldsV1`"));
        }
        out.extend(field_manager(text(entry, "manager"), &field.child("manager")));
        if text(entry, "subresource").len() > SUBRESOURCE_MAX {
            out.push(too_long(&field.child("subresource"), SUBRESOURCE_MAX));
        }
    }
    out
}

/// The name of a field manager, in managed fields or in a request's options.
pub fn field_manager(name: &str, path: &Path) -> Vec<FieldError> {
    let mut out = Vec::new();
    if name.len() > MANAGER_MAX {
        out.push(too_long(path, MANAGER_MAX));
    }
    for (at, c) in name.char_indices().filter(|(_, c)| !is_printable(*c)) {
        let said = format!("invalid character U+{:04X} (at position {at})", c as u32);
        out.push(FieldError::invalid(path, &str_value(name), said));
    }
    out
}

/// Whether Go prints the character: letters, marks, numbers, punctuation, symbols and the plain blank.
fn is_printable(c: char) -> bool {
    let hidden = matches!(c as u32, 0xad | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff | 0xe000..=0xf8ff | 0xfff9..=0xfffb | 0xe0000..=0xe0fff | 0xf0000..);
    c == ' ' || !(c.is_control() || c.is_whitespace() || hidden)
}

/// [`object_meta`], and that finalizers without a domain are ones that Kubernetes knows: how most built-in kinds are checked.
pub fn builtin_meta(metadata: &Value, namespaced: bool, rule: NameRule, path: &Path) -> Vec<FieldError> {
    let mut out = object_meta(metadata, namespaced, rule, path);
    out.extend(known_finalizers(metadata, path));
    out
}

/// [`object_meta_update`], and that finalizers without a domain are ones that Kubernetes knows.
pub fn builtin_meta_update(new: &Value, old: &Value, path: &Path) -> Vec<FieldError> {
    let mut out = object_meta_update(new, old, path);
    out.extend(known_finalizers(new, path));
    out
}

fn known_finalizers(metadata: &Value, path: &Path) -> Vec<FieldError> {
    let mut out = Vec::new();
    for (i, name) in texts(metadata, "finalizers").into_iter().enumerate() {
        out.extend(kube_finalizer_name(name, &path.child("finalizers").index(i)));
    }
    out
}

/// A finalizer without a domain is one of Kubernetes' own.
pub fn kube_finalizer_name(name: &str, path: &Path) -> Option<FieldError> {
    if name.contains('/') || matches!(name, "kubernetes" | "orphan" | "foregroundDeletion") {
        return None;
    }
    let said = "name is neither a standard finalizer name nor is it fully qualified";
    Some(FieldError::invalid(path, &str_value(name), said))
}
