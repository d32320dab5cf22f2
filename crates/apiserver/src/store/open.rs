//! Opening a data folder.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::{self, Disk, Loaded};
use super::folder::{Folder, HighWater};
use super::shared::Shared;
use super::writer::Writer;
use super::{Describe, HistoryLimits, Sink, Store};

/// How many revisions are left out after a lost flush: what was acknowledged after the note of the last acknowledged revision was
/// itself last flushed might have got higher ones.
const LEFT_OUT: u64 = 1 << 20;

/// A store that was opened, and what its user should know about it.
#[derive(Debug)]
pub struct Opened {
    /// The store.
    pub store: Store,
    /// What is worth saying; usually nothing.
    pub notes: Vec<Note>,
}

/// Something about an opened store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Note {
    /// Writes that were acknowledged are not there, although the disk had said that it has them.
    #[error(
        "the store opened at revision {opened_at}, older than the last acknowledged {acknowledged}: a disk lied about a flush, \
         or an older copy of the file was put back; what was written in between is lost, and revisions go on after \
         {continues_after}"
    )]
    LostFlush {
        /// The newest revision found.
        opened_at: u64,
        /// The newest revision acknowledged.
        acknowledged: u64,
        /// No revision up to this one is given again.
        continues_after: u64,
    },
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it.
    #[error(
        "the data folder {} is in use by another plimsoll process{}; stop it or choose another --data-dir",
        path.display(),
        match pid { Some(pid) => format!(" (pid {pid})"), None => String::new() }
    )]
    InUse {
        /// The folder.
        path: PathBuf,
        /// The process, if known.
        pid: Option<u32>,
    },
    /// The folder or a file in it cannot be used.
    #[error("the data folder cannot be used: {}: {error}", path.display())]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// The file does not hold what it should.
    #[error(
        "the store {} is damaged: {detail}; restore it from a backup, or move it away to start with an empty cluster",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        detail: String,
    },
    /// The file was written by another version.
    #[error(
        "the store has layout {found}, this version knows layout {known}: use the version that wrote it, or another --data-dir"
    )]
    Schema {
        /// The file's layout.
        found: u64,
        /// Ours.
        known: u64,
    },
}

impl OpenError {
    /// The path is filled in by [`Self::of`].
    pub(super) fn damaged(detail: String) -> Self {
        Self::Damaged { path: PathBuf::new(), detail }
    }

    pub(super) fn from_database(error: redb::DatabaseError) -> Self {
        match error {
            redb::DatabaseError::DatabaseAlreadyOpen => Self::InUse { path: PathBuf::new(), pid: None },
            other => Self::reading(other),
        }
    }

    pub(super) fn reading(error: impl Into<redb::Error>) -> Self {
        use std::io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        match error.into() {
            // redb says that a file is none of its own in these words of std.
            redb::Error::Io(error) if !matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof) => {
                Self::Io { path: PathBuf::new(), error }
            }
            other => Self::damaged(other.to_string()),
        }
    }

    fn of(mut self, folder: &Path, file: &Path) -> Self {
        match &mut self {
            Self::InUse { path, .. } if path.as_os_str().is_empty() => *path = folder.to_owned(),
            Self::Io { path, .. } | Self::Damaged { path, .. } if path.as_os_str().is_empty() => {
                *path = file.to_owned()
            }
            _ => {}
        }
        self
    }
}

impl Store {
    /// Opens the store in a data folder, which is made if it is not there. Blocks until all objects are in memory.
    pub fn open(folder: &Path, limits: HistoryLimits, describe: &Describe) -> Result<Opened, OpenError> {
        let taken = Folder::take(folder)?;
        let path = taken.store_path();
        let named = |error: OpenError| error.of(folder, &path);
        let open = |file: File| {
            let length = file.metadata().map_err(|error| OpenError::Io { path: path.clone(), error })?.len();
            disk::open(|builder| builder.create_file(file), length, describe).map_err(named)
        };
        let file = taken.store(|file| open(file).map(drop))?;
        let high_water = taken.high_water()?;
        let (disk, loaded) = open(file)?;
        start(disk, loaded, Box::new(high_water), Some(taken), limits).map_err(named)
    }

    /// Opens a store on another kind of disk.
    #[cfg(test)]
    pub(super) fn open_backend(
        backend: impl redb::StorageBackend,
        high_water: Box<dyn HighWater>,
        limits: HistoryLimits,
        describe: &Describe,
    ) -> Result<Opened, OpenError> {
        let (disk, loaded) = disk::open(|builder| builder.create_with_backend(backend), 0, describe)?;
        start(disk, loaded, high_water, None, limits)
    }
}

fn start(
    mut disk: Disk,
    mut loaded: Loaded,
    high_water: Box<dyn HighWater>,
    folder: Option<Folder>,
    limits: HistoryLimits,
) -> Result<Opened, OpenError> {
    let opened_at = loaded.revision;
    let acknowledged = high_water.read();
    let mut notes = Vec::new();
    if opened_at < acknowledged {
        // What watchers have seen may never have been: nobody resumes from before, now or after further restarts.
        let anew = acknowledged + LEFT_OUT;
        disk.begin_anew(anew)?;
        (loaded.revision, loaded.floor) = (anew, anew);
        let note = Note::LostFlush { opened_at, acknowledged, continues_after: anew };
        tracing::warn!("{note}");
        notes.push(note);
    }
    let (revision, floor) = (loaded.revision, loaded.floor);
    let shared = Arc::new(Shared::new(loaded.resources(), revision, floor, limits));
    let writer = Writer::start(shared.clone(), disk, high_water, folder)
        .map_err(|error| OpenError::Io { path: "the writer thread".into(), error })?;
    Ok(Opened { store: Store { shared, sink: Arc::new(Sink::Disk(writer)) }, notes })
}
