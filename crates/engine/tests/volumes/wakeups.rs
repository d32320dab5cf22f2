//! Which changes wake a refused pod: 3.9 of scheduler-volume-binding.md, 7.2 to 7.4 of other-volume-filters.md.

use plimsoll_engine::Object;
use plimsoll_engine::model::{CsiDriver, Pod, Pool};
use plimsoll_engine::reason::{Code, Plugin};
use plimsoll_engine::volumes::{Change, could_help};

use crate::common::*;

fn waker() -> Pod {
    pod("p").uses("c")
}

fn added(plugin: Plugin, object: impl IntoObject) -> bool {
    could_help(plugin, Code::VOLUME_LOOKUP, &waker(), Change::Added(&object.into_object()))
}

fn deleted(plugin: Plugin, code: Code, object: impl IntoObject) -> bool {
    could_help(plugin, code, &waker(), Change::Deleted(&object.into_object()))
}

fn updated(plugin: Plugin, code: Code, old: impl IntoObject, new: impl IntoObject) -> bool {
    let (old, new) = (old.into_object(), new.into_object());
    could_help(plugin, code, &waker(), Change::Updated { old: &old, new: &new })
}

#[test]
fn of_23_a_pod_with_claims_that_goes_wakes_those_refused_by_limits() {
    let gone = |pod: Pod| deleted(Plugin::NodeVolumeLimits, Code::ATTACH_LIMIT, pod);
    assert!(gone(pod("q").uses("x").on("n1")));
    assert!(gone(pod("q").ephemeral("fast", "1Gi").on("n1")));
    assert!(gone(pod("q").inline_disk(ebs("vol-1"), true).on("n1")));
    assert!(gone(pod("q").uses("x").edit(|p| p.nominated_node = Some("n1".into()))));
    assert!(!gone(pod("q").uses("x")));
    assert!(!gone(pod("q").on("n1")));
}

#[test]
fn of_31_a_raised_limit_wakes_and_a_lowered_one_does_not() {
    let changed = |old: &str, new: &str| {
        updated(Plugin::NodeVolumeLimits, Code::ATTACH_LIMIT, csi_node("n1", old), csi_node("n1", new))
    };
    assert!(changed("d=2", "d=3"));
    assert!(!changed("d=3", "d=2"));
    assert!(!changed("d=2", "d=2"));
    // Ours: a limit that is gone, and a driver that is new, which upstream does not see.
    assert!(changed("d=2", "d"));
    assert!(changed("", "d"));
}

#[test]
fn sb_43_a_pool_that_grows_wakes_and_one_that_shrinks_does_not() {
    let sized = |capacity: &str| pool("p1", "fast", Some(""), capacity);
    let changed = |old: Pool, new: Pool| updated(Plugin::VolumeBinding, Code::NOT_ENOUGH_STORAGE, old, new);
    assert!(changed(sized("1Gi"), sized("2Gi")));
    assert!(changed(sized(""), sized("2Gi")));
    assert!(!changed(sized("2Gi"), sized("1Gi")));
    assert!(!changed(sized("2Gi"), sized("2Gi")));
    assert!(added(Plugin::VolumeBinding, sized("1Gi")));
}

#[test]
fn sb_44_a_new_volume_wakes_every_pod_refused_by_binding() {
    assert!(added(Plugin::VolumeBinding, volume("v")));
    assert!(updated(Plugin::VolumeBinding, Code::NO_VOLUME, volume("v"), volume("v").size("20Gi")));
    assert!(!updated(Plugin::VolumeBinding, Code::NO_VOLUME, volume("v"), volume("v")), "nothing that matters changed");
    assert!(!deleted(Plugin::VolumeBinding, Code::NO_VOLUME, volume("v")));
}

