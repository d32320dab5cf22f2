//! Volumes for claims that find none: a free one, a class that may make one here, a claim that is free to go elsewhere.

use crate::labels::{Name, ObjectKey};
use crate::model::{
    AccessModes, Claim, ClaimPhase, ClaimRef, ClaimTemplate, Pod, PodVolumeSource, StorageClass, Volume, VolumeMode,
    VolumePhase, VolumeSource,
};
use crate::object::{Kind, Object};
use crate::quantity::Quantity;
use crate::reason::Code;
use crate::selector::{AllowedTopologies, LabelSelector, RawTopologyTerm};
use crate::volumes::Outcome;

use super::bench::{Bench, Change};
use super::words::{edit, edit_in};
use super::{Invasiveness, Proposal, Refused};

/// What a claim asks for, whether it exists or will be made for an ephemeral volume.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) key: ObjectKey,
    pub(super) class: Name,
    pub(super) request: Option<Quantity>,
    access_modes: AccessModes,
    mode: VolumeMode,
    attributes_class: Name,
    selector: Option<LabelSelector>,
    selected_node: Option<Name>,
}

impl Wanted {
    /// What the pod's claims ask for, in the order of its volumes; those that are missing for good are left out.
    pub(super) fn of_pod(pod: &Pod, bench: &Bench<'_>) -> Vec<Self> {
        let key_of = |name: String| ObjectKey { namespace: pod.key.namespace.clone(), name: name.into() };
        let wanted = pod.volumes.iter().filter_map(|volume| match &volume.source {
            PodVolumeSource::Claim { name } => Self::by(&key_of(name.to_string()), None, bench),
            PodVolumeSource::Ephemeral { template } => {
                Self::by(&key_of(format!("{}-{}", pod.key.name, volume.name)), Some(template), bench)
            }
            _ => None,
        });
        wanted.collect()
    }

    /// Those of them that the node's plan leaves without a volume.
    pub(super) fn unsatisfied(refused: &Refused<'_>, bench: &Bench<'_>) -> Vec<Self> {
        let plan = &refused.node.plan.claims;
        let lacking = |w: &Self| plan.iter().any(|c| c.claim == w.key && c.outcome == Outcome::Unsatisfied);
        Self::of_pod(refused.pod, bench).into_iter().filter(lacking).collect()
    }

    /// The size in whole bytes.
    pub(super) fn bytes(&self) -> i64 {
        self.request.map_or(0, |q| q.value())
    }

    fn by(key: &ObjectKey, template: Option<&ClaimTemplate>, bench: &Bench<'_>) -> Option<Self> {
        let volumes = &bench.catalog().volumes;
        if let Some(record) = volumes.claims.get(key) {
            let claim = &record.claim;
            return Some(Self {
                key: key.clone(),
                class: claim.class.clone(),
                request: claim.request,
                access_modes: claim.access_modes,
                mode: claim.mode,
                attributes_class: claim.attributes_class.clone(),
                selector: claim.usable_selector().cloned(),
                selected_node: claim.selected_node.clone(),
            });
        }
        let template = template?;
        Some(Self {
            key: key.clone(),
            class: template.class.clone().or_else(|| volumes.default_class()).unwrap_or_default(),
            request: template.request,
            access_modes: template.access_modes,
            mode: template.mode,
            attributes_class: template.attributes_class.clone(),
            selector: None,
            selected_node: None,
        })
    }

    /// The claim as it would be made.
    pub(super) fn claim(&self, owner: Option<Name>) -> Claim {
        Claim {
            key: self.key.clone(),
            uid: Name::default(),
            version: 0,
            class: self.class.clone(),
            class_field: self.class.clone(),
            request: self.request,
            access_modes: self.access_modes,
            mode: self.mode,
            attributes_class: self.attributes_class.clone(),
            selector: self.selector.clone().map(Ok),
            volume: Name::default(),
            bind_completed: false,
            has_annotations: false,
            bound_by_controller: false,
            has_class: true,
            selected_node: None,
            phase: ClaimPhase::Pending,
            deleting: false,
            controller_uid: owner,
        }
    }

