//! Who owns which fields: `metadata.managedFields`, read and written.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::set::FieldSet;
use super::values::go_json;

/// How a manager came to own its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    /// By server-side apply.
    Apply,
    /// By any other write.
    Update,
}

impl Operation {
    fn word(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// An entry of `metadata.managedFields`.
#[derive(Debug, Clone)]
pub(crate) struct Entry<'a> {
    pub(crate) manager: Cow<'a, str>,
    pub(crate) operation: Operation,
    pub(crate) api_version: Cow<'a, str>,
    pub(crate) subresource: Cow<'a, str>,
    pub(crate) time: Option<Cow<'a, str>>,
    pub(crate) fields: FieldSet<'a>,
    /// The fields as they were read: written back as they are while nobody changes them.
    raw: Option<&'a Value>,
}

impl<'a> Entry<'a> {
    /// An entry without fields.
    pub(crate) fn new(manager: &'a str, operation: Operation, api_version: &'a str, subresource: &'a str) -> Self {
        let manager = if manager.is_empty() { "unknown" } else { manager };
        Self {
            manager: manager.into(),
            operation,
            api_version: api_version.into(),
            subresource: subresource.into(),
            time: None,
            fields: FieldSet::default(),
            raw: None,
        }
    }

    /// Whether both stand for the same manager. An applier is the same in every version.
    pub(crate) fn is(&self, other: &Entry<'_>) -> bool {
        self.operation == other.operation
            && self.manager == other.manager
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }

    /// The text by which upstream names and sorts managers.
    pub(crate) fn identifier(&self) -> String {
        let text = |text: &str| go_json(&Value::String(text.into()));
        let mut out = format!("{{\"manager\":{},\"operation\":\"{}\"", text(&self.manager), self.operation.word());
        if self.operation == Operation::Update {
            out.push_str(&format!(",\"apiVersion\":{}", text(&self.api_version)));
        }
        if !self.subresource.is_empty() {
            out.push_str(&format!(",\"subresource\":{}", text(&self.subresource)));
        }
        out.push('}');
        out
    }

    /// The manager as a conflict names it.
    pub(crate) fn shown(&self) -> String {
        let mut out = crate::field::go_quoted(&self.manager);
        if !self.subresource.is_empty() {
            out.push_str(&format!(" with subresource {}", crate::field::go_quoted(&self.subresource)));
        }
        if self.operation == Operation::Update {
            out.push_str(&format!(" using {}", self.api_version));
        }
        out
    }

    /// Takes fields away.
    pub(crate) fn lose(&mut self, fields: &FieldSet<'_>) {
        if self.fields.subtract(fields) {
            self.raw = None;
        }
    }

    /// Adds fields.
    pub(crate) fn gain(&mut self, fields: FieldSet<'a>) {
        self.fields.union(fields);
        self.raw = None;
    }

    /// Puts other fields in the place of its own.
    pub(crate) fn set_fields(&mut self, fields: FieldSet<'a>) {
        self.fields = fields;
        self.raw = None;
    }

    fn decode(entry: &'a Value, at: usize) -> Result<Self, String> {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let operation = match text("operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err("operation must be `Apply` or `Update`".into()),
        };
        if text("apiVersion").is_empty() {
            return Err("apiVersion must not be empty".into());
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Err(format!("missing fieldsType in managed fields entry {at}")),
            other => {
                return Err(format!(
                    "invalid fieldsType {} in managed fields entry {at}",
                    crate::field::go_quoted(other)
                ));
            }
        }
        let raw = entry.get("fieldsV1");
        let fields = raw.map_or_else(|| Ok(FieldSet::default()), FieldSet::decode);
        let fields = fields.map_err(|why| format!("error decoding versioned set: error decoding set: {why}"))?;
        Ok(Self {
            manager: text("manager").into(),
            operation,
            api_version: text("apiVersion").into(),
            subresource: text("subresource").into(),
            time: entry.get("time").and_then(Value::as_str).map(Cow::Borrowed),
            fields,
            raw,
        })
    }

    fn encode(&self) -> Value {
        let mut out = Map::new();
        for (key, text) in [
            ("manager", &*self.manager),
            ("operation", self.operation.word()),
            ("apiVersion", &*self.api_version),
            ("time", self.time.as_deref().unwrap_or_default()),
            ("subresource", &*self.subresource),
            ("fieldsType", "FieldsV1"),
        ] {
            if !text.is_empty() {
                out.insert(key.into(), json!(text));
            }
        }
        out.insert("fieldsV1".into(), self.raw.cloned().unwrap_or_else(|| self.fields.encode()));
        Value::Object(out)
    }
}

/// All entries of an object.
#[derive(Debug, Clone, Default)]
pub(crate) struct Managed<'a> {
    pub(crate) entries: Vec<Entry<'a>>,
}

