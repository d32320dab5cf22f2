//! LimitRange and ResourceQuota.

use std::collections::BTreeSet;

use serde_json::Value;

use super::found::{Found, IMMUTABLE, quantity};
use super::gojson::{self, Type};
use super::gotypes::SCOPE_SELECTOR;
use super::resources;
use crate::validation::names::{self, name_is_dns_subdomain};
use crate::validation::path::{Path, entries, get, has, list, text, texts};
use crate::validation::shown::{self, go_json};

/// A limit range, new or in place of another.
pub(super) fn limit_range(found: &mut Found, new: &Value) {
    found.metadata(new, true, name_is_dns_subdomain);
    let limits = list(get(new, "spec"), "limits");
    for (i, limit) in limits.iter().enumerate() {
        let path = Path::new("spec").child("limits").index(i);
        let kind = text(limit, "type");
        limit_type(found, kind, &path.child("type"));
        if limits.iter().take(i).any(|other| text(other, "type") == kind) {
            found.duplicate(path.child("type"), kind);
        }
        item(found, limit, kind, &path);
    }
}

fn limit_type(found: &mut Found, kind: &str, path: &Path) {
    let complaints = names::is_qualified_name(kind);
    if complaints.is_empty() && !kind.contains('/') && !matches!(kind, "Pod" | "Container" | "PersistentVolumeClaim") {
        found.invalid(path, kind, "must be a standard limit type or fully qualified");
    }
    found.complain(path, kind, complaints);
}

fn item(found: &mut Found, limit: &Value, kind: &str, path: &Path) {
    let mut keys: BTreeSet<&str> = BTreeSet::new();
    let names = |found: &mut Found, keys: &mut BTreeSet<_>, name: &str| {
        for (resource, _) in entries(limit, name) {
            let path = path.child(name).key(resource);
            if matches!(kind, "Pod" | "Container") {
                resources::container_name(found, resource, &path);
            } else {
                resources::name(found, resource, &path);
            }
            keys.insert(resource.as_str());
        }
    };
    names(found, &mut keys, "max");
    names(found, &mut keys, "min");
    for name in ["default", "defaultRequest"] {
        if kind != "Pod" {
            names(found, &mut keys, name);
        } else if has(limit, name) {
            found.forbidden(path.child(name), "may not be specified when `type` is 'Pod'");
        }
    }
    if kind == "PersistentVolumeClaim" && !["min", "max"].iter().any(|name| has(get(limit, name), "storage")) {
        let said = "either minimum or maximum storage value is required, but neither was provided";
        found.required(path.child("limits"), said);
    }
    names(found, &mut keys, "maxLimitRequestRatio");
    for key in keys {
        amounts(found, limit, kind, key, path);
    }
}

fn amounts(found: &mut Found, limit: &Value, kind: &str, key: &str, path: &Path) {
    let of = |name| Some(get(get(limit, name), key)).filter(|value| !value.is_null());
    let (min, max, ratio) = (of("min"), of("max"), of("maxLimitRequestRatio"));
    let defaults = |name| of(name).filter(|_| kind != "Pod");
    let (default, request) = (defaults("default"), defaults("defaultRequest"));
    // Refuses where the first is more than the second.
    let mut order =
        |low: Option<&Value>, high: Option<&Value>, field: &str, show: &Value, low_is: &str, high_is: &str| {
            if let (Some(low), Some(high)) = (low, high)
                && quantity(low) > quantity(high)
            {
                let said = format!("{low_is} value {} is greater than {high_is} value {}", plain(low), plain(high));
                found.invalid(path.child(field).key(key), show.clone(), said);
            }
        };
    let null = Value::Null;
    order(min, max, "min", min.unwrap_or(&null), "min", "max");
    let shown_request = request.unwrap_or(&null);
    order(min, request, "defaultRequest", shown_request, "min", "default request");
    order(request, max, "defaultRequest", shown_request, "default request", "max");
    order(request, default, "defaultRequest", shown_request, "default request", "default limit");
    order(min, default, "default", min.unwrap_or(&null), "min", "default");
    order(default, max, "default", max.unwrap_or(&null), "default", "max");
    if let Some(ratio) = ratio {
        ratios(found, ratio, min, max, &path.child("maxLimitRequestRatio").key(key));
    }
    if let (Some(default), Some(request)) = (default, request)
        && !resources::is_overcommit_allowed(key)
        && quantity(default) != quantity(request)
    {
        let said =
            format!("default value {} must equal to defaultRequest value {} in {key}", plain(default), plain(request));
        found.invalid(path.child("defaultRequest").key(key), request.clone(), said);
    }
}

fn ratios(found: &mut Found, ratio: &Value, min: Option<&Value>, max: Option<&Value>, path: &Path) {
    /// Numbers up to this one can be had in thousandths.
    const MILLI_MAX: i64 = i64::MAX / 1000;
    if quantity(ratio) < plimsoll_engine::quantity::Quantity::from_units(1) {
        found.invalid(path, ratio.clone(), format!("ratio {} is less than 1", plain(ratio)));
    }
    let (Some(min), Some(max)) = (min, max) else { return };
    let all = [quantity(ratio), quantity(min), quantity(max)];
    let (value, limit) = if all.iter().all(|amount| amount.value() < MILLI_MAX) {
        let [ratio, min, max] = all.map(|amount| amount.milli_value() as f64);
        (ratio / 1000.0, max / min)
    } else {
        let [ratio, min, max] = all.map(|amount| amount.value() as f64);
        (ratio, max / min)
    };
    if value > limit {
        found.invalid(path, ratio.clone(), format!("ratio {} is greater than max/min = {limit:.6}", plain(ratio)));
    }
}

