//! Deciding about one pod: every node's verdict, the plan for its volumes, the scores, and the choice.

#[cfg(test)]
mod tests;

use crate::catalog::Catalog;
use crate::diagnose::{Tally, rejected};
use crate::filters::NodeFilters;
use crate::gates::Gates;
use crate::labels::Name;
use crate::model::Pod;
use crate::nodes::{NodeIndex, NodeRow};
use crate::reason::{Code, Plugin, Refusal, Status};
use crate::rules::Rules;
use crate::scores::NodeScores;
use crate::volumes::{PodVolumes, VolumePlan};

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
    /// Its weighted total; `None` where it was not compared with others.
    pub score: Option<i64>,
}

impl Catalog {
    /// Makes a pod's volumes ready to be judged on any node, by upstream's default profile.
    pub fn volumes_of<'c>(&'c self, pod: &'c Pod, gates: Gates) -> PodVolumes<'c> {
        self.volumes_by(pod, &Rules::new(gates))
    }

    /// Makes a pod's volumes ready to be judged on any node.
    pub fn volumes_by<'c>(&'c self, pod: &'c Pod, rules: &Rules) -> PodVolumes<'c> {
        PodVolumes::prepare(&self.volumes, pod, rules.volumes.clone())
    }

    /// As [`Catalog::decide_by`], by upstream's default profile.
    pub fn decide(&self, pod: &Pod, gates: Gates) -> Decision {
        self.decide_by(pod, &Rules::new(gates))
    }

    /// Decides about a pod and says everything there is to say about every node. The pod must not be seated in the
    /// catalog itself (see [`Catalog::set_aside`]).
    pub fn decide_by(&self, pod: &Pod, rules: &Rules) -> Decision {
        let case = Case::prepare(self, pod, rules);
        if let Some(rejection) = case.rejection() {
            return Decision { rejection: Some(rejection), nodes: Vec::new(), chosen: None, narrowed_by: Vec::new() };
        }
        let mut nodes: Vec<(NodeIndex, NodeDecision)> =
            self.nodes.iter_by_name().map(|row| (row.index(), case.judge(row))).collect();
        let feasible: Vec<NodeIndex> = nodes.iter().filter(|(_, n)| n.is_feasible()).map(|(index, _)| *index).collect();
        let scores = case.scores(&feasible);
        for (at, (_, node)) in nodes.iter_mut().filter(|(_, n)| n.is_feasible()).enumerate() {
            let own: Vec<(Plugin, i64)> = scores.iter().map(|(plugin, column)| (*plugin, column[at])).collect();
            node.total = Some(own.iter().map(|(plugin, score)| rules.weight(*plugin) * score).sum());
            node.scores = Some(own);
        }
        let nodes: Vec<NodeDecision> = nodes.into_iter().map(|(_, n)| n).collect();
        let best = nodes.iter().filter_map(|n| Some((n.total?, &n.node)));
        // Nodes are in order of their names, and the first of the best stays.
        let chosen = best.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, name)| name.clone());
        Decision { rejection: None, nodes, chosen, narrowed_by: case.narrowed_by() }
    }

    /// As [`Catalog::choose_by`], by upstream's default profile and among all nodes.
    pub fn choose(&self, pod: &Pod, gates: Gates) -> Result<Option<Choice>, Refusal> {
        self.choose_by(pod, &Rules::new(gates), &[])
    }

    /// Chooses a node for a pod, without saying why the others do not fit: what a scheduler does all day. The nodes of
    /// `except` are refused by the caller. The pod must not be seated in the catalog itself.
    ///
    /// With the gate `EphemeralForecast` the plan may hold claims that do not exist yet; such a plan says where the pod would
    /// go, and cannot be assumed. A scheduler turns that gate off.
    pub fn choose_by(&self, pod: &Pod, rules: &Rules, except: &[NodeIndex]) -> Result<Option<Choice>, Refusal> {
        let case = Case::prepare(self, pod, rules);
        if let Some(rejection) = case.rejection() {
            return Err(rejection);
        }
        let (feasible, totals) = case.totals(except);
        // They are in order of their names, and the first of the best stays.
        let best = (0..feasible.len()).reduce(|best, next| if totals[next] > totals[best] { next } else { best });
        Ok(best.map(|at| {
            let row = feasible[at];
            let (node, plan) = (row.node().name.clone(), case.volumes.plan(row.index()));
            Choice { node, plan, feasible: feasible.len(), score: Some(totals[at]) }
        }))
    }

    /// Every node that fits with its weighted total, in order of their names: for somebody who has more to say about them,
    /// as extenders have. The nodes of `except` are refused by the caller. Then [`Catalog::plan_on`] says what the pod's
    /// claims become on the one that is taken.
    pub fn rank_by(&self, pod: &Pod, rules: &Rules, except: &[NodeIndex]) -> Result<Vec<(Name, i64)>, Refusal> {
        let case = Case::prepare(self, pod, rules);
        if let Some(rejection) = case.rejection() {
            return Err(rejection);
        }
        let (feasible, totals) = case.totals(except);
        Ok(feasible.into_iter().map(|row| row.node().name.clone()).zip(totals).collect())
    }

    /// What the pod's claims would become on one node; `None` where there is no such node or the pod does not fit there.
    pub fn plan_on(&self, pod: &Pod, rules: &Rules, node: &Name) -> Option<VolumePlan> {
        let row = self.nodes.by_name(node)?;
        let case = Case::prepare(self, pod, rules);
        case.fits(row.index()).then(|| case.volumes.plan(row.index()))
    }
}

/// A pod, made ready to be judged.
pub(crate) struct Case<'c> {
    catalog: &'c Catalog,
    pod: &'c Pod,
    rules: &'c Rules,
    pub(crate) filters: NodeFilters<'c>,
    pub(crate) volumes: PodVolumes<'c>,
}

