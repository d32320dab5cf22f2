//! metav1.LabelSelector.

use super::error::Path;
use super::{RawRequirement, Requirement, SelectorError};
use crate::labels::{Labels, Name};

/// A compiled LabelSelector. Empty matches everything. Selectors with the same requirements are equal, in whatever
/// order and by whichever of the two lists they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LabelSelector {
    requirements: Box<[Requirement]>,
}

/// The operators; those that compare numbers are for nodes only.
const OPERATORS: [&str; 4] = ["In", "NotIn", "Exists", "DoesNotExist"];

impl LabelSelector {
    /// Compiles `matchLabels` and `matchExpressions`. The first requirement that is not valid is the error.
    pub fn compile(match_labels: &[(Name, Name)], expressions: &[RawRequirement]) -> Result<Self, SelectorError> {
        let mut requirements = Vec::with_capacity(match_labels.len() + expressions.len());
        let compile = |raw: &RawRequirement| {
            Requirement::on_label(raw, &Path::ROOT).map_err(|messages| SelectorError::aggregate(&messages))
        };
        for (key, value) in match_labels {
            let raw = RawRequirement { key: key.clone(), operator: "In".into(), values: vec![value.clone()] };
            requirements.push(compile(&raw)?);
        }
        for raw in expressions {
            if !OPERATORS.contains(&&*raw.operator) {
                return Err(SelectorError(format!("{:?} is not a valid label selector operator", &*raw.operator)));
            }
            requirements.push(compile(raw)?);
        }
        Ok(Self::normal(requirements))
    }

    /// A selector of exact labels, not checked: what the plain maps of Services and of pods' `nodeSelector` are.
    pub fn from_labels(labels: &[(&str, &str)]) -> Self {
        Self::from_set(&labels.iter().copied().collect())
    }

    /// As [`LabelSelector::from_labels`], of labels that are a set already.
    pub fn from_set(labels: &Labels) -> Self {
        Self { requirements: labels.iter().map(|(key, value)| Requirement::equals(key, value)).collect() }
    }

    /// The same selector with these exact labels required too: what `matchLabelKeys` adds from the pod's own labels.
    pub fn and_labels(&self, labels: &Labels) -> Self {
        let more = labels.iter().map(|(key, value)| Requirement::equals(key, value));
        Self::normal(self.requirements.iter().cloned().chain(more).collect())
    }

    /// One order for one set of requirements.
    fn normal(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_unstable();
        requirements.dedup();
        Self { requirements: requirements.into() }
    }

    /// The requirements, all of which must hold, in order of their keys.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Every label key that it reads, sorted.
    pub fn label_keys(&self) -> Vec<Name> {
        let mut keys: Vec<Name> = self.requirements.iter().map(|r| r.key().clone()).collect();
        keys.dedup();
        keys
    }

    /// Whether it has no requirement.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether the labels meet it.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.requirements.iter().all(|r| r.matches(labels))
    }
}
