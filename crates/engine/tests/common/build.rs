//! Objects in one line: `volume("pv1").size("10Gi").class("fast").on_node("n1")`.

use std::sync::Arc;

use plimsoll_engine::Object;
use plimsoll_engine::labels::{Labels, Name, ObjectKey};
use plimsoll_engine::model::{
    AccessModes, Attachment, BindingMode, Claim, ClaimPhase, ClaimRef, ClaimTemplate, CsiDriver, CsiNode, DriverOnNode,
    InTreeDisk, NO_PROVISIONER, Node, Pod, PodDemand, PodImages, PodVolume, PodVolumeSource, Pool, Resources,
    StorageClass, Volume, VolumeMode, VolumePhase, VolumeSource,
};
use plimsoll_engine::quantity::Quantity;
use plimsoll_engine::selector::{AllowedTopologies, LabelSelector, NodeSelector, RawRequirement};

pub const HOST: &str = "kubernetes.io/hostname";
pub const ZONE: &str = plimsoll_engine::volumes::ZONE;
pub const NAMESPACE: &str = "default";

/// The key of something in the default namespace; `other/name` names another one.
pub fn key(name: &str) -> ObjectKey {
    match name.split_once('/') {
        Some((namespace, name)) => ObjectKey::new(namespace, name),
        None => ObjectKey::new(NAMESPACE, name),
    }
}

pub fn quantity(text: &str) -> Quantity {
    Quantity::parse(text).expect(text)
}

/// Labels from `a=1,b=2`.
pub fn labels(text: &str) -> Labels {
    text.split(',').filter_map(|pair| pair.split_once('=')).collect()
}

/// Access modes from `RWO,ROX`.
pub fn modes(text: &str) -> AccessModes {
    text.split(',').filter(|m| !m.is_empty()).fold(AccessModes::default(), |set, mode| {
        set.with(match mode {
            "RWO" => AccessModes::READ_WRITE_ONCE,
            "ROX" => AccessModes::READ_ONLY_MANY,
            "RWX" => AccessModes::READ_WRITE_MANY,
            _ => AccessModes::READ_WRITE_ONCE_POD,
        })
    })
}

/// A node selector of terms, each a list of (key, operator, values).
pub fn affinity(terms: &[&[(&str, &str, &[&str])]]) -> NodeSelector {
    let raw = |(key, operator, values): &(&str, &str, &[&str])| RawRequirement::new(key, operator, values);
    let terms: Vec<_> = terms.iter().map(|t| (t.iter().map(raw).collect(), Vec::new())).collect();
    NodeSelector::compile(&terms)
}

pub fn node(name: &str, text: &str) -> Node {
    let labels = [(HOST, name)].into_iter().chain(text.split(',').filter_map(|p| p.split_once('='))).collect();
    let allocatable = Resources { pods: 110, ..Resources::default() };
    Node { name: name.into(), labels, allocatable, ..Node::default() }
}

pub fn volume(name: &str) -> Volume {
    Volume {
        name: name.into(),
        version: 0,
        labels: Labels::default(),
        class: Name::default(),
        class_field: Name::default(),
        capacity: quantity("10Gi"),
        access_modes: modes("RWO"),
        mode: VolumeMode::Filesystem,
        attributes_class: Name::default(),
        affinity: None,
        claim_ref: None,
        phase: VolumePhase::Available,
        deleting: false,
        bound_by_controller: false,
        reclaim: plimsoll_engine::model::ReclaimPolicy::default(),
        provisioned_by: None,
        source: VolumeSource::Other,
    }
}

pub trait VolumeBuilder: Sized {
    fn edit(self, f: impl FnOnce(&mut Volume)) -> Volume;

