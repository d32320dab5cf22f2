//! Names and label sets.

use std::sync::Arc;

/// A name, label key or label value. Shared, because one zone name stands on thousands of objects.
pub type Name = Arc<str>;

/// The key of a namespaced object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// The namespace.
    pub namespace: Name,
    /// The name within the namespace.
    pub name: Name,
}

impl ObjectKey {
    /// A key from its two parts.
    pub fn new(namespace: impl Into<Name>, name: impl Into<Name>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl std::fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A set of labels, sorted by key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Labels(Box<[(Name, Name)]>);

impl Labels {
    /// The value of `key`, if the label is present.
    pub fn get(&self, key: &str) -> Option<&Name> {
        self.0.binary_search_by(|(k, _)| (**k).cmp(key)).ok().map(|i| &self.0[i].1)
    }

    /// Whether the label is present, whatever its value.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The labels in order of their keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Name, &Name)> {
        self.0.iter().map(|(k, v)| (k, v))
    }

    /// How many labels there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no label.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K: Into<Name>, V: Into<Name>> FromIterator<(K, V)> for Labels {
    /// Collects pairs; of a repeated key the last value stays, as in a JSON map.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let map: std::collections::BTreeMap<Name, Name> =
            pairs.into_iter().map(|(k, v)| (k.into(), v.into())).collect();
        Self(map.into_iter().collect())
    }
}
