//! The volume side of the catalog: objects in, indexes kept true.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use crate::collections::Map;
use crate::labels::{Labels, Name, ObjectKey};
use crate::model::{
    Attachment, Claim, CsiDriver, CsiNode, Pod, PodVolumeSource, Pool, StorageClass, Volume, VolumePhase, VolumeSource,
};
use crate::topology::{ReachId, Selector, Topologies};
use crate::volumes::limits::Attached;
use crate::volumes::migration;
use crate::volumes::pools::Pools;
use crate::volumes::shelf::Shelves;
use crate::volumes::slab::{Observed, VolumeRecord, VolumeSlab, VolumeSlot};

/// A claim, and what was assumed of it.
#[derive(Clone, Debug)]
pub(crate) struct ClaimRecord {
    /// The claim as decisions see it.
    pub(crate) claim: Arc<Claim>,
    /// What was last observed of it, while a choice is assumed.
    pub(crate) observed: Option<Observed<Claim>>,
    /// Whether this process chose its node: then its space stays promised until the pool's object shows it.
    pub(crate) ours: bool,
}

/// A class and the reach of its allowed topologies.
#[derive(Clone, Debug)]
pub(crate) struct ClassRecord {
    /// The class.
    pub(crate) class: StorageClass,
    /// Where its volumes may be.
    pub(crate) allowed: ReachId,
}

/// Volumes, claims, classes, drivers and pools, with the indexes that make deciding cheap.
#[derive(Clone, Debug, Default)]
pub(crate) struct VolumeCatalog {
    pub(crate) topologies: Topologies,
    pub(crate) nodes: Map<Name, usize>,
    node_names: Vec<Name>,
    pub(crate) slab: VolumeSlab,
    pub(crate) shelves: Shelves,
    /// Finds the volumes whose claimRef names a claim without looking at the others.
    pub(crate) referring: Map<ObjectKey, BTreeSet<Name>>,
    pub(crate) claims: Map<ObjectKey, ClaimRecord>,
    /// Finds the claims whose attachments a volume's event changes.
    naming: Map<Name, BTreeSet<ObjectKey>>,
    pub(crate) classes: Map<Name, ClassRecord>,
    pub(crate) drivers: Map<Name, CsiDriver>,
    pub(crate) csi_nodes: Map<Name, CsiNode>,
    pub(crate) pools: Pools,
    /// How many CSINodes have an attach limit, and how many drivers refuse nodes without them: with neither, attachments
    /// need no look.
    limiting_nodes: usize,
    strict_drivers: usize,
    pub(crate) attachments: Map<Name, Attachment>,
    pub(crate) attachments_on: Map<Name, BTreeSet<Name>>,
    attachments_of: Map<Name, BTreeSet<Name>>,
    /// The placed pods that use a claim, plainly or through an ephemeral volume, with their nodes.
    pub(crate) users: Map<ObjectKey, Vec<ClaimUser>>,
    /// The placed pods that have volumes, by node, in order of their keys: which of them is named in an answer must not
    /// depend on which came first.
    pub(crate) pods_on: Map<Name, Vec<Arc<Pod>>>,
    /// What is attached to each node, counted when first asked for after something changed there.
    pub(crate) attached: Vec<OnceLock<Attached>>,
}

/// A placed pod that uses a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClaimUser {
    /// The pod.
    pub(crate) pod: ObjectKey,
    /// Its node.
    pub(crate) node: Name,
    /// Whether the volume names the claim itself (an ephemeral volume's claim is the pod's own).
    pub(crate) plain: bool,
}

