//! VolumeBinding written straight from the specification, nodes × volumes, with no index at all.
//! The other filters are in `other_filters`.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_engine::Object;
use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::model::{
    Attachment, BindingMode, Claim, ClaimPhase, CsiDriver, CsiNode, InTreeDisk, Node, Pod, PodVolumeSource, Pool,
    StorageClass, Volume, VolumePhase, VolumeSource,
};
use plimsoll_engine::reason::Plugin;
use plimsoll_engine::selector::Requirement;
use plimsoll_engine::volumes::{ZONE, ZONE_BETA};

/// The cluster as plain maps.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    pub nodes: BTreeMap<Name, Node>,
    pub volumes: BTreeMap<Name, Volume>,
    pub claims: BTreeMap<ObjectKey, Claim>,
    pub classes: BTreeMap<Name, StorageClass>,
    pub drivers: BTreeMap<Name, CsiDriver>,
    pub csi_nodes: BTreeMap<Name, CsiNode>,
    pub pools: BTreeMap<ObjectKey, Pool>,
    pub attachments: Vec<Attachment>,
    pub pods: Vec<Pod>,
}

/// A no: the plugin and its reason; of errors only that it is one.
pub type No = (Plugin, String);

/// What a delayed claim becomes.
#[derive(Clone, Debug, PartialEq)]
pub enum Planned {
    Volume(Name),
    New(Option<ObjectKey>),
}

/// What VolumeBinding says of a node.
#[derive(Clone, Debug, Default)]
pub struct Binding {
    pub reasons: Vec<String>,
    /// The delayed claims' plans; complete only where there is no reason against the node.
    pub plan: Vec<(ObjectKey, Planned)>,
}

/// What stands for the text of any error.
pub const ERROR: &str = "error";
const EBS_KEY: &str = "topology.ebs.csi.aws.com/zone";

impl Cluster {
    pub fn of(objects: &[Object]) -> Self {
        let mut all = Self::default();
        for object in objects.iter().cloned() {
            match object {
                Object::Node(o) => drop(all.nodes.insert(o.name.clone(), o)),
                Object::Volume(o) => drop(all.volumes.insert(o.name.clone(), o)),
                Object::Claim(o) => drop(all.claims.insert(o.key.clone(), o)),
                Object::Class(o) => drop(all.classes.insert(o.name.clone(), o)),
                Object::Driver(o) => drop(all.drivers.insert(o.name.clone(), o)),
                Object::CsiNode(o) => drop(all.csi_nodes.insert(o.node.clone(), o)),
                Object::Pool(o) => drop(all.pools.insert(o.key.clone(), o)),
                Object::Attachment(o) => all.attachments.push(o),
                Object::Pod(o) if !o.ended => all.pods.push(*o),
                _ => {}
            }
        }
        all
    }

    /// The pod's claims in order: (key, whether of an ephemeral volume).
    pub fn claim_keys(pod: &Pod) -> Vec<(ObjectKey, bool)> {
        let key = |name: Name| ObjectKey { namespace: pod.key.namespace.clone(), name };
        let of = |source: &PodVolumeSource, volume: &Name| match source {
            PodVolumeSource::Claim { name } => Some((key(name.clone()), false)),
            PodVolumeSource::Ephemeral { .. } => Some((key(format!("{}-{volume}", pod.key.name).into()), true)),
            _ => None,
        };
        pod.volumes.iter().filter_map(|v| of(&v.source, &v.name)).collect()
    }

    /// Why the pod as a whole is refused: the first in the order of the plugins.
    pub fn pod_refusal(&self, pod: &Pod) -> Option<No> {
        let restrictions = self.missing_plain(pod).map(|r| (Plugin::VolumeRestrictions, r));
        let binding = || self.prefilter(pod).map(|r| (Plugin::VolumeBinding, r));
        let zone = || self.zone_values(pod).err().map(|r| (Plugin::VolumeZone, r));
        restrictions.or_else(binding).or_else(zone)
    }

