//! One object of any kind that is read.

use plimsoll_engine::Object;
use plimsoll_engine::model::WorkloadKind;
use serde::Deserializer;

use crate::error::ConvertError;
use crate::interner::Interner;
use crate::kinds::{
    CsiDriver, CsiNode, CsiStorageCapacity, Namespace, Node, ObjectMeta, PersistentVolume, PersistentVolumeClaim, Pod,
    PodSet, PriorityClass, ReplicationController, Service, StorageClass, VolumeAttachment,
};

/// One object as it was read.
#[derive(Clone, Debug)]
pub enum Document {
    /// v1 Node.
    Node(Node),
    /// v1 Pod.
    Pod(Box<Pod>),
    /// v1 PersistentVolume.
    Volume(Box<PersistentVolume>),
    /// v1 PersistentVolumeClaim.
    Claim(Box<PersistentVolumeClaim>),
    /// storage.k8s.io StorageClass.
    Class(StorageClass),
    /// storage.k8s.io CSIDriver.
    Driver(CsiDriver),
    /// storage.k8s.io CSINode.
    CsiNode(CsiNode),
    /// storage.k8s.io CSIStorageCapacity.
    Pool(CsiStorageCapacity),
    /// storage.k8s.io VolumeAttachment.
    Attachment(VolumeAttachment),
    /// v1 Namespace.
    Namespace(Namespace),
    /// v1 Service.
    Service(Service),
    /// v1 ReplicationController.
    ReplicationController(Box<ReplicationController>),
    /// apps/v1 ReplicaSet.
    ReplicaSet(Box<PodSet>),
    /// apps/v1 StatefulSet.
    StatefulSet(Box<PodSet>),
    /// apps/v1 Deployment.
    Deployment(Box<PodSet>),
    /// apps/v1 DaemonSet.
    DaemonSet(Box<PodSet>),
    /// batch/v1 Job.
    Job(Box<PodSet>),
    /// scheduling.k8s.io PriorityClass.
    PriorityClass(PriorityClass),
}

/// The kinds that are read, with their API group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DocumentKind {
    /// v1 Node.
    Node,
    /// v1 Pod.
    Pod,
    /// v1 PersistentVolume.
    Volume,
    /// v1 PersistentVolumeClaim.
    Claim,
    /// storage.k8s.io StorageClass.
    Class,
    /// storage.k8s.io CSIDriver.
    Driver,
    /// storage.k8s.io CSINode.
    CsiNode,
    /// storage.k8s.io CSIStorageCapacity.
    Pool,
    /// storage.k8s.io VolumeAttachment.
    Attachment,
    /// v1 Namespace.
    Namespace,
    /// v1 Service.
    Service,
    /// v1 ReplicationController.
    ReplicationController,
    /// apps/v1 ReplicaSet.
    ReplicaSet,
    /// apps/v1 StatefulSet.
    StatefulSet,
    /// apps/v1 Deployment.
    Deployment,
    /// apps/v1 DaemonSet.
    DaemonSet,
    /// batch/v1 Job.
    Job,
    /// scheduling.k8s.io PriorityClass.
    PriorityClass,
}

/// Each kind with its group and name in the API.
const KINDS: [(DocumentKind, &str, &str); 18] = [
    (DocumentKind::Node, "", "Node"),
    (DocumentKind::Pod, "", "Pod"),
    (DocumentKind::Volume, "", "PersistentVolume"),
    (DocumentKind::Claim, "", "PersistentVolumeClaim"),
    (DocumentKind::Class, "storage.k8s.io", "StorageClass"),
    (DocumentKind::Driver, "storage.k8s.io", "CSIDriver"),
    (DocumentKind::CsiNode, "storage.k8s.io", "CSINode"),
    (DocumentKind::Pool, "storage.k8s.io", "CSIStorageCapacity"),
    (DocumentKind::Attachment, "storage.k8s.io", "VolumeAttachment"),
    (DocumentKind::Namespace, "", "Namespace"),
    (DocumentKind::Service, "", "Service"),
    (DocumentKind::ReplicationController, "", "ReplicationController"),
    (DocumentKind::ReplicaSet, "apps", "ReplicaSet"),
    (DocumentKind::StatefulSet, "apps", "StatefulSet"),
    (DocumentKind::Deployment, "apps", "Deployment"),
    (DocumentKind::DaemonSet, "apps", "DaemonSet"),
    (DocumentKind::Job, "batch", "Job"),
    (DocumentKind::PriorityClass, "scheduling.k8s.io", "PriorityClass"),
];

