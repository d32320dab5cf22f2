//! What a pod asks for, and what it holds once it is placed.
//!
//! The same pod counts differently in different places:
//!
//! | question | counted from |
//! | --- | --- |
//! | does it fit? | its spec, pod-level requests included |
//! | what does it hold on its node? | the largest of spec, allocated and actual, pod-level requests included (UP-12) |
//! | how would it balance a node? | as what it holds |
//! | how would it load a node? | its spec, pod-level requests left out, with a minimum for containers that name none |

use crate::labels::Name;
use crate::model::{Container, Pod, PodDemand, PodLevelStatus, Requests, Resources};
use crate::quantity::Quantity;

/// What a container that names no cpu request counts for in scores, in millicores.
const DEFAULT_CPU_MILLI: i64 = 100;
/// What a container that names no memory request counts for in scores, in bytes.
const DEFAULT_MEMORY: i64 = 200 * 1024 * 1024;

/// What a placed pod, or all pods of a node together, hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Real amounts.
    pub resources: Resources,
    /// Millicores for scores: a container that names no request counts for a little.
    pub score_cpu_milli: i64,
    /// Bytes of memory for scores, likewise.
    pub score_memory: i64,
}

impl Held {
    /// What a placed pod holds.
    pub fn by(pod: &Pod) -> Self {
        let demand = &pod.demand;
        let requests = total(demand, Source::Status, true, Minimum::default());
        // With pod-level requests the minimum is for a resource that neither the pod nor any container names.
        let named = |resource| pod_level(demand).is_some() && requests.contains_key(resource);
        let minimum = Minimum { cpu: !named("cpu"), memory: !named("memory") };
        let scored = total(demand, Source::Status, true, minimum);
        let (score_cpu_milli, score_memory) = cpu_and_memory(&scored);
        Self { resources: Resources::count(&requests), score_cpu_milli, score_memory }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.resources.add(&other.resources);
        self.score_cpu_milli = self.score_cpu_milli.wrapping_add(other.score_cpu_milli);
        self.score_memory = self.score_memory.wrapping_add(other.score_memory);
    }

    pub(super) fn subtract(&mut self, other: &Self) {
        self.resources.subtract(&other.resources);
        self.score_cpu_milli = self.score_cpu_milli.wrapping_sub(other.score_cpu_milli);
        self.score_memory = self.score_memory.wrapping_sub(other.score_memory);
    }
}

/// What a pod to be placed asks a node for.
pub fn asked(pod: &Pod) -> Resources {
    let mut asked = Resources::count(&total(&pod.demand, Source::Spec, true, Minimum::default()));
    asked.cpu_milli = asked.cpu_milli.max(0);
    asked.memory = asked.memory.max(0);
    asked.ephemeral_storage = asked.ephemeral_storage.max(0);
    asked.pods = 0;
    asked.scalar.retain(|_, amount| *amount > 0);
    asked
}

/// What a pod to be placed would add to the use of a node, by resource, as scores count it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Load(Requests);

impl Load {
    /// How much of a resource: millicores of cpu, whole units of all others.
    pub fn of(&self, resource: &str) -> i64 {
        match self.0.get(resource) {
            Some(amount) if resource == "cpu" => amount.milli_value(),
            Some(amount) => amount.value(),
            None => 0,
        }
    }
}

/// By how much a pod to be placed would load a node, for scores.
pub fn load(pod: &Pod) -> Load {
    Load(total(&pod.demand, Source::Spec, false, Minimum { cpu: true, memory: true }))
}

/// By how much a pod to be placed would change a node's balance, for scores.
pub fn weight(pod: &Pod) -> Load {
    Load(total(&pod.demand, Source::Status, true, Minimum::default()))
}

fn cpu_and_memory(requests: &Requests) -> (i64, i64) {
    (requests.get("cpu").map_or(0, |q| q.milli_value()), requests.get("memory").map_or(0, |q| q.value()))
}

/// Where a container's requests are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Spec,
    Status,
}

/// For which resources a container that names no request counts for the default.
#[derive(Clone, Copy, Default)]
struct Minimum {
    cpu: bool,
    memory: bool,
}