impl<'c> Case<'c> {
    pub(crate) fn prepare(catalog: &'c Catalog, pod: &'c Pod, rules: &'c Rules) -> Self {
        let filters = NodeFilters::prepare(pod, &catalog.view(), rules);
        Self { catalog, pod, rules, filters, volumes: catalog.volumes_by(pod, rules) }
    }

    /// Why the pod can be placed nowhere: the first in upstream's plugin order.
    pub(crate) fn rejection(&self) -> Option<Refusal> {
        let pod = self.pod;
        if pod.gated && self.rules.filters(Plugin::SchedulingGates) {
            return Some(Refusal {
                plugin: Plugin::SchedulingGates,
                code: Code::SCHEDULING_GATED,
                status: Status::UnschedulableAndUnresolvable,
                reason: "Scheduling is blocked due to non-empty scheduling gates".into(),
                detail: format!("pod {} has spec.schedulingGates", pod.key),
            });
        }
        if let Some(what) = &pod.undecided {
            return Some(undecided(what));
        }
        let all = self.filters.pod_refusals().iter().chain(self.volumes.pod_refusals());
        all.min_by_key(|r| self.rules.rejection_rank(r.plugin)).cloned()
    }

    /// Whether the pod fits on a node.
    pub(crate) fn fits(&self, node: NodeIndex) -> bool {
        let fits = |row| self.filters.fits(row) && self.volumes.suitability(node).is_some();
        self.rejection().is_none() && self.catalog.nodes.get(node).is_some_and(fits)
    }

    pub(crate) fn narrowed_by(&self) -> Vec<Plugin> {
        self.filters.narrowed().iter().map(|(plugin, _)| *plugin).collect()
    }

    /// Whether a plugin narrowed the choice to other nodes before any was looked at.
    pub(crate) fn is_narrowed(&self, row: &NodeRow) -> bool {
        self.filters.narrowed().iter().any(|(_, names)| !names.contains(&row.node().name))
    }

    /// Every no of a node, in upstream's order of plugins.
    pub(crate) fn refusals(&self, row: &NodeRow) -> Vec<Refusal> {
        refusals(&self.filters, &self.volumes, self.rules, row)
    }

    fn judge(&self, row: &NodeRow) -> NodeDecision {
        NodeDecision {
            node: row.node().name.clone(),
            refusals: self.refusals(row),
            plan: self.volumes.plan(row.index()),
            narrowed: self.is_narrowed(row),
            scores: None,
            total: None,
        }
    }

    /// Each plugin's scores of the feasible nodes, in upstream's order of plugins.
    fn scores(&self, feasible: &[NodeIndex]) -> Vec<(Plugin, Vec<i64>)> {
        let mut scores = NodeScores::compute(self.pod, &self.catalog.view(), feasible, self.rules);
        if self.rules.weight(Plugin::VolumeBinding) != 0 {
            let of = |node: &NodeIndex| self.volumes.suitability(*node).map_or(0, |suitability| suitability.score);
            scores.push((Plugin::VolumeBinding, feasible.iter().map(of).collect()));
        }
        scores.sort_by_key(|(plugin, _)| *plugin);
        scores
    }

    /// The nodes that fit, in order of their names, and their weighted totals.
    fn totals(&self, except: &[NodeIndex]) -> (Vec<&'c NodeRow>, Vec<i64>) {
        let nodes = &self.catalog.nodes;
        let mut excepted = vec![false; if except.is_empty() { 0 } else { nodes.capacity() }];
        for index in except {
            if let Some(slot) = excepted.get_mut(index.as_usize()) {
                *slot = true;
            }
        }
        // Most pods have no volumes, and then there is nothing to survey.
        let survey = (!self.volumes.asks_nothing()).then(|| self.volumes.survey());
        let weight = self.rules.weight(Plugin::VolumeBinding);
        let (mut feasible, mut totals) = (Vec::with_capacity(nodes.len()), Vec::with_capacity(nodes.len()));
        for row in nodes.iter_by_name() {
            let score = match &survey {
                None => 0,
                Some(survey) => match survey.score(row.index()) {
                    Some(score) => score,
                    None => continue,
                },
            };
            if !excepted.get(row.index().as_usize()).is_some_and(|excepted| *excepted) && self.filters.fits(row) {
                feasible.push(row);
                totals.push(score * weight);
            }
        }
        for (plugin, column) in NodeScores::of_rows(self.pod, &self.catalog.view(), &feasible, self.rules) {
            let weight = self.rules.weight(plugin);
            for (total, score) in totals.iter_mut().zip(column) {
                *total += weight * score;
            }
        }
        (feasible, totals)
    }
}

/// Every no of a node, in the rules' order of plugins.
pub(crate) fn refusals(
    filters: &NodeFilters<'_>,
    volumes: &PodVolumes<'_>,
    rules: &Rules,
    row: &NodeRow,
) -> Vec<Refusal> {
    let mut refusals = filters.refusals(row);
    refusals.extend(volumes.refusals(row.index()));
    refusals.sort_by_key(|r| rules.filter_rank(r.plugin));
    refusals
}

/// The refusal of a pod that uses what nothing here decides about.
fn undecided(what: &str) -> Refusal {
    let plugin = if what == "spec.schedulingGroup" { Plugin::GangScheduling } else { Plugin::DynamicResources };
    Refusal {
        plugin,
        code: Code::UNDECIDED,
        status: Status::UnschedulableAndUnresolvable,
        reason: format!("pod uses {what}, which this scheduler does not decide about").into(),
        detail: format!("{what} is set, and placing the pod as though it were not could be wrong"),
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
