//! NodeResourcesBalancedAllocation: whether cpu and memory become more evenly used.

use crate::model::Pod;
use crate::nodes::{NodeRow, demand};

use super::MAX;

/// `None` where the pod asks for neither cpu nor memory (UP-13): all such pods would go to one node.
pub(super) fn scores(pod: &Pod, rows: &[&NodeRow]) -> Option<Vec<i64>> {
    let (cpu, memory) = demand::weight(pod);
    if cpu == 0 && memory == 0 {
        return None;
    }
    Some(rows.iter().map(|row| score(row, cpu, memory)).collect())
}

/// Half for the balance itself, half for how the pod changes it: 75 where it changes nothing.
fn score(row: &NodeRow, cpu: i64, memory: i64) -> i64 {
    let (taken, has) = (row.requested(), &row.node().allocatable);
    let with =
        balance((taken.cpu_milli.wrapping_add(cpu), has.cpu_milli), (taken.memory.wrapping_add(memory), has.memory));
    let without = balance((taken.cpu_milli, has.cpu_milli), (taken.memory, has.memory));
    MAX / 2 + (MAX / 2 + with - without) / 2
}

/// 100 where both are used to the same share, 50 where one is full and the other empty. A resource that the node does
/// not have cannot be out of balance.
fn balance(cpu: (i64, i64), memory: (i64, i64)) -> i64 {
    let share = |(taken, allocatable): (i64, i64)| (taken as f64 / allocatable as f64).min(1.0);
    let deviation = if cpu.1 == 0 || memory.1 == 0 { 0.0 } else { ((share(cpu) - share(memory)) / 2.0).abs() };
    ((1.0 - deviation) * MAX as f64) as i64
}
