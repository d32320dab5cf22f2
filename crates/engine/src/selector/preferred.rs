//! Preferred node affinity.

use super::error::Path;
use super::{NodeSelectorTerm, RawRequirement, SelectorError};
use crate::labels::Labels;

/// A weighted term of preferred node affinity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PreferredTerm {
    /// Weight.
    pub weight: i32,
    /// The term.
    pub term: Result<NodeSelectorTerm, SelectorError>,
}

impl PreferredTerm {
    /// Compiles the term that stands at `index` in the pod's list. A term without weight is not looked at: it neither
    /// matches nor fails.
    pub fn compile(index: usize, weight: i32, expressions: &[RawRequirement], fields: &[RawRequirement]) -> Self {
        let term = if weight == 0 {
            Ok(NodeSelectorTerm::default())
        } else {
            NodeSelectorTerm::compile_at(expressions, fields, &Path::ROOT.index(index))
                .map_err(|messages| SelectorError::aggregate(&messages))
        };
        Self { weight, term }
    }

    /// What the term adds to the node's score; a term that is not valid adds nothing.
    pub fn score(&self, name: &str, labels: &Labels) -> i64 {
        match &self.term {
            Ok(term) if term.matches(name, labels) => i64::from(self.weight),
            _ => 0,
        }
    }
}
