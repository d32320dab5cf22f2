//! Node.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::found::Found;
use super::gojson::{self, Type};
use super::gotypes::{NODE_ADDRESS, TAINT};
use super::resources;
use crate::field::{FieldError, Wrong, go_quoted};
use crate::validation::ip;
use crate::validation::meta;
use crate::validation::names::{self, name_is_dns_subdomain};
use crate::validation::path::{Path, at, entries, get, list, number, text, texts};
use crate::validation::shown;

/// A new node.
pub(super) fn create(found: &mut Found, new: &Value) {
    found.metadata(new, false, name_is_dns_subdomain);
    // Upstream names the taints of the metadata, where they once were.
    let path = Path::new("metadata");
    taints(found, list(get(new, "spec"), "taints"), &path.child("taints"));
    amounts(found, new);
    if let Some(capacity) = number(at(new, &["status", "nodeInfo", "swap"]), "capacity").filter(|it| *it <= 0) {
        found.invalid(path.child("nodeSwapStatus").child("capacity"), capacity, "must be greater than zero");
    }
    features(found, new);
    pod_ranges(found, new);
}

/// A node that replaces another.
pub(super) fn update(found: &mut Found, new: &Value, old: &Value) {
    create(found, new);
    update_status(found, new, old);
}

/// A node's status. Upstream has the same rules for it as for the rest.
pub(super) fn update_status(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    amounts(found, new);
    features(found, new);
    let addresses = list(get(new, "status"), "addresses");
    for (i, address) in addresses.iter().enumerate() {
        if addresses.iter().take(i).any(|other| other == address) {
            let path = Path::new("status").child("addresses").index(i);
            found.duplicate_struct(&path, Type::Struct(NODE_ADDRESS), address);
        }
    }
    let (spec, before) = (get(new, "spec"), get(old, "spec"));
    let (ranges, had) = (list(spec, "podCIDRs"), list(before, "podCIDRs"));
    if !had.is_empty() {
        let changed =
            if had.len() == ranges.len() { had.iter().zip(ranges).filter(|(a, b)| a != b).count() } else { 1 };
        for _ in 0..changed {
            found.forbidden("spec.podCIDRs", "node updates may not change podCIDR except from \"\" to valid");
        }
    }
    let (provider, was) = (text(spec, "providerID"), text(before, "providerID"));
    if !was.is_empty() && provider != was {
        let how = if provider.is_empty() { "cleared" } else { "modified" };
        found.push(FieldError::invalid("spec.providerID", &Value::Null, format!("field cannot be {how} once set")));
    }
    taints(found, list(spec, "taints"), &Path::new("metadata").child("taints"));
    if text(spec, "externalID") != text(before, "externalID") {
        found.forbidden("spec.externalID", "may not be updated");
    }
}

fn taints(found: &mut Found, taints: &[Value], path: &Path) {
    const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for (i, taint) in taints.iter().enumerate() {
        let path = path.index(i);
        let (key, value, effect) = (text(taint, "key"), text(taint, "value"), text(taint, "effect"));
        found.extend(meta::label_name(key, &path.child("key")));
        let complaints = names::is_label_value(value);
        if !complaints.is_empty() {
            found.invalid(path.child("value"), value, complaints.join(";"));
        }
        if effect.is_empty() {
            found.required(path.child("effect"), "");
        } else if !EFFECTS.contains(&effect) {
            found.unsupported(&path.child("effect"), effect, EFFECTS);
        }
        if seen.contains(&(effect, key)) {
            found.push(FieldError {
                wrong: Wrong::Duplicate,
                field: (&path).into(),
                value: gojson::compact(Type::Struct(TAINT), taint),
                detail: "taints must be unique by key and effect pair".into(),
            });
            continue;
        }
        seen.push((effect, key));
    }
}

fn amounts(found: &mut Found, new: &Value) {
    for name in ["capacity", "allocatable"] {
        for (resource, value) in entries(get(new, "status"), name) {
            resources::amount(found, resource, value, &Path::new("status").child(name).child(resource));
        }
    }
}

static FEATURE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*$").ok());

fn features(found: &mut Found, new: &Value) {
    let features = texts(get(new, "status"), "declaredFeatures");
    let path = Path::new("status").child("declaredFeatures");
    for (i, feature) in features.iter().enumerate() {
        let said = if feature.len() > names::SUBDOMAIN_MAX {
            Some(format!("must be no more than {} characters", names::SUBDOMAIN_MAX))
        } else if FEATURE.as_ref().is_some_and(|feature_name| !feature_name.is_match(feature)) {
            Some(
                "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature \
                 or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
                    .to_owned(),
            )
        } else {
            None
        };
        if let Some(said) = said {
            found.invalid(path.index(i), *feature, format!("invalid feature name {}: {said}", go_quoted(feature)));
        }
        if let Some(next) = features.get(i + 1) {
            if feature == next {
                found.duplicate(path.index(i + 1), *next);
            } else if feature > next {
                found.invalid(path.index(i + 1), *next, "list must be sorted alphabetically");
            }
        }
    }
}

fn pod_ranges(found: &mut Found, new: &Value) {
    let path = Path::new("spec").child("podCIDRs");
    let ranges = texts(get(new, "spec"), "podCIDRs");
    for (i, range) in ranges.iter().enumerate() {
        found.extend(ip::is_cidr_legacy(&path.index(i), range, &[]));
    }
    if ranges.len() < 2 {
        return;
    }
    let families: Vec<Option<bool>> = ranges.iter().map(|range| ip::is_ipv6_range(range)).collect();
    if let Some(i) = families.iter().position(Option::is_none) {
        let bad = ranges.get(i).copied().unwrap_or_default();
        let said = format!(
            "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{i}]: <nil> (invalid CIDR address: {bad})"
        );
        found.push(FieldError::new(Wrong::Internal, &path, &Value::Null, said));
    }
    let dual = families.contains(&Some(true)) && families.contains(&Some(false)) && !families.contains(&None);
    if !dual || ranges.len() > 2 {
        let all = shown::go_json(at(new, &["spec", "podCIDRs"]));
        found.push(shown::invalid(&path, all, "may specify no more than one CIDR for each IP family"));
    }
}
