//! Admission: whether the node takes a pod that was given to it, and what those that it took hold of it.
//!
//! ```text
//!   pod comes ── has no startTime ──► room, labels, ports, taints? ─┬─ yes ─► has a seat until it ends or goes
//!       │                                                           └─ no ──► Failed, with a kubelet's reason
//!       └─ has one: was admitted, in this life or an earlier one ───────────► has a seat
//! ```
//! Decided in one step, under the seats' lock: two pods are never both given the last of the room. What is decided is
//! remembered before it is written, and what was written says so in the next life.

use std::collections::BTreeMap;

use plimsoll_api::interner::Interner;
use plimsoll_api::kinds::{Node, Pod};
use plimsoll_engine::filters::kubelet;
use plimsoll_engine::model::{self, HostPort, Resources};
use plimsoll_engine::nodes::demand::{self, Held};
use plimsoll_engine::quantity::Quantity;
use serde_json::Value;

/// The operating system of every simulated node.
const SYSTEM: &str = "linux";
const SYSTEM_LABEL: &str = "kubernetes.io/os";

/// The addresses that pods of a node may have: not the network's own, its gateway's, or everybody's.
const FIRST_ADDRESS: u8 = 2;
const LAST_ADDRESS: u8 = 254;

/// Why a pod is not taken: what its status has as reason and, after a few words, as message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) reason: String,
    pub(super) message: String,
}

impl Refusal {
    fn new(reason: &str, message: &str) -> Self {
        Self { reason: reason.to_owned(), message: message.to_owned() }
    }

    /// A filter that the pod does not pass.
    fn filter(name: &str, why: &str) -> Self {
        Self::new(name, &format!("Predicate {name} failed: {why}"))
    }
}

/// What the pods of one node hold, by their uids: to ask for room costs what is held, not what the cluster has.
#[derive(Debug, Default)]
pub(super) struct Seats {
    seats: BTreeMap<String, Seat>,
    /// The address that was given last: they go round, so that a new pod has not the one of a pod that just went.
    given: u8,
}

#[derive(Debug, Default)]
struct Seat {
    held: Resources,
    ports: Vec<HostPort>,
    address: Option<u8>,
}

impl Seats {
    /// Whether the pod was given a seat.
    pub(super) fn has(&self, uid: &str) -> bool {
        self.seats.contains_key(uid)
    }

    /// Gives a seat to a pod that was admitted in an earlier life.
    pub(super) fn restore(&mut self, pod: &Pod, address: Option<u8>) {
        let seat = pod.to_engine(&mut Interner::new()).map(|pod| seat(&pod)).unwrap_or_default();
        self.seats.insert(pod.metadata.uid.clone(), Seat { address, ..seat });
    }

    /// Takes the seat of a pod that ended or went.
    pub(super) fn free(&mut self, uid: &str) {
        self.seats.remove(uid);
    }

    /// The address of a pod with a seat: the one it has, or a free one.
    pub(super) fn address(&mut self, uid: &str) -> Option<u8> {
        if let Some(address) = self.seats.get(uid)?.address {
            return Some(address);
        }
        let used: Vec<u8> = self.seats.values().filter_map(|seat| seat.address).collect();
        let later = self.given.saturating_add(1).max(FIRST_ADDRESS)..=LAST_ADDRESS;
        let free = later.chain(FIRST_ADDRESS..=LAST_ADDRESS).find(|address| !used.contains(address))?;
        self.given = free;
        self.seats.get_mut(uid)?.address = Some(free);
        Some(free)
    }

    /// Gives a seat to a pod, or says why it has none. `value` is the same pod, whole.
    pub(super) fn admit(&mut self, pod: &Pod, value: &Value, node: &Node) -> Result<(), Refusal> {
        if self.has(&pod.metadata.uid) {
            return Ok(());
        }
        let mut names = Interner::new();
        let (pod, node) = match (pod.to_engine(&mut names), node.to_engine(&mut names)) {
            (Ok(pod), Ok(node)) => (pod, node),
            (Err(error), _) | (_, Err(error)) => {
                return Err(Refusal::new("UnexpectedAdmissionError", &error.to_string()));
            }
        };
        self.check(&pod, value, &node)?;
        self.seats.insert(pod.uid.to_string(), seat(&pod));
        Ok(())
    }

