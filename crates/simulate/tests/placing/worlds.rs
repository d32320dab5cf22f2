//! What happens in a seed's cluster: nodes, volumes, claims and pods that come and go, and in some of them priorities, an
//! extender, or two schedulers of which one works.

use std::time::Duration;

use plimsoll_runtime::Resource;
use plimsoll_simulate::Bed;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

use super::common::{claim, told};
use super::{HOSTNAME, REPLICAS, ZONE};

/// Something that an administrator or a user does, or that befalls a scheduler beside the seed's own faults.
#[derive(Clone, Debug)]
pub enum Deed {
    Make(Resource, Value),
    /// Deletes at once, as though a kubelet had let go already.
    Drop(Resource, String),
    /// Asks a pod to go: its node, or a finalizer, takes its time.
    Retire(String),
    Cordon(String, bool),
    Freeze(&'static str, Duration),
    /// One of them ends for good.
    Kill(&'static str),
}

/// What is special about a seed's cluster. They are drawn by themselves, so that a cluster without any is what it was before
/// there were any.
#[derive(Clone, Copy, Debug)]
pub struct Kinds {
    /// Pods matter more or less, budgets protect some, and pods may take their time to go.
    pub priorities: bool,
    /// An extender is asked, which binds, refuses some nodes for good, and fails for a while.
    pub extender: bool,
    /// There are two schedulers, of which the leader works.
    pub replicas: bool,
}

impl Kinds {
    pub fn of(seed: u64) -> Self {
        let random = &mut StdRng::seed_from_u64(seed ^ 0x6b69_6e64);
        // Two schedulers watch twice as much: the dearest of them is the rarest.
        Self {
            priorities: random.random_bool(0.4),
            extender: random.random_bool(0.25),
            replicas: random.random_bool(0.1),
        }
    }
}

pub fn node(name: &str, zone: &str, milli: u64) -> Value {
    let amounts = json!({"cpu": format!("{milli}m"), "memory": "8Gi", "pods": "4"});
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {HOSTNAME: name, ZONE: zone}},
           "status": {"allocatable": amounts, "capacity": amounts}})
}

pub fn local(name: &str, node: &str, gib: u64) -> Value {
    let term = json!({"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [node]}]});
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
           "spec": {"capacity": {"storage": format!("{gib}Gi")}, "accessModes": ["ReadWriteOnce"],
                    "storageClassName": "shelf", "persistentVolumeReclaimPolicy": "Retain", "local": {"path": "/mnt/x"},
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}})
}

pub fn pod(name: &str, milli: u64, claims: &[String]) -> Value {
    let volumes: Vec<Value> =
        claims.iter().map(|c| json!({"name": c, "persistentVolumeClaim": {"claimName": c}})).collect();
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
           "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": format!("{milli}m")}}}],
                    "volumes": volumes}})
}

pub fn world(seed: u64) -> Vec<(Duration, Deed)> {
    let kinds = Kinds::of(seed);
    let random = &mut StdRng::seed_from_u64(seed ^ 0x7061_6365);
    let mut deeds = plain(random);
    let special = &mut StdRng::seed_from_u64(seed ^ 0x7370_6963);
    if kinds.priorities {
        rank(&mut deeds, special);
    }
    if kinds.replicas {
        let (one, other) = if special.random_bool(0.5) { (0, 1) } else { (1, 0) };
        let frozen = Deed::Freeze(REPLICAS[one], Duration::from_secs(special.random_range(5..45)));
        put(&mut deeds, special, frozen);
        if special.random_bool(0.5) {
            put(&mut deeds, special, Deed::Kill(REPLICAS[other]));
        }
    }
    let pause = |random: &mut StdRng| match random.random_range(0..3) {
        0 => Duration::ZERO,
        1 => Duration::from_millis(random.random_range(1..500)),
        _ => Duration::from_millis(random.random_range(500..8000)),
    };
    deeds.into_iter().map(|deed| (pause(random), deed)).collect()
}

fn plain(random: &mut StdRng) -> Vec<Deed> {
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
    deeds
}

/// Somewhere among the deeds.
fn put(deeds: &mut Vec<Deed>, random: &mut StdRng, deed: Deed) {
    deeds.insert(random.random_range(0..=deeds.len()), deed);
}

/// Gives pods priorities, lets some of them be asked to go, and adds some that matter more than most, others that matter least,
/// and a budget for these.
fn rank(deeds: &mut Vec<Deed>, random: &mut StdRng) {
    for deed in deeds.iter_mut() {
        let Deed::Make(Resource::PODS, pod) = deed else { continue };
        pod["spec"]["priorityClassName"] = json!(["low", "low", "low", "middle", "polite"][random.random_range(0..5)]);
        let app = ["a", "b"][random.random_range(0..2)];
        pod["metadata"]["labels"] = json!({"app": app});
        if random.random_bool(0.2) {
            pod["metadata"]["finalizers"] = json!(["example.com/kept"]);
        }
    }
    // Enough that the nodes are full when the others come.
    for filler in 0..random.random_range(2..6) {
        let mut made = pod(&format!("low{filler}"), random.random_range(1..3) * 250, &[]);
        made["spec"]["priorityClassName"] = json!("low");
        made["metadata"]["labels"] = json!({"app": "a"});
        let early = random.random_range(0..=deeds.len() / 2);
        deeds.insert(early, Deed::Make(Resource::PODS, made));
    }
    for big in 0..random.random_range(1..3) {
        let name = format!("big{big}");
        let mut made = pod(&name, random.random_range(1..4) * 250, &[]);
        made["spec"]["priorityClassName"] = json!(["middle", "high", "high"][random.random_range(0..3)]);
        deeds.push(Deed::Make(Resource::PODS, made));
        if random.random_bool(0.2) {
            deeds.push(Deed::Retire(name));
        }
    }
    for p in 0..4 {
        if random.random_bool(0.15) {
            put(deeds, random, Deed::Retire(format!("p{p}")));
        }
    }
    if random.random_bool(0.4) {
        let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "b", "namespace": "default"},
            "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "a"}}}});
        put(deeds, random, Deed::Make(Resource::BUDGETS, budget));
    }
}

pub async fn act(bed: &Bed, deed: Deed) -> Result<(), String> {
    let objects = bed.objects();
    let done = match deed {
        Deed::Make(resource, object) => objects.create::<Value>(resource, "default", &object).await,
        Deed::Drop(resource, name) => {
            let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
            objects.send(http::Method::DELETE, &resource.path("default", &name), Some(&options)).await
        }
        Deed::Retire(name) => objects.send(http::Method::DELETE, &Resource::PODS.path("default", &name), None).await,
        Deed::Cordon(name, cordoned) => {
            let patch = json!({"spec": {"unschedulable": cordoned}});
            objects.merge(Resource::NODES, "", &name, "", &patch).await
        }
        Deed::Freeze(name, wait) => {
            bed.freeze(name, wait);
            return Ok(());
        }
        Deed::Kill(name) => {
            bed.kill(name);
            return Ok(());
        }
    };
    match done {
        Ok(_) | Err(plimsoll_runtime::Error::AlreadyExists(_) | plimsoll_runtime::Error::NotFound(_)) => Ok(()),
        Err(error) => Err(told(error)),
    }
}
