//! PodTopologySpread: soft constraints, and the default ones of pods that Services and controllers select.

use crate::collections::Map;
use crate::filters::{Constraint, RequiredNodes, default_constraints, has_all_keys, own_constraints};
use crate::labels::Name;
use crate::model::Pod;
use crate::nodes::NodeRow;
use crate::rules::DefaultSpread;
use crate::view::ClusterView;

use super::MAX;

/// `None` where there is no soft constraint, or one cannot be read.
pub(super) fn scores(
    pod: &Pod,
    cluster: &ClusterView<'_>,
    rows: &[&NodeRow],
    defaults: &DefaultSpread,
) -> Option<Vec<i64>> {
    let own = !pod.spread.is_empty();
    let constraints = match own {
        true => own_constraints(pod, false).ok()?,
        false => default_constraints(pod, cluster, defaults, false),
    };
    if constraints.is_empty() {
        return None;
    }
    // The system's constraints score also nodes that lack a label: without zones there is still spreading over nodes.
    let lenient = !own && *defaults == DefaultSpread::System;
    let scored = |row: &NodeRow| lenient || has_all_keys(row.node(), &constraints);
    let candidates: Vec<&NodeRow> = rows.iter().copied().filter(|row| scored(row)).collect();
    let mut domains = domains_of(&candidates, &constraints);
    let counts: Vec<Vec<i64>> =
        constraints.iter().map(|c| c.count_by_node(cluster.nodes, &pod.key.namespace)).collect();
    count(pod, cluster, &constraints, &counts, &mut domains, scored);
    let weights: Vec<f64> = constraints.iter().zip(&domains).map(|(c, d)| weight(c, d, candidates.len())).collect();
    let raw = rows.iter().map(|row| scored(row).then(|| raw_score(row, &constraints, &counts, &domains, &weights)));
    Some(normalised(&raw.collect::<Vec<_>>()))
}

/// The candidates' domains by constraint, with no pod counted yet. Constraints over single nodes need none: a node's
/// pods are counted when it is scored. A node without the label is in the domain of the empty value.
fn domains_of(candidates: &[&NodeRow], constraints: &[Constraint<'_>]) -> Vec<Map<Name, i64>> {
    let none = Name::from("");
    let of = |constraint: &Constraint<'_>| {
        let value = |row: &&NodeRow| row.node().labels.get(&constraint.topology_key).unwrap_or(&none).clone();
        if constraint.is_per_node() { Map::default() } else { candidates.iter().map(|row| (value(row), 0)).collect() }
    };
    constraints.iter().map(of).collect()
}

/// Counts the pods of all nodes, feasible or not, in the domains that candidates are in.
fn count(
    pod: &Pod,
    cluster: &ClusterView<'_>,
    constraints: &[Constraint<'_>],
    counts: &[Vec<i64>],
    domains: &mut [Map<Name, i64>],
    scored: impl Fn(&NodeRow) -> bool,
) {
    let required = RequiredNodes::of(pod);
    for row in cluster.nodes.iter().filter(|row| scored(row)) {
        for ((constraint, counts), domains) in constraints.iter().zip(counts).zip(domains.iter_mut()) {
            let value = row.node().labels.get(&constraint.topology_key).map_or("", |value| &**value);
            let Some(count) = domains.get_mut(value) else { continue };
            if constraint.counts_on(row.node(), pod, &required) {
                *count += on_node(counts, row);
            }
        }
    }
}

fn on_node(counts: &[i64], row: &NodeRow) -> i64 {
    counts.get(row.index().as_usize()).copied().unwrap_or(0)
}

/// Few large domains would drown out many small ones: counts are weighed by the number of domains.
fn weight(constraint: &Constraint<'_>, domains: &Map<Name, i64>, candidates: usize) -> f64 {
    let size = if constraint.is_per_node() { candidates } else { domains.len() };
    ((size + 2) as f64).ln()
}

fn raw_score(
    row: &NodeRow,
    constraints: &[Constraint<'_>],
    counts: &[Vec<i64>],
    domains: &[Map<Name, i64>],
    weights: &[f64],
) -> i64 {
    let mut score = 0.0;
    for (((constraint, counts), domains), weight) in constraints.iter().zip(counts).zip(domains).zip(weights) {
        let Some(value) = row.node().labels.get(&constraint.topology_key) else { continue };
        let count = match constraint.is_per_node() {
            true => on_node(counts, row),
            false => domains.get(value).copied().unwrap_or(0),
        };
        score += count as f64 * weight + f64::from(constraint.max_skew.saturating_sub(1));
    }
    score.round() as i64
}

/// The fewest pods score best; a node that lacks a label scores 0.
fn normalised(raw: &[Option<i64>]) -> Vec<i64> {
    let fewest = raw.iter().flatten().copied().min().unwrap_or(0);
    let most = raw.iter().flatten().copied().max().unwrap_or(0).max(0);
    let scale = |score: i64| if most == 0 { MAX } else { MAX.saturating_mul(most + fewest - score) / most };
    raw.iter().map(|score| score.map_or(0, scale)).collect()
}
