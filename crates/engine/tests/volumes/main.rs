//! One test for each statement of the specifications about volumes, named by its id.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "tests end where their assumptions do")]

#[path = "../common/mod.rs"]
mod common;

mod assume;
mod binder;
mod bound;
mod capacity;
mod controller;
mod limits;
mod matching;
mod migration;
mod planning;
mod prefilter;
mod restrictions;
mod score;
mod several;
mod wakeups;
mod zone;
mod zone_upgrade;
