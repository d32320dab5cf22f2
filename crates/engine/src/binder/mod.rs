//! The volume controller's decisions: what a claim or a volume needs next, so that the two are true to each other.
//!
//! ```text
//!   claim:                                    bind (PV spec, PV status, claim spec, claim status)
//!
//!              a volume fits, or is reserved                      the volume is gone, or another claim's
//!   Pending ────────────────────────────────────► Bound ─────────────────────────────────────────────► Lost
//!    │   ▲ no volume: ask for one, wait for a pod   ▲                                                   │
//!    └───┘ (provisioner, scheduler, a person)       └──────────── the volume is back, and still its own ┘
//!
//!   volume:
//!               claimRef of a claim that names it              the claim is gone
//!   Available ─────────────────────────────────► Bound ────────────────────────────► Released ──► (deleted by its maker)
//!     ▲   ▲                                        │                                  │   │ reclaiming fails
//!     │   └─ the claim took another volume: unbind ┘                                  │   ▼
//!     └────────────────────── a person clears claimRef ──────────────────────────────┘  Failed ──► tried again
//! ```
//!
//! A binding is two pointers and two phases on two objects, four writes in all, and the controller may die between any of
//! them. So nothing here remembers what was begun: each look at the two objects says what is missing, and doing that twice
//! does nothing the second time. The volume is written first: it is the lock. Whoever's claim it names has it.

mod claim;
mod plugins;
mod volume;

pub use claim::{ClaimStep, Waiting};
pub use plugins::{DeletionFinalizers, Maker, deletion_finalizers, is_in_tree, maker, migrated_to};
pub use volume::{Deleter, VolumeStep, deleter};

use crate::labels::Name;

/// Something to be said about an object: an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Say {
    /// Whether it is a warning.
    pub warning: bool,
    /// Its reason; upstream's word where upstream says it.
    pub reason: &'static str,
    /// Its message; likewise.
    pub message: String,
}

impl Say {
    pub(crate) fn news(reason: &'static str, message: impl Into<String>) -> Self {
        Self { warning: false, reason, message: message.into() }
    }

    pub(crate) fn warning(reason: &'static str, message: impl Into<String>) -> Self {
        Self { warning: true, reason, message: message.into() }
    }
}

/// The name of the volume that is made on demand for the claim with this uid. It is always the same, so that a
/// provisioning which is begun twice makes one volume.
pub fn volume_name(claim_uid: &str) -> Name {
    format!("pvc-{claim_uid}").into()
}
