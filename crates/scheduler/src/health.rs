//! What the scheduler tells its probes: ready once everything was listed. A replica that stands by for another has not begun to
//! list, and has no such check: it is ready to take over.

use plimsoll_runtime::Context;

use crate::world::World;

/// Upstream's name for the check.
const SYNCED: &str = "informer-sync";

/// Adds the check to those of the process.
pub(crate) fn tell(context: &Context, world: &World) {
    let world = world.clone();
    context.health.add_ready(SYNCED, move || match world.unsynced().as_slice() {
        [] => Ok(()),
        left => Err(format!("not listed yet, so that no pod is placed (RG-2): {}", left.join(", "))),
    });
}
