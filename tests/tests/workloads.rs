//! `plimsoll up`: every story of `tests/workloads` ends as it was recorded of the real control plane with upstream's controllers.
//!
//! Needs no Go. `ONLY=name,name` plays some; `OUTCOMES=folder` keeps what each came to.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test: what is missing is a failure")]

use plimsoll_tests::workloads::story::Story;
use plimsoll_tests::workloads::suite::{play_ours, recorded};

#[test]
fn all_stories_end_as_recorded() {
    let outcomes = tokio::runtime::Runtime::new().unwrap().block_on(play_ours()).unwrap();
    if let Some(folder) = std::env::var_os("OUTCOMES") {
        outcomes.write(folder.as_ref()).unwrap();
    }
    if let Err(wrong) = outcomes.check_all() {
        panic!("{wrong:#}");
    }
}

/// A record that no story reads would look like something that is tested.
#[test]
fn every_record_has_its_story() {
    let stories = Story::read_all().unwrap();
    assert!(stories.len() >= 30, "only {} stories", stories.len());
    let named: Vec<String> = stories.into_iter().map(|story| story.name).collect();
    assert_eq!(recorded().names().unwrap(), named);
}
