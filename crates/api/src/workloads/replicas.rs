//! Deployments, ReplicaSets, ReplicationControllers and Jobs: so many pods that are all alike.

use plimsoll_engine::model::Pod as KnownPod;
use plimsoll_engine::selector::LabelSelector;

use super::existing::Existing;
use super::made_names::{suffix, unused};
use super::{Made, asked_for, owner, pod};
use crate::error::ConvertError;
use crate::interner::Interner;
use crate::kinds::workload::{PodSetSpec, PodTemplate};
use crate::kinds::{ObjectMeta, OwnerReference, PodSet, ReplicationController};
use crate::names;

/// The length of the hash in a ReplicaSet's name.
const HASH_LENGTH: usize = 10;

pub(super) fn of_deployment(set: &PodSet, existing: &Existing<'_>) -> Result<Made, ConvertError> {
    let (meta, namespace) = (&set.metadata, set.metadata.namespace_or_default());
    let given = existing.replica_sets_of(namespace, &meta.name);
    let selector = selector(set);
    let prefix = format!("{}-", meta.name);
    // A ReplicaSet that is not in the input is known by its name.
    let is_own = |p: &KnownPod| match &p.controller {
        Some((kind, name)) if &**kind == "ReplicaSet" => {
            given.iter().any(|g| **g == **name) || (name.starts_with(&prefix) && selected(selector.as_ref(), p))
        }
        Some(_) => false,
        None => p.key.name.starts_with(&prefix) && selected(selector.as_ref(), p),
    };
    let missing = missing(asked_for(set.spec.replicas, "spec.replicas")?, namespace, existing, is_own);
    if missing == 0 {
        return Ok(Made::default());
    }

    let mut made = Made::default();
    let mut template = set.spec.template.clone();
    let replica_set = match given.last() {
        Some(name) => name.clone(),
        None => {
            let hash = suffix(&["Deployment", namespace, &meta.name], HASH_LENGTH);
            let name = format!("{}-{hash}", meta.name);
            template.metadata.labels.set(names::POD_TEMPLATE_HASH, hash.clone());
            made.sets.push(replica_set(set, name.clone(), hash));
            name
        }
    };
    let set_meta = ObjectMeta { name: replica_set, namespace: namespace.to_owned(), ..ObjectMeta::default() };
    made.pods = pods(&template, &set_meta, &owner("apps/v1", "ReplicaSet", &set_meta), missing, existing);
    Ok(made)
}

/// The ReplicaSet that a Deployment would make; default spreading looks up its selector.
fn replica_set(deployment: &PodSet, name: String, hash: String) -> PodSet {
    let mut selector = deployment.spec.selector.clone();
    if let Some(selector) = &mut selector {
        selector.match_labels.set(names::POD_TEMPLATE_HASH, hash);
    }
    PodSet {
        metadata: ObjectMeta {
            name,
            namespace: deployment.metadata.namespace.clone(),
            owner_references: vec![owner("apps/v1", "Deployment", &deployment.metadata)],
            ..ObjectMeta::default()
        },
        spec: PodSetSpec { selector, ..PodSetSpec::default() },
        ..PodSet::default()
    }
}

pub(super) fn of_replica_set(set: &PodSet, existing: &Existing<'_>) -> Result<Made, ConvertError> {
    let (meta, namespace) = (&set.metadata, set.metadata.namespace_or_default());
    let by_deployment =
        meta.controller().is_some_and(|o| o.kind == "Deployment" && existing.has_deployment(namespace, &o.name));
    if by_deployment {
        return Ok(Made::default());
    }
    let owner = owner("apps/v1", "ReplicaSet", meta);
    alike(&set.spec.template, meta, owner, set.spec.replicas, selector(set).as_ref(), existing)
}

pub(super) fn of_controller(set: &ReplicationController, existing: &Existing<'_>) -> Result<Made, ConvertError> {
    let (meta, spec) = (&set.metadata, &set.spec);
    let labels = if spec.selector.is_empty() { &spec.template.metadata.labels } else { &spec.selector };
    let selector = LabelSelector::compile(&labels.to_pairs(&mut Interner::new()), &[]).ok();
    let owner = owner("v1", "ReplicationController", meta);
    alike(&spec.template, meta, owner, spec.replicas, selector.as_ref(), existing)
}