fn plain(value: &Value) -> String {
    quantity(value).to_string()
}

/// A new quota.
pub(super) fn create_quota(found: &mut Found, new: &Value) {
    found.metadata(new, true, name_is_dns_subdomain);
    quota_spec(found, get(new, "spec"), &Path::new("spec"));
    for name in ["hard", "used"] {
        hard(found, get(new, "status"), name, &Path::new("status"));
    }
}

/// A quota that replaces another.
pub(super) fn update_quota(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    let spec = get(new, "spec");
    quota_spec(found, spec, &Path::new("spec"));
    let scopes = |object| texts(get(object, "spec"), "scopes").into_iter().collect::<BTreeSet<_>>();
    if scopes(new) != scopes(old) {
        let path = Path::new("spec").child("scopes");
        found.push(shown::invalid(&path, go_json(get(spec, "scopes")), IMMUTABLE));
    }
}

/// A quota's status.
pub(super) fn update_quota_status(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    if text(get(new, "metadata"), "resourceVersion").is_empty() {
        found.required("resourceVersion", "");
    }
    for name in ["hard", "used"] {
        hard(found, get(new, "status"), name, &Path::new("status"));
    }
}

fn hard(found: &mut Found, object: &Value, name: &str, path: &Path) {
    for (resource, value) in entries(object, name) {
        let path = path.child(name).key(resource);
        resources::quota_name(found, resource, &path);
        resources::amount(found, resource, value, &path);
    }
}

fn is_scope(scope: &str) -> bool {
    matches!(scope, "PriorityClass" | "VolumeAttributesClass") || stands_alone(scope)
}

/// Scopes that are there or not, and have no values.
fn stands_alone(scope: &str) -> bool {
    matches!(scope, "Terminating" | "NotTerminating" | "BestEffort" | "NotBestEffort" | "CrossNamespacePodAffinity")
}

fn scope_fits(scope: &str, resource: &str) -> bool {
    let computing =
        matches!(resource, "cpu" | "memory" | "limits.cpu" | "limits.memory" | "requests.cpu" | "requests.memory");
    match scope {
        "Terminating" | "NotTerminating" | "NotBestEffort" | "PriorityClass" | "CrossNamespacePodAffinity" => {
            resource == "pods" || computing
        }
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
        _ => true,
    }
}

const UNFIT: &str = "unsupported scope applied to resource";
const CONFLICTS: &[[&str; 2]] = &[["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];

fn quota_spec(found: &mut Found, spec: &Value, path: &Path) {
    hard(found, spec, "hard", path);
    let limited: Vec<&str> = entries(spec, "hard")
        .map(|(name, _)| name.as_str())
        .filter(|name| resources::is_standard_quota(name))
        .collect();
    let scopes = texts(spec, "scopes");
    let all = go_json(get(spec, "scopes"));
    let field = path.child("scopes");
    for scope in &scopes {
        if !is_scope(scope) {
            found.push(shown::invalid(&field, all.clone(), "unsupported scope"));
        }
        for _ in limited.iter().filter(|resource| !scope_fits(scope, resource)) {
            found.push(shown::invalid(&field, all.clone(), UNFIT));
        }
    }
    for _ in CONFLICTS.iter().filter(|pair| pair.iter().all(|scope| scopes.contains(scope))) {
        found.push(shown::invalid(&field, all.clone(), "conflicting scopes"));
    }
    let selector = get(spec, "scopeSelector");
    if !selector.is_null() {
        scope_selector(found, selector, &limited, &all, &path.child("scopeSelector").child("matchExpressions"));
    }
}

fn scope_selector(found: &mut Found, selector: &Value, limited: &[&str], scopes: &str, path: &Path) {
    let requirements = list(selector, "matchExpressions");
    for requirement in requirements {
        let (scope, operator) = (text(requirement, "scopeName"), text(requirement, "operator"));
        if !is_scope(scope) {
            found.invalid(path.child("scopeName"), scope, "unsupported scope");
        }
        for _ in limited.iter().filter(|resource| !scope_fits(scope, resource)) {
            let all = gojson::compact(Type::Struct(SCOPE_SELECTOR), selector);
            found.push(shown::invalid(path, all, UNFIT));
        }
        if stands_alone(scope) && operator != "Exists" {
            let said = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, \
                        ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
                        ResourceQuotaScopeCrossNamespacePodAffinity";
            found.invalid(path.child("operator"), operator, said);
        }
        let values = list(requirement, "values");
        match operator {
            "In" | "NotIn" if values.is_empty() => {
                let said = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                found.required(path.child("values"), said);
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let said = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                found.push(shown::invalid(&path.child("values"), go_json(get(requirement, "values")), said));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => found.invalid(path.child("operator"), other, "not a valid selector operator"),
        }
    }
    let named = |scope: &&str| requirements.iter().any(|requirement| text(requirement, "scopeName") == *scope);
    for _ in CONFLICTS.iter().filter(|pair| pair.iter().all(named)) {
        found.push(shown::invalid(path, scopes.to_owned(), "conflicting scopes"));
    }
}
