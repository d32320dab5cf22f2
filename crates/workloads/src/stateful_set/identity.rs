//! Who a pod of a StatefulSet is: its name and number, the labels that say so, and the volumes that are its own.

use plimsoll_api::kinds::{ObjectMeta, Pod};
use plimsoll_api::names;
use serde_json::{Value, json};

use super::spec::Spec;
use crate::pods::from_template;
use crate::revisions::REVISION_HASH;

/// The set and the number that a pod's name stands for.
pub(super) fn parse(pod: &str) -> Option<(&str, i64)> {
    let (set, digits) = pod.rsplit_once('-')?;
    if digits.is_empty() || !digits.bytes().all(|c| c.is_ascii_digit()) {
        return None;
    }
    // Beyond what an ordinal can be, upstream has no number for it, and leaves the pod alone.
    let ordinal = digits.parse::<i32>().ok()?;
    Some((set, i64::from(ordinal)))
}

/// The name of the pod with this number.
pub(super) fn pod_name(set: &str, ordinal: i64) -> String {
    format!("{set}-{ordinal}")
}

/// The name of the claim that a pod has by one of the set's templates.
pub(super) fn claim_name(template: &Value, set: &str, ordinal: i64) -> String {
    format!("{}-{set}-{ordinal}", template["metadata"]["name"].as_str().unwrap_or_default())
}

/// The set's pods are those that are named after it, whoever else has its labels.
pub(super) fn is_member(set: &str, pod: &ObjectMeta) -> bool {
    pod.name.rsplit_once('-').is_some_and(|(parent, digits)| {
        parent == set && !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit())
    })
}

/// The pod with this number, made from `template` at `revision`.
pub(super) fn pod(spec: &Spec, template: &Value, revision: &str, ordinal: i64) -> Value {
    let mut pod = from_template(&spec.owner, template);
    let name = pod_name(&spec.owner.name, ordinal);
    set_identity(&mut pod, &name, ordinal);
    pod["metadata"]["labels"][REVISION_HASH] = json!(revision);
    pod["spec"]["hostname"] = json!(name);
    if !spec.service.is_empty() {
        pod["spec"]["subdomain"] = json!(spec.service);
    }
    set_storage(&mut pod, spec, ordinal);
    pod
}

/// Gives a pod the name and the labels of its number.
pub(super) fn set_identity(pod: &mut Value, name: &str, ordinal: i64) {
    let meta = &mut pod["metadata"];
    meta["name"] = json!(name);
    meta["labels"][names::STATEFUL_SET_POD_NAME] = json!(name);
    meta["labels"][names::POD_INDEX] = json!(ordinal.to_string());
}

/// Gives a pod the claims of its number; a volume of the template that has the name of a claim's gives way.
pub(super) fn set_storage(pod: &mut Value, spec: &Spec, ordinal: i64) {
    let name_of = |template: &Value| template["metadata"]["name"].clone();
    let mut volumes: Vec<Value> = spec
        .claim_templates
        .iter()
        .map(|template| {
            let claim = claim_name(template, &spec.owner.name, ordinal);
            json!({"name": name_of(template), "persistentVolumeClaim": {"claimName": claim}})
        })
        .collect();
    for volume in pod["spec"]["volumes"].as_array().into_iter().flatten() {
        if !spec.claim_templates.iter().any(|template| name_of(template) == volume["name"]) {
            volumes.push(volume.clone());
        }
    }
    if !volumes.is_empty() {
        pod["spec"]["volumes"] = json!(volumes);
    }
}

/// Whether a pod has the labels of its number.
pub(super) fn has_identity(spec: &Spec, pod: &Pod, ordinal: i64) -> bool {
    let name = &pod.metadata.name;
    *name == pod_name(&spec.owner.name, ordinal)
        && pod.metadata.labels.get(names::STATEFUL_SET_POD_NAME) == Some(name.as_str())
}

/// Whether a pod has the claims of its number.
pub(super) fn has_storage(spec: &Spec, pod: &Pod, ordinal: i64) -> bool {
    spec.claim_templates.iter().all(|template| {
        let volume = pod.spec.volumes.iter().rev().find(|v| template["metadata"]["name"] == v.name.as_str());
        let claim = volume.and_then(|v| v.persistent_volume_claim.as_ref());
        claim.is_some_and(|c| c.claim_name == claim_name(template, &spec.owner.name, ordinal))
    })
}
