//! pv-matching.md: one claim, as the scheduler matches it.

use plimsoll_engine::model::{AccessModes, Claim, ClaimRef, VolumeMode, VolumePhase};
use plimsoll_engine::reason::{Plugin, Status};
use plimsoll_engine::selector::SelectorError;

use crate::common::*;

/// A cluster of one node and a class without a provisioner.
fn cluster() -> World {
    world().with(node("n1", "zone=a")).with(static_class("fast"))
}

/// The volume that the claim would get on n1; `none` where there is none.
fn chosen(world: World, claim: Claim) -> String {
    let pod = pod("p").uses(&claim.key.name);
    world.with(claim).planned(&pod, "n1").remove(0)
}

fn want(size: &str) -> Claim {
    claim("c").class("fast").asks(size)
}

#[test]
fn pm_1_the_smallest_volume_that_is_large_enough() {
    let world = cluster().with(volume("v20").size("20Gi").class("fast")).with(volume("v15").size("15Gi").class("fast"));
    assert_eq!(chosen(world, want("10Gi")), "v15");
}

#[test]
fn pm_2_volumes_that_are_too_small_do_not_match() {
    let world = cluster().with(volume("v5").size("5Gi").class("fast")).with(volume("v8").size("8Gi").class("fast"));
    assert_eq!(chosen(world, want("10Gi")), "none");
}

#[test]
fn pm_3_equal_size_is_enough() {
    assert_eq!(chosen(cluster().with(volume("v").size("10Gi").class("fast")), want("10240Mi")), "v");
    assert_eq!(chosen(cluster().with(volume("v").size("10Gi").class("fast")), want("10737418241")), "none");
}

#[test]
fn pm_4_only_volumes_of_the_claims_class() {
    assert_eq!(chosen(cluster().with(volume("v").class("slow")), want("1Gi")), "none");
    assert_eq!(chosen(cluster().with(volume("v").class("")), want("1Gi")), "none");
}

#[test]
fn pm_5_the_class_of_the_annotation_counts_and_not_the_field() {
    // `class` is what annotation and field come to (crate api); `class_field` only groups upstream's scores.
    let annotated = volume("v").class("slow").edit(|v| v.class = "fast".into());
    assert_eq!(chosen(cluster().with(annotated), want("1Gi")), "v");
    let classless = cluster().with(volume("v").class("fast")).with(claim("c").class(""));
    let (plugin, _, reason) = classless.rejection(&pod("p").uses("c")).unwrap();
    assert_eq!((plugin, &*reason), (Plugin::VolumeBinding, "pod has unbound immediate PersistentVolumeClaims"));
}

#[test]
fn pm_6_the_selector_binds_free_volumes_but_not_reserved_ones() {
    let claim = || want("1Gi").selecting("app=x");
    assert_eq!(chosen(cluster().with(volume("v").class("fast")), claim()), "none");
    assert_eq!(chosen(cluster().with(volume("v").class("fast").labelled("app=x")), claim()), "v");
    assert_eq!(chosen(cluster().with(volume("v").class("fast").reserved_for("c")), claim()), "v");
}

#[test]
fn pm_7_only_available_volumes_are_free() {
    for phase in [VolumePhase::Pending, VolumePhase::Released, VolumePhase::Failed, VolumePhase::Bound] {
        let volume = volume("v").class("fast").edit(|v| v.phase = phase);
        assert_eq!(chosen(cluster().with(volume), want("1Gi")), "none", "{phase:?}");
    }
}

#[test]
fn pm_8_the_phase_of_a_reserved_volume_does_not_matter() {
    let volume = volume("v").class("fast").reserved_for("c").edit(|v| v.phase = VolumePhase::Pending);
    assert_eq!(chosen(cluster().with(volume), want("1Gi")), "v");
}

#[test]
fn pm_9_a_volume_reserved_by_name_alone_is_chosen() {
    let world = cluster().with(volume("big").size("50Gi").class("fast").reserved_for("c"));
    assert_eq!(chosen(world.with(volume("small").size("1Gi").class("fast")), want("1Gi")), "big");
}

#[test]
fn pm_10_a_reference_to_an_earlier_claim_of_the_same_name_does_not_count() {
    let other = ClaimRef { claim: key("c"), uid: "another".into() };
    let volume = volume("v").class("fast").edit(|v| v.claim_ref = Some(other));
    assert_eq!(chosen(cluster().with(volume), want("1Gi")), "none");
}

#[test]
fn pm_11_a_volume_reserved_for_another_claim_is_not_free() {
    assert_eq!(chosen(cluster().with(volume("v").class("fast").reserved_for("other")), want("1Gi")), "none");
    assert_eq!(chosen(cluster().with(volume("v").class("fast").reserved_for("elsewhere/c")), want("1Gi")), "none");
}

