//! NodeDeclaredFeatures: nodes whose kubelet or runtime cannot do what the pod's spec asks for.

use std::borrow::Cow;

use crate::model::{Features, Pod};
use crate::nodes::NodeRow;
use crate::reason::{Code, Plugin, Refusal, Status};

const REASON: &str = "node(s) didn't match Pod's required features";

/// What a node must declare.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeDeclaredFeatures {
    needed: Features,
}

impl NodeDeclaredFeatures {
    /// `None` where the pod needs nothing, as nearly all do: then no node pays for the question.
    pub(super) fn prepare(pod: &Pod) -> Option<Self> {
        (!pod.features.is_empty()).then_some(Self { needed: pod.features })
    }

    pub(super) fn fits(self, row: &NodeRow) -> bool {
        row.node().features.include(self.needed)
    }

    pub(super) fn refusal(self, row: &NodeRow) -> Option<Refusal> {
        let node = row.node();
        let missing: Vec<&str> = self.needed.beyond(node.features).map(|feature| feature.name()).collect();
        (!missing.is_empty()).then(|| Refusal {
            plugin: Plugin::NodeDeclaredFeatures,
            code: Code::NODE_FEATURES,
            status: Status::UnschedulableAndUnresolvable,
            reason: Cow::Borrowed(REASON),
            detail: format!("node {} does not declare {}, which the pod needs", node.name, missing.join(", ")),
        })
    }
}
