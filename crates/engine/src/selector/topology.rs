//! StorageClass.allowedTopologies.
use super::Requirement;
use crate::labels::{Labels, Name};
/// A term as the API writes it: keys, each with the values allowed.
pub type RawTopologyTerm = Vec<(Name, Vec<Name>)>;
/// Compiled allowedTopologies. No term: everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AllowedTopologies {
    terms: Option<Box<[Box<[Requirement]>]>>,
}
impl AllowedTopologies {
    /// Compiles the terms.
    pub fn compile(terms: &[RawTopologyTerm]) -> Self {
        let _ = terms;
        unimplemented!()
    }
    /// Whether there is no restriction.
    pub fn is_unrestricted(&self) -> bool {
        self.terms.is_none()
    }
    /// Whether the node's labels are allowed.
    pub fn matches(&self, labels: &Labels) -> bool {
        let _ = labels;
        unimplemented!()
    }
    /// Every label key that the terms read.
    pub fn keys(&self) -> Vec<Name> {
        unimplemented!()
    }
}
