//! Upstream's NodeVolumeLimits filter: how many volumes a driver can attach to a node.
//!
//! What pods on a node use and what is attached there is counted once, and again only after something changed there.

use smallvec::SmallVec;

use crate::collections::{Map, Set};
use crate::gates::{Gate, Gates};
use crate::labels::{Name, ObjectKey};
use crate::model::{Claim, Pod, PodVolumeSource, VolumeSource};
use crate::reason::{Code, Plugin, Refusal, Status};
use crate::volumes::binding::Judgement;
use crate::volumes::catalog::{VolumeCatalog, claims_of, ephemeral_claim};
use crate::volumes::claims::{PodClaims, not_owned};
use crate::volumes::migration;
use crate::volumes::pod::PodVolumes;

/// A volume as attach limits tell volumes apart: the driver and its handle.
///
/// A claim without a volume counts under a handle of its own, so that two pods that share it count it once.
pub(crate) type VolumeId = (Name, Name);

/// What is attached to a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attached {
    /// What the node's pods use.
    used: Set<VolumeId>,
    /// Attached, but used by no pod.
    left_over: Set<VolumeId>,
    /// How many volumes of each driver, both kinds together.
    counts: Map<Name, i64>,
    /// A pod on the node whose claims cannot be counted.
    error: Option<String>,
}

/// The judged pod's volumes, as far as limits count them.
#[derive(Debug, Default)]
pub(crate) struct PodAttachments {
    /// Whether the pod has any volume that the filter looks at.
    applies: bool,
    /// A claim that is missing: upstream's words.
    missing: Option<(ObjectKey, String)>,
    /// An ephemeral volume's claim that is somebody else's: upstream's words.
    error: Option<String>,
    /// The pod's volumes on a node with a CSINode, and on one without.
    with_csi_node: SmallVec<[Wanted; 2]>,
    without_csi_node: SmallVec<[Wanted; 2]>,
}

/// A volume that the judged pod needs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    id: VolumeId,
    /// The delayed claim it stands for, whose plan may name another volume.
    delayed: Option<usize>,
}

/// Why limits refuse a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LimitCause {
    /// A claim is missing.
    ClaimMissing(ObjectKey, String),
    /// The rule could not be applied.
    Error(String),
    /// A driver that asks for it is not on the node.
    DriverMissing(Name),
    /// More volumes than the driver can attach.
    Exceeded { driver: Name, limit: i64, attached: i64, wanted: i64 },
}

impl VolumeCatalog {
    /// The driver and handle of a claim's volume, or of the one its class will make; `None` is not counted.
    pub(crate) fn volume_id(&self, claim: &Claim, csi_node: bool) -> Option<VolumeId> {
        let record = if claim.volume.is_empty() { None } else { self.slab.by_name(&claim.volume) };
        let Some(record) = record else {
            let class = self.classes.get(&claim.class).filter(|_| !claim.class.is_empty())?;
            let driver = migration::driver_of_provisioner(&class.class.provisioner, csi_node)?;
            return Some((driver, unbound_handle(&claim.key)));
        };
        let (driver, handle) = match &record.volume.source {
            VolumeSource::Csi { driver, handle } => (driver.clone(), handle.clone()),
            VolumeSource::InTree(disk) if csi_node => {
                let plugin = migration::plugin_of(disk)?;
                (plugin.driver.into(), migration::handle(disk, Some(&record.volume.labels)).ok()?)
            }
            VolumeSource::InTree(_) | VolumeSource::Other => return None,
        };
        (!driver.is_empty() && !handle.is_empty()).then_some((driver, handle))
    }

    /// The volumes that a pod has attached, or would have, on a node with a CSINode, by what is known of its claims.
    pub(crate) fn wanted_ids(&self, pod: &Pod) -> Vec<VolumeId> {
        let inline = pod.volumes.iter().filter_map(|volume| match &volume.source {
            PodVolumeSource::Disk { disk, .. } => inline_id(disk, true).ok().flatten(),
            _ => None,
        });
        let claims = claims_of(pod).filter_map(|(key, _)| self.volume_id(&self.claims.get(&key)?.claim, true));
        claims.chain(inline).collect()
    }

    /// What is attached to a node, counted now if something changed since it was last asked for.
    fn attached_to(&self, node: usize) -> &Attached {
        self.attached[node].get_or_init(|| self.count_attached(self.node_name(node)))
    }

    fn count_attached(&self, node: &Name) -> Attached {
        let mut attached = Attached::default();
        let csi_node = self.csi_nodes.contains_key(node);
        for pod in self.pods_on.get(node).into_iter().flatten() {
            if let Err(error) = self.count_pod(pod, csi_node, &mut attached) {
                attached.error.get_or_insert(error);
            }
        }
        for name in self.attachments_on.get(node).into_iter().flatten() {
            let Some(attachment) = self.attachments.get(name).filter(|a| !a.attacher.is_empty()) else { continue };
            let record = attachment.volume.as_ref().and_then(|v| self.slab.by_name(v));
            if let Some(VolumeSource::Csi { handle, .. }) = record.map(|r| &r.volume.source) {
                let id = (attachment.attacher.clone(), handle.clone());
                if !attached.used.contains(&id) {
                    attached.left_over.insert(id);
                }
            }
        }
        for (driver, _) in attached.used.iter().chain(&attached.left_over) {
            *attached.counts.entry(driver.clone()).or_default() += 1;
        }
        attached
    }

