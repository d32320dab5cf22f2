//! Topology spread constraints that allow a little more unevenness.

use crate::reason::Code;

use super::bench::{Bench, Change};
use super::words::edit_pod;
use super::{Invasiveness, Proposal, Refused};

pub(super) fn propose(refused: &Refused<'_>, bench: &mut Bench<'_>) -> Vec<Proposal> {
    let mut proposals = Vec::new();
    if !refused.by(Code::TOPOLOGY_SPREAD) {
        return proposals;
    }
    for (at, constraint) in refused.pod.spread.iter().enumerate().filter(|(_, c)| c.hard) {
        let with = |skew: i64| {
            let mut pod = refused.pod.clone();
            pod.spread[at].max_skew = i32::try_from(skew).unwrap_or(i32::MAX);
            Change::Judge(Box::new(pod))
        };
        let low = i64::from(constraint.max_skew).saturating_add(1);
        let Some(enough) = bench.smallest(low, i64::from(i32::MAX), &refused.node.node, with) else { continue };
        let words = format!(
            "pod {} allows a skew of {enough} over {} instead of {}",
            refused.pod.key, constraint.topology_key, constraint.max_skew
        );
        let field = format!("spec.topologySpreadConstraints[{at}].maxSkew");
        let patch = edit_pod(refused.pod, field, Some(enough.to_string()));
        let more = enough.saturating_sub(i64::from(constraint.max_skew));
        proposals.push(refused.proposal(Invasiveness::Spread, more, words, with(enough)).with_patch(patch));
    }
    proposals
}
