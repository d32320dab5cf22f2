//! NodeAffinity: `spec.nodeSelector` and required node affinity.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::labels::{Labels, Name};
use crate::model::{Node, Pod};
use crate::nodes::NodeRow;
use crate::reason::{Code, Plugin, Refusal, Status};
use crate::selector::NodeSelector;

const REASON: &str = "node(s) didn't match Pod's node affinity/selector";
const ENFORCED: &str = "node(s) didn't match scheduler-enforced node affinity";
const CONFLICT: &str = "pod affinity terms conflict";

/// The nodes that a pod's selector and required affinity ask for. Topology spread reads it too, and so do DaemonSets.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequiredNodes<'p> {
    selector: Option<&'p Labels>,
    affinity: Option<&'p NodeSelector>,
}

impl<'p> RequiredNodes<'p> {
    /// What a pod asks for.
    pub fn of(pod: &'p Pod) -> Self {
        Self {
            selector: Some(&pod.node_selector).filter(|labels| !labels.is_empty()),
            affinity: pod.required_node_affinity.as_ref(),
        }
    }

    /// Whether the pod asks for nothing, so that all nodes are included.
    pub(crate) fn are_all(&self) -> bool {
        self.selector.is_none() && self.affinity.is_none()
    }

    /// Whether a node is one of them.
    pub fn include(&self, node: &Node) -> bool {
        self.missing_label(node).is_none()
            && self.affinity.is_none_or(|affinity| affinity.matches_node(&node.name, &node.labels))
    }

    /// The first entry of the selector that the node's labels do not meet.
    fn missing_label(&self, node: &Node) -> Option<(&'p Name, &'p Name)> {
        self.selector?.iter().find(|&(key, value)| node.labels.get(key) != Some(value))
    }
}

/// The filter.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeAffinity<'p> {
    /// What the profile asks of every pod's node.
    added: Option<&'p NodeSelector>,
    required: RequiredNodes<'p>,
    /// The only nodes that can match, where every term of the affinity names its nodes.
    names: Option<BTreeSet<Name>>,
}

impl<'p> NodeAffinity<'p> {
    pub(super) fn prepare(pod: &'p Pod, added: Option<&'p NodeSelector>) -> (Self, Option<Refusal>) {
        let required = RequiredNodes::of(pod);
        let names = required.affinity.and_then(NodeSelector::named_nodes);
        let names: Option<BTreeSet<Name>> = names.map(|names| names.iter().cloned().collect());
        let conflict = names.as_ref().filter(|names| names.is_empty()).map(|_| Refusal {
            plugin: Plugin::NodeAffinity,
            code: Code::AFFINITY_CONFLICT,
            status: Status::UnschedulableAndUnresolvable,
            reason: Cow::Borrowed(CONFLICT),
            detail: "each term of the pod's required node affinity asks for several node names at once".to_owned(),
        });
        (Self { added, required, names: names.filter(|names| !names.is_empty()) }, conflict)
    }

    pub(super) fn names(&self) -> Option<&BTreeSet<Name>> {
        self.names.as_ref()
    }

    /// A node that is not among `names` meets no term, so this is also the answer for those narrowed away.
    pub(super) fn fits(&self, row: &NodeRow) -> bool {
        self.fits_added(row) && self.required.include(row.node())
    }

    fn fits_added(&self, row: &NodeRow) -> bool {
        self.added.is_none_or(|added| added.matches_node(&row.node().name, &row.node().labels))
    }

    pub(super) fn refusal(&self, row: &NodeRow) -> Option<Refusal> {
        if self.fits(row) {
            return None;
        }
        let node = row.node();
        let refuse = |reason, detail| Refusal {
            plugin: Plugin::NodeAffinity,
            code: Code::NODE_AFFINITY,
            status: Status::UnschedulableAndUnresolvable,
            reason: Cow::Borrowed(reason),
            detail,
        };
        if !self.fits_added(row) {
            let detail =
                format!("node {} meets no term of the node affinity that the profile adds to every pod", node.name);
            return Some(refuse(ENFORCED, detail));
        }
        let detail = match (self.required.missing_label(node), &self.names) {
            (Some((key, value)), _) => match node.labels.get(key) {
                Some(has) => {
                    format!("the pod's nodeSelector asks for {key}={value}; node {} has {key}={has}", node.name)
                }
                None => format!("the pod's nodeSelector asks for {key}={value}; node {} has no such label", node.name),
            },
            (None, Some(names)) if !names.contains(&node.name) => {
                let listed = names.iter().map(|name| &**name).collect::<Vec<_>>().join(", ");
                format!("the pod's required node affinity names other nodes: {listed}")
            }
            _ => format!("node {} meets no term of the pod's required node affinity", node.name),
        };
        Some(refuse(REASON, detail))
    }
}
