//! NodeResourcesFit: the share of cpu and memory that stays free.

use crate::model::Pod;
use crate::nodes::{NodeRow, demand};

use super::MAX;

pub(super) fn scores(pod: &Pod, rows: &[&NodeRow]) -> Vec<i64> {
    let (cpu, memory) = demand::load(pod);
    rows.iter().map(|row| score(row, cpu, memory)).collect()
}

/// The mean over those of the two that the node has at all.
fn score(row: &NodeRow, cpu: i64, memory: i64) -> i64 {
    let (held, has) = (row.held(), &row.node().allocatable);
    let after =
        [(held.score_cpu_milli.wrapping_add(cpu), has.cpu_milli), (held.score_memory.wrapping_add(memory), has.memory)];
    let (sum, count) = after
        .into_iter()
        .filter(|&(_, allocatable)| allocatable != 0)
        .fold((0, 0), |(sum, count), (taken, allocatable)| (sum + free_share(taken, allocatable), count + 1));
    if count == 0 { 0 } else { sum / count }
}

fn free_share(taken: i64, allocatable: i64) -> i64 {
    if taken > allocatable {
        return 0;
    }
    let share = (i128::from(allocatable) - i128::from(taken)) * i128::from(MAX) / i128::from(allocatable);
    i64::try_from(share).unwrap_or(MAX)
}