    fn count_pod(&self, pod: &Pod, csi_node: bool, attached: &mut Attached) -> Result<(), String> {
        for volume in &pod.volumes {
            let (key, ephemeral) = match &volume.source {
                PodVolumeSource::Claim { name } => {
                    (ObjectKey { namespace: pod.key.namespace.clone(), name: name.clone() }, false)
                }
                PodVolumeSource::Ephemeral { .. } => (ephemeral_claim(pod, &volume.name), true),
                PodVolumeSource::Disk { disk, .. } => {
                    if let Some(id) = inline_id(disk, csi_node).map_err(|e| inline_error(&volume.name, &e))? {
                        attached.used.insert(id);
                    }
                    continue;
                }
                _ => continue,
            };
            let Some(record) = self.claims.get(&key) else { continue };
            if ephemeral && record.claim.controller_uid.as_ref() != Some(&pod.uid) {
                return Err(not_owned(&key, pod));
            }
            if let Some(id) = self.volume_id(&record.claim, csi_node) {
                attached.used.insert(id);
            }
        }
        Ok(())
    }
}

/// A handle that no driver gives, for a claim that has no volume yet.
fn unbound_handle(claim: &ObjectKey) -> Name {
    format!("\u{0}{claim}").into()
}

fn inline_id(disk: &crate::model::InTreeDisk, csi_node: bool) -> Result<Option<VolumeId>, String> {
    match migration::plugin_of(disk) {
        Some(plugin) if csi_node => Ok(Some((plugin.driver.into(), migration::handle(disk, None)?))),
        _ => Ok(None),
    }
}

fn inline_error(volume: &str, error: &str) -> String {
    format!("converting volume({volume}) from inline to csi: {error}")
}

impl PodAttachments {
    /// Whether some volume of the pod cannot be counted, so that every node must be asked.
    pub(crate) fn is_unclear(&self) -> bool {
        self.missing.is_some() || self.error.is_some()
    }

    /// Whether the pod has any volume that the filter looks at.
    pub(crate) fn applies(&self) -> bool {
        self.applies
    }

    /// Finds what the pod needs attached.
    pub(crate) fn prepare(catalog: &VolumeCatalog, pod: &Pod, claims: &PodClaims<'_>, gates: Gates) -> Self {
        let mut found = Self::default();
        for volume in &pod.volumes {
            let (key, ephemeral) = match &volume.source {
                PodVolumeSource::Claim { name } => {
                    (ObjectKey { namespace: pod.key.namespace.clone(), name: name.clone() }, false)
                }
                PodVolumeSource::Ephemeral { .. } => (ephemeral_claim(pod, &volume.name), true),
                PodVolumeSource::Disk { disk, .. } => {
                    found.applies = true;
                    match inline_id(disk, true) {
                        Ok(Some(id)) => found.with_csi_node.push(Wanted { id, delayed: None }),
                        Ok(None) => {}
                        // Only a node with a CSINode translates the disk; that is where the error belongs.
                        Err(e) => found.error = found.error.or(Some(inline_error(&volume.name, &e))),
                    }
                    continue;
                }
                _ => continue,
            };
            found.applies = true;
            let delayed = claims.delayed.iter().position(|d| d.claim.key == key);
            let claim = match (catalog.claims.get(&key), delayed) {
                (Some(record), _) => &record.claim,
                (None, Some(i)) if claims.delayed[i].forecast => &claims.delayed[i].claim,
                (None, _) => {
                    let text = format!("looking up PVC {key}: persistentvolumeclaim \"{}\" not found", key.name);
                    found.missing = found.missing.or(Some((key, text)));
                    break;
                }
            };
            if ephemeral && claim.controller_uid.as_ref() != Some(&pod.uid) {
                found.error = found.error.or(Some(not_owned(&key, pod)));
                break;
            }
            for (csi_node, list) in [(true, &mut found.with_csi_node), (false, &mut found.without_csi_node)] {
                if let Some(id) = catalog.volume_id(claim, csi_node) {
                    list.push(Wanted { id, delayed: delayed.filter(|_| gates.on(Gate::AttachAwarePlan)) });
                }
            }
        }
        for list in [&mut found.with_csi_node, &mut found.without_csi_node] {
            let mut seen: Set<VolumeId> = Set::default();
            list.retain(|w| seen.insert(w.id.clone()));
        }
        found
    }
}

