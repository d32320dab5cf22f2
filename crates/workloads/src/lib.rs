//! The controllers that real manifests lean on: a set makes pods, replaces them, and says in its status how far it is.
//!
//! ```text
//!   API ── list, watch ─► mirrors (world.rs) ── listeners ─► a queue of keys per controller
//!    ▲                        ▲                                   │ one key at a time
//!    │   answers of own writes┘                                   ▼
//!    └──── pods made and deleted (pods.rs), status ◄── what is there against what is wanted
//! ```
//!
//! Upstream's kube-controller-manager is the yardstick: the same objects, names, events and end states. Each controller has
//! upstream's name and can be left out, so that a real kube-controller-manager can take its place, one by one.

pub mod children;
pub mod conditions;
pub mod daemon_set;
pub mod deployment;
pub mod disruption;
pub mod job;
pub mod kinds;
pub mod node_lifecycle;
pub mod on_node;
pub mod pod_gc;
pub mod pods;
pub mod portion;
pub mod remove;
pub mod replica_set;
pub mod revisions;
pub mod service_account;
mod start;
pub mod stateful_set;
pub mod taint_eviction;
pub mod times;
pub mod world;

pub use start::{Controller, Options, start};
pub use world::World;
