//! Binding as the volume controller would, for clusters that no controller has been at work in.

use crate::catalog::{Catalog, Event};
use crate::labels::ObjectKey;
use crate::model::{ClaimPhase, ClaimRef, VolumePhase};
use crate::object::Object;
use crate::volumes::ControllerMatch;

impl Catalog {
    /// Binds claims as the volume controller would, one after the other: those that do not wait for a pod, and those for
    /// which somebody reserved a volume. For clusters that come from manifests, where no controller has been at work.
    pub fn bind_as_controller(&mut self, claims: &[ObjectKey]) {
        for key in claims {
            let Some(claim) = self.observed_claim(key).filter(|c| !c.is_fully_bound()) else { continue };
            let mut claim = (**claim).clone();
            let ControllerMatch::Bind(name) = self.match_for_controller(&claim) else { continue };
            let Some(volume) = self.observed_volume(&name) else { continue };
            let mut volume = (**volume).clone();
            volume.claim_ref = Some(ClaimRef { claim: key.clone(), uid: claim.uid.clone() });
            volume.phase = VolumePhase::Bound;
            claim.volume = name;
            claim.bind_completed = true;
            claim.has_annotations = true;
            claim.phase = ClaimPhase::Bound;
            // Version 0 is never late.
            (volume.version, claim.version) = (0, 0);
            self.apply(Event::Set(Object::Volume(volume)));
            self.apply(Event::Set(Object::Claim(claim)));
        }
    }
}
