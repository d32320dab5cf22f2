//! Numbers by topology domain.

use crate::collections::Map;
use crate::labels::{Name, ObjectKey};
use crate::model::Node;
use crate::nodes::{NodeTable, PodGroup};

/// Numbers by topology key and value. A pod has few keys, so they are searched in order.
///
/// Additive: what one pod contributed can be taken away again, as a what-if needs.
#[derive(Clone, Debug, Default)]
pub(crate) struct DomainSums(Vec<(Name, Map<Name, Domain>)>);

/// One domain's number.
#[derive(Clone, Debug)]
pub(crate) struct Domain {
    /// The number.
    pub(crate) sum: i64,
    /// The first pod that was counted, to name it.
    pub(crate) witness: Option<ObjectKey>,
}

impl Domain {
    /// The witness by name.
    pub(crate) fn witness(&self) -> String {
        self.witness.as_ref().map(ToString::to_string).unwrap_or_default()
    }
}

impl DomainSums {
    /// Adds to the domain of `key` that the node is in; nothing where the node lacks the label. The witness is only
    /// looked for where it is the domain's first.
    pub(crate) fn add(&mut self, node: &Node, key: &Name, amount: i64, witness: impl FnOnce() -> Option<ObjectKey>) {
        let Some(value) = node.labels.get(key) else { return };
        let at = match self.0.iter().position(|(known, _)| known == key) {
            Some(at) => at,
            None => {
                self.0.push((key.clone(), Map::default()));
                self.0.len() - 1
            }
        };
        let Some((_, domains)) = self.0.get_mut(at) else { return };
        let domain = domains.entry(value.clone()).or_insert_with(|| Domain { sum: 0, witness: witness() });
        domain.sum = domain.sum.saturating_add(amount);
    }

    /// Adds `each` for every pod of a group to the domain of `key` that the pod's node is in.
    pub(crate) fn add_group(&mut self, nodes: &NodeTable, group: &PodGroup, key: &Name, each: i64) {
        for (index, count) in group.nodes() {
            let Some(row) = nodes.get(index) else { continue };
            let one_of_them = || row.pods().iter().find(|p| group.includes(p.pod())).map(|p| p.pod().key.clone());
            self.add(row.node(), key, each.saturating_mul(i64::from(count.pods)), one_of_them);
        }
    }

    /// The domain of `key` that the node is in, if anything was added to it.
    pub(crate) fn of(&self, node: &Node, key: &str) -> Option<&Domain> {
        let (_, domains) = self.0.iter().find(|(known, _)| **known == *key)?;
        domains.get(node.labels.get(key)?)
    }

    /// The keys to which something was added.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Name> {
        self.0.iter().map(|(key, _)| key)
    }

    /// Whether nothing is left of what was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|(_, domains)| domains.values().all(|domain| domain.sum == 0))
    }
}
