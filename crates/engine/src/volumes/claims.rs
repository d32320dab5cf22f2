//! What a pod's claims are, before any node is looked at.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::gates::{Gate, Gates};
use crate::labels::{Name, ObjectKey};
use crate::model::{BindingMode, Claim, ClaimPhase, ClaimTemplate, Pod, PodVolumeSource};
use crate::reason::{Code, Plugin, Refusal, Status};
use crate::topology::ReachId;
use crate::volumes::catalog::{ClassRecord, VolumeCatalog, claims_of, ephemeral_claim};
use crate::volumes::pools::ClassPools;
use crate::volumes::shelf::FitColumn;
use crate::volumes::slab::{VolumeRecord, VolumeSlot};

/// A claim that is bound.
#[derive(Debug)]
pub(crate) struct BoundClaim<'c> {
    /// The claim.
    pub(crate) claim: Arc<Claim>,
    /// Its volume, if that exists.
    pub(crate) volume: Option<&'c VolumeRecord>,
}

/// A claim that waits for its first consumer: this pod.
#[derive(Debug)]
pub(crate) struct DelayedClaim<'c> {
    /// The claim.
    pub(crate) claim: Arc<Claim>,
    /// Its size in whole bytes.
    pub(crate) bytes: i64,
    /// Whether it does not exist yet and is taken as it will be made.
    pub(crate) forecast: bool,
    /// Where its class lets volumes be made; `None` where the class makes none at all.
    pub(crate) allowed: Option<ReachId>,
    /// The pools to look for room in; `None` where the driver does not publish its space.
    pub(crate) pools: Option<CheckedPools<'c>>,
    /// The best free volumes everywhere, one column per shelf that serves the claim.
    pub(crate) columns: SmallVec<[Arc<FitColumn>; 1]>,
    /// Volumes that refer to this claim already, by name. If there is one, no other is looked at.
    pub(crate) reserved: SmallVec<[VolumeSlot; 1]>,
}

/// Pools that a claim must find room in; a class without any has none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckedPools<'c>(pub(crate) Option<&'c ClassPools>);

/// A pod's claims, sorted into what is to be done with them.
#[derive(Debug, Default)]
pub(crate) struct PodClaims<'c> {
    /// Bound ones, in the order of the pod's volumes.
    pub(crate) bound: Vec<BoundClaim<'c>>,
    /// Ones that wait for this pod, in the order of the pod's volumes.
    pub(crate) delayed: Vec<DelayedClaim<'c>>,
    /// Every claim in the order of the pod's volumes: (delayed?, index).
    pub(crate) order: Vec<(bool, usize)>,
}

impl<'c> PodClaims<'c> {
    /// Sorts a pod's claims, or says why the pod can be placed nowhere.
    pub(crate) fn sort(catalog: &'c VolumeCatalog, pod: &Pod, gates: Gates) -> Result<Self, Refusal> {
        let found = find_claims(catalog, pod, gates)?;
        let mut claims = Self::default();
        let mut immediate: Option<Arc<Claim>> = None;
        for (claim, forecast) in found {
            if claim.is_fully_bound() {
                let volume = catalog.slab.by_name(&claim.volume);
                claims.order.push((false, claims.bound.len()));
                claims.bound.push(BoundClaim { claim, volume });
                continue;
            }
            match delayed_class(catalog, &claim)? {
                Some(class) if claim.volume.is_empty() => {
                    claims.order.push((true, claims.delayed.len()));
                    claims.delayed.push(DelayedClaim::new(catalog, claim, class, forecast));
                }
                _ => immediate = immediate.or(Some(claim)),
            }
        }
        match immediate {
            Some(claim) => Err(unbound_immediate(catalog, &claim)),
            None => Ok(claims),
        }
    }
}

