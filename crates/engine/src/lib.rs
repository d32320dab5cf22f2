//! Volume-aware scheduling decisions for Kubernetes: pure, indexed, explainable.
//!
//! This crate does no I/O, reads no clock and starts no task. It is told of the cluster by events and answers where a
//! pod and its volumes can be. It is what a scheduler of your own would depend on:
//!
//! 1. **Tell** it every watch event: [`Catalog::apply`]. Order, repeats and delays do not matter.
//! 2. **Decide**: [`Catalog::choose`] finds the best node and the plan for the pod's volumes there;
//!    [`Catalog::decide`] says everything about every node, for somebody who reads it; [`Catalog::volumes_of`] judges
//!    the volumes alone, for schedulers that have filters of their own.
//! 3. **Assume** the choice ([`Catalog::assume`]), so that the next pod sees it, or [`Catalog::forget`] it.
//! 4. **Bind**: [`placement::Placement`] says what to write next, what to wait for and what each failure means.
//!
//! `examples/custom_scheduler.rs` does all four in a page. [`model`] has the objects, [`gates`] the deliberate
//! differences from upstream, [`rules`] how a scheduler profile decides, [`reason`] the stable codes of everything that
//! does not fit.

mod audit;
pub mod binder;
mod catalog;
pub mod collections;
mod decide;
mod diagnose;
mod explain;
pub mod filters;
pub mod gates;
pub mod labels;
pub mod model;
pub mod nodes;
pub mod object;
pub mod placement;
pub mod preemption;
pub mod quantity;
pub mod reason;
pub mod rules;
pub mod scores;
pub mod selector;
#[cfg(test)]
pub(crate) mod testing;
mod topology;
pub mod view;
pub mod volumes;
pub mod wakeups;

pub use catalog::{Catalog, Event, Promise};
pub use decide::{Choice, Decision, NodeDecision};
pub use diagnose::Diagnosis;
pub use explain::{Explanation, NodeDeviations, Patch, Remedy};
pub use object::{Kind, Object};
pub use rules::Rules;
