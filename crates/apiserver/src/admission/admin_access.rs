//! Access to devices that others use: only for namespaces that somebody marked for it.

use serde_json::Value;

use super::Cluster;
use crate::field::FieldError;
use crate::kind::Kind;
use crate::value::{is_true, list, namespace, text};

const LABEL: &str = "resource.kubernetes.io/admin-access";

/// What is wrong with a new claim, or a template of claims, that asks for it.
pub fn refused(kind: Kind<'_>, new: &Value, cluster: &dyn Cluster) -> Vec<FieldError> {
    let requests: &[&str] = match (kind.group, kind.kind) {
        ("resource.k8s.io", "ResourceClaim") => &["spec", "devices", "requests"],
        ("resource.k8s.io", "ResourceClaimTemplate") => &["spec", "spec", "devices", "requests"],
        _ => return Vec::new(),
    };
    let asks = |request: &Value| is_true(request, &["exactly", "adminAccess"]);
    let asking: Vec<usize> = list(new, requests).iter().enumerate().filter(|(_, r)| asks(r)).map(|(i, _)| i).collect();
    let marked = || {
        let home = cluster.get("", "namespaces", "", namespace(new));
        home.is_some_and(|home| text(&home, &["metadata", "labels", LABEL]) == "true")
    };
    if asking.is_empty() || marked() {
        return Vec::new();
    }
    let said = format!("admin access to devices requires the `{LABEL}: true` label on the containing namespace");
    // A template's path is the same.
    let field = |i| format!("spec.devices.requests[{i}].adminAccess");
    asking.into_iter().map(|i| FieldError::forbidden(field(i), &*said)).collect()
}
