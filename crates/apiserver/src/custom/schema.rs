//! The structural schema of one version, read once when its definition is.

use std::collections::BTreeMap;

use plimsoll_schema::ListKind;
use regex::Regex;
use serde_json::Value;

use super::formats;
use super::pattern;
use super::prune;

/// One place of a schema: what may stand there, what is filled in, and how server-side apply treats it.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    /// The types that a value may have; any where there are none.
    pub(super) types: Vec<String>,
    pub(super) nullable: bool,
    pub(super) default: Option<Value>,
    pub(super) properties: BTreeMap<String, Node>,
    pub(super) additional: Option<Additional>,
    pub(super) items: Option<Box<Node>>,
    pub(super) preserve: bool,
    pub(super) embedded: bool,
    pub(super) int_or_string: bool,
    pub(super) list: ListKind,
    pub(super) list_keys: Vec<String>,
    pub(super) atomic: bool,
    /// A format that is checked; empty where the one named is not known.
    pub(super) format: String,
    pub(super) maximum: Option<f64>,
    pub(super) maximum_excluded: bool,
    pub(super) minimum: Option<f64>,
    pub(super) minimum_excluded: bool,
    pub(super) multiple_of: Option<f64>,
    pub(super) max_length: Option<i64>,
    pub(super) min_length: Option<i64>,
    pub(super) pattern: Option<Pattern>,
    pub(super) max_items: Option<i64>,
    pub(super) min_items: Option<i64>,
    pub(super) unique_items: bool,
    pub(super) max_properties: Option<i64>,
    pub(super) min_properties: Option<i64>,
    pub(super) required: Vec<String>,
    pub(super) allowed: Vec<Value>,
    pub(super) all_of: Vec<Node>,
    pub(super) any_of: Vec<Node>,
    pub(super) one_of: Vec<Node>,
    pub(super) not: Option<Box<Node>>,
    /// It, or a place below it, has rules in CEL, which are not evaluated.
    pub(super) has_rules: bool,
}

/// What other keys of an object may hold.
#[derive(Debug, Clone)]
pub(super) enum Additional {
    /// Whether there may be any.
    Any(bool),
    /// Values of this schema.
    Schema(Box<Node>),
}

/// A regular expression, and how it was written.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    pub(super) text: String,
    /// None where only Go could match it: then no value is refused for it.
    pub(super) regex: Option<Regex>,
}

impl Node {
    /// The schema of a version, `openAPIV3Schema`. Its defaults are pruned as objects are.
    pub(super) fn root(schema: &Value) -> Self {
        let mut node = Self::read(schema);
        node.prune_defaults();
        node
    }

    /// As it is written.
    pub(super) fn read(schema: &Value) -> Self {
        let text = |field: &str| schema[field].as_str().unwrap_or_default().to_owned();
        let flag = |field: &str| schema[field].as_bool().unwrap_or_default();
        let list = |field: &str| schema[field].as_array().map(Vec::as_slice).unwrap_or_default();
        let texts = |field: &str| list(field).iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>();
        let nodes = |field: &str| list(field).iter().map(Self::read).collect::<Vec<_>>();
        let int_or_string = flag("x-kubernetes-int-or-string");
        let types = match schema["type"].as_str() {
            _ if int_or_string => vec!["integer".to_owned(), "string".to_owned()],
            Some(name) if !name.is_empty() => vec![name.to_owned()],
            _ => Vec::new(),
        };
        let properties: BTreeMap<String, Self> =
            schema["properties"].as_object().into_iter().flatten().map(|(k, v)| (k.clone(), Self::read(v))).collect();
        let additional = match schema.get("additionalProperties") {
            Some(Value::Bool(allowed)) => Some(Additional::Any(*allowed)),
            Some(inner @ Value::Object(_)) => Some(Additional::Schema(Box::new(Self::read(inner)))),
            _ => None,
        };
        let items = schema["items"].is_object().then(|| Box::new(Self::read(&schema["items"])));
        let pattern = Some(text("pattern")).filter(|p| !p.is_empty());
        let mut node = Self {
            format: formats::known(&types, &text("format")).to_owned(),
            types,
            nullable: flag("nullable"),
            default: schema.get("default").filter(|d| !d.is_null()).cloned(),
            properties,
            additional,
            items,
            preserve: flag("x-kubernetes-preserve-unknown-fields"),
            embedded: flag("x-kubernetes-embedded-resource"),
            int_or_string,
            list: match schema["x-kubernetes-list-type"].as_str() {
                Some("set") => ListKind::Set,
                Some("map") => ListKind::Map,
                _ => ListKind::Atomic,
            },
            list_keys: texts("x-kubernetes-list-map-keys"),
            atomic: schema["x-kubernetes-map-type"] == "atomic",
            maximum: schema["maximum"].as_f64(),
            maximum_excluded: flag("exclusiveMaximum"),
            minimum: schema["minimum"].as_f64(),
            minimum_excluded: flag("exclusiveMinimum"),
            multiple_of: schema["multipleOf"].as_f64(),
            max_length: schema["maxLength"].as_i64(),
            min_length: schema["minLength"].as_i64(),
            pattern: pattern.map(|text| Pattern { regex: pattern::compile(&text), text }),
            max_items: schema["maxItems"].as_i64(),
            min_items: schema["minItems"].as_i64(),
            unique_items: flag("uniqueItems"),
            max_properties: schema["maxProperties"].as_i64(),
            min_properties: schema["minProperties"].as_i64(),
            required: texts("required"),
            allowed: list("enum").to_vec(),
            all_of: nodes("allOf"),
            any_of: nodes("anyOf"),
            one_of: nodes("oneOf"),
            not: schema["not"].is_object().then(|| Box::new(Self::read(&schema["not"]))),
            has_rules: !list("x-kubernetes-validations").is_empty(),
        };
        node.has_rules |= node.properties.values().any(|n| n.has_rules)
            || node.items.as_ref().is_some_and(|n| n.has_rules)
            || node.others().is_some_and(|n| n.has_rules);
        node
    }

    /// The schema of keys that are no properties.
    pub(super) fn others(&self) -> Option<&Self> {
        match &self.additional {
            Some(Additional::Schema(node)) => Some(node),
            _ => None,
        }
    }

    /// The schema of a key.
    pub(super) fn at(&self, key: &str) -> Option<&Self> {
        self.properties.get(key).or_else(|| self.others())
    }

    fn prune_defaults(&mut self) {
        if let Some(mut default) = self.default.take() {
            prune::unknown(&mut default, self, false);
            self.default = Some(default);
        }
        self.properties.values_mut().for_each(Self::prune_defaults);
        if let Some(items) = &mut self.items {
            items.prune_defaults();
        }
        if let Some(Additional::Schema(node)) = &mut self.additional {
            node.prune_defaults();
        }
    }
}
