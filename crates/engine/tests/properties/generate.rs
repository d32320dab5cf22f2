//! Random small clusters, made of few names so that everything meets everything.

use std::sync::Arc;

use plimsoll_engine::labels::{Labels, Name, ObjectKey};
use plimsoll_engine::model::{
    AccessModes, Attachment, BindingMode, Claim, ClaimPhase, ClaimRef, CsiDriver, CsiNode, DriverOnNode, Namespace,
    Node, Pod, PodVolumeSource, Pool, StorageClass, Volume, VolumeMode, VolumePhase, VolumeSource,
};
use plimsoll_engine::selector::{AllowedTopologies, LabelSelector, NodeSelector, RawRequirement, SelectorError};
use plimsoll_engine::{Kind, Object};

use crate::common::*;
use crate::dice::Dice;

const RACK: &str = "example.com/rack";
const SIZES: [&str; 6] = ["1Gi", "2Gi", "2048Mi", "3Gi", "5Gi", "8Gi"];
const CLASSES: [&str; 3] = ["c0", "c1", "c2"];
const DRIVERS: [&str; 2] = ["d0", "d1"];
const CLAIMS: [&str; 5] = ["k0", "k1", "k2", "k3", "other/k0"];
const NODES: [&str; 5] = ["n0", "n1", "n2", "n3", "n4"];

/// What a cluster is mostly about: in one of everything, some rules rarely decide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Focus {
    Everything,
    /// Pools and what is promised in them.
    Space,
    /// What is attached, and limits.
    Attaching,
    /// Free volumes and where they can be reached from.
    Volumes,
}

pub fn focus(dice: &mut Dice) -> Focus {
    dice.pick(&[Focus::Everything, Focus::Everything, Focus::Space, Focus::Attaching, Focus::Volumes])
}

/// Bends an object to the focus; `None` where it has no place there.
fn bend(focus: Focus, mut object: Object, dice: &mut Dice) -> Option<Object> {
    match (&mut object, focus) {
        (_, Focus::Everything) => {}
        (Object::Class(class), _) => {
            class.provisioner = if focus == Focus::Volumes { "" } else { "d0" }.into();
            class.binding_mode = Some(BindingMode::WaitForFirstConsumer);
        }
        (Object::Driver(driver), _) => {
            driver.storage_capacity = focus == Focus::Space;
            driver.prevent_scheduling_if_missing = false;
        }
        (Object::Claim(claim), Focus::Space) => {
            (claim.class, claim.volume) = ("c0".into(), Name::default());
            claim.selected_node = dice.one_in(2).then(|| dice.pick(&["n0", "n1", "n2"]).into());
        }
        (Object::Claim(claim), Focus::Attaching) => {
            claim.volume = dice.pick(&["v0", "v1", "v2", "v3", ""]).into();
            claim.bind_completed = true;
            claim.access_modes = modes("RWO");
        }
        (Object::Claim(claim), Focus::Volumes) => {
            (claim.class, claim.volume, claim.selected_node) = ("c0".into(), Name::default(), None);
        }
        (Object::Volume(volume), Focus::Volumes) => {
            *volume = volume.clone().class("c0");
            volume.phase = dice.pick(&[VolumePhase::Available, VolumePhase::Available, VolumePhase::Released]);
            volume.claim_ref = volume.claim_ref.take().filter(|_| dice.one_in(3));
        }
        (Object::Pool(pool), Focus::Space) => pool.class = "c0".into(),
        (Object::Volume(volume), Focus::Attaching) => {
            volume.affinity = None;
            volume.source = VolumeSource::Csi { driver: "d0".into(), handle: dice.pick(&[&*volume.name, "h0"]).into() };
        }
        (Object::CsiNode(csi_node), Focus::Attaching) => {
            let attach_limit = dice.pick(&[Some(2), Some(1), Some(3), None]);
            csi_node.drivers = vec![DriverOnNode { name: "d0".into(), attach_limit }];
        }
        (Object::Attachment(attachment), Focus::Attaching) => attachment.attacher = "d0".into(),
        (Object::Volume(_) | Object::Pod(_) | Object::Attachment(_) | Object::CsiNode(_), Focus::Space) => return None,
        (Object::Pool(_), Focus::Attaching) => return None,
        (Object::Pod(_) | Object::Pool(_) | Object::Attachment(_) | Object::CsiNode(_), Focus::Volumes) => return None,
        _ => {}
    }
    Some(object)
}

