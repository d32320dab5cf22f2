//! From one document's tree or text to an object of its kind.

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::document::{Document, DocumentKind, without_place};
use crate::lenient::slim;

/// What one document or list item turned out to be.
#[derive(Debug)]
pub(crate) enum Entry {
    /// An object.
    Object(Box<Document>),
    /// An object of a kind that is not read.
    Unknown { api_version: String, kind: String },
    /// Something without a kind: an item of a typed list, whose kind the list says.
    Headless(Value),
    /// Something that cannot be read.
    Broken(Broken),
}

/// Why a document cannot be read.
#[derive(Debug, Default)]
pub(crate) struct Broken {
    pub object: String,
    pub field: String,
    pub problem: String,
    pub line: Option<usize>,
}

slim! {
    /// What is looked at before anything else.
    pub struct Header {
        /// Group and version.
        pub api_version: String,
        /// The kind.
        pub kind: String,
        /// Just enough to name the object in a message.
        pub metadata: HeaderMeta,
    }

    /// The name of an object.
    pub struct HeaderMeta {
        /// The name.
        pub name: String,
        /// The namespace.
        pub namespace: String,
    }
}

impl Header {
    /// The object as messages name it.
    fn describe(&self) -> String {
        let HeaderMeta { name, namespace } = &self.metadata;
        let slash = if namespace.is_empty() { "" } else { "/" };
        format!("{} {namespace}{slash}{name}", self.kind)
    }
}

/// The kind of a list's items, where `kind` is that of a list. `List` itself says nothing of its items.
pub(crate) fn list_item_kind(kind: &str) -> Option<&str> {
    kind.strip_suffix("List")
}

/// Decodes a tree. A `fallback` (group and version, kind) tells what an item without a kind is.
pub(crate) fn tree(value: Value, fallback: Option<(&str, &str)>) -> Entry {
    if !value.is_object() {
        return Entry::Broken(Broken { problem: "not a Kubernetes object".to_owned(), ..Broken::default() });
    }
    let mut header = match Header::deserialize(&value) {
        Ok(header) => header,
        Err(error) => return Entry::Broken(Broken { problem: error.to_string(), ..Broken::default() }),
    };
    if header.kind.is_empty() {
        let Some((api_version, kind)) = fallback else { return Entry::Headless(value) };
        header.api_version = api_version.to_owned();
        header.kind = kind.to_owned();
    }
    // Back to text, so that one decoder serves both; YAML is slow to read anyway.
    match typed(&header, &value.to_string()) {
        Entry::Broken(broken) => Entry::Broken(Broken { line: None, ..broken }),
        entry => entry,
    }
}

/// Decodes JSON text.
pub(crate) fn text(raw: &RawValue, fallback: Option<(&str, &str)>) -> Entry {
    let mut header: Header = match serde_json::from_str(raw.get()) {
        Ok(header) => header,
        Err(error) => {
            let line = Some(error.line());
            return Entry::Broken(Broken { problem: without_place(&error), line, ..Broken::default() });
        }
    };
    if header.kind.is_empty() {
        let Some((api_version, kind)) = fallback else { return Entry::Headless(Value::Null) };
        header.api_version = api_version.to_owned();
        header.kind = kind.to_owned();
    }
    typed(&header, raw.get())
}

fn typed(header: &Header, json: &str) -> Entry {
    let Some(kind) = DocumentKind::find(&header.api_version, &header.kind) else {
        return Entry::Unknown { api_version: header.api_version.clone(), kind: header.kind.clone() };
    };
    match kind.decode_json(json) {
        Ok(document) => Entry::Object(Box::new(document)),
        Err(error) => Entry::Broken(Broken {
            object: header.describe(),
            field: error.path,
            problem: error.problem,
            line: Some(error.line),
        }),
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Value::deserialize(from).map(|value| tree(value, None))
    }
}