impl VolumeCatalog {
    /// A node came, or its labels changed.
    pub(crate) fn set_node(&mut self, index: usize, name: &Name, labels: Labels) {
        if self.nodes.get(name) == Some(&index) && self.topologies.labels(index) == Some(&labels) {
            // A heartbeat, a condition, an image: nothing that volumes look at.
            return;
        }
        self.nodes.insert(name.clone(), index);
        if self.attached.len() <= index {
            self.attached.resize_with(index + 1, OnceLock::new);
            self.node_names.resize(index + 1, Name::default());
        }
        self.attached[index] = OnceLock::new();
        self.node_names[index] = name.clone();
        let fresh = self.topologies.set_node(index, labels);
        if !fresh.is_empty() {
            self.shelves.refresh(&fresh, &self.topologies, &self.slab);
        }
        self.pools.reassign(&self.nodes, &self.topologies);
    }

    /// A node went.
    pub(crate) fn remove_node(&mut self, index: usize, name: &str) {
        self.nodes.remove(name);
        self.topologies.remove_node(index);
        if let Some(slot) = self.attached.get_mut(index) {
            *slot = OnceLock::new();
        }
        self.pools.reassign(&self.nodes, &self.topologies);
    }

    /// A number above all nodes' indexes.
    pub(crate) fn node_slots(&self) -> usize {
        self.node_names.len()
    }

    /// Whether attach limits or missing drivers could refuse any node.
    pub(crate) fn limits_attachments(&self) -> bool {
        self.limiting_nodes > 0 || self.strict_drivers > 0
    }

    /// The name of a node.
    pub(crate) fn node_name(&self, index: usize) -> &Name {
        &self.node_names[index]
    }

    /// A volume came or changed.
    pub(crate) fn set_volume(&mut self, volume: Arc<Volume>) {
        self.put_volume(volume, None);
    }

    /// Stores a volume with what was last observed of it, if that differs.
    pub(super) fn put_volume(&mut self, volume: Arc<Volume>, observed: Option<Observed<Volume>>) {
        let mut volume = volume;
        let old = self.take_volume(&volume.name);
        let reach = self.topologies.acquire(affinity_selector(&volume));
        // Volumes of one place share its selector: by the hundred thousand, their own copies are what takes the memory.
        if let (Some(own), Some(shared)) = (Arc::get_mut(&mut volume), self.topologies.affinity(reach)) {
            own.affinity = Some(shared);
        }
        let migrated = self.migrated_reach(&volume);
        let record = VolumeRecord { volume, observed, reach, migrated };
        let slot = self.slab.insert(record);
        self.shelve(slot);
        // The old reach goes last, so that an unchanged one keeps its segments.
        if let Some(old) = old {
            self.release_volume(&old);
        }
        let name = self.slab.name(slot).clone();
        self.touch_volume(&name);
    }

    /// A volume went.
    pub(crate) fn remove_volume(&mut self, name: &str) {
        if let Some(old) = self.take_volume(name) {
            self.release_volume(&old);
            self.touch_volume(name);
        }
    }

    /// The reach of a volume as a node sees it: translated where the node says that the in-tree plugin is migrated.
    pub(crate) fn reach_from(&self, record: &VolumeRecord, node: &str) -> Result<ReachId, String> {
        let (Some(migrated), VolumeSource::InTree(disk)) = (&record.migrated, &record.volume.source) else {
            return Ok(record.reach);
        };
        let migrates = migration::plugin_of(disk).is_some_and(|plugin| {
            let csi_node = self.csi_nodes.get(node);
            csi_node.is_some_and(|c| c.migrated_plugins.iter().any(|p| &**p == plugin.name))
        });
        match migrated {
            Ok(reach) if migrates => Ok(*reach),
            Err(error) if migrates => Err(format!("could not translate pv: {error}")),
            _ => Ok(record.reach),
        }
    }

    fn migrated_reach(&mut self, volume: &Volume) -> Option<Result<ReachId, String>> {
        let VolumeSource::InTree(disk) = &volume.source else { return None };
        let plugin = migration::plugin_of(disk)?;
        if let Err(error) = migration::handle(disk, Some(&volume.labels)) {
            return Some(Err(error));
        }
        let affinity = migration::migrated_affinity(plugin, volume.affinity.as_deref(), &volume.labels);
        Some(Ok(self.topologies.acquire(affinity.map_or(Selector::Everywhere, |a| Selector::Affinity(Arc::new(a))))))
    }

