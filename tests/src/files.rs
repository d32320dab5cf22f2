//! What is played stands in files, one each, in a folder for each suite.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::de::DeserializeOwned;

/// Names some of a suite: a list of words; what holds one of them in its name is played.
const ONLY: &str = "ONLY";

/// The YAML files of a folder, in the order of their names.
pub fn of_folder(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "yaml") {
            paths.push(path);
        }
    }
    // Without the end, which would come between a name and a longer one that begins with it.
    paths.sort_by(|a, b| a.file_stem().cmp(&b.file_stem()));
    Ok(paths)
}

/// Reads a file: its name without the end, and what it says.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<(String, T)> {
    let name = path.file_stem().and_then(|name| name.to_str()).context("no file name")?.to_owned();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let content = serde_saphyr::from_str(&text).with_context(|| path.display().to_string())?;
    Ok((name, content))
}

/// Whether something is to be played, by its name: all is, unless the environment names some.
pub fn is_played(name: &str) -> bool {
    let only = only();
    only.is_empty() || only.split(',').filter(|word| !word.is_empty()).any(|word| name.contains(word))
}

/// Whether everything is to be played.
pub fn all_are_played() -> bool {
    only().is_empty()
}

fn only() -> String {
    std::env::var(ONLY).unwrap_or_default()
}
