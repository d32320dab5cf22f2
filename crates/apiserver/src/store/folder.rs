//! The data folder: who may use it, and the note of what was acknowledged.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::OpenError;

/// The objects.
const STORE: &str = "store.redb";
/// The objects, while the file is made.
const UNFINISHED: &str = "store.redb.new";
/// Held while a process uses the folder; says which.
const LOCK: &str = "lock";
/// See [`HighWater`].
const HIGH_WATER: &str = "high-water";

/// A folder that only this process uses, until this is dropped.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Closing it gives the folder free, also when the process is killed.
    _lock: File,
}

impl Folder {
    /// Makes the folder if need be and takes it, or says who has it.
    pub(super) fn take(path: &Path) -> Result<Self, OpenError> {
        let failed = |error| OpenError::Io { path: path.to_owned(), error };
        let existed = path.is_dir();
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        if !existed && let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            sync_folder(parent).map_err(failed)?;
        }
        let mut lock = private(path.join(LOCK)).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                // The holder may be about to write it; then the message does without.
                let _ = lock.read_to_string(&mut pid);
                return Err(OpenError::InUse { path: path.to_owned(), pid: pid.trim().parse().ok() });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        lock.set_len(0).map_err(failed)?;
        lock.seek(SeekFrom::Start(0)).map_err(failed)?;
        writeln!(lock, "{}", std::process::id()).map_err(failed)?;
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    /// The store's file. If there is none, `make` fills a new one under another name first, so that a process that dies while it
    /// does so leaves no half-made store.
    pub(super) fn store(&self, make: impl FnOnce(File) -> Result<(), OpenError>) -> Result<File, OpenError> {
        let (path, unfinished) = (self.store_path(), self.path.join(UNFINISHED));
        let failed = |error| OpenError::Io { path: path.clone(), error };
        if !path.try_exists().map_err(failed)? {
            let file = private(unfinished.clone()).map_err(failed)?;
            file.set_len(0).map_err(failed)?;
            make(file)?;
            std::fs::rename(&unfinished, &path).map_err(failed)?;
            sync_folder(&self.path).map_err(failed)?;
        }
        private(path.clone()).map_err(failed)
    }

    pub(super) fn store_path(&self) -> PathBuf {
        self.path.join(STORE)
    }

    pub(super) fn high_water(&self) -> Result<FileHighWater, OpenError> {
        let path = self.path.join(HIGH_WATER);
        let file = private(path.clone()).map_err(|error| OpenError::Io { path, error })?;
        Ok(FileHighWater { file, unsynced: 0, broken: false })
    }
}

fn private(path: PathBuf) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn sync_folder(path: &Path) -> std::io::Result<()> {
    File::open(path)?.sync_all()
}

/// Remembers the last revision that was acknowledged, apart from the store: if the store opens at an older one, the disk has lost
/// what it said it had.
pub(super) trait HighWater: Send + std::fmt::Debug {
    /// The last revision noted; 0 if none is.
    fn read(&self) -> u64;
    /// Notes that revisions up to this one are about to be acknowledged.
    fn note(&mut self, revision: u64);
    /// Makes the note durable.
    fn sync(&mut self);
}

/// How many batches the note may run ahead of its own fsync. It survives the death of the process without one; the fsync is for
/// the death of the machine, and costs as much as a batch.
const SYNC_EVERY: u32 = 256;
/// Makes a torn or foreign note recognisable.
const SEAL: u64 = 0x706c_696d_736f_6c6c;

#[derive(Debug)]
pub(super) struct FileHighWater {
    file: File,
    unsynced: u32,
    broken: bool,
}

impl HighWater for FileHighWater {
    fn read(&self) -> u64 {
        let mut note = [0; 16];
        match self.file.read_exact_at(&mut note, 0) {
            Ok(()) => {
                let number = u128::from_le_bytes(note);
                let (revision, seal) = (number as u64, (number >> 64) as u64);
                if revision.rotate_left(17) ^ SEAL == seal { revision } else { 0 }
            }
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => 0,
            Err(error) => {
                tracing::warn!(%error, "the note of the last acknowledged revision cannot be read");
                0
            }
        }
    }

    fn note(&mut self, revision: u64) {
        let seal = revision.rotate_left(17) ^ SEAL;
        let note = u128::from(revision) | u128::from(seal) << 64;
        if let Err(error) = self.file.write_all_at(&note.to_le_bytes(), 0)
            && !std::mem::replace(&mut self.broken, true)
        {
            // The store itself is well: only a lost flush would now go unnoticed.
            tracing::warn!(%error, "the last acknowledged revision cannot be noted");
        }
        self.unsynced += 1;
        if self.unsynced >= SYNC_EVERY {
            self.sync();
        }
    }

    fn sync(&mut self) {
        self.unsynced = 0;
        if let Err(error) = self.file.sync_data()
            && !std::mem::replace(&mut self.broken, true)
        {
            tracing::warn!(%error, "the last acknowledged revision cannot be flushed");
        }
    }
}
