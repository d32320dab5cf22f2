//! The scheduler under faults, with the controllers beside it: random small clusters, and a death at every write.
//!
//! At the end the scheduler's own view must equal the API's, nothing may be assumed any more, and a pod that has no node must
//! be one that fits nowhere by a fresh look.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test: what is missing is a failure")]

#[path = "placing/cast.rs"]
mod cast;
mod common;
#[path = "placing/worlds.rs"]
mod worlds;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use cast::{Handle, accepts, begin};
use common::{DRIVER, claim, class, create, told};
use plimsoll_api::{DocumentKind, Interner};
use plimsoll_engine::gates::Gates;
use plimsoll_engine::model::Pod;
use plimsoll_engine::preemption::{Attempt, Expected, Preemption};
use plimsoll_engine::{Catalog, Event};
use plimsoll_runtime::Resource;
use plimsoll_scheduler::config::Profile;
use plimsoll_simulate::invariants::volumes;
use plimsoll_simulate::invariants::{Invariant, pods};
use plimsoll_simulate::seeds::side_by_side;
use plimsoll_simulate::{Bed, Faults, Options, Report, Seeds, State, When, bed};
use serde_json::{Value, json};
use worlds::{Kinds, act, local, node, pod, world};

const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";
const SELECTED: &str = "volume.kubernetes.io/selected-node";
/// Lists are repeated this often, so that a watch that left something out is healed before the run is judged.
const RELIST: Duration = Duration::from_secs(60);
/// The schedulers of a cluster that has two.
const REPLICAS: [&str; 2] = ["scheduler-a", "scheduler-b"];
/// Nothing special.
const PLAIN: Kinds = Kinds { priorities: false, extender: false, replicas: false };

fn invariants() -> Vec<Box<dyn Invariant>> {
    let mut all = volumes::all();
    // Volumes of claims that are gone stay Released here: nobody deletes them.
    all.push(Box::new(pods::PlacedWithVolumes));
    all.push(Box::new(pods::NotOverfull));
    all.push(Box::new(pods::RemovedForAnother::default()));
    all
}

async fn classes(bed: &Bed) -> Result<(), String> {
    for (name, provisioner, delayed) in
        [("fast", DRIVER, false), ("late", DRIVER, true), ("shelf", "kubernetes.io/no-provisioner", true)]
    {
        create(bed, Resource::CLASSES, &class(name, provisioner, delayed)).await?;
    }
    for (name, value, policy) in [
        ("low", 10, "PreemptLowerPriority"),
        ("middle", 50, "PreemptLowerPriority"),
        ("high", 100, "PreemptLowerPriority"),
        ("polite", 100, "Never"),
    ] {
        let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name}, "value": value, "preemptionPolicy": policy});
        let path = "/apis/scheduling.k8s.io/v1/priorityclasses";
        bed.objects().send::<Value>(http::Method::POST, path, Some(&class)).await.map_err(told)?;
    }
    Ok(())
}

fn random_run(options: Options) -> Report {
    let seed = options.seed;
    bed::run(options.invariants(invariants()), |bed| async move {
        classes(&bed).await?;
        let kinds = Kinds::of(seed);
        let scheduler = begin(&bed, kinds);
        for (pause, deed) in world(seed) {
            bed.wait(pause).await;
            act(&bed, deed).await?;
        }
        bed.settle().await?;
        judge(&bed.state(), &scheduler, kinds)
    })
}

/// The cluster as a fresh scheduler would see it.
fn fresh(state: &State) -> Catalog {
    let mut catalog = Catalog::new();
    let mut names = Interner::new();
    let classes = [
        class("fast", DRIVER, false),
        class("late", DRIVER, true),
        class("shelf", "kubernetes.io/no-provisioner", true),
    ];
    let told = classes.iter().map(|c| (DocumentKind::Class, c));
    let told = told
        .chain(state.nodes.values().map(|n| (DocumentKind::Node, &**n)))
        .chain(state.volumes.values().map(|v| (DocumentKind::Volume, &**v)))
        .chain(state.claims.values().map(|c| (DocumentKind::Claim, &**c)))
        .chain(state.pods.values().map(|p| (DocumentKind::Pod, &**p)));
    for (kind, object) in told {
        let object = kind.decode(object).unwrap().to_engine(&mut names).unwrap().unwrap();
        catalog.apply(Event::Set(object));
    }
    catalog
}

/// The pods for which room is kept from a pod. Who is nominated stays so, as upstream has it, where preemption is not tried.
fn expected_beside(fresh: &Catalog, pod: &Pod) -> Expected {
    let mut expected = Expected::new();
    for guest in fresh.pods().filter(|guest| guest.node.is_none() && guest.priority >= pod.priority) {
        if let Some(node) = guest.nominated_node.as_ref().filter(|_| guest.key != pod.key) {
            expected.entry(node.clone()).or_default().push(guest.clone());
        }
    }
    expected
}

