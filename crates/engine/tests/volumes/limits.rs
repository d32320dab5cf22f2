//! other-volume-filters.md 7.3: NodeVolumeLimits.

use plimsoll_engine::model::{CsiDriver, PodVolumeSource};
use plimsoll_engine::nodes::NodeIndex;
use plimsoll_engine::reason::{Plugin, Status};

use crate::common::*;

/// A node whose driver d can attach so many volumes.
fn cluster(limit: &str) -> World {
    world().with(node("n1", "")).with(csi_node("n1", &format!("d={limit}"))).with(class("fast", "d"))
}

/// A claim bound to a volume of driver d, both named by `name`.
fn bound(world: World, name: &str) -> World {
    world.with(claim(name).bound_to(name)).with(volume(name).csi("d").bound_to(name))
}

fn full() -> (Plugin, Status, String) {
    (Plugin::NodeVolumeLimits, Status::Unschedulable, "node(s) exceed max volume count".into())
}

fn three_claims(limit: &str) -> World {
    ["a", "b", "c"].into_iter().fold(cluster(limit), bound)
}

#[test]
fn of_10_one_volume_more_than_the_limit() {
    let world = three_claims("2").with(pod("q").uses("a").uses("b").on("n1"));
    assert_eq!(world.refusals(&pod("p").uses("c"), "n1"), [full()]);
    assert!(three_claims("3").with(pod("q").uses("a").uses("b").on("n1")).fits(&pod("p").uses("c"), "n1"));
}

#[test]
fn of_11_a_volume_that_is_there_already_is_not_counted_again() {
    let world = three_claims("2").with(pod("q").uses("a").uses("b").on("n1"));
    assert!(world.fits(&pod("p").uses("a"), "n1"));
}

#[test]
fn of_12_a_volume_of_two_pods_counts_once() {
    let world = three_claims("2").with(pod("q").uses("a").on("n1")).with(pod("r").uses("a").on("n1"));
    assert!(world.fits(&pod("p").uses("c"), "n1"));
}

#[test]
fn of_13_a_claim_without_a_volume_counts_for_its_classes_driver() {
    let world = cluster("1").with(claim("a").class("fast")).with(claim("b").class("fast"));
    let world = world.with(pod("q").uses("a").on("n1")).with(pod("r").uses("a").on("n1"));
    assert_eq!(world.refusals(&pod("p").uses("b"), "n1"), [full()]);
    assert!(world.fits(&pod("p").uses("a"), "n1"));
}

#[test]
fn of_14_without_a_csi_node_there_is_no_limit() {
    let world = bound(world().with(node("n1", "")), "a");
    assert!(world.fits(&pod("p").uses("a"), "n1"));
}

#[test]
fn of_15_a_limit_of_zero_allows_none() {
    assert_eq!(three_claims("0").refusals(&pod("p").uses("a"), "n1"), [full()]);
}

#[test]
fn of_16_an_attachment_without_a_pod_counts() {
    let world = three_claims("1").with(attachment("va", "d", "n1", "b"));
    assert_eq!(world.refusals(&pod("p").uses("a"), "n1"), [full()]);
    // Even that of the very volume that the pod brings: upstream counts it twice.
    let own = three_claims("1").with(attachment("va", "d", "n1", "a"));
    assert_eq!(own.refusals(&pod("p").uses("a"), "n1"), [full()]);
    assert!(own.gate(plimsoll_engine::gates::Gate::AttachAwarePlan).fits(&pod("p").uses("a"), "n1"));
}

#[test]
fn of_17_an_attachment_of_a_volume_that_is_gone_does_not_count() {
    assert!(three_claims("1").with(attachment("va", "d", "n1", "gone")).fits(&pod("p").uses("a"), "n1"));
}

#[test]
fn of_18_inline_csi_volumes_do_not_count() {
    let inline = || PodVolumeSource::InlineCsi { driver: "d".into() };
    assert!(cluster("0").fits(&pod("p").volume(inline()), "n1"));
    let world = three_claims("1").with(pod("q").volume(inline()).on("n1"));
    assert!(world.fits(&pod("p").uses("a"), "n1"));
}

