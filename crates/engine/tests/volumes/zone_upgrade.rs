//! Zone labels said as node affinity (node-selector.md 1.7; seed 001, "Zonal PV Upgrade" and "Multi-Zonal PV Upgrade").

use plimsoll_engine::labels::Name;
use plimsoll_engine::model::Volume;
use plimsoll_engine::volumes::{
    ChangedNode, REGION, REGION_BETA, Terrain, ZONE_BETA, ZoneDecision, upgrade_zone_labels,
};

use crate::common::*;

/// Nodes with these labels, named n0, n1, …
fn terrain(nodes: &[&str]) -> Terrain {
    let mut terrain = Terrain::new();
    for (i, text) in nodes.iter().enumerate() {
        terrain.set(&format!("n{i}").into(), &labels(text), []);
    }
    terrain
}

fn decide(volume: Volume, nodes: &[&str]) -> ZoneDecision {
    upgrade_zone_labels(&volume, &terrain(nodes))
}

/// The requirements in short: `key=a|b,key=c`.
fn upgraded(decision: ZoneDecision) -> String {
    let ZoneDecision::Upgrade(requirements) = decision else { panic!("{decision:?}") };
    let short = |r: &plimsoll_engine::volumes::ZoneRequirement| format!("{}={}", r.key, r.values.join("|"));
    requirements.iter().map(short).collect::<Vec<_>>().join(",")
}

fn labelled(text: &str) -> Volume {
    volume("v").labelled(text)
}

#[test]
fn a_zonal_volume_gains_what_its_labels_say() {
    let both = format!("{ZONE_BETA}=us-central1-a,{REGION_BETA}=us-central1");
    let other = format!("{ZONE_BETA}=us-central1-b,{REGION_BETA}=us-central1");
    assert_eq!(upgraded(decide(labelled(&both), &[&both, &other])), both);
}

#[test]
fn ns_28_lists_are_split_and_trimmed() {
    let list = format!("{ZONE}=a__ b__a");
    assert_eq!(upgraded(decide(labelled(&list), &[&format!("{ZONE}=a"), &format!("{ZONE}=c")])), format!("{ZONE}=a|b"));
}

#[test]
fn ns_29_a_list_with_a_hole_says_nothing() {
    assert_eq!(decide(labelled(&format!("{ZONE}=a__")), &[&format!("{ZONE}=a")]), ZoneDecision::Nothing);
    let volume = labelled(&format!("{ZONE}=a__,{REGION}=r"));
    assert_eq!(upgraded(decide(volume, &[&format!("{ZONE}=b,{REGION}=r")])), format!("{REGION}=r"));
}

#[test]
fn ns_30_ns_32_a_beta_label_is_said_by_the_ga_key_where_nodes_have_only_that() {
    let (a, b) = (format!("{ZONE}=a"), format!("{ZONE}=b"));
    assert_eq!(upgraded(decide(labelled(&format!("{ZONE_BETA}=a")), &[&a, &b])), a);
    // Its own key comes first where both would do: it can be renamed later, and the GA key cannot.
    let (both_a, both_b) = (format!("{ZONE_BETA}=a,{ZONE}=a"), format!("{ZONE_BETA}=b,{ZONE}=b"));
    let beta = format!("{ZONE_BETA}=a");
    assert_eq!(upgraded(decide(labelled(&beta), &[&both_a, &both_b])), beta);
}

#[test]
fn nodes_with_only_one_of_the_keys_each_leave_the_volume_alone() {
    let decision = decide(labelled(&format!("{ZONE_BETA}=a")), &[&format!("{ZONE}=a"), &format!("{ZONE_BETA}=a")]);
    // By the beta key n0 would refuse it; by the GA key, n1 would.
    assert_eq!(decision, ZoneDecision::Leave(vec![ChangedNode { name: "n0".into(), accepts: true }]));
}

#[test]
fn a_node_without_zone_labels_leaves_the_volume_alone() {
    let decision = decide(labelled(&format!("{ZONE}=a")), &[&format!("{ZONE}=a"), "", "", &format!("{ZONE}=b")]);
    let changed = |name: &str| ChangedNode { name: name.into(), accepts: true };
    assert_eq!(decision, ZoneDecision::Leave(vec![changed("n1"), changed("n2")]));
}

#[test]
fn there_is_nothing_to_do_for_volumes_with_affinity_without_labels_or_on_their_way_out() {
    let zone = format!("{ZONE}=a");
    assert_eq!(decide(labelled(&zone).in_zone("b"), &[&zone]), ZoneDecision::Nothing);
    assert_eq!(decide(volume("v"), &[&zone]), ZoneDecision::Nothing);
    assert_eq!(decide(labelled(&zone).edit(|v| v.deleting = true), &[&zone]), ZoneDecision::Nothing);
}

#[test]
fn without_nodes_there_is_no_answer_to_keep() {
    assert_eq!(decide(labelled(&format!("{ZONE}=a")), &[]), ZoneDecision::NoNodes);
}

#[test]
fn a_piece_that_no_label_can_be_is_left_out_and_alone_cannot_be_said() {
    let nodes = [format!("{ZONE}=a"), format!("{ZONE}=b")];
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    assert_eq!(upgraded(decide(labelled(&format!("{ZONE}=a___b")), &nodes)), format!("{ZONE}=a"));
    let long: Name = "x".repeat(64).into();
    assert_eq!(decide(labelled(&format!("{ZONE}={long}")), &nodes), ZoneDecision::Unsayable(ZONE));
}

#[test]
fn only_what_is_read_of_a_node_counts_as_a_change() {
    let mut terrain = terrain(&[&format!("{ZONE}=a")]);
    let zone_a = labels(&format!("{ZONE}=a,example.com/rack=1"));
    assert!(!terrain.set(&"n0".into(), &zone_a, []));
    assert!(!terrain.set(&"n1".into(), &zone_a, []), "another of the same kind");
    assert!(terrain.set(&"n1".into(), &zone_a, ["kubernetes.io/gce-pd"]));
    assert!(!terrain.set(&"n1".into(), &zone_a, ["kubernetes.io/gce-pd", "kubernetes.io/unheard-of"]));
    assert!(terrain.set(&"n2".into(), &labels(""), []));
    assert!(terrain.remove("n2"));
    assert!(!terrain.remove("n2"));
}
