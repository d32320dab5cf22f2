//! Writing a plan as a scheduler would: volumes first, then claims, so that no provisioner is set to work where a volume
//! turns out to be taken.

use plimsoll_api::edit::{Reference, refer, select_node};
use plimsoll_engine::model::Version;
use plimsoll_engine::placement::{Next as Step, Placement, Write};
use plimsoll_runtime::{Error, Mirrored, Whole};
use serde_json::Value;

use super::Rescue;
use plimsoll_runtime::write::Part;

impl Rescue {
    /// Makes the writes of a placement. Returns how many there were; waiting for the binding is the binder's.
    pub(super) async fn write(&self, placement: &mut Placement) -> Result<usize, Error> {
        let mut written = 0;
        loop {
            let step = placement.next(self.ledger().catalog());
            let version = match step {
                Step::Write(Write::BindVolume { volume, version, claim, claim_uid, claim_version, mark }) => {
                    let seen = self.world.volumes.named(&volume).ok_or_else(|| gone(&volume))?;
                    is_still(&*seen, version)?;
                    let to = Reference { claim: &claim, uid: &claim_uid, version: claim_version };
                    let edit = |object: &mut Value| refer(object, to, mark);
                    self.volumes.change(&seen, Part::Object, edit).await?.meta().version()
                }
                Step::Write(Write::SelectNode { claim, version, node }) => {
                    let seen = self.world.claims.get(&claim).ok_or_else(|| gone(&claim.name))?;
                    is_still(&*seen, version)?;
                    let edit = |object: &mut Value| select_node(object, &node);
                    self.claims.change(&seen, Part::Object, edit).await?.meta().version()
                }
                // The pod has its node, and what is still to come the binder and the provisioners do.
                Step::Write(Write::BindPod { .. }) | Step::Wait(_) | Step::Done => return Ok(written),
                Step::Failed(failure) => return Err(Error::Conflict(failure.to_string())),
            };
            placement.written(version);
            written += 1;
        }
    }
}

/// The mirror may be newer than the plan: then the plan is not to be written to what it knows now.
fn is_still<T: Mirrored>(seen: &Whole<T>, planned: Version) -> Result<(), Error> {
    if seen.meta().version() == planned {
        return Ok(());
    }
    Err(Error::Conflict(format!("{} changed after it was planned for", seen.meta().name)))
}

fn gone(name: &str) -> Error {
    Error::Conflict(format!("{name} is gone"))
}