    fn missing_plain(&self, pod: &Pod) -> Option<String> {
        let missing = Self::claim_keys(pod).into_iter().find(|(k, e)| !e && !self.claims.contains_key(k));
        missing.map(|(k, _)| format!("persistentvolumeclaim \"{}\" not found", k.name))
    }

    /// 3.3.
    fn prefilter(&self, pod: &Pod) -> Option<String> {
        for (key, ephemeral) in Self::claim_keys(pod) {
            let name = &key.name;
            let Some(claim) = self.claims.get(&key) else {
                return Some(format!(
                    "waiting for ephemeral volume controller to create the persistentvolumeclaim \"{name}\""
                ));
            };
            if claim.phase == ClaimPhase::Lost {
                let volume = &claim.volume;
                return Some(format!(
                    "persistentvolumeclaim \"{name}\" bound to non-existent persistentvolume \"{volume}\""
                ));
            }
            if claim.deleting {
                return Some(format!("persistentvolumeclaim \"{name}\" is being deleted"));
            }
            if ephemeral && claim.controller_uid.as_ref() != Some(&pod.uid) {
                return Some(format!("PVC {key} was not created for pod {} (pod is not owner)", pod.key));
            }
        }
        let mut immediate = None;
        for (key, _) in Self::claim_keys(pod) {
            let claim = &self.claims[&key];
            if claim.is_fully_bound() {
                continue;
            }
            match self.classes.get(&claim.class).filter(|_| !claim.class.is_empty()).map(|c| c.binding_mode) {
                Some(None) => return Some(ERROR.into()),
                Some(Some(BindingMode::WaitForFirstConsumer)) if claim.volume.is_empty() => {}
                _ => immediate = Some("pod has unbound immediate PersistentVolumeClaims".into()),
            }
        }
        immediate
    }

    /// Every no of the volume filters against a node, for a pod that is not refused as a whole.
    pub fn refusals(&self, pod: &Pod, node: &Node) -> Vec<No> {
        let mut nos: Vec<No> = Vec::new();
        nos.extend(self.restrictions(pod, node).map(|r| (Plugin::VolumeRestrictions, r)));
        nos.extend(self.limits(pod, node).map(|r| (Plugin::NodeVolumeLimits, r)));
        nos.extend(self.binding(pod, node).reasons.into_iter().map(|r| (Plugin::VolumeBinding, r)));
        if !self.zone_fits(pod, node) {
            nos.push((Plugin::VolumeZone, "node(s) had no available volume zone".into()));
        }
        nos
    }

    /// 3.4.
    pub fn binding(&self, pod: &Pod, node: &Node) -> Binding {
        let keys = Self::claim_keys(pod);
        let claims = keys.iter().map(|(key, _)| &self.claims[key]);
        let (bound, delayed): (Vec<&Claim>, Vec<&Claim>) = claims.partition(|c| c.is_fully_bound());
        let failed = |reason: &str| Binding { reasons: vec![reason.into()], plan: Vec::new() };
        let mut first = None;
        for claim in bound {
            let Some(volume) = self.volumes.get(&claim.volume) else {
                first = Some("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)");
                break;
            };
            match self.reachable_translated(volume, node) {
                None => return failed(ERROR),
                Some(true) => {}
                Some(false) => {
                    first = Some("node(s) didn't match PersistentVolume's node affinity");
                    break;
                }
            }
        }
        match self.delayed(&delayed, node) {
            Err(reason) if reason == ERROR => failed(ERROR),
            Err(reason) => {
                Binding { reasons: first.into_iter().chain([reason]).map(Into::into).collect(), plan: vec![] }
            }
            Ok(plan) => Binding { reasons: first.into_iter().map(Into::into).collect(), plan },
        }
    }

