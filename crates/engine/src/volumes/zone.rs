//! Upstream's VolumeZone filter: the legacy zone and region labels of bound volumes.

use crate::labels::{Labels, Name, ObjectKey};
use crate::model::{BindingMode, Pod, PodVolumeSource};
use crate::reason::{Code, Plugin, Refusal, Status};
use crate::volumes::catalog::VolumeCatalog;
use crate::volumes::migration::{REGION, REGION_BETA, ZONE, ZONE_BETA, ZONE_SEPARATOR};
use crate::volumes::pod::PodVolumes;

/// The labels that are looked at, in upstream's order.
pub(crate) const KEYS: [&str; 4] = [ZONE_BETA, REGION_BETA, ZONE, REGION];

/// The labels that are looked at.
pub(crate) fn zone_keys() -> [&'static str; 4] {
    KEYS
}

/// A label that a volume of the pod has, and the values it lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ZoneConstraint {
    volume: Name,
    pub(crate) key: &'static str,
    pub(crate) values: Vec<Name>,
}

impl ZoneConstraint {
    /// The constraints of all volumes that the pod's claims name. Generic ephemeral volumes are not looked at.
    pub(crate) fn of_pod(catalog: &VolumeCatalog, pod: &Pod) -> Result<Vec<Self>, Refusal> {
        let mut constraints = Vec::new();
        for volume in &pod.volumes {
            let PodVolumeSource::Claim { name } = &volume.source else { continue };
            let key = ObjectKey { namespace: pod.key.namespace.clone(), name: name.clone() };
            if let Some(volume) = volume_of(catalog, &key)? {
                let Some(record) = catalog.slab.by_name(&volume) else {
                    let reason = format!("persistentvolume \"{volume}\" not found");
                    return Err(refuse(reason, format!("claim {key} names volume {volume}, which does not exist")));
                };
                constraints.extend(Self::of_volume(&record.volume));
            }
        }
        Ok(constraints)
    }

    /// The constraints of one volume.
    pub(crate) fn of_volume(volume: &crate::model::Volume) -> impl Iterator<Item = Self> {
        KEYS.into_iter().filter_map(|key| {
            let values: Vec<Name> = volume.labels.get(key)?.split(ZONE_SEPARATOR).map(|v| v.trim().into()).collect();
            // A list with a hole in it says nothing that could be relied on.
            let whole = values.iter().all(|v: &Name| !v.is_empty());
            whole.then(|| Self { volume: volume.name.clone(), key, values })
        })
    }
}

/// The volume that a claim names; `None` where the claim waits for its first consumer.
fn volume_of(catalog: &VolumeCatalog, key: &ObjectKey) -> Result<Option<Name>, Refusal> {
    if key.name.is_empty() {
        let detail = "a volume of the pod names a claim with an empty name".to_owned();
        return Err(refuse("PersistentVolumeClaim had no name".to_owned(), detail));
    }
    let Some(record) = catalog.claims.get(key) else {
        let reason = format!("persistentvolumeclaim \"{}\" not found", key.name);
        return Err(Refusal {
            code: Code::CLAIM_NOT_FOUND,
            ..refuse(reason, format!("the pod names claim {key}, which does not exist"))
        });
    };
    let claim = &record.claim;
    if !claim.volume.is_empty() {
        return Ok(Some(claim.volume.clone()));
    }
    if claim.class.is_empty() {
        let reason = "PersistentVolumeClaim had no pv name and storageClass name".to_owned();
        return Err(refuse(reason, format!("claim {key} has neither a volume nor a class")));
    }
    let Some(class) = catalog.classes.get(&claim.class) else {
        let reason = format!("storageclass.storage.k8s.io \"{}\" not found", claim.class);
        return Err(refuse(reason, format!("claim {key} names class {}, which does not exist", claim.class)));
    };
    match class.class.binding_mode {
        Some(BindingMode::WaitForFirstConsumer) => Ok(None),
        Some(BindingMode::Immediate) => {
            let detail = format!("claim {key} of class {} binds immediately and has no volume yet", claim.class);
            Err(Refusal { code: Code::UNBOUND_IMMEDIATE, ..refuse("PersistentVolume had no name".to_owned(), detail) })
        }
        None => {
            let reason = format!("VolumeBindingMode not set for StorageClass \"{}\"", claim.class);
            Err(refuse(reason, format!("class {} of claim {key} has no volumeBindingMode", claim.class)))
        }
    }
}

fn refuse(reason: String, detail: String) -> Refusal {
    Refusal {
        plugin: Plugin::VolumeZone,
        code: Code::VOLUME_LOOKUP,
        status: Status::UnschedulableAndUnresolvable,
        reason: reason.into(),
        detail,
    }
}

impl PodVolumes<'_> {
    /// The first constraint that the node does not meet.
    pub(crate) fn refused_by_zone(&self, node: usize) -> Option<&ZoneConstraint> {
        first_unmet(&self.zones, self.catalog.topologies.labels(node)?)
    }

    /// The refusal for a constraint.
    pub(crate) fn zone_refusal(&self, node: usize, constraint: &ZoneConstraint) -> Refusal {
        let ZoneConstraint { volume, key, values } = constraint;
        let labels = self.catalog.topologies.labels(node);
        let found = labels.and_then(|l| l.get(key).or_else(|| l.get(ga_key(key))));
        let found = found.map_or_else(|| "has no such label".to_owned(), |v| format!("has {v}"));
        let node = self.catalog.node_name(node);
        Refusal {
            code: Code::VOLUME_ZONE,
            ..refuse(
                "node(s) had no available volume zone".to_owned(),
                format!("volume {volume} is labelled {key}={}; {node} {found}", values.join(ZONE_SEPARATOR)),
            )
        }
    }
}

/// The first constraint that a node with these labels does not meet.
pub(crate) fn first_unmet<'c>(constraints: &'c [ZoneConstraint], labels: &Labels) -> Option<&'c ZoneConstraint> {
    if constraints.is_empty() || !KEYS.iter().any(|key| labels.contains_key(key)) {
        // A cluster of one zone need not label its nodes.
        return None;
    }
    constraints.iter().find(|constraint| {
        let value = labels.get(constraint.key).or_else(|| labels.get(ga_key(constraint.key)));
        value.is_none_or(|v| !constraint.values.contains(v))
    })
}

/// The key that stands in for a beta key on newer nodes.
pub(crate) fn ga_key(key: &'static str) -> &'static str {
    match key {
        ZONE_BETA => ZONE,
        REGION_BETA => REGION,
        key => key,
    }
}
