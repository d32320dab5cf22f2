//! A version's schema as the OpenAPI document shows it.

use serde_json::{Map, Value, json};

use super::CustomResource;

const API_VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized \
    schemas to the latest internal value, and may reject unrecognized values. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer this from the \
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const METADATA: &str = "Standard object's metadata. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
const META_REF: &str = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

impl CustomResource {
    /// The schema of an object in OpenAPI v3: the definition's own, with the fields that every object has.
    pub fn openapi_schema(&self) -> Value {
        let mut schema = match &self.schema {
            Value::Object(fields) => Value::Object(fields.clone()),
            _ => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        };
        embed(&mut schema);
        add_meta(&mut schema);
        schema["x-kubernetes-group-version-kind"] =
            json!([{"group": self.group, "kind": self.kind, "version": self.version}]);
        schema
    }
}

/// What every object has.
fn add_meta(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    let properties = fields.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    let Some(properties) = properties.as_object_mut() else { return };
    properties.insert("apiVersion".into(), json!({"type": "string", "description": API_VERSION}));
    properties.insert("kind".into(), json!({"type": "string", "description": KIND}));
    properties.insert("metadata".into(), json!({"description": METADATA, "allOf": [{"$ref": META_REF}]}));
}

/// Whole objects inside have the same.
fn embed(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    for (name, value) in fields.iter_mut() {
        match (name.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for inner in properties.values_mut() {
                    embed_one(inner);
                }
            }
            ("items" | "additionalProperties", inner @ Value::Object(_)) => embed_one(inner),
            _ => {}
        }
    }
}

fn embed_one(schema: &mut Value) {
    embed(schema);
    if schema["x-kubernetes-embedded-resource"] == true {
        add_meta(schema);
        let required = &mut schema["required"];
        let mut names: Vec<Value> = required.as_array().cloned().unwrap_or_default();
        for name in ["kind", "apiVersion"] {
            if !names.iter().any(|known| known == name) {
                names.push(name.into());
            }
        }
        *required = Value::Array(names);
    }
}
