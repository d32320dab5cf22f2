//! The clusters of the benchmark.

use std::sync::Arc;

use plimsoll_engine::gates::Gates;
use plimsoll_engine::labels::{Labels, Name, ObjectKey};
use plimsoll_engine::model::{
    AccessModes, BindingMode, Claim, ClaimPhase, CsiDriver, Node, Pod, PodVolume, PodVolumeSource, Pool, StorageClass,
    Volume, VolumeMode, VolumePhase, VolumeSource,
};
use plimsoll_engine::quantity::Quantity;
use plimsoll_engine::selector::{AllowedTopologies, LabelSelector, NodeSelector, RawRequirement};
use plimsoll_engine::volumes::VolumePlan;
use plimsoll_engine::{Catalog, Event, Object};

use crate::memory;

const GIB: i64 = 1 << 30;
const HOST: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";
const RACK: &str = "example.com/rack";
const ZONES: usize = 9;
const CLASSES: usize = 4;

/// What the volumes are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Local disks: each volume is reachable from one node.
    Local,
    /// Zonal disks: each volume is reachable from one of nine zones.
    Zonal,
    /// None: pools of space, one object per segment and class.
    Pools,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Local => "local",
            Kind::Zonal => "zonal",
            Kind::Pools => "pools",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        [Kind::Local, Kind::Zonal, Kind::Pools].into_iter().find(|k| k.name() == name)
    }
}

/// The sizes that pods ask for, in the stream.
fn size(i: usize) -> i64 {
    (10 + 7 * (i as i64 % 16)) * GIB
}

/// A size that nobody asked for before.
pub fn odd_size(i: usize) -> i64 {
    (11 + i as i64) * GIB + 12_345 + i as i64
}

pub struct Lab {
    pub catalog: Catalog,
    version: u64,
    random: u64,
    bytes: usize,
    /// Shared, as the API crate shares names that repeat.
    class: Name,
}

impl Lab {
    pub fn new(kind: Kind, nodes: usize, volumes: usize) -> Self {
        let mut lab = Self {
            catalog: Catalog::new(),
            version: 0,
            random: 0x9E37_79B9_7F4A_7C15,
            bytes: 0,
            class: "class-0".into(),
        };
        let racks = (volumes / CLASSES).max(1);
        for i in 0..nodes {
            let host = format!("node-{i}");
            let (zone, rack) = (format!("zone-{}", i % ZONES), format!("rack-{}", i % racks));
            let labels: Labels = [(HOST, &*host), (ZONE, &*zone), (RACK, &*rack)].into_iter().collect();
            let mut node = Node { name: host.as_str().into(), labels, ..Node::default() };
            node.allocatable.pods = 1 << 30;
            node.allocatable.cpu_milli = 1 << 40;
            node.allocatable.memory = 1 << 50;
            lab.set(Object::Node(node));
        }
        for c in 0..CLASSES {
            let provisioner = if kind == Kind::Pools { "csi.example.com" } else { "kubernetes.io/no-provisioner" };
            lab.set(Object::Class(StorageClass {
                name: format!("class-{c}").into(),
                version: 0,
                provisioner: provisioner.into(),
                binding_mode: Some(BindingMode::WaitForFirstConsumer),
                default_since: None,
                allowed_topologies: AllowedTopologies::default(),
            }));
        }
        lab.set(Object::Driver(CsiDriver {
            name: "csi.example.com".into(),
            version: 0,
            storage_capacity: true,
            prevent_scheduling_if_missing: false,
        }));
        let before = memory::resident_bytes();
        for i in 0..volumes {
            let object = match kind {
                Kind::Local => lab.volume(i, HOST, &format!("node-{}", i % nodes)),
                Kind::Zonal => lab.volume(i, ZONE, &format!("zone-{}", i % ZONES)),
                Kind::Pools => lab.pool(i),
            };
            lab.set(object);
        }
        lab.bytes = memory::resident_bytes().saturating_sub(before);
        lab
    }

    /// What the volumes or pools take in memory.
    pub fn own_bytes(&self) -> usize {
        self.bytes
    }

    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn set(&mut self, mut object: Object) {
        self.version += 1;
        let version = self.version;
        match &mut object {
            Object::Node(o) => o.version = version,
            Object::Pod(o) => o.version = version,
            Object::Volume(o) => o.version = version,
            Object::Claim(o) => o.version = version,
            Object::Class(o) => o.version = version,
            Object::Driver(o) => o.version = version,
            Object::Pool(o) => o.version = version,
            _ => {}
        }
        self.catalog.apply(Event::Set(object));
    }

