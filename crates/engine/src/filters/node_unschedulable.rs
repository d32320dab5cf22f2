//! NodeUnschedulable: cordoned nodes.

use std::borrow::Cow;

use crate::labels::Name;
use crate::model::{Pod, Taint, TaintEffect};
use crate::nodes::NodeRow;
use crate::reason::{Code, Plugin, Refusal, Status};

use super::tolerated;

const REASON: &str = "node(s) were unschedulable";
const TAINT: &str = "node.kubernetes.io/unschedulable";

/// Whether the pod may go to cordoned nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeUnschedulable {
    /// The pod tolerates the taint that a cordoned node gets, and so the cordon itself.
    tolerated: bool,
}

impl NodeUnschedulable {
    pub(super) fn prepare(pod: &Pod) -> Self {
        let taint = Taint { key: Name::from(TAINT), value: Name::from(""), effect: TaintEffect::NoSchedule };
        Self { tolerated: tolerated(&pod.tolerations, &taint) }
    }

    pub(super) fn fits(self, row: &NodeRow) -> bool {
        self.tolerated || !row.node().unschedulable
    }

    pub(super) fn refusal(self, row: &NodeRow) -> Option<Refusal> {
        (!self.fits(row)).then(|| Refusal {
            plugin: Plugin::NodeUnschedulable,
            code: Code::NODE_UNSCHEDULABLE,
            status: Status::UnschedulableAndUnresolvable,
            reason: Cow::Borrowed(REASON),
            detail: format!("node {} is cordoned, and the pod does not tolerate {TAINT}", row.node().name),
        })
    }
}