pub(super) fn of_job(set: &PodSet, existing: &Existing<'_>) -> Result<Made, ConvertError> {
    let (meta, spec) = (&set.metadata, &set.spec);
    if spec.suspend {
        return Ok(Made::default());
    }
    let namespace = meta.namespace_or_default();
    let parallel = asked_for(spec.parallelism, "spec.parallelism")?;
    let needed = match (spec.completions, spec.parallelism) {
        (None, None) => 1,
        (None, Some(_)) => parallel,
        (Some(completions), _) => parallel.min(usize::try_from(completions).unwrap_or(0)),
    };
    let mut template = spec.template.clone();
    for label in names::JOB_NAMES {
        template.metadata.labels.set(label, meta.name.clone());
    }
    let owner = owner("batch/v1", "Job", meta);
    let is_own = |p: &&KnownPod| is_controlled_by(p, "Job", &meta.name);
    if spec.completion_mode != "Indexed" {
        // Pods that have ended count here: what they did is done.
        let have = existing.pods(namespace).iter().copied().filter(|p| is_own(p)).count();
        let pods = pods(&template, meta, &owner, needed.saturating_sub(have), existing);
        return Ok(Made { pods, ..Made::default() });
    }
    let mut made = Made::default();
    let mut taken = existing.names(namespace);
    for index in 0..needed {
        let index = index.to_string();
        let prefix = format!("{}-{index}", meta.name);
        let is_there = |p: &&KnownPod| p.labels.get(names::JOB_INDEX).is_some_and(|i| **i == *index);
        if existing.pods(namespace).iter().copied().filter(|p| is_own(p)).any(|p| is_there(&p)) {
            continue;
        }
        let mut template = template.clone();
        template.metadata.labels.set(names::JOB_INDEX, index.clone());
        let name = unused(&prefix, &["Job", namespace, &meta.name, &index], &mut taken);
        made.pods.push(pod(&template, namespace, name, owner.clone()));
    }
    Ok(made)
}

fn alike(
    template: &PodTemplate,
    meta: &ObjectMeta,
    owner: OwnerReference,
    replicas: Option<i32>,
    selector: Option<&LabelSelector>,
    existing: &Existing<'_>,
) -> Result<Made, ConvertError> {
    let prefix = format!("{}-", meta.name);
    let is_own = |p: &KnownPod| match &p.controller {
        Some(_) => is_controlled_by(p, &owner.kind, &meta.name),
        None => p.key.name.starts_with(&prefix) && selected(selector, p),
    };
    let missing = missing(asked_for(replicas, "spec.replicas")?, meta.namespace_or_default(), existing, is_own);
    Ok(Made { pods: pods(template, meta, &owner, missing, existing), ..Made::default() })
}

fn selector(set: &PodSet) -> Option<LabelSelector> {
    set.spec.selector.as_ref()?.compile(&mut Interner::new()).ok()
}

fn selected(selector: Option<&LabelSelector>, pod: &KnownPod) -> bool {
    selector.is_some_and(|s| s.matches(&pod.labels))
}

fn is_controlled_by(pod: &KnownPod, kind: &str, name: &str) -> bool {
    pod.controller.as_ref().is_some_and(|(k, n)| **k == *kind && **n == *name)
}

/// How many of the pods asked for are not there. Pods that have ended or are going are replaced.
fn missing(
    asked_for: usize,
    namespace: &str,
    existing: &Existing<'_>,
    mut is_own: impl FnMut(&KnownPod) -> bool,
) -> usize {
    let have = existing.pods(namespace).iter().filter(|p| !p.ended && !p.deleting && is_own(p)).count();
    asked_for.saturating_sub(have)
}

fn pods(
    template: &PodTemplate,
    meta: &ObjectMeta,
    owner: &OwnerReference,
    count: usize,
    existing: &Existing<'_>,
) -> Vec<crate::kinds::Pod> {
    let namespace = meta.namespace_or_default();
    let mut taken = existing.names(namespace);
    (0..count)
        .map(|i| {
            let name = unused(&meta.name, &[&owner.kind, namespace, &meta.name, &i.to_string()], &mut taken);
            pod(template, namespace, name, owner.clone())
        })
        .collect()
}
