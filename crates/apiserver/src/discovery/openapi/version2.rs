//! The older document, of which kubectl needs the definitions: it checks the objects of a `v1` List against them before it sends them.
//!
//! Its paths are left out: whoever reads those reads version 3.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The type under which it is sent as protobuf.
pub(super) const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/// The types under which clients ask for it.
pub(super) const ASKED: [&str; 2] = ["application/com.github.proto-openapi.spec.v2@v1.0+protobuf", PROTOBUF];

const KINDS: &str = "x-kubernetes-group-version-kind";

/// All types of these documents, in the older form.
pub(super) fn definitions(documents: impl Iterator<Item = Value>) -> BTreeMap<String, Value> {
    let mut all: BTreeMap<String, Value> = BTreeMap::new();
    for mut document in documents {
        let Some(schemas) = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut) else {
            continue;
        };
        for (name, schema) in std::mem::take(schemas) {
            let schema = older(&name, &schema);
            match all.get_mut(&name) {
                Some(known) => add_kinds(known, &schema),
                None => drop(all.insert(name, schema)),
            }
        }
    }
    all
}

/// Types that many groups share are a kind in each.
fn add_kinds(known: &mut Value, other: &Value) {
    let Some(kinds) = known.get_mut(KINDS).and_then(Value::as_array_mut) else { return };
    for kind in other.get(KINDS).and_then(Value::as_array).into_iter().flatten() {
        if !kinds.contains(kind) {
            kinds.push(kind.clone());
        }
    }
}

fn older(name: &str, schema: &Value) -> Value {
    match name {
        "io.k8s.apimachinery.pkg.api.resource.Quantity" => json!({"type": "string"}),
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString" => json!({"type": "string", "format": "int-or-string"}),
        _ => convert(schema),
    }
}

/// A schema without what the older form cannot say. What would then be said too narrowly is left open.
fn convert(schema: &Value) -> Value {
    let Some(fields) = schema.as_object() else { return json!({}) };
    let says = |key: &str| fields.get(key) == Some(&Value::Bool(true));
    let open = says("nullable") || says("x-kubernetes-int-or-string");
    let mut all = Map::new();
    let wrapped = fields.get("allOf").and_then(|all| all.get(0)).and_then(|one| one.get("$ref"));
    let target = fields.get("$ref").or(wrapped).and_then(Value::as_str);
    if let Some(name) = target.and_then(|text| text.strip_prefix("#/components/schemas/")) {
        all.insert("$ref".into(), format!("#/definitions/{name}").into());
    }
    for (key, value) in fields {
        let value = match key.as_str() {
            "type" | "properties" | "items" | "additionalProperties" | "required" if open || target.is_some() => {
                continue;
            }
            // Clients would refuse what they do not find among the properties.
            "properties" | "required" if says("x-kubernetes-preserve-unknown-fields") => continue,
            "properties" => {
                let each = value.as_object().into_iter().flatten().map(|(name, of)| (name.clone(), convert(of)));
                each.collect::<Map<_, _>>().into()
            }
            "items" | "additionalProperties" if value.is_object() => convert(value),
            "type" => match value.as_str() {
                Some("array") if !fields.get("items").is_some_and(Value::is_object) => continue,
                Some("object" | "array" | "string" | "number" | "integer" | "boolean") => value.clone(),
                _ => continue,
            },
            "format" | "description" | "default" | "required" | "enum" => value.clone(),
            key if key.starts_with("x-kubernetes-") => value.clone(),
            _ => continue,
        };
        all.insert(key.clone(), value);
    }
    all.into()
}

/// The whole document in JSON.
pub(super) fn to_json(definitions: &BTreeMap<String, Value>) -> Vec<u8> {
    let info = json!({"title": "Kubernetes", "version": "1.37"});
    let document = json!({"swagger": "2.0", "info": info, "paths": {}, "definitions": definitions});
    serde_json::to_vec(&document).unwrap_or_default()
}

