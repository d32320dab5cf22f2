//! Volume-aware scheduling decisions for Kubernetes: pure, indexed, explainable.
//!
//! This crate does no I/O. It is told of the cluster by events and answers where a pod and its volumes can be.

mod catalog;
pub mod collections;
mod decide;
mod explain;
pub mod filters;
pub mod gates;
pub mod labels;
pub mod model;
pub mod nodes;
pub mod object;
pub mod placement;
pub mod quantity;
pub mod reason;
pub mod scores;
pub mod selector;
#[cfg(test)]
pub(crate) mod testing;
mod topology;
pub mod view;
pub mod volumes;

pub use catalog::{Catalog, Event};
pub use decide::{Choice, Decision, NodeDecision};
pub use explain::{Explanation, NodeDeviations, Patch, Remedy};
pub use object::{Kind, Object};
