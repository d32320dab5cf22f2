//! The volumes themselves, in numbered slots: indexes hold four bytes instead of a name.

use std::sync::Arc;

use crate::collections::Map;
use crate::labels::Name;
use crate::model::Volume;
use crate::topology::ReachId;

/// A volume's slot number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct VolumeSlot(u32);

/// An object as the API server last showed it, kept while choices are assumed of it.
#[derive(Debug)]
pub(crate) struct Observed<T> {
    /// The object.
    pub(crate) object: Arc<T>,
    /// How many placements assume something of it: two pods may share a claim, and the object is as observed again only
    /// when neither placement stands.
    pub(crate) holders: u32,
}

impl<T> Clone for Observed<T> {
    fn clone(&self) -> Self {
        Self { object: Arc::clone(&self.object), holders: self.holders }
    }
}

/// A volume and what was worked out when it arrived.
#[derive(Clone, Debug)]
pub(crate) struct VolumeRecord {
    /// The volume as decisions see it: with the assumed claim, while a choice is assumed.
    pub(crate) volume: Arc<Volume>,
    /// What was last observed of it, while a choice is assumed.
    pub(crate) observed: Option<Observed<Volume>>,
    /// From where it can be reached.
    pub(crate) reach: ReachId,
    /// From where it can be reached once its in-tree plugin is migrated; the error is upstream's.
    pub(crate) migrated: Option<Result<ReachId, String>>,
}

/// All volumes.
#[derive(Clone, Debug, Default)]
pub(crate) struct VolumeSlab {
    slots: Vec<Option<VolumeRecord>>,
    free: Vec<VolumeSlot>,
    by_name: Map<Name, VolumeSlot>,
}

impl VolumeSlab {
    /// The slot of the volume with this name.
    pub(crate) fn find(&self, name: &str) -> Option<VolumeSlot> {
        self.by_name.get(name).copied()
    }

    /// The record in a slot. Slots come from `find` and from indexes that events keep true.
    pub(crate) fn get(&self, slot: VolumeSlot) -> Option<&VolumeRecord> {
        self.slots.get(slot.0 as usize).and_then(Option::as_ref)
    }

    /// The record of the volume with this name.
    pub(crate) fn by_name(&self, name: &str) -> Option<&VolumeRecord> {
        self.get(self.find(name)?)
    }

    /// All of them, in no order that means anything.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &VolumeRecord> {
        self.slots.iter().flatten()
    }

    /// The volume in a slot.
    #[allow(clippy::panic, reason = "an index that names an empty slot is a bug here, never input")]
    pub(crate) fn volume(&self, slot: VolumeSlot) -> &Volume {
        match self.get(slot) {
            Some(record) => &record.volume,
            None => panic!("volume slot {} is empty", slot.0),
        }
    }

    /// The name of the volume in a slot.
    pub(crate) fn name(&self, slot: VolumeSlot) -> &Name {
        &self.volume(slot).name
    }

    /// Stores a new volume.
    pub(crate) fn insert(&mut self, record: VolumeRecord) -> VolumeSlot {
        let name = record.volume.name.clone();
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot.0 as usize] = Some(record);
                slot
            }
            None => {
                self.slots.push(Some(record));
                VolumeSlot((self.slots.len() - 1) as u32)
            }
        };
        self.by_name.insert(name, slot);
        slot
    }

    /// Takes a volume out.
    pub(crate) fn remove(&mut self, slot: VolumeSlot) -> Option<VolumeRecord> {
        let record = self.slots.get_mut(slot.0 as usize)?.take()?;
        self.by_name.remove(&record.volume.name);
        self.free.push(slot);
        Some(record)
    }
}
