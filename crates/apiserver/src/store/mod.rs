//! The durable, revisioned object store with watch history: see [`Store`].
//!
//! All objects are in memory, encoded; the file is read only when a store is opened. A data folder holds
//!
//! | file | what | if it is lost |
//! | --- | --- | --- |
//! | `store.redb` | the objects, the last revision, the last revision of each resource | the cluster is empty |
//! | `high-water` | the last acknowledged revision, to find out that a disk has lost what it said it had | that goes unnoticed |
//! | `lock` | held by the process that uses the folder, with its pid | made anew |
//! | `store.redb.new` | a store that is being made, or whose making was cut short | made anew |
//!
//! History (for watches that resume and lists that continue) is only in memory. After a restart a watch goes on if its resource did
//! not change since; otherwise it is too old, and its client lists again.

mod change;
mod disk;
#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod faults;
mod folder;
#[cfg(test)]
mod model_tests;
mod object;
mod open;
mod resource;
mod shared;
mod stage;
#[cfg(test)]
mod tests;
mod watch;
mod writer;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

pub use change::{Change, Encode, EncodeFinal, Expect, Write, WriteError, Written};
pub use object::{Event, EventKind, Meta, Object, ResourceKey};
pub use open::{Note, OpenError, Opened};
pub use watch::{Batch, Watcher};

use folder::Folder;
use object::path_of;
use shared::Shared;
use stage::Stage;
use writer::Writer;

/// Finds out what selectors ask for from an encoded object of a resource. Called for every object when a store is opened, since only
/// the encoded objects are kept on disk.
pub type Describe = dyn Fn(&str, &[u8]) -> Meta + Send + Sync;

/// How much of the past each resource remembers, for watches that resume and lists that continue.
#[derive(Debug, Clone, Copy)]
pub struct HistoryLimits {
    /// How many events.
    pub events: usize,
    /// About how many bytes of objects these events may hold.
    pub bytes: usize,
}

impl Default for HistoryLimits {
    /// Some seconds of the busiest resource at full speed, hours of an ordinary one; at most 32 MiB for each resource.
    fn default() -> Self {
        Self { events: 65_536, bytes: 32 << 20 }
    }
}

/// Objects by resource, namespace and name; every change of any object has its own revision, one higher than the last.
///
/// ```text
///               queue (bounded)          writer thread                         memory
///  write() ──► ▢▢▢▢▢▢▢▢ ──► stage ───────────────► commit ─────────► publish ─────────► acknowledge
///                            takes all that waits,   one redb           resources, then     write() returns
///                            checks expectations,    transaction,       the revision,
///                            gives revisions,        one fsync          then watchers
///                            encodes                    │               are woken
///                                                       │ the disk refuses
///                                                       ▼
///                                                    stopped: this batch and all later writes fail, reads go on
/// ```
/// - Nothing is visible before it is durable, and nothing is acknowledged before it is visible: a caller reads its own writes.
/// - Only the writer takes these arrows, so stage → publish needs no lock beyond those of each resource, and readers never wait for
///   the disk.
/// - While one batch is flushed the next one gathers; that is the whole group commit.
/// - In memory the same stage → publish runs inside `write()` itself, at its first poll and without a thread, so that a process on
///   one thread behaves the same every time.
///
/// Clones share the store. Dropping the last one blocks until what is queued is finished and the data folder is free again;
/// [`Store::close`] does the same without blocking.
#[derive(Debug, Clone)]
pub struct Store {
    shared: Arc<Shared>,
    sink: Arc<Sink>,
}

#[derive(Debug)]
enum Sink {
    /// Holds who stages and publishes; and the folder, if one is taken.
    Memory(Mutex<Option<Folder>>),
    Disk(Writer),
}

/// Which objects a list asks for.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListRequest<'a> {
    /// Only of this namespace; none (or the empty one) for all.
    pub namespace: Option<&'a str>,
    /// Only those after this namespace and name.
    pub start_after: Option<(&'a str, &'a str)>,
    /// At most so many.
    pub limit: Option<usize>,
    /// As they were at exactly this revision; none for now.
    pub at: Option<u64>,
}

/// Objects at one revision.
#[derive(Debug, Clone)]
pub struct List {
    /// The revision: a watch from it continues this list without gap or repetition.
    pub revision: u64,
    /// Ordered as upstream's lists are.
    pub items: Vec<Arc<Object>>,
    /// There are objects behind the last one. With a filter they may all turn out to be unwanted, as upstream has it.
    pub more: bool,
    /// How many are left behind the last one; only known if a limit was reached and there was no filter.
    pub remaining: Option<usize>,
}

