//! No wake-up is missed: a pod that fits nowhere, and would fit after a change, is woken by that change.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};

use plimsoll_engine::gates::{Gate, Gates};
use plimsoll_engine::labels::ObjectKey;
use plimsoll_engine::model::{
    ClaimRef, Feature, Features, HostPort, Node, Pod, PodTerm, Resources, SpreadConstraint, Taint, TaintEffect,
    Toleration, Version, VolumePhase,
};
use plimsoll_engine::reason::{Code, Plugin};
use plimsoll_engine::rules::Rules;
use plimsoll_engine::selector::LabelSelector;
use plimsoll_engine::volumes::Outcome;
use plimsoll_engine::wakeups::{Change, Wait};
use plimsoll_engine::{Catalog, Event, Kind, Object};
use proptest::prelude::*;

use crate::cases;
use crate::common::*;
use crate::dice::{Dice, dice};
use crate::generate::{Focus, focus, inventory, judged, object};

/// How often a pod was woken, and how often that was in vain.
#[derive(Default)]
struct Tally {
    refused: AtomicU32,
    helped: AtomicU32,
    woken: AtomicU32,
}

impl Tally {
    fn add(&self, helped: bool, woken: bool) {
        self.refused.fetch_add(1, Ordering::Relaxed);
        self.helped.fetch_add(u32::from(helped), Ordering::Relaxed);
        self.woken.fetch_add(u32::from(woken), Ordering::Relaxed);
    }

    #[allow(clippy::print_stdout, reason = "how often a pod is woken in vain is worth knowing, and no pass or fail")]
    fn told(&self, what: &str) {
        let [refused, helped, woken] = [&self.refused, &self.helped, &self.woken].map(|n| n.load(Ordering::Relaxed));
        println!("{what}: {refused} changes seen by refused pods, {woken} woke, {helped} helped");
        // With few cases nothing can be said.
        assert!(refused < 5000 || helped > 20, "too little happened to prove anything");
        assert!(refused < 5000 || woken * 4 < refused * 3, "nearly everything wakes");
    }
}

/// A cluster as the API server has it.
struct Known {
    catalog: Catalog,
    objects: Vec<(Kind, ObjectKey, Option<Object>)>,
    version: Version,
}

impl Known {
    fn set(&mut self, at: usize, object: Option<Object>) -> (Option<Object>, Option<Object>) {
        self.version += 1;
        let (kind, key, known) = &mut self.objects[at];
        let object = object.map(|mut object| {
            set_version(&mut object, self.version);
            object
        });
        self.catalog.apply(match &object {
            Some(object) => Event::Set(object.clone()),
            None => Event::Gone { kind: *kind, key: key.clone(), version: self.version },
        });
        (std::mem::replace(known, object.clone()), object)
    }
}

fn fits(catalog: &Catalog, pod: &Pod, gates: Gates) -> bool {
    matches!(catalog.choose(pod, gates), Ok(Some(_)))
}

/// A pod that fits nowhere, what it waits for, and who refused it.
type Waiting<'p> = (&'p Pod, Wait, BTreeSet<(Plugin, Code)>);

/// Those of the pods that fit nowhere.
fn waiting<'p>(catalog: &Catalog, pods: &'p [Pod], gates: Gates) -> Vec<Waiting<'p>> {
    let mut waits = Vec::new();
    for pod in pods.iter().filter(|pod| !fits(catalog, pod, gates)) {
        let diagnosis = catalog.diagnose(pod, gates);
        if diagnosis.error.is_none() {
            let wait = catalog.wait_of(pod, &Rules::new(gates), &diagnosis.refused_by);
            waits.push((pod, wait, diagnosis.refused_by));
        }
    }
    waits
}

/// Tells the waiting pods of changes that the catalog has seen: of all together, where they came as one. Who is not woken
/// must not fit; they are returned.
fn tell<'p>(
    catalog: &Catalog,
    waits: Vec<Waiting<'p>>,
    changes: &[Change<'_>],
    gates: Gates,
    tally: &Tally,
) -> Result<Vec<Waiting<'p>>, TestCaseError> {
    let mut rest = Vec::new();
    for (pod, wait, refused_by) in waits {
        let mut woken = false;
        for &change in changes {
            let touched = catalog.touched_by(change);
            let keys: BTreeSet<_> = touched.keys().collect();
            let filed =
                wait.keys().iter().any(|key| keys.contains(key)) || wait.asks().is_some() && !touched.free().is_empty();
            let helps = catalog.could_help(pod, &wait, change, &touched);
            prop_assert!(filed || !helps, "helped, but not found under its keys: {refused_by:?} {change:?}");
            woken |= helps;
        }
        let fits = fits(catalog, pod, gates);
        prop_assert!(woken || !fits, "missed: {:?}\nrefused by {refused_by:?}\nchanges {changes:?}\n{pod:?}", wait);
        tally.add(fits, woken);
        if !woken {
            rest.push((pod, wait, refused_by));
        }
    }
    Ok(rest)
}

