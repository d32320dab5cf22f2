//! The file: which tables it has, how objects stand in it, how it is read at the start and written afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, TableError};

use super::object::{ByPath, Meta, Object, ResourceKey};
use super::resource::Resource;
use super::stage::Stage;
use super::{Describe, OpenError};

/// `resource NUL path` to [`HEADER`] and the encoded object.
const OBJECTS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("objects");
/// Numbers: [`SCHEMA`], [`REVISION`], [`FLOOR`], and per resource [`LAST`].
const STATE: TableDefinition<'_, &str, u64> = TableDefinition::new("state");
/// Which layout the file has.
const SCHEMA: &str = "schema";
/// The last revision committed.
const REVISION: &str = "revision";
/// Where history begins anew after a lost flush.
const FLOOR: &str = "floor";
/// Followed by a resource: the revision of its last event. With it a watch of a resource that did not change resumes over a restart.
const LAST: &str = "last/";
/// The layout this code writes.
const KNOWN_SCHEMA: u64 = 1;
/// Revision and creation revision before each object, little endian.
const HEADER: usize = 16;
/// Everything is in memory, so the file's pages are only needed on the way in and for the upper levels of the tree.
const CACHE: usize = 16 << 20;
/// A file is rewritten at the start if it is larger than this and four times larger than what it holds.
const WORTH_COMPACTING: u64 = 64 << 20;

/// The open file.
#[derive(Debug)]
pub(super) struct Disk {
    database: Database,
    scratch: Vec<u8>,
}

/// What the file held.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) objects: BTreeMap<ResourceKey, BTreeSet<ByPath>>,
    pub(super) last: BTreeMap<ResourceKey, u64>,
    pub(super) revision: u64,
    pub(super) floor: u64,
}

impl Loaded {
    /// The resources, able to answer from their last event on, or only from `floor` on if that is later.
    pub(super) fn resources(self) -> BTreeMap<ResourceKey, Arc<Resource>> {
        let Self { mut objects, last, floor, .. } = self;
        for resource in last.keys() {
            objects.entry(resource.clone()).or_default();
        }
        let reaches = |resource: &ResourceKey| last.get(resource).copied().unwrap_or(0).max(floor);
        objects.into_iter().map(|(name, set)| (name.clone(), Arc::new(Resource::new(set, reaches(&name))))).collect()
    }
}

/// Opens the file with `make`, and reads it whole; `length` is the file's.
///
/// A damaged file is an error. redb checks what it reads, but not everywhere before it uses it, so a panic of its is one too.
pub(super) fn open(
    make: impl FnOnce(&mut redb::Builder) -> Result<Database, redb::DatabaseError>,
    length: u64,
    describe: &Describe,
) -> Result<(Disk, Loaded), OpenError> {
    let attempt = catch_unwind(AssertUnwindSafe(|| {
        let mut builder = Database::builder();
        builder.set_cache_size(CACHE);
        let mut database = make(&mut builder).map_err(OpenError::from_database)?;
        prepare(&database)?;
        let (loaded, bytes) = load(&database, describe)?;
        if length > WORTH_COMPACTING && length / 4 > bytes {
            database.compact().map_err(|error| OpenError::damaged(error.to_string()))?;
        }
        Ok((Disk { database, scratch: Vec::new() }, loaded))
    }));
    attempt.unwrap_or_else(|_| Err(OpenError::damaged("reading it failed inside the storage library".into())))
}

/// Makes the tables of an empty file, and refuses one with a layout this code does not know.
fn prepare(database: &Database) -> Result<(), OpenError> {
    let found = {
        let transaction = database.begin_read().map_err(OpenError::reading)?;
        match transaction.open_table(STATE) {
            Ok(table) => table.get(SCHEMA).map_err(OpenError::reading)?.map(|schema| schema.value()),
            Err(TableError::TableDoesNotExist(_)) => None,
            Err(error) => return Err(OpenError::reading(error)),
        }
    };
    match found {
        Some(KNOWN_SCHEMA) => return Ok(()),
        Some(found) => return Err(OpenError::Schema { found, known: KNOWN_SCHEMA }),
        None => {}
    }
    let transaction = database.begin_write().map_err(OpenError::reading)?;
    {
        transaction.open_table(OBJECTS).map_err(OpenError::reading)?;
        let mut state = transaction.open_table(STATE).map_err(OpenError::reading)?;
        state.insert(SCHEMA, KNOWN_SCHEMA).map_err(OpenError::reading)?;
    }
    transaction.commit().map_err(OpenError::reading)
}

