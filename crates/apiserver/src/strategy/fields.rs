//! Field selectors: which fields a list can be narrowed by, and what an object has in them.

use serde_json::Value;

use crate::kind::Kind;
use crate::value::{get, int, is_true, list, name, namespace, text};

/// The fields that a kind can be selected by, besides name and namespace where it has one; `None` for kinds with the plain two.
fn known(kind: Kind<'_>) -> Option<&'static [&'static str]> {
    Some(match (kind.group, kind.kind) {
        ("", "Pod") => &[
            "metadata.namespace",
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
        ("", "Node") => &["spec.unschedulable"],
        ("", "Namespace") => &["status.phase"],
        ("", "ReplicationController") => &["metadata.namespace", "status.replicas"],
        ("", "Secret") => &["metadata.namespace", "type"],
        ("", "Service") => &["metadata.namespace", "spec.clusterIP", "spec.type"],
        ("", "Event") => &[
            "metadata.namespace",
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ("events.k8s.io", "Event") => &[
            "metadata.namespace",
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "type",
        ],
        ("batch", "Job") => &["metadata.namespace", "status.successful"],
        ("certificates.k8s.io", "CertificateSigningRequest" | "ClusterTrustBundle") => &["spec.signerName"],
        ("certificates.k8s.io", "PodCertificateRequest") => &["spec.signerName", "spec.podName", "spec.nodeName"],
        ("resource.k8s.io", "ResourceSlice") => &["spec.nodeName", "spec.driver", "spec.pool.name"],
        _ => return None,
    })
}

/// The field that a selector's label means for a kind, or upstream's sentence for a label that it does not know (to be answered as
/// 400 `BadRequest`).
pub fn field_label<'a>(kind: Kind<'_>, label: &'a str) -> Result<&'a str, String> {
    if label == "metadata.name" {
        return Ok(label);
    }
    let Some(fields) = known(kind) else {
        return match label {
            "metadata.namespace" => Ok(label),
            _ => Err(format!(
                "\"{label}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
            )),
        };
    };
    if fields.contains(&label) {
        return Ok(label);
    }
    match (kind.group, kind.kind, label) {
        // Before nodes had their name.
        ("", "Pod", "spec.host") => Ok("spec.nodeName"),
        ("batch", "Job", _) => Err(format!("field label \"{label}\" not supported for Job")),
        ("resource.k8s.io", "ResourceSlice", _) => Err(format!("field label not supported for {kind}: {label}")),
        _ => Err(format!("field label not supported: {label}")),
    }
}

/// Whether a kind can be selected by a field.
pub fn is_selectable(kind: Kind<'_>, label: &str) -> bool {
    field_label(kind, label).is_ok()
}

/// What an object has in the fields that its kind can be selected by.
pub fn selectable_fields(kind: Kind<'_>, object: &Value) -> Vec<(&'static str, String)> {
    let mut out =
        vec![("metadata.name", name(object).to_owned()), ("metadata.namespace", namespace(object).to_owned())];
    for field in known(kind).unwrap_or_default() {
        if *field != "metadata.namespace" {
            out.push((field, value(kind, object, field)));
        }
    }
    out
}

fn value(kind: Kind<'_>, object: &Value, field: &str) -> String {
    match (kind.kind, field) {
        ("Pod", "spec.hostNetwork") => is_true(object, &["spec", "hostNetwork"]).to_string(),
        ("Pod", "status.podIP") => {
            list(object, &["status", "podIPs"]).first().map(|ip| text(ip, &["ip"]).to_owned()).unwrap_or_default()
        }
        // A selector may name it, but no pod has it.
        ("Pod", "status.podIPs") => String::new(),
        ("Node", "spec.unschedulable") => is_true(object, &["spec", "unschedulable"]).to_string(),
        ("ReplicationController", "status.replicas") => {
            int(object, &["status", "replicas"]).unwrap_or_default().to_string()
        }
        ("Job", "status.successful") => int(object, &["status", "succeeded"]).unwrap_or_default().to_string(),
        ("Event", "source") => match text(object, &["source", "component"]) {
            "" => text(object, &["reportingComponent"]).to_owned(),
            source => source.to_owned(),
        },
        _ => {
            let path: Vec<&str> = field.split('.').collect();
            get(object, &path).and_then(Value::as_str).unwrap_or_default().to_owned()
        }
    }
}
