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
mod migration;
mod plan;
mod pod;
mod pools;
mod reach;
mod restrictions;
mod score;
mod shelf;
mod slab;
mod survey;
pub mod wakeups;
mod zone;
mod zone_upgrade;
mod zones;

pub use assume::AssumeError;
pub(crate) use catalog::VolumeCatalog;
pub use controller_match::ControllerMatch;
pub use migration::{REGION, REGION_BETA, ZONE, ZONE_BETA, ZONE_SEPARATOR};
pub use plan::{ClaimPlan, Outcome, VolumePlan};
pub use pod::{PodVolumes, Suitability};
pub use reach::Reach;
pub use score::Shape;
pub use survey::Survey;
pub use wakeups::{Change, could_help};
pub use zone_upgrade::{ChangedNode, Terrain, ZoneDecision, ZoneRequirement, upgrade_zone_labels};
pub use zones::{SelectedNode, Source, ZoneRefusal, ZoneRequest, zone_label};
