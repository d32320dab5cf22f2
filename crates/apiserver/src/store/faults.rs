//! A disk for tests that dies in the middle of a write, or says that it has flushed when it has not.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use rand::Rng;
use rand::rngs::SmallRng;

use super::folder::HighWater;

/// Writes are torn between sectors, as disks do it.
const SECTOR: usize = 512;

/// What becomes of writes that were not flushed when the machine dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    /// All are lost: a cache without battery.
    All,
    /// They reached the disk in order, up to some point in the middle of one.
    Tail,
    /// Any sectors of any of them are lost.
    Any,
}

#[derive(Debug, Clone)]
enum Pending {
    Write(usize, Vec<u8>),
    Length(usize),
}

#[derive(Debug, Default)]
struct Platter {
    /// What is there after a power cut.
    durable: Vec<u8>,
    /// What the process sees.
    seen: Vec<u8>,
    pending: Vec<Pending>,
    operations: u64,
    dies_at: Option<u64>,
    dead: bool,
    lies: bool,
}

/// The disk. Clones are the same disk.
#[derive(Debug, Clone, Default)]
pub(super) struct FaultyDisk(Arc<Mutex<Platter>>);

impl FaultyDisk {
    fn platter(&self) -> MutexGuard<'_, Platter> {
        self.0.lock().unwrap()
    }

    /// How many writes, flushes and changes of length there were.
    pub(super) fn operations(&self) -> u64 {
        self.platter().operations
    }

    /// No operation works from now on.
    pub(super) fn die(&self) {
        let mut platter = self.platter();
        (platter.dead, platter.dies_at) = (true, Some(0));
    }

    /// Lets this operation fail, and every one after it.
    pub(super) fn die_at(&self, operation: u64) {
        self.platter().dies_at = Some(operation);
    }

    /// From now on flushes are acknowledged and not made (or are made again).
    pub(super) fn lie(&self, lies: bool) {
        self.platter().lies = lies;
    }

    /// The disk as it is after a power cut.
    pub(super) fn after_power_cut(&self, loss: Loss, random: &mut SmallRng) -> Self {
        let platter = self.platter();
        let mut bytes = platter.durable.clone();
        let kept = match loss {
            Loss::All => 0,
            Loss::Tail => random.random_range(0..=platter.pending.len()),
            Loss::Any => platter.pending.len(),
        };
        for (index, pending) in platter.pending.iter().take(kept).enumerate() {
            match pending {
                Pending::Length(length) => {
                    // A file system's journal keeps a truncation behind the writes before it, so with some of those lost it is
                    // lost too.
                    if loss == Loss::Tail || *length > bytes.len() {
                        bytes.resize(*length, 0);
                    }
                }
                Pending::Write(offset, data) => {
                    let torn = if loss == Loss::Tail && index + 1 == kept {
                        random.random_range(0..=data.len().div_ceil(SECTOR))
                    } else {
                        usize::MAX
                    };
                    for (sector, part) in data.chunks(SECTOR).enumerate().take(torn) {
                        if loss == Loss::Tail || random.random_bool(0.7) {
                            put(&mut bytes, offset + sector * SECTOR, part);
                        }
                    }
                }
            }
        }
        Self(Arc::new(Mutex::new(Platter { seen: bytes.clone(), durable: bytes, ..Platter::default() })))
    }
}

fn put(bytes: &mut Vec<u8>, offset: usize, data: &[u8]) {
    let end = offset + data.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset..end].copy_from_slice(data);
}

impl Platter {
    fn operate(&mut self) -> io::Result<()> {
        if self.dies_at.is_some_and(|at| self.operations >= at) {
            self.dead = true;
            return Err(io::Error::other("the disk is dead"));
        }
        self.operations += 1;
        Ok(())
    }
}

impl redb::StorageBackend for FaultyDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.platter().seen.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let offset = offset as usize;
        let platter = self.platter();
        let part = platter.seen.get(offset..offset + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(part);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut platter = self.platter();
        platter.operate()?;
        platter.seen.resize(length as usize, 0);
        platter.pending.push(Pending::Length(length as usize));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut platter = self.platter();
        platter.operate()?;
        if !platter.lies {
            platter.pending.clear();
            platter.durable = platter.seen.clone();
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut platter = self.platter();
        // The write during which the disk dies may have reached it in part; those after it did not.
        if !platter.dead {
            platter.pending.push(Pending::Write(offset as usize, data.to_vec()));
        }
        platter.operate()?;
        put(&mut platter.seen, offset as usize, data);
        Ok(())
    }
}

/// A note of the last acknowledged revision that every restart finds.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedHighWater(Arc<AtomicU64>);

impl HighWater for SharedHighWater {
    fn read(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    fn note(&mut self, revision: u64) {
        self.0.store(revision, Ordering::SeqCst);
    }

    fn sync(&mut self) {}
}