    /// All sizes from 20 GiB to 220 GiB in steps of a GiB: volumes of equal size are the exception.
    fn volume(&mut self, i: usize, key: &str, place: &str) -> Object {
        let size = (20 + (self.random() % 200) as i64) * GIB + (self.random() % 1024) as i64;
        let affinity = NodeSelector::compile(&[(vec![RawRequirement::new(key, "In", &[place])], vec![])]);
        Object::Volume(Volume {
            name: format!("pv-{i}").into(),
            version: 0,
            labels: Labels::default(),
            class: self.class.clone(),
            class_field: self.class.clone(),
            capacity: Quantity::from_bytes(size),
            access_modes: AccessModes::READ_WRITE_ONCE,
            mode: VolumeMode::Filesystem,
            attributes_class: Name::default(),
            affinity: Some(Arc::new(affinity)),
            claim_ref: None,
            phase: VolumePhase::Available,
            deleting: false,
            bound_by_controller: false,
            reclaim: plimsoll_engine::model::ReclaimPolicy::default(),
            provisioned_by: None,
            source: VolumeSource::Other,
        })
    }

    fn pool(&mut self, i: usize) -> Object {
        let capacity = (200 + (self.random() % 2_000) as i64) * GIB;
        let rack = format!("rack-{}", i / CLASSES);
        Object::Pool(Pool {
            key: ObjectKey::new("kube-system", format!("pool-{i}")),
            version: 0,
            class: format!("class-{}", i % CLASSES).into(),
            topology: Some(LabelSelector::from_labels(&[(RACK, &rack)])),
            capacity: Some(Quantity::from_bytes(capacity)),
            maximum_volume_size: None,
        })
    }

    /// A pod and its claim come.
    pub fn arrive(&mut self, i: usize) -> Arc<Pod> {
        self.arrive_with_size(i, size(i))
    }

    pub fn arrive_with_size(&mut self, i: usize, bytes: i64) -> Arc<Pod> {
        let name = format!("pod-{}-{}", self.version, i);
        self.set(Object::Claim(Claim {
            key: ObjectKey::new("default", name.as_str()),
            uid: name.as_str().into(),
            version: 0,
            class: "class-0".into(),
            class_field: "class-0".into(),
            request: Some(Quantity::from_bytes(bytes)),
            access_modes: AccessModes::READ_WRITE_ONCE,
            mode: VolumeMode::Filesystem,
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
        }));
        let volume = PodVolume { name: "data".into(), source: PodVolumeSource::Claim { name: name.as_str().into() } };
        let pod = Pod { uid: name.as_str().into(), volumes: vec![volume], ..Pod::named("default", &name) };
        let key = pod.key.clone();
        self.set(Object::Pod(Box::new(pod)));
        self.catalog.pod(&key).unwrap().clone()
    }

    /// Which nodes, which volumes, best node: the volume part of a decision.
    pub fn choose_volumes(&self, pod: &Pod, gates: Gates) -> Option<(Name, VolumePlan)> {
        let volumes = self.catalog.volumes_of(pod, gates);
        let survey = volumes.survey();
        let (best, _) = survey.fitting().reduce(|best, next| if next.1 > best.1 { next } else { best })?;
        Some((self.catalog.nodes().get(best)?.node().name.clone(), volumes.plan(best)))
    }

    /// The choice is assumed, and taken back: two changes of the index, and the stream can go on for ever.
    pub fn settle(&mut self, pod: &Pod, choice: Option<(Name, VolumePlan)>) {
        if let Some((node, plan)) = choice {
            self.catalog.assume(&pod.key, &node, &plan).unwrap();
            self.catalog.forget(&pod.key, &pod.uid, &plan);
        }
    }

    /// A pod comes, is decided, assumed and forgotten. Whether it could be placed.
    pub fn next_pod(&mut self, i: usize) -> bool {
        let pod = self.arrive(i);
        let choice = self.choose_volumes(&pod, Gates::all());
        let placed = choice.is_some();
        self.settle(&pod, choice);
        self.leave(&pod);
        placed
    }

    /// A pod and its claim go.
    pub fn leave(&mut self, pod: &Pod) {
        use plimsoll_engine::Kind::{PersistentVolumeClaim, Pod};
        for kind in [Pod, PersistentVolumeClaim] {
            self.catalog.apply(Event::Gone { kind, key: pod.key.clone(), version: 0 });
        }
    }
}