    /// A volume that would serve the claim from everywhere.
    pub(super) fn volume(&self, name: Name, bound: Option<ClaimRef>) -> Volume {
        let requirements = self.selector.iter().flat_map(|s| s.requirements());
        let labels = requirements.filter_map(|r| Some((r.key().clone(), r.in_values()?.first()?.clone())));
        Volume {
            name,
            version: 0,
            labels: labels.collect(),
            class: self.class.clone(),
            class_field: self.class.clone(),
            capacity: self.request.unwrap_or(Quantity::ZERO),
            access_modes: self.access_modes,
            mode: self.mode,
            attributes_class: self.attributes_class.clone(),
            affinity: None,
            phase: if bound.is_some() { VolumePhase::Bound } else { VolumePhase::Available },
            claim_ref: bound,
            deleting: false,
            bound_by_controller: false,
            reclaim: crate::model::ReclaimPolicy::default(),
            provisioned_by: None,
            source: VolumeSource::Other,
        }
    }

    /// A volume like this in words: `volume of 5Gi for class local`.
    pub(super) fn described(&self) -> String {
        let size = self.request.map(|q| format!(" of {q}")).unwrap_or_default();
        let class =
            if self.class.is_empty() { "without a class".to_owned() } else { format!("for class {}", self.class) };
        format!("volume{size} {class}")
    }
}

pub(super) fn propose(refused: &Refused<'_>, bench: &mut Bench<'_>) -> Vec<Proposal> {
    let mut proposals = Vec::new();
    if !refused.by(Code::NO_VOLUME) && !refused.by(Code::NOT_ENOUGH_STORAGE) {
        return proposals;
    }
    for wanted in Wanted::unsatisfied(refused, bench) {
        proposals.extend(deselect(refused, &wanted, bench));
        proposals.extend(allow_here(refused, &wanted, bench));
        proposals.push(new_volume(refused, &wanted));
    }
    proposals
}

/// The claim is no longer meant for the node that was selected for it.
fn deselect(refused: &Refused<'_>, wanted: &Wanted, bench: &Bench<'_>) -> Option<Proposal> {
    let selected = wanted.selected_node.as_ref().filter(|s| **s != refused.node.node)?;
    let claim = &bench.catalog().volumes.claims.get(&wanted.key)?.claim;
    let free = Claim { selected_node: None, ..(**claim).clone() };
    let words = format!("claim {} no longer selected for node \"{selected}\"", wanted.key);
    let field = "metadata.annotations[volume.kubernetes.io/selected-node]";
    let patch = edit_in(Kind::PersistentVolumeClaim, &wanted.key, field, None);
    let change = Change::Set(vec![Object::Claim(free)]);
    Some(refused.proposal(Invasiveness::Deselect, 0, words, change).with_patch(patch))
}

/// The class may make volumes where the node is, too.
fn allow_here(refused: &Refused<'_>, wanted: &Wanted, bench: &Bench<'_>) -> Option<Proposal> {
    let class = &bench.catalog().volumes.classes.get(&wanted.class)?.class;
    let labels = &bench.catalog().nodes.by_name(&refused.node.node)?.node().labels;
    if !class.provisions() || class.allowed_topologies.matches(labels) {
        return None;
    }
    let keys = class.allowed_topologies.keys();
    let here: Option<RawTopologyTerm> =
        keys.iter().map(|key| Some((key.clone(), vec![labels.get(key)?.clone()]))).collect();
    let here = here.filter(|term| !term.is_empty())?;
    let known = class.allowed_topologies.flatten();
    let mut terms: Vec<RawTopologyTerm> =
        known.iter().map(|term| term.iter().map(|(k, v)| (k.clone(), vec![v.clone()])).collect()).collect();
    terms.push(here.clone());
    let allowed_topologies = AllowedTopologies::compile(&terms);
    let place: Vec<String> = here.iter().map(|(k, v)| format!("{k}={}", v.join(","))).collect();
    let words = format!("class {} may make volumes in {}, too (allowedTopologies)", class.name, place.join(" and "));
    let expressions: Vec<String> = here.iter().map(|(k, v)| format!("{{\"key\":{k:?},\"values\":{v:?}}}")).collect();
    let term = format!("{{\"matchLabelExpressions\":[{}]}}", expressions.join(","));
    let patch = edit(Kind::StorageClass, &class.name, "allowedTopologies[-]", Some(term));
    let change = Change::Set(vec![Object::Class(StorageClass { allowed_topologies, ..class.clone() })]);
    Some(refused.proposal(Invasiveness::AllowedTopology, 0, words, change).with_patch(patch))
}

/// A volume that somebody makes for the class.
fn new_volume(refused: &Refused<'_>, wanted: &Wanted) -> Proposal {
    let change = Change::Set(vec![Object::Volume(wanted.volume("plimsoll.dev/new volume".into(), None))]);
    let words = format!("a new {} within reach of {}", wanted.described(), refused.node.node);
    refused.proposal(Invasiveness::NewVolume, wanted.bytes(), words, change)
}
