//! InterPodAffinity: preferences for being near other pods, or apart, from both sides.

use crate::filters::{DomainSums, IncomingTerm, existing_matches, incoming, readable, readable_weighted};
use crate::labels::Labels;
use crate::model::{Node, Pod, PodTerm};
use crate::nodes::NodeRow;
use crate::rules::Rules;
use crate::view::ClusterView;

use super::MAX;

/// `None` where no preference meets any pod, or one cannot be read.
pub(super) fn scores(pod: &Pod, cluster: &ClusterView<'_>, rows: &[&NodeRow], rules: &Rules) -> Option<Vec<i64>> {
    if rules.ignore_placed_preferences && pod.preferred_affinity.is_empty() && pod.preferred_anti_affinity.is_empty() {
        return None;
    }
    let mut sums = DomainSums::default();
    prefer(pod, cluster, &mut sums)?;
    be_preferred(pod, cluster, rules.hard_affinity_weight, &mut sums);
    if sums.is_empty() {
        return None;
    }
    let of = |row: &&NodeRow| {
        let domains = sums.keys().filter_map(|key| sums.of(row.node(), key));
        domains.fold(0i64, |sum, domain| sum.saturating_add(domain.sum))
    };
    let raw: Vec<i64> = rows.iter().map(of).collect();
    Some(spread_out(raw))
}

/// The pod's own preferences about placed pods.
fn prefer(pod: &Pod, cluster: &ClusterView<'_>, sums: &mut DomainSums) -> Option<()> {
    let mut terms: Vec<(IncomingTerm<'_>, i64)> = Vec::new();
    for (weighted, sign) in [(&pod.preferred_affinity, 1), (&pod.preferred_anti_affinity, -1)] {
        let resolved = incoming(pod, weighted.iter().map(|w| &w.term), cluster).ok()?;
        terms.extend(resolved.into_iter().zip(weighted.iter().map(|w| sign * i64::from(w.weight))));
    }
    if terms.is_empty() {
        return Some(());
    }
    for group in cluster.nodes.groups() {
        for (term, weight) in terms.iter().filter(|(term, _)| term.matches(group.namespace(), group.labels())) {
            sums.add_group(cluster.nodes, group, term.topology_key, *weight);
        }
    }
    Some(())
}

/// Placed pods' preferences about the pod; `required` is what their required affinity to it weighs.
fn be_preferred(pod: &Pod, cluster: &ClusterView<'_>, required: i64, sums: &mut DomainSums) {
    let none = Labels::default();
    let labels = cluster.namespace_labels(&pod.key.namespace).unwrap_or(&none);
    let mut weigh = |node: &Node, owner: &Pod, term: &PodTerm, weight: i64| {
        if existing_matches(term, owner, pod, labels) {
            sums.add(node, &term.topology_key, weight, || Some(owner.key.clone()));
        }
    };
    for row in cluster.nodes.with_affinity() {
        for owner in row.with_affinity() {
            // Without weight they are not even looked at: a sum of zero would make the plugin score.
            for term in readable(&owner.required_affinity).iter().filter(|_| required > 0) {
                weigh(row.node(), owner, term, required);
            }
            for (weighted, sign) in [(&owner.preferred_affinity, 1), (&owner.preferred_anti_affinity, -1)] {
                for weighted in readable_weighted(weighted) {
                    weigh(row.node(), owner, &weighted.term, sign * i64::from(weighted.weight));
                }
            }
        }
    }
}

/// Spreads the sums from worst to best over 0–100; all 0 where they are equal.
fn spread_out(raw: Vec<i64>) -> Vec<i64> {
    let worst = raw.iter().copied().min().unwrap_or(0);
    let best = raw.iter().copied().max().unwrap_or(0);
    let range = best.saturating_sub(worst);
    let scale = |score: i64| {
        if range > 0 { (MAX as f64 * (score.saturating_sub(worst) as f64 / range as f64)) as i64 } else { 0 }
    };
    raw.into_iter().map(scale).collect()
}