    fn take_volume(&mut self, name: &str) -> Option<VolumeRecord> {
        let slot = self.slab.find(name)?;
        self.unshelve(slot);
        self.slab.remove(slot)
    }

    fn release_volume(&mut self, record: &VolumeRecord) {
        self.topologies.release(record.reach);
        if let Some(Ok(reach)) = record.migrated {
            self.topologies.release(reach);
        }
    }

    fn shelve(&mut self, slot: VolumeSlot) {
        let Some(record) = self.slab.get(slot) else { return };
        match &record.volume.claim_ref {
            Some(claim_ref) => {
                let name = record.volume.name.clone();
                self.referring.entry(claim_ref.claim.clone()).or_default().insert(name);
            }
            None if is_free(&record.volume) => {
                self.shelves.insert(slot, record.reach, &self.topologies, &self.slab);
            }
            None => {}
        }
    }

    fn unshelve(&mut self, slot: VolumeSlot) {
        let Some(record) = self.slab.get(slot) else { return };
        match &record.volume.claim_ref {
            Some(claim_ref) => {
                if let Some(names) = self.referring.get_mut(&claim_ref.claim) {
                    names.remove(&record.volume.name);
                    if names.is_empty() {
                        let key = claim_ref.claim.clone();
                        self.referring.remove(&key);
                    }
                }
            }
            None if is_free(&record.volume) => {
                self.shelves.remove(slot, record.reach, &self.topologies, &self.slab);
            }
            None => {}
        }
    }

    /// A claim came or changed.
    pub(crate) fn set_claim(&mut self, claim: Arc<Claim>) {
        let ours = self.claims.get(&claim.key).is_some_and(|old| {
            old.ours && (old.claim.selected_node == claim.selected_node || !claim.volume.is_empty())
        });
        self.put_claim(claim, None, ours);
    }

    /// Stores a claim with what was last observed of it, if that differs.
    pub(super) fn put_claim(&mut self, claim: Arc<Claim>, observed: Option<Observed<Claim>>, ours: bool) {
        let key = claim.key.clone();
        if let Some(old) = self.claims.get(&key) {
            let (class, volume) = (old.claim.class.clone(), old.claim.volume.clone());
            if ours && !claim.volume.is_empty() && old.claim.volume.is_empty() {
                self.pools.made(&class, &key);
            }
            self.pools.promise(&class, &key, None, &self.nodes, &self.topologies);
            if !ours {
                self.pools.drop_settling(&class, &key);
            }
            self.unname(&volume, &key);
        }
        if claim.volume.is_empty() {
            if let (Some(node), Some(request)) = (&claim.selected_node, claim.request) {
                let wanted = Some((node.clone(), request.value()));
                self.pools.promise(&claim.class, &key, wanted, &self.nodes, &self.topologies);
            }
        } else {
            self.naming.entry(claim.volume.clone()).or_default().insert(key.clone());
        }
        self.claims.insert(key.clone(), ClaimRecord { claim, observed, ours });
        self.touch_claim(&key);
    }

    /// A claim went.
    pub(crate) fn remove_claim(&mut self, key: &ObjectKey) {
        if let Some(old) = self.claims.remove(key) {
            self.pools.promise(&old.claim.class, key, None, &self.nodes, &self.topologies);
            self.pools.drop_settling(&old.claim.class, key);
            self.unname(&old.claim.volume, key);
            self.touch_claim(key);
        }
    }

    /// Whether some claim names this volume.
    pub(crate) fn is_named(&self, volume: &str) -> bool {
        self.naming.contains_key(volume)
    }

    fn unname(&mut self, volume: &Name, claim: &ObjectKey) {
        if let Some(claims) = self.naming.get_mut(volume) {
            claims.remove(claim);
            if claims.is_empty() {
                self.naming.remove(volume);
            }
        }
    }

