//! scheduler-volume-binding.md 3.4: bound claims, and how reasons combine.

use crate::common::*;

const AFFINITY: &str = "node(s) didn't match PersistentVolume's node affinity";
const NO_VOLUME: &str = "node(s) didn't find available persistent volumes to bind";
const MISSING: &str = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

fn cluster() -> World {
    let world = world().with(node("n1", "")).with(node("n2", "")).with(static_class("fast"));
    world.with(claim("c").bound_to("v")).with(volume("v").on_node("n1").bound_to("c"))
}

#[test]
fn sb_10_a_bound_volume_out_of_reach_gives_one_reason() {
    assert!(cluster().fits(&pod("p").uses("c"), "n1"));
    assert_eq!(cluster().reasons(&pod("p").uses("c"), "n2"), [AFFINITY]);
}

#[test]
fn sb_11_a_bound_volume_that_does_not_exist_is_a_reason_on_every_node() {
    // An ephemeral volume's claim: of a plain one, VolumeZone would refuse the whole pod (UP-6).
    let world = cluster().with(claim("p-v0").bound_to("gone").owned_by("p"));
    let pod = pod("p").ephemeral("fast", "1Gi");
    assert_eq!(world.reasons(&pod, "n1"), [MISSING]);
    assert_eq!(world.reasons(&pod, "n2"), [MISSING]);
}

#[test]
fn sb_12_reasons_of_bound_and_unbound_claims_come_in_order() {
    let world = cluster().with(claim("d").class("fast"));
    assert_eq!(world.reasons(&pod("p").uses("d").uses("c"), "n2"), [AFFINITY, NO_VOLUME]);
    let world = world.with(claim("p-v1").bound_to("gone").owned_by("p"));
    assert_eq!(world.reasons(&pod("p").uses("d").ephemeral("fast", "1Gi"), "n1"), [NO_VOLUME, MISSING]);
}

#[test]
fn sb_47_the_summary_counts_reasons() {
    let world = cluster().with(node("n3", ""));
    let decision = world.decide(&pod("p").uses("c"));
    assert_eq!(decision.summary(3), format!("1/3 nodes are available: 2 {AFFINITY}."));
    let world = world.with(claim("d").class("fast"));
    let decision = world.decide(&pod("p").uses("d").uses("c"));
    assert_eq!(decision.summary(3), format!("0/3 nodes are available: 2 {AFFINITY}, 3 {NO_VOLUME}."));
}