/// Several changes, one after the other: what was noted at the refusal must hold until it wakes the pod.
fn check(
    dice: &mut Dice,
    mut known: Known,
    pods: &[Pod],
    gates: Gates,
    tally: &Tally,
    mut make: impl FnMut(Kind, &ObjectKey, Option<&Object>, &mut Dice) -> Option<Object>,
) -> Result<(), TestCaseError> {
    let mut waits = waiting(&known.catalog, pods, gates);
    for _ in 0..4 {
        let at = dice.roll(known.objects.len());
        let (kind, key, before) = known.objects[at].clone();
        let object = if dice.one_in(4) { None } else { make(kind, &key, before.as_ref(), dice) };
        let (old, new) = known.set(at, object);
        let change = match (&old, &new) {
            (None, None) => continue,
            (None, Some(new)) => Change::Added(new),
            (Some(old), Some(new)) => Change::Updated { old, new },
            (Some(old), None) => Change::Deleted(old),
        };
        waits = tell(&known.catalog, waits, &[change], gates, tally)?;
    }
    Ok(())
}

fn known_of(objects: Vec<(Kind, ObjectKey, Option<Object>)>) -> Known {
    let mut known = Known { catalog: Catalog::new(), objects, version: 0 };
    for at in 0..known.objects.len() {
        if let Some(object) = known.objects[at].2.clone() {
            known.set(at, Some(object));
        }
    }
    known
}

fn gates(dice: &mut Dice) -> Gates {
    dice.pick(&[Gates::all().with(Gate::EphemeralForecast, false), Gates::AS_UPSTREAM])
}

/// A pod that is quite another one was deleted and made anew: most of what a pod says can never change.
fn anew(mut object: Object, before: Option<&Object>) -> Object {
    if let (Object::Pod(pod), Some(Object::Pod(before))) = (&mut object, before) {
        pod.uid = format!("{}+", before.uid).into();
    }
    object
}

#[test]
fn no_wake_up_is_missed_that_a_volume_decides() {
    let tally = Tally::default();
    proptest!(cases(1500), |(mut dice in dice(900))| {
        let focus: Focus = focus(&mut dice);
        let gates = gates(&mut dice);
        let pods = judged(&mut dice);
        let make_one = |kind, key: &ObjectKey, dice: &mut Dice| object(focus, kind, key, dice);
        let objects = inventory().into_iter().map(|(kind, key)| {
            let made = if dice.one_in(5) { None } else { make_one(kind, &key, &mut dice) };
            (kind, key, made)
        });
        let known = known_of(objects.collect());
        check(&mut dice, known, &pods, gates, &tally, |kind, key, before, dice| {
            Some(anew(make_one(kind, key, dice)?, before))
        })?;
    });
    tally.told("volumes");
}

