//! Disks of one zone or of several, made in the simulated cloud.
//!
//! Which zones is the engine's decision ([`ZoneRequest`]); here the wishes are read from the class, and what was decided
//! is written into the volume: labels as the in-tree plugins put them, and the node affinity that schedulers go by.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use plimsoll_api::kinds::Node;
use plimsoll_engine::labels::Name;
use plimsoll_engine::quantity::Quantity;
use plimsoll_engine::selector::RawTopologyTerm;
use plimsoll_engine::volumes::{
    REGION, REGION_BETA, SelectedNode, ZONE, ZONE_BETA, ZONE_SEPARATOR, ZoneRequest, zone_label,
};
use serde_json::{Map, Value, json};

use super::disks::{Disk, Disks};
use super::flavour::{Copies, FLAVOURS, Flavour};
use super::{DeleteError, Made, Provisioner, Provisioners, Refusal, Request};

/// Makes disks of one flavour.
#[derive(Clone, Debug)]
pub struct DiskProvisioner {
    flavour: Flavour,
    disks: Arc<Disks>,
}

/// Provisioners for every flavour of disk, all in the same simulated cloud: what the embedded cluster and simulations run
/// with, so that manifests for a real cloud work there as they are.
pub fn simulated(disks: &Arc<Disks>) -> Provisioners {
    FLAVOURS.into_iter().fold(Provisioners::none(), |all, flavour| all.with(DiskProvisioner::new(flavour, disks)))
}

impl DiskProvisioner {
    /// Disks of a flavour, kept here.
    pub fn new(flavour: Flavour, disks: &Arc<Disks>) -> Self {
        Self { flavour, disks: disks.clone() }
    }

    fn make(&self, request: &Request) -> Result<Made, Refusal> {
        let flavour = &self.flavour;
        let modes = access_modes(request, flavour.modes)?;
        if request.claim.slim.spec.selector.is_some() {
            return Err(Refusal::new(format!(
                "claim.Spec.Selector is not supported for dynamic provisioning by {}",
                flavour.plugin
            )));
        }
        let parameters = Parameters::of(request);
        let copies = copies(flavour, &parameters)?;
        let zones = match copies {
            0 => Vec::new(),
            copies => choose(request, flavour, &parameters, copies)?,
        };
        let bytes = round_up(request.size.value(), flavour.unit);
        let handle = flavour.handle(&request.volume_name);
        let disk = self.disks.make(Disk { plugin: flavour.plugin.to_owned(), handle, zones, bytes })?;
        let fs_type = match request.claim.slim.spec.volume_mode.as_str() {
            "Block" => "",
            _ => parameters.get("fstype").or(parameters.get("csi.storage.k8s.io/fstype")).unwrap_or("ext4"),
        };
        let source = (flavour.source)(&disk.handle, &disk.zones, fs_type);
        let place = Place::of(&disk.zones, request);
        Ok(Made {
            source: Map::from_iter([(flavour.field.to_owned(), source)]),
            capacity: Quantity::from_bytes(disk.bytes),
            access_modes: modes,
            node_affinity: place.affinity(),
            labels: place.labels(),
            annotations: BTreeMap::new(),
        })
    }
}

impl Provisioner for DiskProvisioner {
    fn plugin(&self) -> &str {
        self.flavour.plugin
    }

    fn mount_options_supported(&self) -> bool {
        true
    }

    fn provision<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Made, Refusal>> {
        async move { self.make(request) }.boxed()
    }

    fn delete<'a>(&'a self, volume: &'a Value) -> BoxFuture<'a, Result<(), DeleteError>> {
        async move {
            let Some(handle) = self.flavour.handle_of(volume) else {
                let name = volume["metadata"]["name"].as_str().unwrap_or_default();
                return Err(DeleteError::Failed(format!(
                    "volume {name:?} has no {} that names a disk of {}",
                    self.flavour.field, self.flavour.plugin
                )));
            };
            self.disks.delete(self.flavour.plugin, handle)
        }
        .boxed()
    }
}

/// The claim's access modes, or the first that the plugin can do where it names none.
pub(super) fn access_modes(request: &Request, supported: &[&str]) -> Result<Vec<String>, Refusal> {
    let asked = &request.claim.slim.spec.access_modes;
    if let Some(other) = asked.iter().find(|mode| !supported.contains(&mode.as_str())) {
        let supported = supported.join(" ");
        return Err(Refusal::new(format!(
            "invalid AccessModes [{other}]: only AccessModes [{supported}] are supported"
        )));
    }
    if asked.is_empty() {
        return Ok(supported.iter().take(1).map(|mode| (*mode).to_owned()).collect());
    }
    Ok(asked.clone())
}

/// A class's parameters. Their names are read without regard to case, as the in-tree plugins did. Those that nothing here
/// reads (disk types, encryption) are left alone: a simulated disk can be anything.
struct Parameters<'r>(BTreeMap<String, &'r str>);

impl<'r> Parameters<'r> {
    fn of(request: &'r Request) -> Self {
        let pairs = request.class.parameters.0.iter();
        Self(pairs.map(|(key, value)| (key.to_ascii_lowercase(), value.as_str())).collect())
    }

