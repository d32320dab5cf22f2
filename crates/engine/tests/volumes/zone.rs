//! other-volume-filters.md 7.2 and node-selector.md 1.7.2: VolumeZone.

use plimsoll_engine::model::{Pod, Volume};
use plimsoll_engine::reason::{Plugin, Status};
use plimsoll_engine::volumes::{REGION, ZONE_BETA};

use crate::common::*;

const ZONE_GA: &str = ZONE;

/// Whether a node with these labels accepts a bound volume with those, as far as VolumeZone goes.
fn accepts(volume_labels: &str, node_labels: &str) -> bool {
    let world = bound(volume("v").labelled(volume_labels)).with(node("n1", node_labels));
    let refusals = world.refusals(&pod("p").uses("c"), "n1");
    assert!(refusals.iter().all(|r| *r == no_zone()), "{refusals:?}");
    refusals.is_empty()
}

fn no_zone() -> (Plugin, Status, String) {
    (Plugin::VolumeZone, Status::UnschedulableAndUnresolvable, "node(s) had no available volume zone".into())
}

fn bound(volume: Volume) -> World {
    world().with(claim("c").bound_to(&volume.name.clone())).with(volume.bound_to("c"))
}

/// VolumeZone's refusal of the pod as a whole.
fn told(world: &World, pod: &Pod) -> Option<String> {
    let volumes = world.catalog.volumes_of(pod, world.gates);
    let own = volumes.pod_refusals().iter().find(|r| r.plugin == Plugin::VolumeZone);
    own.map(|r| r.reason.to_string())
}

#[test]
fn of_1_another_zone_is_refused_for_good() {
    let world = bound(volume("v").labelled(&format!("{ZONE_GA}=a"))).with(node("n1", &format!("{ZONE_GA}=b")));
    assert_eq!(world.refusals(&pod("p").uses("c"), "n1"), [no_zone()]);
}

#[test]
fn of_2_a_node_without_zone_labels_accepts_all() {
    assert!(accepts(&format!("{ZONE_GA}=a"), ""));
    assert!(!accepts(&format!("{ZONE_GA}=a"), &format!("{REGION}=r")));
}

#[test]
fn of_3_a_label_may_list_zones() {
    assert!(accepts(&format!("{ZONE_GA}=a__b"), &format!("{ZONE_GA}=b")));
}

#[test]
fn of_4_beta_falls_back_to_ga_and_not_the_reverse() {
    assert!(accepts(&format!("{ZONE_BETA}=a"), &format!("{ZONE_GA}=a")));
    assert!(!accepts(&format!("{ZONE_GA}=a"), &format!("{ZONE_BETA}=a")));
    // The node's beta label counts where it has one, even if the GA label differs.
    assert!(!accepts(&format!("{ZONE_BETA}=a"), &format!("{ZONE_BETA}=b,{ZONE_GA}=a")));
}

#[test]
fn of_5_claims_that_wait_for_their_first_consumer_are_ignored() {
    let world = world().with(node("n1", &format!("{ZONE_GA}=b"))).with(class("fast", "driver"));
    let world = world.with(claim("c").class("fast")).with(volume("v").class("fast").labelled(&format!("{ZONE_GA}=a")));
    assert_eq!(told(&world, &pod("p").uses("c")), None);
    assert_eq!(world.refusals(&pod("p").uses("c"), "n1"), []);
}

#[test]
fn of_6_an_unbound_immediate_claim_refuses_the_pod() {
    let world = world().with(class("now", "driver").immediate()).with(claim("c").class("now"));
    assert_eq!(told(&world, &pod("p").uses("c")).as_deref(), Some("PersistentVolume had no name"));
}

#[test]
fn of_7_a_claim_with_neither_volume_nor_class_refuses_the_pod() {
    let told = told(&world().with(claim("c")), &pod("p").uses("c"));
    assert_eq!(told.as_deref(), Some("PersistentVolumeClaim had no pv name and storageClass name"));
}

#[test]
fn of_8_a_region_alone_counts_too() {
    assert!(!accepts(&format!("{REGION}=r1"), &format!("{REGION}=r2")));
    assert!(accepts(&format!("{REGION}=r1"), &format!("{REGION}=r1")));
}

#[test]
fn of_9_claims_of_ephemeral_volumes_are_not_looked_at() {
    let world = world().with(node("n1", &format!("{ZONE_GA}=b"))).with(claim("p-v0").bound_to("v").owned_by("p"));
    let world = world.with(volume("v").bound_to("p-v0").labelled(&format!("{ZONE_GA}=a")));
    assert_eq!(world.refusals(&pod("p").ephemeral("fast", "1Gi"), "n1"), []);
}

#[test]
fn ns_28_each_zone_of_a_list_is_accepted_and_no_other() {
    let list = format!("{ZONE_GA}=a__b");
    let accepted = ["a", "b", "c"].map(|zone| accepts(&list, &format!("{ZONE_GA}={zone}")));
    assert_eq!(accepted, [true, true, false]);
}

#[test]
fn ns_29_a_list_with_a_hole_is_ignored() {
    assert!(accepts(&format!("{ZONE_GA}=a__"), &format!("{ZONE_GA}=c")));
}

#[test]
fn ns_30_a_beta_label_meets_a_ga_label() {
    assert!(accepts(&format!("{ZONE_BETA}=a"), &format!("{ZONE_GA}=a")));
    assert!(!accepts(&format!("{ZONE_BETA}=a"), &format!("{ZONE_GA}=b")));
}

#[test]
fn ns_31_a_ga_label_does_not_meet_a_beta_label() {
    assert!(!accepts(&format!("{ZONE_GA}=a"), &format!("{ZONE_BETA}=a")));
}

#[test]
fn up_6_ephemeral_claims_are_ignored_and_a_missing_volume_refuses_the_pod() {
    let plain = world().with(claim("c").bound_to("gone"));
    assert_eq!(told(&plain, &pod("p").uses("c")).as_deref(), Some("persistentvolume \"gone\" not found"));
    let ephemeral = world().with(claim("p-v0").modes("RWOP").bound_to("gone").owned_by("p")).with(node("n1", ""));
    let pod = pod("p").ephemeral("fast", "1Gi");
    assert_eq!(told(&ephemeral, &pod), None);
    let other = crate::common::pod("q").uses("p-v0").on("n1");
    assert!(ephemeral.with(other).refusals(&pod, "n1").iter().all(|r| r.0 == Plugin::VolumeBinding));
}