impl<'c> DelayedClaim<'c> {
    fn new(catalog: &'c VolumeCatalog, claim: Arc<Claim>, class: &'c ClassRecord, forecast: bool) -> Self {
        let request = claim.requested();
        let tracked = claim.request.is_some()
            && catalog.drivers.get(&class.class.provisioner).is_some_and(|d| d.storage_capacity);
        let reserved: SmallVec<[VolumeSlot; 1]> = catalog
            .referring
            .get(&claim.key)
            .into_iter()
            .flatten()
            .filter_map(|name| catalog.slab.find(name))
            .filter(|slot| {
                let v = catalog.slab.volume(*slot);
                v.class == claim.class
                    && v.claim_ref.as_ref().is_some_and(|r| r.is_to(&claim.key, &claim.uid))
                    && v.capacity >= request
                    && v.mode == claim.mode
                    && v.attributes_class == claim.attributes_class
                    && !v.deleting
            })
            .collect();
        let selector = claim.usable_selector();
        let columns = if claim.selected_node.is_some() {
            SmallVec::new()
        } else {
            let shelves = catalog.shelves.of_class(&claim.class).iter().filter(|s| s.serves(&claim));
            shelves.map(|s| s.column(request, selector, &catalog.topologies, &catalog.slab)).collect()
        };
        Self {
            bytes: claim.request.map_or(0, |q| q.value()),
            forecast,
            allowed: class.class.provisions().then_some(class.allowed),
            pools: tracked.then(|| CheckedPools(catalog.pools.of_class(&claim.class))),
            columns,
            reserved,
            claim,
        }
    }
}

/// The pod's claims in the order of its volumes, each with whether it is only forecast. A missing one ends the search.
fn find_claims(catalog: &VolumeCatalog, pod: &Pod, gates: Gates) -> Result<Vec<(Arc<Claim>, bool)>, Refusal> {
    let mut found: Vec<(Arc<Claim>, bool)> = Vec::new();
    for volume in &pod.volumes {
        let (key, template) = match &volume.source {
            PodVolumeSource::Claim { name } => {
                (ObjectKey { namespace: pod.key.namespace.clone(), name: name.clone() }, None)
            }
            PodVolumeSource::Ephemeral { template } => (ephemeral_claim(pod, &volume.name), Some(template)),
            _ => continue,
        };
        let (claim, forecast) = match (catalog.claims.get(&key), template) {
            (Some(record), _) => (Arc::clone(&record.claim), false),
            (None, Some(template)) if gates.on(Gate::EphemeralForecast) => {
                (Arc::new(forecast(catalog, pod, key, template)), true)
            }
            (None, template) => return Err(missing(&key, template.is_some())),
        };
        if let Some(refusal) = unusable(&claim, pod, template.is_some()) {
            return Err(refusal);
        }
        if gates.on(Gate::ClaimOnce) && found.iter().any(|(c, _)| c.key == claim.key) {
            continue;
        }
        found.push((claim, forecast));
    }
    Ok(found)
}

/// The claims of a pod that wait for it and are not bound yet, as far as they exist.
pub(crate) fn delayed_claims<'c>(catalog: &'c VolumeCatalog, pod: &'c Pod) -> impl Iterator<Item = &'c Arc<Claim>> {
    let known = claims_of(pod).filter_map(|(key, _)| Some(&catalog.claims.get(&key)?.claim));
    known.filter(|claim| !claim.is_fully_bound())
}

/// The class of a claim that waits for its first consumer; `None` where it does not wait.
fn delayed_class<'c>(catalog: &'c VolumeCatalog, claim: &Claim) -> Result<Option<&'c ClassRecord>, Refusal> {
    if claim.class.is_empty() {
        return Ok(None);
    }
    let Some(record) = catalog.classes.get(&claim.class) else { return Ok(None) };
    match record.class.binding_mode {
        Some(BindingMode::WaitForFirstConsumer) => Ok(Some(record)),
        Some(BindingMode::Immediate) => Ok(None),
        None => Err(Refusal {
            plugin: Plugin::VolumeBinding,
            code: Code::VOLUME_LOOKUP,
            status: Status::Error,
            reason: format!(
                "running PreFilter plugin \"VolumeBinding\": VolumeBindingMode not set for StorageClass \"{}\"",
                claim.class
            )
            .into(),
            detail: format!("class {} of claim {} has no volumeBindingMode", claim.class, claim.key),
        }),
    }
}

