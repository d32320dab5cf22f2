//! metav1.LabelSelector.
use super::{RawRequirement, Requirement, SelectorError};
use crate::labels::{Labels, Name};
/// A compiled LabelSelector. Empty matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LabelSelector {
    requirements: Box<[Requirement]>,
}
impl LabelSelector {
    /// Compiles `matchLabels` and `matchExpressions`.
    pub fn compile(match_labels: &[(Name, Name)], expressions: &[RawRequirement]) -> Result<Self, SelectorError> {
        let _ = (match_labels, expressions);
        unimplemented!()
    }
    /// The requirements, all of which must hold.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
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
