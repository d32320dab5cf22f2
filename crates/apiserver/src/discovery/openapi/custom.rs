//! Custom resources: their definition's schema in the form in which it is published.

use serde_json::{Map, Value, json};

use super::components::{meta, reference};
use crate::registry::Served;

/// Adds the components of a custom resource's objects and lists; answers with their names.
pub(super) fn add(served: &Served, schemas: &mut Map<String, Value>) -> (String, String) {
    let reversed: Vec<&str> = served.group.rsplit('.').collect();
    let place = format!("{}.{}", reversed.join("."), served.version);
    let (object, list) = (format!("{place}.{}", served.kind), format!("{place}.{}", served.list_kind()));
    let kind = |kind: &str| json!([{"group": served.group, "version": served.version, "kind": kind}]);

    let given = given(served);
    let mut schema = if given.is_object() { published(&given) } else { json!({}) };
    as_object(&mut schema, "ObjectMeta");
    schema["x-kubernetes-group-version-kind"] = kind(&served.kind);
    schemas.insert(object.clone(), schema);

    let mut lists = json!({
        "type": "object", "required": ["items"],
        "properties": {"items": {"type": "array", "items": reference(&object)}},
        "x-kubernetes-group-version-kind": kind(&served.list_kind()),
    });
    as_object(&mut lists, "ListMeta");
    schemas.insert(list.clone(), lists);
    (object, list)
}

/// The schema of the definition.
fn given(served: &Served) -> Value {
    served.custom.as_ref().map(|custom| custom.definition_schema().clone()).unwrap_or_default()
}

/// What every object and list has beside its own fields.
fn as_object(schema: &mut Value, metadata: &str) {
    schema["type"] = "object".into();
    let (text, metadata) = (json!({"type": "string"}), json!({"allOf": [reference(&meta(metadata))]}));
    if !schema["properties"].is_object() {
        schema["properties"] = json!({});
    }
    for (name, ty, known_by) in
        [("apiVersion", &text, "type"), ("kind", &text, "type"), ("metadata", &metadata, "allOf")]
    {
        let property = &mut schema["properties"][name];
        // Whoever said it already may have described it too.
        if property.get(known_by) != ty.get(known_by) {
            *property = ty.clone();
        }
    }
}

/// A definition's schema as clients get it: numbers or text are spelt out, and objects in objects have their metadata.
fn published(schema: &Value) -> Value {
    let Some(fields) = schema.as_object() else { return schema.clone() };
    let mut all = Map::new();
    for (key, value) in fields {
        let value = match key.as_str() {
            "properties" => match value.as_object() {
                Some(all) => all.iter().map(|(name, of)| (name.clone(), published(of))).collect::<Map<_, _>>().into(),
                None => value.clone(),
            },
            "items" | "additionalProperties" => published(value),
            _ => value.clone(),
        };
        all.insert(key.clone(), value);
    }
    let mut schema = Value::Object(all);
    let says = |key: &str| fields.get(key) == Some(&Value::Bool(true));
    if says("x-kubernetes-int-or-string") {
        number_or_text(&mut schema);
    }
    if says("x-kubernetes-embedded-resource") {
        as_object(&mut schema, "ObjectMeta");
        let mut required = fields.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        for name in ["kind", "apiVersion"] {
            if !required.iter().any(|known| known == name) {
                required.push(name.into());
            }
        }
        schema["required"] = required.into();
    }
    schema
}

/// Says of a schema what `x-kubernetes-int-or-string` means, unless it says so itself.
fn number_or_text(schema: &mut Value) {
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    if schema.get("anyOf") == Some(&either) || schema.pointer("/allOf/0/anyOf") == Some(&either) {
        return;
    }
    if schema.get("anyOf").is_none() {
        schema["anyOf"] = either;
        return;
    }
    let mut all = vec![json!({"anyOf": either})];
    all.extend(schema.get("allOf").and_then(Value::as_array).cloned().unwrap_or_default());
    schema["allOf"] = all.into();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_published_of_a_schema() {
        let text = json!({"type": "string"});
        let cases = [
            (json!({"x-kubernetes-int-or-string": true}), "/anyOf", json!([{"type": "integer"}, {"type": "string"}])),
            (
                json!({"x-kubernetes-int-or-string": true, "anyOf": [{"minimum": 1}]}),
                "/allOf/0/anyOf/1/type",
                json!("string"),
            ),
            (json!({"items": {"x-kubernetes-int-or-string": true}}), "/items/anyOf/0/type", json!("integer")),
            (
                json!({"properties": {"a": {"x-kubernetes-embedded-resource": true}}}),
                "/properties/a/properties/kind",
                text,
            ),
            (
                json!({"x-kubernetes-embedded-resource": true, "required": ["b"]}),
                "/required",
                json!(["b", "kind", "apiVersion"]),
            ),
            (json!({"additionalProperties": true}), "/additionalProperties", json!(true)),
            (json!({"default": {"properties": 1}}), "/default", json!({"properties": 1})),
            (json!({"enum": ["S", "M"]}), "/enum", json!(["S", "M"])),
        ];
        for (schema, at, expected) in cases {
            assert_eq!(published(&schema).pointer(at), Some(&expected), "{schema} {at}");
        }
    }
}
