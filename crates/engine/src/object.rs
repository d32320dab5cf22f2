//! Any object that the engine can be told of.

use crate::labels::{Name, ObjectKey};
use crate::model::{
    Attachment, Budget, Claim, CsiDriver, CsiNode, Namespace, Node, Pod, Pool, StorageClass, Version, Volume, Workload,
    WorkloadKind,
};

/// One object of the cluster: what a watch event or a manifest carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    /// A Node.
    Node(Node),
    /// A Pod; boxed because it is by far the largest.
    Pod(Box<Pod>),
    /// A PersistentVolume.
    Volume(Volume),
    /// A PersistentVolumeClaim.
    Claim(Claim),
    /// A StorageClass.
    Class(StorageClass),
    /// A CSIDriver.
    Driver(CsiDriver),
    /// A CSINode.
    CsiNode(CsiNode),
    /// A CSIStorageCapacity.
    Pool(Pool),
    /// A VolumeAttachment.
    Attachment(Attachment),
    /// A Namespace.
    Namespace(Namespace),
    /// A Service, ReplicationController, ReplicaSet or StatefulSet.
    Workload(Workload),
    /// A PodDisruptionBudget.
    Budget(Budget),
}

/// The kinds of objects that the engine knows. The order is that in which a cluster is best told of: what others
/// refer to comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// v1 Namespace.
    Namespace,
    /// v1 Node.
    Node,
    /// storage.k8s.io StorageClass.
    StorageClass,
    /// storage.k8s.io CSIDriver.
    CsiDriver,
    /// storage.k8s.io CSINode.
    CsiNode,
    /// storage.k8s.io CSIStorageCapacity.
    CsiStorageCapacity,
    /// v1 PersistentVolume.
    PersistentVolume,
    /// v1 PersistentVolumeClaim.
    PersistentVolumeClaim,
    /// storage.k8s.io VolumeAttachment.
    VolumeAttachment,
    /// v1 Service.
    Service,
    /// v1 ReplicationController.
    ReplicationController,
    /// apps/v1 ReplicaSet.
    ReplicaSet,
    /// apps/v1 StatefulSet.
    StatefulSet,
    /// policy/v1 PodDisruptionBudget.
    PodDisruptionBudget,
    /// v1 Pod.
    Pod,
}

impl Kind {
    /// The kind's name in the Kubernetes API.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Namespace => "Namespace",
            Kind::Node => "Node",
            Kind::StorageClass => "StorageClass",
            Kind::CsiDriver => "CSIDriver",
            Kind::CsiNode => "CSINode",
            Kind::CsiStorageCapacity => "CSIStorageCapacity",
            Kind::PersistentVolume => "PersistentVolume",
            Kind::PersistentVolumeClaim => "PersistentVolumeClaim",
            Kind::VolumeAttachment => "VolumeAttachment",
            Kind::Service => "Service",
            Kind::ReplicationController => "ReplicationController",
            Kind::ReplicaSet => "ReplicaSet",
            Kind::StatefulSet => "StatefulSet",
            Kind::PodDisruptionBudget => "PodDisruptionBudget",
            Kind::Pod => "Pod",
        }
    }

    /// Whether objects of this kind live in a namespace.
    pub fn is_namespaced(self) -> bool {
        matches!(
            self,
            Kind::CsiStorageCapacity
                | Kind::PersistentVolumeClaim
                | Kind::Service
                | Kind::ReplicationController
                | Kind::ReplicaSet
                | Kind::StatefulSet
                | Kind::PodDisruptionBudget
                | Kind::Pod
        )
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl From<WorkloadKind> for Kind {
    fn from(kind: WorkloadKind) -> Self {
        match kind {
            WorkloadKind::Service => Kind::Service,
            WorkloadKind::ReplicationController => Kind::ReplicationController,
            WorkloadKind::ReplicaSet => Kind::ReplicaSet,
            WorkloadKind::StatefulSet => Kind::StatefulSet,
        }
    }
}

impl Object {
    /// The object's kind.
    pub fn kind(&self) -> Kind {
        match self {
            Object::Node(_) => Kind::Node,
            Object::Pod(_) => Kind::Pod,
            Object::Volume(_) => Kind::PersistentVolume,
            Object::Claim(_) => Kind::PersistentVolumeClaim,
            Object::Class(_) => Kind::StorageClass,
            Object::Driver(_) => Kind::CsiDriver,
            Object::CsiNode(_) => Kind::CsiNode,
            Object::Pool(_) => Kind::CsiStorageCapacity,
            Object::Attachment(_) => Kind::VolumeAttachment,
            Object::Namespace(_) => Kind::Namespace,
            Object::Workload(w) => w.kind.into(),
            Object::Budget(_) => Kind::PodDisruptionBudget,
        }
    }

    /// The object's version.
    pub fn version(&self) -> Version {
        match self {
            Object::Node(o) => o.version,
            Object::Pod(o) => o.version,
            Object::Volume(o) => o.version,
            Object::Claim(o) => o.version,
            Object::Class(o) => o.version,
            Object::Driver(o) => o.version,
            Object::CsiNode(o) => o.version,
            Object::Pool(o) => o.version,
            Object::Attachment(o) => o.version,
            Object::Namespace(o) => o.version,
            Object::Workload(o) => o.version,
            Object::Budget(o) => o.version,
        }
    }

    /// Namespace and name; the namespace of a cluster-wide object is empty.
    pub fn key(&self) -> ObjectKey {
        let cluster_wide = |name: &Name| ObjectKey { namespace: Name::from(""), name: name.clone() };
        match self {
            Object::Node(o) => cluster_wide(&o.name),
            Object::Pod(o) => o.key.clone(),
            Object::Volume(o) => cluster_wide(&o.name),
            Object::Claim(o) => o.key.clone(),
            Object::Class(o) => cluster_wide(&o.name),
            Object::Driver(o) => cluster_wide(&o.name),
            Object::CsiNode(o) => cluster_wide(&o.node),
            Object::Pool(o) => o.key.clone(),
            Object::Attachment(o) => cluster_wide(&o.name),
            Object::Namespace(o) => cluster_wide(&o.name),
            Object::Workload(o) => o.key.clone(),
            Object::Budget(o) => o.key.clone(),
        }
    }
}
