//! The choice of zones, case by case and by its laws.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{SelectedNode, ZoneRefusal, ZoneRequest, zone_label};
use crate::labels::Name;
use crate::selector::RawTopologyTerm;
use crate::volumes::{ZONE, ZONE_BETA};

fn term(key: &str, zones: &[&str]) -> RawTopologyTerm {
    vec![(Name::from(key), zones.iter().map(|z| Name::from(*z)).collect())]
}

fn existing(zones: &[&str]) -> BTreeMap<String, Option<String>> {
    zones.iter().map(|z| ((*z).to_owned(), None)).collect()
}

fn no_region(_: &str) -> Option<String> {
    None
}

/// `r1-a` is in region `r1`.
fn by_dash(zone: &str) -> Option<String> {
    zone.rsplit_once('-').map(|(region, _)| region.to_owned())
}

fn request<'a>(existing: &'a BTreeMap<String, Option<String>>) -> ZoneRequest<'a> {
    ZoneRequest {
        claim: "claim",
        copies: 1,
        selected: None,
        zone: None,
        zones: None,
        allowed: &[],
        existing,
        region_by_name: no_region,
    }
}

fn on(zone: &str) -> Option<SelectedNode<'_>> {
    Some(SelectedNode { name: "node", zone: Some(zone) })
}

#[test]
fn the_selected_nodes_zone_is_taken() {
    let existing = existing(&["a", "b", "c"]);
    assert_eq!(ZoneRequest { selected: on("b"), ..request(&existing) }.choose().unwrap(), ["b"]);
    // Also one that no other node has been seen in yet.
    assert_eq!(ZoneRequest { selected: on("z"), ..request(&existing) }.choose().unwrap(), ["z"]);
}

#[test]
fn a_regional_disk_has_the_nodes_zone_and_another_of_its_region() {
    let existing = existing(&["r1-a", "r1-b", "r2-a", "r2-b"]);
    for home in ["r1-a", "r1-b", "r2-a", "r2-b"] {
        let chosen =
            ZoneRequest { copies: 2, selected: on(home), region_by_name: by_dash, ..request(&existing) }.choose();
        let chosen = chosen.unwrap();
        assert_eq!(chosen.len(), 2);
        assert!(chosen.contains(&home.to_owned()));
        assert_eq!(by_dash(&chosen[0]), by_dash(&chosen[1]));
    }
}

#[test]
fn a_regional_disk_in_one_zone_is_refused() {
    let existing = existing(&["r1-a", "r1-b"]);
    let allowed = [term(ZONE_BETA, &["r1-a"])];
    let refused = ZoneRequest { copies: 2, allowed: &allowed, ..request(&existing) }.choose().unwrap_err();
    assert_eq!(
        refused.to_string(),
        "a volume that is kept in 2 zones of one region cannot be made: the allowedTopologies have only r1-a"
    );
    // Two zones, but of two regions.
    let allowed = [term(ZONE, &["r1-a", "r2-a"])];
    let request = ZoneRequest { copies: 2, allowed: &allowed, region_by_name: by_dash, ..request(&existing) };
    assert!(matches!(request.choose(), Err(ZoneRefusal::TooFew { .. })));
}

#[test]
fn a_regional_disk_bound_at_once_takes_a_region_that_has_enough() {
    let existing = existing(&["r1-a", "r2-a", "r2-b", "r3-a"]);
    for claim in ["x", "y", "z", "data-web-0", "data-web-7"] {
        let request = ZoneRequest { claim, copies: 2, region_by_name: by_dash, ..request(&existing) };
        assert_eq!(request.choose().unwrap(), ["r2-a", "r2-b"]);
    }
}

