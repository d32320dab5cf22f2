//! StorageClass.allowedTopologies.

use super::requirement::sorted;
use super::syntax::{is_label_key, is_label_value};
use crate::labels::{Labels, Name};

/// A term as the API writes it: keys, each with the values allowed.
pub type RawTopologyTerm = Vec<(Name, Vec<Name>)>;

/// Compiled allowedTopologies. No term: everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AllowedTopologies {
    terms: Option<Box<[Term]>>,
}

/// A term: every key must have one of its values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Term {
    expressions: Box<[(Name, Box<[Name]>)]>,
    /// Whether a node can match at all. The API lets a term be stored that none can: provisioners still read it.
    valid: bool,
}

impl AllowedTopologies {
    /// Compiles the terms. None is an error: one that is not valid is one that no node matches.
    pub fn compile(terms: &[RawTopologyTerm]) -> Self {
        if terms.is_empty() {
            return Self::default();
        }
        Self { terms: Some(terms.iter().map(Term::compile).collect()) }
    }

    /// Whether there is no restriction.
    pub fn is_unrestricted(&self) -> bool {
        self.terms.is_none()
    }

    /// Whether the node's labels are allowed.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.terms.as_ref().is_none_or(|terms| terms.iter().any(|term| term.matches(labels)))
    }

    /// Every label key that the terms read, sorted.
    pub fn keys(&self) -> Vec<Name> {
        let valid = self.terms.iter().flatten().filter(|term| term.valid);
        let mut keys: Vec<Name> = valid.flat_map(|term| term.expressions.iter()).map(|(key, _)| key.clone()).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Every combination of values, term by term: what a provisioner hands to its driver. Unlike [`Self::matches`],
    /// this also reads terms that no node can match.
    pub fn flatten(&self) -> Vec<Labels> {
        self.terms.iter().flatten().flat_map(Term::flatten).collect()
    }
}

impl Term {
    fn compile(raw: &RawTopologyTerm) -> Self {
        let valid = |(key, values): &(Name, Vec<Name>)| {
            is_label_key(key) && !values.is_empty() && values.iter().all(|value| is_label_value(value))
        };
        Self {
            valid: !raw.is_empty() && raw.iter().all(valid),
            expressions: raw.iter().map(|(key, values)| (key.clone(), sorted(values))).collect(),
        }
    }

    fn matches(&self, labels: &Labels) -> bool {
        let allowed = |(key, values): &(Name, Box<[Name]>)| {
            labels.get(key).is_some_and(|value| values.binary_search(value).is_ok())
        };
        self.valid && self.expressions.iter().all(allowed)
    }

    fn flatten(&self) -> Vec<Labels> {
        let mut combinations: Vec<Vec<(Name, Name)>> = Vec::new();
        for (key, values) in &self.expressions {
            // Nothing before it, because it is the first or because one without values wiped it: start afresh.
            if combinations.is_empty() {
                combinations.push(Vec::new());
            }
            let with = |value: &Name| {
                let extended = combinations.iter().map(|so_far| {
                    let mut longer = so_far.clone();
                    longer.push((key.clone(), value.clone()));
                    longer
                });
                extended.collect::<Vec<_>>()
            };
            combinations = values.iter().flat_map(with).collect();
        }
        combinations.into_iter().map(Labels::from_iter).collect()
    }
}