/// The keys of every object that a cluster may hold.
pub fn inventory() -> Vec<(Kind, ObjectKey)> {
    let mut keys = Vec::new();
    let mut add = |kind: Kind, count: usize, prefix: &str| {
        let namespace = if kind.is_namespaced() { NAMESPACE } else { "" };
        keys.extend((0..count).map(|i| (kind, ObjectKey::new(namespace, format!("{prefix}{i}")))));
    };
    add(Kind::Namespace, 1, "ns");
    add(Kind::Node, 4, "n");
    add(Kind::StorageClass, 3, "c");
    add(Kind::CsiDriver, 2, "d");
    add(Kind::CsiNode, 4, "n");
    add(Kind::CsiStorageCapacity, 4, "p");
    add(Kind::PersistentVolume, 7, "v");
    add(Kind::PersistentVolumeClaim, 4, "k");
    add(Kind::VolumeAttachment, 2, "a");
    add(Kind::Pod, 4, "q");
    keys.push((Kind::PersistentVolumeClaim, ObjectKey::new("other", "k0")));
    keys.push((Kind::PersistentVolumeClaim, ObjectKey::new(NAMESPACE, "q0-v0")));
    keys.push((Kind::PersistentVolumeClaim, ObjectKey::new(NAMESPACE, "j0-v0")));
    keys
}

/// A random object of this kind and key, without a version; `None` where the focus has no place for it.
pub fn object(focus: Focus, kind: Kind, key: &ObjectKey, dice: &mut Dice) -> Option<Object> {
    let made = any_object(kind, key, dice);
    bend(focus, made, dice)
}

fn any_object(kind: Kind, key: &ObjectKey, dice: &mut Dice) -> Object {
    match kind {
        Kind::Namespace => {
            let labels = labels(dice.pick(&["", "team=a", "team=b"]));
            Object::Namespace(Namespace { name: key.name.clone(), version: 0, labels })
        }
        Kind::Node => Object::Node(random_node(&key.name, dice)),
        Kind::StorageClass => Object::Class(random_class(&key.name, dice)),
        Kind::CsiDriver => Object::Driver(CsiDriver {
            name: key.name.clone(),
            version: 0,
            storage_capacity: !dice.one_in(4),
            prevent_scheduling_if_missing: dice.one_in(8),
        }),
        Kind::CsiNode => Object::CsiNode(random_csi_node(&key.name, dice)),
        Kind::CsiStorageCapacity => Object::Pool(random_pool(key, dice)),
        Kind::PersistentVolume => Object::Volume(random_volume(&key.name, dice)),
        Kind::PersistentVolumeClaim => Object::Claim(random_claim(key, dice)),
        Kind::VolumeAttachment => Object::Attachment(Attachment {
            name: key.name.clone(),
            version: 0,
            attacher: dice.pick(&["d0", "d1", ""]).into(),
            node: dice.pick(&NODES).into(),
            volume: (!dice.one_in(5)).then(|| dice.pick(&["v0", "v1", "v2", "gone"]).into()),
        }),
        _ => Object::Pod(Box::new(placed_pod(&key.name, dice))),
    }
}

fn random_node(name: &str, dice: &mut Dice) -> Node {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    if !dice.one_in(4) {
        pairs.push((HOST, name));
    }
    let zone = dice.pick(&["a", "b", "", "c"]);
    if !zone.is_empty() {
        pairs.push((ZONE, zone));
    }
    let rack = dice.pick(&["1", "2", "", "x"]);
    if !rack.is_empty() {
        pairs.push((RACK, rack));
    }
    if dice.one_in(4) {
        pairs.push((plimsoll_engine::volumes::ZONE_BETA, dice.pick(&["a", "b"])));
    }
    if dice.one_in(4) {
        pairs.push(("topology.ebs.csi.aws.com/zone", dice.pick(&["a", "b"])));
    }
    Node { labels: pairs.into_iter().collect(), ..node(name, "") }
}

