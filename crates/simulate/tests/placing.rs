//! The scheduler under faults, with the controllers beside it: random small clusters, and a death at every write.
//!
//! At the end the scheduler's own view must equal the API's, nothing may be assumed any more, and a pod that has no node must
//! be one that fits nowhere by a fresh look.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test: what is missing is a failure")]

mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{DRIVER, claim, class, create, told};
use plimsoll_api::{DocumentKind, Interner};
use plimsoll_controllers::Options as Controllers;
use plimsoll_engine::gates::{Gate, Gates};
use plimsoll_engine::{Catalog, Event};
use plimsoll_runtime::{Context, Resource};
use plimsoll_scheduler::{Options as Placing, Scheduler};
use plimsoll_simulate::invariants::volumes::{self, read};
use plimsoll_simulate::invariants::{Invariant, pods};
use plimsoll_simulate::seeds::side_by_side;
use plimsoll_simulate::{Bed, Component, Faults, Options, Report, Seeds, State, When, bed};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";
const SELECTED: &str = "volume.kubernetes.io/selected-node";
/// Lists are repeated this often, so that a watch that left something out is healed before the run is judged.
const RELIST: Duration = Duration::from_secs(60);

/// Something that an administrator or a user does.
#[derive(Clone, Debug)]
enum Deed {
    Make(Resource, Value),
    /// Deletes at once, as though a kubelet had let go already.
    Drop(Resource, String),
    Cordon(String, bool),
}

fn node(name: &str, zone: &str, milli: u64) -> Value {
    let amounts = json!({"cpu": format!("{milli}m"), "memory": "8Gi", "pods": "4"});
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {HOSTNAME: name, ZONE: zone}},
           "status": {"allocatable": amounts, "capacity": amounts}})
}

fn local(name: &str, node: &str, gib: u64) -> Value {
    let term = json!({"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [node]}]});
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
           "spec": {"capacity": {"storage": format!("{gib}Gi")}, "accessModes": ["ReadWriteOnce"],
                    "storageClassName": "shelf", "persistentVolumeReclaimPolicy": "Retain", "local": {"path": "/mnt/x"},
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}})
}

fn pod(name: &str, milli: u64, claims: &[String]) -> Value {
    let volumes: Vec<Value> =
        claims.iter().map(|c| json!({"name": c, "persistentVolumeClaim": {"claimName": c}})).collect();
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
           "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": format!("{milli}m")}}}],
                    "volumes": volumes}})
}

fn world(seed: u64) -> Vec<(Duration, Deed)> {
    let random = &mut StdRng::seed_from_u64(seed ^ 0x7061_6365);
    let (nodes, claims, pods) = (random.random_range(1..4), random.random_range(0..5), random.random_range(1..5));
    let mut deeds = Vec::new();
    for n in 0..nodes {
        let zone = ["a", "b"][n % 2];
        deeds.push(Deed::Make(Resource::NODES, node(&format!("n{n}"), zone, random.random_range(1..4) * 500)));
        for v in 0..random.random_range(0..3) {
            let volume = local(&format!("v{n}-{v}"), &format!("n{n}"), random.random_range(1..4));
            deeds.push(Deed::Make(Resource::VOLUMES, volume));
        }
    }
    for c in 0..claims {
        let class = ["shelf", "shelf", "late", "late", "fast"][random.random_range(0..5)];
        deeds.push(Deed::Make(Resource::CLAIMS, claim(&format!("c{c}"), Some(class), random.random_range(1..4))));
    }
    for p in 0..pods {
        let used: Vec<String> =
            (0..claims).filter(|_| random.random_bool(0.4)).map(|c| format!("c{c}")).take(3).collect();
        deeds.push(Deed::Make(Resource::PODS, pod(&format!("p{p}"), random.random_range(1..4) * 300, &used)));
    }
    for i in (1..deeds.len()).rev() {
        deeds.swap(i, random.random_range(0..=i));
    }
    for p in 0..pods {
        if random.random_bool(0.3) {
            deeds.push(Deed::Drop(Resource::PODS, format!("p{p}")));
            if random.random_bool(0.5) {
                deeds.push(Deed::Make(Resource::PODS, pod(&format!("p{p}"), 300, &[])));
            }
        }
    }
    for n in 0..nodes {
        if random.random_bool(0.2) {
            deeds.push(Deed::Cordon(format!("n{n}"), true));
            deeds.push(Deed::Cordon(format!("n{n}"), false));
        }
        if random.random_bool(0.1) {
            deeds.push(Deed::Drop(Resource::NODES, format!("n{n}")));
        }
    }
    if random.random_bool(0.2) {
        deeds.push(Deed::Drop(Resource::CLAIMS, "c0".to_owned()));
    }
    let pause = |random: &mut StdRng| match random.random_range(0..3) {
        0 => Duration::ZERO,
        1 => Duration::from_millis(random.random_range(1..500)),
        _ => Duration::from_millis(random.random_range(500..8000)),
    };
    deeds.into_iter().map(|deed| (pause(random), deed)).collect()
}

