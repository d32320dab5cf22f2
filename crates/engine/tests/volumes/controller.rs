//! pv-matching.md: what only the volume controller does.

use plimsoll_engine::model::{Claim, VolumePhase};
use plimsoll_engine::selector::SelectorError;
use plimsoll_engine::volumes::ControllerMatch;

use crate::common::*;

fn found(world: &World, claim: &Claim) -> ControllerMatch {
    world.catalog.match_for_controller(claim)
}

fn bind(volume: &str) -> ControllerMatch {
    ControllerMatch::Bind(volume.into())
}

#[test]
fn pm_19_a_claim_that_waits_gets_only_what_is_reserved_for_it() {
    let world = world().with(static_class("fast")).with(volume("free").class("fast"));
    let claim = claim("c").class("fast");
    assert_eq!(found(&world, &claim), ControllerMatch::NoMatch);
    assert_eq!(found(&world.with(volume("mine").class("fast").reserved_for("c")), &claim), bind("mine"));
}

#[test]
fn pm_20_the_group_with_fewer_modes_goes_first() {
    let world = world().with(class("fast", "x").immediate());
    let world = world.with(volume("close").class("fast").size("1Gi").modes("RWO,ROX"));
    let world = world.with(volume("large").class("fast").size("50Gi").modes("RWO"));
    assert_eq!(found(&world, &claim("c").class("fast")), bind("large"));
    assert_eq!(found(&world, &claim("c").class("fast").modes("ROX")), bind("close"));
}

#[test]
fn pm_21_a_reserved_volume_of_a_richer_group_is_missed() {
    let world = world().with(class("fast", "x").immediate()).with(volume("free").class("fast").modes("RWO"));
    let world = world.with(volume("mine").class("fast").modes("RWO,ROX").reserved_for("c"));
    assert_eq!(found(&world, &claim("c").class("fast")), bind("free"));
}

#[test]
fn pm_28_a_named_volume_that_is_too_small_is_a_mismatch() {
    let world = world().with(volume("v").size("1Gi"));
    let claim = claim("c").asks("2Gi").edit(|c| c.volume = "v".into());
    let text = "Cannot bind to requested volume \"v\": requested PV is too small";
    assert_eq!(found(&world, &claim), ControllerMatch::Mismatch(text.into()));
}

#[test]
fn pm_29_a_named_volume_need_not_match_the_selector() {
    let world = world().with(volume("v").edit(|v| v.phase = VolumePhase::Released));
    let claim = claim("c").selecting("app=x").edit(|c| c.volume = "v".into());
    assert_eq!(found(&world, &claim), bind("v"));
}

type Edit = fn(&mut plimsoll_engine::model::Volume);

#[test]
fn named_volumes_are_awaited_taken_or_told_why_not() {
    let named = || claim("c").edit(|c| c.volume = "v".into());
    assert_eq!(found(&world(), &named()), ControllerMatch::Awaited("v".into()));
    assert_eq!(found(&world().with(volume("v").reserved_for("c")), &named()), bind("v"));
    assert_eq!(found(&world().with(volume("v").reserved_for("d")), &named()), ControllerMatch::Taken("v".into()));
    let cases: [(Edit, &str); 5] = [
        (|v| v.deleting = true, "the volume is marked for deletion \"v\""),
        (|v| v.class = "x".into(), "storageClassName does not match"),
        (|v| v.attributes_class = "gold".into(), "volumeAttributesClassName does not match"),
        (|v| v.mode = plimsoll_engine::model::VolumeMode::Block, "incompatible volumeMode"),
        (|v| v.access_modes = modes("ROX"), "incompatible accessMode"),
    ];
    for (edit, why) in cases {
        let text = format!("Cannot bind to requested volume \"v\": {why}");
        assert_eq!(found(&world().with(volume("v").edit(edit)), &named()), ControllerMatch::Mismatch(text));
    }
}

#[test]
fn reserved_volumes_of_any_class_and_phase_are_bound() {
    let mine = volume("mine").class("other").reserved_for("c").edit(|v| v.phase = VolumePhase::Pending);
    assert_eq!(found(&world().with(mine), &claim("c").class("fast")), bind("mine"));
}

#[test]
fn rules_that_cannot_be_read_are_errors() {
    let broken = claim("c").edit(|c| c.selector = Some(Err(SelectorError("bad".into()))));
    assert!(matches!(found(&world(), &broken), ControllerMatch::Error(_)));
    let modeless = plimsoll_engine::model::StorageClass { binding_mode: None, ..class("fast", "x") };
    let text = "VolumeBindingMode not set for StorageClass \"fast\"".to_owned();
    assert_eq!(found(&world().with(modeless), &claim("c").class("fast")), ControllerMatch::Error(text));
}
