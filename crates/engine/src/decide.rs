//! Deciding about one pod: every node's verdict, the plan for its volumes, the scores, and the choice.

use crate::catalog::Catalog;
use crate::diagnose::{Tally, rejected};
use crate::filters::NodeFilters;
use crate::gates::Gates;
use crate::labels::Name;
use crate::model::Pod;
use crate::nodes::{NodeIndex, NodeRow};
use crate::reason::{Code, Plugin, Refusal, Status};
use crate::scores::NodeScores;
use crate::volumes::{PodVolumes, Shape, VolumePlan};

/// What was decided about a pod, in full.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Why the pod can be placed nowhere, whatever the nodes: the first in upstream's plugin order. Then no node is judged.
    pub rejection: Option<Refusal>,
    /// The nodes, in order of their names.
    pub nodes: Vec<NodeDecision>,
    /// The node that would be chosen: the highest total, the first by name among equals.
    pub chosen: Option<Name>,
    /// The plugins that narrowed the choice of nodes before any was looked at.
    pub narrowed_by: Vec<Plugin>,
}

/// What was decided about a pod on one node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeDecision {
    /// The node.
    pub node: Name,
    /// Every filter's every no, in upstream's plugin order; empty where the node fits.
    pub refusals: Vec<Refusal>,
    /// What the pod's claims would become here.
    pub plan: VolumePlan,
    /// Whether a plugin narrowed the choice to other nodes before any was looked at. Upstream then asks no filter here.
    pub narrowed: bool,
    /// Each plugin's score, 0–100; `None` where the node does not fit.
    pub scores: Option<Vec<(Plugin, i64)>>,
    /// The weighted sum; `None` where the node does not fit.
    pub total: Option<i64>,
}

impl NodeDecision {
    /// Whether the pod could run here.
    pub fn is_feasible(&self) -> bool {
        self.refusals.is_empty()
    }
}

/// A choice: where a pod goes and what happens to its claims there.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The node.
    pub node: Name,
    /// The plan for its volumes.
    pub plan: VolumePlan,
    /// How many nodes fit.
    pub feasible: usize,
}

impl Catalog {
    /// Makes a pod's volumes ready to be judged on any node.
    pub fn volumes_of<'c>(&'c self, pod: &'c Pod, gates: Gates) -> PodVolumes<'c> {
        PodVolumes::prepare(&self.volumes, pod, gates, Shape::default())
    }

