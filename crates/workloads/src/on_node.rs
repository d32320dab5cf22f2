//! Pods by the node that they are on: to look for them costs what is found, not what there is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_api::kinds::Pod;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::{Change, Mirror, Whole};

/// Pods by node.
#[derive(Clone, Default)]
pub struct OnNode(Arc<Mutex<BTreeMap<String, BTreeSet<ObjectKey>>>>);

impl OnNode {
    /// Follows a mirror. Must be made before the mirror is fed.
    pub fn of(mirror: &Mirror<Whole<Pod>>) -> Self {
        let index = Self::default();
        let told = index.clone();
        mirror.listen(move |change| match change {
            Change::Set { old, new } => {
                if let Some(old) = old.as_ref().filter(|old| old.slim.spec.node_name != new.slim.spec.node_name) {
                    told.drop(old);
                }
                if !new.slim.spec.node_name.is_empty() {
                    let mut nodes = told.lock();
                    nodes.entry(new.slim.spec.node_name.clone()).or_default().insert(key_of(&**new));
                }
            }
            Change::Gone { old } => told.drop(old),
        });
        index
    }

    /// The pods on a node, in order of their keys.
    pub fn pods(&self, node: &str) -> Vec<ObjectKey> {
        self.lock().get(node).into_iter().flatten().cloned().collect()
    }

    /// The nodes that have pods.
    pub fn nodes(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    fn drop(&self, pod: &Whole<Pod>) {
        let mut nodes = self.lock();
        if let Some(pods) = nodes.get_mut(&pod.slim.spec.node_name) {
            pods.remove(&key_of(pod));
            if pods.is_empty() {
                nodes.remove(&pod.slim.spec.node_name);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, BTreeSet<ObjectKey>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
