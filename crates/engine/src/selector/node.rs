//! v1.NodeSelector.
use super::{RawRequirement, Requirement, SelectorError};
use crate::labels::Labels;
/// A compiled NodeSelector: a list of terms of which one must match. No term: no node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeSelector {
    terms: Box<[Result<NodeSelectorTerm, SelectorError>]>,
}
/// A compiled term: all requirements must hold; an empty one never matches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeSelectorTerm {
    expressions: Box<[Requirement]>,
    fields: Box<[Requirement]>,
}
/// A weighted term of preferred node affinity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreferredTerm {
    /// Weight.
    pub weight: i32,
    /// The term.
    pub term: Result<NodeSelectorTerm, SelectorError>,
}
impl NodeSelector {
    /// Compiles terms of (matchExpressions, matchFields).
    pub fn compile(terms: &[(Vec<RawRequirement>, Vec<RawRequirement>)]) -> Self {
        let _ = terms;
        unimplemented!()
    }
    /// The terms; an `Err` is a term that never matches.
    pub fn terms(&self) -> &[Result<NodeSelectorTerm, SelectorError>] {
        &self.terms
    }
    /// Whether a node with these labels matches, its name unknown: how volumes' affinity is evaluated.
    pub fn matches_labels(&self, labels: &Labels) -> bool {
        let _ = labels;
        unimplemented!()
    }
    /// Whether the node matches: how pods' affinity is evaluated.
    pub fn matches_node(&self, name: &str, labels: &Labels) -> bool {
        let _ = (name, labels);
        unimplemented!()
    }
}
impl NodeSelectorTerm {
    /// The requirements on labels.
    pub fn expressions(&self) -> &[Requirement] {
        &self.expressions
    }
    /// The requirements on fields (`metadata.name`).
    pub fn fields(&self) -> &[Requirement] {
        &self.fields
    }
    /// Whether the term has no requirement at all.
    pub fn is_empty(&self) -> bool {
        self.expressions.is_empty() && self.fields.is_empty()
    }
}
