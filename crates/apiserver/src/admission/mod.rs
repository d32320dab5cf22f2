//! Admission: what the cluster as a whole has to say about a write.
//!
//! [`mutate`] runs before an object is prepared and may change it; [`validate`] runs after validation and may only refuse. Both see
//! the cluster through [`Cluster`], and run the plugins that kube-apiserver has on by default and that decide without webhooks, in
//! its order.

mod admin_access;
mod claims;
mod limits;
mod namespace;
mod pod_security;
mod priority;
mod resize;
mod runtime_class;
mod selector;
mod service_account;
mod tolerations;

pub mod binding;
pub mod eviction;

use std::sync::Arc;

use serde_json::Value;

use crate::kind::Kind;
use crate::status::{GroupResource, Status};
use crate::value::text;
pub use admin_access::refused as admin_access_refused;

/// The objects that a decision looks at.
pub trait Cluster {
    /// An object; an empty namespace for those of the cluster.
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>>;
    /// All objects of a resource, of one namespace or of all.
    fn list(&self, group: &str, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>>;
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// An object is made, or posted to a subresource.
    Create,
    /// An object is replaced or patched.
    Update,
    /// An object is deleted; there is no new object.
    Delete,
    /// A stream is opened to it.
    Connect,
}

/// Plugins that are not on in every server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Plugins {
    /// Pods get a service account, its token and its pull secrets.
    pub service_account: bool,
    /// New nodes are tainted until they are ready.
    pub taint_nodes_by_condition: bool,
}

/// A write that asks to be let in.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// What is done.
    pub operation: Operation,
    /// The kind of the object (for subresources: of what is posted).
    pub kind: Kind<'a>,
    /// The resource of the path.
    pub resource: GroupResource<'a>,
    /// The subresource; empty for the object itself.
    pub subresource: &'a str,
    /// The namespace; empty for the cluster's.
    pub namespace: &'a str,
    /// The name in the path, or of the object; empty while it is still to be generated.
    pub name: &'a str,
    /// What is there already.
    pub old: Option<&'a Value>,
    /// Nothing is to be written.
    pub dry_run: bool,
    /// Five random characters, for names that a plugin makes up.
    pub suffix: &'a str,
    /// What else is on.
    pub plugins: Plugins,
}

impl Request<'_> {
    /// Whether the request is about objects of this resource, not about a part of them.
    fn is(&self, group: &str, resource: &str) -> bool {
        self.resource.group == group && self.resource.resource == resource && self.subresource.is_empty()
    }

    /// 403, about the object.
    fn forbidden(&self, object: &Value, why: &str) -> Status {
        let names = [self.name, text(object, &["metadata", "name"]), text(object, &["metadata", "generateName"])];
        let name = names.into_iter().find(|name| !name.is_empty()).unwrap_or("Unknown");
        Status::forbidden(self.resource, name, why)
    }
}

/// Lets a write in, changing it where the cluster says so. For deletions `object` is what is deleted and stays as it is.
pub fn mutate(request: &Request<'_>, object: &mut Value, cluster: &dyn Cluster) -> Result<(), Status> {
    namespace::admit(request, object, cluster)?;
    if matches!(request.operation, Operation::Delete | Operation::Connect) {
        return Ok(());
    }
    let create = request.operation == Operation::Create;
    if request.is("", "pods") {
        if create {
            limits::fill(request, object, cluster);
            if request.plugins.service_account {
                service_account::admit(request, object, cluster)?;
            }
        }
        priority::admit(request, object, cluster)?;
        tolerations::admit(object);
        if create {
            runtime_class::admit(request, object, cluster)?;
            claims::topology_labels(object, cluster, &["spec", "nodeName"]);
        }
        return Ok(());
    }
    if !create {
        return Ok(());
    }
    match (request.resource.group, request.resource.resource, request.subresource) {
        ("", "pods", "binding") if text(object, &["target", "kind"]) == "Node" => {
            claims::topology_labels(object, cluster, &["target", "name"]);
        }
        ("", "nodes", "") if request.plugins.taint_nodes_by_condition => tolerations::taint_until_ready(object),
        ("", "persistentvolumeclaims", "") => {
            claims::default_class(object, cluster);
            claims::protect(object, "kubernetes.io/pvc-protection");
        }
        ("", "persistentvolumes", "") => claims::protect(object, "kubernetes.io/pv-protection"),
        ("storage.k8s.io", "volumeattributesclasses", "") => claims::protect(object, "kubernetes.io/vac-protection"),
        ("networking.k8s.io", "ingresses", "") => claims::default_ingress_class(object, cluster),
        _ => {}
    }
    Ok(())
}

/// Has the last word about a write, after it was found valid: refuses it, or lets it in with warnings.
pub fn validate(request: &Request<'_>, object: &Value, cluster: &dyn Cluster) -> Result<Vec<String>, Status> {
    if matches!(request.operation, Operation::Delete | Operation::Connect) {
        return Ok(Vec::new());
    }
    limits::check(request, object, cluster)?;
    let warnings = pod_security::validate(request, object, cluster)?;
    resize::check(request, object, cluster)?;
    if request.is("scheduling.k8s.io", "priorityclasses") {
        priority::only_one_default(request, object, cluster)?;
    }
    if request.is("", "persistentvolumeclaims") && request.operation == Operation::Update {
        claims::expansion(request, object, cluster)?;
    }
    if request.is("", "pods") && request.operation == Operation::Create {
        runtime_class::check(request, object, cluster)?;
    }
    Ok(warnings)
}

#[cfg(test)]
mod tests;
