//! Who the parts are, and what each may do: they ask the API like anybody else, so that RBAC is real here, too.

use http::Request;
use http::request::Builder;
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

/// The part of the process under this name.
pub fn user(name: &str) -> User {
    let groups: &[&str] = if name == NODES { &["system:nodes"] } else { &[] };
    User::in_groups(name, groups).authenticated()
}

/// Makes the roles and bindings, or brings them back to what they are. What an earlier version gave the parts beside is taken back.
pub async fn ensure(client: &Client) -> Result<(), Error> {
    let wanted = objects();
    for object in &wanted {
        match apply(client, object).await {
            // A binding's role cannot be changed: it is made anew, as kube-apiserver does with those of its own.
            Err(Error::Invalid(_)) if object["kind"] == BINDING => {
                delete(client, object).await?;
                apply(client, object).await?;
            }
            done => done?,
        }
    }
    let list: Value = send(client, Request::get(collection(BINDING)), None).await?;
    for mut found in list["items"].as_array().cloned().unwrap_or_default() {
        // Items of a list do not say of which kind they are.
        found["kind"] = BINDING.into();
        if is_left_over(&found, &wanted) {
            delete(client, &found).await?;
        }
    }
    Ok(())
}

/// Whether a binding is under our names, gives a part something, and is none of those that are made today.
fn is_left_over(binding: &Value, wanted: &[Value]) -> bool {
    let name = &binding["metadata"]["name"];
    let subjects = binding["subjects"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_part = |subject: &Value| [VOLUMES, WORKLOADS, NODES].iter().any(|part| subject["name"] == *part);
    name.as_str().is_some_and(|name| name.starts_with("plimsoll:"))
        && subjects.iter().any(is_part)
        && !wanted.iter().any(|object| object["kind"] == BINDING && object["metadata"]["name"] == *name)
}

const ROLE: &str = "ClusterRole";
const BINDING: &str = "ClusterRoleBinding";

fn collection(kind: &str) -> String {
    format!("/apis/rbac.authorization.k8s.io/v1/{}s", kind.to_lowercase())
}

fn path(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{}/{}", collection(&text(&object["kind"])), text(&object["metadata"]["name"]))
}

async fn apply(client: &Client, object: &Value) -> Result<(), Error> {
    let path = format!("{}?fieldManager={}&force=true", path(object), super::manifests::MANAGER);
    let request = Request::patch(path).header("content-type", "application/apply-patch+yaml");
    send(client, request, Some(object)).await.map(|_| ())
}

async fn delete(client: &Client, object: &Value) -> Result<(), Error> {
    match send(client, Request::delete(path(object)), None).await {
        Ok(_) | Err(Error::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

async fn send(client: &Client, request: Builder, body: Option<&Value>) -> Result<Value, Error> {
    let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
    let request = request.body(body).map_err(|error| Error::Invalid(error.to_string()))?;
    Ok(client.request(request).await?)
}

/// A role of its own for each part, under one name with its binding. The scheduler's come with every API server.
fn objects() -> Vec<Value> {
    let parts = [
        ("plimsoll:volumes", VOLUMES, rules_of_volumes()),
        ("plimsoll:workloads", WORKLOADS, rules_of_workloads()),
        ("plimsoll:nodes", NODES, rules_of_nodes()),
    ];
    parts.into_iter().flat_map(|(name, user, rules)| [role(name, rules), binding(name, user)]).collect()
}

fn role(name: &str, rules: Vec<Value>) -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": ROLE, "metadata": {"name": name}, "rules": rules})
}

/// Binds the role of that name.
fn binding(name: &str, user: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": BINDING, "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": ROLE, "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    })
}

/// The verbs are in one text, so that a role reads as a table.
fn rule(group: &str, resources: &[&str], verbs: &str) -> Value {
    let verbs: Vec<&str> = verbs.split(' ').collect();
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

/// The same for objects of one name only. Making one cannot be held to a name: the API server asks before it knows it.
fn rule_for(name: &str, resources: &[&str], verbs: &str) -> Value {
    let mut rule = rule("", resources, verbs);
    rule["resourceNames"] = json!([name]);
    rule
}

/// What deploy/controller grants, and what making and deleting volumes needs beside it.
fn rules_of_volumes() -> Vec<Value> {
    vec![
        rule("", &["persistentvolumes"], "get list watch create update delete"),
        rule("", &["persistentvolumeclaims"], "get list watch create update"),
        rule("", &["persistentvolumes/status", "persistentvolumeclaims/status"], "update"),
        rule("", &["pods", "nodes"], "get list watch"),
        rule("", &["pods/finalizers"], "update"),
        rule("storage.k8s.io", &["csinodes", "csidrivers"], "get list watch"),
        rule("storage.k8s.io", &["storageclasses", "csistoragecapacities"], "list watch"),
        rule("", &["events"], "create patch"),
    ]
}

/// What the controllers of crates/workloads do. An object is replaced whole (update) under the version that was seen, and read (get)
/// where that was not the last; owners are set and unset by patches.
fn rules_of_workloads() -> Vec<Value> {
    vec![
        rule("", &["pods"], "get list watch create update patch delete"),
        rule("", &["nodes"], "get list watch update"),
        rule("", &["pods/status", "nodes/status", "replicationcontrollers/status"], "update"),
        rule("", &["replicationcontrollers"], "get list watch"),
        rule("apps", &["deployments"], "get list watch update"),
        rule("apps", &["statefulsets", "daemonsets"], "get list watch"),
        rule("apps", &["replicasets", "controllerrevisions"], "get list watch create update patch delete"),
        rule(
            "apps",
            &["deployments/status", "replicasets/status", "statefulsets/status", "daemonsets/status"],
            "update",
        ),
        rule("batch", &["jobs"], "get list watch delete"),
        rule("batch", &["jobs/status"], "update"),
        rule("policy", &["poddisruptionbudgets"], "get list watch"),
        rule("policy", &["poddisruptionbudgets/status"], "update"),
        // Budgets count the pods of whatever can be scaled, of kinds that nobody here knows, too.
        rule("*", &["*/scale"], "get"),
        // Claims of StatefulSets.
        rule("", &["persistentvolumeclaims"], "get list watch create update"),
        // How nodes show that they live.
        rule("coordination.k8s.io", &["leases"], "get list watch"),
        // What every namespace is given.
        rule("", &["namespaces"], "list watch"),
        rule("", &["serviceaccounts", "configmaps"], "create"),
        rule_for("default", &["serviceaccounts"], "get list watch"),
        rule_for("kube-root-ca.crt", &["configmaps"], "get list watch update"),
        rule("", &["events"], "create patch"),
    ]
}

/// What crates/simulate/src/nodes does: less than a kubelet may, except that one process has all nodes.
fn rules_of_nodes() -> Vec<Value> {
    vec![
        rule("", &["nodes"], "get list watch create patch"),
        rule("", &["nodes/status"], "patch"),
        rule("storage.k8s.io", &["csinodes"], "get create update"),
        rule("coordination.k8s.io", &["leases"], "get create update"),
        rule("", &["pods"], "get list watch delete"),
        rule("", &["pods/status"], "update"),
        // What pods mount, by the names that they say; none of it is listed.
        rule("", &["persistentvolumeclaims", "persistentvolumes", "configmaps", "secrets"], "get"),
        rule("", &["events"], "create patch"),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Each right of these rules: group, resource, verb.
    fn rights(rules: &[Value]) -> BTreeSet<[String; 3]> {
        let texts = |rule: &Value, field: &str| -> Vec<String> {
            let all = rule[field].as_array().into_iter().flatten().filter_map(Value::as_str);
            all.map(str::to_owned).collect()
        };
        let mut rights = BTreeSet::new();
        for rule in rules {
            for group in texts(rule, "apiGroups") {
                for resource in texts(rule, "resources") {
                    let right = |verb| [group.clone(), resource.clone(), verb];
                    rights.extend(texts(rule, "verbs").into_iter().map(right));
                }
            }
        }
        rights
    }

    /// tests/tests/deploy.rs holds that role against what the controller asks of a real API server.
    #[test]
    fn volumes_have_what_deploy_grants_and_the_making_of_volumes() {
        let manifest = include_str!("../../../../deploy/controller/rbac.yaml");
        let objects: Vec<Value> = serde_saphyr::from_multiple(manifest).unwrap();
        let role = objects.iter().find(|object| object["kind"] == "ClusterRole").unwrap();
        let deployed = rights(role["rules"].as_array().unwrap());
        let ours = rights(&rules_of_volumes());
        assert!(deployed.is_subset(&ours), "{:?}", deployed.difference(&ours));
        let more: Vec<[&str; 3]> =
            ours.difference(&deployed).map(|right| right.each_ref().map(String::as_str)).collect();
        assert_eq!(more, [["", "persistentvolumes", "create"], ["", "persistentvolumes", "delete"]]);
    }

    #[test]
    fn only_what_a_part_was_given_under_our_names_is_taken_back() {
        let wanted = objects();
        let named = |name: &str, user: &str| is_left_over(&binding(name, user), &wanted);
        assert!(named("plimsoll:workloads:system:kube-controller-manager", WORKLOADS));
        assert!(named("plimsoll:nodes:system:node", NODES));
        assert!(!named("plimsoll:nodes", NODES));
        assert!(!named("plimsoll:mine", "me"));
        assert!(!named("mine", NODES), "somebody gave a part more, under a name of their own");
    }
}