fn random_class(name: &str, dice: &mut Dice) -> StorageClass {
    let provisioner = dice.pick(&["d0", "kubernetes.io/no-provisioner", "d0", "d1", "kubernetes.io/aws-ebs", "d1", ""]);
    let mut made = class(name, provisioner);
    made.binding_mode = match dice.roll(40) {
        38 => Some(BindingMode::Immediate),
        39 => None,
        _ => Some(BindingMode::WaitForFirstConsumer),
    };
    made.allowed_topologies = match dice.roll(6) {
        0..=2 => AllowedTopologies::default(),
        3 => class("", "").allowed(&[&[(ZONE, &["a"])]]).allowed_topologies,
        4 => class("", "").allowed(&[&[(ZONE, &["a", "b"]), (RACK, &["1"])], &[(HOST, &["n0"])]]).allowed_topologies,
        _ => class("", "").allowed(&[&[]]).allowed_topologies,
    };
    made
}

fn random_csi_node(name: &str, dice: &mut Dice) -> CsiNode {
    let mut drivers = Vec::new();
    for name in ["d0", "d1", "ebs.csi.aws.com"] {
        if !dice.one_in(3) {
            let attach_limit = dice.pick(&[None, Some(4), Some(3), Some(2), Some(1), None, Some(6), Some(0)]);
            drivers.push(DriverOnNode { name: name.into(), attach_limit });
        }
    }
    let migrated = dice.pick(&[&[][..], &["kubernetes.io/aws-ebs"]]);
    let migrated_plugins = migrated.iter().map(|p| Name::from(*p)).collect();
    CsiNode { node: name.into(), version: 0, drivers, migrated_plugins }
}

fn random_pool(key: &ObjectKey, dice: &mut Dice) -> Pool {
    let expression = |key: &str, operator: &str, values: &[&str]| {
        LabelSelector::compile(&[], &[RawRequirement::new(key, operator, values)]).ok()
    };
    let topology = match dice.roll(7) {
        0 | 1 => Some(LabelSelector::default()),
        2 => expression(ZONE, "In", &["a"]),
        3 => expression(ZONE, "In", &["a", "b"]),
        4 => expression(RACK, "NotIn", &["1"]),
        5 => expression(HOST, "In", &["n0", "n1"]),
        _ => None,
    };
    Pool {
        key: key.clone(),
        version: 0,
        class: dice.pick(&["c0", "c0", "c1", "c2"]).into(),
        topology,
        capacity: (!dice.one_in(6)).then(|| quantity(dice.pick(&["8Gi", "5Gi", "3Gi", "20Gi", "0"]))),
        maximum_volume_size: dice.one_in(4).then(|| quantity(dice.pick(&["2Gi", "5Gi", "30Gi"]))),
    }
}

fn random_affinity(dice: &mut Dice) -> Option<NodeSelector> {
    let count = dice.pick(&[9, 1, 1, 2, 1, 2, 9, 1, 0]);
    if count == 9 {
        return None;
    }
    let terms: Vec<(Vec<RawRequirement>, Vec<RawRequirement>)> = (0..count)
        .map(|_| {
            let expressions = (0..dice.pick(&[1, 1, 2, 0])).map(|_| random_requirement(dice)).collect();
            let fields = dice.one_in(8).then(|| RawRequirement::new("metadata.name", "In", &["n1"]));
            (expressions, fields.into_iter().collect())
        })
        .collect();
    Some(NodeSelector::compile(&terms))
}

fn random_requirement(dice: &mut Dice) -> RawRequirement {
    let key = dice.pick(&[ZONE, HOST, RACK]);
    let values: &[&str] = match key {
        ZONE => dice.pick(&[&["a"][..], &["b"], &["a", "b"]]),
        HOST => dice.pick(&[&["n0"][..], &["n1"], &["n2", "n3"]]),
        _ => dice.pick(&[&["1"][..], &["2"]]),
    };
    match dice.roll(12) {
        0..=5 => RawRequirement::new(key, "In", values),
        6 | 7 => RawRequirement::new(key, "NotIn", values),
        8 => RawRequirement::new(key, "Exists", &[]),
        9 => RawRequirement::new(key, "DoesNotExist", &[]),
        10 => RawRequirement::new(RACK, dice.pick(&["Gt", "Lt"]), &["1"]),
        _ => RawRequirement::new(key, "Foo", values),
    }
}

