//! Pods that are rejected as a whole, whatever the nodes: what is missing before any node is looked at.

use crate::labels::{Name, ObjectKey};
use crate::model::{
    AccessModes, BindingMode, Claim, ClaimPhase, ClaimRef, Pod, PodVolumeSource, StorageClass, VolumeMode,
};
use crate::object::Object;
use crate::reason::{Code, Refusal};
use crate::selector::AllowedTopologies;

use super::bench::{Bench, Change};
use super::volumes::Wanted;
use super::words::edit_pod;
use super::{Invasiveness, Proposal};

pub(super) fn propose(pod: &Pod, rejection: &Refusal, bench: &Bench<'_>) -> Vec<Proposal> {
    match rejection.code {
        Code::SCHEDULING_GATED => vec![ungate(pod)],
        Code::CLAIM_NOT_FOUND => missing_claims(pod, bench),
        Code::EPHEMERAL_CLAIM_MISSING => ephemeral_claims(pod, bench),
        // Several rules find the same troubles, and the first to do so rejects the pod.
        _ => [missing_classes, unbound_claims, missing_volumes].iter().flat_map(|family| family(pod, bench)).collect(),
    }
}

fn anywhere(invasiveness: Invasiveness, words: String, change: Change) -> Proposal {
    Proposal { invasiveness, amount: 0, node: None, words, patch: None, change }
}

fn ungate(pod: &Pod) -> Proposal {
    let mut free = pod.clone();
    free.gated = false;
    let words = format!("pod {} without its scheduling gates", pod.key);
    anywhere(Invasiveness::Ungate, words, Change::Judge(Box::new(free))).with_patch(edit_pod(
        pod,
        "spec.schedulingGates",
        None,
    ))
}

/// The claims that the pod names itself.
fn named(pod: &Pod) -> impl Iterator<Item = ObjectKey> {
    pod.volumes.iter().filter_map(|v| match &v.source {
        PodVolumeSource::Claim { name } => Some(ObjectKey { namespace: pod.key.namespace.clone(), name: name.clone() }),
        _ => None,
    })
}

/// A claim that is not there is made, of a class that waits for the pod: the default one before the others.
fn missing_claims(pod: &Pod, bench: &Bench<'_>) -> Vec<Proposal> {
    let volumes = &bench.catalog().volumes;
    let mut missing: Vec<ObjectKey> = named(pod).filter(|key| !volumes.claims.contains_key(key)).collect();
    missing.dedup();
    let [key] = &missing[..] else { return Vec::new() };
    let waits = |c: &StorageClass| c.binding_mode == Some(BindingMode::WaitForFirstConsumer);
    let mut classes: Vec<&Name> = volumes.classes.values().filter(|r| waits(&r.class)).map(|r| &r.class.name).collect();
    let default = volumes.default_class();
    classes.sort_by_key(|name| (Some(*name) != default.as_ref(), *name));
    let make = |(at, class): (usize, &Name)| {
        let words = format!("claim {key} created, for example with class {class}");
        let claim = claim_of_class(key, class);
        Proposal {
            amount: at as i64,
            ..anywhere(Invasiveness::Restore, words, Change::Set(vec![Object::Claim(claim)]))
        }
    };
    classes.into_iter().take(10).enumerate().map(make).collect()
}

fn claim_of_class(key: &ObjectKey, class: &Name) -> Claim {
    Claim {
        key: key.clone(),
        uid: Name::default(),
        version: 0,
        class: class.clone(),
        class_field: class.clone(),
        request: None,
        access_modes: AccessModes::READ_WRITE_ONCE,
        mode: VolumeMode::default(),
        attributes_class: Name::default(),
        selector: None,
        volume: Name::default(),
        bind_completed: false,
        has_annotations: false,
        bound_by_controller: false,
        has_class: true,
        selected_node: None,
        phase: ClaimPhase::Pending,
        deleting: false,
        controller_uid: None,
    }
}

