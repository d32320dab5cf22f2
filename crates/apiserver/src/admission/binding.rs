//! `pods/binding`: a pod is given to a node, once.

use serde_json::{Value, json};

use crate::field::{FieldError, Wrong, aggregate};
use crate::status::{GroupResource, Status};
use crate::strategy::set_condition;
use crate::value::{ensure, get, list, name, namespace, remove, text, texts};

const PODS: GroupResource<'static> = GroupResource { group: "", resource: "pods" };
const BINDINGS: GroupResource<'static> = GroupResource { group: "", resource: "pods/binding" };

/// Checks the binding itself; `url_name` is the pod's name in the path.
pub fn check(binding: &Value, url_name: &str) -> Result<(), Status> {
    if name(binding) != url_name {
        return Err(Status::bad_request("name in URL does not match name in Binding object"));
    }
    let mut errors = Vec::new();
    let kind = text(binding, &["target", "kind"]);
    if !matches!(kind, "" | "Node") {
        // In this order, which is not the alphabet's.
        errors.push(FieldError::new(
            Wrong::NotSupported,
            "target.kind",
            &json!(kind),
            "supported values: \"Node\", \"<empty>\"",
        ));
    }
    let node = text(binding, &["target", "name"]);
    if node.is_empty() {
        errors.push(FieldError::required("target.name", ""));
    } else if matches!(kind, "" | "Node") && !is_subdomain(node) {
        let detail = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
                      and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
                      '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
        errors.push(FieldError::invalid("target.name", &json!(node), detail));
    }
    if errors.is_empty() {
        return Ok(());
    }
    // Upstream answers these as errors of its own.
    let texts = aggregate(&errors);
    let message = if let [one] = texts.as_slice() { one.clone() } else { format!("[{}]", texts.join(", ")) };
    Err(Status::new(500, "", message))
}

fn is_subdomain(text: &str) -> bool {
    let label = |l: &str| {
        !l.is_empty()
            && l.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !l.starts_with('-')
            && !l.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

/// Gives the pod, as it is stored, to the node that the binding names. It is then written as it is: no strategy runs.
pub fn assign(pod: &mut Value, binding: &Value, now: &str) -> Result<(), Status> {
    let pod_name = name(pod).to_owned();
    for (field, shown) in [("uid", "UID"), ("resourceVersion", "ResourceVersion")] {
        let wanted = text(binding, &["metadata", field]);
        let has = text(pod, &["metadata", field]);
        if !wanted.is_empty() && wanted != has {
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: /registry/pods/{}/{pod_name}, ResourceVersion: 0, AdditionalErrorMsg: \
                 Precondition failed: {shown} in precondition: {wanted}, {shown} in object meta: {has}",
                namespace(pod)
            );
            return Err(Status::conflict(PODS, &pod_name, &why));
        }
    }
    let refused = |why: String| Err(Status::conflict(BINDINGS, &pod_name, &why));
    if get(pod, &["metadata", "deletionTimestamp"]).is_some() {
        return refused(format!("pod {pod_name} is being deleted, cannot be assigned to a host"));
    }
    let node = text(pod, &["spec", "nodeName"]);
    if !node.is_empty() {
        return refused(format!("pod {pod_name} is already assigned to node \"{node}\""));
    }
    if !list(pod, &["spec", "schedulingGates"]).is_empty() {
        return refused(format!("pod {pod_name} has non-empty .spec.schedulingGates"));
    }
    ensure(pod, &["spec"]).insert("nodeName".into(), text(binding, &["target", "name"]).into());
    remove(pod, &["status", "nominatedNodeName"]);
    for field in ["annotations", "labels"] {
        for (key, value) in texts(binding, &["metadata", field]) {
            ensure(pod, &["metadata", field]).insert(key.into(), value.into());
        }
    }
    set_condition(pod, json!({"type": "PodScheduled", "status": "True"}), now);
    Ok(())
}