    /// A class came or changed.
    pub(crate) fn set_class(&mut self, class: StorageClass) {
        let selector = if class.allowed_topologies.is_unrestricted() {
            Selector::Everywhere
        } else {
            Selector::Allowed(class.allowed_topologies.clone())
        };
        let allowed = self.topologies.acquire(selector);
        if let Some(old) = self.classes.insert(class.name.clone(), ClassRecord { class, allowed }) {
            self.topologies.release(old.allowed);
        }
        self.touch_all();
    }

    /// A class went.
    pub(crate) fn remove_class(&mut self, name: &str) {
        if let Some(old) = self.classes.remove(name) {
            self.topologies.release(old.allowed);
            self.touch_all();
        }
    }

    /// The class of claims that name none.
    pub(crate) fn default_class(&self) -> Option<Name> {
        let marked =
            self.classes.values().filter_map(|r| r.class.default_since.as_ref().map(|since| (since, &r.class.name)));
        marked.min_by_key(|(since, name)| (std::cmp::Reverse(*since), *name)).map(|(_, name)| name.clone())
    }

    /// A CSINode came or changed.
    pub(crate) fn set_csi_node(&mut self, csi_node: CsiNode) {
        let node = csi_node.node.clone();
        self.limiting_nodes += usize::from(has_limit(&csi_node));
        if let Some(old) = self.csi_nodes.insert(node.clone(), csi_node) {
            self.limiting_nodes -= usize::from(has_limit(&old));
        }
        self.touch_node(&node);
    }

    /// A CSINode went.
    pub(crate) fn remove_csi_node(&mut self, name: &str) {
        if let Some(old) = self.csi_nodes.remove(name) {
            self.limiting_nodes -= usize::from(has_limit(&old));
            self.touch_node(name);
        }
    }

    /// A driver came or changed.
    pub(crate) fn set_driver(&mut self, driver: CsiDriver) {
        self.remove_driver(&driver.name.clone());
        self.strict_drivers += usize::from(driver.prevent_scheduling_if_missing);
        self.drivers.insert(driver.name.clone(), driver);
    }

    /// A driver went.
    pub(crate) fn remove_driver(&mut self, name: &str) {
        if let Some(old) = self.drivers.remove(name) {
            self.strict_drivers -= usize::from(old.prevent_scheduling_if_missing);
        }
    }

    /// A pool came or changed.
    pub(crate) fn set_pool(&mut self, pool: Pool) {
        // The new reach is taken first, so that an unchanged one keeps its segments.
        let reach = pool.topology.clone().map(|s| self.topologies.acquire(Selector::Pool(s)));
        self.remove_pool(&pool.key.clone());
        self.pools.insert(pool, reach, &self.nodes, &self.topologies);
    }

    /// A pool went.
    pub(crate) fn remove_pool(&mut self, key: &ObjectKey) {
        if let Some(old) = self.pools.remove(key, &self.nodes, &self.topologies)
            && let Some(reach) = old.reach
        {
            self.topologies.release(reach);
        }
    }

    /// An attachment came or changed.
    pub(crate) fn set_attachment(&mut self, attachment: Attachment) {
        self.remove_attachment(&attachment.name.clone());
        let name = attachment.name.clone();
        self.attachments_on.entry(attachment.node.clone()).or_default().insert(name.clone());
        if let Some(volume) = &attachment.volume {
            self.attachments_of.entry(volume.clone()).or_default().insert(name.clone());
        }
        self.touch_node(&attachment.node.clone());
        self.attachments.insert(name, attachment);
    }

    /// An attachment went.
    pub(crate) fn remove_attachment(&mut self, name: &str) {
        let Some(old) = self.attachments.remove(name) else { return };
        forget_in(&mut self.attachments_on, &old.node, name);
        if let Some(volume) = &old.volume {
            forget_in(&mut self.attachments_of, volume, name);
        }
        self.touch_node(&old.node);
    }

