//! Storage and other small things: DefaultStorageClass, StorageObjectInUseProtection, PersistentVolumeClaimResize,
//! DefaultIngressClass, PodTopologyLabels.

use std::sync::Arc;

use plimsoll_engine::quantity::Quantity;
use serde_json::Value;

use super::{Cluster, Request};
use crate::status::Status;
use crate::value::{ensure, ensure_list, get, is_true, name, text, texts};

const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// The class marked as default; of several, the newest, then the first by name.
fn marked(classes: Vec<Arc<Value>>, annotations: &[&str]) -> Option<Arc<Value>> {
    let is_marked = |class: &Value| annotations.iter().any(|a| text(class, &["metadata", "annotations", a]) == "true");
    classes.into_iter().filter(|class| is_marked(class)).min_by(|a, b| {
        let created = |class: &Value| text(class, &["metadata", "creationTimestamp"]).to_owned();
        created(b).cmp(&created(a)).then_with(|| name(a).cmp(name(b)))
    })
}

/// The class that a claim names, in the field or the annotation that came before it.
fn class_of(claim: &Value) -> Option<&str> {
    let older = get(claim, &["metadata", "annotations", BETA_CLASS]);
    older.or_else(|| get(claim, &["spec", "storageClassName"])).and_then(Value::as_str)
}

pub(super) fn default_class(claim: &mut Value, cluster: &dyn Cluster) {
    // An empty class is one: it asks for none.
    if class_of(claim).is_some() {
        return;
    }
    let annotations =
        ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
    if let Some(class) = marked(cluster.list("storage.k8s.io", "storageclasses", None), &annotations) {
        ensure(claim, &["spec"]).insert("storageClassName".into(), name(&class).into());
    }
}

pub(super) fn default_ingress_class(ingress: &mut Value, cluster: &dyn Cluster) {
    if get(ingress, &["spec", "ingressClassName"]).is_some()
        || get(ingress, &["metadata", "annotations", "kubernetes.io/ingress.class"]).is_some()
    {
        return;
    }
    let classes = cluster.list("networking.k8s.io", "ingressclasses", None);
    if let Some(class) = marked(classes, &["ingressclass.kubernetes.io/is-default-class"]) {
        ensure(ingress, &["spec"]).insert("ingressClassName".into(), name(&class).into());
    }
}

/// Storage that is in use outlasts its deletion.
pub(super) fn protect(object: &mut Value, finalizer: &str) {
    let finalizers = ensure_list(ensure(object, &["metadata"]), "finalizers");
    if !finalizers.iter().any(|f| f == finalizer) {
        finalizers.push(finalizer.into());
    }
}

/// A claim grows only if it is bound, and its class can grow it.
pub(super) fn expansion(request: &Request<'_>, claim: &Value, cluster: &dyn Cluster) -> Result<(), Status> {
    let Some(old) = request.old else { return Ok(()) };
    let size =
        |c: &Value| Quantity::parse(text(c, &["spec", "resources", "requests", "storage"])).unwrap_or(Quantity::ZERO);
    if size(claim) <= size(old) {
        return Ok(());
    }
    if text(old, &["status", "phase"]) != "Bound" {
        return Err(request.forbidden(claim, "Only bound persistent volume claims can be expanded"));
    }
    let (class, before) = (class_of(claim).unwrap_or_default(), class_of(old).unwrap_or_default());
    let grows = !class.is_empty()
        && class == before
        && cluster
            .get("storage.k8s.io", "storageclasses", "", class)
            .is_some_and(|c| is_true(&c, &["allowVolumeExpansion"]));
    if grows {
        return Ok(());
    }
    Err(request.forbidden(
        claim,
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
    ))
}

/// What goes to a node gets the node's zone and region as labels. `node` is where the object names it.
pub(super) fn topology_labels(object: &mut Value, cluster: &dyn Cluster, node: &[&str]) {
    let node_name = text(object, node);
    if node_name.is_empty() {
        return;
    }
    let Some(node) = cluster.get("", "nodes", "", node_name) else { return };
    for (key, value) in texts(&node, &["metadata", "labels"]) {
        if matches!(key, "topology.kubernetes.io/zone" | "topology.kubernetes.io/region") {
            ensure(object, &["metadata", "labels"]).insert(key.into(), value.into());
        }
    }
}