#[test]
fn parameters_narrow_and_contradictions_are_refused() {
    let existing = existing(&["a", "b", "c"]);
    let base = request(&existing);
    let allowed = [term(ZONE, &["a"])];
    assert_eq!(ZoneRequest { zone: Some(" b "), ..base.clone() }.choose().unwrap(), ["b"]);
    assert_eq!(ZoneRequest { zones: Some("c, b"), copies: 2, ..base.clone() }.choose().unwrap(), ["b", "c"]);
    assert_eq!(
        ZoneRequest { zone: Some("b"), selected: on("b"), ..base.clone() }.choose().unwrap(),
        ["b"],
        "a parameter that agrees with the node is no contradiction"
    );
    let refused = |request: ZoneRequest<'_>| request.choose().unwrap_err();
    assert_eq!(
        refused(ZoneRequest { zone: Some("a"), zones: Some("a,b"), ..base.clone() }),
        ZoneRefusal::BothParameters
    );
    assert_eq!(
        refused(ZoneRequest { zone: Some("a"), allowed: &allowed, ..base.clone() }),
        ZoneRefusal::ParameterAndTopologies
    );
    assert_eq!(refused(ZoneRequest { zone: Some("a"), copies: 2, ..base.clone() }), ZoneRefusal::OneZoneForMany(2));
    for (zone, zones) in [(Some(""), None), (None, Some("a,,b")), (None, Some(""))] {
        assert!(matches!(refused(ZoneRequest { zone, zones, ..base.clone() }), ZoneRefusal::EmptyZone { .. }));
    }
    assert_eq!(
        refused(ZoneRequest { zones: Some("a,b"), selected: on("c"), ..base.clone() }).to_string(),
        "selected node \"node\" is in zone \"c\", and the zone parameters of the StorageClass allow only a, b"
    );
}

#[test]
fn topologies_are_read_term_by_term() {
    let existing = existing(&["a", "b", "c"]);
    let both = vec![vec![
        (Name::from(ZONE), vec![Name::from("a"), Name::from("b")]),
        (Name::from(ZONE_BETA), vec![Name::from("b"), Name::from("c")]),
    ]];
    assert_eq!(ZoneRequest { allowed: &both, ..request(&existing) }.choose().unwrap(), ["b"]);
    let two = [term(ZONE, &["a"]), term(ZONE_BETA, &["c"])];
    assert_eq!(ZoneRequest { allowed: &two, copies: 2, ..request(&existing) }.choose().unwrap(), ["a", "c"]);
    let rack = [term("rack", &["1"])];
    assert_eq!(
        ZoneRequest { allowed: &rack, ..request(&existing) }.choose().unwrap_err(),
        ZoneRefusal::UnsupportedKey("rack".to_owned())
    );
    assert_eq!(
        ZoneRequest { allowed: &rack, selected: on("a"), ..request(&existing) }.choose().unwrap(),
        ["a"],
        "the scheduler has judged the rack"
    );
    let none: [RawTopologyTerm; 1] = [Vec::new()];
    assert_eq!(ZoneRequest { allowed: &none, ..request(&existing) }.choose().unwrap_err(), ZoneRefusal::NothingAllowed);
}

#[test]
fn a_cluster_without_zones_is_one_place() {
    let nothing = BTreeMap::new();
    let node = Some(SelectedNode { name: "node", zone: None });
    assert!(request(&nothing).choose().unwrap().is_empty());
    assert!(ZoneRequest { selected: node, ..request(&nothing) }.choose().unwrap().is_empty());
    assert!(ZoneRequest { copies: 2, ..request(&nothing) }.choose().is_err());
    let zones = existing(&["a"]);
    assert_eq!(
        ZoneRequest { selected: node, ..request(&zones) }.choose().unwrap_err(),
        ZoneRefusal::NodeWithoutZone("node".to_owned())
    );
    assert!(ZoneRequest { selected: node, zone: Some("a"), ..request(&nothing) }.choose().is_err());
}

#[test]
fn claims_of_a_set_take_turns_and_those_of_one_pod_meet() {
    let existing = existing(&["a", "b", "c"]);
    let zone = |claim: &str| ZoneRequest { claim, ..request(&existing) }.choose().unwrap().remove(0);
    let three: BTreeSet<String> = (0..3).map(|n| zone(&format!("data-web-{n}"))).collect();
    assert_eq!(three.len(), 3);
    for n in 0..6 {
        assert_eq!(zone(&format!("data-web-{n}")), zone(&format!("log-web-{n}")));
        assert_eq!(zone(&format!("data-web-{n}")), zone(&format!("data-web-{}", n + 3)));
    }
}

