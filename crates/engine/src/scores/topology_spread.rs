//! PodTopologySpread: soft constraints, and the default ones of pods that Services and controllers select.

use std::borrow::Cow;

use crate::filters::{Constraint, RequiredNodes, default_constraints, own_constraints};
use crate::model::Pod;
use crate::nodes::{EMPTY, LabelColumn, MISSING, NodeRow};
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
    let required = RequiredNodes::of(pod);
    let mut axes: Vec<Axis<'_>> = constraints.iter().map(|constraint| Axis::new(constraint, cluster)).collect();
    // The system's constraints score also nodes that lack a label: without zones there is still spreading over nodes.
    let lenient = !own && *defaults == DefaultSpread::System;
    let keyed = |axes: &[Axis<'_>], row: &NodeRow| lenient || axes.iter().all(|axis| axis.number(row) != MISSING);
    let candidates: Vec<&NodeRow> = rows.iter().copied().filter(|row| keyed(&axes, row)).collect();
    // All default constraints count the same pods.
    let shared = (!own).then(|| constraints.first().map(|c| c.count_by_node(cluster.nodes, &pod.key.namespace)));
    let counts: Vec<Cow<'_, [i64]>> = match shared.as_ref().and_then(Option::as_ref) {
        Some(shared) => constraints.iter().map(|_| Cow::Borrowed(&**shared)).collect(),
        None => constraints.iter().map(|c| c.count_by_node(cluster.nodes, &pod.key.namespace).into()).collect(),
    };
    for at in 0..axes.len() {
        axes[at].open(&candidates);
        if axes[at].per_node {
            continue;
        }
        let everywhere = axes[at].constraint.counts_everywhere(&required);
        // The pods of all nodes count, feasible or not, in the domains that candidates are in.
        for row in cluster.nodes.iter() {
            let pods = on_node(&counts[at], row);
            if pods != 0
                && keyed(&axes, row)
                && (everywhere || axes[at].constraint.counts_on(row.node(), pod, &required))
            {
                axes[at].add(row, pods);
            }
        }
    }
    let raw = rows.iter().map(|row| keyed(&axes, row).then(|| raw_score(row, &axes, &counts)));
    Some(normalised(&raw.collect::<Vec<_>>()))
}

/// A constraint with the domains that it spreads over.
struct Axis<'a> {
    constraint: &'a Constraint<'a>,
    per_node: bool,
    /// The nodes' values of the label, as numbers, by node index.
    numbers: Cow<'a, [u32]>,
    /// By number: the domain's pods; `None` where no candidate is in it. Constraints over single nodes need none: a node's
    /// pods are counted when it is scored.
    domains: Vec<Option<i64>>,
    /// Few large domains would drown out many small ones: counts are weighed by the number of domains.
    weight: f64,
}

impl<'a> Axis<'a> {
    fn new(constraint: &'a Constraint<'a>, cluster: &ClusterView<'a>) -> Self {
        let column = cluster.nodes.column(&constraint.topology_key);
        let (numbers, bound) = match column {
            Some(column) => (Cow::Borrowed(column.numbers()), column.bound()),
            None => {
                let mut column = LabelColumn::default();
                for row in cluster.nodes.iter() {
                    column.set(row.index(), row.node().labels.get(&constraint.topology_key));
                }
                (Cow::Owned(column.numbers().to_vec()), column.bound())
            }
        };
        Self { constraint, per_node: constraint.is_per_node(), numbers, domains: vec![None; bound], weight: 0.0 }
    }

    fn number(&self, row: &NodeRow) -> u32 {
        self.numbers.get(row.index().as_usize()).copied().unwrap_or(MISSING)
    }

    /// The domain that a node is in. One that lacks the label is in that of the empty value.
    fn domain(&mut self, row: &NodeRow) -> Option<&mut Option<i64>> {
        let number = self.number(row).max(EMPTY);
        self.domains.get_mut(number as usize)
    }

    /// Opens the candidates' domains, with no pod counted yet.
    fn open(&mut self, candidates: &[&NodeRow]) {
        let mut size = candidates.len();
        if !self.per_node {
            size = 0;
            for row in candidates {
                if let Some(domain @ None) = self.domain(row) {
                    *domain = Some(0);
                    size += 1;
                }
            }
        }
        self.weight = ((size + 2) as f64).ln();
    }

    fn add(&mut self, row: &NodeRow, pods: i64) {
        if let Some(Some(count)) = self.domain(row) {
            *count += pods;
        }
    }
}

fn on_node(counts: &[i64], row: &NodeRow) -> i64 {
    counts.get(row.index().as_usize()).copied().unwrap_or(0)
}

fn raw_score(row: &NodeRow, axes: &[Axis<'_>], counts: &[Cow<'_, [i64]>]) -> i64 {
    let mut score = 0.0;
    for (axis, counts) in axes.iter().zip(counts) {
        let number = axis.number(row);
        if number == MISSING {
            continue;
        }
        let count = match axis.per_node {
            true => on_node(counts, row),
            false => axis.domains.get(number as usize).copied().flatten().unwrap_or(0),
        };
        score += count as f64 * axis.weight + f64::from(axis.constraint.max_skew.saturating_sub(1));
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
