//! Kubernetes objects as Plimsoll reads them.
//!
//! Only the fields that decisions need are decoded; all others are skipped while parsing and never held. Each kind
//! has a slim type in [`kinds`] and a `to_engine` that gives the engine's model of it.

pub mod cluster;
pub mod defaults;
pub mod document;
pub mod edit;
pub mod error;
pub mod interner;
pub mod kinds;
mod lenient;
pub mod manifest;
pub mod names;
mod workloads;

pub use cluster::{Cluster, ClusterReader, Loaded};
pub use document::{Document, DocumentKind};
pub use error::ConvertError;
pub use interner::Interner;
pub use lenient::{Annotations, Pairs, Present, QuantityText, ResourceList};
pub use manifest::{Limits, ManifestError, Note, Source};
