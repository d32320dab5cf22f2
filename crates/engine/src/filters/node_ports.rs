//! NodePorts: host ports that are taken.

use std::borrow::Cow;

use crate::model::{HostPort, Pod};
use crate::nodes::NodeRow;
use crate::reason::{Code, Plugin, Refusal, Status};

const REASON: &str = "node(s) didn't have free ports for the requested pod ports";

/// The host ports that the pod asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodePorts<'p> {
    wanted: &'p [HostPort],
}

impl<'p> NodePorts<'p> {
    pub(super) fn prepare(pod: &'p Pod) -> Self {
        Self { wanted: &pod.host_ports }
    }

    pub(super) fn fits(self, row: &NodeRow) -> bool {
        !self.wanted.iter().any(|port| row.ports().conflicts(port))
    }

    pub(super) fn refusal(self, row: &NodeRow) -> Option<Refusal> {
        let (wanted, used) = self.wanted.iter().find_map(|port| Some((port, row.ports().conflict(port)?)))?;
        Some(Refusal {
            plugin: Plugin::NodePorts,
            code: Code::HOST_PORT,
            status: Status::Unschedulable,
            reason: Cow::Borrowed(REASON),
            detail: format!("wants host port {wanted}; {used} is taken on {}", row.node().name),
        })
    }
}
