//! The reference for the filters beside VolumeBinding: VolumeRestrictions, NodeVolumeLimits and VolumeZone.

use std::collections::BTreeSet;

use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::model::{AccessModes, BindingMode, Claim, InTreeDisk, Node, Pod, PodVolumeSource, VolumeSource};
use plimsoll_engine::volumes::{REGION, REGION_BETA, ZONE, ZONE_BETA};

use crate::reference::{Cluster, ERROR, ebs_handle};

const ZONE_KEYS: [&str; 4] = [ZONE_BETA, REGION_BETA, ZONE, REGION];

impl Cluster {
    /// 7.4.
    pub(crate) fn restrictions(&self, pod: &Pod, node: &Node) -> Option<String> {
        let others = || self.pods.iter().filter(|p| p.key != pod.key);
        let here = others().filter(|p| p.node.as_ref() == Some(&node.name)).flat_map(|p| &p.volumes);
        for other in here {
            if pod.volumes.iter().any(|mine| conflict(&mine.source, &other.source)) {
                return Some("node(s) had no available disk".into());
            }
        }
        let plain = |p: &Pod| Self::claim_keys(p).into_iter().filter(|(_, e)| !e).map(|(k, _)| k).collect::<Vec<_>>();
        let once = |k: &ObjectKey| self.claims[k].access_modes.contains(AccessModes::READ_WRITE_ONCE_POD);
        let placed = |p: &&Pod| p.node.as_ref().is_some_and(|n| self.nodes.contains_key(n));
        let mine: Vec<ObjectKey> = plain(pod).into_iter().filter(once).collect();
        others().filter(placed).any(|p| plain(p).iter().any(|k| mine.contains(k))).then(|| {
            "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
                .into()
        })
    }

    /// 7.2.
    pub(crate) fn zone_values(&self, pod: &Pod) -> Result<Vec<(&'static str, Vec<String>)>, String> {
        let mut found = Vec::new();
        for (key, _) in Self::claim_keys(pod).into_iter().filter(|(_, ephemeral)| !ephemeral) {
            let Some(claim) = self.claims.get(&key) else { return Err("missing".into()) };
            if claim.volume.is_empty() {
                let class = self.classes.get(&claim.class).filter(|_| !claim.class.is_empty());
                match class.map(|c| c.binding_mode) {
                    Some(Some(BindingMode::WaitForFirstConsumer)) => continue,
                    _ => return Err("unbound".into()),
                }
            }
            let Some(volume) = self.volumes.get(&claim.volume) else {
                return Err(format!("persistentvolume \"{}\" not found", claim.volume));
            };
            for key in ZONE_KEYS {
                let Some(label) = volume.labels.get(key) else { continue };
                let pieces: Vec<String> = label.split("__").map(|p| p.trim().to_owned()).collect();
                if pieces.iter().all(|p| !p.is_empty()) {
                    found.push((key, pieces));
                }
            }
        }
        Ok(found)
    }

    pub(crate) fn zone_fits(&self, pod: &Pod, node: &Node) -> bool {
        let label = |key: &str| node.labels.get(key);
        if ZONE_KEYS.iter().all(|key| label(key).is_none()) {
            return true;
        }
        let values = self.zone_values(pod).expect("the pod is not refused as a whole");
        values.iter().all(|(key, pieces)| {
            let value = match *key {
                ZONE_BETA => label(ZONE_BETA).or_else(|| label(ZONE)),
                REGION_BETA => label(REGION_BETA).or_else(|| label(REGION)),
                key => label(key),
            };
            value.is_some_and(|v| pieces.iter().any(|p| **p == **v))
        })
    }

