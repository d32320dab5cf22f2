//! Access to devices that others use: only for namespaces that somebody marked for it.

use serde_json::Value;

use super::Cluster;
use crate::field::FieldError;
use crate::kind::Kind;
use crate::value::{is_true, list, namespace, text};

const LABEL: &str = "resource.kubernetes.io/admin-access";
const REQUESTS: &str = "spec.devices.requests";
const RESULTS: &str = "status.allocation.devices.results";
const OF_REQUEST: &[&str] = &["exactly", "adminAccess"];

/// What is wrong with a new claim, or a template of claims, that asks for it, and with a status that begins to grant it.
pub fn refused(
    kind: Kind<'_>,
    subresource: &str,
    new: &Value,
    old: Option<&Value>,
    cluster: &dyn Cluster,
) -> Vec<FieldError> {
    // Where it may be asked for, and as what that is told: of a template as of a claim.
    let (places, told, flag): (&[&str], &str, &[&str]) = match (kind.group, kind.kind, subresource, old) {
        ("resource.k8s.io", "ResourceClaim", "", None) => (&["spec", "devices", "requests"], REQUESTS, OF_REQUEST),
        ("resource.k8s.io", "ResourceClaimTemplate", "", None) => {
            (&["spec", "spec", "devices", "requests"], REQUESTS, OF_REQUEST)
        }
        ("resource.k8s.io", "ResourceClaim", "status", Some(_)) => {
            (&["status", "allocation", "devices", "results"], RESULTS, &["adminAccess"])
        }
        _ => return Vec::new(),
    };
    let first = |object: &Value| list(object, places).iter().position(|place| is_true(place, flag));
    let Some(index) = first(new).filter(|_| old.and_then(first).is_none()) else { return Vec::new() };
    let home = cluster.get("", "namespaces", "", namespace(new));
    if home.is_some_and(|home| text(&home, &["metadata", "labels", LABEL]) == "true") {
        return Vec::new();
    }
    let said = format!("admin access to devices requires the `{LABEL}: true` label on the containing namespace");
    vec![FieldError::forbidden(format!("{told}[{index}].adminAccess"), &*said)]
}
