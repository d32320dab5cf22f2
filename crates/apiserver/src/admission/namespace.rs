//! NamespaceLifecycle: objects need a namespace that is there and stays.

use serde_json::Value;

use super::{Cluster, Operation, Request};
use crate::status::{Cause, GroupResource, Status};
use crate::value::text;

/// Namespaces that the cluster cannot do without.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

pub(super) fn admit(request: &Request<'_>, object: &Value, cluster: &dyn Cluster) -> Result<(), Status> {
    if (request.kind.group, request.kind.kind) == ("", "Namespace") {
        if request.operation == Operation::Delete && IMMORTAL.contains(&request.name) {
            return Err(Status::forbidden(request.resource, request.name, "this namespace may not be deleted"));
        }
        return Ok(());
    }
    if request.namespace.is_empty() || request.operation != Operation::Create {
        return Ok(());
    }
    // Whether something is allowed may be asked about any namespace.
    if request.resource.resource == "localsubjectaccessreviews" {
        return Ok(());
    }
    let Some(namespace) = cluster.get("", "namespaces", "", request.namespace) else {
        return Err(Status::not_found(GroupResource { group: "", resource: "namespaces" }, request.namespace));
    };
    if text(&namespace, &["status", "phase"]) != "Terminating" {
        return Ok(());
    }
    let name = request.namespace;
    let why = format!("unable to create new content in namespace {name} because it is being terminated");
    let mut status = request.forbidden(object, &why);
    if let Some(details) = &mut status.details {
        details.causes.push(Cause {
            reason: "NamespaceTerminating".into(),
            message: format!("namespace {name} is being terminated"),
            field: "metadata.namespace".into(),
        });
    }
    Err(status)
}
