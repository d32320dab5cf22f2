//! What a change of the waiting pod itself can do for it.

use crate::model::Pod;
use crate::nodes::demand;
use crate::reason::Plugin;
use crate::wakeups::Wait;

/// Whether a change of a pod itself could make it schedulable that these refused. What only its status says of it does
/// not count: its own condition, written because it was refused, must not wake it.
pub fn own_change_helps(wait: &Wait, old: &Pod, new: &Pod) -> bool {
    if old.uid != new.uid || (old.gated && !new.gated) || old.priority != new.priority {
        return true;
    }
    // An API server lets few fields of a pod change; whatever else did, the verdict is about another pod.
    let rest = |pod: &Pod| Pod {
        version: 0,
        deleting: false,
        preempted: false,
        nominated_node: None,
        started: None,
        labels: Default::default(),
        tolerations: Vec::new(),
        demand: Default::default(),
        ..pod.clone()
    };
    if rest(old) != rest(new) {
        return true;
    }
    let by = |plugin: Plugin| wait.refused_by().any(|(by, _)| by == plugin);
    (old.labels != new.labels && (by(Plugin::InterPodAffinity) || by(Plugin::PodTopologySpread)))
        || (old.tolerations != new.tolerations
            && (by(Plugin::TaintToleration) || by(Plugin::NodeUnschedulable) || by(Plugin::PodTopologySpread)))
        || (old.demand != new.demand && by(Plugin::NodeResourcesFit) && asks_less(old, new))
}

fn asks_less(old: &Pod, new: &Pod) -> bool {
    let (old, new) = (demand::asked(old), demand::asked(new));
    old.cpu_milli > new.cpu_milli
        || old.memory > new.memory
        || old.ephemeral_storage > new.ephemeral_storage
        || old.scalar.iter().any(|(name, amount)| *amount > new.scalar(name))
}
