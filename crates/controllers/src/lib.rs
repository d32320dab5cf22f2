//! The controllers of volumes and claims: each keeps one promise, and every one of them may die at any write.

pub mod binder;
pub mod ephemeral;
mod figures;
pub mod node_check;
pub mod protection;
pub mod provision;
pub mod rescue;
pub mod stale;
mod start;
pub mod world;
pub mod zone_upgrade;

pub use start::{Controller, Options, start};
pub use world::World;
