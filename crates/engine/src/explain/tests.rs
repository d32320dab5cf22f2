//! What explaining leaves as it was, and which gates it names in plain cases.

use super::*;
use crate::catalog::Event;
use crate::model::{
    AccessModes, BindingMode, Claim, ClaimPhase, ClaimTemplate, CsiDriver, Pod, PodVolume, PodVolumeSource, Pool,
    StorageClass, Volume, VolumeMode, VolumePhase, VolumeSource,
};
use crate::object::Object;
use crate::reason::Code;
use crate::selector::{AllowedTopologies, LabelSelector};
use crate::testing::{container, name, node, placed, pod};
use crate::volumes::Outcome;

fn class(class: &str) -> Object {
    Object::Class(StorageClass {
        name: name(class),
        version: 1,
        provisioner: name(if class == "local" { "kubernetes.io/no-provisioner" } else { "csi.example.com" }),
        binding_mode: Some(BindingMode::WaitForFirstConsumer),
        default_since: None,
        allowed_topologies: AllowedTopologies::default(),
    })
}

fn claim(claim: &str, class: &str, size: &str) -> Claim {
    Claim {
        key: ObjectKey::new("default", claim),
        uid: name(claim),
        version: 1,
        class: name(class),
        class_field: name(class),
        request: Some(size.parse().unwrap()),
        access_modes: AccessModes::READ_WRITE_ONCE,
        mode: VolumeMode::Filesystem,
        attributes_class: name(""),
        selector: None,
        volume: name(""),
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

fn volume(volume: &str, size: &str) -> Object {
    Object::Volume(Volume {
        name: name(volume),
        version: 1,
        labels: crate::labels::Labels::default(),
        class: name("local"),
        class_field: name("local"),
        capacity: size.parse().unwrap(),
        access_modes: AccessModes::READ_WRITE_ONCE,
        mode: VolumeMode::Filesystem,
        attributes_class: name(""),
        affinity: None,
        claim_ref: None,
        phase: VolumePhase::Available,
        deleting: false,
        bound_by_controller: false,
        reclaim: crate::model::ReclaimPolicy::default(),
        provisioned_by: None,
        source: VolumeSource::Other,
    })
}

fn pool(size: &str) -> [Object; 2] {
    let driver = CsiDriver {
        name: name("csi.example.com"),
        version: 1,
        storage_capacity: true,
        prevent_scheduling_if_missing: false,
    };
    let pool = Pool {
        key: ObjectKey::new("kube-system", "pool"),
        version: 1,
        class: name("fast"),
        topology: Some(LabelSelector::default()),
        capacity: Some(size.parse().unwrap()),
        maximum_volume_size: None,
    };
    [Object::Driver(driver), Object::Pool(pool)]
}

fn with_claims(pod: Pod, claims: &[&str]) -> Pod {
    let volumes = claims.iter().enumerate().map(|(i, claim)| PodVolume {
        name: format!("v{i}").into(),
        source: PodVolumeSource::Claim { name: name(claim) },
    });
    Pod { volumes: volumes.collect(), ..pod }
}

fn cluster(objects: impl IntoIterator<Item = Object>) -> Catalog {
    let mut catalog = Catalog::new();
    catalog.apply(Event::Set(Object::Node(node("node-1", "a"))));
    for object in objects {
        catalog.apply(Event::Set(object));
    }
    catalog
}

fn boxed(pod: Pod) -> Object {
    Object::Pod(Box::new(pod))
}

fn key(pod: &str) -> ObjectKey {
    ObjectKey::new("default", pod)
}

#[test]
fn a_pod_that_is_not_there_is_not_explained() {
    assert_eq!(cluster([]).explain(&key("p"), Gates::all()), None);
}

#[test]
fn a_placed_pod_does_not_stand_in_its_own_way_and_keeps_its_place() {
    let big = Pod { node: Some(name("node-1")), ..pod("p") };
    let mut big = big;
    big.demand.containers = vec![container(&[("cpu", "3")])];
    let mut catalog = cluster([boxed(big)]);
    let before = format!("{:?}", catalog.nodes());
    let explained = catalog.explain(&key("p"), Gates::all()).unwrap();
    assert!(explained.decision.nodes[0].is_feasible());
    assert_eq!(format!("{:?}", catalog.nodes()), before);
}

/// What is assumed is more than the objects say: the seat of a pod, and space promised to its claim.
#[test]
fn explaining_leaves_assumptions_as_they_were() {
    let objects = [class("fast"), Object::Claim(claim("c", "fast", "6Gi")), Object::Claim(claim("d", "fast", "6Gi"))];
    let pods = [boxed(with_claims(pod("p"), &["c"])), boxed(with_claims(pod("q"), &["d"]))];
    let mut catalog = cluster(objects.into_iter().chain(pool("10Gi")).chain(pods));
    let choice = catalog.choose(&catalog.pod(&key("p")).unwrap().clone(), Gates::all()).unwrap().unwrap();
    catalog.assume(&key("p"), &choice.node, &choice.plan).unwrap();
    let (table, pools) = (format!("{:?}", catalog.nodes()), format!("{:?}", catalog.volumes.pools));
    let explained = catalog.explain(&key("q"), Gates::all()).unwrap();
    assert_eq!(explained.decision.nodes[0].refusals[0].code, Code::NOT_ENOUGH_STORAGE);
    assert_eq!(explained.nodes[0].refusals, [Some(Gate::PromisedCapacity)]);
    assert_eq!(explained.remedies[0].change, "2Gi more free space for class fast");
    assert_eq!(
        (format!("{:?}", catalog.nodes()), format!("{:?}", catalog.volumes.pools)),
        (table.clone(), pools.clone())
    );
    // The pod whose placement is assumed can be explained as well.
    assert!(catalog.explain(&key("p"), Gates::all()).is_some());
    assert_eq!((format!("{:?}", catalog.nodes()), format!("{:?}", catalog.volumes.pools)), (table, pools));
    assert_eq!(catalog.explain(&key("q"), Gates::all()).unwrap(), explained);
}

/// With volumes of 5Gi (which one claim's selector does not allow) and 10Gi, smallest first takes the wrong one.
#[test]
fn a_refusal_that_a_gate_undoes_is_named_on_the_node() {
    let mut picky = claim("b", "local", "5Gi");
    picky.selector = Some(Ok(LabelSelector::from_labels(&[("kind", "x")])));
    let Object::Volume(mut labelled) = volume("small", "5Gi") else { unreachable!() };
    labelled.labels = crate::testing::labels(&[("kind", "x")]);
    let objects = [
        class("local"),
        Object::Claim(claim("a", "local", "4Gi")),
        Object::Claim(picky),
        Object::Volume(labelled),
        volume("large", "10Gi"),
        boxed(with_claims(pod("p"), &["a", "b"])),
    ];
    let explained = cluster(objects).explain(&key("p"), Gates::all()).unwrap();
    assert!(explained.decision.nodes[0].is_feasible());
    assert!(explained.nodes[0].gates.contains(&Gate::MatchingSearch), "{:?}", explained.nodes);
    assert!(explained.remedies.is_empty());
}

#[test]
fn a_refusal_that_a_gate_makes_is_named_on_the_refusal() {
    let objects = [class("fast"), Object::Claim(claim("a", "fast", "6Gi")), Object::Claim(claim("b", "fast", "6Gi"))];
    let objects = objects.into_iter().chain(pool("10Gi")).chain([boxed(with_claims(pod("p"), &["a", "b"]))]);
    let mut catalog = cluster(objects);
    let explained = catalog.explain(&key("p"), Gates::all()).unwrap();
    assert_eq!(explained.nodes[0].refusals, [Some(Gate::JointClaimCapacity)]);
    let upstream = catalog.explain(&key("p"), Gates::AS_UPSTREAM).unwrap();
    assert!(upstream.decision.nodes[0].is_feasible() && upstream.nodes[0].is_empty());
}

#[test]
fn a_rejection_that_a_gate_undoes_is_named_and_so_is_every_node() {
    let template = ClaimTemplate { class: Some(name("fast")), request: "1Gi".parse().ok(), ..ClaimTemplate::default() };
    let volumes = vec![PodVolume { name: name("v"), source: PodVolumeSource::Ephemeral { template } }];
    let mut catalog = cluster([class("fast"), boxed(Pod { volumes, ..pod("p") })]);
    let explained = catalog.explain(&key("p"), Gates::all()).unwrap();
    assert_eq!(explained.rejection_deviation, Some(Gate::EphemeralForecast));
    assert_eq!(explained.decision.nodes[0].plan.claims[0].outcome, Outcome::Provision);
    assert_eq!(explained.nodes[0].gates[..1], [Gate::ClosestFitScoring], "{:?}", explained.nodes);
    assert!(explained.nodes[0].gates.contains(&Gate::EphemeralForecast));
}

#[test]
fn at_most_five_remedies_and_each_change_once() {
    let mut objects = Vec::new();
    for i in 2..12 {
        let mut cordoned = node(&format!("node-{i}"), "a");
        cordoned.unschedulable = true;
        objects.push(Object::Node(cordoned));
    }
    let mut full = node("node-1", "a");
    full.unschedulable = true;
    objects.extend([Object::Node(full), boxed(placed("x", "node-1", "web")), boxed(pod("p"))]);
    let remedies = cluster(objects).explain(&key("p"), Gates::all()).unwrap().remedies;
    let changes: Vec<&str> = remedies.iter().map(|r| &*r.change).collect();
    let expected =
        ["node-1 uncordoned", "node-10 uncordoned", "node-11 uncordoned", "node-2 uncordoned", "node-3 uncordoned"];
    assert_eq!(changes, expected);
}
