//! Labels that are missing or wrong: of nodes, for the pod's node selector, affinity and spread constraints, and the zone
//! labels of volumes.

use std::collections::BTreeSet;

use crate::labels::Name;
use crate::model::{Node, Pod, Volume};
use crate::object::{Kind, Object};
use crate::reason::Code;
use crate::selector::Requirement;
use crate::volumes::{REGION, REGION_BETA, ZONE, ZONE_BETA, ZONE_SEPARATOR};

use super::bench::{Bench, Change};
use super::words::{HOSTNAME, edit, with_label, without_label};
use super::{Invasiveness, Proposal, Refused};

/// Labels that say what a node is, not what it is for. Adding one that is missing may be right; another value would be a
/// lie.
const FACTS: [&str; 7] = [
    ZONE,
    ZONE_BETA,
    REGION,
    REGION_BETA,
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "node.kubernetes.io/instance-type",
];
/// The zone and region labels of volumes.
const PLACES: [&str; 4] = [ZONE, ZONE_BETA, REGION, REGION_BETA];
/// How many values a missing label is tried with.
const VALUES: usize = 10;

pub(super) fn propose(refused: &Refused<'_>, bench: &mut Bench<'_>) -> Vec<Proposal> {
    let Some(row) = bench.catalog().nodes.by_name(&refused.node.node) else { return Vec::new() };
    let node = row.node();
    let mut proposals = Vec::new();
    if refused.by(Code::NODE_AFFINITY) {
        let edits = for_affinity(refused.pod, node);
        proposals.extend(edits.iter().filter_map(|(key, value)| relabel(refused, node, key, value.as_ref())));
    }
    if refused.by(Code::TOPOLOGY_SPREAD_LABEL) {
        for key in refused.pod.spread.iter().filter(|c| c.hard).map(|c| &c.topology_key) {
            if !node.labels.contains_key(key) {
                let values = values_of(key, node, bench);
                proposals.extend(values.iter().filter_map(|value| relabel(refused, node, key, Some(value))));
            }
        }
    }
    if refused.by(Code::VOLUME_ZONE) {
        proposals.extend(volume_zones(refused, node, bench));
    }
    proposals
}

/// Single labels that would make the node one that the pod asks for; without a value where it must go.
fn for_affinity(pod: &Pod, node: &Node) -> Vec<(Name, Option<Name>)> {
    let wrong = |(key, value): &(&Name, &Name)| node.labels.get(key) != Some(*value);
    let selector: Vec<_> = pod.node_selector.iter().filter(wrong).collect();
    if selector.len() > 1 {
        return Vec::new();
    }
    let mut edits: Vec<(Name, Option<Name>)> =
        selector.iter().map(|(key, value)| ((*key).clone(), Some((*value).clone()))).collect();
    for term in pod.required_node_affinity.iter().flat_map(|a| a.terms()).flatten() {
        let unmet: Vec<&Requirement> = term.expressions().iter().filter(|r| !r.matches(&node.labels)).collect();
        if let [unmet] = unmet[..] {
            edits.extend(meeting(unmet).into_iter().map(|value| (unmet.key().clone(), value)));
        }
    }
    edits
}

/// Values with which a label meets a requirement. Numbers are not guessed.
fn meeting(requirement: &Requirement) -> Vec<Option<Name>> {
    match (requirement.operator(), requirement.in_values()) {
        (_, Some(values)) => values.iter().take(VALUES).cloned().map(Some).collect(),
        ("Exists", _) => vec![Some(Name::default())],
        ("NotIn" | "DoesNotExist", _) => vec![None],
        _ => Vec::new(),
    }
}

/// Values that a label has on other nodes; a node's own name where the label is that.
fn values_of(key: &Name, node: &Node, bench: &Bench<'_>) -> Vec<Name> {
    if &**key == HOSTNAME {
        return vec![node.name.clone()];
    }
    let rows = bench.catalog().nodes.iter();
    let values: BTreeSet<Name> = rows.filter_map(|row| row.node().labels.get(key)).cloned().collect();
    values.into_iter().take(VALUES).collect()
}

fn relabel(refused: &Refused<'_>, node: &Node, key: &Name, value: Option<&Name>) -> Option<Proposal> {
    let fact = FACTS.contains(&&**key) && node.labels.contains_key(key);
    let alias = &**key == HOSTNAME && value.is_none_or(|v| *v != node.name);
    if fact || alias {
        return None;
    }
    let (labels, words) = match (value, node.labels.get(key)) {
        (Some(value), None) if value.is_empty() => {
            (with_label(&node.labels, key, value), format!("label {key} added to {}", node.name))
        }
        (Some(value), None) => {
            (with_label(&node.labels, key, value), format!("label {key}={value} added to {}", node.name))
        }
        (Some(value), Some(old)) => (
            with_label(&node.labels, key, value),
            format!("label {key} of {} changed from {old} to {value}", node.name),
        ),
        (None, _) => (without_label(&node.labels, key), format!("label {key} removed from {}", node.name)),
    };
    let change = Change::Set(vec![Object::Node(Node { labels, ..node.clone() })]);
    let patch = edit(Kind::Node, &node.name, format!("metadata.labels[{key}]"), value.map(ToString::to_string));
    Some(refused.proposal(Invasiveness::Label, 0, words, change).with_patch(patch))
}

/// Zone labels of the pod's volumes, corrected to where the node is.
fn volume_zones(refused: &Refused<'_>, node: &Node, bench: &Bench<'_>) -> Vec<Proposal> {
    let mut proposals = Vec::new();
    for name in refused.node.plan.claims.iter().filter_map(|c| c.volume.as_ref()) {
        let Some(record) = bench.catalog().volumes.slab.by_name(name) else { continue };
        let volume = &record.volume;
        for key in PLACES.map(Name::from) {
            let (Some(listed), Some(here)) = (volume.labels.get(&key), here(node, &key)) else { continue };
            if listed.split(ZONE_SEPARATOR).any(|v| v.trim() == &**here) {
                continue;
            }
            let corrected = Volume { labels: with_label(&volume.labels, &key, here), ..(**volume).clone() };
            let words = format!("label {key} of volume {name} corrected from {listed} to {here}");
            let patch = edit(Kind::PersistentVolume, name, format!("metadata.labels[{key}]"), Some(here.to_string()));
            let change = Change::Set(vec![Object::Volume(corrected)]);
            proposals.push(refused.proposal(Invasiveness::Label, 1, words, change).with_patch(patch));
        }
    }
    proposals
}

/// Where a node is, by the label itself or by the one that replaced it.
fn here<'n>(node: &'n Node, key: &str) -> Option<&'n Name> {
    let newer = match key {
        ZONE_BETA => ZONE,
        REGION_BETA => REGION,
        key => key,
    };
    node.labels.get(key).or_else(|| node.labels.get(newer))
}
