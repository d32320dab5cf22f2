//! scheduler-volume-binding.md 3.4: claims that wait for the pod.

use crate::common::*;

const NO_VOLUME: &str = "node(s) didn't find available persistent volumes to bind";
const NO_ROOM: &str = "node(s) did not have enough free storage";

fn cluster() -> World {
    world().with(node("n1", &format!("{ZONE}=a"))).with(node("n2", &format!("{ZONE}=b"))).with(class("fast", "driver"))
}

#[test]
fn sb_13_a_claim_selected_elsewhere_gives_one_reason_whatever_the_space() {
    let world = cluster().with(driver("driver")).with(pool("p1", "fast", Some(&format!("{ZONE}=a")), "10Gi"));
    let world = world.with(claim("c").class("fast").selected("n1"));
    assert_eq!(world.reasons(&pod("p").uses("c"), "n2"), [NO_VOLUME]);
}

#[test]
fn sb_14_the_space_at_the_selected_node_is_checked_again() {
    let world = cluster().with(driver("driver")).with(claim("c").class("fast").selected("n1"));
    assert_eq!(world.reasons(&pod("p").uses("c"), "n1"), [NO_ROOM]);
}

#[test]
fn sb_15_a_selected_claim_is_provisioned_though_volumes_are_free() {
    let world = cluster().with(volume("v").class("fast")).with(claim("c").class("fast").selected("n1"));
    assert_eq!(world.planned(&pod("p").uses("c"), "n1"), ["new"]);
}

#[test]
fn sb_16_no_volume_and_no_provisioner() {
    let world = cluster().with(static_class("manual")).with(claim("c").class("manual"));
    assert_eq!(world.reasons(&pod("p").uses("c"), "n1"), [NO_VOLUME]);
}

#[test]
fn sb_17_a_place_that_the_class_does_not_allow_is_no_want_of_space() {
    let only_a = class("zonal", "driver").allowed(&[&[(ZONE, &["a"])]]);
    let world = cluster().with(driver("driver")).with(only_a).with(claim("c").class("zonal"));
    assert_eq!(world.reasons(&pod("p").uses("c"), "n2"), [NO_VOLUME]);
    assert_eq!(world.reasons(&pod("p").uses("c"), "n1"), [NO_ROOM]);
}

#[test]
fn sb_48_an_empty_selected_node_is_refused_everywhere() {
    let world = cluster().with(claim("c").class("fast").selected(""));
    for node in ["n1", "n2"] {
        assert_eq!(world.reasons(&pod("p").uses("c"), node), [NO_VOLUME]);
    }
}
