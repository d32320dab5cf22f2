//! PV and PVC protection: a claim that a pod may be using, and a volume that a claim has, must not vanish under them.
//!
//! A finalizer holds the object. The API server's admission puts it on new objects; older ones get it here. Once the
//! object is being deleted and nothing uses it, the finalizer is taken off, and with the last one the object goes.
//!
//! ```text
//!   made without it ── add ──► held ── delete ──► held, deleting ── unused: remove ──► (gone)
//!                                                    │      ▲
//!                                                    └──────┘ used: look again when the user goes
//! ```

mod claims;
mod finalizers;
mod live;
pub(crate) mod pods;
mod unused;
mod volumes;

use plimsoll_runtime::Context;

use crate::world::World;

pub use pods::{Pods, Usage};

/// How protection works.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Objects of one kind at a time.
    pub width: usize,
    /// Whether claims say in the condition `Unused` whether a pod names them (`PersistentVolumeClaimUnusedSinceTime`).
    pub unused: bool,
}

impl Default for Options {
    /// Enough that a namespace's deletion is bounded by the API server and not by round trips.
    fn default() -> Self {
        Self { width: 32, unused: true }
    }
}

/// Begins to protect claims and volumes. Must be called before the world is started.
pub fn start(context: &Context, world: &World, options: Options) {
    start_claims(context, world, options);
    start_volumes(context, world, options);
}

/// Begins to protect claims alone.
pub fn start_claims(context: &Context, world: &World, options: Options) {
    claims::start(context, world, options);
    if options.unused {
        unused::start(context, world, options);
    }
}

/// Begins to protect volumes alone.
pub fn start_volumes(context: &Context, world: &World, options: Options) {
    volumes::start(context, world, options);
}
