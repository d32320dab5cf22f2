//! A pod as decisions see it.

use plimsoll_engine::labels::Name;
use plimsoll_engine::model::{self, PodDemand, PodImages, PodLevelStatus};

use super::container::optional;
use super::{Container, ContainerStatus, Pod, PodStatus};
use crate::error::{ConvertError, each};
use crate::interner::Interner;

impl Pod {
    /// Whether it has ended: it holds nothing any more.
    pub fn is_over(&self) -> bool {
        matches!(self.status.phase.as_str(), "Succeeded" | "Failed")
    }

    /// The pod as decisions see it.
    pub fn to_engine(&self, names: &mut Interner) -> Result<model::Pod, ConvertError> {
        let (meta, spec) = (&self.metadata, &self.spec);
        let affinity = &spec.affinity;
        let some_name = |text: &str, names: &mut Interner| (!text.is_empty()).then(|| names.share(text));
        Ok(model::Pod {
            key: meta.key(names),
            uid: Name::from(meta.uid.as_str()),
            version: meta.version(),
            labels: meta.labels.to_labels(names),
            controller: meta.controller().map(|o| (o.qualified_kind(names), names.share(&o.name))),
            deleting: meta.deletion_timestamp.0,
            preempted: self.status.is_preempted(),
            node: some_name(&spec.node_name, names),
            nominated_node: some_name(&self.status.nominated_node_name, names),
            ended: self.is_over(),
            scheduler: names.share(&spec.scheduler_name),
            priority: spec.priority.unwrap_or(0),
            preempts: spec.preemption_policy != "Never",
            started: some_name(&self.status.start_time, names),
            gated: !spec.scheduling_gates.is_empty(),
            demand: self.demand(names)?,
            images: PodImages {
                init: spec.init_containers.iter().map(|c| names.share(&c.image)).collect(),
                main: spec.containers.iter().map(|c| names.share(&c.image)).collect(),
                volumes: spec.volumes.iter().filter_map(|v| Some(names.share(&v.image.as_ref()?.reference))).collect(),
            },
            host_ports: self.lasting_containers().flat_map(|c| c.host_ports(names)).collect(),
            tolerations: spec.tolerations.iter().filter_map(|t| t.to_engine(names)).collect(),
            node_selector: spec.node_selector.to_labels(names),
            required_node_affinity: affinity.node_affinity.required.as_ref().map(|s| s.compile(names)),
            preferred_node_affinity: (0..)
                .zip(&affinity.node_affinity.preferred)
                .map(|(i, t)| t.to_engine(i, names))
                .collect(),
            required_affinity: affinity.pod_affinity.required.iter().map(|t| t.to_engine(names)).collect(),
            required_anti_affinity: affinity.pod_anti_affinity.required.iter().map(|t| t.to_engine(names)).collect(),
            preferred_affinity: affinity.pod_affinity.preferred.iter().map(|t| t.to_engine(names)).collect(),
            preferred_anti_affinity: affinity.pod_anti_affinity.preferred.iter().map(|t| t.to_engine(names)).collect(),
            spread: spec.topology_spread_constraints.iter().map(|c| c.to_engine(names)).collect(),
            volumes: each(&spec.volumes, "spec.volumes", |v| v.to_engine(names))?,
            features: self.spec.features(),
            undecided: self.undecided().map(|what| names.share(what)),
        })
    }

    /// What of the spec no decision takes into account.
    fn undecided(&self) -> Option<&'static str> {
        let spec = &self.spec;
        if !spec.resource_claims.is_empty() {
            return Some("spec.resourceClaims");
        }
        spec.scheduling_group.0.then_some("spec.schedulingGroup")
    }

    /// The containers that run as long as the pod does: they alone take host ports.
    fn lasting_containers(&self) -> impl Iterator<Item = &Container> {
        self.spec.init_containers.iter().filter(|c| c.is_sidecar()).chain(&self.spec.containers)
    }

    fn demand(&self, names: &mut Interner) -> Result<PodDemand, ConvertError> {
        let (spec, status) = (&self.spec, &self.status);
        let pod_level = spec.resources.as_ref().and_then(|r| r.requests.as_ref());
        Ok(PodDemand {
            init_containers: each(&spec.init_containers, "spec.initContainers", |c| {
                c.to_engine(status.of_container(&c.name), names)
            })?,
            containers: each(&spec.containers, "spec.containers", |c| {
                c.to_engine(status.of_container(&c.name), names)
            })?,
            pod_level: optional(pod_level, "spec.resources.requests", names)?,
            overhead: optional(spec.overhead.as_ref(), "spec.overhead", names)?,
            resize_infeasible: status.resize_infeasible(),
            // What was allocated counts only beside what the pod is reported to have.
            status_pod_level: match &status.resources {
                None => None,
                Some(actual) => Some(PodLevelStatus {
                    allocated: optional(status.allocated_resources.as_ref(), "status.allocatedResources", names)?,
                    actual: optional(actual.requests.as_ref(), "status.resources.requests", names)?,
                }),
            },
        })
    }
}

impl PodStatus {
    /// Whether a scheduler says that it removes the pod. Of several conditions of the type the first counts.
    fn is_preempted(&self) -> bool {
        let condition = self.conditions.iter().find(|c| c.kind == "DisruptionTarget");
        condition.is_some_and(|c| c.status == "True" && c.reason == "PreemptionByScheduler")
    }

    /// The status of the container of this name, whichever list it is in.
    fn of_container(&self, name: &str) -> Option<&ContainerStatus> {
        self.container_statuses.iter().chain(&self.init_container_statuses).find(|s| s.name == name)
    }

    /// Whether the node has refused a resize for good. Only the first such condition is read.
    fn resize_infeasible(&self) -> bool {
        self.conditions.iter().find(|c| c.kind == "PodResizePending").is_some_and(|c| c.reason == "Infeasible")
    }
}
