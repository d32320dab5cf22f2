//! One suite, two servers: every scenario is played on the real kube-apiserver and on ours, and the answers must be the same.
//!
//! `UPDATE=1` also writes upstream's answers down, for the replay of `recorded.rs`; `ONLY=name,name` plays some of the scenarios.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test: what is missing is a failure")]

use plimsoll_tests::embedded::Embedded;
use plimsoll_tests::suite::{Theirs, run};
use plimsoll_tests::takes::takes;
use plimsoll_tests::upstream::{Options, Upstream};

#[tokio::test(flavor = "multi_thread")]
async fn both_servers_answer_alike() {
    let record = std::env::var_os("UPDATE").is_some();
    let played = takes(async |take| {
        let upstream = Upstream::start(Options::default()).await?;
        let embedded = Embedded::start(false).await?;
        run(&embedded.client, Theirs::Live(&upstream.client, record), take).await
    });
    if let Err(differences) = played.await {
        panic!("{differences:#}");
    }
}
