//! TaintToleration: taints that keep pods away.

use std::borrow::Cow;

use crate::model::{Pod, Taint, TaintEffect, Toleration};
use crate::nodes::NodeRow;
use crate::reason::{Code, Plugin, Refusal, Status};

const REASON: &str = "node(s) had untolerated taint(s)";

/// The pod's tolerations.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaintToleration<'p> {
    tolerations: &'p [Toleration],
}

impl<'p> TaintToleration<'p> {
    pub(super) fn prepare(pod: &'p Pod) -> Self {
        Self { tolerations: &pod.tolerations }
    }

    pub(super) fn fits(self, row: &NodeRow) -> bool {
        self.forbidding(&row.node().taints).is_none()
    }

    /// The first taint that keeps the pod away.
    pub(super) fn forbidding(self, taints: &[Taint]) -> Option<&Taint> {
        taints.iter().find(|taint| keeps_away(taint) && !tolerated(self.tolerations, taint))
    }

    pub(super) fn refusal(self, row: &NodeRow) -> Option<Refusal> {
        let node = row.node();
        self.forbidding(&node.taints)?;
        let taints = node.taints.iter().filter(|taint| keeps_away(taint) && !tolerated(self.tolerations, taint));
        let listed = taints.map(ToString::to_string).collect::<Vec<_>>().join(", ");
        Some(Refusal {
            plugin: Plugin::TaintToleration,
            code: Code::TAINT,
            status: Status::UnschedulableAndUnresolvable,
            reason: Cow::Borrowed(REASON),
            detail: format!("node {} has {listed}, which the pod does not tolerate", node.name),
        })
    }
}

fn keeps_away(taint: &Taint) -> bool {
    matches!(taint.effect, TaintEffect::NoSchedule | TaintEffect::NoExecute)
}

/// Whether one of the tolerations covers the taint.
pub fn tolerated(tolerations: &[Toleration], taint: &Taint) -> bool {
    tolerations.iter().any(|toleration| tolerates(toleration, taint))
}

/// The numeric operators `Lt` and `Gt` tolerate nothing: upstream's gate for them is off by default in 1.37.
fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    toleration.effect.is_none_or(|effect| effect == taint.effect)
        && (toleration.key.is_empty() || toleration.key == taint.key)
        && match &*toleration.operator {
            "" | "Equal" => toleration.value == taint.value,
            "Exists" => true,
            _ => false,
        }
}
