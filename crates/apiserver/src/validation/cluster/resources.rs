//! Names of resources, and amounts of them.

use serde_json::Value;

use super::found::{Found, quantity};
use crate::validation::path::Path;
use crate::validation::resources as shared;
pub(super) use crate::validation::resources::{is_native, is_overcommit_allowed};

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

fn is_huge_pages_of_quota(name: &str) -> bool {
    name.starts_with("hugepages-") || name.starts_with("requests.hugepages-")
}

/// Whether a quota may limit it.
pub(super) fn is_standard_quota(name: &str) -> bool {
    STANDARD_QUOTA.contains(&name) || is_huge_pages_of_quota(name)
}

/// Any resource's name.
pub(super) fn name(found: &mut Found, name: &str, path: &Path) {
    found.extend(shared::resource_name(name, path));
}

/// The name of a resource that a container can have.
pub(super) fn container_name(found: &mut Found, name: &str, path: &Path) {
    found.extend(shared::container_resource_name(name, path));
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
    found.extend(shared::resource_value(name, value, path));
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
