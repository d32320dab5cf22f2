//! Names of resources, and amounts of them.

use serde_json::Value;

use super::found::{Found, quantity};
use crate::validation::names;
use crate::validation::path::Path;

const STANDARD_QUOTA: &[&str] = &[
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
];

/// Counted, not measured.
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

/// Whether Kubernetes itself gives the resource its meaning.
pub(super) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether more may be promised of it than there is.
pub(super) fn is_overcommit_allowed(name: &str) -> bool {
    is_native(name) && !name.starts_with("hugepages-")
}

/// Whether a vendor gives the resource its meaning.
pub(super) fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && names::is_qualified_name(&format!("requests.{name}")).is_empty()
}

fn is_huge_pages_of_quota(name: &str) -> bool {
    name.starts_with("hugepages-") || name.starts_with("requests.hugepages-")
}

/// Whether a quota may limit it.
pub(super) fn is_standard_quota(name: &str) -> bool {
    STANDARD_QUOTA.contains(&name) || is_huge_pages_of_quota(name)
}

fn is_standard(name: &str) -> bool {
    is_standard_quota(name) || name == "storage"
}

/// Any resource's name.
pub(super) fn name(found: &mut Found, name: &str, path: &Path) {
    let complaints = names::is_qualified_name(name);
    if complaints.is_empty() && !name.contains('/') && !is_standard(name) {
        found.invalid(path, name, "must be a standard resource type or fully qualified");
    }
    found.complain(path, name, complaints);
}

/// The name of a resource that a container can have.
pub(super) fn container_name(found: &mut Found, resource: &str, path: &Path) {
    name(found, resource, path);
    if !resource.contains('/') {
        let standard = matches!(resource, "cpu" | "memory" | "ephemeral-storage") || resource.starts_with("hugepages-");
        if !standard {
            found.invalid(path, resource, "must be a standard resource for containers");
        }
    } else if !is_native(resource) && !is_extended(resource) {
        found.invalid(path, resource, "doesn't follow extended resource name standard");
    }
}

/// The name of a resource that a quota can limit.
pub(super) fn quota_name(found: &mut Found, resource: &str, path: &Path) {
    name(found, resource, path);
    if !resource.contains('/') && !is_standard_quota(resource) {
        found.invalid(path, resource, "must be a standard resource for quota");
    }
}

/// An amount of a resource: not negative, and whole where it is counted.
pub(super) fn amount(found: &mut Found, name: &str, value: &Value, path: &Path) {
    found.non_negative_quantity(path, value);
    if (WHOLE.contains(&name) || is_extended(name)) && quantity(value).milli_value() % 1000 != 0 {
        found.invalid(path, value.clone(), "must be an integer");
    }
}

/// Writes amounts of `after` as `before` has them where they are equal, so that only real changes show.
pub(super) fn same_amounts(before: &Value, after: &mut Value, pointers: &[&str]) {
    for pointer in pointers {
        let Some(old) = before.pointer(pointer).and_then(Value::as_object) else { continue };
        let Some(new) = after.pointer_mut(pointer).and_then(Value::as_object_mut) else { continue };
        for (name, value) in new.iter_mut() {
            if let Some(was) = old.get(name).filter(|was| quantity(was) == quantity(value)) {
                *value = was.clone();
            }
        }
    }
}
