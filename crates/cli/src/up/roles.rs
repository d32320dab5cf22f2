//! Who the parts are, and what each may do: they ask the API like anybody else, so that RBAC is real here, too.

use http::Request;
use kube::Client;
use plimsoll_apiserver::auth::User;
use plimsoll_runtime::Error;
use serde_json::{Value, json};

/// The scheduler, under the name and with the roles that upstream's has.
pub const SCHEDULER: &str = "system:kube-scheduler";
/// The controllers of claims and volumes, with the provisioner that makes directories.
pub const VOLUMES: &str = "plimsoll:controller";
/// The controllers of workloads and nodes.
pub const WORKLOADS: &str = "plimsoll:workloads";
/// The simulated nodes, all of them.
pub const NODES: &str = "plimsoll:nodes";

/// The roles of upstream's controllers whose work [`WORKLOADS`] does. Each has what one of them may do, and no more.
const OF_WORKLOADS: [&str; 13] = [
    "system:kube-controller-manager",
    "system:controller:deployment-controller",
    "system:controller:replicaset-controller",
    "system:controller:replication-controller",
    "system:controller:statefulset-controller",
    "system:controller:daemon-set-controller",
    "system:controller:job-controller",
    "system:controller:disruption-controller",
    "system:controller:node-controller",
    "system:controller:pod-garbage-collector",
    "system:controller:ttl-after-finished-controller",
    "system:controller:service-account-controller",
    "system:controller:root-ca-cert-publisher",
];

/// The part of the process under this name.
pub fn user(name: &str) -> User {
    let groups: &[&str] = if name == NODES { &["system:nodes"] } else { &[] };
    User::in_groups(name, groups).authenticated()
}

/// Makes the roles and bindings, or brings them back to what they are.
pub async fn ensure(client: &Client) -> Result<(), Error> {
    for object in objects() {
        let plural = if object["kind"] == "ClusterRole" { "clusterroles" } else { "clusterrolebindings" };
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let path = format!(
            "/apis/rbac.authorization.k8s.io/v1/{plural}/{name}?fieldManager={}&force=true",
            super::manifests::MANAGER
        );
        let request = Request::patch(path).header("content-type", "application/apply-patch+yaml");
        let request = request.body(object.to_string().into_bytes()).map_err(|e| Error::Invalid(e.to_string()))?;
        client.request::<Value>(request).await?;
    }
    Ok(())
}

fn objects() -> Vec<Value> {
    let mut out = vec![
        role("plimsoll:volumes", rules_of_volumes()),
        binding("plimsoll:volumes", "plimsoll:volumes", VOLUMES),
        role("plimsoll:nodes", rules_of_nodes()),
        binding("plimsoll:nodes", "plimsoll:nodes", NODES),
        // A kubelet's own role, which upstream's API server gives out by other means than RBAC.
        binding("plimsoll:nodes:system:node", "system:node", NODES),
    ];
    out.extend(OF_WORKLOADS.map(|role| binding(&format!("plimsoll:workloads:{role}"), role, WORKLOADS)));
    out
}

fn role(name: &str, rules: Value) -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules})
}

fn binding(name: &str, role: &str, user: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    })
}

fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": groups, "resources": resources, "verbs": verbs})
}

const READ: [&str; 3] = ["get", "list", "watch"];
const EVENTS: [&str; 3] = ["create", "patch", "update"];

/// What deploy/controller grants, and what making and deleting volumes needs beside it.
fn rules_of_volumes() -> Value {
    json!([
        rule(&[""], &["persistentvolumes"], &["get", "list", "watch", "create", "update", "delete"]),
        rule(&[""], &["persistentvolumeclaims"], &["get", "list", "watch", "create", "update"]),
        rule(&[""], &["persistentvolumes/status", "persistentvolumeclaims/status"], &["update"]),
        rule(&[""], &["pods", "nodes"], &READ),
        rule(&[""], &["pods/finalizers"], &["update"]),
        rule(&["storage.k8s.io"], &["storageclasses", "csinodes", "csidrivers", "csistoragecapacities"], &READ),
        rule(&["", "events.k8s.io"], &["events"], &EVENTS),
    ])
}

/// What simulated nodes look at beside what a kubelet does: one process has all of them, and lists once instead of asking often.
fn rules_of_nodes() -> Value {
    json!([
        rule(&[""], &["persistentvolumes", "persistentvolumeclaims", "configmaps", "secrets"], &READ),
        rule(&["storage.k8s.io"], &["csinodes", "csidrivers", "storageclasses", "volumeattachments"], &READ),
        rule(&["coordination.k8s.io"], &["leases"], &READ),
        rule(&["", "events.k8s.io"], &["events"], &EVENTS),
    ])
}
