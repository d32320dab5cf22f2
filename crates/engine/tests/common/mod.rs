//! Builders of small clusters, and questions to ask of them. Shared by several test binaries.
#![allow(dead_code, reason = "each test binary uses its own part of the builders")]

mod build;
mod world;

pub use build::*;
pub use world::*;
