//! Lease.

use serde_json::Value;

use super::found::Found;
use crate::validation::names::{self, name_is_dns_subdomain};
use crate::validation::path::{Path, get, number, text};

/// A new lease.
pub(super) fn create(found: &mut Found, new: &Value) {
    found.plain_metadata(new, true, name_is_dns_subdomain);
    spec(found, get(new, "spec"));
}

/// A lease that replaces another.
pub(super) fn update(found: &mut Found, new: &Value, old: &Value) {
    found.plain_metadata_update(new, old);
    spec(found, get(new, "spec"));
}

fn spec(found: &mut Found, spec: &Value) {
    let path = Path::new("spec");
    if let Some(duration) = number(spec, "leaseDurationSeconds").filter(|it| *it <= 0) {
        found.invalid(path.child("leaseDurationSeconds"), duration, "must be greater than 0");
    }
    if let Some(transitions) = number(spec, "leaseTransitions").filter(|it| *it < 0) {
        found.invalid(path.child("leaseTransitions"), transitions, "must be greater than or equal to 0");
    }
    let strategy = get(spec, "strategy").as_str();
    if let Some(strategy) = strategy {
        // Upstream names the field twice.
        let path = path.child("strategy").child("strategy");
        if strategy.contains('/') {
            found.complain(&path, strategy, names::is_qualified_name(strategy));
        } else if strategy != "OldestEmulationVersion" {
            found.unsupported(&path, strategy, &["OldestEmulationVersion"]);
        }
    }
    if !text(spec, "preferredHolder").is_empty() && strategy.unwrap_or_default().is_empty() {
        found.forbidden(path.child("preferredHolder"), "may only be specified if `strategy` is defined");
    }
}
