//! A machine to be simulated: what it is called, what it has, and where it stands.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use plimsoll_api::kinds::Node;
use serde_json::{Value, json};

use super::Fleet;
use crate::component::Component;

/// What it says of itself: a version that the kubelet of 1.37 would have, and that it is none.
pub(super) const KUBELET: &str = "v1.37.1-plimsoll";
/// The runtime that runs no containers.
pub(super) const RUNTIME: &str = "simulated://0.1";

/// The label of a node's own name.
const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";

/// The first address of the nodes: as in a cluster of containers on one machine.
const NODES: Ipv4Addr = Ipv4Addr::new(172, 18, 0, 2);
/// The first address of the pods; each node has 256 of them.
const PODS: Ipv4Addr = Ipv4Addr::new(10, 244, 0, 0);

/// A node to be simulated.
#[derive(Clone, Debug)]
pub struct Machine {
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) allocatable: BTreeMap<String, String>,
    pub(super) drivers: Vec<Driver>,
    /// Which of the networks of pods is its own.
    place: Option<u16>,
}

/// A CSI driver that a machine has.
#[derive(Clone, Debug)]
pub struct Driver {
    /// Its name.
    pub name: String,
    /// The labels that say from where its volumes can be reached; empty: from everywhere.
    pub topology_keys: Vec<String>,
    /// How many of its volumes the node can have.
    pub attach_limit: Option<i32>,
}

impl Machine {
    /// A node with room for 110 pods, 8 cores and 32 GiB.
    pub fn new(name: &str) -> Self {
        let amounts = [("cpu", "8"), ("memory", "32Gi"), ("ephemeral-storage", "100Gi"), ("pods", "110")];
        let allocatable = amounts.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        let labels = [
            (HOSTNAME, name),
            ("kubernetes.io/os", "linux"),
            ("kubernetes.io/arch", architecture()),
            ("beta.kubernetes.io/os", "linux"),
            ("beta.kubernetes.io/arch", architecture()),
        ];
        let labels = labels.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        Self { name: name.to_owned(), labels, allocatable, drivers: Vec::new(), place: None }
    }

    /// With a label.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// In a zone.
    pub fn zone(self, zone: &str) -> Self {
        self.label(ZONE, zone)
    }

    /// In a region.
    pub fn region(self, region: &str) -> Self {
        self.label(REGION, region)
    }

    /// With this much of a resource.
    pub fn allocatable(mut self, resource: &str, amount: &str) -> Self {
        self.allocatable.insert(resource.to_owned(), amount.to_owned());
        self
    }

    /// With a CSI driver.
    pub fn driver(mut self, driver: Driver) -> Self {
        self.drivers.push(driver);
        self
    }

    /// With the network of pods that has this number: two nodes of one cluster must not have the same.
    pub fn place(mut self, number: u16) -> Self {
        self.place = Some(number);
        self
    }

    /// The same, where none was given.
    pub(super) fn place_by_default(&mut self, number: u16) {
        self.place.get_or_insert(number);
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The node as a component of a bed.
    pub fn component(self) -> Component {
        let name = format!("node-{}", self.name);
        Fleet::of([self]).component(&name)
    }

    /// The node's own address.
    pub(super) fn address(&self) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(NODES) + u32::from(self.number()))
    }

    /// The address of one of its pods.
    pub(super) fn pod_address(&self, pod: u8) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(PODS) + (u32::from(self.number()) << 8) + u32::from(pod))
    }

    /// Which of its pods has this address.
    pub(super) fn pod_of(&self, address: Ipv4Addr) -> Option<u8> {
        let last = address.octets()[3];
        (self.pod_address(last) == address).then_some(last)
    }

    /// A machine by itself has a number that follows from its name: it is the same in its next life.
    fn number(&self) -> u16 {
        self.place.unwrap_or_else(|| (hash(&[&self.name], 0) % 1000) as u16)
    }

    /// Its Node, as far as decisions read it, for as long as the API's is not known.
    pub(super) fn node(&self) -> Node {
        let object = json!({"metadata": {"name": self.name, "labels": self.labels},
            "status": {"allocatable": self.allocatable}});
        // It is written two lines above, so that it can be read is known.
        serde_json::from_value(object).unwrap_or_default()
    }

    /// What `status.nodeInfo` says.
    pub(super) fn info(&self) -> Value {
        let id = |seed: u64| format!("{:016x}{:016x}", hash(&[&self.name], seed), hash(&[&self.name], seed + 1));
        json!({
            "machineID": id(1), "systemUUID": id(3), "bootID": id(5), "kernelVersion": "simulated",
            "osImage": "Plimsoll simulated node", "containerRuntimeVersion": RUNTIME, "kubeletVersion": KUBELET,
            "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": architecture(),
        })
    }
}

/// The architecture as Go names it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// A number that follows from the words (FNV-1a): the same in every life and on every machine.
pub(super) fn hash(words: &[&str], seed: u64) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for word in words {
        for byte in word.bytes().chain([0]) {
            sum = (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    // The last bytes must reach all bits.
    sum ^= sum >> 32;
    sum = sum.wrapping_mul(0xd6e8_feb8_6659_fd93);
    sum ^ (sum >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_in_a_row_have_networks_of_their_own() {
        let machine = |number| Machine::new("a").place(number);
        assert_eq!(machine(0).pod_address(2).to_string(), "10.244.0.2");
        assert_eq!(machine(3).pod_address(254).to_string(), "10.244.3.254");
        assert_eq!(machine(300).pod_address(9).to_string(), "10.245.44.9");
        assert_eq!(machine(0).address().to_string(), "172.18.0.2");
        assert_eq!(machine(299).address().to_string(), "172.18.1.45");
        assert_eq!(machine(3).pod_of(machine(3).pod_address(7)), Some(7));
        assert_eq!(machine(3).pod_of(machine(4).pod_address(7)), None);
    }

    #[test]
    fn a_machine_by_itself_is_the_same_in_every_life() {
        assert_eq!(Machine::new("a").address(), Machine::new("a").address());
        assert_ne!(Machine::new("a").address(), Machine::new("b").address());
    }
}
