//! The real API server: kube-scheduler with kube-controller-manager's controllers still reaches the recorded ends; ours reaches the same
//! with our controllers, and in the designs' E2E lists with kube-controller-manager's, too.
//!
//! `UPDATE=1` records again; `ONLY=name,name` plays some; `OUTCOMES=folder` keeps what each came to; `WHO=upstream` leaves out ours.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test: what is missing is a failure")]

use std::sync::OnceLock;

use plimsoll_tests::volumes::cluster::{Cast, Keeper, Server};
use plimsoll_tests::volumes::scenario::Scenario;
use plimsoll_tests::volumes::suite::{Outcomes, play_some};

/// How the scenarios of the designs' E2E lists are named.
const E2E: &str = "e2e-";

struct All {
    theirs: Outcomes,
    /// With our controllers; and the designs' E2E lists with theirs.
    ours: Option<(Outcomes, Outcomes)>,
}

fn all() -> &'static All {
    static PLAYED: OnceLock<All> = OnceLock::new();
    PLAYED.get_or_init(|| {
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let server = Server::real().await.unwrap();
            let folder = std::env::var_os("OUTCOMES").map(std::path::PathBuf::from);
            let play = async |scheduler: Keeper, keeper: Keeper, tag: &str, picked: fn(&Scenario) -> bool| {
                let cast = Cast::scheduling(scheduler, keeper);
                let outcomes = play_some(&server, cast, tag, picked).await.unwrap();
                if let Some(folder) = &folder {
                    outcomes.write(&folder.join(tag)).unwrap();
                }
                outcomes
            };
            // One after the other: two schedulers on one server would both take every pod.
            let theirs = play(Keeper::Upstream, Keeper::Upstream, "theirs", |_| true).await;
            theirs.record().unwrap();
            if std::env::var("WHO").is_ok_and(|who| who == "upstream") {
                return All { theirs, ours: None };
            }
            let own = play(Keeper::Ours, Keeper::Ours, "own", |_| true).await;
            let beside = play(Keeper::Ours, Keeper::Upstream, "beside", |s| s.name.starts_with(E2E)).await;
            All { theirs, ours: Some((own, beside)) }
        })
    })
}

fn ours() -> &'static Outcomes {
    &all().ours.as_ref().unwrap().0
}

plimsoll_tests::scheduling_statements!(crate::ours);

#[test]
fn upstream_still_reaches_the_recorded_ends() {
    if let Err(wrong) = all().theirs.check_all(|_| true) {
        panic!("{wrong:#}");
    }
}

#[test]
fn ours_reaches_the_ends_of_upstream() {
    if let Err(wrong) = ours().check_all(|_| true) {
        panic!("{wrong:#}");
    }
}

#[test]
fn ours_reaches_the_ends_of_upstream_with_upstreams_controllers() {
    if let Err(wrong) = all().ours.as_ref().unwrap().1.check_all(|_| true) {
        panic!("{wrong:#}");
    }
}
