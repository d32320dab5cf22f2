//! What upstream's programs came to, as files beside the scenarios.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::outcome::Outcome;

/// The records of one folder of scenarios.
#[derive(Debug, Clone)]
pub struct Records {
    /// Where the scenarios are.
    pub folder: PathBuf,
    /// The test that records.
    pub recorder: &'static str,
}

impl Records {
    /// Writes outcomes down as upstream's, where `UPDATE` is set. What is not as its scenario expects is not written.
    pub fn record(&self, outcomes: &BTreeMap<String, Outcome>) -> Result<()> {
        if std::env::var_os("UPDATE").is_none() {
            return Ok(());
        }
        std::fs::create_dir_all(self.folder.join("recorded"))?;
        for (name, outcome) in outcomes {
            if outcome.failure.is_none() {
                std::fs::write(self.path(name), serde_json::to_string_pretty(&outcome.state)? + "\n")?;
            }
        }
        Ok(())
    }

    /// What was recorded of a scenario.
    pub fn read(&self, name: &str) -> Result<Value> {
        let (path, recorder) = (self.path(name), self.recorder);
        let text = std::fs::read_to_string(&path);
        let text = text.with_context(|| format!("{}: not recorded: run {recorder} with UPDATE=1", path.display()))?;
        serde_json::from_str(&text).with_context(|| path.display().to_string())
    }

    /// The names of all records, in order.
    pub fn names(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(self.folder.join("recorded"))? {
            names.push(entry?.file_name().to_string_lossy().trim_end_matches(".json").to_owned());
        }
        names.sort();
        Ok(names)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join("recorded").join(format!("{name}.json"))
    }
}

/// Writes every outcome into a folder, for the one who looks for the cause of a difference.
pub fn write(outcomes: &BTreeMap<String, Outcome>, into: &Path) -> Result<()> {
    std::fs::create_dir_all(into)?;
    for (name, outcome) in outcomes {
        let failure = outcome.failure.as_ref().map(|why| format!("{why}\n")).unwrap_or_default();
        let text = failure + &serde_json::to_string_pretty(&outcome.state)? + "\n";
        std::fs::write(into.join(format!("{name}.json")), text)?;
    }
    Ok(())
}