fn random_labels(dice: &mut Dice) -> Labels {
    let mut pairs = vec![("app", dice.pick(&["x", "y"]))];
    if dice.one_in(5) {
        pairs.push((ZONE, dice.pick(&["a", "a__b", "a__"])));
    }
    if dice.one_in(8) {
        pairs.push((plimsoll_engine::volumes::ZONE_BETA, dice.pick(&["a", "b"])));
    }
    pairs.into_iter().collect()
}

fn random_modes(dice: &mut Dice) -> AccessModes {
    modes(dice.pick(&["RWO", "RWO,ROX", "RWO,ROX", "RWO,ROX,RWX", "RWX", "RWO,RWOP"]))
}

fn random_volume(name: &str, dice: &mut Dice) -> Volume {
    let class = dice.pick(&["c0", "c0", "c1", "c2"]);
    let mut made = volume(name).size(dice.pick(&SIZES)).class(class).edit(|v| v.labels = random_labels(dice));
    made.affinity = random_affinity(dice).map(Arc::new);
    made.access_modes = random_modes(dice);
    made.mode = if dice.one_in(10) { VolumeMode::Block } else { VolumeMode::Filesystem };
    made.attributes_class = dice.pick(&["", "", "", "", "", "", "", "", "", "", "", "gold"]).into();
    made.phase = match dice.roll(10) {
        8 => VolumePhase::Bound,
        9 => dice.pick(&[VolumePhase::Pending, VolumePhase::Released]),
        _ => VolumePhase::Available,
    };
    made.claim_ref = dice.one_in(6).then(|| {
        let claim = key(dice.pick(&CLAIMS));
        let uid = dice.pick(&[Name::default(), uid_of(&claim), "another".into()]);
        ClaimRef { claim, uid }
    });
    made.deleting = dice.one_in(15);
    made.source = match dice.roll(5) {
        0 | 1 => VolumeSource::Csi { driver: dice.pick(&DRIVERS).into(), handle: dice.pick(&[name, "h0"]).into() },
        2 => VolumeSource::InTree(ebs(dice.pick(&["vol-1", "aws://a/vol-1", "aws://nonsense"]))),
        _ => VolumeSource::Other,
    };
    made
}

fn random_claim(key: &ObjectKey, dice: &mut Dice) -> Claim {
    let class = if dice.one_in(40) { "" } else { dice.pick(&["c0", "c0", "c0", "c1", "c1", "c2"]) };
    let mut made = claim(&key.to_string()).class(class);
    made.request = (!dice.one_in(12)).then(|| quantity(dice.pick(&["1Gi", "2Gi", "2048Mi", "3Gi", "5Gi"])));
    made.access_modes = modes(dice.pick(&["RWO", "RWO", "RWO", "RWO", "ROX", "RWO,ROX", "RWO,RWOP"]));
    made.mode = if dice.one_in(12) { VolumeMode::Block } else { VolumeMode::Filesystem };
    made.attributes_class = dice.pick(&["", "", "", "", "", "", "", "", "", "", "", "", "", "", "gold"]).into();
    made.selector = match dice.roll(10) {
        7 => Some(Ok(LabelSelector::default())),
        8 => Some(LabelSelector::compile(&[("app".into(), "x".into())], &[])),
        9 if dice.one_in(6) => Some(Err(SelectorError("bad".into()))),
        _ => None,
    };
    if dice.one_in(8) {
        made = made.selected(dice.pick(&["n0", "n1", "n0", "n1", "", "n4"]));
    }
    if dice.one_in(5) {
        made.volume = dice.pick(&["v0", "v1", "v2", "v0", "v1", "v2", "v0", "v1", "v2", "gone"]).into();
        made.bind_completed = !dice.one_in(12);
    }
    made.phase = if dice.one_in(60) { ClaimPhase::Lost } else { ClaimPhase::Pending };
    made.deleting = dice.one_in(60);
    if let Some((owner, _)) = key.name.split_once('-') {
        made = made.owned_by(dice.pick(&[owner, owner, owner, "q1"]));
    }
    made
}

