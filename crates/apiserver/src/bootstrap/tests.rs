use super::rbac::{Reconciled, reconcile};
use super::*;
use crate::auth::aggregation::aggregate;
use crate::auth::{Attributes, Rbac, User};

fn all() -> Vec<(Kind<'static>, Value)> {
    objects(&Options {
        now: Timestamp::from_second(1_794_797_111).unwrap(),
        address: "192.0.2.2".parse().unwrap(),
        port: 16443,
        client_ca: None,
        table: &Table::builtin(),
    })
}

#[test]
fn every_object_names_itself_and_its_kind_is_served() {
    let table = Table::builtin();
    let mut seen = std::collections::BTreeSet::new();
    for (kind, object) in all() {
        assert_eq!(object["kind"], kind.kind);
        assert_eq!(object["apiVersion"], kind.api_version());
        assert!(table.kind(kind.group, kind.version, kind.kind).is_some(), "{kind}");
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        assert!(seen.insert((kind, namespace, name)), "{object}");
    }
    let of = |kind: &str| seen.iter().filter(|(k, _, _)| k.kind == kind).count();
    assert_eq!(of("Namespace"), 4);
    assert_eq!(of("APIService"), 22, "as kubectl get apiservices shows on 1.37.1");
    assert_eq!((of("FlowSchema"), of("PriorityLevelConfiguration")), (11, 8));
    assert_eq!((of("ClusterRole"), of("ClusterRoleBinding"), of("Role"), of("RoleBinding")), (73, 54, 7, 7));
}

#[test]
fn each_component_can_do_its_work_and_no_more() {
    let mut rbac = Rbac::default();
    let objects = all();
    for (kind, object) in &objects {
        rbac.apply(kind.kind, object);
    }
    let roles = || objects.iter().filter(|(kind, _)| kind.kind == "ClusterRole").map(|(_, object)| object);
    for (name, rules) in aggregate(roles()) {
        rbac.apply("ClusterRole", &json!({ "metadata": { "name": name }, "rules": rules }));
    }
    rbac.apply(
        "RoleBinding",
        &json!({
            "metadata": { "name": "v", "namespace": "default" }, "roleRef": { "kind": "ClusterRole", "name": "view" },
            "subjects": [{ "kind": "User", "name": "viewer" }],
        }),
    );
    let anyone = User::new("someone").authenticated();
    for (user, verb, group, resource, namespace, want) in [
        (User::new("system:kube-scheduler"), "list", "", "pods", "", true),
        (User::new("system:kube-scheduler"), "create", "", "secrets", "default", false),
        (User::new("system:serviceaccount:kube-system:statefulset-controller"), "create", "", "pods", "x", true),
        (User::new("system:serviceaccount:default:statefulset-controller"), "create", "", "pods", "x", false),
        (User::in_groups("root", &["system:masters"]), "delete", "", "nodes", "", true),
        (User::new("viewer"), "list", "apps", "deployments", "default", true),
        (User::new("viewer"), "list", "apps", "deployments", "other", false),
        (User::new("viewer"), "get", "", "secrets", "default", false),
        (anyone.clone(), "create", "authorization.k8s.io", "selfsubjectaccessreviews", "", true),
        (User::anonymous(), "create", "authorization.k8s.io", "selfsubjectaccessreviews", "", false),
    ] {
        let request = Attributes::resource(&user, verb, group, "v1", resource).in_namespace(namespace);
        assert_eq!(rbac.allows(&request), want, "{request:?}");
    }
    for (user, path, want) in [
        (&User::anonymous(), "/version", true),
        (&User::anonymous(), "/apis", false),
        (&anyone, "/apis", true),
        (&anyone, "/openapi/v3", true),
        (&anyone, "/metrics", false),
    ] {
        assert_eq!(rbac.allows(&Attributes::path(user, "get", path)), want, "{} {path}", user.name);
    }
}

#[test]
fn reconciling_adds_and_never_takes() {
    let expected = json!({
        "metadata": { "name": "r", "labels": { "a": "1" }, "annotations": { "rbac.authorization.kubernetes.io/autoupdate": "true" } },
        "rules": [{ "verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"] }],
    });
    assert_eq!(reconcile(&expected, &expected), Reconciled::Same);
    let mut older = expected.clone();
    older["metadata"]["labels"] = json!({ "a": "2", "b": "3" });
    older["rules"] = json!([{ "verbs": ["get", "watch"], "apiGroups": [""], "resources": ["pods"] }]);
    let Reconciled::Update(updated) = reconcile(&older, &expected) else { panic!("it lacks a verb") };
    assert_eq!(updated["metadata"]["labels"], json!({ "a": "2", "b": "3" }));
    let added = json!({ "verbs": ["list"], "apiGroups": [""], "resources": ["pods"] });
    assert_eq!(updated["rules"], json!([older["rules"][0], added]));
    assert_eq!(reconcile(&updated, &expected), Reconciled::Same);
    older["metadata"]["annotations"] = json!({ "rbac.authorization.kubernetes.io/autoupdate": "false" });
    assert_eq!(reconcile(&older, &expected), Reconciled::Same);

    let binding = |role: &str, subjects: Value| json!({ "metadata": { "name": "b" }, "roleRef": { "name": role }, "subjects": subjects });
    let (jane, joe) = (json!({ "kind": "User", "name": "jane" }), json!({ "kind": "User", "name": "joe" }));
    let wanted = binding("r", json!([jane]));
    let both = binding("r", json!([joe, jane]));
    assert_eq!(reconcile(&binding("r", json!([joe])), &wanted), Reconciled::Update(both.clone()));
    assert_eq!(reconcile(&both, &wanted), Reconciled::Same);
    assert_eq!(reconcile(&binding("x", json!([jane])), &wanted), Reconciled::Recreate(wanted.clone()));
}
