//! NodeAffinity: preferred node affinity.

use crate::model::Pod;
use crate::nodes::NodeRow;

use super::scale_to_max;

/// `None` where the pod prefers nothing, or a preference cannot be read.
pub(super) fn scores(pod: &Pod, rows: &[&NodeRow]) -> Option<Vec<i64>> {
    let preferred = &pod.preferred_node_affinity;
    // A term of weight 0 is not even read.
    if preferred.is_empty() || preferred.iter().any(|p| p.weight != 0 && p.term.is_err()) {
        return None;
    }
    let of = |row: &&NodeRow| preferred.iter().map(|term| term.score(&row.node().name, &row.node().labels)).sum();
    let mut scores: Vec<i64> = rows.iter().map(of).collect();
    scale_to_max(&mut scores);
    Some(scores)
}
