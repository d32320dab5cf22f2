//! The conformance suite: every scenario of `tests/conformance`, on ours against the real server or against what it answered before.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::client::Client;
use crate::compare::{Known, differences, report, unknown};
use crate::play::play;
use crate::scenario::Scenario;
use crate::takes::{Take, Wrong};

/// Where upstream's answers come from.
#[derive(Debug, Clone, Copy)]
pub enum Theirs<'a> {
    /// A running server. With `record` its answers are written down.
    Live(&'a Client, bool),
    /// `answers/*.json`.
    Recorded,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("conformance")
}

/// Plays all of a take. What differs and is not known is wrong, and so is what is known but does not differ any more.
pub async fn run(ours: &Client, theirs: Theirs<'_>, take: &Take) -> Result<Wrong> {
    let mut known = Known::read(&folder())?;
    let (mut wrong, mut played) = (Wrong::new(), 0);
    for scenario in Scenario::all(&folder())? {
        if !take.plays(&scenario.name) {
            known.retain(|entry| entry.scenario != scenario.name);
            continue;
        }
        played += 1;
        let expected = match theirs {
            Theirs::Live(client, record) => {
                let answers = play(client, &scenario).await.context("upstream")?;
                if record {
                    write(&scenario, &answers)?;
                }
                answers
            }
            Theirs::Recorded => read(&scenario)?,
        };
        let found = match play(ours, &scenario).await {
            Ok(answers) => differences(&expected, &answers),
            Err(error) => {
                wrong.insert(scenario.name, format!("{error:#}\n"));
                continue;
            }
        };
        let left = unknown(&scenario, found, &mut known);
        if !left.is_empty() {
            wrong.insert(scenario.name.clone(), report(&scenario, &left));
        }
    }
    for entry in known.iter().filter(|entry| entry.met == 0) {
        // Some of the scenarios do not show what holds for any, and all of them show it once and for all.
        let of_any = entry.scenario == "*";
        if of_any && !take.is_whole() {
            continue;
        }
        ensure!(!of_any, "{} of any scenario is known to differ, but does not: take it off the list", entry.at);
        let step = entry.step.map(|s| format!("step {s}, ")).unwrap_or_default();
        let of_scenario = wrong.entry(entry.scenario.clone()).or_default();
        let _ = writeln!(of_scenario, "{step}{} is known to differ, but does not: take it off the list", entry.at);
    }
    ensure!(played > 0, "no scenario was played");
    Ok(wrong)
}

fn answers(scenario: &Scenario) -> PathBuf {
    folder().join("answers").join(format!("{}.json", scenario.name))
}

fn read(scenario: &Scenario) -> Result<Vec<Value>> {
    let path = answers(scenario);
    let text = std::fs::read_to_string(&path).with_context(|| {
        format!("{}: upstream's answers are not recorded: run the conformance test with UPDATE=1", path.display())
    })?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}

/// One answer a line, so that a change shows as one.
fn write(scenario: &Scenario, said: &[Value]) -> Result<()> {
    let lines: Vec<String> = said.iter().map(Value::to_string).collect();
    std::fs::create_dir_all(folder().join("answers"))?;
    std::fs::write(answers(scenario), format!("[\n{}\n]\n", lines.join(",\n")))?;
    Ok(())
}
