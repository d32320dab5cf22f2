//! Matching as the volume controller does it: for a claim that no pod has to be placed for.
//!
//! It differs from the scheduler's matching in what it looks at. There is no node, so no affinity is read. Volumes are
//! searched in groups of equal access modes, those with the fewest modes first, and the first group that has a match ends
//! the search: a larger volume of a poorer group goes before a closer fit of a richer one, so that volumes that can do
//! more are kept for claims that need it. Claims that wait for their first consumer only get a volume that somebody
//! reserved for them.

use crate::catalog::Catalog;
use crate::labels::Name;
use crate::model::{AccessModes, BindingMode, Claim, Volume};
use crate::volumes::catalog::VolumeCatalog;

/// What the volume controller finds for a claim that is not bound yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControllerMatch {
    /// This volume is to be bound to the claim.
    Bind(Name),
    /// No volume fits: one is to be provisioned, or the claim waits.
    NoMatch,
    /// The claim names a volume that does not exist; it waits for it.
    Awaited(Name),
    /// The claim names a free volume that does not satisfy it: upstream's words for the event `VolumeMismatch`.
    Mismatch(String),
    /// The claim names a volume that refers to another claim.
    Taken(Name),
    /// The match cannot be made; upstream's words.
    Error(String),
}

impl Catalog {
    /// Finds the volume that the volume controller would bind to a claim that has not been bound before. The claim need not
    /// be in the catalog.
    pub fn match_for_controller(&self, claim: &Claim) -> ControllerMatch {
        if claim.volume.is_empty() { self.volumes.match_any(claim) } else { self.volumes.match_named(claim) }
    }
}

impl VolumeCatalog {
    fn match_any(&self, claim: &Claim) -> ControllerMatch {
        let class = self.classes.get(&claim.class).filter(|_| !claim.class.is_empty());
        let delayed = match class.map(|record| record.class.binding_mode) {
            Some(None) => {
                let text = format!("VolumeBindingMode not set for StorageClass \"{}\"", claim.class);
                return ControllerMatch::Error(text);
            }
            mode => mode.flatten() == Some(BindingMode::WaitForFirstConsumer),
        };
        if let Some(Err(error)) = &claim.selector {
            let text = format!("error creating internal label selector for claim: {}: {error}", claim.key);
            return ControllerMatch::Error(text);
        }
        // Within a group a reserved volume goes before all others, and then the smallest, the first by name.
        let reserved = self.reserved_in_any_class(claim).map(|v| (group(v.access_modes), false, None, &v.name));
        let shelves = self.shelves.of_class(&claim.class).iter().filter(|s| !delayed && s.serves(claim));
        let free = shelves.filter_map(|shelf| shelf.smallest(claim, &self.slab)).map(|fit| {
            let volume = self.slab.volume(fit.slot);
            (group(volume.access_modes), true, Some(fit.size), &volume.name)
        });
        match reserved.chain(free).min() {
            Some((.., name)) => ControllerMatch::Bind(name.clone()),
            None => ControllerMatch::NoMatch,
        }
    }

    /// The volumes that refer to the claim and satisfy it. Neither class, phase nor labels matter: somebody chose them.
    fn reserved_in_any_class<'c>(&'c self, claim: &'c Claim) -> impl Iterator<Item = &'c Volume> {
        let names = self.referring.get(&claim.key).into_iter().flatten();
        names.filter_map(|name| Some(&*self.slab.by_name(name)?.volume)).filter(|v| {
            v.claim_ref.as_ref().is_some_and(|r| r.is_to(&claim.key, &claim.uid))
                && v.capacity >= claim.requested()
                && v.mode == claim.mode
                && v.attributes_class == claim.attributes_class
                && !v.deleting
                && v.access_modes.contains(claim.access_modes)
        })
    }

    fn match_named(&self, claim: &Claim) -> ControllerMatch {
        let name = &claim.volume;
        let Some(record) = self.slab.by_name(name) else { return ControllerMatch::Awaited(name.clone()) };
        match &record.volume.claim_ref {
            Some(claim_ref) if claim_ref.is_to(&claim.key, &claim.uid) => ControllerMatch::Bind(name.clone()),
            Some(_) => ControllerMatch::Taken(name.clone()),
            None => match mismatch(&record.volume, claim) {
                None => ControllerMatch::Bind(name.clone()),
                Some(why) => ControllerMatch::Mismatch(format!("Cannot bind to requested volume \"{name}\": {why}")),
            },
        }
    }
}

/// A group's place in the search: by the number of its modes, then in an order that is always the same.
fn group(modes: AccessModes) -> (usize, AccessModes) {
    let all = [
        AccessModes::READ_WRITE_ONCE,
        AccessModes::READ_ONLY_MANY,
        AccessModes::READ_WRITE_MANY,
        AccessModes::READ_WRITE_ONCE_POD,
    ];
    (all.into_iter().filter(|mode| modes.contains(*mode)).count(), modes)
}

/// Why a free volume that a claim names does not satisfy it. Selector, phase and affinity are not looked at: the user
/// chose the volume.
fn mismatch(volume: &Volume, claim: &Claim) -> Option<String> {
    let text = if volume.deleting {
        return Some(format!("the volume is marked for deletion \"{}\"", volume.name));
    } else if volume.capacity.value() < claim.requested().value() {
        "requested PV is too small"
    } else if volume.class != claim.class {
        "storageClassName does not match"
    } else if volume.attributes_class != claim.attributes_class {
        "volumeAttributesClassName does not match"
    } else if volume.mode != claim.mode {
        "incompatible volumeMode"
    } else if !volume.access_modes.contains(claim.access_modes) {
        "incompatible accessMode"
    } else {
        return None;
    };
    Some(text.to_owned())
}