async fn act(bed: &Bed, deed: Deed) -> Result<(), String> {
    let objects = bed.objects();
    match deed {
        Deed::Make(resource, object) => match objects.create::<Value>(resource, "default", &object).await {
            Ok(_) | Err(plimsoll_runtime::Error::AlreadyExists(_)) => Ok(()),
            Err(error) => Err(told(error)),
        },
        Deed::Drop(resource, name) => {
            let path = resource.path("default", &name);
            let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
            match objects.send::<Value>(http::Method::DELETE, &path, Some(&options)).await {
                Ok(_) | Err(plimsoll_runtime::Error::NotFound(_)) => Ok(()),
                Err(error) => Err(told(error)),
            }
        }
        Deed::Cordon(name, cordoned) => {
            let patch = json!({"spec": {"unschedulable": cordoned}});
            match objects.merge::<Value>(Resource::NODES, "", &name, "", &patch).await {
                Ok(_) | Err(plimsoll_runtime::Error::NotFound(_)) => Ok(()),
                Err(error) => Err(told(error)),
            }
        }
    }
}

/// The present life of the scheduler.
type Handle = Arc<Mutex<Option<Scheduler>>>;

fn begin(bed: &Bed) -> Handle {
    bed.start(Component::new("binder", |context: Context| async move {
        let options = Controllers { relist: RELIST, ..Controllers::default() };
        plimsoll_controllers::start(&context, &options);
        context.tasks.stopping().await;
    }));
    let handle: Handle = Arc::default();
    let mine = handle.clone();
    bed.start(Component::new("scheduler", move |context: Context| {
        let mine = mine.clone();
        async move {
            let scheduler = plimsoll_scheduler::start(&context, Placing { relist: RELIST, ..Placing::default() });
            *mine.lock().unwrap() = Some(scheduler);
            context.tasks.stopping().await;
        }
    }));
    let provisioner = bed.clone();
    bed.start(Component::new("provisioner", move |context| provision(provisioner.clone(), context)).spared());
    handle
}

/// Stands in for an external provisioner: makes volumes in the zone of the selected node, or, for some claims on some nodes, gives
/// up and takes the choice back.
async fn provision(bed: Bed, context: Context) {
    loop {
        let state = bed.state();
        tokio::time::sleep(Duration::from_millis(700)).await;
        for claim in state.claims.values() {
            let handed = read::annotation(claim, "volume.kubernetes.io/storage-provisioner") == Some(DRIVER);
            let name = format!("pvc-{}", read::uid(claim));
            if !handed || !read::volume_name(claim).is_empty() || state.volumes.contains_key(&name) {
                continue;
            }
            let selected = read::annotation(claim, SELECTED);
            let odd = read::uid(claim).bytes().chain(selected.unwrap_or_default().bytes()).map(u32::from).sum::<u32>();
            if selected.is_some() && odd % 3 == 0 {
                let mut released = (**claim).clone();
                released["metadata"]["annotations"].as_object_mut().map(|a| a.remove(SELECTED));
                let _ = context.objects().replace::<Value>(Resource::CLAIMS, &released).await;
                continue;
            }
            let mut made = common::volume(&name, "", 1, "Delete");
            made["spec"]["storageClassName"] = claim["spec"]["storageClassName"].clone();
            made["spec"]["capacity"] = claim["spec"]["resources"]["requests"].clone();
            made["metadata"]["annotations"] = json!({"pv.kubernetes.io/provisioned-by": DRIVER});
            made["spec"]["claimRef"] = json!({"kind": "PersistentVolumeClaim", "apiVersion": "v1",
                "namespace": claim["metadata"]["namespace"], "name": claim["metadata"]["name"], "uid": read::uid(claim)});
            if let Some(node) = selected.and_then(|node| state.nodes.get(node)) {
                let term = json!({"matchExpressions": [
                    {"key": ZONE, "operator": "In", "values": [node["metadata"]["labels"][ZONE]]}]});
                made["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [term]}});
            }
            let _ = context.objects().create::<Value>(Resource::VOLUMES, "", &made).await;
        }
    }
}

fn invariants() -> Vec<Box<dyn Invariant>> {
    let mut all = volumes::all();
    // Volumes of claims that are gone stay Released here: nobody deletes them.
    all.push(Box::new(pods::PlacedWithVolumes));
    all.push(Box::new(pods::NotOverfull));
    all
}

async fn classes(bed: &Bed) -> Result<(), String> {
    for (name, provisioner, delayed) in
        [("fast", DRIVER, false), ("late", DRIVER, true), ("shelf", "kubernetes.io/no-provisioner", true)]
    {
        create(bed, Resource::CLASSES, &class(name, provisioner, delayed)).await?;
    }
    Ok(())
}

fn random_run(options: Options) -> Report {
    let seed = options.seed;
    bed::run(options.invariants(invariants()), |bed| async move {
        classes(&bed).await?;
        let scheduler = begin(&bed);
        for (pause, deed) in world(seed) {
            bed.wait(pause).await;
            act(&bed, deed).await?;
        }
        bed.settle().await?;
        judge(&bed.state(), &scheduler)
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

fn judge(state: &State, scheduler: &Handle) -> Result<(), String> {
    let fresh = fresh(state);
    let gates = Gates::all().with(Gate::EphemeralForecast, false);
    for pod in fresh.pods().filter(|pod| pod.node.is_none()) {
        if let Ok(Some(choice)) = fresh.choose(pod, gates) {
            return Err(format!("pod {} waits, and fits on {}", pod.key, choice.node));
        }
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
        let scheduler = begin(&bed);
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
        judge(&state, &scheduler)
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
