//! Which images are where.

use crate::collections::Map;
use crate::labels::Name;
use crate::model::Node;

/// How many nodes have each image, by every name of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ImageSpread(Map<Name, u32>);

impl ImageSpread {
    pub(super) fn add(&mut self, images: &Map<Name, i64>) {
        for name in images.keys() {
            *self.0.entry(name.clone()).or_default() += 1;
        }
    }

    pub(super) fn remove(&mut self, images: &Map<Name, i64>) {
        for name in images.keys() {
            if let Some(count) = self.0.get_mut(name) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    self.0.remove(name);
                }
            }
        }
    }

    pub(super) fn nodes(&self, name: &str) -> u32 {
        self.0.get(name).copied().unwrap_or(0)
    }
}

/// A node's images by name. A name that stands twice has the size that stands last.
pub(super) fn sizes(node: &Node) -> Map<Name, i64> {
    node.images.iter().flat_map(|image| image.names.iter().map(|name| (name.clone(), image.size))).collect()
}