    fn size(self, size: &str) -> Volume {
        self.edit(|v| v.capacity = quantity(size))
    }
    fn class(self, class: &str) -> Volume {
        self.edit(|v| {
            v.class = class.into();
            v.class_field = class.into();
        })
    }
    fn labelled(self, text: &str) -> Volume {
        self.edit(|v| v.labels = labels(text))
    }
    fn modes(self, text: &str) -> Volume {
        self.edit(|v| v.access_modes = modes(text))
    }
    fn affinity(self, terms: &[&[(&str, &str, &[&str])]]) -> Volume {
        self.edit(|v| v.affinity = Some(Arc::new(affinity(terms))))
    }
    fn on_node(self, node: &str) -> Volume {
        self.affinity(&[&[(HOST, "In", &[node])]])
    }
    fn in_zone(self, zone: &str) -> Volume {
        self.affinity(&[&[(ZONE, "In", &[zone])]])
    }
    /// Reserved by a person, by the claim's name alone.
    fn reserved_for(self, claim: &str) -> Volume {
        self.edit(|v| v.claim_ref = Some(ClaimRef { claim: key(claim), uid: Name::default() }))
    }
    fn bound_to(self, claim: &str) -> Volume {
        let uid = uid_of(&key(claim));
        self.edit(|v| {
            v.claim_ref = Some(ClaimRef { claim: key(claim), uid });
            v.phase = VolumePhase::Bound;
        })
    }
    fn csi(self, driver: &str) -> Volume {
        self.edit(|v| v.source = VolumeSource::Csi { driver: driver.into(), handle: format!("h-{}", v.name).into() })
    }
    fn disk(self, disk: InTreeDisk) -> Volume {
        self.edit(|v| v.source = VolumeSource::InTree(disk))
    }
}

impl VolumeBuilder for Volume {
    fn edit(mut self, f: impl FnOnce(&mut Volume)) -> Volume {
        f(&mut self);
        self
    }
}

/// The uid that builders give to an object of this key.
pub fn uid_of(key: &ObjectKey) -> Name {
    format!("uid-{key}").into()
}

pub fn claim(name: &str) -> Claim {
    let key = key(name);
    Claim {
        uid: uid_of(&key),
        key,
        version: 0,
        class: Name::default(),
        class_field: Name::default(),
        request: Some(quantity("1Gi")),
        access_modes: modes("RWO"),
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
    }
}

pub trait ClaimBuilder: Sized {
    fn edit(self, f: impl FnOnce(&mut Claim)) -> Claim;

    fn asks(self, size: &str) -> Claim {
        self.edit(|c| c.request = Some(quantity(size)))
    }
    fn class(self, class: &str) -> Claim {
        self.edit(|c| {
            c.class = class.into();
            c.class_field = class.into();
        })
    }
    fn modes(self, text: &str) -> Claim {
        self.edit(|c| c.access_modes = modes(text))
    }
    fn selecting(self, text: &str) -> Claim {
        let labels: Vec<(Name, Name)> = labels(text).iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        self.edit(|c| c.selector = Some(LabelSelector::compile(&labels, &[])))
    }
    fn selected(self, node: &str) -> Claim {
        self.edit(|c| {
            c.selected_node = Some(node.into());
            c.has_annotations = true;
        })
    }
    fn bound_to(self, volume: &str) -> Claim {
        self.edit(|c| {
            c.volume = volume.into();
            c.bind_completed = true;
            c.phase = ClaimPhase::Bound;
        })
    }
    fn owned_by(self, pod: &str) -> Claim {
        self.edit(|c| c.controller_uid = Some(uid_of(&key(pod))))
    }
}

impl ClaimBuilder for Claim {
    fn edit(mut self, f: impl FnOnce(&mut Claim)) -> Claim {
        f(&mut self);
        self
    }
}

/// A class that waits for the first consumer and makes volumes with the provisioner of that name.
pub fn class(name: &str, provisioner: &str) -> StorageClass {
    StorageClass {
        name: name.into(),
        version: 0,
        provisioner: provisioner.into(),
        binding_mode: Some(BindingMode::WaitForFirstConsumer),
        default_since: None,
        allowed_topologies: AllowedTopologies::default(),
    }
}

/// A class of volumes that are made by hand.
pub fn static_class(name: &str) -> StorageClass {
    class(name, NO_PROVISIONER)
}

pub trait ClassBuilder {
    fn immediate(self) -> StorageClass;
    fn allowed(self, terms: &[&[(&str, &[&str])]]) -> StorageClass;
}

impl ClassBuilder for StorageClass {
    fn immediate(mut self) -> StorageClass {
        self.binding_mode = Some(BindingMode::Immediate);
        self
    }
    fn allowed(mut self, terms: &[&[(&str, &[&str])]]) -> StorageClass {
        let values = |v: &[&str]| v.iter().map(|v| Name::from(*v)).collect();
        let raw: Vec<_> = terms.iter().map(|t| t.iter().map(|(k, v)| (Name::from(*k), values(v))).collect()).collect();
        self.allowed_topologies = AllowedTopologies::compile(&raw);
        self
    }
}

/// A driver that publishes its capacity.
pub fn driver(name: &str) -> CsiDriver {
    CsiDriver { name: name.into(), version: 0, storage_capacity: true, prevent_scheduling_if_missing: false }
}