/// Whether a pod that has no node fits nowhere, and nobody would go for it.
fn waits_for_good(fresh: &mut Catalog, pod: &Pod, profile: &Profile, kinds: Kinds) -> Result<(), String> {
    let expected = expected_beside(fresh, pod);
    let refused_beside: BTreeSet<_> =
        fresh.refused_beside(pod, &profile.rules, &expected).into_iter().map(|(node, _)| node).collect();
    for (node, _) in fresh.rank_by(pod, &profile.rules, &[]).unwrap_or_default() {
        let guests = expected.get(&node).map(Vec::as_slice).unwrap_or_default();
        let refused = fresh.nodes().by_name(&node).is_some_and(|row| refused_beside.contains(&row.index()));
        if !refused && (!kinds.extender || accepts(&pod.key.name, &node)) {
            return Err(format!("pod {} waits, and fits on {node} beside {guests:?}", pod.key));
        }
    }
    let (true, false, Some(shortlist)) = (kinds.priorities, kinds.extender, profile.preemption) else { return Ok(()) };
    let preemptible = fresh.diagnose_by(pod, &profile.rules, &[]).preemptible;
    let (nominated, expected) = (None, &expected);
    let attempt = Attempt { rules: &profile.rules, shortlist, preemptible: &preemptible, nominated, expected };
    match fresh.preempt(pod, attempt) {
        Preemption::Possible(found) => Err(format!("pod {} waits, and others would go for it: {found:?}", pod.key)),
        _ => Ok(()),
    }
}

fn judge(state: &State, scheduler: &Handle, kinds: Kinds) -> Result<(), String> {
    let mut fresh = fresh(state);
    let profile = Profile::named("default-scheduler", Gates::all());
    let waiting: Vec<_> = fresh.pods().filter(|pod| pod.node.is_none()).cloned().collect();
    for pod in &waiting {
        waits_for_good(&mut fresh, pod, &profile, kinds)?;
    }
    let handle = scheduler.lock().unwrap();
    let scheduler = handle.as_ref().ok_or("the scheduler is not there")?;
    if !scheduler.is_idle() {
        return Err("a pod is still in hand".to_owned());
    }
    match scheduler.inspect(|known| known.difference_from(&fresh)) {
        None => Ok(()),
        Some(difference) => Err(format!("the scheduler's view is not the API's: {difference}")),
    }
}

#[test]
fn two_thousand_seeds_of_faults_leave_no_pod_stuck() {
    let summary = Seeds::new("placing", "two_thousand_seeds_of_faults_leave_no_pod_stuck", 2000).check(random_run);
    eprintln!("{summary:?}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in [1, 2, 3] {
        let once = || random_run(Options::new(seed).faults(Faults::from_seed(seed)));
        let (first, second) = (once(), once());
        assert_eq!(first.trace.to_string(), second.trace.to_string(), "seed {seed}");
        assert_eq!(first.dump, second.dump, "seed {seed}");
    }
}

/// A pod with a volume that is there and one that is to be made: every kind of write.
fn story(options: Options) -> Report {
    bed::run(options.invariants(invariants()), |bed| async move {
        classes(&bed).await?;
        let scheduler = begin(&bed, PLAIN);
        for object in [node("n0", "a", 1000), node("n1", "b", 1000)] {
            create(&bed, Resource::NODES, &object).await?;
        }
        create(&bed, Resource::VOLUMES, &local("v", "n1", 1)).await?;
        create(&bed, Resource::CLAIMS, &claim("there", Some("shelf"), 1)).await?;
        create(&bed, Resource::CLAIMS, &claim("made", Some("late"), 1)).await?;
        create(&bed, Resource::PODS, &pod("p", 800, &["there".to_owned(), "made".to_owned()])).await?;
        create(&bed, Resource::PODS, &pod("q", 800, &[])).await?;
        bed.settle().await?;
        let state = bed.state();
        for name in ["p", "q"] {
            if state.pods[&format!("default/{name}")]["spec"]["nodeName"].is_null() {
                return Err(format!("pod {name} has no node"));
            }
        }
        judge(&state, &scheduler, PLAIN)
    })
}

#[test]
fn a_death_at_any_write_of_the_scheduler_changes_nothing() {
    let calm = story(Options::new(7));
    calm.outcome.as_ref().unwrap();
    let writes = calm.writes["scheduler"];
    assert!(writes >= 5, "two volumes, two pods, events: {writes}");
    let failures = Mutex::new(Vec::new());
    side_by_side(writes * 2, |n| {
        let when = if n % 2 == 0 { When::Before } else { When::After };
        let report = story(Options::new(7).faults(Faults::none().kill("scheduler", n / 2, when)));
        if let Err(why) = report.outcome {
            failures.lock().unwrap().push(format!("write {} {when:?}: {why}\n{}", n / 2, report.trace.tail(40)));
            return false;
        }
        true
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
