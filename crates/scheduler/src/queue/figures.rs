//! What the queue says of itself: upstream's `scheduler_pending_pods` and `scheduler_queue_incoming_pods_total`.

use std::collections::BTreeMap;

/// Where a pod stands in line, by upstream's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Line {
    /// It can be taken.
    Active,
    /// It can be taken when its backoff is over.
    Backoff,
    /// It waits for a change.
    Unschedulable,
    /// It waits until its gates are gone.
    Gated,
}

impl Line {
    /// Upstream's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Line::Active => "active",
            Line::Backoff => "backoff",
            Line::Unschedulable => "unschedulable",
            Line::Gated => "gated",
        }
    }
}

/// How many pods stand where, and what brought them there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Pods that can be taken.
    pub active: usize,
    /// Pods whose backoff runs.
    pub backoff: usize,
    /// Pods that wait for a change.
    pub unschedulable: usize,
    /// Pods with scheduling gates.
    pub gated: usize,
    /// Pods that were taken: being placed or being bound.
    pub in_hand: usize,
    /// How often an event, by upstream's name, put a pod in a line. Only grows.
    pub incoming: BTreeMap<(&'static str, Line), u64>,
    /// How many waiting pods were asked whether a change could help them. Only grows.
    pub looks: u64,
}
