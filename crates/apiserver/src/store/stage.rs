//! Writes on their way: checked against what is there and against each other, given their revisions, but seen by nobody yet.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::change::{Action, Expect, Write, WriteError, Written};
use super::object::{Event, EventKind, Object, ResourceKey};
use super::shared::Shared;

type Key = (ResourceKey, Box<str>);

/// What is to be committed as one.
pub(super) struct Stage<'a> {
    shared: &'a Shared,
    next: u64,
    /// The newest staged state of each object touched; none for those deleted.
    after: BTreeMap<Key, Option<Arc<Object>>>,
    events: Vec<(ResourceKey, Arc<Event>)>,
    bytes: usize,
}

impl<'a> Stage<'a> {
    /// The caller is the only writer.
    pub(super) fn new(shared: &'a Shared) -> Self {
        Self { shared, next: shared.revision() + 1, after: BTreeMap::new(), events: Vec::new(), bytes: 0 }
    }

    /// Stages all changes of a write, or none of them.
    pub(super) fn add(&mut self, write: Write) -> Result<Written, WriteError> {
        let mut own: Vec<(Key, Arc<Event>)> = Vec::with_capacity(write.changes.len());
        for (index, change) in write.changes.into_iter().enumerate() {
            let Some(path) = change.path() else {
                return Err(WriteError::Key {
                    resource: change.resource,
                    namespace: change.namespace,
                    name: change.name,
                });
            };
            let key: Key = (change.resource, path.into());
            let current = self.current(&own, &key);
            let holds = match (change.expect, &current, &change.action) {
                (Expect::Absent, current, Action::Put(_)) => current.is_none(),
                (Expect::Revision(revision), Some(current), _) => current.revision == revision,
                (Expect::Any, _, Action::Put(_)) | (Expect::Any, Some(_), Action::Delete(_)) => true,
                (Expect::Absent | Expect::Revision(_) | Expect::Any, _, _) => false,
            };
            if !holds {
                return Err(WriteError::Conflict { change: index, current });
            }
            let revision = self.next + own.len() as u64;
            let event = encode(&key.1, revision, current, change.action)?;
            own.push((key, Arc::new(event)));
        }
        self.next += own.len() as u64;
        let objects = own.iter().map(|(_, event)| event.object.clone()).collect();
        for (key, event) in own {
            self.bytes += event.object.bytes.len();
            let object = (event.kind != EventKind::Deleted).then(|| event.object.clone());
            self.events.push((key.0.clone(), event));
            self.after.insert(key, object);
        }
        Ok(Written { objects })
    }

    fn current(&self, own: &[(Key, Arc<Event>)], key: &Key) -> Option<Arc<Object>> {
        if let Some((_, event)) = own.iter().rev().find(|(changed, _)| changed == key) {
            return (event.kind != EventKind::Deleted).then(|| event.object.clone());
        }
        match self.after.get(key) {
            Some(staged) => staged.clone(),
            None => self.shared.get(&key.0, &key.1),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// How many bytes of objects are staged.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The last revision given out.
    pub(super) fn revision(&self) -> u64 {
        self.next - 1
    }

    /// Each object touched with its newest state, in the order of the file's keys.
    pub(super) fn states(&self) -> impl Iterator<Item = (&ResourceKey, &str, Option<&Arc<Object>>)> {
        self.after.iter().map(|((resource, path), object)| (resource, &**path, object.as_ref()))
    }

    /// The last revision of each resource touched.
    pub(super) fn last_revisions(&self) -> BTreeMap<&str, u64> {
        self.events.iter().map(|(resource, event)| (&**resource, event.revision())).collect()
    }

    /// Makes everything visible. What is to be durable must be so by now.
    pub(super) fn publish(self) {
        self.shared.publish(self.events);
    }
}

fn encode(path: &str, revision: u64, previous: Option<Arc<Object>>, action: Action) -> Result<Event, WriteError> {
    // A panicking encoder fails its own write and not the thread that everybody's writes go through.
    let created = previous.as_ref().map_or(revision, |before| before.created_revision);
    match action {
        Action::Put(encode) => {
            let (bytes, meta) = catch_unwind(AssertUnwindSafe(|| encode(revision))).map_err(|_| WriteError::Encode)?;
            let object = Arc::new(Object::new(path, revision, created, &bytes, meta));
            let kind = if previous.is_some() { EventKind::Modified } else { EventKind::Added };
            Ok(Event { kind, object, previous })
        }
        Action::Delete(encode) => {
            let bytes = catch_unwind(AssertUnwindSafe(|| encode(revision))).map_err(|_| WriteError::Encode)?;
            let meta = previous.as_ref().map(|before| before.meta.clone()).unwrap_or_default();
            let object = Arc::new(Object::new(path, revision, created, &bytes, meta));
            Ok(Event { kind: EventKind::Deleted, object, previous })
        }
    }
}
