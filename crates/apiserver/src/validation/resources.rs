//! Amounts of resources: their names, signs and units, and that what is requested stays within the limits.

use std::collections::BTreeSet;

use plimsoll_engine::quantity::Quantity;
use serde_json::Value;

use crate::field::FieldError;
use crate::validation::found::Found;
use crate::validation::names;
use crate::validation::path::{Path, entries, get, list, text};

/// Names without a domain that are known somewhere.
const STANDARD: &[&str] = &[
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
];

/// Names that are counted in whole numbers.
const WHOLE: &[&str] = &[
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

const HUGE_PAGES: &str = "hugepages-";

/// Reads an amount; what is no amount counts as zero (decoding has refused it before).
pub fn quantity(value: &Value) -> Quantity {
    value.as_str().and_then(|text| Quantity::parse(text).ok()).unwrap_or(Quantity::ZERO)
}

/// Whether the name is of huge pages.
pub fn is_huge_pages(name: &str) -> bool {
    name.starts_with(HUGE_PAGES)
}

/// Whether the name is Kubernetes' own.
pub fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether the name is of a resource that somebody else brings.
pub fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && names::is_qualified_name(&format!("requests.{name}")).is_empty()
}

/// Whether more may be promised than there is.
pub fn is_overcommit_allowed(name: &str) -> bool {
    is_native(name) && !is_huge_pages(name)
}

/// Whether the resource comes in whole numbers.
pub fn is_whole(name: &str) -> bool {
    WHOLE.contains(&name) || is_extended(name)
}

/// The name of a resource anywhere.
pub fn resource_name(name: &str, path: &Path) -> Vec<FieldError> {
    let mut out = Found::new();
    out.said(path, name, names::is_qualified_name(name));
    let quota_huge = name.starts_with(HUGE_PAGES) || name.starts_with("requests.hugepages-");
    if out.is_empty() && !name.contains('/') && !STANDARD.contains(&name) && !quota_huge {
        out.invalid(path, name, "must be a standard resource type or fully qualified");
    }
    out.into_errors()
}

