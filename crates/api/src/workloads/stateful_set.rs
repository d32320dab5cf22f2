//! StatefulSets: a pod with its own claims for each ordinal.

use super::existing::Existing;
use super::{Made, asked_for, owner, pod};
use crate::error::ConvertError;
use crate::kinds::claim::RawClaimTemplate;
use crate::kinds::pod::{ClaimSource, PodVolume};
use crate::kinds::{ObjectMeta, PersistentVolumeClaim, PodSet};
use crate::names;

pub(super) fn expand(set: &PodSet, existing: &Existing<'_>) -> Result<Made, ConvertError> {
    let (meta, spec) = (&set.metadata, &set.spec);
    let namespace = meta.namespace_or_default();
    let replicas = asked_for(spec.replicas, "spec.replicas")?;
    let first = usize::try_from(spec.ordinals.start).unwrap_or(0);
    let taken = existing.names(namespace);
    let mut made = Made::default();
    for ordinal in first..first.saturating_add(replicas) {
        let name = format!("{}-{ordinal}", meta.name);
        if taken.contains(&name) {
            continue;
        }
        let mut pod = pod(&spec.template, namespace, name.clone(), owner("apps/v1", "StatefulSet", meta));
        pod.metadata.labels.set(names::STATEFUL_SET_POD_NAME, name.clone());
        pod.metadata.labels.set(names::POD_INDEX, ordinal.to_string());
        // A template's claim takes the place of a volume of the same name in the pod's own list.
        pod.spec.volumes.retain(|v| spec.volume_claim_templates.iter().all(|t| t.metadata.name != v.name));
        for template in &spec.volume_claim_templates {
            let claim = format!("{}-{name}", template.metadata.name);
            if !existing.has_claim(namespace, &claim) {
                made.claims.push(from_template(template, namespace, claim.clone()));
            }
            pod.spec.volumes.push(PodVolume {
                name: template.metadata.name.clone(),
                persistent_volume_claim: Some(ClaimSource { claim_name: claim }),
                ..PodVolume::default()
            });
        }
        made.pods.push(pod);
    }
    Ok(made)
}

fn from_template(template: &RawClaimTemplate, namespace: &str, name: String) -> PersistentVolumeClaim {
    PersistentVolumeClaim {
        metadata: ObjectMeta {
            name,
            namespace: namespace.to_owned(),
            labels: template.metadata.labels.clone(),
            annotations: template.metadata.annotations.clone(),
            ..ObjectMeta::default()
        },
        spec: template.spec.clone(),
        ..PersistentVolumeClaim::default()
    }
}
