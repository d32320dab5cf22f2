//! Everything about volumes: what there is, what is free, and what a pod's claims could become on a node.
//!
//! `VolumeCatalog` is told of objects by events and keeps the indexes; [`PodVolumes`] is made once per pod and then
//! asked about nodes. Upstream's four volume filters are the modules `binding`, `limits`, `zone` and `restrictions`.

mod assume;
mod binding;
mod capacity;
mod catalog;
mod claims;
mod controller_bind;
mod controller_match;
mod explain;
mod limits;
mod matching;
pub(crate) mod migration;
mod plan;
mod pod;
mod pools;
mod reach;
mod restrictions;
mod score;
mod shelf;
mod slab;
mod survey;
mod zone;
mod zone_upgrade;
mod zones;

pub use crate::wakeups::{Change, could_help};
pub use assume::AssumeError;
pub(crate) use catalog::{VolumeCatalog, claims_of, is_free};
pub(crate) use claims::delayed_claims;
pub use controller_match::ControllerMatch;
pub use migration::{REGION, REGION_BETA, ZONE, ZONE_BETA, ZONE_SEPARATOR};
pub use plan::{ClaimPlan, Outcome, VolumePlan};
pub use pod::{PodVolumes, Suitability};
pub(crate) use pools::ClassPools;
pub use reach::Reach;
pub(crate) use restrictions::cannot_share;
pub use score::Shape;
pub use survey::Survey;
pub(crate) use zone::{ZoneConstraint, zone_keys};
pub use zone_upgrade::{ChangedNode, Terrain, ZoneDecision, ZoneRequirement, upgrade_zone_labels};
pub use zones::{SelectedNode, Source, ZoneRefusal, ZoneRequest, zone_label};

/// Where wake-ups used to be: they are about more than volumes by now.
pub mod wakeups {
    pub use crate::wakeups::{Change, could_help};
}