/// The name of a resource that containers can have.
pub fn container_resource_name(name: &str, path: &Path) -> Vec<FieldError> {
    let mut out = Found::new();
    out.extend(resource_name(name, path));
    if !name.contains('/') {
        if !matches!(name, "cpu" | "memory" | "ephemeral-storage") && !is_huge_pages(name) {
            out.invalid(path, name, "must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        out.invalid(path, name, "doesn't follow extended resource name standard");
    }
    out.into_errors()
}

/// The name of a resource that a pod as a whole can have.
pub fn pod_resource_name(name: &str, path: &Path) -> Vec<FieldError> {
    let mut out = Found::new();
    out.extend(resource_name(name, path));
    if out.is_empty() && !matches!(name, "cpu" | "memory") && !is_huge_pages(name) {
        out.unsupported(path, name, &["cpu", "hugepages-", "memory"]);
    }
    out.into_errors()
}

/// `must be greater than or equal to 0` for an amount below.
pub fn non_negative(value: &Value, path: &Path) -> Option<FieldError> {
    (quantity(value).sign() < 0).then(|| FieldError::invalid(path, value, "must be greater than or equal to 0"))
}

/// `must be greater than zero` for an amount that is not.
pub fn positive(value: &Value, path: &Path) -> Option<FieldError> {
    (quantity(value).sign() <= 0).then(|| FieldError::invalid(path, value, "must be greater than zero"))
}

/// An amount of a named resource.
pub fn resource_value(name: &str, value: &Value, path: &Path) -> Vec<FieldError> {
    let mut out = Found::new();
    out.extend(non_negative(value, path));
    if is_whole(name) && quantity(value).milli_value() % 1000 != 0 {
        out.invalid(path, value.clone(), "must be an integer");
    }
    out.into_errors()
}

fn huge_pages_value(name: &str, value: &Value) -> Option<String> {
    let page = Quantity::parse(name.strip_prefix(HUGE_PAGES)?).ok();
    let fits = page.is_some_and(|page| {
        page.sign() > 0
            && page.milli_value() % 1000 == 0
            && quantity(value).value().checked_rem(page.value()) == Some(0)
    });
    (!fits).then(|| format!("{} is not positive integer multiple of {name}", value.as_str().unwrap_or_default()))
}

/// Limits and requests. `name_rule` says which names are allowed, `claims` the pod's claims; `lenient` takes odd amounts of huge pages.
pub fn requirements(
    needs: &Value,
    name_rule: fn(&str, &Path) -> Vec<FieldError>,
    claims: &BTreeSet<&str>,
    lenient: bool,
    path: &Path,
) -> Vec<FieldError> {
    let mut out = Found::new();
    let (limits_path, requests_path) = (path.child("limits"), path.child("requests"));
    let (mut compute, mut huge) = (false, false);
    for (name, value) in entries(needs, "limits") {
        let field = limits_path.key(name);
        out.extend(name_rule(name, &field));
        out.extend(resource_value(name, value, &field));
        if is_huge_pages(name) {
            huge = true;
            if let Some(said) = huge_pages_value(name, value).filter(|_| !lenient) {
                out.invalid(&field, value.clone(), said);
            }
        }
        compute |= matches!(name.as_str(), "cpu" | "memory");
    }
    for (name, value) in entries(needs, "requests") {
        let field = requests_path.key(name);
        out.extend(name_rule(name, &field));
        out.extend(resource_value(name, value, &field));
        let amount = quantity(value);
        match get(needs, "limits").get(name) {
            Some(limit) => {
                let limit_text = limit.as_str().unwrap_or_default();
                if amount != quantity(limit) && !is_overcommit_allowed(name) {
                    out.invalid(
                        &requests_path,
                        value.clone(),
                        format!("must be equal to {name} limit of {limit_text}"),
                    );
                } else if amount > quantity(limit) {
                    let said = format!("must be less than or equal to {name} limit of {limit_text}");
                    out.invalid(&requests_path, value.clone(), said);
                }
            }
            None if !is_overcommit_allowed(name) => {
                out.required(&limits_path, "Limit must be set for non overcommitable resources");
            }
            None => {}
        }
        if is_huge_pages(name) {
            huge = true;
            if let Some(said) = huge_pages_value(name, value).filter(|_| !lenient) {
                out.invalid(&field, value.clone(), said);
            }
        }
        compute |= matches!(name.as_str(), "cpu" | "memory");
    }
    if huge && !compute {
        out.forbidden(path, "HugePages require cpu or memory");
    }
    claim_names(&mut out, list(needs, "claims"), claims, &path.child("claims"));
    out.into_errors()
}

/// Whether a container has an amount of huge pages that is no multiple of the page.
pub fn has_odd_huge_pages(needs: &Value) -> bool {
    ["limits", "requests"].iter().any(|kind| {
        entries(needs, kind).any(|(name, value)| is_huge_pages(name) && huge_pages_value(name, value).is_some())
    })
}

fn claim_names(out: &mut Found, used: &[Value], claims: &BTreeSet<&str>, path: &Path) {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for (i, claim) in used.iter().enumerate() {
        let field = path.index(i);
        let (name, request) = (text(claim, "name"), text(claim, "request"));
        if name.is_empty() {
            out.required(&field, "");
            continue;
        }
        if seen.contains(name) {
            out.duplicate(&field, name);
        } else {
            let mut key = name.to_owned();
            if !request.is_empty() {
                out.said(&field.child("request"), request, names::is_dns1123_label(request));
                key = format!("{name}/{request}");
            }
            if seen.contains(&key) {
                out.duplicate(&field, key.clone());
            } else if request.is_empty() {
                for _ in seen.iter().filter(|other| other.split_once('/').is_some_and(|(claim, _)| claim == name)) {
                    out.duplicate(&field, name);
                }
            }
            seen.insert(key);
        }
        if !claims.contains(name) {
            let mut error = FieldError::not_found(&field, &Value::from(name));
            error.detail = "must be one of the names in pod.spec.resourceClaims".into();
            if claims.is_empty() {
                error.detail.push_str(" which is empty");
            } else {
                let all: Vec<&str> = claims.iter().copied().collect();
                error.detail.push_str(&format!(": {}", all.join(", ")));
            }
            out.push(error);
        }
    }
}
