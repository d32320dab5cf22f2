//! Namespaces, and the objects whose pods belong together.

use plimsoll_engine::labels::Name;
use plimsoll_engine::model::{self, WorkloadKind};
use plimsoll_engine::selector::LabelSelector;

use crate::error::ConvertError;
use crate::interner::Interner;
use crate::kinds::claim::RawClaimTemplate;
use crate::kinds::pod::PodSpec;
use crate::kinds::{ObjectMeta, RawLabelSelector};
use crate::lenient::{Pairs, Present, slim};

slim! {
    /// A Namespace.
    pub struct Namespace {
        /// `metadata`.
        pub metadata: ObjectMeta,
    }

    /// A Service.
    pub struct Service {
        /// `metadata`.
        pub metadata: ObjectMeta,
        /// `spec`.
        pub spec: ServiceSpec,
    }

    /// `spec` of a Service.
    pub struct ServiceSpec {
        /// The pods it sends to; `None` selects none.
        pub selector: Option<Pairs>,
    }

    /// A ReplicationController.
    pub struct ReplicationController {
        /// `metadata`.
        pub metadata: ObjectMeta,
        /// `spec`.
        pub spec: ReplicationControllerSpec,
        /// `status`.
        pub status: WorkloadStatus,
    }

    /// `spec` of a ReplicationController.
    pub struct ReplicationControllerSpec {
        /// How many pods.
        pub replicas: Option<i32>,
        /// Its pods; absent means the template's labels.
        pub selector: Pairs,
        /// What its pods look like.
        pub template: PodTemplate,
    }

    /// A ReplicaSet, StatefulSet, Deployment, DaemonSet or Job: their shapes differ little in what is read.
    pub struct PodSet {
        /// `metadata`.
        pub metadata: ObjectMeta,
        /// `spec`.
        pub spec: PodSetSpec,
        /// `status`.
        pub status: WorkloadStatus,
    }

    /// `spec` of such a set.
    pub struct PodSetSpec {
        /// How many pods.
        pub replicas: Option<i32>,
        /// Its pods.
        pub selector: Option<RawLabelSelector>,
        /// What its pods look like.
        pub template: PodTemplate,
        /// StatefulSet: what its pods' claims look like.
        pub volume_claim_templates: Vec<RawClaimTemplate>,
        /// StatefulSet: where its ordinals begin.
        pub ordinals: Ordinals,
        /// Job: how many pods at a time.
        pub parallelism: Option<i32>,
        /// Job: how many pods must succeed.
        pub completions: Option<i32>,
        /// Job: `NonIndexed` (also where empty) or `Indexed`.
        pub completion_mode: String,
        /// Job: makes no pods for now.
        pub suspend: bool,
    }

    /// A ReplicaSet, as far as default spreading reads it.
    pub struct ReplicaSetSelector {
        /// `metadata`.
        pub metadata: ObjectMeta,
        /// `spec`.
        pub spec: SelectorSpec,
    }

    /// A StatefulSet, as far as default spreading reads it.
    pub struct StatefulSetSelector {
        /// `metadata`.
        pub metadata: ObjectMeta,
        /// `spec`.
        pub spec: SelectorSpec,
    }

    /// `spec`, as far as it says which pods are meant.
    pub struct SelectorSpec {
        /// The pods.
        pub selector: Option<RawLabelSelector>,
    }

    /// `spec.ordinals` of a StatefulSet.
    pub struct Ordinals {
        /// The first one.
        pub start: i32,
    }

    /// A template for pods.
    pub struct PodTemplate {
        /// `metadata`.
        pub metadata: ObjectMeta,
        /// `spec`.
        pub spec: PodSpec,
    }

    /// `status`, as far as it tells that a controller has acted.
    pub struct WorkloadStatus {
        /// The pods there are.
        pub replicas: Present,
        /// The generation that was acted on.
        pub observed_generation: Present,
        /// DaemonSet: the nodes it should be on.
        pub desired_number_scheduled: Present,
        /// Job: when it began.
        pub start_time: Present,
    }
}

impl WorkloadStatus {
    /// Whether a controller has already acted on the object.
    pub fn is_reported(&self) -> bool {
        self.replicas.0 || self.observed_generation.0 || self.desired_number_scheduled.0 || self.start_time.0
    }
}

impl Namespace {
    /// The namespace as decisions see it.
    pub fn to_engine(&self, names: &mut Interner) -> Result<model::Namespace, ConvertError> {
        Ok(model::Namespace {
            name: names.share(&self.metadata.name),
            version: self.metadata.version(),
            labels: self.metadata.labels.to_labels(names),
        })
    }
}

fn workload(
    kind: WorkloadKind,
    meta: &ObjectMeta,
    selector: Option<LabelSelector>,
    names: &mut Interner,
) -> model::Workload {
    model::Workload { kind, key: meta.key(names), version: meta.version(), selector }
}

fn exact(labels: &Pairs, names: &mut Interner) -> Option<LabelSelector> {
    LabelSelector::compile(&labels.to_pairs(names), &[]).ok()
}

impl Service {
    /// The service as default spreading sees it.
    pub fn to_engine(&self, names: &mut Interner) -> Result<model::Workload, ConvertError> {
        let selector = self.spec.selector.as_ref().and_then(|s| exact(s, names));
        Ok(workload(WorkloadKind::Service, &self.metadata, selector, names))
    }
}

impl ReplicaSetSelector {
    /// The set as default spreading sees it.
    pub fn to_engine(&self, names: &mut Interner) -> Result<model::Workload, ConvertError> {
        Ok(workload(WorkloadKind::ReplicaSet, &self.metadata, self.spec.compile(names), names))
    }
}

impl StatefulSetSelector {
    /// The set as default spreading sees it.
    pub fn to_engine(&self, names: &mut Interner) -> Result<model::Workload, ConvertError> {
        Ok(workload(WorkloadKind::StatefulSet, &self.metadata, self.spec.compile(names), names))
    }
}

impl SelectorSpec {
    fn compile(&self, names: &mut Interner) -> Option<LabelSelector> {
        self.selector.as_ref().and_then(|s| s.compile(names).ok())
    }
}

impl ReplicationController {
    /// The controller as default spreading sees it.
    pub fn to_engine(&self, names: &mut Interner) -> Result<model::Workload, ConvertError> {
        let (selector, template) = (&self.spec.selector, &self.spec.template.metadata.labels);
        let selector = exact(if selector.is_empty() { template } else { selector }, names);
        Ok(workload(WorkloadKind::ReplicationController, &self.metadata, selector, names))
    }
}

impl PodSet {
    /// The set as default spreading sees it.
    pub fn to_engine(&self, kind: WorkloadKind, names: &mut Interner) -> Result<model::Workload, ConvertError> {
        let selector = self.spec.selector.as_ref().and_then(|s| s.compile(names).ok());
        Ok(workload(kind, &self.metadata, selector, names))
    }

    /// The set's name.
    pub fn name(&self) -> Name {
        Name::from(self.metadata.name.as_str())
    }
}
