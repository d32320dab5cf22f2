//! Simulated disks: what a cloud would keep, kept in memory.
//!
//! The store outlives the controllers that use it, as a cloud does: it is shared by the provisioners of a cluster and
//! survives the crash of one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_engine::quantity::Quantity;

use super::{DeleteError, Refusal};

/// A disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// The plugin whose disk it is.
    pub plugin: String,
    /// Its name in the cloud.
    pub handle: String,
    /// The zones it is kept in; empty for one that can be reached from everywhere.
    pub zones: Vec<String>,
    /// Its size.
    pub bytes: i64,
}

/// All disks of a cluster.
#[derive(Debug, Default)]
pub struct Disks {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    disks: BTreeMap<(String, String), Disk>,
    /// How many bytes a plugin's zone holds; a zone that is not listed has no limit.
    room: BTreeMap<(String, String), i64>,
    /// The nodes that a disk is attached to.
    attached: BTreeMap<(String, String), BTreeSet<String>>,
}

impl Disks {
    /// A cloud without disks and without limits.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Limits what a plugin's disks may take in a zone. A disk of several zones takes its size in each of them.
    pub fn limit(&self, plugin: &str, zone: &str, room: Quantity) {
        self.state().room.insert((plugin.to_owned(), zone.to_owned()), room.value());
    }

    /// Makes a disk, or finds the one that was made under this handle: that one is handed out as it is, even where the
    /// wishes have changed since, because somebody may have begun to use it.
    pub fn make(&self, wanted: Disk) -> Result<Disk, Refusal> {
        let mut state = self.state();
        let key = (wanted.plugin.clone(), wanted.handle.clone());
        if let Some(made) = state.disks.get(&key) {
            return Ok(made.clone());
        }
        for zone in &wanted.zones {
            if let Some(room) = state.room.get(&(wanted.plugin.clone(), zone.clone())) {
                let left = room.saturating_sub(state.used(&wanted.plugin, zone));
                if left < wanted.bytes {
                    return Err(Refusal::new(format!(
                        "zone {zone} has {} left, and the volume needs {}",
                        Quantity::from_bytes(left.max(0)),
                        Quantity::from_bytes(wanted.bytes),
                    )));
                }
            }
        }
        state.disks.insert(key, wanted.clone());
        Ok(wanted)
    }

    /// The disk of this handle.
    pub fn find(&self, plugin: &str, handle: &str) -> Option<Disk> {
        self.state().disks.get(&key(plugin, handle)).cloned()
    }

    /// Deletes a disk. One that is not there is deleted already; one that is attached is in use.
    pub fn delete(&self, plugin: &str, handle: &str) -> Result<(), DeleteError> {
        let mut state = self.state();
        let key = key(plugin, handle);
        if let Some(nodes) = state.attached.get(&key)
            && let Some(node) = nodes.first()
        {
            return Err(DeleteError::InUse(format!("disk {handle:?} is attached to node {node:?}")));
        }
        state.disks.remove(&key);
        Ok(())
    }

    /// Attaches a disk to a node: it cannot be deleted meanwhile. Returns whether there is such a disk.
    pub fn attach(&self, plugin: &str, handle: &str, node: &str) -> bool {
        let mut state = self.state();
        let key = key(plugin, handle);
        let exists = state.disks.contains_key(&key);
        if exists {
            state.attached.entry(key).or_default().insert(node.to_owned());
        }
        exists
    }

    /// Detaches a disk from a node.
    pub fn detach(&self, plugin: &str, handle: &str, node: &str) {
        let mut state = self.state();
        let key = key(plugin, handle);
        if let Some(nodes) = state.attached.get_mut(&key) {
            nodes.remove(node);
            if nodes.is_empty() {
                state.attached.remove(&key);
            }
        }
    }

    /// All disks, by plugin and handle.
    pub fn all(&self) -> Vec<Disk> {
        self.state().disks.values().cloned().collect()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn used(&self, plugin: &str, zone: &str) -> i64 {
        let here = self.disks.values().filter(|d| d.plugin == plugin && d.zones.iter().any(|z| z == zone));
        here.fold(0i64, |sum, disk| sum.saturating_add(disk.bytes))
    }
}

fn key(plugin: &str, handle: &str) -> (String, String) {
    (plugin.to_owned(), handle.to_owned())
}
