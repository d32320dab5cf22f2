//! `components.schemas`: the table's types in the form in which upstream publishes them.

use plimsoll_schema::{Field, ListKind, StructType, Table, Type, TypeId};
use serde_json::{Map, Value, json};

use super::facts;

/// What references begin with.
const PREFIX: &str = "#/components/schemas/";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";

/// A group and version, as operations and kinds name it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owner<'a> {
    pub group: &'a str,
    pub version: &'a str,
}

/// The name of a type that every document uses.
pub(super) fn meta(name: &str) -> String {
    format!("{META}{name}")
}

/// A reference to a type.
pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("{PREFIX}{name}")})
}

/// Adds the names of all types that a value refers to.
pub(super) fn references(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value.as_str().and_then(|text| text.strip_prefix(PREFIX))) {
                    ("$ref", Some(name)) => into.push(name.to_owned()),
                    _ => references(value, into),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, into)),
        _ => {}
    }
}

/// The schema of a type of the built-in table, as the document of this group and version has it.
pub(super) fn component(table: &Table, name: &str, owner: Owner<'_>) -> Option<Value> {
    if let Some(known) = facts::component(name) {
        return Some(known.clone());
    }
    let id = table.named(name)?;
    Some(structure(table, id, owner))
}

fn structure(table: &Table, id: TypeId, owner: Owner<'_>) -> Value {
    let ty = table.get(id);
    let mut schema = json!({"type": "object"});
    if !ty.fields.is_empty() {
        let properties: Map<String, Value> =
            ty.fields.iter().map(|f| (f.name.to_string(), property(table, ty, f))).collect();
        schema["properties"] = properties.into();
    }
    let required: Vec<&str> = ty.fields.iter().filter(|f| f.required).map(|f| &*f.name).collect();
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    if ty.atomic {
        schema["x-kubernetes-map-type"] = "atomic".into();
    }
    let kinds = kinds(table, id, owner);
    if !kinds.is_empty() {
        schema["x-kubernetes-group-version-kind"] = kinds.into();
    }
    if let Some(unions) = facts::unions(&ty.name) {
        schema["x-kubernetes-unions"] = unions.clone();
    }
    schema
}

/// The kinds that a type is. One that many groups share is core's and the document's own.
fn kinds(table: &Table, id: TypeId, owner: Owner<'_>) -> Vec<Value> {
    let kind = table.get(id).short_name();
    let mut all: Vec<(&str, &str)> = table
        .groups()
        .iter()
        .filter(|g| table.kind(&g.group, &g.version, kind) == Some(id))
        .map(|g| (g.group.as_str(), g.version.as_str()))
        .collect();
    if all.len() > 1 {
        all.retain(|(group, version)| group.is_empty() || (*group == owner.group && *version == owner.version));
    }
    all.sort_unstable();
    all.into_iter().map(|(group, version)| json!({"group": group, "kind": kind, "version": version})).collect()
}

fn property(table: &Table, ty: &StructType, field: &Field) -> Value {
    if let Some(known) = facts::property(&ty.name, &field.name) {
        return known.clone();
    }
    let mut schema = match named(table, &field.ty) {
        // Siblings of `$ref` would be ignored.
        Some(name) => json!({"allOf": [reference(&name)]}),
        None => expression(table, &field.ty),
    };
    let default = field.default.as_ref().or_else(|| facts::default(&ty.name, &field.name)).cloned();
    if let Some(default) = default.or_else(|| zero(field)) {
        schema["default"] = default;
    }
    if let Some(values) = facts::values(&ty.name, &field.name) {
        let holder = match field.ty {
            Type::List(_) | Type::Wrapped(_) => &mut schema["items"],
            Type::Map(_) => &mut schema["additionalProperties"],
            _ => &mut schema,
        };
        holder["enum"] = values.clone();
    }
    extensions(ty, field, &mut schema);
    schema
}

fn extensions(ty: &StructType, field: &Field, schema: &mut Value) {
    if matches!(field.ty, Type::List(_) | Type::Wrapped(_)) {
        let kind = match field.list {
            ListKind::Map => "map",
            ListKind::Set => "set",
            ListKind::Atomic => "atomic",
        };
        // Upstream says nothing of the items of its lists.
        if !(&*field.name == "items" && ty.short_name().ends_with("List")) {
            schema["x-kubernetes-list-type"] = kind.into();
        }
    }
    if !field.list_keys.is_empty() {
        schema["x-kubernetes-list-map-keys"] = json!(field.list_keys);
    }
    if field.atomic {
        schema["x-kubernetes-map-type"] = "atomic".into();
    }
    let patch = field.patch;
    let words = [(patch.merge, "merge"), (patch.retain_keys, "retainKeys"), (patch.replace, "replace")];
    let strategy: Vec<&str> = words.into_iter().filter(|(on, _)| *on).map(|(_, word)| word).collect();
    if !strategy.is_empty() {
        schema["x-kubernetes-patch-strategy"] = strategy.join(",").into();
    }
    if !field.patch_key.is_empty() {
        schema["x-kubernetes-patch-merge-key"] = (*field.patch_key).into();
    }
}

/// The default of what is always there: the zero value.
fn zero(field: &Field) -> Option<Value> {
    if field.pointer {
        return None;
    }
    if matches!(field.ty, Type::Struct(_)) {
        return Some(json!({}));
    }
    if field.omit_empty || field.omit_zero {
        return None;
    }
    match field.ty {
        Type::String => Some("".into()),
        Type::Bool => Some(false.into()),
        Type::Int32 | Type::Int64 | Type::Double => Some(0.into()),
        _ => None,
    }
}

/// The name of a type that has a component of its own.
fn named(table: &Table, ty: &Type) -> Option<String> {
    Some(match ty {
        Type::Struct(id) => table.get(*id).name.to_string(),
        Type::Quantity => "io.k8s.apimachinery.pkg.api.resource.Quantity".to_owned(),
        Type::IntOrString => "io.k8s.apimachinery.pkg.util.intstr.IntOrString".to_owned(),
        Type::Raw => "io.k8s.apimachinery.pkg.runtime.RawExtension".to_owned(),
        Type::Json => "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON".to_owned(),
        Type::Time => meta("Time"),
        Type::MicroTime => meta("MicroTime"),
        Type::Fields => meta("FieldsV1"),
        _ => return None,
    })
}

fn expression(table: &Table, ty: &Type) -> Value {
    if let Some(name) = named(table, ty) {
        return reference(&name);
    }
    match ty {
        Type::Bool => json!({"type": "boolean"}),
        Type::Int32 => json!({"type": "integer", "format": "int32"}),
        Type::Int64 => json!({"type": "integer", "format": "int64"}),
        Type::Double => json!({"type": "number", "format": "double"}),
        Type::Bytes => json!({"type": "string", "format": "byte"}),
        Type::List(of) | Type::Wrapped(of) => json!({"type": "array", "items": expression(table, of)}),
        Type::Map(of) => json!({"type": "object", "additionalProperties": expression(table, of)}),
        _ => json!({"type": "string"}),
    }
}
