//! Zone labels said as affinity: the scheduler's own answers are what must not change.

use std::collections::BTreeSet;
use std::sync::Arc;

use plimsoll_engine::model::{CsiNode, InTreeDisk, Node, Volume};
use plimsoll_engine::volumes::{
    REGION, REGION_BETA, Terrain, ZONE, ZONE_BETA, ZoneDecision, ZoneRequirement, upgrade_zone_labels,
};
use proptest::prelude::*;

use crate::cases;
use crate::common::{
    ClaimBuilder, PodBuilder, VolumeBuilder, affinity, claim, csi_node, labels, node, pod, volume, world,
};
use crate::dice::{Dice, dice};

const GCE: &str = "kubernetes.io/gce-pd";
const GCE_ZONE: &str = "topology.gke.io/zone";

#[derive(Debug)]
struct Case {
    nodes: Vec<(Node, Option<CsiNode>)>,
    volume: Volume,
}

/// Clusters as they are found: mostly one way of labelling for all nodes, and now and then a node that differs.
fn case(dice: &mut Dice) -> Case {
    const KEYS: [[&str; 2]; 2] = [[ZONE, ZONE_BETA], [REGION, REGION_BETA]];
    let styles: [&[bool]; 5] = [&[true, true], &[true, false], &[false, true], &[false, false], &[true, true]];
    let usual = dice.pick(&styles[..3]);
    let regions = dice.one_in(2);
    let migrated = dice.one_in(3);
    let mut nodes = Vec::new();
    for i in 0..1 + dice.roll(4) {
        let name = format!("n{i}");
        let mut pairs = Vec::new();
        for (keys, values) in KEYS.iter().zip([["a", "b", "a", "c"], ["r", "r", "r", "s"]]) {
            let style = if dice.one_in(4) { dice.pick(&styles) } else { usual };
            let value = dice.pick(&values);
            for (key, wanted) in keys.iter().zip(style) {
                // The two keys rarely disagree.
                let value = if dice.one_in(8) { dice.pick(&values) } else { value };
                if *wanted && (keys[0] == ZONE || regions) {
                    pairs.push(format!("{key}={value}"));
                }
            }
            if keys[0] == ZONE && migrated {
                let value = if dice.one_in(8) { dice.pick(&values) } else { value };
                pairs.push(format!("{GCE_ZONE}={value}"));
            }
        }
        let plugins = if migrated && !dice.one_in(6) { vec![GCE.into()] } else { Vec::new() };
        let csi = dice.one_in(2) || !plugins.is_empty();
        let csi = csi.then(|| CsiNode { migrated_plugins: plugins, ..csi_node(&name, "") });
        nodes.push((node(&name, &pairs.join(",")), csi));
    }
    let mut pairs = Vec::new();
    for keys in KEYS {
        for key in keys {
            let zone = keys[0] == ZONE;
            if dice.one_in(if zone { 2 } else { 3 }) {
                let values: &[&str] =
                    if zone { &["a", "b", "a__b", "c__ a", "a__", "b__b", "a___b"] } else { &["r", "s", "r__s", "__"] };
                pairs.push(format!("{key}={}", dice.pick(values)));
            }
        }
    }
    let disk = InTreeDisk::GcePd { name: "d".into() };
    let mut volume = volume("v").edit(|v| v.labels = labels(&pairs.join(",")));
    if migrated || dice.one_in(4) {
        volume = volume.disk(disk);
    }
    Case { nodes, volume }
}

impl Case {
    fn terrain(&self) -> Terrain {
        let mut terrain = Terrain::new();
        for (node, csi) in &self.nodes {
            let plugins = csi.iter().flat_map(|c| &c.migrated_plugins).map(|p| &**p);
            terrain.set(&node.name, &node.labels, plugins);
        }
        terrain
    }

    /// The nodes on which the scheduler would put a pod with this volume, by labels and affinity.
    fn takers(&self, volume: &Volume) -> BTreeSet<String> {
        let world = self.cluster().with(claim("c").bound_to("v")).with(volume.clone().bound_to("c"));
        world.feasible(&pod("p").uses("c")).into_iter().collect()
    }

    /// The same by affinity alone: VolumeZone does not look at ephemeral volumes.
    fn takers_by_affinity(&self, volume: &Volume) -> BTreeSet<String> {
        let world = self.cluster().with(claim("p-v0").bound_to("v").owned_by("p"));
        let world = world.with(volume.clone().bound_to("p-v0"));
        world.feasible(&pod("p").ephemeral("fast", "1Gi")).into_iter().collect()
    }

    fn cluster(&self) -> crate::common::World {
        self.nodes.iter().fold(world(), |world, (node, csi)| {
            let world = world.with(node.clone());
            match csi {
                Some(csi) => world.with(csi.clone()),
                None => world,
            }
        })
    }
}