    fn delayed(&self, claims: &[&Claim], node: &Node) -> Result<Vec<(ObjectKey, Planned)>, &'static str> {
        const NO_VOLUME: &str = "node(s) didn't find available persistent volumes to bind";
        if claims.iter().any(|c| c.selected_node.as_ref().is_some_and(|n| *n != node.name)) {
            return Err(NO_VOLUME);
        }
        let (mut provision, mut to_match): (Vec<&Claim>, Vec<&Claim>) =
            claims.iter().copied().partition(|c| c.selected_node.is_some());
        to_match.sort_by_key(|c| c.requested());
        let mut plan = Vec::new();
        let mut taken: BTreeSet<Name> = BTreeSet::new();
        for claim in to_match {
            if matches!(claim.selector, Some(Err(_))) {
                return Err(ERROR);
            }
            match self.find_volume(claim, node, &taken) {
                Some(volume) => {
                    taken.insert(volume.name.clone());
                    plan.push((claim.key.clone(), Planned::Volume(volume.name.clone())));
                }
                None => provision.push(claim),
            }
        }
        for claim in provision {
            let class = &self.classes[&claim.class];
            if !class.provisions() || !class.allowed_topologies.matches(&node.labels) {
                return Err(NO_VOLUME);
            }
            let pool = self.pool_for(claim, node).ok_or("node(s) did not have enough free storage")?;
            plan.push((claim.key.clone(), Planned::New(pool)));
        }
        Ok(plan)
    }

    /// 2.3 with a node, ties by name.
    pub fn find_volume(&self, claim: &Claim, node: &Node, taken: &BTreeSet<Name>) -> Option<&Volume> {
        let mut best: Option<&Volume> = None;
        for volume in self.volumes.values().filter(|v| v.class == claim.class && !taken.contains(&v.name)) {
            let reserved = volume.claim_ref.as_ref().is_some_and(|r| r.is_to(&claim.key, &claim.uid));
            if (volume.claim_ref.is_some() && !reserved) || !suits(volume, claim) {
                continue;
            }
            let reachable = reachable(volume, node);
            if reserved {
                return reachable.then_some(volume);
            }
            if reachable && is_candidate(volume, claim) && best.is_none_or(|b| volume.capacity < b.capacity) {
                best = Some(volume);
            }
        }
        best
    }

    /// 3.4.1: the first pool with room; `Some(None)` where nothing has to be checked.
    fn pool_for(&self, claim: &Claim, node: &Node) -> Option<Option<ObjectKey>> {
        let provisioner = &self.classes[&claim.class].provisioner;
        let checked = claim.request.is_some() && self.drivers.get(provisioner).is_some_and(|d| d.storage_capacity);
        if !checked {
            return Some(None);
        }
        let wanted = claim.requested().value();
        let usable = |pool: &&Pool| {
            pool.class == claim.class
                && pool.limit().is_some_and(|l| l.value() >= wanted)
                && pool.topology.as_ref().is_some_and(|t| t.matches(&node.labels))
        };
        self.pools.values().find(usable).map(|pool| Some(pool.key.clone()))
    }

    /// 3.10, of EBS disks, which are the only in-tree volumes here. `None` is an error.
    fn reachable_translated(&self, volume: &Volume, node: &Node) -> Option<bool> {
        let csi_node = self.csi_nodes.get(&node.name);
        let migrated = csi_node.is_some_and(|c| c.migrated_plugins.iter().any(|p| &**p == "kubernetes.io/aws-ebs"));
        let VolumeSource::InTree(InTreeDisk::AwsEbs { volume_id }) = &volume.source else {
            return Some(reachable(volume, node));
        };
        if !migrated {
            return Some(reachable(volume, node));
        }
        ebs_handle(volume_id)?;
        let terms: Vec<(Vec<&Requirement>, bool)> = match &volume.affinity {
            Some(a) => a.terms().iter().flatten().map(|t| (t.expressions().iter().collect(), t.is_empty())).collect(),
            None => vec![],
        };
        let none_at_all = volume.affinity.as_ref().is_none_or(|a| a.terms().is_empty());
        let all = || terms.iter().flat_map(|(t, _)| t.iter());
        let names = |key: &str| all().any(|r| &**r.key() == key);
        let beta = !names(ZONE) && (names(ZONE_BETA) || (!has(volume, ZONE) && has(volume, ZONE_BETA)));
        let zone_key = if beta { ZONE_BETA } else { ZONE };
        let renames = all().any(|r| &**r.key() == zone_key && !matches!(r.operator(), "Exists" | "DoesNotExist"));
        let value = |key: &str| {
            let key = if renames && key == zone_key { EBS_KEY } else { key };
            node.labels.get(key).map(|v| &**v)
        };
        let zones: Vec<&str> = if renames {
            vec![]
        } else {
            let label = volume.labels.get(zone_key).map_or("", |l| l);
            label.split("__").map(str::trim).filter(|z| !z.is_empty()).collect()
        };
        let zone_ok = zones.is_empty() || node.labels.get(EBS_KEY).is_some_and(|v| zones.contains(&&**v));
        if none_at_all && (volume.affinity.is_none() || !zones.is_empty()) {
            return Some(zone_ok);
        }
        let holds = |(term, empty): &(Vec<&Requirement>, bool)| {
            (!empty || !zones.is_empty()) && zone_ok && term.iter().all(|r| r.accepts(value(r.key())))
        };
        Some(terms.iter().any(holds))
    }

    /// 3.5 with the default shape.
    pub fn score(&self, plan: &[(ObjectKey, Planned)]) -> i64 {
        let mut classes: BTreeMap<Name, (i64, i64)> = BTreeMap::new();
        let bytes = |key: &ObjectKey| self.claims[key].request.map_or(0, |q| q.value());
        for (key, planned) in plan {
            if let Planned::Volume(volume) = planned {
                let volume = &self.volumes[volume];
                let sums = classes.entry(volume.class_field.clone()).or_default();
                *sums = (sums.0 + bytes(key), sums.1 + volume.capacity.value());
            }
        }
        if classes.is_empty() {
            for (key, planned) in plan {
                if let Planned::New(Some(pool)) = planned {
                    // The field counts here, and not the annotation; upstream crashes where only the latter is set.
                    let claim = &self.claims[key];
                    let class = if claim.class_field.is_empty() { &claim.class } else { &claim.class_field };
                    let sums = classes.entry(class.clone()).or_default();
                    *sums = (sums.0 + bytes(key), self.pools[pool].capacity.map_or(0, |q| q.value()));
                }
            }
        }
        let score = |(requested, capacity): &(i64, i64)| match *capacity {
            c if c <= 0 || *requested > c => 0,
            c => 100 - requested * 100 / c,
        };
        let sum: i64 = classes.values().map(score).sum();
        if classes.is_empty() { 0 } else { (sum as f64 / classes.len() as f64).round() as i64 }
    }
}

fn has(volume: &Volume, key: &str) -> bool {
    volume.labels.contains_key(key)
}

/// Steps 3 to 6 of 2.3.
pub fn suits(volume: &Volume, claim: &Claim) -> bool {
    volume.capacity >= claim.requested()
        && volume.mode == claim.mode
        && volume.attributes_class == claim.attributes_class
        && !volume.deleting
}

/// Steps 10 to 14 of 2.3, the affinity aside.
pub fn is_candidate(volume: &Volume, claim: &Claim) -> bool {
    volume.phase == VolumePhase::Available
        && claim.selector.as_ref().is_none_or(|s| s.as_ref().is_ok_and(|s| s.matches(&volume.labels)))
        && volume.class == claim.class
        && volume.access_modes.contains(claim.access_modes)
}

pub fn reachable(volume: &Volume, node: &Node) -> bool {
    volume.affinity.as_ref().is_none_or(|a| a.matches_labels(&node.labels))
}

/// The id of a disk as its driver names it.
pub fn ebs_handle(id: &Name) -> Option<Name> {
    match id.strip_prefix("aws://") {
        None => Some(id.clone()),
        Some(rest) => rest.split_once('/').map(|(_, disk)| disk.into()),
    }
}
