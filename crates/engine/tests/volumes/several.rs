//! pv-matching.md: several claims of one pod, and of two.

use plimsoll_engine::gates::Gate;
use plimsoll_engine::model::Claim;

use crate::common::*;

const CONFLICT: &str = "node(s) didn't find available persistent volumes to bind";

fn cluster() -> World {
    world().with(node("n1", "")).with(static_class("fast"))
}

fn want(name: &str, size: &str) -> Claim {
    claim(name).class("fast").asks(size)
}

fn have(name: &str, size: &str) -> plimsoll_engine::model::Volume {
    volume(name).class("fast").size(size).on_node("n1")
}

#[test]
fn pm_22_the_smallest_claim_chooses_first() {
    let world = cluster().with(have("v5", "5Gi")).with(have("v10", "10Gi"));
    let world = world.with(want("big", "5Gi")).with(want("small", "1Gi"));
    assert_eq!(world.planned(&pod("p").uses("big").uses("small"), "n1"), ["v10", "v5"]);
}

#[test]
fn pm_23_two_claims_do_not_share_a_volume() {
    let world = cluster().with(have("v", "5Gi")).with(want("a", "5Gi")).with(want("b", "5Gi"));
    assert_eq!(world.reasons(&pod("p").uses("a").uses("b"), "n1"), [CONFLICT]);
    assert!(world.with(have("w", "5Gi")).fits(&pod("p").uses("a").uses("b"), "n1"));
}

#[test]
fn pm_24_a_volume_assumed_for_one_pod_is_not_offered_to_the_next() {
    let mut world = cluster().with(have("v", "5Gi")).with(want("a", "1Gi")).with(want("b", "1Gi"));
    world.place(&pod("p").uses("a"), "n1");
    assert_eq!(world.reasons(&pod("q").uses("b"), "n1"), [CONFLICT]);
}

#[test]
fn pm_25_claims_of_two_classes_do_not_compete() {
    let world = cluster().with(static_class("slow")).with(have("v", "5Gi")).with(volume("w").class("slow"));
    let world = world.with(want("a", "1Gi")).with(claim("b").class("slow"));
    assert_eq!(world.planned(&pod("p").uses("a").uses("b"), "n1"), ["v", "w"]);
}

#[test]
fn pm_27_a_reserved_volume_that_is_taken_already_is_not_chosen_again() {
    // Upstream takes two volumes that name one claim for two claims: the second finds the reserved volume excluded.
    let world = cluster().with(have("mine", "5Gi").reserved_for("a")).with(have("free", "9Gi")).with(want("a", "1Gi"));
    assert_eq!(world.planned(&pod("p").uses("a").uses("a"), "n1"), ["mine", "free"]);
}

#[test]
fn pm_34_a_claim_named_twice_counts_once_or_as_upstream_twice() {
    let world = || cluster().with(have("v", "5Gi")).with(want("a", "1Gi"));
    let pod = pod("p").uses("a").uses("a");
    assert_eq!(world().reasons(&pod, "n1"), [CONFLICT]);
    assert_eq!(world().gate(Gate::ClaimOnce).planned(&pod, "n1"), ["v"]);
}

#[test]
fn sb_18_one_claim_bound_statically_and_one_provisioned() {
    let world = world().with(node("n1", "")).with(class("fast", "driver")).with(have("v", "5Gi"));
    let world = world.with(want("a", "5Gi")).with(want("b", "6Gi"));
    assert_eq!(world.planned(&pod("p").uses("a").uses("b"), "n1"), ["v", "new"]);
}

#[test]
fn matching_search_finds_what_smallest_first_misses() {
    // `any` takes the only volume that `picky` could have; the search moves it to the other.
    let world = cluster().with(have("v5", "5Gi").labelled("app=x")).with(have("v9", "9Gi"));
    let world = world.with(want("any", "1Gi")).with(want("picky", "2Gi").selecting("app=x"));
    let pod = pod("p").uses("any").uses("picky");
    assert_eq!(world.reasons(&pod, "n1"), [CONFLICT]);
    assert_eq!(world.gate(Gate::MatchingSearch).planned(&pod, "n1"), ["v9", "v5"]);
}