    /// Decides about a pod and says everything there is to say about every node. The pod must not be seated in the
    /// catalog itself (see [`Catalog::set_aside`]).
    pub fn decide(&self, pod: &Pod, gates: Gates) -> Decision {
        let view = self.view();
        let filters = NodeFilters::prepare(pod, &view);
        let volumes = self.volumes_of(pod, gates);
        if let Some(rejection) = rejection(pod, &filters, &volumes) {
            return Decision { rejection: Some(rejection), nodes: Vec::new(), chosen: None, narrowed_by: Vec::new() };
        }
        let mut nodes: Vec<(NodeIndex, NodeDecision)> =
            self.nodes.iter_by_name().map(|row| (row.index(), judge(row, &filters, &volumes))).collect();
        let feasible: Vec<NodeIndex> = nodes.iter().filter(|(_, n)| n.is_feasible()).map(|(index, _)| *index).collect();
        let scores = self.score(pod, &volumes, &feasible);
        for (at, (_, node)) in nodes.iter_mut().filter(|(_, n)| n.is_feasible()).enumerate() {
            let own: Vec<(Plugin, i64)> = scores.iter().map(|(plugin, column)| (*plugin, column[at])).collect();
            node.total = Some(own.iter().map(|(plugin, score)| plugin.weight() * score).sum());
            node.scores = Some(own);
        }
        let nodes: Vec<NodeDecision> = nodes.into_iter().map(|(_, n)| n).collect();
        let best = nodes.iter().filter_map(|n| Some((n.total?, &n.node)));
        // Nodes are in order of their names, and the first of the best stays.
        let chosen = best.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, name)| name.clone());
        let narrowed_by = filters.narrowed().iter().map(|(plugin, _)| *plugin).collect();
        Decision { rejection: None, nodes, chosen, narrowed_by }
    }

    /// Chooses a node for a pod, without saying why the others do not fit: what a scheduler does all day.
    ///
    /// With the gate `EphemeralForecast` the plan may hold claims that do not exist yet; such a plan says where the pod would
    /// go, and cannot be assumed. A scheduler turns that gate off.
    pub fn choose(&self, pod: &Pod, gates: Gates) -> Result<Option<Choice>, Refusal> {
        let view = self.view();
        let filters = NodeFilters::prepare(pod, &view);
        let volumes = self.volumes_of(pod, gates);
        if let Some(rejection) = rejection(pod, &filters, &volumes) {
            return Err(rejection);
        }
        let survey = volumes.survey();
        let fits = |(node, _): &(NodeIndex, i64)| self.nodes.get(*node).is_some_and(|row| filters.fits(row));
        let (feasible, mut totals): (Vec<NodeIndex>, Vec<i64>) =
            survey.fitting().filter(fits).map(|(node, score)| (node, score * Plugin::VolumeBinding.weight())).unzip();
        for (plugin, column) in NodeScores::compute(pod, &view, &feasible) {
            for (total, score) in totals.iter_mut().zip(column) {
                *total += plugin.weight() * score;
            }
        }
        let name = |at: usize| self.nodes.get(feasible[at]).map(|row| &row.node().name);
        let best = (0..feasible.len())
            .reduce(|a, b| if totals[b] > totals[a] || (totals[b] == totals[a] && name(b) < name(a)) { b } else { a });
        Ok(best.and_then(|at| {
            let node = name(at)?.clone();
            Some(Choice { node, plan: volumes.plan(feasible[at]), feasible: feasible.len() })
        }))
    }

    fn score(&self, pod: &Pod, volumes: &PodVolumes<'_>, feasible: &[NodeIndex]) -> Vec<(Plugin, Vec<i64>)> {
        let mut scores = NodeScores::compute(pod, &self.view(), feasible);
        let column =
            feasible.iter().map(|node| volumes.suitability(*node).map_or(0, |suitability| suitability.score)).collect();
        scores.push((Plugin::VolumeBinding, column));
        scores.sort_by_key(|(plugin, _)| *plugin);
        scores
    }
}

impl Decision {
    /// Upstream's summary of what was found: how many nodes fit, and the reasons of the others with their counts. Of a
    /// node's reasons only those of the first filter that refuses it count, as upstream stops there.
    pub fn summary(&self, node_count: usize) -> String {
        if let Some(rejection) = &self.rejection {
            return rejected(node_count, rejection);
        }
        let mut tally = Tally::new(node_count, &self.narrowed_by);
        for node in &self.nodes {
            tally.count(node.narrowed, &node.refusals);
        }
        tally.summary()
    }
}

pub(crate) fn rejection(pod: &Pod, filters: &NodeFilters<'_>, volumes: &PodVolumes<'_>) -> Option<Refusal> {
    if pod.gated {
        return Some(Refusal {
            plugin: Plugin::SchedulingGates,
            code: Code::SCHEDULING_GATED,
            status: Status::UnschedulableAndUnresolvable,
            reason: "Scheduling is blocked due to non-empty scheduling gates".into(),
            detail: format!("pod {} has spec.schedulingGates", pod.key),
        });
    }
    filters.pod_refusals().iter().chain(volumes.pod_refusals()).min_by_key(|r| r.plugin).cloned()
}

fn judge(row: &NodeRow, filters: &NodeFilters<'_>, volumes: &PodVolumes<'_>) -> NodeDecision {
    let mut refusals = filters.refusals(row);
    refusals.extend(volumes.refusals(row.index()));
    refusals.sort_by_key(|r| r.plugin);
    let name = row.node().name.clone();
    let narrowed = filters.narrowed().iter().any(|(_, names)| !names.contains(&name));
    NodeDecision { node: name, refusals, plan: volumes.plan(row.index()), narrowed, scores: None, total: None }
}
