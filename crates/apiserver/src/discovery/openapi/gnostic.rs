//! The protobuf form of OpenAPI v2, which is the one that kubectl reads: what it looks for, and no more.
//!
//! Field numbers are those of gnostic's `OpenAPIv2.proto`.

use serde_json::Value;

/// A message that grows.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value as u8) | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.number(field << 3 | 2);
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, field: u64, value: &Value) {
        if let Some(text) = value.as_str() {
            self.bytes(field, text.as_bytes());
        }
    }

    fn texts(&mut self, field: u64, value: &Value) {
        value.as_array().into_iter().flatten().for_each(|text| self.text(field, text));
    }

    fn message(&mut self, field: u64, message: &Message) {
        self.bytes(field, &message.0);
    }

    /// A name (1) and a value (2), as all maps are written.
    fn named(&mut self, field: u64, name: &str, value: &Message) {
        let mut entry = Message::default();
        entry.bytes(1, name.as_bytes());
        entry.message(2, value);
        self.message(field, &entry);
    }

    /// What begins with `x-`. JSON is YAML, which is what the values are read as.
    fn extensions(&mut self, field: u64, of: &Value) {
        for (name, value) in fields(of).filter(|(name, _)| name.starts_with("x-")) {
            let mut any = Message::default();
            any.bytes(2, value.to_string().as_bytes());
            self.named(field, name, &any);
        }
    }
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// A whole document.
pub(super) fn document(second: &Value) -> Vec<u8> {
    let mut out = Message::default();
    out.text(1, &second["swagger"]);
    let mut info = Message::default();
    info.text(1, &second["info"]["title"]);
    info.text(2, &second["info"]["version"]);
    out.message(2, &info);
    let mut paths = Message::default();
    for (path, item) in fields(&second["paths"]) {
        paths.named(2, path, &path_item(item));
    }
    out.message(8, &paths);
    let mut definitions = Message::default();
    for (name, value) in fields(&second["definitions"]) {
        definitions.named(1, name, &schema(value));
    }
    out.message(9, &definitions);
    out.0
}

fn path_item(item: &Value) -> Message {
    let mut out = Message::default();
    for (field, method) in (2..).zip(["get", "put", "post", "delete", "options", "head", "patch"]) {
        if let Some(found) = item.get(method) {
            out.message(field, &operation(found));
        }
    }
    out
}

fn operation(second: &Value) -> Message {
    let mut out = Message::default();
    out.texts(1, &second["tags"]);
    out.text(5, &second["operationId"]);
    out.texts(6, &second["produces"]);
    out.texts(7, &second["consumes"]);
    for parameter in second["parameters"].as_array().into_iter().flatten().filter(|p| p["in"] == "query") {
        let mut query = Message::default();
        query.text(2, &parameter["in"]);
        query.text(4, &parameter["name"]);
        query.text(6, &parameter["type"]);
        // A parameters item is a parameter (1), that is none of the body (2), that is one of the query (3).
        let mut outside = Message::default();
        outside.message(3, &query);
        let mut one = Message::default();
        one.message(2, &outside);
        let mut item = Message::default();
        item.message(1, &one);
        out.message(8, &item);
    }
    out.extensions(13, second);
    out
}

fn schema(second: &Value) -> Message {
    let mut out = Message::default();
    out.text(1, &second["$ref"]);
    out.text(2, &second["format"]);
    out.text(3, &second["title"]);
    out.text(4, &second["description"]);
    out.texts(19, &second["required"]);
    if let Some(values) = second.get("additionalProperties") {
        let mut item = Message::default();
        match values.as_bool() {
            Some(any) => {
                item.number(2 << 3);
                item.number(any.into());
            }
            None => item.message(1, &schema(values)),
        }
        out.message(21, &item);
    }
    if let Some(ty) = second.get("type") {
        let mut item = Message::default();
        item.text(1, ty);
        out.message(22, &item);
    }
    if let Some(items) = second.get("items") {
        let mut item = Message::default();
        item.message(1, &schema(items));
        out.message(23, &item);
    }
    if let Some(properties) = second.get("properties") {
        let mut all = Message::default();
        for (name, value) in fields(properties) {
            all.named(1, name, &schema(value));
        }
        out.message(25, &all);
    }
    out.extensions(31, second);
    out
}
