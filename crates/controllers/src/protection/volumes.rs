//! PV protection: a volume stays while its phase is Bound.

use std::sync::Arc;

use plimsoll_api::names::VOLUME_PROTECTION;
use plimsoll_engine::labels::Name;
use plimsoll_runtime::{Backoff, Change, Context, Error, Next, Queue};

use super::Options;
use super::finalizers::{self, Duty};
use crate::world::{Volume, World};
use plimsoll_api::edit;
use plimsoll_runtime::write::{Part, Writer};

/// The phase of a volume that a claim has.
const BOUND: &str = "Bound";

pub(super) fn start(context: &Context, world: &World, options: Options) {
    let queue = Queue::<Name>::named(Backoff::default(), "pvprotection", &context.metrics);
    let wanted = queue.clone();
    world.volumes.listen(move |change| {
        if let Change::Set { new, .. } = change
            && task(new) != Duty::None
        {
            wanted.add(Name::from(new.slim.metadata.name.as_str()));
        }
    });
    let (world, stop) = (world.clone(), context.tasks.token());
    let writer = Writer::new(context, &world.volumes);
    context.tasks.spawn("pv-protection", async move {
        tokio::select! {
            () = stop.cancelled() => return,
            () = world.volumes.synced() => {}
        }
        let work = |name: Name| protect(&world, &writer, name);
        queue.run(options.width, stop.clone(), work).await;
    });
}

/// What is to be done now. The phase is what the volume's own controller wrote, and the write is made only to the version
/// that has it, so a volume that is bound meanwhile keeps its finalizer.
fn task(volume: &Volume) -> Duty {
    match finalizers::duty(&volume.slim.metadata, VOLUME_PROTECTION) {
        Duty::Release if volume.slim.status.phase == BOUND => Duty::None,
        duty => duty,
    }
}

async fn protect(
    world: &World,
    writer: &Writer<plimsoll_api::kinds::PersistentVolume>,
    name: Name,
) -> Result<Next, Error> {
    let Some(volume): Option<Arc<Volume>> = world.volumes.named(&name) else { return Ok(Next::Done) };
    let wanted = match task(&volume) {
        Duty::None => return Ok(Next::Done),
        Duty::Add => true,
        Duty::Release => false,
    };
    match writer.change(&volume, Part::Object, |v| edit::finalizer(v, VOLUME_PROTECTION, wanted)).await {
        Ok(_) => {}
        // Gone already: nothing is left to protect.
        Err(error) if error.is_not_found() => {}
        Err(error) => {
            if !error.is_conflict() {
                tracing::warn!(volume = %name, %error, "cannot change the finalizers; trying again");
            }
            return Err(error);
        }
    }
    Ok(Next::Done)
}
