//! What must be true of a scenario's objects and events.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Deserialize;
use serde_json::Value;

use super::observe::Seen;
use super::scenario::{fill, fill_value};

/// Conditions, all of which must hold.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Conditions {
    /// By object: `gone`, `there`, or what stands at each JSON pointer. `null` is nothing there, `{not: x}` anything else than x,
    /// `{any: true}` anything at all.
    pub objects: BTreeMap<String, Value>,
    /// How many objects there are whose `KIND/NAME` begins so: a number, or `{are: 3, with: {/status/phase: Running}}`.
    pub count: BTreeMap<String, Count>,
    /// Events that must have come: `OBJECT TYPE REASON (COMPONENT) MESSAGE`, or the beginning of that.
    pub events: Vec<String>,
    /// Events that must not have come.
    pub never: Vec<String>,
}

/// A number of objects.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Count {
    /// All whose name begins so.
    All(usize),
    /// Those of them with this at these JSON pointers.
    Some {
        /// How many.
        are: usize,
        /// As in `objects`.
        with: BTreeMap<String, Value>,
    },
}

impl Count {
    fn filled(&self, id: &str, values: &BTreeMap<String, String>) -> Self {
        match self {
            Self::All(number) => Self::All(*number),
            Self::Some { are, with } => {
                let with = with.iter().map(|(pointer, value)| (pointer.clone(), fill_value(value, id, values)));
                Self::Some { are: *are, with: with.collect() }
            }
        }
    }

    /// What is counted of some objects, and how many there should be.
    fn of<'a>(&self, objects: impl Iterator<Item = &'a Value>) -> (usize, usize) {
        match self {
            Self::All(number) => (objects.count(), *number),
            Self::Some { are, with } => {
                let as_wanted = |object: &&Value| {
                    with.iter().all(|(at, wanted)| holds(wanted, &object.pointer(at).cloned().unwrap_or_default()))
                };
                (objects.filter(as_wanted).count(), *are)
            }
        }
    }
}

impl Conditions {
    /// With `$ID` and kept values filled in.
    pub fn filled(&self, id: &str, values: &BTreeMap<String, String>) -> Self {
        let text = |text: &String| fill(text, id, values);
        Self {
            objects: self.objects.iter().map(|(key, value)| (text(key), fill_value(value, id, values))).collect(),
            count: self.count.iter().map(|(begin, count)| (text(begin), count.filled(id, values))).collect(),
            events: self.events.iter().map(text).collect(),
            never: self.never.iter().map(text).collect(),
        }
    }

    /// What does not hold, a line for each; nothing where all does.
    pub fn unmet(&self, seen: &Seen) -> Result<Vec<String>> {
        let mut unmet = Vec::new();
        for (reference, wanted) in &self.objects {
            match (seen.objects.get(reference), wanted.as_str()) {
                (Some(_), Some("gone")) => unmet.push(format!("{reference} is still there")),
                (None, Some("gone")) | (Some(_), Some("there")) => {}
                (None, _) => unmet.push(format!("{reference} is not there")),
                (Some(object), _) => {
                    let Some(pointers) = wanted.as_object() else {
                        anyhow::bail!("{reference}: not gone, there or JSON pointers: {wanted}");
                    };
                    for (pointer, wanted) in pointers {
                        let found = object.pointer(pointer).cloned().unwrap_or_default();
                        if !holds(wanted, &found) {
                            unmet.push(format!("{reference}: {pointer} is {found}, not {wanted}"));
                        }
                    }
                }
            }
        }
        for (begin, count) in &self.count {
            let named = seen.objects.iter().filter(|(reference, _)| reference.starts_with(begin.as_str()));
            let (found, wanted) = count.of(named.map(|(_, object)| object));
            if found != wanted {
                unmet.push(format!("{found} of {begin}, not {wanted} {count:?}"));
            }
        }
        for wanted in &self.events {
            if !seen.events.iter().any(|event| event.starts_with(wanted.as_str())) {
                unmet.push(format!("no event: {wanted}"));
            }
        }
        for unwanted in &self.never {
            for event in seen.events.iter().filter(|event| event.starts_with(unwanted.as_str())) {
                unmet.push(format!("an event that must not be: {event}"));
            }
        }
        Ok(unmet)
    }
}

fn holds(wanted: &Value, found: &Value) -> bool {
    if let Some(other) = wanted.get("not") {
        return !found.is_null() && other != found;
    }
    if wanted.get("any").is_some() {
        return !found.is_null();
    }
    wanted == found
}
