//! Our scheduler and controllers on our server: every scenario of `tests/scheduling` ends as it was recorded of kube-scheduler and
//! kube-controller-manager on the real one.
//!
//! Needs no Go. `ONLY=name,name` plays some; `OUTCOMES=folder` keeps what each came to. No StatefulSet controller runs here: the pods and
//! claims that it would make are made by the scenarios' own steps; `scheduling_upstream` plays them with it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test: what is missing is a failure")]

use std::sync::OnceLock;

use plimsoll_tests::scheduling::{BINDING, FILTERS};
use plimsoll_tests::volumes::cluster::{Cast, Keeper, Server};
use plimsoll_tests::volumes::scenario::{Scenario, Subject};
use plimsoll_tests::volumes::suite::{Outcomes, play_some};

fn outcomes() -> &'static Outcomes {
    static PLAYED: OnceLock<Outcomes> = OnceLock::new();
    PLAYED.get_or_init(|| {
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            // A server for each sort, since ours cost next to nothing: most of the time goes by in seeing that nothing more happens.
            let sorts: [fn(&Scenario) -> bool; 4] = [
                |s| s.alone,
                |s| !s.alone && !s.controllers,
                |s| !s.alone && s.bind_timeout.is_some(),
                |s| !s.alone && s.controllers && s.bind_timeout.is_none(),
            ];
            let mut playing = tokio::task::JoinSet::new();
            for sort in sorts {
                playing.spawn(async move {
                    let server = Server::embedded().await.unwrap();
                    play_some(&server, Cast::scheduling(Keeper::Ours, Keeper::Ours), "own", sort).await.unwrap()
                });
            }
            let played = playing.join_all().await;
            let outcomes = played.into_iter().reduce(Outcomes::and).unwrap();
            if let Some(folder) = std::env::var_os("OUTCOMES") {
                outcomes.write(folder.as_ref()).unwrap();
            }
            outcomes
        })
    })
}

plimsoll_tests::scheduling_statements!(crate::outcomes);

#[test]
fn all_scenarios_end_as_recorded() {
    if let Err(wrong) = outcomes().check_all(|_| true) {
        panic!("{wrong:#}");
    }
}

/// A record that no scenario reads would look like something that is tested.
#[test]
fn every_record_has_its_scenario_and_cites_statements_that_exist() {
    let scenarios = Scenario::read_all(Subject::Scheduling).unwrap();
    let named: Vec<String> = scenarios.iter().map(|scenario| scenario.name.clone()).collect();
    assert_eq!(Subject::Scheduling.records().names().unwrap(), named);
    for scenario in &scenarios {
        for statement in &scenario.statements {
            let (page, number) = statement.split_once('-').unwrap();
            let count = match page {
                "SB" => BINDING,
                "OF" => FILTERS,
                "RG" => 18,
                _ => 0,
            };
            let number = number.parse::<usize>().unwrap();
            assert!((1..=count).contains(&number), "{}: {statement}", scenario.name);
        }
    }
}
