//! Properties of decisions about volumes, on random small clusters.
//!
//! `PROPTEST_CASES=20000 cargo test -p plimsoll-engine --test properties` looks harder than the usual run does.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "tests end where their assumptions do")]

#[path = "../common/mod.rs"]
mod common;

mod assumptions;
mod dice;
mod events;
mod generate;
mod other_filters;
mod preemption;
mod reference;
mod search;
mod upstream;
mod wakeups;
mod zone_upgrade;

/// How many cases each property sees unless `PROPTEST_CASES` says otherwise.
pub fn cases(usual: u32) -> proptest::test_runner::Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    proptest::test_runner::Config {
        cases: asked.unwrap_or(usual),
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Default::default()
    }
}
