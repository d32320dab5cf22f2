//! Preemption: what is found helps, nobody goes in vain, and looking changes nothing.

use plimsoll_engine::gates::Gates;
use plimsoll_engine::labels::Name;
use plimsoll_engine::model::{Budget, Container, HostPort, Pod, PodTerm, Resources, SpreadConstraint};
use plimsoll_engine::preemption::{Attempt, Candidate, Expected, Preemption, Shortlist};
use plimsoll_engine::rules::Rules;
use plimsoll_engine::selector::LabelSelector;
use plimsoll_engine::{Catalog, Event, Kind, Object};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::common::*;
use crate::dice::{Dice, dice};
use crate::events::answers;
use crate::generate::{cluster, judged};

/// Gives a pod a share of the node, a priority, and rules about other pods. Without `all`, only such rules as never hold less
/// when a pod goes.
fn shape(mut pod: Pod, all: bool, dice: &mut Dice) -> Pod {
    pod.priority = dice.roll(4) as i32;
    let cpu = dice.pick(&["500m", "1", "2", "3"]);
    let requests = [(Name::from("cpu"), quantity(cpu))].into();
    pod.demand.containers = vec![Container { requests, ..Container::default() }];
    pod.labels = labels(dice.pick(&["app=a", "app=b", ""]));
    pod.started = dice.pick(&[None, Some("2026-01-01T00:00:00Z".into()), Some("2026-01-02T00:00:00Z".into())]);
    if dice.one_in(4) {
        pod.host_ports = vec![HostPort { ip: "".into(), protocol: "TCP".into(), port: 80 }];
    }
    let selector = || Some(Ok(LabelSelector::from_labels(&[("app", "a")])));
    let term =
        PodTerm { topology_key: HOST.into(), selector: selector(), namespaces: Vec::new(), namespace_selector: None };
    if dice.one_in(4) {
        pod.required_anti_affinity = vec![term.clone()];
    }
    if all && dice.one_in(5) {
        pod.required_affinity = vec![term];
    }
    if all && dice.one_in(3) {
        pod.spread = vec![SpreadConstraint {
            max_skew: 1,
            topology_key: ZONE.into(),
            hard: true,
            selector: selector(),
            match_label_keys: Vec::new(),
            min_domains: None,
            honor_affinity: true,
            honor_taints: false,
        }];
    }
    pod
}

struct Scene {
    catalog: Catalog,
    pods: Vec<Pod>,
    rules: Rules,
}

fn scene(all: bool, dice: &mut Dice) -> Scene {
    let rules = Rules::new(dice.pick(&[Gates::all(), Gates::AS_UPSTREAM]));
    let pods: Vec<Pod> = judged(dice).into_iter().map(|p| shape(p, all, dice)).collect();
    let mut catalog = Catalog::new();
    for mut object in cluster(dice) {
        match &mut object {
            Object::Node(node) => {
                node.allocatable = Resources { cpu_milli: 4000, memory: 8 << 30, pods: 110, ..Resources::default() };
            }
            Object::Pod(pod) => **pod = shape((**pod).clone(), all, dice),
            _ => {}
        }
        catalog.apply(Event::Set(object));
    }
    for i in 0..6 {
        let on = dice.pick(&["n0", "n1", "n2", "n3"]);
        let more = shape(pod(&format!("m{i}")).on(on), all, dice);
        catalog.apply(Event::Set(Object::Pod(Box::new(more))));
    }
    for app in ["a", "b"] {
        let selector = Some(LabelSelector::from_labels(&[("app", app)]));
        let (key, allowed) = (key(app), dice.roll(3) as i32);
        catalog.apply(Event::Set(Object::Budget(Budget { key, version: 0, selector, allowed, disrupted: Vec::new() })));
    }
    Scene { catalog, pods, rules }
}

fn attempt(scene: &mut Scene, pod: &Pod) -> Vec<Candidate> {
    let preemptible = scene.catalog.diagnose_by(pod, &scene.rules, &[]).preemptible;
    let attempt = Attempt {
        rules: &scene.rules,
        shortlist: Shortlist::default(),
        preemptible: &preemptible,
        nominated: None,
        expected: &Expected::new(),
    };
    match scene.catalog.preempt(pod, attempt) {
        Preemption::Possible(candidates) => candidates,
        _ => Vec::new(),
    }
}

/// Whether a pod fits on a node once these pods are gone.
fn fits_without<'p>(scene: &Scene, pod: &Pod, node: &Name, gone: impl Iterator<Item = &'p Pod>) -> bool {
    let mut catalog = scene.catalog.clone();
    for victim in gone {
        catalog.apply(Event::Gone { kind: Kind::Pod, key: victim.key.clone(), version: 0 });
    }
    let decision = catalog.decide_by(pod, &scene.rules);
    decision.nodes.iter().any(|n| n.node == *node && n.is_feasible())
}

proptest! {
    #![proptest_config(crate::cases(256))]

    #[test]
    fn looking_for_victims_changes_nothing_and_what_is_found_helps(mut dice in dice(1500)) {
        let mut scene = scene(true, &mut dice);
        let pods = scene.pods.clone();
        for pod in &pods {
            let before = answers(&scene.catalog, &pods);
            let rows: Vec<_> = scene.catalog.nodes().iter().cloned().collect();
            let found = attempt(&mut scene, pod);
            prop_assert!(scene.catalog.nodes().iter().eq(&rows));
            prop_assert_eq!(&answers(&scene.catalog, &pods), &before);
            prop_assert_eq!(&attempt(&mut scene, pod), &found);
            for Candidate { node, victims, violations } in &found {
                prop_assert!(victims.iter().all(|v| v.priority < pod.priority && v.node.as_ref() == Some(node)));
                prop_assert!(*violations <= victims.len());
                prop_assert!(!fits_without(&scene, pod, node, std::iter::empty()));
                prop_assert!(fits_without(&scene, pod, node, victims.iter().map(|v| &**v)));
            }
        }
    }

    #[test]
    fn nobody_goes_in_vain(mut dice in dice(1500)) {
        let mut scene = scene(false, &mut dice);
        for pod in scene.pods.clone() {
            for Candidate { node, victims, .. } in attempt(&mut scene, &pod) {
                for spared in &victims {
                    let others = victims.iter().filter(|v| v.key != spared.key).map(|v| &**v);
                    prop_assert!(!fits_without(&scene, &pod, &node, others), "{} could stay", spared.key);
                }
            }
        }
    }
}

/// Properties of what is never found would hold of anything.
#[test]
fn victims_are_found_in_many_scenes() {
    let mut runner = TestRunner::deterministic();
    let (mut scenes, mut several) = (0, 0);
    for _ in 0..200 {
        let mut dice = dice(1500).new_tree(&mut runner).unwrap().current();
        let mut scene = scene(false, &mut dice);
        let pods = scene.pods.clone();
        let found: Vec<Candidate> = pods.iter().flat_map(|pod| attempt(&mut scene, pod)).collect();
        scenes += usize::from(!found.is_empty());
        several += usize::from(found.iter().any(|c| c.victims.len() > 1));
    }
    assert!(scenes > 40 && several > 15, "{scenes} with victims, {several} with several");
}
