//! Filters: whether a pod may run on a node, for every rule that is not about volumes.
//!
//! [`NodeFilters::prepare`] does once per pod what does not depend on the node (upstream's PreFilter); the result is
//! then asked per node. Two questions, two costs: [`NodeFilters::fits`] answers yes or no without allocating and stops
//! at the first no; [`NodeFilters::refusals`] collects every no with its reasons, for somebody who reads them.

mod amounts;
mod domains;
mod inter_pod_affinity;
pub mod kubelet;
mod node_affinity;
mod node_declared_features;
mod node_name;
mod node_ports;
mod node_resources_fit;
mod node_unschedulable;
mod pod_terms;
mod spread;
mod taint_toleration;
#[cfg(test)]
mod tests;
mod topology_spread;

pub(crate) use domains::DomainSums;
pub use node_affinity::RequiredNodes;
pub(crate) use node_resources_fit::{asked_by, fits_in};
pub(crate) use pod_terms::{IncomingTerm, existing_matches, incoming, readable, readable_weighted};
pub(crate) use spread::{Constraint, default_constraints, has_all_keys, own_constraints};
pub use taint_toleration::tolerated;

use std::collections::BTreeSet;

use crate::labels::Name;
use crate::model::{Node, Pod};
use crate::nodes::NodeRow;
use crate::reason::{Plugin, Refusal};
use crate::rules::Rules;
use crate::view::ClusterView;

use inter_pod_affinity::InterPodAffinity;
use node_affinity::NodeAffinity;
use node_declared_features::NodeDeclaredFeatures;
use node_name::NodeName;
use node_ports::NodePorts;
use node_resources_fit::NodeResourcesFit;
use node_unschedulable::NodeUnschedulable;
use taint_toleration::TaintToleration;
use topology_spread::TopologySpread;

/// The filters prepared for one pod. Holds what was counted over the cluster when it was made: a pod that comes or
/// goes later is not seen.
#[derive(Clone, Debug)]
pub struct NodeFilters<'p> {
    pod_refusals: Vec<Refusal>,
    narrowed: Vec<(Plugin, BTreeSet<Name>)>,
    node_name: NodeName<'p>,
    unschedulable: Option<NodeUnschedulable>,
    taints: Option<TaintToleration<'p>>,
    node_affinity: NodeAffinity<'p>,
    ports: Option<NodePorts<'p>>,
    resources: Option<NodeResourcesFit>,
    spread: TopologySpread<'p>,
    pod_affinity: InterPodAffinity<'p>,
    features: Option<NodeDeclaredFeatures>,
}

impl<'p> NodeFilters<'p> {
    /// Prepares the filters for a pod, which is not itself among the cluster's placed pods. A filter that the rules turn
    /// off is prepared as though the pod asked nothing of it, so that no node pays for the question.
    pub fn prepare(pod: &'p Pod, cluster: &ClusterView<'_>, rules: &'p Rules) -> Self {
        let on = |plugin| rules.filters(plugin);
        let node_name = if on(Plugin::NodeName) { NodeName::prepare(pod) } else { NodeName::default() };
        let (node_affinity, conflict) = match on(Plugin::NodeAffinity) {
            true => NodeAffinity::prepare(pod, rules.added_affinity.required.as_ref()),
            false => Default::default(),
        };
        let (spread, unreadable_spread) = match on(Plugin::PodTopologySpread) {
            true => TopologySpread::prepare(pod, cluster, &rules.default_spread),
            false => Default::default(),
        };
        let (pod_affinity, unreadable_affinity) = match on(Plugin::InterPodAffinity) {
            true => InterPodAffinity::prepare(pod, cluster),
            false => Default::default(),
        };
        let narrowed = [(Plugin::NodeName, node_name.names()), (Plugin::NodeAffinity, node_affinity.names().cloned())]
            .into_iter()
            .filter_map(|(plugin, names)| Some((plugin, names?)))
            .collect();
        Self {
            pod_refusals: [conflict, unreadable_spread, unreadable_affinity].into_iter().flatten().collect(),
            narrowed,
            node_name,
            unschedulable: on(Plugin::NodeUnschedulable).then(|| NodeUnschedulable::prepare(pod)),
            taints: on(Plugin::TaintToleration).then(|| TaintToleration::prepare(pod)),
            node_affinity,
            ports: on(Plugin::NodePorts).then(|| NodePorts::prepare(pod)),
            resources: on(Plugin::NodeResourcesFit).then(|| NodeResourcesFit::prepare(pod, rules)),
            spread,
            pod_affinity,
            features: on(Plugin::NodeDeclaredFeatures).then(|| NodeDeclaredFeatures::prepare(pod)).flatten(),
        }
    }

    /// Takes note of a pod that came to a node, or left it, since these were prepared: they are then what they would be if
    /// prepared anew. Room and ports are read from the node itself.
    pub(crate) fn note(&mut self, pod: &Pod, cluster: &ClusterView<'_>, node: &Node, other: &Pod, came: bool) {
        let amount = if came { 1 } else { -1 };
        self.spread.note(pod, node, other, amount);
        self.pod_affinity.note(pod, cluster, node, other, amount);
    }

    /// Refusals of the pod as a whole, in upstream's order of plugins. Where there is one, no node is judged.
    pub fn pod_refusals(&self) -> &[Refusal] {
        &self.pod_refusals
    }

    /// The nodes to which a plugin narrowed the choice before looking at any, in upstream's order of plugins. The
    /// plugin refuses all other nodes.
    pub fn narrowed(&self) -> &[(Plugin, BTreeSet<Name>)] {
        &self.narrowed
    }

    /// Whether the pod may run on the node. The checks that cost least, and those that say no most often, come first.
    pub fn fits(&self, row: &NodeRow) -> bool {
        self.pod_refusals.is_empty()
            && self.node_name.fits(row)
            && self.unschedulable.is_none_or(|filter| filter.fits(row))
            && self.features.is_none_or(|filter| filter.fits(row))
            && self.taints.is_none_or(|filter| filter.fits(row))
            && self.resources.as_ref().is_none_or(|filter| filter.fits(row))
            && self.ports.is_none_or(|filter| filter.fits(row))
            && self.node_affinity.fits(row)
            && self.spread.fits(row)
            && self.pod_affinity.fits(row)
    }

    /// Every no, in upstream's order of plugins, one for each of upstream's reasons; none where the pod fits.
    pub fn refusals(&self, row: &NodeRow) -> Vec<Refusal> {
        let mut refusals = Vec::new();
        refusals.extend(self.node_name.refusal(row));
        refusals.extend(self.unschedulable.and_then(|filter| filter.refusal(row)));
        refusals.extend(self.taints.and_then(|filter| filter.refusal(row)));
        refusals.extend(self.node_affinity.refusal(row));
        refusals.extend(self.ports.and_then(|filter| filter.refusal(row)));
        refusals.extend(self.resources.iter().flat_map(|filter| filter.refusals(row)));
        refusals.extend(self.spread.refusal(row));
        refusals.extend(self.pod_affinity.refusal(row));
        refusals.extend(self.features.and_then(|filter| filter.refusal(row)));
        refusals
    }
}
