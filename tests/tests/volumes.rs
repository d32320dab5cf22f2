//! Our controllers on our server: every scenario of `tests/volumes` ends as it was recorded of kube-controller-manager on the real one.
//!
//! Needs no Go. `ONLY=name,name` plays some; `OUTCOMES=folder` keeps what each came to.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test: what is missing is a failure")]

use std::sync::OnceLock;

use plimsoll_tests::volumes::cluster::{Cast, Keeper, Server};
use plimsoll_tests::volumes::scenario::{Scenario, Subject};
use plimsoll_tests::volumes::statements::COUNT;
use plimsoll_tests::volumes::suite::{Outcomes, play_all};

fn outcomes() -> &'static Outcomes {
    static PLAYED: OnceLock<Outcomes> = OnceLock::new();
    PLAYED.get_or_init(|| {
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let server = Server::embedded().await.unwrap();
            let outcomes = play_all(&server, Cast::volumes(&server, Keeper::Ours), "own").await.unwrap();
            if let Some(folder) = std::env::var_os("OUTCOMES") {
                outcomes.write(folder.as_ref()).unwrap();
            }
            outcomes
        })
    })
}

plimsoll_tests::volume_statements!(crate::outcomes);

#[test]
fn all_scenarios_end_as_recorded() {
    if let Err(wrong) = outcomes().check_all(|_| true) {
        panic!("{wrong:#}");
    }
}

/// A record that no scenario reads would look like something that is tested.
#[test]
fn every_record_has_its_scenario_and_cites_statements_that_exist() {
    let scenarios = Scenario::read_all(Subject::Volumes).unwrap();
    assert!(scenarios.len() >= 40, "only {} scenarios", scenarios.len());
    let named: Vec<String> = scenarios.iter().map(|scenario| scenario.name.clone()).collect();
    assert_eq!(Subject::Volumes.records().names().unwrap(), named);
    for scenario in &scenarios {
        for statement in &scenario.statements {
            let number = statement.strip_prefix("PC-").and_then(|number| number.parse::<usize>().ok());
            assert!(number.is_some_and(|n| (1..=COUNT).contains(&n)), "{}: {statement}", scenario.name);
        }
    }
}