/// All objects and how many bytes they have.
fn load(database: &Database, describe: &Describe) -> Result<(Loaded, u64), OpenError> {
    let transaction = database.begin_read().map_err(OpenError::reading)?;
    let mut loaded = Loaded { objects: BTreeMap::new(), last: BTreeMap::new(), revision: 0, floor: 0 };
    let state = transaction.open_table(STATE).map_err(OpenError::reading)?;
    for entry in state.iter().map_err(OpenError::reading)? {
        let (key, value) = entry.map_err(OpenError::reading)?;
        match key.value() {
            REVISION => loaded.revision = value.value(),
            FLOOR => loaded.floor = value.value(),
            key => {
                if let Some(resource) = key.strip_prefix(LAST) {
                    loaded.last.insert(resource.into(), value.value());
                }
            }
        }
    }
    let mut bytes = 0;
    let mut rows: Vec<(ResourceKey, Object)> = Vec::new();
    let objects = transaction.open_table(OBJECTS).map_err(OpenError::reading)?;
    for entry in objects.iter().map_err(OpenError::reading)? {
        let (key, value) = entry.map_err(OpenError::reading)?;
        bytes += (key.value().len() + value.value().len()) as u64;
        let (resource, object) = decode(key.value(), value.value())
            .ok_or_else(|| OpenError::damaged(format!("the entry {} is cut short", key.value().escape_ascii())))?;
        if object.revision > loaded.revision {
            return Err(OpenError::damaged(format!("{} is newer than the store", object.path())));
        }
        let resource = match rows.last() {
            Some((last, _)) if **last == *resource => last.clone(),
            _ => resource.into(),
        };
        rows.push((resource, object));
    }
    describe_all(&mut rows, describe);
    let mut rows = rows.into_iter().peekable();
    while let Some((resource, first)) = rows.next() {
        let mut set = vec![ByPath(Arc::new(first))];
        while let Some((_, object)) = rows.next_if(|(next, _)| *next == resource) {
            set.push(ByPath(Arc::new(object)));
        }
        loaded.objects.insert(resource, set.into_iter().collect());
    }
    Ok((loaded, bytes))
}

/// Fills in what selectors ask for, on all processors: with many objects this is most of the time until a server is ready.
fn describe_all(rows: &mut [(ResourceKey, Object)], describe: &Describe) {
    const WORTH_A_THREAD: usize = 1000;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let part = rows.len().div_ceil(processors).max(WORTH_A_THREAD);
    std::thread::scope(|scope| {
        for part in rows.chunks_mut(part) {
            scope.spawn(move || {
                for (resource, object) in part {
                    object.meta = describe(resource, &object.bytes);
                }
            });
        }
    });
}

/// An object without what selectors ask for.
fn decode<'a>(key: &'a [u8], value: &[u8]) -> Option<(&'a str, Object)> {
    let (resource, path) = std::str::from_utf8(key).ok()?.split_once('\0')?;
    let (header, bytes) = value.split_at_checked(HEADER)?;
    let (revision, created) = header.split_at_checked(8)?;
    let revision = u64::from_le_bytes(revision.try_into().ok()?);
    let created = u64::from_le_bytes(created.try_into().ok()?);
    Some((resource, Object::new(path, revision, created, bytes, Meta::default())))
}

impl Disk {
    /// Notes that history begins anew at this revision.
    pub(super) fn begin_anew(&mut self, revision: u64) -> Result<(), OpenError> {
        let transaction = self.database.begin_write().map_err(OpenError::reading)?;
        {
            let mut state = transaction.open_table(STATE).map_err(OpenError::reading)?;
            state.insert(REVISION, revision).map_err(OpenError::reading)?;
            state.insert(FLOOR, revision).map_err(OpenError::reading)?;
        }
        transaction.commit().map_err(OpenError::reading)
    }

    /// Writes what is staged as one transaction and waits until the disk has it. After an error the outcome is not known and the
    /// file must not be written again before it was opened anew.
    pub(super) fn commit(&mut self, stage: &Stage<'_>) -> Result<(), Arc<str>> {
        catch_unwind(AssertUnwindSafe(|| self.try_commit(stage)))
            .unwrap_or_else(|_| Err("the storage library failed".into()))
    }

    fn try_commit(&mut self, stage: &Stage<'_>) -> Result<(), Arc<str>> {
        let Self { database, scratch } = self;
        // redb's default durability: commit returns after the fsync.
        let transaction = database.begin_write().map_err(in_words)?;
        {
            let mut objects = transaction.open_table(OBJECTS).map_err(in_words)?;
            let mut key = Vec::new();
            for (resource, path, object) in stage.states() {
                key.clear();
                key.extend_from_slice(resource.as_bytes());
                key.push(0);
                key.extend_from_slice(path.as_bytes());
                match object {
                    Some(object) => {
                        scratch.clear();
                        scratch.extend_from_slice(&object.revision.to_le_bytes());
                        scratch.extend_from_slice(&object.created_revision.to_le_bytes());
                        scratch.extend_from_slice(&object.bytes);
                        objects.insert(key.as_slice(), scratch.as_slice()).map_err(in_words)?;
                    }
                    None => {
                        objects.remove(key.as_slice()).map_err(in_words)?;
                    }
                }
            }
            let mut state = transaction.open_table(STATE).map_err(in_words)?;
            state.insert(REVISION, stage.revision()).map_err(in_words)?;
            for (resource, revision) in stage.last_revisions() {
                state.insert(format!("{LAST}{resource}").as_str(), revision).map_err(in_words)?;
            }
        }
        transaction.commit().map_err(in_words)
    }
}

fn in_words(error: impl Into<redb::Error>) -> Arc<str> {
    error.into().to_string().into()
}
