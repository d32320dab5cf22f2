//! Whom a change wakes: the cases of the designs and the statements of the specification, each on a pod that was refused
//! for real.

use plimsoll_engine::Object;
use plimsoll_engine::model::{BindingMode, CsiDriver, CsiNode, Pod};

use super::Bench;
use super::build::*;

/// A node and a class of volumes made by hand, and a pod that waits for one.
fn no_volume() -> Bench {
    Bench::new().with(node("n", "")).with(static_class("local")).with(claim("c").class("local")).waiting(db())
}

/// A node that a driver can reach, and a pod that asks it for more than it has.
fn no_room() -> Bench {
    Bench::new()
        .with(node("n", ""))
        .with(driver("d"))
        .with(class("fast", "d"))
        .with(pool("p", "fast", Some(""), "5Gi"))
        .with(claim("c").class("fast").asks("10Gi"))
        .waiting(db())
}

/// A node on which a driver has attached all it can, and a pod that needs one volume more.
fn no_slot() -> Bench {
    let bound = |bench: Bench, name: &str| {
        let volume = format!("v-{name}");
        bench.with(volume_of("d", &volume, name)).with(claim(name).class("fast").bound_to(&volume))
    };
    let bench = Bench::new().with(node("n", "")).with(class("fast", "d")).with(csi_node("n", "d=1"));
    bound(bound(bench, "c"), "other").with(pod("q").uses("other").on("n")).waiting(db())
}

fn volume_of(driver: &str, name: &str, claim: &str) -> plimsoll_engine::model::Volume {
    volume(name).class("fast").csi(driver).bound_to(claim)
}

fn db() -> Pod {
    pod("db").uses("c")
}

fn sc(mode: BindingMode) -> plimsoll_engine::model::StorageClass {
    plimsoll_engine::model::StorageClass { binding_mode: Some(mode), ..static_class("local") }
}