fn total(demand: &PodDemand, source: Source, with_pod_level: bool, minimum: Minimum) -> Requests {
    let mut sum = match source {
        Source::Spec => over_containers(demand, minimum, |c| Some(&c.requests)),
        Source::Status => from_status(demand, minimum),
    };
    if let (true, Some(spec)) = (with_pod_level, pod_level(demand)) {
        match &demand.status_pod_level {
            Some(status) if source == Source::Status => {
                let mut effective = if demand.resize_infeasible { Requests::new() } else { spec.clone() };
                for requests in [&status.actual, &status.allocated].into_iter().flatten() {
                    raise(&mut effective, requests);
                }
                replace_pod_level(&mut sum, &effective);
            }
            _ => replace_pod_level(&mut sum, spec),
        }
    }
    if let Some(overhead) = &demand.overhead {
        add(&mut sum, overhead);
    }
    sum
}

/// Pod-level requests, where they name a resource that can be asked for at that level.
fn pod_level(demand: &PodDemand) -> Option<&Requests> {
    demand.pod_level.as_ref().filter(|requests| requests.keys().any(|name| is_pod_level(name)))
}

fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

fn replace_pod_level(sum: &mut Requests, pod_level: &Requests) {
    for (name, amount) in pod_level.iter().filter(|(name, _)| is_pod_level(name)) {
        sum.insert(name.clone(), *amount);
    }
}

/// The largest of what the spec asks for, what the node has set aside and what is in effect. A spec that the node
/// called infeasible does not count: it will not come true.
fn from_status(demand: &PodDemand, minimum: Minimum) -> Requests {
    let infeasible = demand.resize_infeasible;
    let mut sum = if infeasible { Requests::new() } else { over_containers(demand, minimum, |c| Some(&c.requests)) };
    // A status at the level of the pod is already the sum over its containers.
    if let Some(PodLevelStatus { allocated: Some(allocated), actual: Some(actual) }) = &demand.status_pod_level {
        raise(&mut sum, actual);
        raise(&mut sum, allocated);
        return sum;
    }
    let spec = |c| spec_unless(infeasible, c);
    raise(&mut sum, &over_containers(demand, minimum, |c| c.actual.as_ref().or(c.allocated.as_ref()).or(spec(c))));
    raise(&mut sum, &over_containers(demand, minimum, |c| c.allocated.as_ref().or(spec(c))));
    sum
}

fn spec_unless(infeasible: bool, container: &Container) -> Option<&Requests> {
    (!infeasible).then_some(&container.requests)
}

/// The peak over a pod's life: init containers run one after the other, each beside the sidecars started before it;
/// then all containers and sidecars run together.
fn over_containers<'a>(
    demand: &'a PodDemand,
    minimum: Minimum,
    requests: impl Fn(&'a Container) -> Option<&'a Requests>,
) -> Requests {
    let of = |container: &'a Container| at_least(requests(container), minimum);
    let mut running = Requests::new();
    for container in &demand.containers {
        add(&mut running, &of(container));
    }
    let mut sidecars = Requests::new();
    let mut starting = Requests::new();
    for container in &demand.init_containers {
        let own = of(container);
        if container.sidecar {
            add(&mut running, &own);
            add(&mut sidecars, &own);
            raise(&mut starting, &sidecars);
        } else {
            let mut beside = own;
            add(&mut beside, &sidecars);
            raise(&mut starting, &beside);
        }
    }
    raise(&mut running, &starting);
    running
}

fn at_least(requests: Option<&Requests>, minimum: Minimum) -> Requests {
    let mut requests = requests.cloned().unwrap_or_default();
    if minimum.cpu && !requests.contains_key("cpu") {
        requests.insert(Name::from("cpu"), Quantity::from_millis(DEFAULT_CPU_MILLI));
    }
    if minimum.memory && !requests.contains_key("memory") {
        requests.insert(Name::from("memory"), Quantity::from_bytes(DEFAULT_MEMORY));
    }
    requests
}

fn add(sum: &mut Requests, other: &Requests) {
    for (name, amount) in other {
        let slot = sum.entry(name.clone()).or_insert(Quantity::ZERO);
        *slot = slot.saturating_add(*amount);
    }
}

/// Raises each amount to at least the other's.
fn raise(sum: &mut Requests, other: &Requests) {
    for (name, amount) in other {
        let slot = sum.entry(name.clone()).or_insert(*amount);
        *slot = (*slot).max(*amount);
    }
}
