//! Selectors over labels and nodes, compiled once when the object that carries them arrives.
//!
//! Selectors that mean the same are equal as far as that is cheap to see (values are sorted, each kept once), since
//! many objects carry the same one.

mod error;
mod label;
mod node;
mod preferred;
mod requirement;
mod syntax;
mod topology;

#[cfg(test)]
mod tests;

pub use error::SelectorError;
pub use label::LabelSelector;
pub use node::{NodeSelector, NodeSelectorTerm};
pub use preferred::PreferredTerm;
pub use requirement::{RawRequirement, Requirement};
pub use syntax::{is_label_key, is_label_value};
pub use topology::{AllowedTopologies, RawTopologyTerm};