    fn get(&self, key: &str) -> Option<&'r str> {
        self.0.get(key).copied()
    }
}

/// In how many zones; 0 where zones do not matter.
fn copies(flavour: &Flavour, parameters: &Parameters<'_>) -> Result<usize, Refusal> {
    let replication = parameters.get("replication-type").map(str::to_ascii_lowercase);
    match (flavour.copies, replication.as_deref()) {
        (Copies::Anywhere, _) => Ok(0),
        (Copies::One, _) | (Copies::ByParameter, None | Some("none" | "")) => Ok(1),
        (Copies::Two, _) | (Copies::ByParameter, Some("regional-pd")) => Ok(2),
        (Copies::ByParameter, Some(other)) => {
            Err(Refusal::new(format!("replication-type must be none or regional-pd, not {other:?}")))
        }
    }
}

fn choose(
    request: &Request,
    flavour: &Flavour,
    parameters: &Parameters<'_>,
    copies: usize,
) -> Result<Vec<String>, Refusal> {
    let allowed: Vec<RawTopologyTerm> = request
        .class
        .allowed_topologies
        .iter()
        .map(|term| {
            let values = |values: &[String]| values.iter().map(|v| Name::from(v.as_str())).collect();
            term.match_label_expressions.iter().map(|e| (Name::from(e.key.as_str()), values(&e.values))).collect()
        })
        .collect();
    let existing: BTreeMap<String, Option<String>> = request
        .nodes
        .iter()
        .filter_map(|node| Some((zone_of(node)?.1.to_owned(), region_of(node).map(|(_, region)| region.to_owned()))))
        .collect();
    let selected = request
        .selected_node
        .as_deref()
        .map(|node| SelectedNode { name: &node.metadata.name, zone: zone_of(node).map(|(_, zone)| zone) });
    let zones = ZoneRequest {
        claim: &request.claim.slim.metadata.name,
        copies,
        selected,
        zone: parameters.get(flavour.zone_parameter),
        zones: parameters.get("zones"),
        allowed: &allowed,
        existing: &existing,
        region_by_name: flavour.region,
    };
    zones.choose().map_err(|refusal| Refusal(refusal.to_string()))
}

fn label<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    node.metadata.labels.get(key).filter(|value| !value.is_empty())
}

fn zone_of(node: &Node) -> Option<(&'static str, &str)> {
    zone_label(|key| label(node, key))
}

fn region_of(node: &Node) -> Option<(&'static str, &str)> {
    [REGION, REGION_BETA].into_iter().find_map(|key| Some((key, label(node, key)?)))
}

/// Where a disk is, in the labels that the cluster's nodes have.
struct Place {
    zone_key: &'static str,
    zones: BTreeSet<String>,
    region: Option<(&'static str, String)>,
}

impl Place {
    fn of(zones: &[String], request: &Request) -> Self {
        let zones: BTreeSet<String> = zones.iter().cloned().collect();
        let nodes = request.selected_node.iter().chain(&request.nodes);
        let here: Vec<&Arc<Node>> =
            nodes.filter(|node| zone_of(node).is_some_and(|(_, zone)| zones.contains(zone))).collect();
        // Affinity knows no equality of the stable and the beta key, so the key is one that the nodes there have. Where they
        // differ, the stable one stays true after the beta labels are gone.
        let beta = !here.is_empty() && here.iter().all(|node| label(node, ZONE).is_none());
        let region_key = if beta { REGION_BETA } else { REGION };
        // A region says nothing beyond the zones; it is written where every node there has it, so that it keeps none away.
        let regions: BTreeSet<Option<&str>> = here.iter().map(|node| label(node, region_key)).collect();
        let region = match regions.first() {
            Some(Some(region)) if regions.len() == 1 => Some((region_key, (*region).to_owned())),
            _ => None,
        };
        Self { zone_key: if beta { ZONE_BETA } else { ZONE }, zones, region }
    }

    fn labels(&self) -> BTreeMap<String, String> {
        let mut labels = BTreeMap::new();
        if !self.zones.is_empty() {
            let zones: Vec<&str> = self.zones.iter().map(String::as_str).collect();
            labels.insert(self.zone_key.to_owned(), zones.join(ZONE_SEPARATOR));
            labels.extend(self.region.iter().map(|(key, region)| ((*key).to_owned(), region.clone())));
        }
        labels
    }

    fn affinity(&self) -> Option<Value> {
        if self.zones.is_empty() {
            return None;
        }
        let mut expressions = vec![json!({"key": self.zone_key, "operator": "In", "values": self.zones})];
        if let Some((key, region)) = &self.region {
            expressions.push(json!({"key": key, "operator": "In", "values": [region]}));
        }
        Some(json!({"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}))
    }
}

/// The size in whole units, at least one.
fn round_up(bytes: i64, unit: i64) -> i64 {
    let units = bytes.max(1).checked_add(unit - 1).map_or(i64::MAX / unit, |sum| sum / unit);
    units.saturating_mul(unit)
}