/// The claim that the ephemeral volume controller will make.
fn forecast(catalog: &VolumeCatalog, pod: &Pod, key: ObjectKey, template: &ClaimTemplate) -> Claim {
    let class: Name = template.class.clone().or_else(|| catalog.default_class()).unwrap_or_default();
    Claim {
        key,
        uid: Name::default(),
        version: 0,
        class_field: class.clone(),
        class,
        request: template.request,
        access_modes: template.access_modes,
        mode: template.mode,
        attributes_class: template.attributes_class.clone(),
        selector: None,
        volume: Name::default(),
        bind_completed: false,
        has_annotations: false,
        bound_by_controller: false,
        has_class: true,
        selected_node: None,
        phase: ClaimPhase::Pending,
        deleting: false,
        controller_uid: Some(pod.uid.clone()),
    }
}

fn refuse(code: Code, reason: String, detail: String) -> Refusal {
    Refusal {
        plugin: Plugin::VolumeBinding,
        code,
        status: Status::UnschedulableAndUnresolvable,
        reason: reason.into(),
        detail,
    }
}

fn missing(key: &ObjectKey, ephemeral: bool) -> Refusal {
    let name = &key.name;
    if ephemeral {
        let reason = format!("waiting for ephemeral volume controller to create the persistentvolumeclaim \"{name}\"");
        refuse(Code::EPHEMERAL_CLAIM_MISSING, reason, format!("claim {key} of the ephemeral volume is not there yet"))
    } else {
        let reason = format!("persistentvolumeclaim \"{name}\" not found");
        refuse(Code::CLAIM_NOT_FOUND, reason, format!("the pod names claim {key}, which does not exist"))
    }
}

fn unusable(claim: &Claim, pod: &Pod, ephemeral: bool) -> Option<Refusal> {
    let (key, name) = (&claim.key, &claim.key.name);
    if claim.phase == ClaimPhase::Lost {
        let volume = &claim.volume;
        let reason = format!("persistentvolumeclaim \"{name}\" bound to non-existent persistentvolume \"{volume}\"");
        return Some(refuse(Code::CLAIM_LOST, reason, format!("claim {key} lost its volume {volume}")));
    }
    if claim.deleting {
        let reason = format!("persistentvolumeclaim \"{name}\" is being deleted");
        return Some(refuse(Code::CLAIM_DELETING, reason, format!("claim {key} has a deletion timestamp")));
    }
    if ephemeral && claim.controller_uid.as_ref() != Some(&pod.uid) {
        let detail = format!("claim {key} exists, but pod {} does not control it", pod.key);
        return Some(refuse(Code::CLAIM_NOT_OWNED, not_owned(key, pod), detail));
    }
    None
}

/// Upstream's words for an ephemeral volume's claim that belongs to somebody else.
pub(crate) fn not_owned(key: &ObjectKey, pod: &Pod) -> String {
    format!("PVC {key} was not created for pod {} (pod is not owner)", pod.key)
}

fn unbound_immediate(catalog: &VolumeCatalog, claim: &Claim) -> Refusal {
    let why = if !claim.volume.is_empty() {
        format!("is to be bound to volume {}, and that is not complete", claim.volume)
    } else if claim.class.is_empty() {
        "has no class, so that it only binds to a volume made by hand".to_owned()
    } else if !catalog.classes.contains_key(&claim.class) {
        format!("names class {}, which does not exist", claim.class)
    } else {
        format!("is of class {}, which binds immediately, and has no volume yet", claim.class)
    };
    let reason = "pod has unbound immediate PersistentVolumeClaims".to_owned();
    refuse(Code::UNBOUND_IMMEDIATE, reason, format!("claim {} {why}", claim.key))
}