#[test]
fn pm_12_a_volume_being_deleted_is_never_chosen() {
    assert_eq!(chosen(cluster().with(volume("v").class("fast").edit(|v| v.deleting = true)), want("1Gi")), "none");
    let reserved = volume("v").class("fast").reserved_for("c").edit(|v| v.deleting = true);
    assert_eq!(chosen(cluster().with(reserved), want("1Gi")), "none");
}

#[test]
fn pm_13_volume_modes_must_be_equal() {
    let block = || volume("v").class("fast").edit(|v| v.mode = VolumeMode::Block);
    assert_eq!(chosen(cluster().with(block()), want("1Gi")), "none");
    assert_eq!(chosen(cluster().with(block()), want("1Gi").edit(|c| c.mode = VolumeMode::Block)), "v");
    assert_eq!(chosen(cluster().with(block().reserved_for("c")), want("1Gi")), "none");
    assert_eq!(chosen(cluster().with(volume("v").class("fast")), want("1Gi")), "v");
}

#[test]
fn pm_14_attributes_classes_must_be_equal() {
    let gold = || want("1Gi").edit(|c| c.attributes_class = "gold".into());
    let of = |class: &str| volume("v").class("fast").edit(|v| v.attributes_class = class.into());
    assert_eq!(chosen(cluster().with(of("silver")), gold()), "none");
    assert_eq!(chosen(cluster().with(of("")), gold()), "none");
    assert_eq!(chosen(cluster().with(of("gold")), gold()), "v");
    assert_eq!(chosen(cluster().with(of("gold")), want("1Gi")), "none");
}

#[test]
fn pm_15_every_access_mode_of_the_claim_must_be_there() {
    let claim = || want("1Gi").modes("RWO,ROX");
    assert_eq!(chosen(cluster().with(volume("v").class("fast").modes("RWO")), claim()), "none");
    assert_eq!(chosen(cluster().with(volume("v").class("fast").modes("RWO,ROX,RWX")), claim()), "v");
}

#[test]
fn pm_16_access_modes_of_a_reserved_volume_do_not_matter() {
    let volume = volume("v").class("fast").reserved_for("c").edit(|v| v.access_modes = AccessModes::READ_ONLY_MANY);
    assert_eq!(chosen(cluster().with(volume), want("1Gi")), "v");
}

#[test]
fn pm_17_a_reserved_volume_out_of_reach_leaves_no_other_choice() {
    let world = cluster().with(node("n2", "")).with(volume("mine").class("fast").on_node("n2").reserved_for("c"));
    let world = world.with(volume("free").class("fast")).with(want("1Gi"));
    assert_eq!(world.planned(&pod("p").uses("c"), "n1"), ["none"]);
    assert_eq!(world.planned(&pod("p").uses("c"), "n2"), ["mine"]);
}

#[test]
fn pm_18_a_free_volume_out_of_reach_is_passed_over() {
    let world = cluster().with(volume("near").size("20Gi").class("fast").on_node("n1"));
    assert_eq!(chosen(world.with(volume("far").class("fast").on_node("n2")), want("1Gi")), "near");
}

#[test]
fn pm_26_a_selector_that_cannot_be_read_is_an_error_and_not_a_mismatch() {
    let broken = want("1Gi").edit(|c| c.selector = Some(Err(SelectorError("no such operator".into()))));
    let world = cluster().with(volume("v").class("fast")).with(broken);
    let (plugin, status, reason) = world.refusals(&pod("p").uses("c"), "n1").remove(0);
    assert_eq!((plugin, status), (Plugin::VolumeBinding, Status::Error));
    assert!(reason.contains("error creating internal label selector for claim"), "{reason}");
}

#[test]
fn pm_31_a_selected_claim_does_not_look_at_volumes() {
    let world = world().with(node("n1", "")).with(class("fast", "driver")).with(volume("v").class("fast"));
    let world = world.with(claim("c").class("fast").selected("n1"));
    assert_eq!(world.planned(&pod("p").uses("c"), "n1"), ["new"]);
}

#[test]
fn pm_32_an_empty_selected_node_fits_nowhere() {
    let world = cluster().with(volume("v").class("fast")).with(want("1Gi").selected(""));
    assert_eq!(world.reasons(&pod("p").uses("c"), "n1"), ["node(s) didn't find available persistent volumes to bind"]);
}

#[test]
fn pm_33_one_nodes_match_does_not_change_anothers() {
    let world = cluster().with(node("n2", "")).with(volume("v").class("fast")).with(want("1Gi"));
    assert_eq!(world.planned(&pod("p").uses("c"), "n1"), ["v"]);
    assert_eq!(world.planned(&pod("p").uses("c"), "n2"), ["v"]);
}
