//! NodeResourcesFit: how much of a node's resources would be used.

use crate::labels::Name;
use crate::model::{Pod, is_scalar};
use crate::nodes::{NodeRow, demand};
use crate::rules::{ResourceWeight, Rules, ScoringStrategy};
use crate::volumes::Shape;

use super::MAX;

pub(super) fn scores(pod: &Pod, rows: &[&NodeRow], rules: &Rules) -> Vec<i64> {
    let scored = scored(pod, &rules.scored);
    let score = |row: &&NodeRow| match &rules.strategy {
        ScoringStrategy::LeastAllocated => mean(row, &scored, free_share),
        ScoringStrategy::MostAllocated => mean(row, &scored, used_share),
        ScoringStrategy::RequestedToCapacityRatio(shape) => by_shape(row, &scored, shape),
    };
    rows.iter().map(score).collect()
}

/// A resource to score, with what the pod would add to its use.
struct Scored<'r> {
    resource: Resource<'r>,
    asked: i64,
    weight: i64,
}

/// The resources by where a row has them.
pub(super) enum Resource<'r> {
    Cpu,
    Memory,
    EphemeralStorage,
    Other(&'r Name),
}

impl<'r> Resource<'r> {
    pub(super) fn of(name: &'r Name) -> Self {
        match &**name {
            "cpu" => Self::Cpu,
            "memory" => Self::Memory,
            "ephemeral-storage" => Self::EphemeralStorage,
            _ => Self::Other(name),
        }
    }

    /// Whether the resource says nothing of a pod that does not ask for it: hugepages and extended resources.
    pub(super) fn is_optional(&self) -> bool {
        matches!(self, Self::Other(name) if is_scalar(name))
    }
}

/// The resources that say something of this pod.
fn scored<'r>(pod: &Pod, resources: &'r [ResourceWeight]) -> Vec<Scored<'r>> {
    let load = demand::load(pod);
    let of = |known: &'r ResourceWeight| {
        let (resource, asked) = (Resource::of(&known.resource), load.of(&known.resource));
        (asked != 0 || !resource.is_optional()).then_some(Scored { resource, asked, weight: known.weight })
    };
    resources.iter().filter_map(of).collect()
}

impl Scored<'_> {
    /// What would be used, and how much there is; `None` where the node has none of it.
    fn on(&self, row: &NodeRow) -> Option<(i64, i64)> {
        let (held, has) = (row.held(), &row.node().allocatable);
        let (taken, allocatable) = match self.resource {
            Resource::Cpu => (held.score_cpu_milli, has.cpu_milli),
            Resource::Memory => (held.score_memory, has.memory),
            Resource::EphemeralStorage => (held.resources.ephemeral_storage, has.ephemeral_storage),
            Resource::Other(name) => (held.resources.scalar(name), has.scalar(name)),
        };
        (allocatable != 0).then_some((taken.wrapping_add(self.asked), allocatable))
    }
}

/// The weighted mean over those resources that the node has at all.
fn mean(row: &NodeRow, scored: &[Scored<'_>], share: fn(i64, i64) -> i64) -> i64 {
    let (mut sum, mut weights) = (0i64, 0i64);
    for resource in scored {
        let Some((used, allocatable)) = resource.on(row) else { continue };
        sum = sum.wrapping_add(share(used, allocatable).wrapping_mul(resource.weight));
        weights += resource.weight;
    }
    if weights == 0 { 0 } else { sum.wrapping_div(weights) }
}

/// Resources that score nothing do not count in the mean, which is rounded, as upstream does it.
fn by_shape(row: &NodeRow, scored: &[Scored<'_>], shape: &Shape) -> i64 {
    let (mut sum, mut weights) = (0i64, 0i64);
    for resource in scored {
        let Some((used, allocatable)) = resource.on(row) else { continue };
        let score = shape.at(if used > allocatable { MAX } else { used.wrapping_mul(MAX).wrapping_div(allocatable) });
        if score > 0 {
            sum += score * resource.weight;
            weights += resource.weight;
        }
    }
    if weights == 0 { 0 } else { (sum as f64 / weights as f64).round() as i64 }
}

/// What stays free, in percent, cut off. Products wrap, as upstream's do: they are exact up to 92 petabytes.
fn free_share(used: i64, allocatable: i64) -> i64 {
    if used > allocatable { 0 } else { allocatable.wrapping_sub(used).wrapping_mul(MAX).wrapping_div(allocatable) }
}

/// What is used, in percent, cut off. Pods that ask for nothing count for something, so it may be more than there is.
fn used_share(used: i64, allocatable: i64) -> i64 {
    used.min(allocatable).wrapping_mul(MAX).wrapping_div(allocatable)
}
