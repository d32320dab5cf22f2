//! Provisioners that run inside the controller: the design's `Provision(selectedNode, allowedTopologies)`.
//!
//! The binder asks, a [`Provisioner`] makes the storage, the binder writes the PersistentVolume. Either may die in
//! between, so both calls are idempotent by the volume's name, which is derived from the claim's uid: a second
//! `provision` hands out what the first one made, and deleting what is gone is a success.
//!
//! ```text
//!              provision                      the binder writes the PV
//!   (nothing) ───────────► storage, no object ────────────────────────► volume
//!       ▲                     │ dies: asked again, the same storage        │ released, policy Delete
//!       └─────────────────────┴──────────────── delete ◄──────────────────┘
//! ```

mod directories;
mod disks;
mod flavour;
mod registry;
#[cfg(test)]
mod tests;
mod zonal;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use plimsoll_api::kinds::{Node, StorageClass};
use plimsoll_engine::quantity::Quantity;
use serde_json::{Map, Value};

use crate::world::Claim;

pub use directories::{Directories, LOCAL_DIRECTORY};
pub use disks::{Disk, Disks};
pub use flavour::{Copies, FLAVOURS, Flavour, REGIONAL, ZONAL};
pub use registry::Provisioners;
pub use zonal::{DiskProvisioner, simulated};

/// What a volume is to be made for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The volume's name, `pvc-<uid of the claim>`: what makes a second call mean the same volume.
    pub volume_name: String,
    /// The claim.
    pub claim: Arc<Claim>,
    /// How much it asks for.
    pub size: Quantity,
    /// Its class, with parameters, mount options, reclaim policy and allowed topologies.
    pub class: Arc<StorageClass>,
    /// The node that the first consumer will run on; `None` where the claim is bound at once.
    pub selected_node: Option<Arc<Node>>,
    /// All nodes, to know which zones there are.
    pub nodes: Vec<Arc<Node>>,
}

/// A volume that was made, as far as its provisioner decides it. What the claim and the class decide (volume mode,
/// mount options, reclaim policy, class name, claim reference) is the binder's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Made {
    /// The source: the one field that it adds to the volume's `spec`, such as `{"local": {"path": …}}`.
    pub source: Map<String, Value>,
    /// How large it became: at least what was asked for.
    pub capacity: Quantity,
    /// How it can be used; the claim's own modes, or the plugin's where the claim names none.
    pub access_modes: Vec<String>,
    /// `spec.nodeAffinity`; `None` where it can be reached from everywhere.
    pub node_affinity: Option<Value>,
    /// Labels of the volume.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the volume, beside the binder's own.
    pub annotations: BTreeMap<String, String>,
}

/// Why no volume was made: a sentence for the event. Nothing is left behind by a refusal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

impl Refusal {
    /// With this sentence.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

/// Why a volume's storage was not deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeleteError {
    /// Somebody still uses it: not a failure, only too early.
    #[error("{0}")]
    InUse(String),
    /// It could not be deleted.
    #[error("{0}")]
    Failed(String),
}

/// Makes and deletes the storage behind volumes.
///
/// Both calls may be repeated at any time, after a crash or a lost answer, and then do and say the same.
pub trait Provisioner: Send + Sync {
    /// The name that classes ask for it by, and that volumes keep in `pv.kubernetes.io/provisioned-by`.
    fn plugin(&self) -> &str;

    /// Whether volumes may have mount options. Where not, a class that has some is refused before anything is made.
    fn mount_options_supported(&self) -> bool;

    /// Makes the storage, or finds what an earlier call made.
    fn provision<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Made, Refusal>>;

    /// Deletes the storage behind a PersistentVolume (the whole object). What is gone already is deleted.
    fn delete<'a>(&'a self, volume: &'a Value) -> BoxFuture<'a, Result<(), DeleteError>>;
}
