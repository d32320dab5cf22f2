//! Whether the legacy zone labels of a volume can be said as node affinity without changing what any node answers.
//!
//! ```text
//!   has affinity, is going, or no label means anything ──► Nothing
//!   no node is known ────────────────────────────────────► NoNodes
//!   for each choice of keys: the affinity alone gives every node's answer of today ──► Upgrade
//!   none does ───────────────────────────────────────────► Leave, with the nodes that would answer differently
//! ```
//!
//! Affinity cannot be taken back and is stricter than the labels: nodes without any zone label pass the labels and not
//! the affinity, and a beta label is met by a node's GA label where affinity on the beta key is not. "The answer" is all
//! of the scheduler's: VolumeZone's by the labels and VolumeBinding's by the affinity, translated where the node's in-tree
//! plugin is migrated. The affinity must give it alone, so that it stays the same when nobody reads the labels any more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::collections::Map;
use crate::labels::{Labels, Name};
use crate::model::Volume;
use crate::selector::{NodeSelector, NodeSelectorTerm, Requirement, is_label_value};
use crate::volumes::migration::PLUGINS;
use crate::volumes::reach::Reach;
use crate::volumes::zone::{KEYS, ZoneConstraint, first_unmet, ga_key};

/// What is to become of a volume's zone labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZoneDecision {
    /// It has affinity already, or no zone label that means anything, or it is being deleted.
    Nothing,
    /// There is no node yet whose answer could be kept.
    NoNodes,
    /// One term of these requirements says the same as the labels, on every node.
    Upgrade(Vec<ZoneRequirement>),
    /// These nodes would answer differently, by the choice of keys that changes the fewest; in order of their names.
    Leave(Vec<ChangedNode>),
    /// This label has no value that a node's label could have, and a requirement must have one.
    Unsayable(&'static str),
}

/// One requirement of the affinity: the label `key` is `In` these values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneRequirement {
    /// The label's key.
    pub key: &'static str,
    /// The values, as the volume's label lists them.
    pub values: Vec<Name>,
}

/// A node that would answer differently.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangedNode {
    /// The node.
    pub name: Name,
    /// Whether it takes the volume today.
    pub accepts: bool,
}

/// The nodes, by what this decision reads of them. There are few kinds of nodes, however many nodes there are, so a
/// volume's decision costs as much as there are kinds.
#[derive(Clone, Debug, Default)]
pub struct Terrain {
    groups: BTreeMap<Kind, Group>,
    kinds: Map<Name, Kind>,
}

/// What the decision reads of a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    labels: Vec<(Name, Name)>,
    migrated: Vec<&'static str>,
}

#[derive(Clone, Debug)]
struct Group {
    labels: Labels,
    nodes: BTreeSet<Name>,
}

impl Kind {
    /// Whether these nodes reach the volume, by its affinity as they judge it.
    fn reaches(&self, group: &Group, volume: &Volume) -> bool {
        Reach::of(volume, |plugin| self.migrated.contains(&plugin)).matches(&group.labels)
    }
}

impl Terrain {
    /// No nodes.
    pub fn new() -> Self {
        Self::default()
    }

    /// A node came or changed. Returns whether a decision may change by that.
    pub fn set<'p>(
        &mut self,
        node: &Name,
        labels: &Labels,
        migrated_plugins: impl IntoIterator<Item = &'p str> + Clone,
    ) -> bool {
        let keys = KEYS.into_iter().chain(PLUGINS.into_iter().filter_map(|p| p.topology_key));
        let labels = keys.filter_map(|key| Some((Name::from(key), labels.get(key)?.clone()))).collect();
        let names = PLUGINS.into_iter().map(|p| p.name);
        let migrated = names.filter(|name| migrated_plugins.clone().into_iter().any(|p| p == *name)).collect();
        let kind = Kind { labels, migrated };
        if self.kinds.get(node) == Some(&kind) {
            return false;
        }
        let lost = self.remove(node);
        let found = !self.groups.contains_key(&kind);
        let group = self
            .groups
            .entry(kind.clone())
            .or_insert_with(|| Group { labels: kind.labels.iter().cloned().collect(), nodes: BTreeSet::new() });
        group.nodes.insert(node.clone());
        self.kinds.insert(node.clone(), kind);
        lost || found
    }

    /// A node went. Returns whether a decision may change by that.
    pub fn remove(&mut self, node: &str) -> bool {
        let Some(kind) = self.kinds.remove(node) else { return false };
        let Some(group) = self.groups.get_mut(&kind) else { return false };
        group.nodes.remove(node);
        let lost = group.nodes.is_empty();
        if lost {
            self.groups.remove(&kind);
        }
        lost
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}

