//! Which pods hold which claims: kept when events arrive, so that a claim's users are found without a look at all pods.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_api::kinds::{ObjectMeta, PersistentVolumeClaim, Pod};
use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_runtime::{Change, Mirror};
use serde::Deserialize;

/// What claims need to know of a pod, from the mirror or from a live list: much less than the pod, so that listing a
/// namespace of thousands is cheap, and nothing else in a pod can make it unreadable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The pod's name.
    pub pod: Name,
    /// The pod's uid.
    pub uid: Name,
    /// Whether a node was chosen: no kubelet looks at it before, nor begins it once the claim is being deleted.
    pub scheduled: bool,
    /// Whether its node is done with it, or it was deleted by force: being deleted with nothing of its grace period left.
    ///
    /// Only then may its own ephemeral claims go before it: a finalizer on the pod may wait for exactly that.
    pub shut_down: bool,
    /// Whether it has run to its end.
    pub over: bool,
    /// The claims it names.
    pub claims: Vec<Name>,
    /// The claims that are made for it.
    pub ephemeral: Vec<Name>,
}

impl Usage {
    /// Of a mirrored pod.
    pub fn of(pod: &Pod) -> Self {
        let meta = &pod.metadata;
        let volumes = &pod.spec.volumes;
        let named = volumes.iter().filter_map(|v| v.persistent_volume_claim.as_ref());
        let made = volumes.iter().filter(|v| v.ephemeral.is_some() && v.persistent_volume_claim.is_none());
        Self {
            pod: meta.name.as_str().into(),
            uid: meta.uid.as_str().into(),
            scheduled: !pod.spec.node_name.is_empty(),
            shut_down: meta.deletion_timestamp.0 && meta.deletion_grace_period_seconds == Some(0),
            over: matches!(pod.status.phase.as_str(), "Succeeded" | "Failed"),
            claims: named.map(|c| c.claim_name.as_str().into()).collect(),
            ephemeral: made.map(|v| claim_name(&meta.name, &v.name)).collect(),
        }
    }

    /// Whether the pod may be using the claim, so that it must stay. A pod that has ended still does: only its deletion
    /// says that its node has let go.
    pub fn holds(&self, claim: &PersistentVolumeClaim) -> bool {
        let name = claim.metadata.name.as_str();
        let is_it = |other: &Name| &**other == name;
        self.scheduled
            && (self.claims.iter().any(is_it)
                || (!self.shut_down && self.ephemeral.iter().any(is_it) && owns(&self.uid, &claim.metadata)))
    }

    /// Whether the pod refers to the claim and has not ended, with or without a node: what the condition `Unused` is about.
    pub fn refers_to(&self, claim: &PersistentVolumeClaim) -> bool {
        let is_it = |other: &Name| **other == *claim.metadata.name;
        !self.over
            && (self.claims.iter().any(is_it) || (self.ephemeral.iter().any(is_it) && owns(&self.uid, &claim.metadata)))
    }

    fn all(&self) -> impl Iterator<Item = &Name> {
        self.claims.iter().chain(&self.ephemeral)
    }
}

/// The name of the claim that is made for a pod's ephemeral volume.
pub fn claim_name(pod: &str, volume: &str) -> Name {
    format!("{pod}-{volume}").into()
}

/// Whether the pod with this uid is the one that the claim was made for.
pub fn owns(pod: &str, claim: &ObjectMeta) -> bool {
    claim.controller().is_some_and(|owner| owner.uid == pod)
}

/// A pod of a live list, as far as it is read.
#[derive(Deserialize)]
pub(super) struct LivePod {
    #[serde(default)]
    metadata: LiveMeta,
    #[serde(default)]
    spec: LiveSpec,
    #[serde(default)]
    status: LiveStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LiveStatus {
    phase: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LiveMeta {
    name: String,
    uid: String,
    deletion_timestamp: Option<String>,
    deletion_grace_period_seconds: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LiveSpec {
    node_name: Option<String>,
    volumes: Option<Vec<LiveVolume>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LiveVolume {
    name: String,
    persistent_volume_claim: Option<LiveClaim>,
    ephemeral: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LiveClaim {
    claim_name: String,
}

impl From<LivePod> for Usage {
    fn from(pod: LivePod) -> Self {
        let LivePod { metadata: meta, spec, status } = pod;
        let volumes = spec.volumes.unwrap_or_default();
        let mut usage = Self {
            pod: meta.name.as_str().into(),
            uid: meta.uid.into(),
            scheduled: spec.node_name.is_some_and(|n| !n.is_empty()),
            shut_down: meta.deletion_timestamp.is_some() && meta.deletion_grace_period_seconds == Some(0),
            over: matches!(status.phase.as_str(), "Succeeded" | "Failed"),
            claims: Vec::new(),
            ephemeral: Vec::new(),
        };
        for volume in volumes {
            match volume.persistent_volume_claim {
                Some(claim) => usage.claims.push(claim.claim_name.into()),
                None if volume.ephemeral.is_some() => usage.ephemeral.push(claim_name(&meta.name, &volume.name)),
                None => {}
            }
        }
        usage
    }
}

/// The pods of each claim.
///
/// Makes "who uses this claim?" cost as much as there are answers.
#[derive(Debug, Default)]
pub struct Pods {
    by_claim: Mutex<BTreeMap<ObjectKey, BTreeMap<Name, Arc<Usage>>>>,
}

impl Pods {
    /// Keeps the index of this mirror. Listeners that are added later find it true already when they are told.
    pub fn of(mirror: &Mirror<Pod>) -> Arc<Self> {
        let index = Arc::new(Self::default());
        let kept = index.clone();
        mirror.listen(move |change| kept.note(change));
        index
    }

    /// The pods that name the claim, or that it would be made for.
    pub fn of_claim(&self, claim: &ObjectKey) -> Vec<Arc<Usage>> {
        let by_claim = self.by_claim.lock().unwrap_or_else(PoisonError::into_inner);
        by_claim.get(claim).map(|pods| pods.values().cloned().collect()).unwrap_or_default()
    }

    fn note(&self, change: &Change<Pod>) {
        let (old, new) = match change {
            Change::Set { old, new } => (old.as_ref(), Some(new)),
            Change::Gone { old } => (Some(old), None),
        };
        let mut by_claim = self.by_claim.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = old {
            for key in keys(old, &Usage::of(old)) {
                if let Some(pods) = by_claim.get_mut(&key) {
                    pods.remove(old.metadata.name.as_str());
                    if pods.is_empty() {
                        by_claim.remove(&key);
                    }
                }
            }
        }
        if let Some(new) = new {
            let usage = Arc::new(Usage::of(new));
            for key in keys(new, &usage) {
                by_claim.entry(key).or_default().insert(usage.pod.clone(), usage.clone());
            }
        }
    }
}

/// The claims that a pod holds or would hold, in its namespace.
pub(super) fn keys(pod: &Pod, usage: &Usage) -> Vec<ObjectKey> {
    let namespace = Name::from(pod.metadata.namespace.as_str());
    usage.all().map(|name| ObjectKey { namespace: namespace.clone(), name: name.clone() }).collect()
}

#[cfg(test)]
mod tests;
