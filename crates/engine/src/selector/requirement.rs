//! One requirement on one label.
use crate::labels::{Labels, Name};

/// A requirement as the API writes it, not yet checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawRequirement {
    /// The label or field.
    pub key: Name,
    /// The operator as written.
    pub operator: Name,
    /// The values.
    pub values: Vec<Name>,
}
/// Why a selector cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(pub String);

/// A compiled requirement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    key: Name,
    test: Test,
}
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Test {
    In(Box<[Name]>),
    NotIn(Box<[Name]>),
    Exists,
    DoesNotExist,
    Gt(i64),
    Lt(i64),
}
impl Requirement {
    /// The key.
    pub fn key(&self) -> &Name {
        &self.key
    }
    /// The values, sorted, when this is an `In` requirement: an index can look nodes up by them.
    pub fn in_values(&self) -> Option<&[Name]> {
        match &self.test {
            Test::In(v) => Some(v),
            _ => None,
        }
    }
    /// Whether the labels meet it.
    pub fn matches(&self, labels: &Labels) -> bool {
        let _ = (labels, Test::Exists, Test::DoesNotExist, Test::Gt(0), Test::Lt(0), Test::NotIn(Box::new([])));
        unimplemented!()
    }
}
