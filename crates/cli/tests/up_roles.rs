//! What each part of `plimsoll up` may do: its own work, and nothing else.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/server.rs"]
#[allow(dead_code, reason = "each test file uses a part of it")]
mod server;

#[path = "support/cluster.rs"]
#[allow(dead_code, reason = "each test file uses a part of it")]
mod cluster;

use cluster::{Objects, PODS, end, pod};
use serde_json::{Value, json};
use server::Server;
use tempfile::tempdir;

fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// Whether a user may do this, as the API itself says: `verb resource[/subresource][.group] [name]`.
async fn may(objects: &Objects, user: &str, what: &str) -> bool {
    let words: Vec<&str> = what.split(' ').collect();
    let (resource, group) = words[1].split_once('.').unwrap_or((words[1], ""));
    let (resource, part) = resource.split_once('/').unwrap_or((resource, ""));
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
        "user": user, "groups": ["system:authenticated", "system:nodes"], "resourceAttributes": {"verb": words[0],
            "group": group, "resource": resource, "subresource": part, "name": words.get(2).unwrap_or(&"")}}});
    let review = objects.made(REVIEWS, &review).await;
    review["status"]["allowed"].as_bool().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_part_may_do_its_own_work_only() {
    const OTHERS_WORK: [&str; 14] = [
        "list secrets",
        "watch secrets",
        "create secrets",
        "create serviceaccounts/token",
        "impersonate users",
        "update namespaces",
        "delete namespaces",
        "create clusterroles.rbac.authorization.k8s.io",
        "update clusterroles.rbac.authorization.k8s.io",
        "create clusterrolebindings.rbac.authorization.k8s.io",
        "patch rolebindings.rbac.authorization.k8s.io",
        "create pods/exec",
        "list configmaps",
        "approve signers.certificates.k8s.io",
    ];
    let folder = tempdir().unwrap();
    let mut server = Server::up(folder.path(), &["--in-memory", "--nodes", "1"]).await;
    let objects = Objects::of(&server).await;
    for (user, may_not, does) in [
        (
            "plimsoll:workloads",
            &["get secrets", "create nodes", "delete nodes", "get configmaps mine", "delete persistentvolumeclaims"][..],
            &[
                "create pods",
                "get configmaps kube-root-ca.crt",
                "get anything/scale.example.com",
                "delete replicasets.apps",
            ][..],
        ),
        (
            "plimsoll:nodes",
            &["create pods", "delete nodes", "update persistentvolumeclaims/status", "list leases.coordination.k8s.io"],
            &["get secrets", "delete pods", "patch nodes/status"],
        ),
        (
            "plimsoll:controller",
            &["get secrets", "create pods", "delete pods", "delete persistentvolumeclaims", "update nodes"],
            &["create persistentvolumes", "delete persistentvolumes"],
        ),
    ] {
        for what in OTHERS_WORK.iter().chain(may_not) {
            assert!(!may(&objects, user, what).await, "{user} may {what}");
        }
        for what in does {
            assert!(may(&objects, user, what).await, "{user} may not {what}");
        }
    }
    end(&mut server).await;
}

/// What stands where the bindings of the parts are to be keeps nothing from starting, and what an earlier version granted is taken back.
#[tokio::test(flavor = "multi_thread")]
async fn bindings_of_another_role_are_made_anew() {
    let folder = tempdir().unwrap();
    let bindings = format!("{RBAC}/clusterrolebindings");
    let binding = |name: &str, role: &str, user: &str| {
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]})
    };
    let mut server = Server::up(folder.path(), &["--nodes", "1"]).await;
    let objects = Objects::of(&server).await;
    for name in ["plimsoll:nodes", "plimsoll:workloads"] {
        assert_eq!(objects.delete(&format!("{bindings}/{name}")).await.code, 200);
    }
    objects.made(&bindings, &binding("plimsoll:nodes", "view", "plimsoll:nodes")).await;
    objects.made(&bindings, &binding("plimsoll:workloads", "cluster-admin", "somebody")).await;
    let old = "plimsoll:workloads:system:kube-controller-manager";
    objects.made(&bindings, &binding(old, "system:kube-controller-manager", "plimsoll:workloads")).await;
    objects.made(&bindings, &binding("plimsoll:mine", "view", "me")).await;
    end(&mut server).await;

    let mut server = Server::up(folder.path(), &["--nodes", "1"]).await;
    let objects = Objects::of(&server).await;
    for name in ["plimsoll:nodes", "plimsoll:workloads"] {
        let found = objects.get(&format!("{bindings}/{name}")).await.unwrap();
        assert_eq!((text(&found, "/roleRef/name"), text(&found, "/subjects/0/name")), (name, name));
        assert_eq!(found["subjects"].as_array().unwrap().len(), 1);
    }
    assert!(objects.get(&format!("{bindings}/{old}")).await.is_none(), "what is no longer granted is taken back");
    assert!(objects.get(&format!("{bindings}/plimsoll:mine")).await.is_some(), "others' bindings are theirs");
    assert!(!may(&objects, "plimsoll:workloads", "get secrets").await);
    objects.made(PODS, &pod("web", None)).await;
    objects.phase("web", "Running").await;
    end(&mut server).await;
}

/// A part that may not do its work tries again for ever; who reads the log can see why nothing happens.
#[tokio::test(flavor = "multi_thread")]
async fn a_right_that_is_missing_is_said() {
    let folder = tempdir().unwrap();
    let mut server = Server::up(folder.path(), &["--in-memory", "--nodes", "1"]).await;
    let objects = Objects::of(&server).await;
    assert_eq!(objects.delete(&format!("{RBAC}/clusterroles/plimsoll:nodes")).await.code, 200);
    objects.made(PODS, &pod("web", None)).await;
    let expected = "User \"plimsoll:nodes\" cannot update resource \"pods/status\"";
    objects
        .until("the log says it", async |_| {
            let said = server.said();
            if said.contains("a right is missing") && said.contains(expected) { Ok(()) } else { Err(said) }
        })
        .await;
    end(&mut server).await;
}
