//! TaintToleration: fewer PreferNoSchedule taints that the pod does not tolerate.

use crate::filters::tolerated;
use crate::model::{Pod, TaintEffect};
use crate::nodes::NodeRow;

use super::{MAX, scale_to_max};

pub(super) fn scores(pod: &Pod, rows: &[&NodeRow]) -> Vec<i64> {
    let mut scores: Vec<i64> = rows.iter().map(|row| unwelcome(pod, row)).collect();
    scale_to_max(&mut scores);
    for score in &mut scores {
        *score = MAX - *score;
    }
    scores
}

fn unwelcome(pod: &Pod, row: &NodeRow) -> i64 {
    let soft = row.node().taints.iter().filter(|taint| taint.effect == TaintEffect::PreferNoSchedule);
    i64::try_from(soft.filter(|taint| !tolerated(&pod.tolerations, taint)).count()).unwrap_or(i64::MAX)
}