impl DocumentKind {
    /// The kind of this API version and name. The version within the group does not matter: those that differ in
    /// fields that are read are long gone.
    pub fn find(api_version: &str, kind: &str) -> Option<Self> {
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        KINDS.iter().find(|(_, g, k)| *g == group && *k == kind).map(|(d, _, _)| *d)
    }

    /// The kind's name in the API.
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(d, _, _)| *d == self).map_or("", |(_, _, name)| name)
    }

    /// Whether objects of this kind live in a namespace.
    pub fn is_namespaced(self) -> bool {
        !matches!(
            self,
            Self::Node
                | Self::Volume
                | Self::Class
                | Self::Driver
                | Self::CsiNode
                | Self::Attachment
                | Self::Namespace
                | Self::PriorityClass
        )
    }

    /// Decodes an object of this kind from a tree.
    pub fn decode(self, value: &serde_json::Value) -> Result<Document, DecodeError> {
        self.decode_json(&value.to_string())
    }

    /// Decodes an object of this kind from JSON text.
    ///
    /// All decoding goes through this one function: each further decoder would be compiled for every type again.
    pub fn decode_json(self, json: &str) -> Result<Document, DecodeError> {
        let mut track = serde_path_to_error::Track::new();
        let mut from = serde_json::Deserializer::from_str(json);
        self.decode_with(serde_path_to_error::Deserializer::new(&mut from, &mut track)).map_err(|error| DecodeError {
            path: track.path().to_string(),
            problem: without_place(&error),
            line: error.line(),
        })
    }

    fn decode_with<'de, D: Deserializer<'de>>(self, from: D) -> Result<Document, D::Error> {
        use serde::Deserialize;
        Ok(match self {
            Self::Node => Document::Node(Deserialize::deserialize(from)?),
            Self::Pod => Document::Pod(Deserialize::deserialize(from)?),
            Self::Volume => Document::Volume(Deserialize::deserialize(from)?),
            Self::Claim => Document::Claim(Deserialize::deserialize(from)?),
            Self::Class => Document::Class(Deserialize::deserialize(from)?),
            Self::Driver => Document::Driver(Deserialize::deserialize(from)?),
            Self::CsiNode => Document::CsiNode(Deserialize::deserialize(from)?),
            Self::Pool => Document::Pool(Deserialize::deserialize(from)?),
            Self::Attachment => Document::Attachment(Deserialize::deserialize(from)?),
            Self::Namespace => Document::Namespace(Deserialize::deserialize(from)?),
            Self::Service => Document::Service(Deserialize::deserialize(from)?),
            Self::ReplicationController => Document::ReplicationController(Deserialize::deserialize(from)?),
            Self::ReplicaSet => Document::ReplicaSet(Deserialize::deserialize(from)?),
            Self::StatefulSet => Document::StatefulSet(Deserialize::deserialize(from)?),
            Self::Deployment => Document::Deployment(Deserialize::deserialize(from)?),
            Self::DaemonSet => Document::DaemonSet(Deserialize::deserialize(from)?),
            Self::Job => Document::Job(Deserialize::deserialize(from)?),
            Self::PriorityClass => Document::PriorityClass(Deserialize::deserialize(from)?),
        })
    }
}

impl Document {
    /// The object's kind.
    pub fn kind(&self) -> DocumentKind {
        match self {
            Document::Node(_) => DocumentKind::Node,
            Document::Pod(_) => DocumentKind::Pod,
            Document::Volume(_) => DocumentKind::Volume,
            Document::Claim(_) => DocumentKind::Claim,
            Document::Class(_) => DocumentKind::Class,
            Document::Driver(_) => DocumentKind::Driver,
            Document::CsiNode(_) => DocumentKind::CsiNode,
            Document::Pool(_) => DocumentKind::Pool,
            Document::Attachment(_) => DocumentKind::Attachment,
            Document::Namespace(_) => DocumentKind::Namespace,
            Document::Service(_) => DocumentKind::Service,
            Document::ReplicationController(_) => DocumentKind::ReplicationController,
            Document::ReplicaSet(_) => DocumentKind::ReplicaSet,
            Document::StatefulSet(_) => DocumentKind::StatefulSet,
            Document::Deployment(_) => DocumentKind::Deployment,
            Document::DaemonSet(_) => DocumentKind::DaemonSet,
            Document::Job(_) => DocumentKind::Job,
            Document::PriorityClass(_) => DocumentKind::PriorityClass,
        }
    }

