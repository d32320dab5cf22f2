//! Who owns what: an index from an owner's uid to its dependents, so that a deletion costs what it deletes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Place;

/// Owners and dependents.
#[derive(Debug, Default)]
pub(super) struct Owners {
    dependents: BTreeMap<String, BTreeSet<Place>>,
    /// The owners that each dependent names.
    owners: BTreeMap<Place, Vec<String>>,
    /// Objects that wait for their dependents, by uid.
    waiting: BTreeMap<String, Place>,
}

impl Owners {
    /// Notes an object's owners. Says whether it has some that it had not before.
    pub(super) fn put(&mut self, place: &Place, value: &Value) -> bool {
        let metadata = &value["metadata"];
        let references = metadata["ownerReferences"].as_array();
        let owners: Vec<String> =
            references.into_iter().flatten().filter_map(|r| r["uid"].as_str().map(str::to_owned)).collect();
        if super::collector::waits(value) && metadata["deletionTimestamp"].is_string() {
            self.waiting.insert(metadata["uid"].as_str().unwrap_or_default().to_owned(), place.clone());
        }
        let before = self.owners.get(place).cloned().unwrap_or_default();
        if before == owners {
            return false;
        }
        self.forget(place);
        for owner in &owners {
            self.dependents.entry(owner.clone()).or_default().insert(place.clone());
        }
        let grown = owners.iter().any(|owner| !before.contains(owner));
        if !owners.is_empty() {
            self.owners.insert(place.clone(), owners);
        }
        grown
    }

    /// Forgets an object.
    pub(super) fn remove(&mut self, place: &Place, uid: &str) {
        self.forget(place);
        self.waiting.remove(uid);
    }

    fn forget(&mut self, place: &Place) {
        for owner in self.owners.remove(place).unwrap_or_default() {
            if let Some(dependents) = self.dependents.get_mut(&owner) {
                dependents.remove(place);
                if dependents.is_empty() {
                    self.dependents.remove(&owner);
                }
            }
        }
    }

    /// The dependents of an owner.
    pub(super) fn of(&self, uid: &str) -> Vec<Place> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    /// The owners of an object that wait for it.
    pub(super) fn waiting_owners(&self, place: &Place) -> Vec<Place> {
        self.owners.get(place).into_iter().flatten().filter_map(|uid| self.waiting.get(uid)).cloned().collect()
    }
}
