//! Scores: how good a node is for a pod, for every rule that is not about volumes.
//!
//! Each plugin gives every feasible node 0–100, in upstream's arithmetic to the last unit; some normalise over the
//! feasible nodes, so a node's score depends on which others there are.

mod allocation;
mod balanced_allocation;
mod image_locality;
mod inter_pod_affinity;
mod node_affinity;
mod taint_toleration;
#[cfg(test)]
mod tests;
mod topology_spread;

use crate::model::Pod;
use crate::nodes::{NodeIndex, NodeRow};
use crate::reason::Plugin;
use crate::rules::Rules;
use crate::view::ClusterView;

/// The best score that a plugin gives.
pub const MAX: i64 = 100;

/// The score plugins.
#[derive(Clone, Copy, Debug)]
pub struct NodeScores;

impl NodeScores {
    /// Each plugin's scores of the feasible nodes, in the nodes' order; plugins in upstream's order. A plugin that has
    /// nothing to say of this pod (upstream skips it), or that weighs nothing, is left out, and counts 0. The pod is not
    /// itself among the cluster's placed pods. An index that has no row scores 0.
    pub fn compute(
        pod: &Pod,
        cluster: &ClusterView<'_>,
        feasible: &[NodeIndex],
        rules: &Rules,
    ) -> Vec<(Plugin, Vec<i64>)> {
        let rows: Vec<&NodeRow> = feasible.iter().filter_map(|&index| cluster.nodes.get(index)).collect();
        let aligned = |scores: Vec<i64>| {
            if rows.len() == feasible.len() {
                return scores;
            }
            let mut given = scores.into_iter();
            let exists = feasible.iter().map(|&index| cluster.nodes.get(index).is_some());
            exists.map(|exists| if exists { given.next().unwrap_or(0) } else { 0 }).collect()
        };
        Self::of_rows(pod, cluster, &rows, rules).map(|(plugin, scores)| (plugin, aligned(scores))).collect()
    }

    /// As [`NodeScores::compute`], of rows at hand.
    pub(crate) fn of_rows(
        pod: &Pod,
        cluster: &ClusterView<'_>,
        rows: &[&NodeRow],
        rules: &Rules,
    ) -> impl Iterator<Item = (Plugin, Vec<i64>)> {
        let of = move |plugin| match plugin {
            _ if rules.weight(plugin) == 0 => None,
            Plugin::TaintToleration => Some(taint_toleration::scores(pod, rows)),
            Plugin::NodeAffinity => node_affinity::scores(pod, rows, &rules.added_affinity.preferred),
            Plugin::NodeResourcesFit => Some(allocation::scores(pod, rows, rules)),
            Plugin::PodTopologySpread => topology_spread::scores(pod, cluster, rows, &rules.default_spread),
            Plugin::InterPodAffinity => inter_pod_affinity::scores(pod, cluster, rows, rules),
            Plugin::NodeResourcesBalancedAllocation => balanced_allocation::scores(pod, rows, &rules.balanced),
            Plugin::ImageLocality => Some(image_locality::scores(pod, cluster, rows)),
            _ => None,
        };
        Plugin::ALL.into_iter().filter_map(move |plugin| Some((plugin, of(plugin)?)))
    }
}

/// Scales non-negative numbers so that the largest becomes [`MAX`].
fn scale_to_max(scores: &mut [i64]) {
    let largest = scores.iter().copied().max().unwrap_or(0);
    if largest > 0 {
        for score in scores {
            *score = MAX.saturating_mul(*score) / largest;
        }
    }
}