impl<'a> Managed<'a> {
    /// Reads `metadata.managedFields`.
    pub(crate) fn decode(list: Option<&'a Value>) -> Result<Self, String> {
        let mut out = Self::default();
        let mut places = BTreeMap::new();
        for (at, entry) in list.and_then(Value::as_array).into_iter().flatten().enumerate() {
            let entry = Entry::decode(entry, at)?;
            let version = if entry.operation == Operation::Apply { Cow::default() } else { entry.api_version.clone() };
            let key = (entry.operation, entry.manager.clone(), entry.subresource.clone(), version);
            let place = *places.entry(key).or_insert(out.entries.len());
            match out.entries.get_mut(place) {
                // The last entry of a manager counts.
                Some(other) => *other = entry,
                None => out.entries.push(entry),
            }
        }
        Ok(out)
    }

    /// As `metadata.managedFields` has it; nothing where nobody owns anything.
    pub(crate) fn encode(&self) -> Option<Value> {
        if self.entries.is_empty() {
            return None;
        }
        let mut sorted: Vec<&Entry<'a>> = self.entries.iter().collect();
        sorted.sort_by(|a, b| {
            (a.operation, &a.time, &a.manager, &a.api_version, &a.subresource).cmp(&(
                b.operation,
                &b.time,
                &b.manager,
                &b.api_version,
                &b.subresource,
            ))
        });
        Some(sorted.into_iter().map(Entry::encode).collect())
    }

    /// The entry of a manager.
    pub(crate) fn position(&self, of: &Entry<'_>) -> Option<usize> {
        self.entries.iter().position(|entry| entry.is(of))
    }

    /// Forgets those who own nothing.
    pub(crate) fn drop_empty(&mut self) {
        self.entries.retain(|entry| !entry.fields.is_empty());
    }

    /// Merges the oldest updaters until there are no more than [`MOST_UPDATERS`].
    pub(crate) fn cap(&mut self) {
        let mut count = self.entries.iter().filter(|entry| entry.operation == Operation::Update).count();
        if count <= MOST_UPDATERS {
            return;
        }
        let (mut old, rest): (Vec<Entry<'a>>, Vec<Entry<'a>>) =
            std::mem::take(&mut self.entries).into_iter().partition(|entry| entry.operation == Operation::Update);
        self.entries = rest;
        old.sort_by_cached_key(|entry| (entry.time.clone(), entry.identifier()));
        // Of each version, the first old updater waits; with the second, both go into a bucket, and those after them too. `None` marks
        // those who are gone, so that places stay.
        let mut old: Vec<Option<Entry<'a>>> = old.into_iter().map(Some).collect();
        let mut firsts: BTreeMap<Cow<'a, str>, usize> = BTreeMap::new();
        let mut buckets: BTreeMap<Cow<'a, str>, usize> = BTreeMap::new();
        for (at, entry) in old.iter().enumerate() {
            if let Some(entry) = entry.as_ref().filter(|e| e.manager == ANCIENT && e.subresource.is_empty()) {
                buckets.insert(entry.api_version.clone(), at);
            }
        }
        for at in 0..old.len() {
            if count <= MOST_UPDATERS {
                break;
            }
            let Some(version) = old.get(at).and_then(|e| e.as_ref()).map(|e| e.api_version.clone()) else { continue };
            let Some(first) = firsts.get(&version).copied() else {
                firsts.insert(version, at);
                continue;
            };
            let bucket = *buckets.entry(version).or_insert(first);
            count -= 1;
            let Some(entry) = old.get_mut(at).and_then(Option::take) else { continue };
            if let Some(bucket) = old.get_mut(bucket).and_then(Option::as_mut) {
                bucket.manager = ANCIENT.into();
                bucket.subresource = Cow::default();
                bucket.gain(entry.fields);
                bucket.time = entry.time;
            }
        }
        self.entries.extend(old.into_iter().flatten());
    }
}

/// How many updaters an object remembers.
const MOST_UPDATERS: usize = 10;
/// Who owns what the forgotten updaters owned.
const ANCIENT: &str = "ancient-changes";

/// `metadata.managedFields` of an object.
pub(crate) fn managed_fields(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get("managedFields")
}

/// Sets or removes `metadata.managedFields`.
pub(crate) fn set_managed_fields(object: &mut Value, list: Option<Value>) {
    let Some(object) = object.as_object_mut() else { return };
    match (object.get_mut("metadata").and_then(Value::as_object_mut), list) {
        (Some(metadata), Some(list)) => _ = metadata.insert("managedFields".into(), list),
        (Some(metadata), None) => _ = metadata.remove("managedFields"),
        (None, Some(list)) => _ = object.insert("metadata".into(), json!({ "managedFields": list })),
        (None, None) => {}
    }
}