#[test]
fn the_stable_label_goes_before_the_beta_one() {
    let labels = |ga: Option<&'static str>, beta: Option<&'static str>| {
        zone_label(move |key| if key == ZONE { ga } else { beta.filter(|_| key == ZONE_BETA) })
    };
    assert_eq!(labels(Some("a"), Some("b")), Some((ZONE, "a")));
    assert_eq!(labels(None, Some("b")), Some((ZONE_BETA, "b")));
    assert_eq!(labels(Some(""), Some("b")), Some((ZONE_BETA, "b")));
    assert_eq!(labels(None, None), None);
}

const SOME: [&str; 6] = ["r1-a", "r1-b", "r1-c", "r2-a", "r2-b", "plain"];

fn some_zones() -> impl Strategy<Value = Vec<&'static str>> {
    proptest::sample::subsequence(SOME.to_vec(), 0..=SOME.len())
}

proptest! {
    /// Whatever is asked: the node's zone is among the chosen, all are allowed, as many as asked for, of one region, and
    /// the same every time.
    #[test]
    fn chosen_zones_are_allowed_and_reach_the_node(
        claim in "[a-z]{1,4}(-[a-z]{1,3})?(-[0-9]{1,11})?",
        copies in 1usize..4,
        home in proptest::option::of(proptest::option::of(proptest::sample::select(SOME.to_vec()))),
        zone in proptest::option::of(proptest::sample::select(SOME.to_vec())),
        zones in proptest::option::of(some_zones()),
        allowed in proptest::collection::vec((any::<bool>(), some_zones()), 0..3),
        nodes in some_zones(),
    ) {
        let zones_text = zones.as_ref().map(|z| z.join(","));
        let terms: Vec<RawTopologyTerm> =
            allowed.iter().map(|(ga, z)| term(if *ga { ZONE } else { ZONE_BETA }, z)).collect();
        let existing = existing(&nodes);
        let request = ZoneRequest {
            claim: &claim,
            copies,
            selected: home.map(|zone| SelectedNode { name: "node", zone }),
            zone,
            zones: zones_text.as_deref(),
            allowed: &terms,
            existing: &existing,
            region_by_name: by_dash,
        };
        prop_assert_eq!(request.choose(), request.choose());
        let Ok(chosen) = request.choose() else { return Ok(()) };
        if chosen.is_empty() {
            prop_assert!(nodes.is_empty() && terms.is_empty() && zone.is_none() && zones.is_none() && copies == 1);
            return Ok(());
        }
        let distinct: BTreeSet<&str> = chosen.iter().map(String::as_str).collect();
        prop_assert_eq!(distinct.len(), copies);
        if let Some(node) = home {
            prop_assert!(node.is_some_and(|home| distinct.contains(home)));
        }
        for chosen in &distinct {
            if !terms.is_empty() {
                prop_assert!(allowed.iter().any(|(_, zones)| zones.contains(chosen)));
            }
            if let Some(zone) = zone {
                prop_assert_eq!(*chosen, zone);
            }
            if let Some(zones) = &zones {
                prop_assert!(zones.contains(chosen));
            }
        }
        prop_assert!(copies == 1 || distinct.iter().map(|z| by_dash(z)).collect::<BTreeSet<_>>().len() == 1);
    }

    /// Any text may stand in a class: an answer, never a panic.
    #[test]
    fn any_text_is_answered(claim in ".*", zone in proptest::option::of(".*"), zones in proptest::option::of(".*")) {
        let existing = existing(&["a", "b"]);
        let zone = zone.as_deref();
        let _ = ZoneRequest { claim: &claim, zone, zones: zones.as_deref(), ..request(&existing) }.choose();
    }
}
