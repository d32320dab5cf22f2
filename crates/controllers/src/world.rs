//! The objects that the controllers look at: mirrored once, shared by all.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_api::kinds::{CsiNode, Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass};
use plimsoll_runtime::{Context, Mirror, Selection, Whole, reflect};

/// A volume with the JSON it was read from.
pub type Volume = Whole<PersistentVolume>;
/// A claim with the JSON it was read from.
pub type Claim = Whole<PersistentVolumeClaim>;

/// The mirrors. Controllers add their listeners before [`World::start`], so that none of them misses anything.
#[derive(Clone)]
pub struct World {
    /// PersistentVolumes.
    pub volumes: Arc<Mirror<Volume>>,
    /// PersistentVolumeClaims.
    pub claims: Arc<Mirror<Claim>>,
    /// Pods.
    pub pods: Arc<Mirror<Pod>>,
    /// Nodes.
    pub nodes: Arc<Mirror<Node>>,
    /// StorageClasses.
    pub classes: Arc<Mirror<StorageClass>>,
    /// CSINodes.
    pub csi_nodes: Arc<Mirror<CsiNode>>,
}

impl World {
    /// Empty mirrors.
    pub fn new() -> Self {
        Self {
            volumes: Mirror::new(),
            claims: Mirror::new(),
            pods: Mirror::new(),
            nodes: Mirror::new(),
            classes: Mirror::new(),
            csi_nodes: Mirror::new(),
        }
    }

    /// Begins to keep the mirrors true. Everything is listed again after `relist`.
    pub fn start(&self, context: &Context, relist: Duration) {
        let selection = || Selection { relist, ..Selection::default() };
        reflect(context, &self.volumes, selection());
        reflect(context, &self.claims, selection());
        reflect(context, &self.pods, selection());
        reflect(context, &self.nodes, selection());
        reflect(context, &self.classes, selection());
        reflect(context, &self.csi_nodes, selection());
    }

    /// Done when every mirror has its first list: nothing may be decided before.
    pub async fn synced(&self) {
        self.volumes.synced().await;
        self.claims.synced().await;
        self.pods.synced().await;
        self.nodes.synced().await;
        self.classes.synced().await;
        self.csi_nodes.synced().await;
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}