/// One case: what it is called, where it begins, what happens, and whether that wakes the pod.
type Case = (&'static str, fn() -> Bench, fn(&mut Bench) -> bool, bool);

/// "Move pods into active queue" of the design, and the kinds that came after it.
const CASES: &[Case] = &[
    ("PVC add: the pod's claim comes", claimless, |b| b.set(claim("c").class("local")), true),
    ("PVC add: another claim comes", claimless, |b| b.set(claim("x").class("local")), false),
    ("PVC add: of that name elsewhere", claimless, |b| b.set(claim("other/c").class("local")), false),
    ("PVC update: the controller bound it", unbound, |b| b.set(claim("c").class("now").bound_to("v")), true),
    ("PVC update: nothing that matters", unbound, |b| b.set(claim("c").class("now")), false),
    ("PVC update: another's", unbound, |b| b.set(claim("x").class("now")), false),
    ("PV add: of its class", no_volume, |b| b.set(volume("v").class("local")), true),
    ("PV add: of another class", no_volume, |b| b.set(volume("v").class("slow")), false),
    ("PV add: somebody else's already", no_volume, |b| b.set(volume("v").class("local").bound_to("x")), false),
    ("PV add: reserved for its claim", no_volume, |b| b.set(volume("v").class("local").reserved_for("c")), true),
    ("PV update: freed", taken_volume, |b| b.set(volume("v").class("local")), true),
    ("PV update: taken by another", taken_volume, |b| b.set(volume("v").class("local").bound_to("y")), false),
    ("PV update: it can be reached now", far_volume, |b| b.set(volume("v").bound_to("c").on_node("n")), true),
    ("PV delete: of its class", taken_volume, |b| b.gone(volume("v")), false),
    ("SC add: with late binding", classless, |b| b.set(sc(BindingMode::WaitForFirstConsumer)), true),
    ("SC add: another", classless, |b| b.set(static_class("slow")), false),
    ("SC update: other topologies", not_allowed, |b| b.set(class("fast", "d")), true),
    ("SC update: marked as the default", not_allowed, |b| b.set(default_class()), false),
    ("CSIDriver update: capacity no longer tracked", no_room, |b| b.set(untracked()), true),
    ("CSIDriver update: another's", no_room, |b| b.set(driver("e")), false),
    ("CSIDriver delete", no_room, |b| b.gone(driver("d")), true),
    ("CSINode add: on another node", no_slot, |b| b.set(csi_node("m", "d=1")), true),
    ("CSINode update: more slots", no_slot, |b| b.set(csi_node("n", "d=2")), true),
    ("CSINode update: no limit any more", no_slot, |b| b.set(csi_node("n", "d")), true),
    ("CSINode update: fewer slots", no_slot, |b| b.set(csi_node("n", "d=0")), false),
    ("CSINode update: slots of another driver", no_slot, |b| b.set(csi_node("n", "d=1,e=9")), false),
    ("CSINode delete", no_slot, |b| b.gone(csi_node("n", "")), true),
    ("CSINode update: migrated plugins", far_volume, |b| b.set(migrated("n")), true),
    ("capacity add: enough", no_room, |b| b.set(pool("p2", "fast", Some(""), "10Gi")), true),
    ("capacity add: too little", no_room, |b| b.set(pool("p2", "fast", Some(""), "9Gi")), false),
    ("capacity add: of another class", no_room, |b| b.set(pool("p2", "slow", Some(""), "99Gi")), false),
    ("capacity update: enough", no_room, |b| b.set(pool("p", "fast", Some(""), "10Gi")), true),
    ("capacity update: more, but too little", no_room, |b| b.set(pool("p", "fast", Some(""), "6Gi")), false),
    ("capacity update: less", no_room, |b| b.set(pool("p", "fast", Some(""), "1Gi")), false),
    ("attachment delete", no_slot_left_over, |b| b.gone(attachment("a", "d", "n", "v-other")), true),
    ("attachment add: another's", no_slot, |b| b.set(attachment("a", "e", "n", "v-other")), false),
    ("node add", no_volume, |b| b.set(node("m", "")), true),
    ("node update: labels", far_volume, |b| b.set(node("n", "a=b")), true),
    ("node update: a heartbeat", far_volume, |b| b.set(node("n", "")), false),
    ("pod delete: with claims, on the node", no_slot, |b| b.gone(pod("q")), true),
];

fn claimless() -> Bench {
    Bench::new().with(node("n", "")).with(static_class("local")).waiting(db())
}

fn unbound() -> Bench {
    let bench = Bench::new().with(node("n", "")).with(class("now", "d").immediate());
    bench.with(claim("c").class("now")).with(claim("x")).waiting(db())
}

fn taken_volume() -> Bench {
    let bench = Bench::new().with(node("n", "")).with(static_class("local")).with(claim("c").class("local"));
    bench.with(volume("v").class("local").bound_to("x")).waiting(db())
}

fn far_volume() -> Bench {
    let bench = Bench::new().with(node("n", "")).with(csi_node("n", "")).with(claim("c").bound_to("v"));
    bench.with(volume("v").bound_to("c").on_node("elsewhere")).waiting(db())
}

fn classless() -> Bench {
    Bench::new().with(node("n", "")).with(claim("c").class("local")).with(claim("x")).waiting(db())
}

fn not_allowed() -> Bench {
    let class = class("fast", "d").allowed(&[&[(ZONE, &["a"])]]);
    Bench::new().with(node("n", "")).with(class).with(claim("c").class("fast")).waiting(db())
}

fn default_class() -> plimsoll_engine::model::StorageClass {
    let class = class("fast", "d").allowed(&[&[(ZONE, &["a"])]]);
    plimsoll_engine::model::StorageClass { default_since: Some("2026-01-01T00:00:00Z".into()), ..class }
}

fn no_slot_left_over() -> Bench {
    let bench = Bench::new().with(node("n", "")).with(class("fast", "d")).with(csi_node("n", "d=1"));
    let bench = bench.with(volume_of("d", "v-c", "c")).with(claim("c").class("fast").bound_to("v-c"));
    let bench = bench.with(volume_of("d", "v-other", "other"));
    bench.with(attachment("a", "d", "n", "v-other")).waiting(db())
}

fn untracked() -> CsiDriver {
    CsiDriver { storage_capacity: false, ..driver("d") }
}

fn migrated(node: &str) -> CsiNode {
    CsiNode { migrated_plugins: vec!["kubernetes.io/aws-ebs".into()], ..csi_node(node, "") }
}

#[test]
fn every_case_of_the_designs_wakes_whom_it_should() {
    let mut wrong = Vec::new();
    for (name, begin, happens, wakes) in CASES {
        let mut bench = begin();
        let woken = happens(&mut bench);
        if woken != *wakes || bench.take().is_some() != *wakes {
            wrong.push(*name);
        }
    }
    assert!(wrong.is_empty(), "wrong: {wrong:#?}");
}

#[test]
fn sb_43_more_capacity_requeues_and_less_does_not() {
    let mut bench = no_room();
    assert!(!bench.set(pool("p", "fast", Some(""), "1Gi")));
    assert!(bench.set(pool("p", "fast", Some(""), "20Gi")));
    assert_eq!(bench.take(), Some(key("db")));
}

#[test]
fn sb_44_a_new_volume_requeues_the_pods_that_volume_binding_refused() {
    // Ours: those for which it could be anything. One of another class wakes nobody.
    let mut bench = no_volume();
    assert!(!bench.set(volume("v1").class("another")));
    assert!(bench.set(volume("v2").class("local").on_node("elsewhere")), "whether it is of use is for the decision");
}

#[test]
fn of_23_a_pod_with_claims_that_goes_requeues_those_refused_by_the_limit() {
    let mut bench = no_slot();
    assert!(!bench.set(pod("r").on("n")) && !bench.gone(pod("r")), "one without volumes does not");
    assert!(bench.gone(pod("q")));
    assert_eq!(bench.take(), Some(key("db")));
}

#[test]
fn of_31_a_raised_count_requeues_and_a_lowered_one_does_not() {
    let mut bench = no_slot();
    assert!(!bench.set(csi_node("n", "d=0")));
    assert!(bench.set(csi_node("n", "d=3")));
}

#[test]
fn room_on_a_node_wakes_those_whom_it_is_enough_for() {
    let asking = |name: &str, cpu: &str| {
        pod(name).edit(|p| {
            let requests = [("cpu".into(), quantity(cpu))].into_iter().collect();
            p.demand.containers.push(plimsoll_engine::model::Container { requests, ..Default::default() });
        })
    };
    let mut small = node("n", "");
    small.allocatable.cpu_milli = 4000;
    let mut bench = Bench::new().with(small.clone()).with(asking("q1", "2").on("n")).with(asking("q2", "2").on("n"));
    for (name, cpu) in [("a", "1"), ("b", "2"), ("c", "3"), ("d", "9")] {
        bench = bench.waiting(asking(name, cpu));
    }
    assert!(bench.gone(asking("q1", "2")));
    assert_eq!((bench.take(), bench.take(), bench.take()), (Some(key("a")), Some(key("b")), None));
    assert_eq!(bench.queue.figures().looks, 2, "the others ask for more than there is");
    // Whoever may have others removed counts what they hold as room.
    let mut bench = Bench::new().with(small).with(asking("low", "2").on("n"));
    bench.set(asking("equal", "2").on("n").edit(|p| p.priority = 7));
    bench = bench.waiting(asking("high", "4").edit(|p| p.priority = 7));
    assert!(bench.gone(asking("equal", "2")), "with the lower one gone, too, there is room");
}

#[test]
fn an_event_of_one_class_looks_at_that_class_alone() {
    let mut bench = Bench::new().with(node("n", ""));
    for class in 0..1000 {
        bench.set(static_class(&format!("class-{class}")));
        for i in 0..10 {
            let name = format!("p{class}-{i}");
            bench.set(claim(&name).class(&format!("class-{class}")));
            bench.set(pod(&name).uses(&name));
        }
    }
    while let Some(key) = bench.take() {
        bench.refuse(&key);
    }
    let figures = bench.queue.figures();
    assert_eq!((figures.unschedulable, figures.looks), (10_000, 0));
    bench.pass(60);
    assert!(bench.set(volume("v").class("class-7")));
    let figures = bench.queue.figures();
    assert_eq!((figures.looks, figures.active), (10, 10));
    // One claim, one pod; a volume that is not free, nobody; and a node that lives, nobody.
    bench.set(claim("p8-0").class("class-8").selected("n"));
    assert_eq!(bench.queue.figures().looks, 11);
    bench.set(volume("w").class("class-9").bound_to("somebody"));
    bench.set(node("n", ""));
    assert_eq!(bench.queue.figures().looks, 11);
}

#[test]
fn where_there_is_no_node_every_node_wakes() {
    let mut bench = Bench::new().waiting(pod("a"));
    let object: Object = node("n", "").into_object();
    assert!(bench.set(object));
}