/// A revision that cannot be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RevisionError {
    /// The history does not reach back so far.
    #[error("the revision is too old; the oldest known is {oldest}")]
    TooOld {
        /// The oldest revision that can be asked for.
        oldest: u64,
    },
    /// There has been no such revision yet.
    #[error("there is no such revision yet; the newest is {current}")]
    Future {
        /// The newest revision.
        current: u64,
    },
}

impl Store {
    /// An empty store that lasts as long as the process. `write` acts at once when it is polled.
    pub fn in_memory(limits: HistoryLimits) -> Self {
        let shared = Arc::new(Shared::new(Default::default(), 0, 0, limits));
        Self { shared, sink: Arc::new(Sink::Memory(Mutex::default())) }
    }

    /// The same, with a data folder that is nobody else's as long: what is kept in it beside the store has one owner.
    pub fn in_memory_at(folder: &Path, limits: HistoryLimits) -> Result<Self, OpenError> {
        let taken = Folder::take(folder)?;
        let shared = Arc::new(Shared::new(Default::default(), 0, 0, limits));
        Ok(Self { shared, sink: Arc::new(Sink::Memory(Mutex::new(Some(taken)))) })
    }

    /// Makes changes, all or none, and answers when they are durable and visible.
    ///
    /// The future may be dropped; whether the changes are made is then not known.
    pub async fn write(&self, write: impl Into<Write>) -> Result<Written, WriteError> {
        match &*self.sink {
            Sink::Memory(turn) => self.write_in_memory(turn, write.into()),
            Sink::Disk(writer) => writer.write(&self.shared, write.into()).await,
        }
    }

    fn write_in_memory(&self, turn: &Mutex<Option<Folder>>, write: Write) -> Result<Written, WriteError> {
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = self.shared.stopped() {
            return Err(why);
        }
        let mut stage = Stage::new(&self.shared);
        let written = stage.add(write)?;
        stage.publish();
        Ok(written)
    }

    /// The object, if it is there.
    pub fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Object>> {
        self.shared.get(resource, &path_of(namespace, name))
    }

    /// The objects asked for.
    pub fn list(&self, resource: &str, request: &ListRequest<'_>) -> Result<List, RevisionError> {
        self.list_where(resource, request, None)
    }

    /// The objects asked for that `wanted` accepts. It runs while writers wait, so it should only look at [`Object::meta`] and the
    /// name.
    pub fn list_filtered(
        &self,
        resource: &str,
        request: &ListRequest<'_>,
        mut wanted: impl FnMut(&Object) -> bool,
    ) -> Result<List, RevisionError> {
        self.list_where(resource, request, Some(&mut wanted))
    }

    fn list_where(
        &self,
        resource: &str,
        request: &ListRequest<'_>,
        wanted: Option<&mut dyn FnMut(&Object) -> bool>,
    ) -> Result<List, RevisionError> {
        let published = self.revision();
        match self.shared.find(resource) {
            Some(resource) => resource.list(request, published, wanted),
            None => {
                let revision = request.at.unwrap_or(published);
                if revision > published {
                    return Err(RevisionError::Future { current: published });
                }
                if revision < self.shared.floor() {
                    return Err(RevisionError::TooOld { oldest: self.shared.floor() });
                }
                Ok(List { revision, items: Vec::new(), more: false, remaining: None })
            }
        }
    }

    /// Follows a resource: every event after `from`, which is a list's revision or that of the last event or bookmark seen.
    pub fn watch(&self, resource: &ResourceKey, from: u64) -> Result<Watcher, RevisionError> {
        let published = self.revision();
        let resource = self.shared.resource(resource);
        resource.check_start(from, published)?;
        Ok(Watcher::new(self.shared.clone(), resource, from))
    }

    /// How many objects a resource has.
    pub fn count(&self, resource: &str) -> usize {
        self.shared.find(resource).map_or(0, |resource| resource.count())
    }

    /// The revision of the last change.
    pub fn revision(&self) -> u64 {
        self.shared.revision()
    }

    /// Every resource that was ever written or watched.
    pub fn resources(&self) -> Vec<ResourceKey> {
        self.shared.names()
    }

    /// Why the store takes no more writes, if it does not.
    pub fn stopped(&self) -> Option<WriteError> {
        self.shared.stopped()
    }

    /// Done when the store takes no more writes: with [`WriteError::Failed`] where the disk refused one.
    pub async fn stopping(&self) -> WriteError {
        self.shared.stopping().await
    }

    /// Finishes the writes that wait, closes the file and gives the data folder free. Later writes are refused, reads still work.
    pub async fn close(&self) {
        match &*self.sink {
            Sink::Memory(folder) => {
                self.shared.stop(WriteError::Closed);
                drop(folder.lock().unwrap_or_else(PoisonError::into_inner).take());
            }
            Sink::Disk(writer) => writer.close().await,
        }
    }
}
