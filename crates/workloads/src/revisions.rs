//! ControllerRevisions: what a StatefulSet or a DaemonSet once was, so that a rollout has a past to go back to.
//!
//! ```text
//!                      none like it
//!   the set's template ─────────────► a new revision, with the highest number
//!          │ like the newest: nothing to do
//!          └ like an older one: that one gets the highest number (a rollback)
//! ```
//!
//! A revision's data is the patch that brings its template back; `kubectl rollout undo` sends it as it is.

use std::sync::Arc;

use plimsoll_engine::selector::LabelSelector;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::write::{Part, Writer};
use plimsoll_runtime::{Context, Error, Mirrored, Objects, Preconditions, Resource, Whole};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::children::{Children, Owner, claim};
use crate::kinds::Revision;
use crate::world::{self, World};

/// Label on a DaemonSet's revisions and pods, and on a StatefulSet's pods: which revision.
pub const REVISION_HASH: &str = "controller-revision-hash";
/// Label on a StatefulSet's revisions: the hash in their names.
pub const HASH: &str = "controller.kubernetes.io/hash";
/// The longest part of an owner's name in a revision's: upstream's.
const LONGEST_PREFIX: usize = 223;

/// A revision as it is compared and counted.
#[derive(Clone, Debug)]
pub struct Record {
    /// As it is in the API.
    pub object: Arc<Whole<Revision>>,
    /// `revision`.
    pub number: i64,
    /// `data`: the patch.
    pub data: Value,
}

impl Record {
    fn read(object: Arc<Whole<Revision>>) -> Self {
        let mut value = object.value();
        let data = value.get_mut("data").map(Value::take).unwrap_or_default();
        Self { number: value["revision"].as_i64().unwrap_or(0), data, object }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.object.meta().name
    }

    /// A label of it; empty where it has none.
    pub fn label(&self, key: &str) -> &str {
        self.object.meta().labels.get(key).unwrap_or_default()
    }

    /// The template that it brings back.
    pub fn template(&self) -> Value {
        let mut template = self.data["spec"]["template"].clone();
        if let Some(fields) = template.as_object_mut() {
            fields.remove("$patch");
        }
        template
    }
}

/// The patch that brings a template back: the whole of it, in the place of whatever is there then.
pub fn data_of(template: &Value) -> Value {
    let mut template = template.clone();
    if let Some(fields) = template.as_object_mut() {
        fields.insert("$patch".to_owned(), json!("replace"));
    }
    json!({"spec": {"template": template}})
}

/// A revision that is to be made.
pub struct Draft<'a> {
    /// Whose it is.
    pub owner: &'a Owner,
    /// The labels of the template; the hash is added under `label`.
    pub labels: &'a Map<String, Value>,
    /// Under which label the hash is found.
    pub label: &'static str,
    /// The annotations of the owner.
    pub annotations: &'a Value,
    /// The patch.
    pub data: &'a Value,
    /// Its number.
    pub number: i64,
}

/// The revisions of one controller's sets.
#[derive(Clone)]
pub struct History {
    objects: Objects,
    revisions: Writer<Revision>,
    mirror: world::Objects<Revision>,
    children: Children,
}

impl History {
    /// On the world's revisions.
    pub fn new(context: &Context, world: &World) -> Self {
        Self {
            objects: context.objects(),
            revisions: Writer::new(context, &world.revisions),
            mirror: world.revisions.clone(),
            children: world.revisions_of.clone(),
        }
    }

    /// The revisions of a set, the oldest first. Orphans that match are adopted.
    pub async fn of(&self, owner: &Owner, selector: &LabelSelector) -> Result<Vec<Record>, Error> {
        let mine = claim(&self.objects, &self.mirror, &self.children, owner, selector).await?;
        let mut records: Vec<Record> = mine.into_iter().map(Record::read).collect();
        sort(&mut records);
        Ok(records)
    }