#[test]
fn of_19_a_missing_claim_of_the_pod_refuses_and_of_another_is_ignored() {
    let pod = |name: &str| crate::common::pod(name).uses("missing");
    let world = three_claims("1").with(pod("q").on("n1"));
    assert!(world.fits(&crate::common::pod("p").uses("a"), "n1"));
    let judged = pod("p");
    let refusals = world.catalog.volumes_of(&judged, world.gates).refusals(NodeIndex(0));
    let own = refusals.iter().find(|r| r.plugin == Plugin::NodeVolumeLimits).unwrap();
    assert_eq!(own.status, Status::UnschedulableAndUnresolvable);
    assert_eq!(own.reason, "looking up PVC default/missing: persistentvolumeclaim \"missing\" not found");
}

#[test]
fn of_20_a_migrated_disk_counts_for_its_driver() {
    let world = world().with(node("n1", "")).with(csi_node("n1", "ebs.csi.aws.com=0")).with(claim("a").bound_to("v"));
    let world = world.with(volume("v").disk(ebs("vol-1")).bound_to("a"));
    assert_eq!(world.refusals(&pod("p").uses("a"), "n1"), [full()]);
}

#[test]
fn of_21_one_drivers_limit_does_not_touch_anothers_pods() {
    let world = three_claims("1").with(pod("q").uses("a").uses("b").on("n1")).with(claim("y").bound_to("y"));
    assert!(world.with(volume("y").csi("other").bound_to("y")).fits(&pod("p").uses("y"), "n1"));
}

fn strict(name: &str) -> CsiDriver {
    CsiDriver { prevent_scheduling_if_missing: true, storage_capacity: false, ..driver(name) }
}

const NOT_INSTALLED: &str = "d CSI driver is not installed on the node";

#[test]
fn of_22_a_driver_that_asks_for_it_must_be_installed() {
    let without = || bound(world().with(node("n1", "")).with(csi_node("n1", "other")), "a");
    let refused = without().with(strict("d")).refusals(&pod("p").uses("a"), "n1");
    assert_eq!(refused, [(Plugin::NodeVolumeLimits, Status::Unschedulable, NOT_INSTALLED.into())]);
    assert!(without().with(driver("d")).fits(&pod("p").uses("a"), "n1"));
}

#[test]
fn up_3_the_driver_must_be_there_also_for_unbound_claims_and_before_limits_count() {
    let world = world().with(node("n1", "")).with(class("fast", "d")).with(strict("d")).with(claim("a").class("fast"));
    assert_eq!(world.reasons(&pod("p").uses("a"), "n1"), [NOT_INSTALLED]);
    let world = world.with(csi_node("n1", "other=0"));
    assert_eq!(world.reasons(&pod("p").uses("a"), "n1"), [NOT_INSTALLED]);
    assert!(world.with(csi_node("n1", "d")).fits(&pod("p").uses("a"), "n1"));
}

#[test]
fn what_is_attached_follows_every_event_that_changes_it() {
    use plimsoll_engine::Kind;
    let mut world = three_claims("1").with(pod("q").uses("a").on("n1"));
    let newcomer = pod("p").uses("c");
    let mut steps = Vec::new();
    let mut ask = |world: &World| steps.push(world.fits(&newcomer, "n1"));
    ask(&world);
    world.set(csi_node("n1", "d=2"));
    ask(&world);
    world.set(attachment("va", "d", "n1", "b"));
    ask(&world);
    world.remove(Kind::PersistentVolume, "b");
    ask(&world);
    world.set(volume("b").csi("d"));
    ask(&world);
    world.remove(Kind::VolumeAttachment, "va");
    ask(&world);
    world.set(claim("d").class("fast"));
    world.set(pod("r").uses("d").on("n1"));
    ask(&world);
    world.set(class("fast", "other"));
    ask(&world);
    world.set(class("fast", "d"));
    ask(&world);
    world.remove(Kind::PersistentVolumeClaim, "d");
    ask(&world);
    world.set(claim("d").class("fast"));
    ask(&world);
    world.remove(Kind::Pod, "r");
    ask(&world);
    assert_eq!(steps, [false, true, false, true, false, true, false, true, false, true, false, true]);
}
