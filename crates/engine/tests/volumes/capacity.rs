//! scheduler-volume-binding.md 3.4.1: is there space to make a volume?

use plimsoll_engine::gates::Gate;
use plimsoll_engine::model::{CsiDriver, Pool};

use crate::common::*;

const NO_ROOM: &str = "node(s) did not have enough free storage";

fn cluster() -> World {
    let nodes = world().with(node("n1", &format!("{ZONE}=a"))).with(node("n2", &format!("{ZONE}=b")));
    nodes.with(class("fast", "driver")).with(driver("driver")).with(class("slow", "driver"))
}

/// Whether a claim of this size finds space on n1.
fn room(world: World, size: &str) -> bool {
    let reasons = world.with(claim("c").class("fast").asks(size)).reasons(&pod("p").uses("c"), "n1");
    assert!(reasons.iter().all(|r| r == NO_ROOM), "{reasons:?}");
    reasons.is_empty()
}

fn anywhere(capacity: &str) -> Pool {
    pool("p1", "fast", Some(""), capacity)
}

#[test]
fn sb_19_drivers_that_do_not_publish_space_are_not_checked() {
    assert!(!room(cluster(), "1Gi"));
    assert!(room(cluster().with(CsiDriver { storage_capacity: false, ..driver("driver") }), "1Gi"));
    let mut without = cluster();
    without.remove(plimsoll_engine::Kind::CsiDriver, "driver");
    assert!(room(without, "1Gi"));
}

#[test]
fn sb_20_without_pools_there_is_no_space_anywhere() {
    let world = cluster().with(claim("c").class("fast"));
    for node in ["n1", "n2"] {
        assert_eq!(world.reasons(&pod("p").uses("c"), node), [NO_ROOM]);
    }
}

#[test]
fn sb_21_the_largest_volume_counts_before_the_space() {
    let limited = || Pool { maximum_volume_size: Some(quantity("5Gi")), ..anywhere("10Gi") };
    assert!(!room(cluster().with(limited()), "6Gi"));
    assert!(room(cluster().with(limited()), "5Gi"));
    let odd = Pool { maximum_volume_size: Some(quantity("20Gi")), ..anywhere("10Gi") };
    assert!(room(cluster().with(odd), "15Gi"));
}

#[test]
fn sb_22_a_pool_that_says_nothing_is_not_usable() {
    assert!(!room(cluster().with(anywhere("")), "1Gi"));
}

#[test]
fn sb_23_the_namespace_means_nothing_and_the_class_all() {
    let elsewhere = Pool { key: key("storage/p1"), ..anywhere("10Gi") };
    assert!(room(cluster().with(elsewhere), "1Gi"));
    assert!(!room(cluster().with(pool("p1", "slow", Some(""), "10Gi")), "1Gi"));
}

#[test]
fn sb_24_no_topology_is_nowhere_and_an_empty_one_everywhere() {
    assert!(!room(cluster().with(pool("p1", "fast", None, "10Gi")), "1Gi"));
    assert!(room(cluster().with(pool("p1", "fast", Some(""), "10Gi")), "1Gi"));
    assert!(!room(cluster().with(pool("p1", "fast", Some(&format!("{ZONE}=b")), "10Gi")), "1Gi"));
}

#[test]
fn sb_25_each_claim_is_checked_alone() {
    let world = cluster().with(anywhere("10Gi"));
    let world = world.with(claim("a").class("fast").asks("6Gi")).with(claim("b").class("fast").asks("6Gi"));
    let pod = pod("p").uses("a").uses("b");
    assert!(world.fits(&pod, "n1"));
    assert_eq!(world.gate(Gate::JointClaimCapacity).reasons(&pod, "n1"), [NO_ROOM]);
}

#[test]
fn ns_26_pools_without_a_topology_reach_no_node() {
    let nowhere = cluster().with(pool("p1", "fast", None, "10Gi")).with(claim("c").class("fast"));
    assert_eq!(nowhere.feasible(&pod("p").uses("c")), Vec::<String>::new());
    let everywhere = nowhere.with(pool("p2", "fast", Some(""), "10Gi"));
    assert_eq!(everywhere.feasible(&pod("p").uses("c")), ["n1", "n2"]);
}

#[test]
fn promised_space_is_taken_until_the_claim_lets_go() {
    let world = cluster().with(anywhere("10Gi")).gate(Gate::PromisedCapacity);
    let mut world = world.with(claim("a").class("fast").asks("6Gi")).with(claim("b").class("fast").asks("6Gi"));
    let plan = world.place(&pod("p").uses("a"), "n1");
    assert_eq!(world.reasons(&pod("q").uses("b"), "n2"), [NO_ROOM]);
    world.catalog.forget(&key("p"), &uid_of(&key("p")), &plan);
    assert!(world.fits(&pod("q").uses("b"), "n2"));
}
