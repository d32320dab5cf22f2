//! What a placement waits for once all is written. Only what was observed counts, never what is assumed.

use crate::catalog::Catalog;
use crate::labels::{Name, ObjectKey};
use crate::placement::{Failure, Placement, WaitFor, Write};
use crate::volumes::{ClaimPlan, Outcome};

impl Placement {
    /// What there is still to wait for (nothing: all is bound), or why it will not come.
    ///
    /// Upstream stops at the first thing to wait for and so learns of a failed provisioning only after all static
    /// bindings are complete. Everything is looked at here, so that a failure is noticed when it happens.
    pub(super) fn check(&self, catalog: &Catalog) -> Result<WaitFor, Failure> {
        if catalog.nodes().by_name(&self.node).is_none() {
            return Err(Failure::NodeGone(self.node.clone()));
        }
        match catalog.pod(&self.pod) {
            Some(pod) if pod.uid == self.pod_uid => {}
            _ => return Err(Failure::PodGone(self.pod.name.clone())),
        }
        let mut wait = WaitFor::default();
        for claim in &self.claims {
            match claim.outcome {
                Outcome::Static => {
                    let volume = claim.volume.clone().unwrap_or_default();
                    self.check_static(catalog, &claim.claim, &volume, &mut wait)?;
                }
                Outcome::Provision => self.check_provision(catalog, &claim.claim, &mut wait)?,
                Outcome::Bound => check_bound(catalog, claim)?,
                Outcome::Unsatisfied => {}
            }
        }
        Ok(wait)
    }

    fn check_static(
        &self,
        catalog: &Catalog,
        claim: &ObjectKey,
        volume: &Name,
        wait: &mut WaitFor,
    ) -> Result<(), Failure> {
        let Some(observed) = catalog.observed_volume(volume) else {
            return Err(Failure::BindingGone(format!("could not find v1.PersistentVolume \"{volume}\"")));
        };
        let Some(bound) = catalog.observed_claim(claim) else {
            return Err(Failure::BindingGone(format!("could not find v1.PersistentVolumeClaim \"{claim}\"")));
        };
        let written = self.version_of(|w| matches!(w, Write::BindVolume { volume: v, .. } if v == volume));
        if observed.version < written {
            wait.volumes.push(volume.clone());
            return Ok(());
        }
        self.check_reach(catalog, volume)?;
        // A reference to somebody else is as good as none: this claim will not get the volume.
        if !observed.claim_ref.as_ref().is_some_and(|r| !r.uid.is_empty() && r.is_to(claim, &bound.uid)) {
            return Err(Failure::ClaimRefReset(volume.clone()));
        }
        if !bound.is_fully_bound() {
            wait.claims.push(claim.clone());
        }
        Ok(())
    }

    fn check_provision(&self, catalog: &Catalog, claim: &ObjectKey, wait: &mut WaitFor) -> Result<(), Failure> {
        let Some(observed) = catalog.observed_claim(claim) else {
            return Err(Failure::ClaimGone(format!("could not find v1.PersistentVolumeClaim \"{claim}\"")));
        };
        let written = self.version_of(|w| matches!(w, Write::SelectNode { claim: c, .. } if c == claim));
        if observed.version < written {
            wait.claims.push(claim.clone());
            return Ok(());
        }
        if !observed.has_annotations {
            return Err(Failure::SelectedNodeReset(claim.name.clone()));
        }
        if observed.selected_node.as_ref() != Some(&self.node) {
            return Err(Failure::ProvisioningFailed(claim.name.clone()));
        }
        if !observed.volume.is_empty() {
            if catalog.observed_volume(&observed.volume).is_none() {
                wait.volumes.push(observed.volume.clone());
                return Ok(());
            }
            self.check_reach(catalog, &observed.volume)?;
        }
        if !observed.is_fully_bound() {
            wait.claims.push(claim.clone());
        }
        Ok(())
    }

    fn check_reach(&self, catalog: &Catalog, volume: &Name) -> Result<(), Failure> {
        match catalog.can_reach(volume, &self.node) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Failure::Unreachable { volume: volume.clone(), node: self.node.clone() }),
            Err(error) => Err(Failure::Untranslatable(error)),
        }
    }
}

/// A claim that was bound from the beginning may go, or lose its volume, while the others are waited for. Upstream does not
/// look again.
fn check_bound(catalog: &Catalog, plan: &ClaimPlan) -> Result<(), Failure> {
    let still = catalog.observed_claim(&plan.claim).is_some_and(|claim| plan.volume.as_ref() == Some(&claim.volume));
    if still {
        return Ok(());
    }
    Err(Failure::BindingGone(format!("could not find v1.PersistentVolumeClaim \"{}\"", plan.claim)))
}
