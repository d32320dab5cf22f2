//! Which images are where.

use std::collections::BTreeMap;

use crate::collections::Map;
use crate::labels::Name;
use crate::model::Node;
use crate::nodes::NodeIndex;

/// The nodes that have each image, by every name of it, with its size there: a pod's few images are asked for their nodes,
/// and not every node for the images.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ImageSpread(Map<Name, BTreeMap<NodeIndex, i64>>);

impl ImageSpread {
    /// A name that stands twice on a node has the size that stands last.
    pub(super) fn add(&mut self, index: NodeIndex, node: &Node) {
        for image in &node.images {
            for name in &image.names {
                self.0.entry(name.clone()).or_default().insert(index, image.size);
            }
        }
    }

    pub(super) fn remove(&mut self, index: NodeIndex, node: &Node) {
        for name in node.images.iter().flat_map(|image| &image.names) {
            let Some(nodes) = self.0.get_mut(name) else { continue };
            nodes.remove(&index);
            if nodes.is_empty() {
                self.0.remove(name);
            }
        }
    }

    pub(super) fn of(&self, name: &str) -> Option<&BTreeMap<NodeIndex, i64>> {
        self.0.get(name)
    }
}