    /// The object's metadata.
    pub fn meta(&self) -> &ObjectMeta {
        match self {
            Document::Node(o) => &o.metadata,
            Document::Pod(o) => &o.metadata,
            Document::Volume(o) => &o.metadata,
            Document::Claim(o) => &o.metadata,
            Document::Class(o) => &o.metadata,
            Document::Driver(o) => &o.metadata,
            Document::CsiNode(o) => &o.metadata,
            Document::Pool(o) => &o.metadata,
            Document::Attachment(o) => &o.metadata,
            Document::Namespace(o) => &o.metadata,
            Document::Service(o) => &o.metadata,
            Document::ReplicationController(o) => &o.metadata,
            Document::ReplicaSet(o)
            | Document::StatefulSet(o)
            | Document::Deployment(o)
            | Document::DaemonSet(o)
            | Document::Job(o) => &o.metadata,
            Document::PriorityClass(o) => &o.metadata,
        }
    }

    /// The object's metadata, to change.
    pub fn meta_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Document::Node(o) => &mut o.metadata,
            Document::Pod(o) => &mut o.metadata,
            Document::Volume(o) => &mut o.metadata,
            Document::Claim(o) => &mut o.metadata,
            Document::Class(o) => &mut o.metadata,
            Document::Driver(o) => &mut o.metadata,
            Document::CsiNode(o) => &mut o.metadata,
            Document::Pool(o) => &mut o.metadata,
            Document::Attachment(o) => &mut o.metadata,
            Document::Namespace(o) => &mut o.metadata,
            Document::Service(o) => &mut o.metadata,
            Document::ReplicationController(o) => &mut o.metadata,
            Document::ReplicaSet(o)
            | Document::StatefulSet(o)
            | Document::Deployment(o)
            | Document::DaemonSet(o)
            | Document::Job(o) => &mut o.metadata,
            Document::PriorityClass(o) => &mut o.metadata,
        }
    }

    /// The object as decisions see it; `None` for kinds that only say how others are read (Deployments, Jobs, …).
    pub fn to_engine(&self, names: &mut Interner) -> Result<Option<Object>, ConvertError> {
        Ok(Some(match self {
            Document::Node(o) => Object::Node(o.to_engine(names)?),
            Document::Pod(o) => Object::Pod(Box::new(o.to_engine(names)?)),
            Document::Volume(o) => Object::Volume(o.to_engine(names)?),
            Document::Claim(o) => Object::Claim(o.to_engine(names)?),
            Document::Class(o) => Object::Class(o.to_engine(names)?),
            Document::Driver(o) => Object::Driver(o.to_engine(names)?),
            Document::CsiNode(o) => Object::CsiNode(o.to_engine(names)?),
            Document::Pool(o) => Object::Pool(o.to_engine(names)?),
            Document::Attachment(o) => Object::Attachment(o.to_engine(names)?),
            Document::Namespace(o) => Object::Namespace(o.to_engine(names)?),
            Document::Service(o) => Object::Workload(o.to_engine(names)?),
            Document::ReplicationController(o) => Object::Workload(o.to_engine(names)?),
            Document::ReplicaSet(o) => Object::Workload(o.to_engine(WorkloadKind::ReplicaSet, names)?),
            Document::StatefulSet(o) => Object::Workload(o.to_engine(WorkloadKind::StatefulSet, names)?),
            Document::Deployment(_) | Document::DaemonSet(_) | Document::Job(_) | Document::PriorityClass(_) => {
                return Ok(None);
            }
        }))
    }
}

/// JSON that is not an object of its kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct DecodeError {
    /// The field.
    pub path: String,
    /// What is wrong with it.
    pub problem: String,
    /// The line of the text, from 1.
    pub line: usize,
}

/// The message alone: places are said in our own words.
pub(crate) fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}
