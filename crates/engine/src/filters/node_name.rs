//! NodeName: the pod asks for one node by name.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::labels::Name;
use crate::model::Pod;
use crate::nodes::NodeRow;
use crate::reason::{Code, Plugin, Refusal, Status};

const REASON: &str = "node(s) didn't match the requested node name";

/// `spec.nodeName`, where the pod has one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NodeName<'p> {
    wanted: Option<&'p Name>,
}

impl<'p> NodeName<'p> {
    pub(super) fn prepare(pod: &'p Pod) -> Self {
        Self { wanted: pod.node.as_ref().filter(|name| !name.is_empty()) }
    }

    pub(super) fn names(&self) -> Option<BTreeSet<Name>> {
        self.wanted.map(|name| BTreeSet::from([name.clone()]))
    }

    pub(super) fn fits(&self, row: &NodeRow) -> bool {
        self.wanted.is_none_or(|name| *name == row.node().name)
    }

    pub(super) fn refusal(&self, row: &NodeRow) -> Option<Refusal> {
        let wanted = self.wanted.filter(|_| !self.fits(row))?;
        Some(Refusal {
            plugin: Plugin::NodeName,
            code: Code::NODE_NAME,
            status: Status::UnschedulableAndUnresolvable,
            reason: Cow::Borrowed(REASON),
            detail: format!("the pod's spec.nodeName is {wanted}"),
        })
    }
}