fn placed_pod(name: &str, dice: &mut Dice) -> Pod {
    let mut made = pod(name).edit(|p| p.ended = dice.one_in(10));
    made.node = (!dice.one_in(8)).then(|| dice.pick(&NODES).into());
    random_volumes(made, dice)
}

fn random_volumes(mut made: Pod, dice: &mut Dice) -> Pod {
    for _ in 0..dice.pick(&[1, 2, 3, 4, 2, 3]) {
        made = match dice.roll(20) {
            16 if made.volumes.is_empty() => made.ephemeral(dice.pick(&CLASSES), dice.pick(&SIZES)),
            17 => made.inline_disk(ebs(dice.pick(&["vol-1", "vol-2", "aws://nonsense"])), dice.one_in(2)),
            18 => made.inline_disk(gce(dice.pick(&["disk-1", "disk-2"])), dice.one_in(2)),
            19 => made.volume(PodVolumeSource::Iscsi { iqn: "iqn".into(), read_only: dice.one_in(2) }),
            _ => made.uses(dice.pick(&["k0", "k1", "k2", "k3"])),
        };
    }
    made
}

/// What is asked about is worth asking: most pods are judged, and every outcome happens often.
#[test]
fn clusters_are_varied() {
    use plimsoll_engine::volumes::Outcome;
    use proptest::strategy::{Strategy, ValueTree};
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen: std::collections::BTreeMap<&str, u32> = std::collections::BTreeMap::new();
    for _ in 0..300 {
        let mut dice = crate::dice::dice(900).new_tree(&mut runner).expect("a list").current();
        let pods = judged(&mut dice);
        let mut catalog = plimsoll_engine::Catalog::new();
        for object in cluster(&mut dice) {
            catalog.apply(plimsoll_engine::Event::Set(object));
        }
        for pod in pods {
            let decision = catalog.decide(&pod, plimsoll_engine::gates::Gates::AS_UPSTREAM);
            let nodes = decision.nodes.iter();
            let feasible: Vec<_> = nodes.clone().filter(|n| n.is_feasible()).collect();
            let plans: Vec<_> = nodes.clone().flat_map(|n| &n.plan.claims).collect();
            let mut note = |what, yes: bool| *seen.entry(what).or_default() += u32::from(yes);
            note("judged", decision.rejection.is_none());
            note("feasible", !feasible.is_empty());
            note("feasible with several claims", feasible.iter().any(|n| n.plan.claims.len() > 1));
            note("bound", plans.iter().any(|c| c.outcome == Outcome::Bound));
            note("static", plans.iter().any(|c| c.outcome == Outcome::Static));
            note("pool", plans.iter().any(|c| c.pool.is_some()));
            note("provision without a pool", plans.iter().any(|c| c.outcome == Outcome::Provision && c.pool.is_none()));
            for (what, word) in [("limit", "exceed max"), ("no room", "enough free"), ("zone", "volume zone")] {
                note(what, nodes.clone().flat_map(|n| &n.refusals).any(|r| r.reason.contains(word)));
            }
        }
    }
    println!("{seen:?} of 900");
    assert!(seen.values().all(|count| *count >= 10), "{seen:?} of 900");
    assert!(seen["judged"] > 450 && seen["feasible"] > 150, "{seen:?} of 900");
}

/// The pods that decisions are asked about: none of them is placed.
pub fn judged(dice: &mut Dice) -> Vec<Pod> {
    (0..3).map(|i| random_volumes(pod(&format!("j{i}")), dice)).collect()
}

/// A cluster: each object of the inventory, with some left out.
pub fn cluster(dice: &mut Dice) -> Vec<Object> {
    let focus = focus(dice);
    let mut objects = Vec::new();
    for (kind, key) in inventory() {
        if !dice.one_in(14) {
            objects.extend(object(focus, kind, &key, dice));
        }
    }
    objects
}
