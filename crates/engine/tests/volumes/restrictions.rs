//! other-volume-filters.md 7.4: VolumeRestrictions.

use plimsoll_engine::model::PodVolumeSource;
use plimsoll_engine::reason::{Plugin, Status};

use crate::common::*;

const IN_USE: &str =
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod";
const NO_DISK: &str = "node(s) had no available disk";

fn refused(reason: &str) -> Vec<(Plugin, Status, String)> {
    vec![(Plugin::VolumeRestrictions, Status::Unschedulable, reason.into())]
}

/// Two nodes and a ReadWriteOncePod claim bound to a volume that both reach.
fn once() -> World {
    let world = world().with(node("n1", "")).with(node("n2", "")).with(claim("c").modes("RWOP").bound_to("v"));
    world.with(volume("v").modes("RWOP").bound_to("c"))
}

fn nodes() -> World {
    world().with(node("n1", "")).with(node("n2", ""))
}

fn rbd(monitors: &[&str], read_only: bool) -> PodVolumeSource {
    let monitors = monitors.iter().map(|m| (*m).into()).collect();
    PodVolumeSource::Rbd { monitors, pool: "rbd".into(), image: "image".into(), read_only }
}

fn iscsi(read_only: bool) -> PodVolumeSource {
    PodVolumeSource::Iscsi { iqn: "iqn.2020-01.example:disk".into(), read_only }
}

#[test]
fn of_24_a_claim_for_one_pod_in_use_refuses_every_node() {
    let world = once().with(pod("q").uses("c").on("n1"));
    assert_eq!(world.refusals(&pod("p").uses("c"), "n1"), refused(IN_USE));
    assert_eq!(world.refusals(&pod("p").uses("c"), "n2"), refused(IN_USE));
}

#[test]
fn of_25_without_the_pod_that_holds_it_the_node_fits() {
    let mut world = once().with(pod("q").uses("c").on("n1"));
    world.catalog.set_aside(&key("q"));
    assert!(world.fits(&pod("p").uses("c"), "n1"));
    world.catalog.put_back(&key("q"));
    assert!(!world.fits(&pod("p").uses("c"), "n1"));
}

#[test]
fn of_25_a_pod_whose_place_is_only_assumed_can_be_set_aside_too() {
    let mut world = once();
    world.place(&pod("q").uses("c"), "n1");
    assert!(!world.fits(&pod("p").uses("c"), "n2"));
    world.catalog.set_aside(&key("q"));
    assert!(world.fits(&pod("p").uses("c"), "n2"));
    world.catalog.put_back(&key("q"));
    assert!(!world.fits(&pod("p").uses("c"), "n2"));
}

#[test]
fn of_26_a_pending_pod_holds_nothing() {
    assert!(once().with(pod("q").uses("c")).fits(&pod("p").uses("c"), "n1"));
    assert!(once().with(pod("q").uses("c").on("n1").edit(|p| p.ended = true)).fits(&pod("p").uses("c"), "n1"));
}

#[test]
fn of_27_reading_alone_helps_with_gce_disks_and_not_with_ebs() {
    let world = nodes().with(pod("q").inline_disk(ebs("vol-1"), true).inline_disk(gce("disk"), true).on("n1"));
    assert_eq!(world.refusals(&pod("p").inline_disk(ebs("vol-1"), true), "n1"), refused(NO_DISK));
    assert!(world.fits(&pod("p").inline_disk(ebs("vol-1"), true), "n2"));
    assert!(world.fits(&pod("p").inline_disk(gce("disk"), true), "n1"));
    assert_eq!(world.refusals(&pod("p").inline_disk(gce("disk"), false), "n1"), refused(NO_DISK));
}

#[test]
fn of_28_rbd_images_of_other_monitors_are_others() {
    let world = nodes().with(pod("q").volume(rbd(&["m1", "m2"], false)).on("n1"));
    assert!(world.fits(&pod("p").volume(rbd(&["m3"], false)), "n1"));
    assert_eq!(world.refusals(&pod("p").volume(rbd(&["m3", "m2"], false)), "n1"), refused(NO_DISK));
    let reading = nodes().with(pod("q").volume(rbd(&["m1"], true)).on("n1"));
    assert!(reading.fits(&pod("p").volume(rbd(&["m1"], true)), "n1"));
}

#[test]
fn of_29_iscsi_targets_of_one_name_conflict_whatever_the_lun() {
    let world = nodes().with(pod("q").volume(iscsi(false)).on("n1"));
    assert_eq!(world.refusals(&pod("p").volume(iscsi(true)), "n1"), refused(NO_DISK));
    assert!(nodes().with(pod("q").volume(iscsi(true)).on("n1")).fits(&pod("p").volume(iscsi(true)), "n1"));
}

#[test]
fn of_30_without_such_volumes_nothing_is_refused() {
    let world = once().with(claim("d").bound_to("w")).with(volume("w").bound_to("d"));
    assert!(world.with(pod("q").uses("d").on("n1")).fits(&pod("p").uses("d"), "n1"));
    // Two volumes inside the judged pod are not compared with each other.
    assert!(nodes().fits(&pod("p").inline_disk(ebs("vol-1"), false).inline_disk(ebs("vol-1"), false), "n1"));
}

#[test]
fn of_32_a_claim_of_the_same_name_elsewhere_is_another() {
    let other = claim("other/c").modes("RWOP").bound_to("w");
    let world = once().with(other).with(volume("w").bound_to("other/c")).with(pod("other/q").uses("c").on("n1"));
    assert!(world.fits(&pod("p").uses("c"), "n1"));
}

#[test]
fn up_7_conflicts_compare_raw_ids_and_limits_translated_ones() {
    let world = nodes().with(csi_node("n1", "ebs.csi.aws.com=1"));
    let world = world.with(pod("q").inline_disk(ebs("vol-1"), true).on("n1"));
    // Written differently: no conflict, and yet the same disk, which is attached already.
    assert!(world.fits(&pod("p").inline_disk(ebs("aws://a/vol-1"), false), "n1"));
    assert_eq!(world.refusals(&pod("p").inline_disk(ebs("vol-1"), true), "n1"), refused(NO_DISK));
    let targets = nodes().with(pod("q").volume(iscsi(false)).on("n1"));
    assert_eq!(targets.reasons(&pod("p").volume(iscsi(false)), "n1"), [NO_DISK]);
}
