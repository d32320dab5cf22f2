//! v1.NodeSelector.

use super::error::Path;
use super::{RawRequirement, Requirement, SelectorError};
use crate::labels::{Labels, Name};

/// A compiled NodeSelector: a list of terms of which one must match. No term: no node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeSelector {
    terms: Box<[Result<NodeSelectorTerm, SelectorError>]>,
    /// What is wrong with the terms that are not valid. It is told only where no other term matches, and is then the
    /// same for every node.
    failure: Option<SelectorError>,
    /// See [`NodeSelector::named_nodes`].
    named: Option<Box<[Name]>>,
}

/// A compiled term: all requirements must hold; an empty one never matches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeSelectorTerm {
    expressions: Box<[Requirement]>,
    fields: Box<[Requirement]>,
}

/// The one field a node can be selected by.
const NAME_FIELD: &str = "metadata.name";

impl NodeSelector {
    /// Compiles terms of (matchExpressions, matchFields).
    pub fn compile(terms: &[(Vec<RawRequirement>, Vec<RawRequirement>)]) -> Self {
        let list = Path::ROOT.child("nodeSelectorTerms");
        let named = named_nodes(terms);
        let mut failures = Vec::new();
        let terms = terms
            .iter()
            .enumerate()
            .map(|(i, (expressions, fields))| {
                NodeSelectorTerm::compile_at(expressions, fields, &list.index(i)).map_err(|messages| {
                    let error = SelectorError::aggregate(&messages);
                    failures.extend(messages);
                    error
                })
            })
            .collect();
        let failure = (!failures.is_empty()).then(|| SelectorError::aggregate(&failures));
        Self { terms, failure, named }
    }

    /// A selector of terms that are compiled already, for volumes whose terms are rewritten.
    pub fn from_terms(terms: impl IntoIterator<Item = Result<NodeSelectorTerm, SelectorError>>) -> Self {
        let terms: Box<[_]> = terms.into_iter().collect();
        let failures: Vec<String> = terms.iter().filter_map(|t| t.as_ref().err()).map(|e| e.0.clone()).collect();
        let failure = (!failures.is_empty()).then(|| SelectorError::aggregate(&failures));
        Self { terms, failure, named: None }
    }

    /// The terms as listed, the empty ones too; an `Err` is a term that never matches.
    pub fn terms(&self) -> &[Result<NodeSelectorTerm, SelectorError>] {
        &self.terms
    }

    /// The only nodes that can match, sorted, where every term asks for nodes by name; none where the names exclude each
    /// other. Terms that are not valid are read too, as upstream reads them.
    pub fn named_nodes(&self) -> Option<&[Name]> {
        self.named.as_deref()
    }

    /// Whether a node with these labels matches, its name unknown: how volumes' affinity is evaluated.
    ///
    /// Requirements on the node's name then count as met. That is upstream's doing and decides which node a volume
    /// may be used on, so it must stay.
    pub fn matches_labels(&self, labels: &Labels) -> bool {
        self.matches_node("", labels)
    }

    /// Whether the node matches: how pods' affinity is evaluated.
    pub fn matches_node(&self, name: &str, labels: &Labels) -> bool {
        self.terms.iter().flatten().any(|term| term.matches(name, labels))
    }

    /// As [`NodeSelector::matches_labels`], but where nothing matches and some term is not valid, the error of all
    /// such terms.
    pub fn evaluate_labels(&self, labels: &Labels) -> Result<bool, SelectorError> {
        self.evaluate_node("", labels)
    }

    /// As [`NodeSelector::matches_node`], but where nothing matches and some term is not valid, the error of all
    /// such terms.
    pub fn evaluate_node(&self, name: &str, labels: &Labels) -> Result<bool, SelectorError> {
        if self.matches_node(name, labels) {
            return Ok(true);
        }
        self.failure.clone().map_or(Ok(false), Err)
    }

    /// Every label key that an evaluation can read, sorted.
    pub fn label_keys(&self) -> Vec<Name> {
        let mut keys: Vec<Name> =
            self.terms.iter().flatten().flat_map(|term| term.expressions.iter()).map(|r| r.key().clone()).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

/// The nodes that the terms name together; `None` where a term names none, as it may then match any.
fn named_nodes(terms: &[(Vec<RawRequirement>, Vec<RawRequirement>)]) -> Option<Box<[Name]>> {
    let mut all = std::collections::BTreeSet::new();
    for (_, fields) in terms {
        let lists = fields.iter().filter(|field| *field.key == *NAME_FIELD && &*field.operator == "In");
        let mut lists = lists.map(|field| &field.values);
        let first = lists.next()?;
        let rest: Vec<_> = lists.collect();
        all.extend(first.iter().filter(|name| rest.iter().all(|list| list.contains(name))).cloned());
    }
    (!terms.is_empty()).then(|| all.into_iter().collect())
}

impl NodeSelectorTerm {
    /// A term of requirements on labels only, all of which must hold.
    pub fn on_labels(expressions: impl IntoIterator<Item = Requirement>) -> Self {
        Self { expressions: expressions.into_iter().collect(), fields: Box::default() }
    }

    /// The same term with other requirements on labels.
    pub fn with_expressions(&self, expressions: impl IntoIterator<Item = Requirement>) -> Self {
        Self { expressions: expressions.into_iter().collect(), fields: self.fields.clone() }
    }

    /// Compiles one term; one requirement that is not valid spoils it.
    pub(super) fn compile_at(
        expressions: &[RawRequirement],
        fields: &[RawRequirement],
        path: &Path<'_>,
    ) -> Result<Self, Vec<String>> {
        let mut messages = Vec::new();
        let mut compile = |list: &[RawRequirement], path: Path<'_>, one: Compile| -> Box<[Requirement]> {
            let compiled = list.iter().enumerate().filter_map(|(i, raw)| match one(raw, &path.index(i)) {
                Ok(requirement) => Some(requirement),
                Err(more) => {
                    messages.extend(more);
                    None
                }
            });
            compiled.collect()
        };
        let expressions = compile(expressions, path.child("matchExpressions"), Requirement::on_label);
        let fields = compile(fields, path.child("matchFields"), Requirement::on_field);
        if messages.is_empty() { Ok(Self { expressions, fields }) } else { Err(messages) }
    }

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

    /// Whether the node matches. With an empty name, the requirements on fields count as met.
    pub fn matches(&self, name: &str, labels: &Labels) -> bool {
        !self.is_empty()
            && self.expressions.iter().all(|r| r.matches(labels))
            && (name.is_empty() || self.fields.iter().all(|r| r.accepts(Some(field(r, name)))))
    }
}

type Compile = fn(&RawRequirement, &Path<'_>) -> Result<Requirement, Vec<String>>;

/// The field a requirement is on; one that does not exist is empty.
fn field<'a>(requirement: &Requirement, name: &'a str) -> &'a str {
    if &**requirement.key() == NAME_FIELD { name } else { "" }
}
