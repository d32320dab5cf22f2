//! The conformance scenarios against what the real kube-apiserver answered when they were recorded: needs no Go and no network.

#![allow(clippy::unwrap_used, reason = "a test: what is missing is a failure")]

use plimsoll_tests::embedded::Embedded;
use plimsoll_tests::suite::{Theirs, run};
use plimsoll_tests::takes::{Take, told};

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_those_of_the_real_server() {
    let embedded = Embedded::start(false).await.unwrap();
    let wrong = run(&embedded.client, Theirs::Recorded, &Take::first()).await.unwrap();
    assert!(wrong.is_empty(), "{}", told(&wrong));
}
