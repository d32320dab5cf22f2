use super::*;
use crate::auth::identity::Tokens;
use crate::auth::service_account::Issuer;

fn rbac() -> Rbac {
    let mut rbac = Rbac::default();
    let rules = json!([
        { "verbs": ["list"], "apiGroups": [""], "resources": ["pods"] },
        { "verbs": ["get"], "nonResourceURLs": ["/api", "/api/*"] },
    ]);
    rbac.apply("ClusterRole", &json!({ "metadata": { "name": "s" }, "rules": rules }));
    let binding = json!({
        "metadata": { "name": "s" }, "roleRef": { "kind": "ClusterRole", "name": "s" }, "subjects": [{ "kind": "User", "name": "jane" }],
    });
    rbac.apply("ClusterRoleBinding", &binding);
    rbac
}

fn ask(kind: &str, body: Value) -> Result<Value, (u16, String)> {
    let mut tokens = Tokens::default();
    tokens.insert("good", User::in_groups("jane", &["dev"]));
    let authenticator = Authenticator::new(tokens, Issuer::new("https://kubernetes.default.svc", &[], b"k"));
    let lookup = |_: &str, _: &str, _: &str| None;
    let (user, rbac) = (User::in_groups("jane", &["system:authenticated"]), rbac());
    let namespace = if kind.starts_with("Local") { "auth" } else { "" };
    let now = Timestamp::from_second(0).unwrap();
    let reviewer =
        Reviewer { user: &user, namespace, rbac: &rbac, authenticator: &authenticator, now, lookup: &lookup };
    let body = if body.get("metadata").is_some() {
        body
    } else {
        let mut b = body;
        b["metadata"] = json!({});
        b
    };
    reviewer.answer(kind, &body).map_err(|status| (status.code, status.message))
}

#[test]
fn access_reviews() {
    let pods = json!({ "verb": "list", "resource": "pods" });
    let allowed = json!({ "allowed": true, "reason": "RBAC: allowed by ClusterRoleBinding \"s\" of ClusterRole \"s\" to User \"jane\"" });
    let own = ask("SelfSubjectAccessReview", json!({ "spec": { "resourceAttributes": pods } })).unwrap();
    let want = json!({
        "kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {},
        "spec": { "resourceAttributes": pods }, "status": allowed,
    });
    assert_eq!(own, want);
    let path = json!({ "spec": { "nonResourceAttributes": { "verb": "get", "path": "/x" } } });
    assert_eq!(ask("SelfSubjectAccessReview", path).unwrap()["status"], json!({ "allowed": false }));
    let other = json!({ "spec": { "user": "joe", "resourceAttributes": pods } });
    assert_eq!(ask("SubjectAccessReview", other).unwrap()["status"], json!({ "allowed": false }));
    let masters = json!({ "spec": { "groups": ["system:masters"], "resourceAttributes": {
        "verb": "get", "resource": "x", "fieldSelector": { "rawSelector": "a=b=c" }, "labelSelector": { "rawSelector": "a in" } } } });
    let want = json!({ "allowed": true, "evaluationError":
        "spec.resourceAttributes.fieldSelector ignored due to parse error; spec.resourceAttributes.labelSelector ignored due to parse error" });
    assert_eq!(ask("SubjectAccessReview", masters).unwrap()["status"], want);
    let local = json!({ "spec": { "user": "jane", "resourceAttributes": { "verb": "list", "resource": "pods", "namespace": "auth" } } });
    let got = ask("LocalSubjectAccessReview", local).unwrap();
    assert_eq!(got["status"], allowed);
    assert_eq!(got["metadata"], json!({ "namespace": "auth" }));
}

/// As kube-apiserver 1.37.1 answered.
#[test]
fn refused_access_reviews() {
    let path = json!({ "verb": "get", "path": "/x" });
    for (kind, body, want) in [
        (
            "SelfSubjectAccessReview",
            json!({ "spec": {} }),
            "spec: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
        ),
        (
            "SelfSubjectAccessReview",
            json!({ "metadata": { "name": "x", "managedFields": [{ "operation": "Update", "manager": "kubectl" }] }, "spec": { "nonResourceAttributes": path, "resourceAttributes": { "verb": "get" } } }),
            "[spec: Invalid value: {\"Path\":\"/x\",\"Verb\":\"get\"}: exactly one of nonResourceAttributes or resourceAttributes must be specified, metadata: Invalid value: {\"name\":\"x\",\"managedFields\":[{\"manager\":\"kubectl\",\"operation\":\"Update\"}]}: must be empty]",
        ),
        (
            "SubjectAccessReview",
            json!({ "spec": { "resourceAttributes": { "verb": "get" } } }),
            "spec.user: Invalid value: \"\": at least one of user or group must be specified",
        ),
        (
            "LocalSubjectAccessReview",
            json!({ "spec": { "user": "x", "resourceAttributes": { "namespace": "other" } } }),
            "spec.resourceAttributes.namespace: Invalid value: \"other\": must match metadata.namespace",
        ),
        (
            "LocalSubjectAccessReview",
            json!({ "spec": { "user": "x", "nonResourceAttributes": { "path": "/x", "verb": "list" } } }),
            "spec.nonResourceAttributes: Invalid value: {\"Path\":\"/x\",\"Verb\":\"list\"}: disallowed on this kind of request",
        ),
    ] {
        assert_eq!(ask(kind, body), Err((422, format!(".authorization.k8s.io \"\" is invalid: {want}"))));
    }
}

#[test]
fn rules_tokens_and_whoami() {
    let rules = ask("SelfSubjectRulesReview", json!({ "spec": { "namespace": "x" } })).unwrap();
    let want = json!({
        "kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {}, "spec": {},
        "status": {
            "resourceRules": [{ "verbs": ["list"], "apiGroups": [""], "resources": ["pods"] }],
            "nonResourceRules": [{ "verbs": ["get"], "nonResourceURLs": ["/api", "/api/*"] }],
            "incomplete": false,
        },
    });
    assert_eq!(rules, want);
    assert_eq!(ask("SelfSubjectRulesReview", json!({ "spec": {} })), Err((400, "no namespace on request".into())));

    let token = |token: &str| ask("TokenReview", json!({ "spec": { "token": token } }));
    assert_eq!(token("nope").unwrap()["status"], json!({ "user": {}, "error": "invalid bearer token" }));
    let want = json!({
        "authenticated": true, "user": { "username": "jane", "groups": ["dev", "system:authenticated"] },
        "audiences": ["https://kubernetes.default.svc"],
    });
    assert_eq!(token("good").unwrap()["status"], want);
    assert_eq!(token(""), Err((400, "token is required for TokenReview in authentication".into())));

    let want = json!({
        "kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1", "metadata": { "creationTimestamp": "1970-01-01T00:00:00Z" },
        "status": { "userInfo": { "username": "jane", "groups": ["system:authenticated"] } },
    });
    assert_eq!(ask("SelfSubjectReview", json!({})).unwrap(), want);
}
