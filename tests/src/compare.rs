//! What two servers answered differently, and which of that is known.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use serde_json::Value;

use crate::scenario::Scenario;

/// The file of the known differences, in the folder of the scenarios.
pub const KNOWN: &str = "known-differences.yaml";

/// A place where the answers differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The step, from 1.
    pub step: usize,
    /// JSON pointer into the answer.
    pub at: String,
    /// What upstream says; none if nothing is there.
    pub theirs: Option<Value>,
    /// What we say.
    pub ours: Option<Value>,
}

/// A difference that is meant to be.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// The scenario; `*` for any.
    pub scenario: String,
    /// The step, from 1; any unless told.
    pub step: Option<usize>,
    /// JSON pointer: the place, or what it is in; a segment `*` stands for any.
    pub at: String,
    /// Why it is as it is.
    pub reason: String,
    /// How often it was met.
    #[serde(skip)]
    pub met: usize,
}

impl Known {
    /// Reads the list.
    pub fn read(folder: &Path) -> Result<Vec<Self>> {
        let path = folder.join(KNOWN);
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let known: Option<Vec<Self>> = serde_saphyr::from_str(&text).with_context(|| path.display().to_string())?;
        let known = known.unwrap_or_default();
        if let Some(entry) = known.iter().find(|entry| entry.reason.trim().is_empty()) {
            bail!("{}: {entry:?} has no reason", path.display());
        }
        Ok(known)
    }

    fn covers(&self, scenario: &str, difference: &Difference) -> bool {
        let mut place = difference.at.split('/');
        let inside = self.at.split('/').all(|known| place.next().is_some_and(|found| known == "*" || known == found));
        let here = self.scenario == "*" || self.scenario == scenario;
        here && self.step.is_none_or(|step| step == difference.step) && inside
    }
}

/// All places where the answers of one scenario differ.
pub fn differences(theirs: &[Value], ours: &[Value]) -> Vec<Difference> {
    let mut found = Vec::new();
    for step in 0..theirs.len().max(ours.len()) {
        walk(step + 1, String::new(), theirs.get(step), ours.get(step), &mut found);
    }
    found
}

fn walk(step: usize, at: String, theirs: Option<&Value>, ours: Option<&Value>, found: &mut Vec<Difference>) {
    if theirs == ours {
        return;
    }
    match (theirs, ours) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            for name in a.keys().chain(b.keys().filter(|name| !a.contains_key(*name))) {
                let at = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
                walk(step, at, a.get(name), b.get(name), found);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for index in 0..a.len().max(b.len()) {
                walk(step, format!("{at}/{index}"), a.get(index), b.get(index), found);
            }
        }
        _ => found.push(Difference { step, at, theirs: theirs.cloned(), ours: ours.cloned() }),
    }
}

/// Takes out what is known, and counts it there.
pub fn unknown(scenario: &Scenario, found: Vec<Difference>, known: &mut [Known]) -> Vec<Difference> {
    let mut left = Vec::new();
    for difference in found {
        match known.iter_mut().find(|entry| entry.covers(&scenario.name, &difference)) {
            Some(entry) => entry.met += 1,
            None => left.push(difference),
        }
    }
    left
}

/// Whether a place says anything where the codes differ: then everything else does too.
fn tells_refusal(at: &str) -> bool {
    matches!(at, "/status" | "/body/message" | "/body/kind")
}

/// The differences of a scenario for people: step by step, upstream's words over ours.
pub fn report(scenario: &Scenario, found: &[Difference]) -> String {
    let mut out = String::new();
    let mut last = 0;
    for difference in found {
        let codes_differ = found.iter().any(|d| d.step == difference.step && d.at == "/status");
        if codes_differ && !tells_refusal(&difference.at) {
            continue;
        }
        if difference.step != last {
            last = difference.step;
            let step = scenario.steps.get(last - 1);
            let call = step.map(|s| s.read.as_ref().map_or_else(|| s.call.clone(), |name| format!("read {name}")));
            let _ = writeln!(out, "{}.yaml, step {last}: {}", scenario.name, call.unwrap_or_default());
        }
        let shown = |value: &Option<Value>| value.as_ref().map_or_else(|| "(nothing)".to_owned(), Value::to_string);
        let _ = writeln!(
            out,
            "  {}\n    upstream: {}\n    plimsoll: {}",
            difference.at,
            shown(&difference.theirs),
            shown(&difference.ours)
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn places_are_named_and_known_ones_are_taken_out() {
        let theirs = [json!({"status": 200, "body": {"a/b": [1, 2], "same": 1}})];
        let ours = [json!({"status": 200, "body": {"a/b": [1], "same": 1, "more": {}}})];
        let found = differences(&theirs, &ours);
        let places: Vec<&str> = found.iter().map(|d| d.at.as_str()).collect();
        assert_eq!(places, ["/body/a~1b/1", "/body/more"]);
        let known = |at: &str| Known { scenario: "s".into(), step: None, at: at.into(), reason: "why".into(), met: 0 };
        let mut known = [known("/body/a~1b"), known("/body/mo")];
        let scenario = Scenario { name: "s".into(), steps: Vec::new() };
        let left = unknown(&scenario, found, &mut known);
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!(known.map(|entry| entry.met), [1, 0]);
        assert!(report(&scenario, &left).contains("upstream: (nothing)\n    plimsoll: {}"));
    }
}