/// What no event tells of: a placement that is taken back, and space that was counted twice until its pool had the time to show
/// it. In between other claims of the placement are bound, one by one, as the API server shows them.
#[test]
fn no_wake_up_is_missed_when_a_placement_is_taken_back_or_its_space_settles() {
    let (taken_back, settled) = (Tally::default(), Tally::default());
    proptest!(cases(3000), |(mut dice in dice(900))| {
        let focus = dice.pick(&[Focus::Space, Focus::Space, Focus::Volumes, Focus::Attaching]);
        let gates = Gates::all().with(Gate::EphemeralForecast, false);
        let pods = judged(&mut dice);
        let objects = inventory().into_iter().map(|(kind, key)| {
            let made = if dice.one_in(8) { None } else { object(focus, kind, &key, &mut dice) };
            (kind, key, made)
        });
        let mut known = known_of(objects.collect());
        let (placed, others) = pods.split_first().expect("three");
        known.version += 1;
        let mut placed = placed.clone();
        placed.version = known.version;
        known.catalog.apply(Event::Set(Object::Pod(Box::new(placed.clone()))));
        let Ok(Some(choice)) = known.catalog.choose(&placed, gates) else { return Ok(()) };
        prop_assert!(known.catalog.assume(&placed.key, &choice.node, &choice.plan).is_ok());
        let seated = Object::Pod(Box::new(Pod { node: Some(choice.node.clone()), ..placed.clone() }));
        if dice.one_in(2) {
            let waits = waiting(&known.catalog, others, gates);
            known.catalog.forget(&placed.key, &placed.uid, &choice.plan);
            tell(&known.catalog, waits, &[Change::Deleted(&seated)], gates, &taken_back)?;
            return Ok(());
        }
        known.catalog.settle(10);
        for claim in choice.plan.claims.iter().filter(|claim| claim.outcome == Outcome::Provision) {
            let at = known.objects.iter().position(|(kind, key, _)| {
                *kind == Kind::PersistentVolumeClaim && *key == claim.claim
            });
            let Some((at, Some(Object::Claim(mut bound)))) = at.map(|at| (at, known.objects[at].2.clone())) else { continue };
            bound.selected_node = Some(choice.node.clone());
            known.set(at, Some(Object::Claim(bound.clone())));
            let key = ObjectKey::new("", format!("made-{}", claim.claim.name));
            bound.volume = key.name.clone();
            bound.bind_completed = true;
            let mut made = volume(&key.name).class(&bound.class).size("1Gi");
            made.claim_ref = Some(ClaimRef { claim: bound.key.clone(), uid: bound.uid.clone() });
            made.phase = VolumePhase::Bound;
            known.objects.push((Kind::PersistentVolume, key, None));
            known.set(known.objects.len() - 1, Some(Object::Volume(made)));
            known.set(at, Some(Object::Claim(bound)));
        }
        let waits = waiting(&known.catalog, others, gates);
        let settles = known.catalog.settles_at();
        prop_assert!(settles.is_none_or(|at| at == 130));
        prop_assert!(known.catalog.settle(129).is_empty());
        let pools = known.catalog.settle(130);
        prop_assert!(known.catalog.settles_at().is_none() && (settles.is_some() || pools.is_empty()));
        let changes: Vec<Change<'_>> = pools.iter().map(Change::Added).collect();
        tell(&known.catalog, waits, &changes, gates, &settled)?;
    });
    taken_back.told("taken back");
    settled.told("settled");
    let helped = settled.helped.load(Ordering::Relaxed);
    assert!(
        settled.refused.load(Ordering::Relaxed) < 500 || helped > 5,
        "space settled, and {helped} pods were helped"
    );
}

const NODES: [&str; 3] = ["n0", "n1", "n2"];

fn selector(dice: &mut Dice) -> LabelSelector {
    use plimsoll_engine::selector::RawRequirement;
    match dice.roll(6) {
        0..=3 => LabelSelector::from_labels(&[("app", dice.pick(&["x", "y"]))]),
        4 => LabelSelector::compile(&[], &[RawRequirement::new("app", "Exists", &[])]).expect("valid"),
        _ => LabelSelector::compile(&[], &[RawRequirement::new("app", "NotIn", &["x"])]).expect("valid"),
    }
}

fn pod_term(dice: &mut Dice) -> PodTerm {
    PodTerm {
        topology_key: dice.pick(&[HOST, ZONE]).into(),
        selector: (!dice.one_in(10)).then(|| Ok(selector(dice))),
        namespaces: if dice.one_in(5) { vec!["other".into()] } else { Vec::new() },
        namespace_selector: dice
            .one_in(5)
            .then(|| Ok(dice.pick(&[LabelSelector::from_labels(&[("team", "a")]), LabelSelector::default()]))),
    }
}

fn constraint(dice: &mut Dice) -> SpreadConstraint {
    SpreadConstraint {
        max_skew: 1,
        topology_key: dice.pick(&[ZONE, HOST]).into(),
        hard: true,
        selector: (!dice.one_in(10)).then(|| Ok(selector(dice))),
        match_label_keys: if dice.one_in(4) { vec!["rev".into()] } else { Vec::new() },
        min_domains: dice.pick(&[None, Some(2)]),
        honor_affinity: !dice.one_in(3),
        honor_taints: dice.one_in(2),
    }
}

fn random_pod(name: &str, dice: &mut Dice) -> Pod {
    let mut made = pod(name);
    made.key.namespace = dice.pick(&["default", "default", "other"]).into();
    made.labels = labels(dice.pick(&["app=x", "app=y", "", "app=x,rev=1", "app=x,rev=2"]));
    let cpu = dice.pick(&["1", "2", "0", "3"]);
    let requests = [("cpu".into(), quantity(cpu))];
    made.demand.containers =
        vec![plimsoll_engine::model::Container { requests: requests.into_iter().collect(), ..Default::default() }];
    if dice.one_in(4) {
        made.host_ports.push(HostPort { ip: "".into(), protocol: "TCP".into(), port: dice.pick(&[80, 81]) });
    }
    if dice.one_in(4) {
        made.required_affinity.push(pod_term(dice));
    }
    if dice.one_in(3) {
        made.required_anti_affinity.push(pod_term(dice));
    }
    made
}