impl PodVolumes<'_> {
    /// Why attach limits refuse a node, if they do.
    pub(crate) fn refused_by_limits(&self, node: usize, judgement: &Judgement<'_>) -> Option<LimitCause> {
        let wanted = &self.attachments;
        if !wanted.applies {
            return None;
        }
        if !wanted.is_unclear() && !self.catalog.limits_attachments() {
            return None;
        }
        let csi_node = self.catalog.csi_nodes.get(self.catalog.node_name(node));
        if let Some((claim, text)) = &wanted.missing {
            return Some(LimitCause::ClaimMissing(claim.clone(), text.clone()));
        }
        if let Some(error) = wanted.error.as_ref().filter(|_| csi_node.is_some() || !self.claims_only_inline_error()) {
            return Some(LimitCause::Error(error.clone()));
        }
        let list = if csi_node.is_some() { &wanted.with_csi_node } else { &wanted.without_csi_node };
        if list.is_empty() {
            return None;
        }
        let planned = self.planned_ids(list, judgement, csi_node.is_some());
        let ids: &[VolumeId] = &planned;
        if self.rules.limit_scaling {
            for (driver, _) in ids {
                let strict = self.catalog.drivers.get(driver).is_some_and(|d| d.prevent_scheduling_if_missing);
                if strict && csi_node.is_none_or(|c| c.driver(driver).is_none()) {
                    return Some(LimitCause::DriverMissing(driver.clone()));
                }
            }
        }
        let csi_node = csi_node?;
        if csi_node.drivers.iter().all(|d| d.attach_limit.is_none()) {
            return None;
        }
        let attached = self.catalog.attached_to(node);
        if let Some(error) = &attached.error {
            return Some(LimitCause::Error(error.clone()));
        }
        let count_once = self.gates.on(Gate::AttachAwarePlan);
        for entry in &csi_node.drivers {
            let Some(limit) = entry.attach_limit else { continue };
            let is_new = |id: &&VolumeId| {
                id.0 == entry.name && !attached.used.contains(*id) && !(count_once && attached.left_over.contains(*id))
            };
            let wanted = ids.iter().filter(is_new).count() as i64;
            let present = attached.counts.get(&entry.name).copied().unwrap_or(0);
            if wanted > 0 && present + wanted > i64::from(limit) {
                let (driver, limit) = (entry.name.clone(), i64::from(limit));
                return Some(LimitCause::Exceeded { driver, limit, attached: present, wanted });
            }
        }
        None
    }

    /// Whether the pod's only trouble is an inline disk, which a node without a CSINode does not look at.
    fn claims_only_inline_error(&self) -> bool {
        self.attachments.error.as_ref().is_some_and(|e| e.starts_with("converting volume("))
    }

    /// The volumes that the pod would have attached on this node. With the gate `AttachAwarePlan`, a claim that the plan
    /// binds to a volume that exists counts as that volume, and not as one of its class's provisioner.
    fn planned_ids(&self, list: &[Wanted], judgement: &Judgement<'_>, csi_node: bool) -> SmallVec<[VolumeId; 2]> {
        let id_of = |wanted: &Wanted| -> Option<VolumeId> {
            let fit = wanted.delayed.and_then(|i| judgement.statics.iter().find(|(at, _)| *at == i));
            let Some((_, fit)) = fit else { return Some(wanted.id.clone()) };
            match &self.catalog.slab.volume(fit.slot).source {
                VolumeSource::Csi { driver, handle } => Some((driver.clone(), handle.clone())),
                // As for bound volumes, only a node with a CSINode counts an in-tree disk under its driver.
                VolumeSource::InTree(disk) if csi_node => {
                    let labels = &self.catalog.slab.volume(fit.slot).labels;
                    Some((migration::plugin_of(disk)?.driver.into(), migration::handle(disk, Some(labels)).ok()?))
                }
                VolumeSource::InTree(_) | VolumeSource::Other => None,
            }
        };
        list.iter().filter_map(id_of).collect()
    }

    /// The refusal for a cause.
    pub(crate) fn limit_refusal(&self, node: usize, cause: LimitCause) -> Refusal {
        let node = self.catalog.node_name(node);
        let (code, status, reason, detail) = match cause {
            LimitCause::ClaimMissing(claim, text) => (
                Code::CLAIM_NOT_FOUND,
                Status::UnschedulableAndUnresolvable,
                text,
                format!("the pod names claim {claim}, which does not exist"),
            ),
            LimitCause::Error(text) => {
                let reason = format!("running \"NodeVolumeLimits\" filter plugin: {text}");
                (Code::VOLUME_LOOKUP, Status::Error, reason, format!("volumes on {node} cannot be counted: {text}"))
            }
            LimitCause::DriverMissing(driver) => (
                Code::DRIVER_MISSING,
                Status::Unschedulable,
                format!("{driver} CSI driver is not installed on the node"),
                format!("driver {driver} is not among the drivers of CSINode {node}, and asks that pods wait for it"),
            ),
            LimitCause::Exceeded { driver, limit, attached, wanted } => (
                Code::ATTACH_LIMIT,
                Status::Unschedulable,
                "node(s) exceed max volume count".to_owned(),
                format!(
                    "driver {driver} can attach {limit} volumes to {node}; {attached} are in use and the pod needs {wanted} more"
                ),
            ),
        };
        Refusal { plugin: Plugin::NodeVolumeLimits, code, status, reason: reason.into(), detail }
    }
}