/// A CSINode with drivers and their limits, as `a=2,b`.
pub fn csi_node(node: &str, drivers: &str) -> CsiNode {
    let entry = |text: &str| match text.split_once('=') {
        Some((name, limit)) => DriverOnNode { name: name.into(), attach_limit: limit.parse().ok() },
        None => DriverOnNode { name: text.into(), attach_limit: None },
    };
    let drivers = drivers.split(',').filter(|d| !d.is_empty()).map(entry).collect();
    CsiNode { node: node.into(), version: 0, drivers, migrated_plugins: Vec::new() }
}

pub fn pool(name: &str, class: &str, topology: Option<&str>, capacity: &str) -> Pool {
    let selector = |text: &str| {
        let labels: Vec<(Name, Name)> = labels(text).iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        LabelSelector::compile(&labels, &[]).expect(text)
    };
    Pool {
        key: key(name),
        version: 0,
        class: class.into(),
        topology: topology.map(selector),
        capacity: (!capacity.is_empty()).then(|| quantity(capacity)),
        maximum_volume_size: None,
    }
}

pub fn attachment(name: &str, driver: &str, node: &str, volume: &str) -> Attachment {
    Attachment {
        name: name.into(),
        version: 0,
        attacher: driver.into(),
        node: node.into(),
        volume: Some(volume.into()),
    }
}

pub fn pod(name: &str) -> Pod {
    let key = key(name);
    Pod {
        uid: uid_of(&key),
        key,
        version: 0,
        labels: Labels::default(),
        controller: None,
        deleting: false,
        preempted: false,
        node: None,
        nominated_node: None,
        ended: false,
        scheduler: "default-scheduler".into(),
        preempts: true,
        started: None,
        undecided: None,
        priority: 0,
        gated: false,
        demand: PodDemand::default(),
        images: PodImages::default(),
        host_ports: Vec::new(),
        tolerations: Vec::new(),
        node_selector: Labels::default(),
        required_node_affinity: None,
        preferred_node_affinity: Vec::new(),
        required_affinity: Vec::new(),
        required_anti_affinity: Vec::new(),
        preferred_affinity: Vec::new(),
        preferred_anti_affinity: Vec::new(),
        spread: Vec::new(),
        volumes: Vec::new(),
        features: Default::default(),
    }
}

pub trait PodBuilder: Sized {
    fn edit(self, f: impl FnOnce(&mut Pod)) -> Pod;

    fn volume(self, source: PodVolumeSource) -> Pod {
        self.edit(|p| p.volumes.push(PodVolume { name: format!("v{}", p.volumes.len()).into(), source }))
    }
    /// A volume of a claim.
    fn uses(self, claim: &str) -> Pod {
        self.volume(PodVolumeSource::Claim { name: claim.into() })
    }
    /// A generic ephemeral volume; its claim is named `<pod>-v<number of the volume>`.
    fn ephemeral(self, class: &str, size: &str) -> Pod {
        let template = ClaimTemplate {
            class: Some(class.into()),
            request: Some(quantity(size)),
            access_modes: modes("RWO"),
            ..ClaimTemplate::default()
        };
        self.volume(PodVolumeSource::Ephemeral { template })
    }
    fn inline_disk(self, disk: InTreeDisk, read_only: bool) -> Pod {
        self.volume(PodVolumeSource::Disk { disk, read_only })
    }
    fn on(self, node: &str) -> Pod {
        self.edit(|p| p.node = Some(node.into()))
    }
}

impl PodBuilder for Pod {
    fn edit(mut self, f: impl FnOnce(&mut Pod)) -> Pod {
        f(&mut self);
        self
    }
}

pub fn ebs(id: &str) -> InTreeDisk {
    InTreeDisk::AwsEbs { volume_id: id.into() }
}

pub fn gce(name: &str) -> InTreeDisk {
    InTreeDisk::GcePd { name: name.into() }
}

/// Anything that is an object of the cluster.
pub trait IntoObject {
    fn into_object(self) -> Object;
}

macro_rules! objects {
    ($($type:ty => $variant:ident),*) => {
        $(impl IntoObject for $type {
            fn into_object(self) -> Object {
                Object::$variant(self)
            }
        })*
    };
}

objects!(Node => Node, Volume => Volume, Claim => Claim, StorageClass => Class, CsiDriver => Driver,
    CsiNode => CsiNode, Pool => Pool, Attachment => Attachment);

impl IntoObject for Pod {
    fn into_object(self) -> Object {
        Object::Pod(Box::new(self))
    }
}

impl IntoObject for Object {
    fn into_object(self) -> Object {
        self
    }
}
