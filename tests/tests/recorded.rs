//! The conformance scenarios against what the real kube-apiserver answered when they were recorded: needs no Go and no network.

#![allow(clippy::unwrap_used, reason = "a test: what is missing is a failure")]

use plimsoll_tests::embedded::Embedded;
use plimsoll_tests::suite::{Theirs, run};

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_those_of_the_real_server() {
    let embedded = Embedded::start(false).await.unwrap();
    if let Err(differences) = run(&embedded.client, Theirs::Recorded).await {
        panic!("{differences:#}");
    }
}
