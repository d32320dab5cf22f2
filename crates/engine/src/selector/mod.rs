//! Selectors over labels and nodes, compiled once when the object that carries them arrives.

mod label;
mod node;
mod requirement;
mod topology;

pub use label::LabelSelector;
pub use node::{NodeSelector, NodeSelectorTerm, PreferredTerm};
pub use requirement::{RawRequirement, Requirement, SelectorError};
pub use topology::{AllowedTopologies, RawTopologyTerm};