/// The whole document in protobuf (`openapi.v2.Document`).
pub(super) fn to_protobuf(definitions: &BTreeMap<String, Value>) -> Vec<u8> {
    let mut info = Message::default();
    info.text(1, "Kubernetes").text(2, "1.37");
    let mut all = Message::default();
    for (name, schema) in definitions {
        all.message(1, &named(name, &message(schema)));
    }
    let mut document = Message::default();
    document.text(1, "2.0").message(2, &info).message(8, &Message::default()).message(9, &all);
    document.0
}

fn named(name: &str, value: &Message) -> Message {
    let mut pair = Message::default();
    pair.text(1, name).message(2, value);
    pair
}

/// Any value is carried as YAML, which JSON is.
fn any(value: &Value) -> Message {
    let mut any = Message::default();
    any.text(2, &value.to_string());
    any
}

fn message(schema: &Value) -> Message {
    let mut all = Message::default();
    for (key, value) in schema.as_object().into_iter().flatten() {
        match key.as_str() {
            "$ref" => all.text(1, value.as_str().unwrap_or_default()),
            "format" => all.text(2, value.as_str().unwrap_or_default()),
            "description" => all.text(4, value.as_str().unwrap_or_default()),
            "default" => all.message(5, &any(value)),
            "required" => {
                for name in value.as_array().into_iter().flatten().filter_map(Value::as_str) {
                    all.text(19, name);
                }
                &mut all
            }
            "enum" => {
                for one in value.as_array().into_iter().flatten() {
                    all.message(20, &any(one));
                }
                &mut all
            }
            "additionalProperties" => {
                let mut item = Message::default();
                item.message(1, &message(value));
                all.message(21, &item)
            }
            "type" => {
                let mut item = Message::default();
                item.text(1, value.as_str().unwrap_or_default());
                all.message(22, &item)
            }
            "items" => {
                let mut item = Message::default();
                item.message(1, &message(value));
                all.message(23, &item)
            }
            "properties" => {
                let mut properties = Message::default();
                for (name, of) in value.as_object().into_iter().flatten() {
                    properties.message(1, &named(name, &message(of)));
                }
                all.message(25, &properties)
            }
            _ => all.message(31, &named(key, &any(value))),
        };
    }
    all
}

/// A protobuf message as it is written.
#[derive(Debug, Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push((value & 0x7f) as u8);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) -> &mut Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn text(&mut self, field: u64, text: &str) -> &mut Self {
        self.bytes(field, text.as_bytes())
    }

    fn message(&mut self, field: u64, message: &Self) -> &mut Self {
        self.bytes(field, &message.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_older_form_says() {
        let cases = [
            (
                json!({"allOf": [{"$ref": "#/components/schemas/a.B"}], "default": {}}),
                json!({"$ref": "#/definitions/a.B", "default": {}}),
            ),
            (json!({"type": "array"}), json!({})),
            (
                json!({"type": "array", "items": {"type": "string"}}),
                json!({"type": "array", "items": {"type": "string"}}),
            ),
            (json!({"type": "string", "nullable": true}), json!({})),
            (
                json!({"type": "object", "properties": {"a": {"type": "null"}}}),
                json!({"type": "object", "properties": {"a": {}}}),
            ),
            (json!({"additionalProperties": true, "type": "object"}), json!({"type": "object"})),
        ];
        for (schema, expected) in cases {
            assert_eq!(convert(&schema), expected, "{schema}");
        }
        let open = json!({"type": "object", "properties": {}, "x-kubernetes-preserve-unknown-fields": true});
        assert_eq!(convert(&open), json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}));
    }

    #[test]
    fn a_message_as_protobuf_writes_it() {
        let definitions = [("a".to_owned(), json!({"type": "string"}))].into_iter().collect();
        let expected = b"\x0a\x032.0\x12\x12\x0a\x0aKubernetes\x12\x041.37\x42\x00\x4a\x12\x0a\x10\x0a\x01a\x12\x0b\xb2\x01\x08\x0a\x06string";
        assert_eq!(to_protobuf(&definitions), expected);
    }
}