#[test]
fn binding_wakes_by_the_table_of_3_9() {
    let changed = |old: Object, new: Object| updated(Plugin::VolumeBinding, Code::NO_VOLUME, old, new);
    assert!(added(Plugin::VolumeBinding, class("x", "d")));
    assert!(added(Plugin::VolumeBinding, node("n1", "")) && added(Plugin::VolumeBinding, csi_node("n1", "")));
    assert!(added(Plugin::VolumeBinding, claim("c")) && !added(Plugin::VolumeBinding, claim("d")));
    assert!(!added(Plugin::VolumeBinding, claim("other/c")));
    assert!(changed(claim("c").into_object(), claim("c").asks("2Gi").into_object()));
    let zonal = class("x", "d").allowed(&[&[(ZONE, &["a"])]]);
    assert!(changed(class("x", "d").into_object(), zonal.into_object()));
    // Ours: after an interrupted watch a class that was made anew looks like one that changed.
    assert!(changed(class("x", "d").into_object(), class("x", "e").into_object()));
    assert!(!changed(class("x", "d").into_object(), class("x", "d").into_object()));
    assert!(changed(node("n1", "").into_object(), node("n1", "a=b").into_object()));
    assert!(!changed(node("n1", "").into_object(), node("n1", "").into_object()));
    let migrated = plimsoll_engine::model::CsiNode { migrated_plugins: vec!["x".into()], ..csi_node("n1", "") };
    assert!(changed(csi_node("n1", "").into_object(), migrated.into_object()));
    assert!(!changed(csi_node("n1", "").into_object(), csi_node("n1", "d").into_object()));
    let silent = CsiDriver { storage_capacity: false, ..driver("d") };
    assert!(changed(driver("d").into_object(), silent.clone().into_object()));
    assert!(!changed(silent.into_object(), driver("d").into_object()));
}

#[test]
fn promised_space_that_is_given_back_wakes() {
    let code = Code::NOT_ENOUGH_STORAGE;
    assert!(deleted(Plugin::VolumeBinding, code, claim("d").selected("n1")));
    assert!(!deleted(Plugin::VolumeBinding, code, claim("d")));
    assert!(!deleted(Plugin::VolumeBinding, Code::NO_VOLUME, claim("d").selected("n1")));
    assert!(updated(Plugin::VolumeBinding, code, claim("d").selected("n1"), claim("d")));
    assert!(!updated(Plugin::VolumeBinding, code, claim("d").selected("n1"), claim("d").selected("n1")));
}

#[test]
fn zone_wakes_by_7_2() {
    let changed = |old: Object, new: Object| updated(Plugin::VolumeZone, Code::VOLUME_ZONE, old, new);
    assert!(added(Plugin::VolumeZone, class("x", "d")) && !added(Plugin::VolumeZone, class("x", "d").immediate()));
    assert!(added(Plugin::VolumeZone, node("n1", "")) && added(Plugin::VolumeZone, volume("v")));
    assert!(added(Plugin::VolumeZone, claim("c")) && !added(Plugin::VolumeZone, claim("d")));
    let zonal = |zone: &str| volume("v").labelled(&format!("{ZONE}={zone}")).into_object();
    assert!(changed(zonal("a"), zonal("b")));
    assert!(!changed(zonal("a"), volume("v").labelled(&format!("{ZONE}=a,app=x")).into_object()));
}

#[test]
fn limits_wake_for_attachments_that_go() {
    let gone = |pod: &Pod, driver: &str| {
        let object = attachment("va", driver, "n1", "v").into_object();
        could_help(Plugin::NodeVolumeLimits, Code::ATTACH_LIMIT, pod, Change::Deleted(&object))
    };
    assert!(gone(&pod("p").uses("c"), "any"));
    assert!(gone(&pod("p").inline_disk(ebs("vol-1"), true), "ebs.csi.aws.com"));
    assert!(!gone(&pod("p").inline_disk(ebs("vol-1"), true), "other"));
    assert!(!gone(&pod("p"), "any"));
}

#[test]
fn restrictions_wake_for_pods_that_let_go() {
    let gone = |pod: Pod| deleted(Plugin::VolumeRestrictions, Code::READ_WRITE_ONCE_POD, pod);
    assert!(gone(pod("q").uses("c").on("n1")));
    assert!(!gone(pod("q").uses("d").on("n1")));
    assert!(!gone(pod("other/q").uses("c").on("n1")));
    assert!(added(Plugin::VolumeRestrictions, node("n1", "")));
    assert!(added(Plugin::VolumeRestrictions, claim("c")) && !added(Plugin::VolumeRestrictions, claim("d")));
}
