//! Classes, volumes and claims.

use plimsoll_engine::labels::Name;

use crate::kinds::{PersistentVolume, PersistentVolumeClaim, StorageClass};
use crate::names;

/// Completes a class: claims are bound at once unless it says otherwise.
pub fn complete_class(class: &mut StorageClass) {
    if class.volume_binding_mode.is_empty() {
        class.volume_binding_mode = "Immediate".to_owned();
    }
}

/// Completes a volume without a phase: one with a claim is Bound, any other Available.
pub fn complete_volume(volume: &mut PersistentVolume) {
    if volume.status.phase.is_empty() {
        if let Some(disk) = &mut volume.spec.azure_disk {
            disk.complete();
        }
        let phase = if volume.spec.claim_ref.is_some() { "Bound" } else { "Available" };
        volume.status.phase = phase.to_owned();
    }
    if let Some(claim) = &mut volume.spec.claim_ref
        && claim.namespace.is_empty()
    {
        claim.namespace = names::DEFAULT_NAMESPACE.to_owned();
    }
}

/// The class that claims without one get: of the classes marked as default the newest, then the first by name.
#[derive(Clone, Debug, Default)]
pub struct DefaultClass {
    best: Option<(String, Name)>,
}

impl DefaultClass {
    /// Takes note of a class.
    pub fn see(&mut self, class: &StorageClass) {
        if !class.is_default() {
            return;
        }
        let (made, name) = (&class.metadata.creation_timestamp, class.metadata.name.as_str());
        let better = match &self.best {
            None => true,
            Some((best_made, best)) => made > best_made || (made == best_made && name < &**best),
        };
        if better {
            self.best = Some((made.clone(), Name::from(name)));
        }
    }

    /// The default class, where there is one.
    pub fn name(&self) -> Option<&Name> {
        self.best.as_ref().map(|(_, name)| name)
    }
}

/// A volume that refers to a claim.
#[derive(Clone, Debug)]
pub(crate) struct BindingOf {
    /// The volume's name.
    pub volume: Name,
    /// The claim's uid in the reference; empty where a person wrote it by name.
    pub uid: Name,
}

/// Completes a claim without a phase: it gets the default class, and is bound to the volume that is already its own.
///
/// A volume is the claim's own when its reference carries the claim's uid (a controller wrote it), or when the claim
/// names the volume and the volume the claim. A reference by name alone only reserves the volume.
pub(crate) fn complete_claim(claim: &mut PersistentVolumeClaim, default: &DefaultClass, bindings: &[BindingOf]) {
    if !claim.status.phase.is_empty() {
        return;
    }
    let (meta, spec) = (&mut claim.metadata, &mut claim.spec);
    if spec.storage_class_name.is_none() && meta.annotation(names::BETA_STORAGE_CLASS).is_none() {
        spec.storage_class_name = default.name().map(|n| n.to_string());
    }
    let own = bindings.iter().find(|b| {
        let named = *spec.volume_name == *b.volume;
        let by_uid = !b.uid.is_empty() && (meta.uid.is_empty() || *meta.uid == *b.uid);
        if b.uid.is_empty() { named } else { by_uid && (named || spec.volume_name.is_empty()) }
    });
    claim.status.phase = "Pending".to_owned();
    if let Some(own) = own {
        claim.status.phase = "Bound".to_owned();
        spec.volume_name = own.volume.to_string();
        if meta.uid.is_empty() {
            meta.uid = own.uid.to_string();
        }
        let annotations = meta.annotations.get_or_insert_default();
        if annotations.get(names::BIND_COMPLETED).is_none() {
            annotations.0.push((names::BIND_COMPLETED.to_owned(), "yes".to_owned()));
        }
    }
}