/// The claim of an ephemeral volume is made by its controller.
fn ephemeral_claims(pod: &Pod, bench: &Bench<'_>) -> Vec<Proposal> {
    let volumes = &bench.catalog().volumes;
    let missing: Vec<Wanted> =
        Wanted::of_pod(pod, bench).into_iter().filter(|w| !volumes.claims.contains_key(&w.key)).collect();
    let Some(first) = missing.first() else { return Vec::new() };
    // They are all made by one controller: that it runs is one change.
    let claims = missing.iter().map(|w| Object::Claim(w.claim(Some(pod.uid.clone())))).collect();
    let words = match missing.len() {
        1 => format!("claim {} made by the ephemeral volume controller", first.key),
        n => format!("claim {} and {} more made by the ephemeral volume controller", first.key, n - 1),
    };
    vec![anywhere(Invasiveness::Restore, words, Change::Set(claims))]
}

/// A class that a claim names and that is not there.
fn missing_classes(pod: &Pod, bench: &Bench<'_>) -> Vec<Proposal> {
    let volumes = &bench.catalog().volumes;
    let claims = Wanted::of_pod(pod, bench);
    let mut missing: Vec<Name> =
        claims.into_iter().map(|w| w.class).filter(|c| !c.is_empty() && !volumes.classes.contains_key(c)).collect();
    missing.sort_unstable();
    missing.dedup();
    let make = |name: Name| {
        let class = StorageClass {
            name: name.clone(),
            version: 0,
            provisioner: "plimsoll.dev/any".into(),
            binding_mode: Some(BindingMode::WaitForFirstConsumer),
            default_since: None,
            allowed_topologies: AllowedTopologies::default(),
        };
        let words = format!("class {name} created, with a provisioner and volumeBindingMode WaitForFirstConsumer");
        anywhere(Invasiveness::Restore, words, Change::Set(vec![Object::Class(class)]))
    };
    missing.into_iter().map(make).collect()
}

/// A claim that binds by itself finds a volume.
fn unbound_claims(pod: &Pod, bench: &Bench<'_>) -> Vec<Proposal> {
    let volumes = &bench.catalog().volumes;
    let claims = Wanted::of_pod(pod, bench).into_iter();
    let unbound = claims.filter_map(|w| Some((volumes.claims.get(&w.key)?.claim.clone(), w)));
    let unbound = unbound.filter(|(claim, _)| claim.volume.is_empty() && !claim.deleting);
    unbound
        .map(|(claim, wanted)| {
            let name: Name = "plimsoll.dev/new volume".into();
            let bound =
                Claim { volume: name.clone(), bind_completed: true, phase: ClaimPhase::Bound, ..(*claim).clone() };
            let to = ClaimRef { claim: claim.key.clone(), uid: claim.uid.clone() };
            let volume = wanted.volume(name, Some(to));
            let words = format!("a new {}, which claim {} then binds", wanted.described(), claim.key);
            let change = Change::Set(vec![Object::Volume(volume), Object::Claim(bound)]);
            anywhere(Invasiveness::NewVolume, words, change)
        })
        .collect()
}

/// A volume that a claim is bound to and that is not there.
fn missing_volumes(pod: &Pod, bench: &Bench<'_>) -> Vec<Proposal> {
    let volumes = &bench.catalog().volumes;
    let claims = Wanted::of_pod(pod, bench).into_iter();
    let bound = claims.filter_map(|w| Some((volumes.claims.get(&w.key)?.claim.clone(), w)));
    let missing = bound.filter(|(c, _)| !c.volume.is_empty() && volumes.slab.by_name(&c.volume).is_none());
    missing
        .map(|(claim, wanted)| {
            let to = ClaimRef { claim: claim.key.clone(), uid: claim.uid.clone() };
            let volume = wanted.volume(claim.volume.clone(), Some(to));
            // A lost claim is bound again when its volume is back.
            let found = Claim { phase: ClaimPhase::Bound, ..(*claim).clone() };
            let words = format!("volume {} restored, which claim {} is bound to", claim.volume, claim.key);
            let change = Change::Set(vec![Object::Volume(volume), Object::Claim(found)]);
            anywhere(Invasiveness::Restore, words, change)
        })
        .collect()
}
