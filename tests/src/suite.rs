//! The conformance suite: every scenario of `tests/conformance`, on ours against the real server or against what it answered before.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::client::Client;
use crate::compare::{Known, differences, report, unknown};
use crate::files;
use crate::play::play;
use crate::scenario::Scenario;

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

/// Plays everything. What differs and is not known is told in one error, and so is what is known but does not differ any more.
pub async fn run(ours: &Client, theirs: Theirs<'_>) -> Result<()> {
    let mut known = Known::read(&folder())?;
    let (mut told, mut played, mut differ) = (String::new(), 0, 0);
    for scenario in Scenario::all(&folder())? {
        if !files::is_played(&scenario.name) {
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
                differ += 1;
                let _ = writeln!(told, "{}.yaml: {error:#}", scenario.name);
                continue;
            }
        };
        let left = unknown(&scenario, found, &mut known);
        if !left.is_empty() {
            differ += 1;
            told.push_str(&report(&scenario, &left));
        }
    }
    // Some of the scenarios do not show what holds for any.
    for entry in known.iter().filter(|entry| entry.met == 0 && (files::all_are_played() || entry.scenario != "*")) {
        let _ = writeln!(
            told,
            "{}: {}{} is known to differ, but does not: take it off the list",
            entry.scenario,
            entry.step.map(|s| format!("step {s}, ")).unwrap_or_default(),
            entry.at
        );
    }
    if played == 0 {
        bail!("no scenario was played");
    }
    if !told.is_empty() {
        bail!("{differ} of {played} scenarios differ:\n{told}");
    }
    Ok(())
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