/// Decides what is to become of a volume's zone labels.
pub fn upgrade_zone_labels(volume: &Volume, terrain: &Terrain) -> ZoneDecision {
    if volume.affinity.is_some() || volume.deleting {
        return ZoneDecision::Nothing;
    }
    let constraints: Vec<ZoneConstraint> = ZoneConstraint::of_volume(volume).collect();
    if constraints.is_empty() {
        return ZoneDecision::Nothing;
    }
    if terrain.is_empty() {
        return ZoneDecision::NoNodes;
    }
    let wanted = match sayable(&constraints) {
        Ok(wanted) => wanted,
        Err(key) => return ZoneDecision::Unsayable(key),
    };
    let answers: Vec<Answer<'_>> = terrain
        .groups
        .iter()
        .map(|(kind, group)| {
            let by_labels = first_unmet(&constraints, &group.labels).is_none();
            Answer { kind, group, today: by_labels && kind.reaches(group, volume) }
        })
        .collect();
    let mut fewest: Option<Vec<ChangedNode>> = None;
    for requirements in choices(&wanted) {
        let upgraded = Volume { affinity: Some(Arc::new(selector(&requirements))), ..volume.clone() };
        let changed = || answers.iter().filter(|a| a.kind.reaches(a.group, &upgraded) != a.today);
        let count: usize = changed().map(|a| a.group.nodes.len()).sum();
        if count == 0 {
            return ZoneDecision::Upgrade(requirements);
        }
        if fewest.as_ref().is_none_or(|least| count < least.len()) {
            fewest = Some(changed().flat_map(Answer::nodes).collect());
        }
    }
    let mut nodes = fewest.unwrap_or_default();
    nodes.sort_unstable();
    ZoneDecision::Leave(nodes)
}

/// What a kind of nodes answers today.
struct Answer<'t> {
    kind: &'t Kind,
    group: &'t Group,
    today: bool,
}

impl Answer<'_> {
    fn nodes(&self) -> impl Iterator<Item = ChangedNode> {
        self.group.nodes.iter().map(|name| ChangedNode { name: name.clone(), accepts: self.today })
    }
}

/// Each label as a requirement by its own key; the key of a label that cannot be said as one.
fn sayable(constraints: &[ZoneConstraint]) -> Result<Vec<ZoneRequirement>, &'static str> {
    let one = |constraint: &ZoneConstraint| {
        // No node can have a value that is not a label's, and the API server takes no requirement with one.
        let mut values: Vec<Name> = Vec::new();
        for value in constraint.values.iter().filter(|v| is_label_value(v)) {
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
        if values.is_empty() { Err(constraint.key) } else { Ok(ZoneRequirement { key: constraint.key, values }) }
    };
    constraints.iter().map(one).collect()
}

/// The requirements with every choice of keys. Each label's own key comes first: it is what the labels say, and the API
/// server lets a beta key be renamed to its GA key later, but not back. Beta labels can also be said by the GA key.
fn choices(wanted: &[ZoneRequirement]) -> impl Iterator<Item = Vec<ZoneRequirement>> {
    let betas: Vec<usize> = (0..wanted.len()).filter(|i| ga_key(wanted[*i].key) != wanted[*i].key).collect();
    let all = (1u32 << betas.len()) - 1;
    // All by their own keys, all by GA keys, and only then a mixture.
    let uniform = if all == 0 { vec![0] } else { vec![0, all] };
    uniform.into_iter().chain(1..all).map(move |choice| {
        let mut requirements: Vec<ZoneRequirement> = Vec::with_capacity(wanted.len());
        for (i, requirement) in wanted.iter().enumerate() {
            let bit = betas.iter().position(|beta| *beta == i);
            let renamed = bit.is_some_and(|bit| choice & (1 << bit) != 0);
            let key = if renamed { ga_key(requirement.key) } else { requirement.key };
            let requirement = ZoneRequirement { key, values: requirement.values.clone() };
            if !requirements.contains(&requirement) {
                requirements.push(requirement);
            }
        }
        requirements
    })
}

fn selector(requirements: &[ZoneRequirement]) -> NodeSelector {
    let compiled: Result<Vec<Requirement>, _> = requirements
        .iter()
        .map(|r| Requirement::new(r.key, "In", &r.values.iter().map(|v| &**v).collect::<Vec<_>>()))
        .collect();
    NodeSelector::from_terms([compiled.map(NodeSelectorTerm::on_labels)])
}
