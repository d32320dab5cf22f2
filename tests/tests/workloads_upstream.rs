//! The real control plane with our simulated nodes: upstream's controllers still bring every story of `tests/workloads` to its recorded
//! end.
//!
//! `UPDATE=1` records again; `ONLY=name,name` plays some; `OUTCOMES=folder` keeps what each came to.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test: what is missing is a failure")]

use plimsoll_tests::workloads::suite::play_real;

#[test]
fn upstream_still_reaches_the_recorded_ends() {
    let outcomes = tokio::runtime::Runtime::new().unwrap().block_on(play_real()).unwrap();
    if let Some(folder) = std::env::var_os("OUTCOMES") {
        outcomes.write(folder.as_ref()).unwrap();
    }
    outcomes.record().unwrap();
    if let Err(wrong) = outcomes.check_all() {
        panic!("{wrong:#}");
    }
}
