//! Upstream's VolumeRestrictions filter: disks that cannot be shared on a node, and ReadWriteOncePod claims.

use crate::labels::{Name, ObjectKey};
use crate::model::{AccessModes, InTreeDisk, Pod, PodVolumeSource};
use crate::reason::{Code, Plugin, Refusal, Status};
use crate::volumes::catalog::VolumeCatalog;

/// What restricts the judged pod.
#[derive(Debug, Default)]
pub(crate) struct Restrictions {
    /// Whether the pod names disks that may be in use.
    disks: bool,
    /// A ReadWriteOncePod claim of the pod that another placed pod uses, and that pod.
    in_use: Option<(ObjectKey, ObjectKey)>,
}

impl Restrictions {
    /// Finds the pod's exclusive claims; a missing one refuses the pod. Generic ephemeral volumes are not looked at.
    pub(crate) fn prepare(catalog: &VolumeCatalog, pod: &Pod) -> Result<Self, Refusal> {
        let mut found = Self::default();
        for volume in &pod.volumes {
            match &volume.source {
                PodVolumeSource::Claim { name } => {
                    let key = ObjectKey { namespace: pod.key.namespace.clone(), name: name.clone() };
                    let Some(record) = catalog.claims.get(&key) else {
                        return Err(Refusal {
                            plugin: Plugin::VolumeRestrictions,
                            code: Code::CLAIM_NOT_FOUND,
                            status: Status::UnschedulableAndUnresolvable,
                            reason: format!("persistentvolumeclaim \"{name}\" not found").into(),
                            detail: format!("the pod names claim {key}, which does not exist"),
                        });
                    };
                    if record.claim.access_modes.contains(AccessModes::READ_WRITE_ONCE_POD) {
                        found.in_use = found.in_use.or_else(|| Some((key.clone(), other_user(catalog, &key, pod)?)));
                    }
                }
                source => found.disks |= is_exclusive(source),
            }
        }
        Ok(found)
    }

    /// Whether there is anything to ask a node about.
    pub(crate) fn apply(&self) -> bool {
        self.disks || self.in_use.is_some()
    }

    /// Whether the node is refused.
    pub(crate) fn refuse(&self, catalog: &VolumeCatalog, pod: &Pod, node: usize) -> bool {
        self.in_use.is_some() || (self.disks && conflict(catalog, pod, node).is_some())
    }

    /// Why the node is refused. A disk conflict is told before an exclusive claim, never both, as upstream does.
    pub(crate) fn refusals(&self, catalog: &VolumeCatalog, pod: &Pod, node: usize) -> Vec<Refusal> {
        let refuse = |code, reason: &'static str, detail| {
            vec![Refusal {
                plugin: Plugin::VolumeRestrictions,
                code,
                status: Status::Unschedulable,
                reason: reason.into(),
                detail,
            }]
        };
        if self.disks
            && let Some((volume, other)) = conflict(catalog, pod, node)
        {
            let detail = format!("volume {volume} is a disk that pod {other} uses on {}", catalog.node_name(node));
            return refuse(Code::DISK_CONFLICT, "node(s) had no available disk", detail);
        }
        match &self.in_use {
            Some((claim, other)) => refuse(
                Code::READ_WRITE_ONCE_POD,
                "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
                format!("claim {claim} is ReadWriteOncePod and pod {other} uses it"),
            ),
            None => Vec::new(),
        }
    }
}

/// Another placed pod that names the claim.
fn other_user(catalog: &VolumeCatalog, claim: &ObjectKey, pod: &Pod) -> Option<ObjectKey> {
    let users = catalog.users.get(claim).into_iter().flatten();
    users.filter(|u| u.plain && u.pod != pod.key && catalog.nodes.contains_key(&u.node)).map(|u| u.pod.clone()).min()
}

fn is_exclusive(source: &PodVolumeSource) -> bool {
    match source {
        PodVolumeSource::Disk { disk, .. } => matches!(disk, InTreeDisk::GcePd { .. } | InTreeDisk::AwsEbs { .. }),
        PodVolumeSource::Iscsi { .. } | PodVolumeSource::Rbd { .. } => true,
        _ => false,
    }
}

/// A disk of the pod that another pod on the node uses: the volume's name and that pod.
fn conflict(catalog: &VolumeCatalog, pod: &Pod, node: usize) -> Option<(Name, ObjectKey)> {
    let others = catalog.pods_on.get(catalog.node_name(node))?;
    let mine = pod.volumes.iter().filter(|v| is_exclusive(&v.source));
    mine.flat_map(|v| others.iter().filter(|o| o.key != pod.key).map(move |o| (v, o)))
        .find(|(mine, other)| other.volumes.iter().any(|theirs| cannot_share(&mine.source, &theirs.source)))
        .map(|(mine, other)| (mine.name.clone(), other.key.clone()))
}

/// Whether two pods on one node cannot both use these volumes.
pub(crate) fn cannot_share(a: &PodVolumeSource, b: &PodVolumeSource) -> bool {
    use PodVolumeSource::{Disk, Iscsi, Rbd};
    match (a, b) {
        (Disk { disk: a, read_only: a_ro }, Disk { disk: b, read_only: b_ro }) => match (a, b) {
            (InTreeDisk::GcePd { name: a }, InTreeDisk::GcePd { name: b }) => a == b && !(*a_ro && *b_ro),
            // Reading alone does not help here: the disk attaches once.
            (InTreeDisk::AwsEbs { volume_id: a }, InTreeDisk::AwsEbs { volume_id: b }) => a == b,
            _ => false,
        },
        (Iscsi { iqn: a, read_only: a_ro }, Iscsi { iqn: b, read_only: b_ro }) => a == b && !(*a_ro && *b_ro),
        (
            Rbd { monitors: am, pool: ap, image: ai, read_only: a_ro },
            Rbd { monitors: bm, pool: bp, image: bi, read_only: b_ro },
        ) => am.iter().any(|m| bm.contains(m)) && ap == bp && ai == bi && !(*a_ro && *b_ro),
        _ => false,
    }
}
