//! A label of all nodes as a column of numbers: which nodes are in one domain is then seen without comparing text.
//!
//! Kept for the labels that pods are spread by unless told otherwise. Every other label is read from the nodes.

use crate::collections::Map;
use crate::labels::{Labels, Name};
use crate::nodes::NodeIndex;

/// The labels that have a column: nodes, zones, regions.
const KEYS: [&str; 3] = ["kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

/// The number of a node that lacks the label.
pub(crate) const MISSING: u32 = 0;
/// The number of the empty value, which is in one domain with the nodes that lack the label.
pub(crate) const EMPTY: u32 = 1;

/// A label's values, numbered.
#[derive(Clone, Debug, Default)]
pub(crate) struct LabelColumn {
    /// By node index; [`MISSING`] where the node lacks the label or does not exist.
    numbers: Vec<u32>,
    by_value: Map<Name, u32>,
    /// The values, with how many nodes have each. Those of [`MISSING`] and [`EMPTY`] are not used.
    values: Vec<(Name, u32)>,
    /// Numbers whose value no node has any more.
    free: Vec<u32>,
}

impl LabelColumn {
    /// By node index; [`MISSING`] where the node lacks the label, and of indexes beyond the end.
    pub(crate) fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// A number above all that are in use.
    pub(crate) fn bound(&self) -> usize {
        self.values.len().max(EMPTY as usize + 1)
    }

    /// A node's value; `None` where it lacks the label.
    #[cfg(test)]
    pub(crate) fn value(&self, index: NodeIndex) -> Option<Name> {
        let number = self.numbers.get(index.as_usize()).copied().filter(|number| *number != MISSING)?;
        Some(self.values.get(number as usize).map(|(value, _)| value.clone()).unwrap_or_default())
    }

    /// Sets a node's value; `None` where it lacks the label or is gone.
    pub(crate) fn set(&mut self, index: NodeIndex, value: Option<&Name>) {
        let at = index.as_usize();
        if at >= self.numbers.len() {
            self.numbers.resize(at + 1, MISSING);
        }
        let new = self.take(value);
        let old = self.numbers.get_mut(at).map_or(MISSING, |slot| std::mem::replace(slot, new));
        self.give_back(old);
    }

    fn take(&mut self, value: Option<&Name>) -> u32 {
        let Some(value) = value else { return MISSING };
        if value.is_empty() {
            return EMPTY;
        }
        if let Some(&number) = self.by_value.get(value) {
            if let Some((_, nodes)) = self.values.get_mut(number as usize) {
                *nodes += 1;
            }
            return number;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            let next = self.bound();
            self.values.resize(next + 1, (Name::default(), 0));
            // As many values as nodes at the most, whose indexes are of 32 bits too.
            u32::try_from(next).unwrap_or(u32::MAX)
        });
        self.by_value.insert(value.clone(), number);
        if let Some(slot) = self.values.get_mut(number as usize) {
            *slot = (value.clone(), 1);
        }
        number
    }

    fn give_back(&mut self, number: u32) {
        if number <= EMPTY {
            return;
        }
        let Some((value, nodes)) = self.values.get_mut(number as usize) else { return };
        *nodes = nodes.saturating_sub(1);
        if *nodes == 0 {
            self.by_value.remove(value);
            *value = Name::default();
            self.free.push(number);
        }
    }
}

/// The columns.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelColumns([LabelColumn; KEYS.len()]);

impl LabelColumns {
    /// The label's column, if it has one.
    pub(super) fn get(&self, key: &str) -> Option<&LabelColumn> {
        self.0.get(KEYS.iter().position(|known| *known == key)?)
    }

    /// Sets a node's labels; `None` where it is gone.
    pub(super) fn set(&mut self, index: NodeIndex, labels: Option<&Labels>) {
        for (key, column) in KEYS.iter().zip(&mut self.0) {
            column.set(index, labels.and_then(|labels| labels.get(key)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{EMPTY, LabelColumn, MISSING};
    use crate::labels::Name;
    use crate::nodes::NodeIndex;

    #[test]
    fn equal_values_have_one_number_and_numbers_are_used_again() {
        let mut column = LabelColumn::default();
        let mut set = |node: u32, value: Option<&str>| {
            column.set(NodeIndex(node), value.map(Name::from).as_ref());
            (column.numbers().to_vec(), column.bound())
        };
        assert_eq!(set(1, Some("a")), (vec![MISSING, 2], 3));
        assert_eq!(set(0, Some("b")), (vec![3, 2], 4));
        assert_eq!(set(2, Some("a")), (vec![3, 2, 2], 4));
        assert_eq!(set(0, Some("a")), (vec![2, 2, 2], 4));
        assert_eq!(set(1, Some("")), (vec![2, EMPTY, 2], 4));
        // A repeat changes nothing, and what nobody has any more gives its number to the next.
        assert_eq!(set(2, Some("a")), (vec![2, EMPTY, 2], 4));
        assert_eq!(set(1, Some("c")), (vec![2, 3, 2], 4));
        assert_eq!(set(1, None), (vec![2, MISSING, 2], 4));
    }
}
