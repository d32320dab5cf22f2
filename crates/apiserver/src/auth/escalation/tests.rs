use serde_json::json;

use super::*;
use crate::auth::identity::User;

/// Jane may write roles and bindings, and holds `system:discovery` (a part of it).
fn world(more: Value) -> Rbac {
    let mut rbac = Rbac::default();
    let role = |name: &str, rules: Value| json!({ "metadata": { "name": name }, "rules": rules });
    let path = json!([{ "verbs": ["get"], "nonResourceURLs": ["/api", "/api/*"] }]);
    rbac.apply("ClusterRole", &role("discovery", path));
    rbac.apply(
        "ClusterRole",
        &role("secrets", json!([{ "verbs": ["get"], "apiGroups": [""], "resources": ["secrets"] }])),
    );
    rbac.apply("ClusterRole", &role("more", more));
    for name in ["discovery", "more"] {
        rbac.apply(
            "ClusterRoleBinding",
            &json!({
                "metadata": { "name": name }, "roleRef": { "kind": "ClusterRole", "name": name },
                "subjects": [{ "kind": "User", "name": "jane" }],
            }),
        );
    }
    rbac
}

fn check(rbac: &Rbac, kind: &str, object: &Value, old: Option<&Value>) -> Result<(), (u16, String)> {
    let jane = User::in_groups("jane", &["system:authenticated"]);
    let resource = format!("{}s", kind.to_lowercase());
    let namespace = if kind.starts_with("Cluster") { "" } else { "auth" };
    let request = Attributes::resource(&jane, "create", GROUP, "v1", &resource).in_namespace(namespace);
    escalation_check(rbac, &request, kind, object, old).map_err(|status| (status.code, status.message))
}

fn binding(kind: &str, name: &str) -> Value {
    json!({ "metadata": { "name": "b1" }, "roleRef": { "kind": kind, "name": name, "apiGroup": GROUP } })
}

/// As kube-apiserver 1.37.1 answered.
#[test]
fn rights_that_are_not_held() {
    let role = json!({ "metadata": { "name": "r1", "namespace": "auth" }, "rules": [
        { "apiGroups": ["", "apps"], "resources": ["pods"], "verbs": ["get", "list"] },
        { "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a", "b"], "verbs": ["get"] },
    ] });
    let want = "roles.rbac.authorization.k8s.io \"r1\" is forbidden: user \"jane\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:
{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\" \"list\"]}
{APIGroups:[\"\"], Resources:[\"secrets\"], ResourceNames:[\"a\"], Verbs:[\"get\"]}
{APIGroups:[\"\"], Resources:[\"secrets\"], ResourceNames:[\"b\"], Verbs:[\"get\"]}
{APIGroups:[\"apps\"], Resources:[\"pods\"], Verbs:[\"get\" \"list\"]}";
    assert_eq!(check(&world(json!([])), "Role", &role, None), Err((403, want.to_owned())));
    // Held in part, in full, and by the right to escalate.
    let pods = json!({ "apiGroups": ["*"], "resources": ["pods"], "verbs": ["*"] });
    let secrets = json!({ "apiGroups": [""], "resources": ["*"], "verbs": ["get"] });
    let part = check(&world(json!([pods])), "Role", &role, None).unwrap_err().1;
    assert!(!part.contains("pods") && part.contains("secrets"));
    assert_eq!(check(&world(json!([pods, secrets])), "Role", &role, None), Ok(()));
    let escalate = json!([{ "apiGroups": [GROUP], "resources": ["roles"], "verbs": ["escalate"] }]);
    assert_eq!(check(&world(escalate), "Role", &role, None), Ok(()));
}

#[test]
fn bindings() {
    let rbac = world(json!([]));
    assert_eq!(check(&rbac, "RoleBinding", &binding("ClusterRole", "discovery"), None), Ok(()));
    for kind in ["Role", "ClusterRole"] {
        let want = "rolebindings.rbac.authorization.k8s.io \"nope\" not found";
        assert_eq!(check(&rbac, "RoleBinding", &binding(kind, "nope"), None), Err((404, want.to_owned())));
    }
    let want = "unsupported role reference kind: \"Foo\"";
    assert_eq!(check(&rbac, "RoleBinding", &binding("Foo", "x"), None), Err((500, want.to_owned())));
    assert_eq!(check(&rbac, "ClusterRoleBinding", &binding("ClusterRole", "secrets"), None).unwrap_err().0, 403);
    let bind = json!([{ "apiGroups": [GROUP], "resources": ["clusterroles"], "verbs": ["bind"], "resourceNames": ["secrets"] }]);
    assert_eq!(check(&world(bind), "ClusterRoleBinding", &binding("ClusterRole", "secrets"), None), Ok(()));
}

#[test]
fn aggregation_needs_everything() {
    let plain = json!({ "metadata": { "name": "a" }, "rules": [] });
    let mut aggregated = plain.clone();
    aggregated["aggregationRule"] = json!({ "clusterRoleSelectors": [{ "matchLabels": { "a": "b" } }] });
    let want = "clusterroles.rbac.authorization.k8s.io \"a\" is forbidden: must have cluster-admin privileges to use the aggregationRule";
    let rbac = world(json!([]));
    assert_eq!(check(&rbac, "ClusterRole", &aggregated, None), Err((403, want.to_owned())));
    assert_eq!(check(&rbac, "ClusterRole", &plain, Some(&aggregated)), Err((403, want.to_owned())));
    assert_eq!(check(&rbac, "ClusterRole", &plain, None), Ok(()));
    let all = json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }, { "verbs": ["*"], "nonResourceURLs": ["*"] }]);
    assert_eq!(check(&world(all), "ClusterRole", &aggregated, None), Ok(()));
}

#[test]
fn the_garbage_collector_may_touch_what_it_does_not_hold() {
    let old = json!({ "metadata": { "name": "r", "finalizers": ["x"] }, "rules": [{ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }] });
    let new = json!({ "metadata": { "name": "r" }, "rules": old["rules"].clone() });
    assert_eq!(check(&world(json!([])), "Role", &new, Some(&old)), Ok(()));
    assert!(check(&world(json!([])), "Role", &new, None).is_err());
}
