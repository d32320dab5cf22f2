//! What the store keeps: encoded objects, the little that is known about each without decoding it, and the events that changed
//! them.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::sync::Arc;

use bytes::Bytes;

/// Names a resource, such as `pods` or `apps/deployments`.
pub type ResourceKey = Arc<str>;

/// What is known about an object without decoding it: what selectors and preconditions ask for.
///
/// All strings stand in one allocation, since a store holds one of these per object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    text: Box<str>,
    /// Where each piece of `text` ends: the uid, then key and value of each label, then of each field.
    ends: Box<[u32]>,
    labels: u32,
}

impl Default for Meta {
    fn default() -> Self {
        Self::new("", [], [])
    }
}

impl Meta {
    /// Packs an object's uid, labels and selectable fields. Labels come back in the order of their keys.
    ///
    /// `metadata.name` and `metadata.namespace` need not be among the fields: [`Object::name`] and [`Object::namespace`] have them.
    pub fn new<'a>(
        uid: &'a str,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
        fields: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let mut labels: Vec<(&str, &str)> = labels.into_iter().collect();
        labels.sort_unstable();
        let mut text = String::from(uid);
        let mut ends = vec![text.len() as u32];
        let count = labels.len() as u32;
        for (key, value) in labels.into_iter().chain(fields) {
            for piece in [key, value] {
                text.push_str(piece);
                ends.push(text.len() as u32);
            }
        }
        Self { text: text.into(), ends: ends.into(), labels: count }
    }

    fn piece(&self, index: usize) -> &str {
        let end = |at: usize| self.ends.get(at).map_or(self.text.len(), |end| *end as usize);
        let start = if index == 0 { 0 } else { end(index - 1) };
        self.text.get(start..end(index)).unwrap_or("")
    }

    fn pairs(&self, from: usize, to: usize) -> impl Iterator<Item = (&str, &str)> {
        (from..to).map(|pair| (self.piece(1 + 2 * pair), self.piece(2 + 2 * pair)))
    }

    /// The object's uid.
    pub fn uid(&self) -> &str {
        self.piece(0)
    }

    /// The labels, in the order of their keys.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs(0, self.labels as usize)
    }

    /// One label's value.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels().find(|(found, _)| *found == key).map(|(_, value)| value)
    }

    /// The selectable fields, in the order they were given.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs(self.labels as usize, self.ends.len() / 2)
    }

    /// One selectable field's value.
    pub fn field(&self, key: &str) -> Option<&str> {
        self.fields().find(|(found, _)| *found == key).map(|(_, value)| value)
    }
}

/// One version of one object. Never changed once made, so that lists, watches and history share it.
#[derive(Debug, PartialEq, Eq)]
pub struct Object {
    path: Box<str>,
    namespace_length: u32,
    /// The revision of the write that made this version.
    pub revision: u64,
    /// The revision at which the object was created.
    pub created_revision: u64,
    /// The object as it goes over the wire.
    pub bytes: Bytes,
    /// What selectors ask for.
    pub meta: Meta,
}

impl Object {
    pub(super) fn new(path: &str, revision: u64, created_revision: u64, bytes: &[u8], meta: Meta) -> Self {
        let namespace_length = path.find('/').unwrap_or(0) as u32;
        // Copied, since what encoders hand over is often a buffer with room to spare, and it is kept for long.
        let bytes = Bytes::copy_from_slice(bytes);
        Self { path: path.into(), namespace_length, revision, created_revision, bytes, meta }
    }

    /// The namespace; empty for cluster-scoped objects.
    pub fn namespace(&self) -> &str {
        self.path.get(..self.namespace_length as usize).unwrap_or("")
    }

    /// The name.
    pub fn name(&self) -> &str {
        match self.namespace_length {
            0 => &self.path,
            length => self.path.get(length as usize + 1..).unwrap_or(""),
        }
    }

    /// `namespace/name`, or only the name: what lists are ordered by.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// About how much memory this version holds.
    pub(super) fn weight(&self) -> usize {
        self.bytes.len() + self.path.len() + self.meta.text.len() + 4 * self.meta.ends.len() + size_of::<Self>() + 64
    }
}

/// `namespace/name`, or only the name. Objects are ordered by this string and not by the pair, because that is the order of etcd's
/// keys, and so of upstream's lists: `a-b/x` comes before `a/x`.
pub(super) fn path_of(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

/// An object in the ordered set of a resource: found by its path, which it does not hold a second time.
#[derive(Debug, Clone)]
pub(super) struct ByPath(pub(super) Arc<Object>);

impl Borrow<str> for ByPath {
    fn borrow(&self) -> &str {
        &self.0.path
    }
}

impl PartialEq for ByPath {
    fn eq(&self, other: &Self) -> bool {
        self.0.path == other.0.path
    }
}

impl Eq for ByPath {}

impl PartialOrd for ByPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByPath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.path.cmp(&other.0.path)
    }
}

/// What a write did to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// It was not there before.
    Added,
    /// It was there before.
    Modified,
    /// It is gone.
    Deleted,
}

/// One change of one object.
#[derive(Debug)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// The object afterwards; for a deletion its last state, stamped with the deletion's revision.
    pub object: Arc<Object>,
    /// The object before; none when it was created.
    pub previous: Option<Arc<Object>>,
}

impl Event {
    /// The revision of the write.
    pub fn revision(&self) -> u64 {
        self.object.revision
    }

    /// About how much memory only this event may hold.
    pub(super) fn weight(&self) -> usize {
        self.object.weight() + 64
    }
}