fn waiting_pod(name: &str, dice: &mut Dice) -> Pod {
    let mut made = random_pod(name, dice);
    if dice.one_in(3) {
        made.spread.push(constraint(dice));
    }
    if dice.one_in(4) {
        made.node_selector = labels(&format!("{ZONE}={}", dice.pick(&["a", "b"])));
    }
    if dice.one_in(3) {
        let operator = "Exists".into();
        made.tolerations.push(Toleration { key: "k".into(), operator, value: "".into(), effect: None });
    }
    if dice.one_in(5) {
        made.features = random_features(dice);
    }
    made
}

fn random_node(name: &str, dice: &mut Dice) -> Node {
    let zone = dice.pick(&["a", "b", ""]);
    let text = if zone.is_empty() { String::new() } else { format!("{ZONE}={zone}") };
    let taints = match dice.roll(5) {
        4 => vec![Taint { key: dice.pick(&["k", "l"]).into(), value: "".into(), effect: TaintEffect::NoSchedule }],
        _ => Vec::new(),
    };
    let cpu = dice.pick(&[4000, 2000, 8000]);
    let allocatable = Resources { cpu_milli: cpu, pods: dice.pick(&[3, 2, 10]), ..Resources::default() };
    let features = random_features(dice);
    Node { taints, unschedulable: dice.one_in(6), allocatable, features, ..node(name, &text) }
}

fn random_features(dice: &mut Dice) -> Features {
    Feature::ALL.into_iter().take(2).filter(|_| dice.one_in(2)).collect()
}

/// A change of a known object rather than another object: most real changes are small.
fn random_object(kind: Kind, key: &ObjectKey, before: Option<&Object>, dice: &mut Dice) -> Option<Object> {
    use plimsoll_engine::model::Namespace;
    let small = dice.one_in(2);
    Some(match (kind, before) {
        (Kind::Node, Some(Object::Node(node))) if small => {
            let other = random_node(&key.name, dice);
            let mut node = node.clone();
            match dice.roll(5) {
                0 => node.labels = other.labels,
                1 => node.taints = other.taints,
                2 => node.unschedulable = other.unschedulable,
                3 => node.features = other.features,
                _ => node.allocatable = other.allocatable,
            }
            Object::Node(node)
        }
        (Kind::Node, _) => Object::Node(random_node(&key.name, dice)),
        (Kind::Namespace, _) => {
            let labels = labels(dice.pick(&["", "team=a", "team=b"]));
            Object::Namespace(Namespace { name: key.name.clone(), version: 0, labels })
        }
        (_, Some(Object::Pod(pod))) if small => {
            let other = random_pod(&key.name, dice);
            let mut pod = pod.clone();
            match dice.roll(4) {
                0 => pod.labels = other.labels,
                1 => pod.deleting = true,
                2 => pod.ended = true,
                _ => pod.demand = other.demand,
            }
            Object::Pod(pod)
        }
        _ => {
            let mut made = random_pod(&key.name, dice);
            made.key = key.clone();
            made.node = (!dice.one_in(6)).then(|| dice.pick(&NODES).into());
            anew(Object::Pod(Box::new(made)), before)
        }
    })
}

#[test]
fn no_wake_up_is_missed_that_nodes_and_pods_decide() {
    let tally = Tally::default();
    proptest!(cases(1500), |(mut dice in dice(400))| {
        let gates = gates(&mut dice);
        let pods: Vec<Pod> = (0..3).map(|i| waiting_pod(&format!("j{i}"), &mut dice)).collect();
        let mut keys: Vec<(Kind, ObjectKey)> = NODES.map(|n| (Kind::Node, ObjectKey::new("", n))).to_vec();
        keys.extend(["default", "other"].map(|n| (Kind::Namespace, ObjectKey::new("", n))));
        keys.extend((0..5).map(|i| (Kind::Pod, ObjectKey::new("default", format!("q{i}")))));
        keys.extend((0..2).map(|i| (Kind::Pod, ObjectKey::new("other", format!("q{i}")))));
        let objects = keys.into_iter().map(|(kind, key)| {
            let made = if dice.one_in(5) { None } else { random_object(kind, &key, None, &mut dice) };
            (kind, key, made)
        });
        let known = known_of(objects.collect());
        check(&mut dice, known, &pods, gates, &tally, random_object)?;
    });
    tally.told("nodes and pods");
}
