//! Priority classes.

use serde_json::Value;

use crate::field::FieldError;
use crate::validation::found::Found;
use crate::validation::meta;
use crate::validation::names;
use crate::validation::path::{Path, flag, get, number, same, text};
use crate::validation::pod;

/// The highest that users may give.
const HIGHEST: i64 = 1_000_000_000;
/// Kubernetes' own classes.
const SYSTEM: &[(&str, i64)] = &[("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

/// A new class.
pub fn create(new: &Value) -> Vec<FieldError> {
    let mut out = Found::new();
    let path = Path::new("metadata");
    out.extend(meta::builtin_meta(get(new, "metadata"), false, names::name_is_dns_subdomain, &path));
    let name = text(get(new, "metadata"), "name");
    let value = number(new, "value").unwrap_or_default();
    if name.starts_with("system-") {
        let why = match SYSTEM.iter().find(|(known, _)| *known == name) {
            None => Some(format!("{name} is not a known system priority class")),
            Some((_, right)) if *right != value => Some(format!("value of {name} PriorityClass must be {right}")),
            Some(_) if flag(new, "globalDefault") => {
                Some(format!("globalDefault of {name} PriorityClass must be false"))
            }
            Some(_) => None,
        };
        if let Some(why) = why {
            let said =
                format!("priority class names with 'system-' prefix are reserved for system use only. error: {why}");
            out.forbidden(&path.child("name"), said);
        }
    } else if value > HIGHEST {
        let said = format!("maximum allowed value of a user defined priority is {HIGHEST}");
        out.forbidden(&Path::new("value"), said);
    }
    pod::preemption_policy(&mut out, new, &Path::new(""));
    out.into_errors()
}

/// A class that replaces another.
pub fn update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut out = Found::new();
    out.extend(meta::builtin_meta_update(get(new, "metadata"), get(old, "metadata"), &Path::new("metadata")));
    if number(new, "value").unwrap_or_default() != number(old, "value").unwrap_or_default() {
        out.forbidden(&Path::new("value"), "may not be changed in an update.");
    }
    let (now, before) = (get(new, "preemptionPolicy"), get(old, "preemptionPolicy"));
    if !same(now, before) {
        out.invalid(&Path::new("preemptionPolicy"), now.clone(), "field is immutable");
    }
    out.into_errors()
}
