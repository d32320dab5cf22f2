//! Host ports in use on a node.

use crate::labels::Name;
use crate::model::HostPort;

/// The address that stands for every address of the node. `::` does not (UP-10).
const EVERY_ADDRESS: &str = "0.0.0.0";

/// The host ports in use, each with how many pods' containers have it.
///
/// Counted, so that of two pods that were forced onto one port the second keeps it when the first leaves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UsedPorts(Vec<(HostPort, u32)>);

impl UsedPorts {
    /// What a pod with these ports takes.
    pub(crate) fn of(ports: &[HostPort]) -> Self {
        let mut used = Self::default();
        ports.iter().for_each(|port| used.take(port));
        used
    }

    /// Whether a wanted port cannot be had.
    pub fn conflicts(&self, wanted: &HostPort) -> bool {
        self.conflict(wanted).is_some()
    }

    /// The port in use that stands in the way of a wanted one.
    pub fn conflict(&self, wanted: &HostPort) -> Option<&HostPort> {
        let every = address(wanted) == EVERY_ADDRESS;
        self.0.iter().map(|(used, _)| used).find(|used| {
            used.port == wanted.port
                && wanted.port > 0
                && protocol(used) == protocol(wanted)
                && (every || address(used) == EVERY_ADDRESS || address(used) == address(wanted))
        })
    }

    /// Whether no port is in use.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn take(&mut self, port: &HostPort) {
        if port.port <= 0 {
            return;
        }
        let port = normal(port);
        match self.0.binary_search_by(|(used, _)| used.cmp(&port)) {
            Ok(at) => {
                if let Some((_, count)) = self.0.get_mut(at) {
                    *count = count.saturating_add(1);
                }
            }
            Err(at) => self.0.insert(at, (port, 1)),
        }
    }

    pub(super) fn give_back(&mut self, port: &HostPort) {
        let port = normal(port);
        let Ok(at) = self.0.binary_search_by(|(used, _)| used.cmp(&port)) else { return };
        if let Some((_, count)) = self.0.get_mut(at) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.0.remove(at);
            }
        }
    }
}

fn address(port: &HostPort) -> &str {
    if port.ip.is_empty() { EVERY_ADDRESS } else { &port.ip }
}

fn protocol(port: &HostPort) -> &str {
    if port.protocol.is_empty() { "TCP" } else { &port.protocol }
}

fn normal(port: &HostPort) -> HostPort {
    HostPort { ip: Name::from(address(port)), protocol: Name::from(protocol(port)), port: port.port }
}
