use http::{HeaderName, HeaderValue};
use serde_json::json;

use super::*;

fn headers(entries: &[(&str, &str)]) -> HeaderMap {
    let mut out = HeaderMap::new();
    for (key, value) in entries {
        out.append(HeaderName::from_bytes(key.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap());
    }
    out
}

fn rbac(rules: serde_json::Value) -> Rbac {
    let mut rbac = Rbac::default();
    rbac.apply("ClusterRole", &json!({ "metadata": { "name": "r" }, "rules": rules }));
    rbac.apply(
        "ClusterRoleBinding",
        &json!({
            "metadata": { "name": "b" }, "roleRef": { "kind": "ClusterRole", "name": "r" },
            "subjects": [{ "kind": "User", "name": "bot" }],
        }),
    );
    rbac
}

fn ask(requester: &User, rbac: &Rbac, entries: &[(&str, &str)]) -> Result<Option<User>, String> {
    let request = Attributes::resource(requester, "list", "", "v1", "pods").in_namespace("auth");
    Impersonation::default().user(&headers(entries), &request, rbac).map_err(|status| status.message)
}

/// The sentences are those that kube-apiserver 1.37.1 answered with.
#[test]
fn refusals_are_upstreams() {
    let bot = User::new("bot");
    let none = rbac(json!([]));
    let cases: [(&[(&str, &str)], &str); 5] = [
        (
            &[("Impersonate-User", "jane")],
            "pods is forbidden: User \"bot\" cannot impersonate-on:user-info:list resource \"pods\" in API group \"\" in the namespace \"auth\"",
        ),
        (
            &[("Impersonate-User", "system:serviceaccount:auth:bot2")],
            "pods is forbidden: User \"bot\" cannot impersonate-on:serviceaccount:list resource \"pods\" in API group \"\" in the namespace \"auth\"",
        ),
        (
            &[("Impersonate-User", "system:node:n1")],
            "pods is forbidden: User \"bot\" cannot impersonate-on:arbitrary-node:list resource \"pods\" in API group \"\" in the namespace \"auth\"",
        ),
        (
            &[("Impersonate-User", "system:node:n1"), ("Impersonate-Group", "g")],
            "users \"system:node:n1\" is forbidden: User \"bot\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope",
        ),
        (
            &[("Impersonate-Group", "g"), ("Impersonate-Extra-Foo%2fbar", "x")],
            "requested &user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string{\"g\"}, Extra:map[string][]string{\"foo/bar\":[]string{\"x\"}}} without impersonating a user name",
        ),
    ];
    for (entries, want) in cases {
        assert_eq!(ask(&bot, &none, entries), Err(want.to_owned()));
    }
    assert_eq!(ask(&bot, &none, &[]), Ok(None));
}

#[test]
fn the_mode_that_worked_last_is_the_one_that_refuses() {
    let bot = User::new("bot");
    let rbac = rbac(
        json!([{ "verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"], "resourceNames": ["jane"] }]),
    );
    let request = Attributes::resource(&bot, "list", "", "v1", "pods");
    let impersonation = Impersonation::default();
    let user = impersonation.user(&headers(&[("Impersonate-User", "jane")]), &request, &rbac).unwrap().unwrap();
    assert_eq!((user.name.as_str(), user.groups), ("jane", vec![AUTHENTICATED.to_owned()]));
    let refused = |entries| impersonation.user(&headers(entries), &request, &rbac).unwrap_err().message;
    assert_eq!(
        refused(&[("Impersonate-User", "joe")]),
        "users \"joe\" is forbidden: User \"bot\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope"
    );
    assert_eq!(
        refused(&[("Impersonate-User", "jane"), ("Impersonate-Extra-Foo%2fbar", "x")]),
        "userextras.authentication.k8s.io \"x\" is forbidden: User \"bot\" cannot impersonate resource \"userextras/foo/bar\" in API group \"authentication.k8s.io\" at the cluster scope"
    );
}

#[test]
fn who_the_user_becomes() {
    let admin = User::in_groups("admin", &[MASTERS]);
    let none = rbac(json!([]));
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);
    let cases: [Case<'_>; 6] = [
        (&[("Impersonate-User", "jane")], &["system:authenticated"]),
        (&[("Impersonate-User", "jane"), ("Impersonate-Group", "dev")], &["dev", "system:authenticated"]),
        (
            &[("Impersonate-User", "jane"), ("Impersonate-Group", "system:masters")],
            &["system:masters", "system:authenticated"],
        ),
        (&[("Impersonate-User", "system:anonymous")], &["system:unauthenticated"]),
        (&[("Impersonate-User", "system:node:n")], &["system:nodes", "system:authenticated"]),
        (
            &[("Impersonate-User", "system:serviceaccount:a:b")],
            &["system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated"],
        ),
    ];
    for (entries, want) in cases {
        assert_eq!(ask(&admin, &none, entries).unwrap().unwrap().groups, want);
    }
}

#[test]
fn narrow_modes_need_both_rights() {
    let bot = User::new("bot");
    let on = json!({ "verbs": ["impersonate-on:user-info:list"], "apiGroups": [""], "resources": ["pods"] });
    let who =
        json!({ "verbs": ["impersonate:user-info"], "apiGroups": ["authentication.k8s.io"], "resources": ["users"] });
    let entries = [("Impersonate-User", "jane")];
    assert!(ask(&bot, &rbac(json!([on, who])), &entries).is_ok());
    assert!(ask(&bot, &rbac(json!([on])), &entries).is_err());
    assert!(ask(&bot, &rbac(json!([who])), &entries).is_err());
}

#[test]
fn keys_of_extras() {
    for (key, wrong) in [
        ("acme.io/foo", 0),
        ("acme.io/foo/bar", 0),
        ("scopes", 1),
        ("/x", 1),
        ("acme.io/", 1),
        ("acme_io/x", 1),
        ("acme_io/x y", 2),
    ] {
        assert_eq!(bad_key(key).len(), wrong, "{key}: {:?}", bad_key(key));
    }
    assert_eq!(
        bad_key("scopes")[0],
        "extra.key: Invalid value: \"scopes\": must be a domain-prefixed path (such as \"acme.io/foo\")"
    );
}
