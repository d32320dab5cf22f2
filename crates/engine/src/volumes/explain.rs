//! VolumeBinding's refusals in words: upstream's reason, and which claim, volume, place and numbers are behind it.

use crate::reason::{Code, Plugin, Refusal, Status};
use crate::volumes::binding::{Cause, NoVolume};
use crate::volumes::claims::DelayedClaim;
use crate::volumes::pod::PodVolumes;

impl PodVolumes<'_> {
    /// The refusal for a cause.
    pub(crate) fn binding_refusal(&self, node: usize, cause: &Cause) -> Refusal {
        let name = self.catalog.node_name(node);
        let refuse = |code, reason: &'static str, detail| Refusal {
            plugin: Plugin::VolumeBinding,
            code,
            status: Status::UnschedulableAndUnresolvable,
            reason: reason.into(),
            detail,
        };
        match cause {
            Cause::Affinity { bound } => {
                let claim = &self.claims.bound[*bound].claim;
                refuse(
                    Code::VOLUME_AFFINITY,
                    "node(s) didn't match PersistentVolume's node affinity",
                    format!("claim {} is bound to volume {}, which {name} cannot reach", claim.key, claim.volume),
                )
            }
            Cause::VolumeMissing { bound } => {
                let claim = &self.claims.bound[*bound].claim;
                refuse(
                    Code::VOLUME_MISSING,
                    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
                    format!("claim {} is bound to volume {}, which does not exist", claim.key, claim.volume),
                )
            }
            Cause::NoVolume { delayed, why } => refuse(
                Code::NO_VOLUME,
                "node(s) didn't find available persistent volumes to bind",
                self.no_volume_detail(node, &self.claims.delayed[*delayed], *why),
            ),
            Cause::NoRoom { delayed } => refuse(
                Code::NOT_ENOUGH_STORAGE,
                "node(s) did not have enough free storage",
                self.no_room_detail(node, &self.claims.delayed[*delayed]),
            ),
            Cause::Error(text) => Refusal {
                plugin: Plugin::VolumeBinding,
                code: Code::VOLUME_LOOKUP,
                status: Status::Error,
                reason: text.clone().into(),
                detail: format!("volumes on {name} cannot be judged: {text}"),
            },
        }
    }

    fn no_volume_detail(&self, node: usize, delayed: &DelayedClaim<'_>, why: NoVolume) -> String {
        let name = self.catalog.node_name(node);
        let claim = &delayed.claim;
        let (key, class, size) = (&claim.key, &claim.class, size_of(delayed));
        match why {
            NoVolume::SelectedElsewhere => {
                let selected = claim.selected_node.as_deref().unwrap_or_default();
                format!("claim {key} is being provisioned for node \"{selected}\" (its selected-node annotation)")
            }
            NoVolume::NoProvisioner if !delayed.reserved.is_empty() => {
                let volume = self.catalog.slab.name(delayed.reserved[0]);
                format!("volume {volume} is reserved for claim {key}, and {name} cannot reach it")
            }
            NoVolume::NoProvisioner => {
                let free: usize = self.catalog.shelves.of_class(class).iter().map(|s| s.len()).sum();
                format!(
                    "claim {key} needs {size} of class {class}, which makes no volumes; none of its {free} free volumes fits on {name}"
                )
            }
            NoVolume::NotAllowedHere => format!(
                "claim {key} needs {size} of class {class}; no free volume fits on {name}, and the class's allowedTopologies do not include it"
            ),
        }
    }

    fn no_room_detail(&self, node: usize, delayed: &DelayedClaim<'_>) -> String {
        let name = self.catalog.node_name(node);
        let claim = &delayed.claim;
        let pools = delayed.pools.and_then(|p| p.0);
        let pools: Vec<_> = pools.into_iter().flat_map(|p| p.at(node, &self.catalog.topologies)).collect();
        let needs = format!("claim {} needs {} of class {}", claim.key, size_of(delayed), claim.class);
        let largest = pools.iter().max_by_key(|(key, pool)| (self.limit(key, pool), std::cmp::Reverse(*key)));
        let Some((key, pool)) = largest else {
            return format!("{needs}; no pool of that class can be reached from {name}");
        };
        let Some(limit) = pool.pool.limit() else {
            return format!("{needs}; the pools reachable from {name} do not say what they have");
        };
        let promised = self.promised.get(*key).copied().unwrap_or(0);
        if promised > 0 && pool.limit >= Some(delayed.bytes) {
            return format!(
                "{needs}; the largest pool reachable from {name} has {limit}, of which {promised} bytes are promised to other claims"
            );
        }
        if pool.limit >= Some(delayed.bytes) {
            return format!(
                "{needs}; the largest pool reachable from {name} has {limit}, too little for all claims of the pod together"
            );
        }
        format!("{needs}; the largest pool reachable from {name} is {limit}")
    }
}

/// The size a claim asks for, as written.
fn size_of(delayed: &DelayedClaim<'_>) -> String {
    delayed.claim.request.map_or_else(|| "a volume".to_owned(), |q| q.to_string())
}