    /// A kubelet's checks, in its order; the first that fails is told.
    fn check(&self, pod: &model::Pod, value: &Value, node: &model::Node) -> Result<(), Refusal> {
        if value["metadata"]["labels"][SYSTEM_LABEL].as_str().is_some_and(|system| system != SYSTEM) {
            let message = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label";
            return Err(Refusal::new("PodOSSelectorNodeLabelDoesNotMatch", message));
        }
        if value["spec"]["os"]["name"].as_str().is_some_and(|system| system != SYSTEM) {
            let message = "Failed to admit pod as the OS field doesn't match node OS";
            return Err(Refusal::new("PodOSNotSupported", message));
        }
        if let Some(refusal) = self.shortage(pod, node) {
            return Err(refusal);
        }
        if !kubelet::has_wanted_labels(node, pod) {
            return Err(Refusal::filter("NodeAffinity", "node(s) didn't match Pod's node affinity/selector"));
        }
        let taken: Vec<HostPort> = self.seats.values().flat_map(|seat| seat.ports.iter().cloned()).collect();
        if kubelet::port_is_taken(pod, &taken) {
            return Err(Refusal::filter("NodePorts", "node(s) didn't have free ports for the requested pod ports"));
        }
        if kubelet::drives_away(node, pod) {
            return Err(Refusal::filter("TaintToleration", "node(s) had taints that the pod didn't tolerate"));
        }
        Ok(())
    }

    /// The first resource that the pod asks for and the node does not have.
    fn shortage(&self, pod: &model::Pod, node: &model::Node) -> Option<Refusal> {
        let (asked, room) = (demand::asked(pod), &node.allocatable);
        let mut used = Resources::default();
        self.seats.values().for_each(|seat| used.add(&seat.held));
        let short = |name: &str, asked: i64, used: i64, room: i64| {
            let lacks = asked > 0 && asked > room.saturating_sub(used);
            lacks.then(|| {
                let message = format!(
                    "Node didn't have enough resource: {name}, requested: {asked}, used: {used}, capacity: {room}"
                );
                Refusal { reason: format!("OutOf{name}"), message }
            })
        };
        let count = i64::try_from(self.seats.len()).unwrap_or(i64::MAX);
        short("pods", 1, count, room.pods)
            .or_else(|| short("cpu", asked.cpu_milli, used.cpu_milli, room.cpu_milli))
            .or_else(|| short("memory", asked.memory, used.memory, room.memory))
            .or_else(|| {
                short("ephemeral-storage", asked.ephemeral_storage, used.ephemeral_storage, room.ephemeral_storage)
            })
            .or_else(|| {
                // A resource that the node has never heard of is the cluster's, and not its business.
                let known = asked.scalar.keys().filter(|name| room.scalar.contains_key(*name) || !is_extended(name));
                let scalar = |name: &str| short(name, asked.scalar(name), used.scalar(name), room.scalar(name));
                known.into_iter().find_map(|name| scalar(name))
            })
    }
}

/// Whether a resource is one that somebody added, such as `example.com/gpu`.
fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.split('/').next().is_some_and(|domain| domain.ends_with("kubernetes.io"))
}

fn seat(pod: &model::Pod) -> Seat {
    Seat { held: Held::by(pod).resources, ports: pod.host_ports.clone(), address: None }
}

/// Whether all of these amounts are among those, however they are written.
pub(super) fn has_amounts(amounts: &Value, wanted: &BTreeMap<String, String>) -> bool {
    wanted.iter().all(|(name, wanted)| {
        let has = amounts[name].as_str().unwrap_or_default();
        has == wanted
            || match (has.parse::<Quantity>(), wanted.parse::<Quantity>()) {
                (Ok(has), Ok(wanted)) => has == wanted,
                _ => false,
            }
    })
}

#[cfg(test)]
mod tests;
