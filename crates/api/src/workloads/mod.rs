//! The pods that workloads would make: those of their replicas that have no pod in the input yet.
//!
//! Names are made up, but always the same for the same input, and like those that Kubernetes makes.

mod daemon_set;
mod existing;
mod made_names;
mod replicas;
mod stateful_set;

#[cfg(test)]
mod tests;

pub(crate) use existing::Existing;
pub(crate) use made_names::suffix;

use crate::document::Document;
use crate::error::ConvertError;
use crate::kinds::pod::PodStatus;
use crate::kinds::workload::PodTemplate;
use crate::kinds::{ObjectMeta, OwnerReference, PersistentVolumeClaim, Pod, PodSet};

/// The most pods that one workload is expanded to. It is beyond what any cluster holds of one workload, and keeps a
/// slip of the keyboard from filling the memory.
const MAX_PODS: i32 = 100_000;

/// What a workload would make.
#[derive(Debug, Default)]
pub(crate) struct Made {
    /// A Deployment's ReplicaSet.
    pub sets: Vec<PodSet>,
    /// A StatefulSet's claims.
    pub claims: Vec<PersistentVolumeClaim>,
    /// The pods.
    pub pods: Vec<Pod>,
}

impl Made {
    /// Everything that was made, in the order in which it would be.
    pub fn into_documents(self) -> impl Iterator<Item = Document> {
        let sets = self.sets.into_iter().map(|s| Document::ReplicaSet(Box::new(s)));
        let claims = self.claims.into_iter().map(|c| Document::Claim(Box::new(c)));
        sets.chain(claims).chain(self.pods.into_iter().map(|p| Document::Pod(Box::new(p))))
    }
}

/// What `workload` would make. A workload that a controller has already acted on has the pods it has.
pub(crate) fn expand(workload: &Document, existing: &Existing<'_>) -> Result<Made, ConvertError> {
    match workload {
        Document::Deployment(set) if !set.status.is_reported() => replicas::of_deployment(set, existing),
        Document::ReplicaSet(set) if !set.status.is_reported() => replicas::of_replica_set(set, existing),
        Document::ReplicationController(set) if !set.status.is_reported() => replicas::of_controller(set, existing),
        Document::Job(set) if !set.status.is_reported() => replicas::of_job(set, existing),
        Document::StatefulSet(set) if !set.status.is_reported() => stateful_set::expand(set, existing),
        Document::DaemonSet(set) if !set.status.is_reported() => Ok(daemon_set::expand(set, existing)),
        _ => Ok(Made::default()),
    }
}

/// How many pods a field asks for: 1 where it is absent.
fn asked_for(replicas: Option<i32>, field: &str) -> Result<usize, ConvertError> {
    let replicas = replicas.unwrap_or(1);
    if replicas > MAX_PODS {
        let problem = format!("{replicas} pods are more than the limit of {MAX_PODS}");
        return Err(ConvertError::new(problem).at(field));
    }
    Ok(usize::try_from(replicas).unwrap_or(0))
}

/// A reference to the workload that manages a pod.
fn owner(api_version: &str, kind: &str, meta: &ObjectMeta) -> OwnerReference {
    OwnerReference {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: meta.name.clone(),
        uid: meta.uid.clone(),
        controller: true,
    }
}

/// A pod from a template.
fn pod(template: &PodTemplate, namespace: &str, name: String, owner: OwnerReference) -> Pod {
    Pod {
        metadata: ObjectMeta {
            name,
            namespace: namespace.to_owned(),
            labels: template.metadata.labels.clone(),
            annotations: template.metadata.annotations.clone(),
            owner_references: vec![owner],
            ..ObjectMeta::default()
        },
        spec: template.spec.clone(),
        status: PodStatus::default(),
    }
}
