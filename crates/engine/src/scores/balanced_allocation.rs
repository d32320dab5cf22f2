//! NodeResourcesBalancedAllocation: whether a node's resources become more evenly used.

use smallvec::SmallVec;

use crate::labels::Name;
use crate::model::Pod;
use crate::nodes::{NodeRow, demand};

use super::MAX;
use super::allocation::Resource;

/// `None` where the pod asks for none of the resources (UP-13): all such pods would go to one node.
pub(super) fn scores(pod: &Pod, rows: &[&NodeRow], resources: &[Name]) -> Option<Vec<i64>> {
    let weight = demand::weight(pod);
    let asked: Vec<(Resource<'_>, i64)> = resources.iter().map(|name| (Resource::of(name), weight.of(name))).collect();
    if asked.iter().all(|(_, asked)| *asked == 0) {
        return None;
    }
    let asked: Vec<_> = asked.into_iter().filter(|(resource, asked)| *asked != 0 || !resource.is_optional()).collect();
    Some(rows.iter().map(|row| score(row, &asked)).collect())
}

/// Half for the balance itself, half for how the pod changes it: 75 where it changes nothing.
fn score(row: &NodeRow, asked: &[(Resource<'_>, i64)]) -> i64 {
    // Mostly it is cpu and memory, of a node that has both.
    if let [(a, for_a), (b, for_b)] = asked
        && let ((a, has_a), (b, has_b)) = (use_of(row, a), use_of(row, b))
        && has_a != 0
        && has_b != 0
    {
        let with = [share(a.wrapping_add(*for_a), has_a), share(b.wrapping_add(*for_b), has_b)];
        return change(balance(&with), balance(&[share(a, has_a), share(b, has_b)]));
    }
    let (mut with, mut without) = (Shares::new(), Shares::new());
    for (resource, asked) in asked {
        let (taken, allocatable) = use_of(row, resource);
        // A resource that the node does not have cannot be out of balance.
        if allocatable != 0 {
            with.push(share(taken.wrapping_add(*asked), allocatable));
            without.push(share(taken, allocatable));
        }
    }
    change(balance(&with), balance(&without))
}

fn change(with: i64, without: i64) -> i64 {
    MAX / 2 + (MAX / 2 + with - without) / 2
}

fn share(taken: i64, allocatable: i64) -> f64 {
    (taken as f64 / allocatable as f64).min(1.0)
}

type Shares = SmallVec<[f64; 4]>;

#[inline]
fn use_of(row: &NodeRow, resource: &Resource<'_>) -> (i64, i64) {
    let (taken, has) = (row.requested(), &row.node().allocatable);
    match resource {
        Resource::Cpu => (taken.cpu_milli, has.cpu_milli),
        Resource::Memory => (taken.memory, has.memory),
        Resource::EphemeralStorage => (taken.ephemeral_storage, has.ephemeral_storage),
        Resource::Other(name) => (taken.scalar(name), has.scalar(name)),
    }
}

/// 100 where all are used to the same share, 50 where half of them are full and the others empty: the standard deviation
/// of the shares. That of two is computed as upstream does, which is not the same to the last bit.
#[inline]
fn balance(shares: &[f64]) -> i64 {
    let deviation = match shares {
        [] | [_] => 0.0,
        [a, b] => ((a - b) / 2.0).abs(),
        several => {
            let count = several.len() as f64;
            let mean = several.iter().sum::<f64>() / count;
            // One after the other, as upstream sums them: floating point tells the difference.
            let squares = several.iter().fold(0.0, |sum, share| sum + (share - mean) * (share - mean));
            (squares / count).sqrt()
        }
    };
    ((1.0 - deviation) * MAX as f64) as i64
}
