//! The statements of `spec/node-selector.md` that are about selectors themselves, one test each.

mod laws;
mod statements;

use super::*;
use crate::labels::{Labels, Name};

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().copied().collect()
}

/// A requirement as the API writes it.
fn raw(key: &str, operator: &str, values: &[&str]) -> RawRequirement {
    RawRequirement::new(key, operator, values)
}

/// A selector whose terms have requirements on labels only.
fn on_labels(terms: &[&[RawRequirement]]) -> NodeSelector {
    NodeSelector::compile(&terms.iter().map(|term| (term.to_vec(), Vec::new())).collect::<Vec<_>>())
}

/// A selector of one requirement.
fn only(key: &str, operator: &str, values: &[&str]) -> NodeSelector {
    on_labels(&[&[raw(key, operator, values)]])
}

/// A selector of one term with requirements on fields only.
fn on_fields(fields: &[RawRequirement]) -> NodeSelector {
    NodeSelector::compile(&[(Vec::new(), fields.to_vec())])
}

/// Whether the selector's first term is not valid.
fn is_invalid(selector: &NodeSelector) -> bool {
    selector.terms()[0].is_err()
}

/// Allowed topologies as (key, values) lists.
fn allowed(terms: &[&[(&str, &[&str])]]) -> AllowedTopologies {
    let expression =
        |(key, values): &(&str, &[&str])| (Name::from(*key), values.iter().map(|v| Name::from(*v)).collect());
    AllowedTopologies::compile(&terms.iter().map(|term| term.iter().map(expression).collect()).collect::<Vec<_>>())
}

fn names(names: &[&str]) -> Vec<Name> {
    names.iter().map(|name| Name::from(*name)).collect()
}