fn with_affinity(volume: &Volume, requirements: &[ZoneRequirement]) -> Volume {
    let values: Vec<Vec<&str>> = requirements.iter().map(|r| r.values.iter().map(|v| &**v).collect()).collect();
    let term: Vec<(&str, &str, &[&str])> =
        requirements.iter().zip(&values).map(|(r, values)| (r.key, "In", values.as_slice())).collect();
    Volume { affinity: Some(Arc::new(affinity(&[&term]))), ..volume.clone() }
}

/// Every way to say the labels as one term: each by its own key, a beta label also by the GA key. Written down apart from
/// the engine's.
fn ways(volume: &Volume) -> Vec<Vec<ZoneRequirement>> {
    let mut ways = vec![Vec::new()];
    for (key, others) in [(ZONE_BETA, Some(ZONE)), (REGION_BETA, Some(REGION)), (ZONE, None), (REGION, None)] {
        let Some(list) = volume.labels.get(key) else { continue };
        let values: Vec<_> = list.split("__").map(str::trim).collect();
        if values.contains(&"") {
            continue;
        }
        let values: Vec<_> = values.into_iter().filter(|v| !v.starts_with('_')).map(Into::into).collect();
        ways = ways
            .into_iter()
            .flat_map(|way: Vec<ZoneRequirement>| {
                [Some(key), others].into_iter().flatten().map(move |key| (way.clone(), key)).collect::<Vec<_>>()
            })
            .map(|(mut way, key)| {
                way.push(ZoneRequirement { key, values: Vec::clone(&values) });
                way
            })
            .collect();
    }
    ways
}

fn changed(before: &BTreeSet<String>, after: &BTreeSet<String>) -> usize {
    before.symmetric_difference(after).count()
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn an_upgraded_volume_changes_no_nodes_answer_and_one_that_is_left_could_not_be_upgraded(mut dice in dice(90)) {
        let case = case(&mut dice);
        let before = case.takers(&case.volume);
        match upgrade_zone_labels(&case.volume, &case.terrain()) {
            ZoneDecision::Upgrade(requirements) => {
                let upgraded = with_affinity(&case.volume, &requirements);
                prop_assert_eq!(&case.takers(&upgraded), &before, "{:?}", requirements);
                prop_assert_eq!(&case.takers_by_affinity(&upgraded), &before, "{:?}", requirements);
                // And once upgraded, never touched again.
                prop_assert_eq!(upgrade_zone_labels(&upgraded, &case.terrain()), ZoneDecision::Nothing);
            }
            ZoneDecision::Leave(nodes) => {
                let ways = ways(&case.volume);
                let least = ways.iter().map(|way| {
                    changed(&before, &case.takers_by_affinity(&with_affinity(&case.volume, way)))
                });
                prop_assert_eq!(least.min(), Some(nodes.len()));
                prop_assert!(!nodes.is_empty());
                prop_assert!(nodes.iter().all(|n| n.accepts == before.contains(&*n.name)));
                prop_assert!(nodes.is_sorted());
            }
            ZoneDecision::Nothing => prop_assert_eq!(ways(&case.volume), vec![Vec::new()]),
            ZoneDecision::NoNodes => prop_assert!(case.nodes.is_empty()),
            ZoneDecision::Unsayable(key) => prop_assert!(false, "{}", key),
        }
    }

    #[test]
    fn the_terrain_is_the_same_by_any_way_that_leads_to_it(mut dice in dice(180)) {
        let (first, second) = (case(&mut dice), case(&mut dice));
        let mut walked = first.terrain();
        for (node, _) in &first.nodes {
            if dice.one_in(2) {
                walked.remove(&node.name);
            }
        }
        let names: BTreeSet<_> = second.nodes.iter().map(|(n, _)| n.name.clone()).collect();
        for (node, csi) in &second.nodes {
            let plugins = csi.iter().flat_map(|c| &c.migrated_plugins).map(|p| &**p);
            walked.set(&node.name, &node.labels, plugins.clone());
            prop_assert!(!walked.set(&node.name, &node.labels, plugins), "nothing changed the second time");
        }
        for (node, _) in first.nodes.iter().filter(|(n, _)| !names.contains(&n.name)) {
            walked.remove(&node.name);
        }
        for volume in [&first.volume, &second.volume] {
            prop_assert_eq!(upgrade_zone_labels(volume, &walked), upgrade_zone_labels(volume, &second.terrain()));
        }
    }
}

#[test]
fn the_cases_meet_every_decision() {
    let (mut upgraded, mut left, mut renamed) = (0, 0, 0);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..1000 {
        let tree = dice(90).new_tree(&mut runner).unwrap();
        let case = case(&mut proptest::strategy::ValueTree::current(&tree));
        match upgrade_zone_labels(&case.volume, &case.terrain()) {
            ZoneDecision::Upgrade(r) => {
                upgraded += 1;
                renamed += usize::from(r.iter().any(|r| !case.volume.labels.contains_key(r.key)));
            }
            ZoneDecision::Leave(_) => left += 1,
            _ => {}
        }
    }
    assert!(upgraded > 100 && left > 40 && renamed > 20, "{upgraded} upgraded ({renamed} by GA keys), {left} left");
}
