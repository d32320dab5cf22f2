//! scheduler-volume-binding.md 3.5 and upstream-1.37.md: VolumeBinding's score.

use plimsoll_engine::model::Pool;
use plimsoll_engine::volumes::Shape;

use crate::common::*;

/// Two nodes with a pool each: 100Gi on n1, 20Gi on n2.
fn pools() -> World {
    let world = world().with(node("n1", "")).with(node("n2", "")).with(class("fast", "driver")).with(driver("driver"));
    let world = world.with(pool("p1", "fast", Some(&format!("{HOST}=n1")), "100Gi"));
    world.with(pool("p2", "fast", Some(&format!("{HOST}=n2")), "20Gi")).with(claim("c").class("fast").asks("10Gi"))
}

#[test]
fn sb_26_nothing_to_bind_scores_nothing() {
    // Upstream's gate was off by default in 1.36; since 1.37 it is on (UP-1), and only such pods score nothing.
    let world = pools().with(claim("done").bound_to("v")).with(volume("v").bound_to("done"));
    assert_eq!(world.volume_score(&pod("p").uses("done"), "n1"), 0);
    assert_eq!(world.volume_score(&pod("p"), "n1"), 0);
}

#[test]
fn sb_27_the_emptier_pool_scores_higher() {
    let pod = pod("p").uses("c");
    assert_eq!((pools().volume_score(&pod, "n1"), pools().volume_score(&pod, "n2")), (90, 50));
}

#[test]
fn sb_28_a_static_binding_hides_what_is_provisioned() {
    let world = pools().with(claim("small").class("fast").asks("1Gi"));
    let world = world.with(volume("v").class("fast").size("4Gi").on_node("n1"));
    let pod = pod("p").uses("c").uses("small");
    assert_eq!(world.planned(&pod, "n1"), ["new", "v"]);
    assert_eq!(world.volume_score(&pod, "n1"), 75);
    // On n2 both are provisioned: 11Gi of 20Gi.
    assert_eq!(world.volume_score(&pod, "n2"), 45);
}

#[test]
fn up_1_scoring_is_on_with_weight_one() {
    let decision = pools().decide(&pod("p").uses("c"));
    assert_eq!(decision.chosen.as_deref(), Some("n1"));
    let difference = decision.nodes[0].total.unwrap() - decision.nodes[1].total.unwrap();
    assert_eq!(difference, 40);
}

#[test]
fn up_2_the_first_pool_counts_and_one_without_capacity_scores_zero() {
    let world = pools().with(pool("p0", "fast", Some(""), "40Gi"));
    assert_eq!(world.volume_score(&pod("p").uses("c"), "n1"), 75);
    let silent = Pool { maximum_volume_size: Some(quantity("50Gi")), ..pool("p0", "fast", Some(""), "") };
    assert_eq!(pools().with(silent).volume_score(&pod("p").uses("c"), "n1"), 0);
}

#[test]
fn shapes_are_lines_between_points() {
    let shape = Shape::new(&[(10, 2), (50, 10), (90, 4)]).unwrap();
    assert_eq!([0, 10, 30, 50, 70, 90, 100].map(|u| shape.at(u)), [20, 20, 60, 100, 70, 40, 40]);
    assert_eq!(
        [Shape::new(&[]), Shape::new(&[(5, 1), (5, 2)]), Shape::new(&[(0, 11)]), Shape::new(&[(101, 1)])],
        [None, None, None, None]
    );
}