    /// 7.3.
    pub(crate) fn limits(&self, pod: &Pod, node: &Node) -> Option<String> {
        let csi_node = self.csi_nodes.get(&node.name);
        let Ok(new) = self.ids(pod, csi_node.is_some()) else { return Some(ERROR.into()) };
        if new.is_empty() {
            return None;
        }
        let strict = |d: &Name| self.drivers.get(d).is_some_and(|d| d.prevent_scheduling_if_missing);
        if new.iter().any(|(d, _)| strict(d) && csi_node.is_none_or(|c| c.driver(d).is_none())) {
            return Some("CSI driver is not installed on the node".into());
        }
        let limits: Vec<(&Name, i32)> =
            csi_node?.drivers.iter().filter_map(|d| Some((&d.name, d.attach_limit?))).collect();
        if limits.is_empty() {
            return None;
        }
        let mut used = BTreeSet::new();
        for other in self.pods.iter().filter(|p| p.node.as_ref() == Some(&node.name) && p.key != pod.key) {
            let Ok(ids) = self.ids(other, true) else { return Some(ERROR.into()) };
            used.extend(ids);
        }
        let attached = self.attachments.iter().filter(|a| a.node == node.name && !a.attacher.is_empty());
        let attached: BTreeSet<(Name, Name)> = attached
            .filter_map(|a| match &self.volumes.get(a.volume.as_ref()?)?.source {
                VolumeSource::Csi { handle, .. } => Some((a.attacher.clone(), handle.clone())),
                _ => None,
            })
            .collect();
        let exceeds = |(driver, limit): &(&Name, i32)| {
            let count = |ids: &mut dyn Iterator<Item = &(Name, Name)>| ids.filter(|(d, _)| d == *driver).count();
            let wanted = count(&mut new.difference(&used));
            wanted > 0 && count(&mut used.union(&attached)) + wanted > usize::try_from(*limit).unwrap_or(0)
        };
        limits.iter().any(exceeds).then(|| "node(s) exceed max volume count".into())
    }

    /// The ids of a pod's volumes; missing claims are left out, a claim that is not the pod's own is an error.
    fn ids(&self, pod: &Pod, csi_node: bool) -> Result<BTreeSet<(Name, Name)>, ()> {
        let mut ids = BTreeSet::new();
        for volume in &pod.volumes {
            if let PodVolumeSource::Disk { disk, .. } = &volume.source
                && csi_node
            {
                match disk {
                    InTreeDisk::AwsEbs { volume_id } => {
                        ids.insert(("ebs.csi.aws.com".into(), ebs_handle(volume_id).ok_or(())?));
                    }
                    InTreeDisk::GcePd { name } => drop(ids.insert(("pd.csi.storage.gke.io".into(), name.clone()))),
                    _ => {}
                }
            }
            let single = Pod { volumes: vec![volume.clone()], ..pod.clone() };
            for (key, ephemeral) in Self::claim_keys(&single) {
                let Some(claim) = self.claims.get(&key) else { continue };
                if ephemeral && claim.controller_uid.as_ref() != Some(&pod.uid) {
                    return Err(());
                }
                ids.extend(self.id_of(claim, csi_node));
            }
        }
        Ok(ids)
    }

    fn id_of(&self, claim: &Claim, csi_node: bool) -> Option<(Name, Name)> {
        if let Some(volume) = self.volumes.get(&claim.volume).filter(|_| !claim.volume.is_empty()) {
            return match &volume.source {
                VolumeSource::Csi { driver, handle } => Some((driver.clone(), handle.clone())),
                VolumeSource::InTree(InTreeDisk::AwsEbs { volume_id }) if csi_node => {
                    Some(("ebs.csi.aws.com".into(), ebs_handle(volume_id)?))
                }
                _ => None,
            };
        }
        let class = self.classes.get(&claim.class).filter(|c| !claim.class.is_empty() && !c.provisioner.is_empty())?;
        let handle = format!("unbound {}", claim.key).into();
        match &*class.provisioner {
            "kubernetes.io/aws-ebs" => csi_node.then(|| ("ebs.csi.aws.com".into(), handle)),
            _ => Some((class.provisioner.clone(), handle)),
        }
    }
}

/// 7.4.1, of the sources that are generated.
fn conflict(a: &PodVolumeSource, b: &PodVolumeSource) -> bool {
    use PodVolumeSource::{Disk, Iscsi};
    match (a, b) {
        (Disk { disk: a, read_only: x }, Disk { disk: b, read_only: y }) => match (a, b) {
            (InTreeDisk::GcePd { name: a }, InTreeDisk::GcePd { name: b }) => a == b && !(*x && *y),
            (InTreeDisk::AwsEbs { volume_id: a }, InTreeDisk::AwsEbs { volume_id: b }) => a == b,
            _ => false,
        },
        (Iscsi { iqn: a, read_only: x }, Iscsi { iqn: b, read_only: y }) => a == b && !(*x && *y),
        _ => false,
    }
}
