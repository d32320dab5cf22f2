//! One requirement on one label.

use super::error::Path;
use super::{SelectorError, syntax};
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

impl RawRequirement {
    /// A requirement from its parts.
    pub fn new(key: &str, operator: &str, values: &[&str]) -> Self {
        Self { key: key.into(), operator: operator.into(), values: values.iter().map(|v| Name::from(*v)).collect() }
    }
}

/// A compiled requirement. Two that differ only in the order or repetition of their values are equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Requirement {
    key: Name,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Test {
    In(Box<[Name]>),
    NotIn(Box<[Name]>),
    Exists,
    DoesNotExist,
    Gt(i64),
    Lt(i64),
}

/// The operators of requirements on nodes' labels.
const OPERATORS: [&str; 6] = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
/// The operators of requirements on nodes' fields.
const FIELD_OPERATORS: [&str; 2] = ["In", "NotIn"];

impl Requirement {
    /// Compiles one requirement on a label with any of the six operators.
    pub fn new(key: &str, operator: &str, values: &[&str]) -> Result<Self, SelectorError> {
        let raw = RawRequirement::new(key, operator, values);
        Self::on_label(&raw, &Path::ROOT).map_err(|messages| SelectorError::aggregate(&messages))
    }

    /// Compiles a requirement on a label. Everything wrong with it is told, not just the first.
    pub(super) fn on_label(raw: &RawRequirement, path: &Path<'_>) -> Result<Self, Vec<String>> {
        let mut messages = Vec::new();
        if !OPERATORS.contains(&&*raw.operator) {
            return Err(vec![path.child("operator").unsupported(&raw.operator, &OPERATORS)]);
        }
        if let Some(problem) = syntax::key_problems(&raw.key) {
            messages.push(path.child("key").invalid(&raw.key, &problem));
        }
        let values = path.child("values");
        let test = match &*raw.operator {
            "In" | "NotIn" => {
                if raw.values.is_empty() {
                    messages.push(
                        values.invalid_list(&raw.values, "for 'in', 'notin' operators, values set can't be empty"),
                    );
                }
                let set = sorted(&raw.values);
                if &*raw.operator == "In" { Test::In(set) } else { Test::NotIn(set) }
            }
            "Exists" | "DoesNotExist" => {
                if !raw.values.is_empty() {
                    messages.push(
                        values.invalid_list(&raw.values, "values set must be empty for exists and does not exist"),
                    );
                }
                if &*raw.operator == "Exists" { Test::Exists } else { Test::DoesNotExist }
            }
            operator => {
                if raw.values.len() != 1 {
                    messages.push(
                        values.invalid_list(&raw.values, "for 'Gt', 'Lt' operators, exactly one value is required"),
                    );
                }
                let mut bound = 0;
                for (i, value) in raw.values.iter().enumerate() {
                    match value.parse() {
                        Ok(number) => bound = number,
                        Err(_) => messages.push(
                            values.index(i).invalid(value, "for 'Gt', 'Lt' operators, the value must be an integer"),
                        ),
                    }
                }
                if operator == "Gt" { Test::Gt(bound) } else { Test::Lt(bound) }
            }
        };
        for (i, value) in raw.values.iter().enumerate() {
            if let Some(problem) = syntax::value_problems(value) {
                messages.push(values.index(i).key(&raw.key).invalid(value, &problem));
            }
        }
        if messages.is_empty() { Ok(Self { key: raw.key.clone(), test }) } else { Err(messages) }
    }

    /// Compiles a requirement on a field. Neither key nor value is checked for its syntax.
    pub(super) fn on_field(raw: &RawRequirement, path: &Path<'_>) -> Result<Self, Vec<String>> {
        let test: fn(Box<[Name]>) -> Test = match &*raw.operator {
            "In" => Test::In,
            "NotIn" => Test::NotIn,
            _ => return Err(vec![path.child("operator").unsupported(&raw.operator, &FIELD_OPERATORS)]),
        };
        if raw.values.len() != 1 {
            return Err(vec![path.child("values").invalid_list(&raw.values, "must have one element")]);
        }
        Ok(Self { key: raw.key.clone(), test: test(sorted(&raw.values)) })
    }

    /// A requirement of one exact value, not checked for its syntax.
    pub(super) fn equals(key: &Name, value: &Name) -> Self {
        Self { key: key.clone(), test: Test::In([value.clone()].into()) }
    }

    /// The key.
    pub fn key(&self) -> &Name {
        &self.key
    }

    /// The operator, as the API writes it.
    pub fn operator(&self) -> &'static str {
        match self.test {
            Test::In(_) => "In",
            Test::NotIn(_) => "NotIn",
            Test::Exists => "Exists",
            Test::DoesNotExist => "DoesNotExist",
            Test::Gt(_) => "Gt",
            Test::Lt(_) => "Lt",
        }
    }

    /// The values, sorted, when this is an `In` requirement: an index can look nodes up by them.
    pub fn in_values(&self) -> Option<&[Name]> {
        match &self.test {
            Test::In(values) => Some(values),
            _ => None,
        }
    }

    /// Whether the labels meet it.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.accepts(labels.get(&self.key).map(|value| &**value))
    }

    /// Whether the label's value meets it; `None` is a label that is absent.
    pub fn accepts(&self, value: Option<&str>) -> bool {
        let is_in = |values: &[Name], value: &str| values.binary_search_by(|v| (**v).cmp(value)).is_ok();
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.test {
            Test::In(values) => value.is_some_and(|value| is_in(values, value)),
            Test::NotIn(values) => !value.is_some_and(|value| is_in(values, value)),
            Test::Exists => value.is_some(),
            Test::DoesNotExist => value.is_none(),
            Test::Gt(bound) => number().is_some_and(|number| number > *bound),
            Test::Lt(bound) => number().is_some_and(|number| number < *bound),
        }
    }

    /// The same requirement on another key, for volumes whose topology is renamed.
    pub fn with_key(&self, key: impl Into<Name>) -> Self {
        Self { key: key.into(), test: self.test.clone() }
    }
}

/// The values in order, each once.
pub(super) fn sorted(values: &[Name]) -> Box<[Name]> {
    let mut values = values.to_vec();
    values.sort_unstable();
    values.dedup();
    values.into()
}