    /// A pod was placed: its volumes are in use there.
    pub(crate) fn add_pod(&mut self, pod: Arc<Pod>) {
        let Some(node) = pod.node.clone() else { return };
        if pod.volumes.is_empty() {
            return;
        }
        for (claim, plain) in claims_of(&pod) {
            let user = ClaimUser { pod: pod.key.clone(), node: node.clone(), plain };
            self.users.entry(claim).or_default().push(user);
        }
        let pods = self.pods_on.entry(node.clone()).or_default();
        let at = pods.partition_point(|p| p.key < pod.key);
        pods.insert(at, pod);
        self.touch_node(&node);
    }

    /// A placed pod went or ended.
    pub(crate) fn remove_pod(&mut self, pod: &Pod) {
        let Some(node) = &pod.node else { return };
        for (claim, _) in claims_of(pod) {
            if let Some(users) = self.users.get_mut(&claim) {
                users.retain(|u| u.pod != pod.key);
                if users.is_empty() {
                    self.users.remove(&claim);
                }
            }
        }
        if let Some(pods) = self.pods_on.get_mut(node) {
            pods.retain(|p| p.key != pod.key);
            if pods.is_empty() {
                self.pods_on.remove(node);
            }
        }
        self.touch_node(node);
    }

    fn touch_node(&mut self, name: &str) {
        if let Some(&index) = self.nodes.get(name)
            && let Some(slot) = self.attached.get_mut(index)
        {
            *slot = OnceLock::new();
        }
    }

    fn touch_claim(&mut self, key: &ObjectKey) {
        let nodes: Vec<Name> = self.users.get(key).into_iter().flatten().map(|u| u.node.clone()).collect();
        for node in nodes {
            self.touch_node(&node);
        }
    }

    fn touch_volume(&mut self, name: &str) {
        let claims: Vec<ObjectKey> = self.naming.get(name).into_iter().flatten().cloned().collect();
        for claim in claims {
            self.touch_claim(&claim);
        }
        let attachments = self.attachments_of.get(name).into_iter().flatten();
        let nodes: Vec<Name> = attachments.filter_map(|a| self.attachments.get(a)).map(|a| a.node.clone()).collect();
        for node in nodes {
            self.touch_node(&node);
        }
    }

    fn touch_all(&mut self) {
        for slot in &mut self.attached {
            *slot = OnceLock::new();
        }
    }
}

fn has_limit(csi_node: &CsiNode) -> bool {
    csi_node.drivers.iter().any(|d| d.attach_limit.is_some())
}

/// Whether a volume can be given to any claim that it fits.
pub(crate) fn is_free(volume: &Volume) -> bool {
    volume.claim_ref.is_none() && volume.phase == VolumePhase::Available && !volume.deleting
}

fn affinity_selector(volume: &Volume) -> Selector {
    volume.affinity.clone().map_or(Selector::Everywhere, Selector::Affinity)
}

/// The claims that a pod's volumes name, and whether plainly.
pub(crate) fn claims_of(pod: &Pod) -> impl Iterator<Item = (ObjectKey, bool)> {
    pod.volumes.iter().filter_map(|v| match &v.source {
        PodVolumeSource::Claim { name } => {
            Some((ObjectKey { namespace: pod.key.namespace.clone(), name: name.clone() }, true))
        }
        PodVolumeSource::Ephemeral { .. } => Some((ephemeral_claim(pod, &v.name), false)),
        _ => None,
    })
}

/// The key of the claim of a pod's generic ephemeral volume.
pub(crate) fn ephemeral_claim(pod: &Pod, volume: &str) -> ObjectKey {
    ObjectKey { namespace: pod.key.namespace.clone(), name: format!("{}-{volume}", pod.key.name).into() }
}

fn forget_in(index: &mut Map<Name, BTreeSet<Name>>, key: &str, name: &str) {
    if let Some(names) = index.get_mut(key) {
        names.remove(name);
        if names.is_empty() {
            index.remove(key);
        }
    }
}
