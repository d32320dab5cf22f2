//! What a caller asks to be written, and what it is told.

use std::sync::Arc;

use bytes::Bytes;

use super::object::{Meta, Object, ResourceKey, path_of};

/// Encodes an object for the revision it gets.
pub type Encode = Box<dyn FnOnce(u64) -> (Bytes, Meta) + Send>;
/// Encodes the last state of a deleted object for the revision of its deletion.
pub type EncodeFinal = Box<dyn FnOnce(u64) -> Bytes + Send>;

/// Changes that happen together or not at all.
#[derive(Default)]
pub struct Write {
    pub(super) changes: Vec<Change>,
}

impl Write {
    /// A write of one change.
    pub fn one(change: Change) -> Self {
        Self { changes: vec![change] }
    }

    /// Adds a change. Later changes see what earlier ones of the same write did.
    pub fn and(mut self, change: Change) -> Self {
        self.changes.push(change);
        self
    }
}

impl From<Change> for Write {
    fn from(change: Change) -> Self {
        Self::one(change)
    }
}

/// One change of one object.
pub struct Change {
    pub(super) resource: ResourceKey,
    pub(super) namespace: Box<str>,
    pub(super) name: Box<str>,
    pub(super) expect: Expect,
    pub(super) action: Action,
}

pub(super) enum Action {
    Put(Encode),
    Delete(EncodeFinal),
}

/// What must hold for a change to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// The object is not there.
    Absent,
    /// The object is there, last written at this revision.
    Revision(u64),
    /// Nothing. A deletion still needs an object to delete.
    Any,
}

impl Change {
    /// Creates or replaces an object. `encode` is called once with the revision the object gets, on the thread that writes, so it
    /// should do no more than stamp and serialise.
    pub fn put(
        resource: &ResourceKey,
        namespace: &str,
        name: &str,
        expect: Expect,
        encode: impl FnOnce(u64) -> (Bytes, Meta) + Send + 'static,
    ) -> Self {
        Self::new(resource, namespace, name, expect, Action::Put(Box::new(encode)))
    }

    /// Deletes an object. `encode` makes its last state, which watchers are sent, for the revision of the deletion.
    pub fn delete(
        resource: &ResourceKey,
        namespace: &str,
        name: &str,
        expect: Expect,
        encode: impl FnOnce(u64) -> Bytes + Send + 'static,
    ) -> Self {
        Self::new(resource, namespace, name, expect, Action::Delete(Box::new(encode)))
    }

    fn new(resource: &ResourceKey, namespace: &str, name: &str, expect: Expect, action: Action) -> Self {
        Self { resource: resource.clone(), namespace: namespace.into(), name: name.into(), expect, action }
    }

    /// The key within the resource, or nothing if it is one that could not be told from another's.
    pub(super) fn path(&self) -> Option<String> {
        let clean = |text: &str| !text.contains(['/', '\0']);
        let named = !self.name.is_empty() && !self.resource.is_empty() && !self.resource.contains('\0');
        (named && clean(&self.namespace) && clean(&self.name)).then(|| path_of(&self.namespace, &self.name))
    }
}

/// What a successful write did.
#[derive(Debug, Clone)]
pub struct Written {
    /// One per change, in order: the object as stored, or its last state if it was deleted.
    pub objects: Vec<Arc<Object>>,
}

impl Written {
    /// The only object, or the last.
    pub fn object(&self) -> Option<&Arc<Object>> {
        self.objects.last()
    }

    /// The revision of the last change; 0 if there was none.
    pub fn revision(&self) -> u64 {
        self.objects.last().map_or(0, |object| object.revision)
    }
}

/// Why nothing was written.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    /// What the change at this place expected does not hold.
    #[error("change {change}: {}", describe(current.as_deref()))]
    Conflict {
        /// Which change.
        change: usize,
        /// The object as it is.
        current: Option<Arc<Object>>,
    },
    /// The key cannot be stored: it has no name, or contains a slash or NUL.
    #[error("the key {resource} {namespace}/{name} cannot be stored")]
    Key {
        /// The resource.
        resource: ResourceKey,
        /// The namespace.
        namespace: Box<str>,
        /// The name.
        name: Box<str>,
    },
    /// The caller's encoder panicked; nothing was written.
    #[error("the object could not be encoded")]
    Encode,
    /// The disk refused, and whether this write will be there after a restart is not known. The store takes no more writes.
    #[error("the store cannot write and takes no more changes until it is restarted: {0}")]
    Failed(Arc<str>),
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

fn describe(current: Option<&Object>) -> String {
    match current {
        Some(object) => format!("{} is at revision {}", object.path(), object.revision),
        None => "the object does not exist".to_owned(),
    }
}
