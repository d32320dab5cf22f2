//! scheduler-volume-binding.md 3.6 and 3.7: assume, forget, and events in between.

use plimsoll_engine::volumes::AssumeError;

use crate::common::*;

fn cluster() -> World {
    let world = world().with(node("n1", "")).with(class("fast", "driver")).with(static_class("manual"));
    let world = world.with(claim("a").class("manual")).with(claim("b").class("manual")).with(claim("c").class("fast"));
    world.with(volume("v").class("manual"))
}

#[test]
/// What is written of it, reference and mark, is proved where it is written: `placement::tests::pm_30_…`.
fn pm_30_an_assumed_reservation_stays_its_claims_own() {
    let mut world = cluster().with(volume("mine").class("manual").reserved_for("b"));
    world.place(&pod("p").uses("b"), "n1");
    let again = world.plan(&pod("q").uses("b"), "n1");
    assert_eq!(again.claims[0].volume.as_deref(), Some("mine"));
    world.place(&pod("r").uses("a"), "n1");
    let taken = cluster().with(claim("d").class("manual"));
    assert_eq!(taken.planned(&pod("s").uses("d"), "n1"), ["v"]);
    assert_eq!(world.with(claim("d").class("manual")).planned(&pod("s").uses("d"), "n1"), ["none"]);
}

#[test]
fn sb_29_a_stale_plan_is_an_error_and_nothing_of_it_is_assumed() {
    let mut world = cluster();
    let judged = pod("p").uses("c").uses("a");
    let plan = world.plan(&judged, "n1");
    world.set(judged.clone());
    let stale = plan.claims[1].volume_version;
    let now = world.set(volume("v").class("manual").labelled("changed=yes"));
    let error = world.catalog.assume(&judged.key, &"n1".into(), &plan).unwrap_err();
    assert_eq!(error, AssumeError::OutOfSync { key: "v".into(), stored: now, planned: stale });
    assert_eq!(error.to_string(), format!("\"v\" is out of sync (stored: {now}, assume: {stale})"));
    // The claim that came first is as before: any node may still be selected for it.
    let world = world.with(node("n2", ""));
    assert_eq!(world.planned(&pod("q").uses("c"), "n2"), ["new"]);
}

#[test]
fn sb_30_the_next_pod_does_not_get_the_volume() {
    let mut world = cluster();
    world.place(&pod("p").uses("a"), "n1");
    assert_eq!(world.planned(&pod("q").uses("b"), "n1"), ["none"]);
}

#[test]
fn sb_31_a_newer_version_drops_the_assumption_and_a_repeat_does_not() {
    let mut world = cluster();
    let version = world.set(volume("v").class("manual"));
    world.place(&pod("p").uses("a"), "n1");
    world.set(volume("v").class("manual").edit(|v| v.version = version));
    assert_eq!(world.planned(&pod("q").uses("b"), "n1"), ["none"]);
    world.set(volume("v").class("manual"));
    assert_eq!(world.planned(&pod("q").uses("b"), "n1"), ["v"]);
}

#[test]
fn sb_45_claims_that_became_bound_in_the_meantime_need_no_plan() {
    let mut world = cluster();
    let judged = pod("p").uses("a");
    let plan = world.plan(&judged, "n1");
    world.set(judged.clone());
    assert!(!world.catalog.is_bound(&plan));
    world.set(volume("v").class("manual").bound_to("a"));
    world.set(claim("a").class("manual").bound_to("v"));
    assert!(world.catalog.is_bound(&plan));
    assert_eq!(world.catalog.assume(&judged.key, &"n1".into(), &plan), Ok(()));
    assert_eq!(world.planned(&pod("q").uses("a"), "n1"), ["=v"]);
}

#[test]
fn two_pods_that_share_a_claim_hold_its_volume_until_both_let_go() {
    let mut world = cluster();
    let first = world.place(&pod("p").uses("a"), "n1");
    let second = world.place(&pod("q").uses("a"), "n1");
    world.catalog.forget(&key("q"), &uid_of(&key("q")), &second);
    assert_eq!(world.planned(&pod("r").uses("b"), "n1"), ["none"]);
    world.catalog.forget(&key("p"), &uid_of(&key("p")), &first);
    assert_eq!(world.planned(&pod("r").uses("b"), "n1"), ["v"]);
}