    /// Makes a revision. One that has its name and its data is taken for it: an answer may have been lost. One with other data
    /// is a collision of hashes; each is counted, and makes another name.
    pub async fn create(&self, draft: &Draft<'_>, collisions: &mut i64) -> Result<Record, Error> {
        let owner = draft.owner;
        loop {
            let hash = hash(draft.data, *collisions);
            let name = format!("{}-{hash}", prefix(&owner.name));
            let mut labels = draft.labels.clone();
            labels.insert(draft.label.to_owned(), json!(hash));
            let mut meta = json!({"name": name, "namespace": owner.namespace, "labels": labels,
                                  "ownerReferences": [owner.reference()]});
            if draft.annotations.as_object().is_some_and(|all| !all.is_empty()) {
                meta["annotations"] = draft.annotations.clone();
            }
            let object = json!({"apiVersion": Resource::REVISIONS.api_version(), "kind": Resource::REVISIONS.kind,
                                "metadata": meta, "data": draft.data, "revision": draft.number});
            match self.objects.create::<Box<RawValue>>(Resource::REVISIONS, &owner.namespace, &object).await {
                Ok(raw) => return Ok(Record::read(self.revisions.learn(&raw)?)),
                Err(Error::AlreadyExists(message)) => {
                    let Some(there) = self.revisions.look(&owner.namespace, &name).await? else {
                        return Err(Error::AlreadyExists(message));
                    };
                    let there = Record::read(there);
                    if there.data == *draft.data {
                        return Ok(there);
                    }
                    *collisions += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Gives a revision another number.
    pub async fn renumber(&self, record: &Record, number: i64) -> Result<Record, Error> {
        let changed = self.revisions.change(&record.object, Part::Object, |it| it["revision"] = json!(number)).await?;
        Ok(Record::read(changed))
    }

    /// Gives a revision a label.
    pub async fn label(&self, record: &Record, key: &str, value: &str) -> Result<Record, Error> {
        let edit = |it: &mut Value| it["metadata"]["labels"][key] = json!(value);
        Ok(Record::read(self.revisions.change(&record.object, Part::Object, edit).await?))
    }

    /// Deletes a revision, that one and no other of its name.
    pub async fn delete(&self, record: &Record) -> Result<(), Error> {
        let meta = record.object.meta();
        let only_if = Preconditions { uid: Some(meta.uid.clone()), version: None };
        match self.objects.delete(Resource::REVISIONS, &meta.namespace, &meta.name, &only_if).await {
            Ok(()) | Err(Error::Conflict(_)) => {}
            Err(error) => return Err(error),
        }
        self.mirror.gone(&key_of(&*record.object), meta.version());
        Ok(())
    }
}

/// By number, then by age, then by name: the order in which they came to be.
fn sort(records: &mut [Record]) {
    records.sort_by(|a, b| {
        let key = |r: &Record| (r.number, r.object.meta().creation_timestamp.clone());
        key(a).cmp(&key(b)).then_with(|| a.name().cmp(b.name()))
    });
}

/// The number after all of these, which are in order.
pub fn next_number(records: &[Record]) -> i64 {
    records.last().map_or(1, |newest| newest.number.saturating_add(1))
}

/// Which of `records` (the oldest first) go, for at most `limit` to stay beside those that are in use.
pub fn beyond_limit(records: &[Record], limit: i64, in_use: impl Fn(&Record) -> bool) -> Vec<&Record> {
    let past: Vec<&Record> = records.iter().filter(|record| !in_use(record)).collect();
    let Ok(limit) = usize::try_from(limit) else { return Vec::new() };
    let many = past.len().saturating_sub(limit);
    past.into_iter().take(many).collect()
}

fn prefix(name: &str) -> &str {
    name.get(..LONGEST_PREFIX).unwrap_or(name)
}

/// The hash of a revision's data, as upstream makes it of a StatefulSet's: 32-bit FNV-1 of the text and of the number of
/// collisions, its decimal digits written in letters of which no words are made.
pub fn hash(data: &Value, collisions: i64) -> String {
    const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let text = as_go_writes(data);
    let mut sum: u32 = 0x811c_9dc5;
    for byte in text.bytes().chain(collisions.to_string().bytes()) {
        sum = sum.wrapping_mul(0x0100_0193) ^ u32::from(byte);
    }
    sum.to_string().bytes().map(|digit| char::from(LETTERS[usize::from(digit) % LETTERS.len()])).collect()
}

/// JSON with its keys in order and with the escapes that Go's encoder adds for the sake of browsers.
fn as_go_writes(data: &Value) -> String {
    let mut out = String::new();
    for c in data.to_string().chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, number: i64, made: &str) -> Record {
        let text = json!({"metadata": {"name": name, "creationTimestamp": made}, "revision": number}).to_string();
        let raw: Box<RawValue> = serde_json::from_str(&text).unwrap();
        Record::read(Arc::new(Whole::read(raw.get()).unwrap()))
    }

    #[test]
    fn the_patch_replaces_the_template_and_gives_it_back() {
        let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": []}});
        let data = data_of(&template);
        assert_eq!(data["spec"]["template"]["$patch"], "replace");
        let text = json!({"metadata": {"name": "x"}, "data": data, "revision": 3}).to_string();
        let raw: Box<RawValue> = serde_json::from_str(&text).unwrap();
        let record = Record::read(Arc::new(Whole::read(raw.get()).unwrap()));
        assert_eq!((record.template(), record.number), (template, 3));
    }

    #[test]
    fn the_hash_is_stable_and_another_for_each_collision() {
        let data = json!({"spec": {"template": {"$patch": "replace"}}});
        // Worked out by Go's hash/fnv and apimachinery's SafeEncodeString.
        assert_eq!(hash(&data, 0), "589f85db5b");
        assert_ne!(hash(&data, 0), hash(&data, 1));
        assert!(hash(&data, 0).chars().all(|c| "bcdfghjklmnpqrstvwxz2456789".contains(c)));
        assert_eq!(as_go_writes(&json!({"b": "<&>", "a": 1})), r#"{"a":1,"b":"\u003c\u0026\u003e"}"#);
    }

    #[test]
    fn revisions_are_in_the_order_in_which_they_came_to_be() {
        let mut all =
            vec![record("c", 2, "2026-01-01T00:00:01Z"), record("b", 2, "2026-01-01T00:00:00Z"), record("z", 1, "x")];
        sort(&mut all);
        assert_eq!(all.iter().map(Record::name).collect::<Vec<_>>(), ["z", "b", "c"]);
        assert_eq!(next_number(&all), 3);
        assert_eq!(next_number(&[]), 1);
    }

    #[test]
    fn the_oldest_go_and_what_is_in_use_stays() {
        let all: Vec<Record> = (1..=5).map(|n| record(&format!("r{n}"), n, "")).collect();
        let gone = |limit, in_use: &[&str]| {
            let gone = beyond_limit(&all, limit, |r| in_use.contains(&r.name()));
            gone.into_iter().map(|r| r.name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(gone(2, &["r5"]), ["r1", "r2"]);
        assert_eq!(gone(0, &["r1", "r5"]), ["r2", "r3", "r4"]);
        assert!(gone(10, &[]).is_empty());
        assert!(gone(-1, &[]).is_empty(), "a limit below zero is none");
    }
}
