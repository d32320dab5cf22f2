//! NodeAffinity: preferred node affinity.

use crate::model::Pod;
use crate::nodes::NodeRow;
use crate::selector::PreferredTerm;

use super::scale_to_max;

/// `None` where neither the pod nor the profile prefers anything, or a preference cannot be read.
pub(super) fn scores(pod: &Pod, rows: &[&NodeRow], added: &[PreferredTerm]) -> Option<Vec<i64>> {
    let preferred = &pod.preferred_node_affinity;
    // A term of weight 0 is not even read.
    if (preferred.is_empty() && added.is_empty()) || preferred.iter().any(|p| p.weight != 0 && p.term.is_err()) {
        return None;
    }
    let of = |row: &&NodeRow| {
        added.iter().chain(preferred).map(|term| term.score(&row.node().name, &row.node().labels)).sum()
    };
    let mut scores: Vec<i64> = rows.iter().map(of).collect();
    scale_to_max(&mut scores);
    Some(scores)
}
