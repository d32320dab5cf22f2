use proptest::prelude::*;
use serde_json::json;

use super::*;

fn rule(rule: Value) -> Rule {
    Rule::from_value(&rule)
}

#[test]
fn every_matching_rule() {
    let user = User::new("jane");
    let pods = Attributes::resource(&user, "get", "", "v1", "pods").in_namespace("ns").named("p");
    let log = Attributes { subresource: "log", ..pods };
    let scale = Attributes { subresource: "scale", group: "apps", resource: "deployments", ..pods };
    let path = |path| Attributes::path(&user, "get", path);
    let of = |groups: Value, resources: Value| json!({ "verbs": ["get"], "apiGroups": groups, "resources": resources });
    let urls = |urls: Value| json!({ "verbs": ["get"], "nonResourceURLs": urls });
    let names =
        |names: Value| json!({ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": names });
    let cases = [
        (of(json!([""]), json!(["pods"])), pods, true),
        (json!({ "verbs": ["*"], "apiGroups": [""], "resources": ["pods"] }), pods, true),
        (json!({ "verbs": ["list"], "apiGroups": [""], "resources": ["pods"] }), pods, false),
        (json!({ "verbs": [], "apiGroups": [""], "resources": ["pods"] }), pods, false),
        (json!({ "verbs": ["get"], "resources": ["pods"] }), pods, false),
        (of(json!(["apps"]), json!(["pods"])), pods, false),
        (of(json!(["*"]), json!(["pods"])), pods, true),
        (of(json!([""]), json!(["*"])), pods, true),
        (of(json!([""]), json!(["*"])), log, true),
        (of(json!([""]), json!(["pods"])), log, false),
        (of(json!([""]), json!(["pods/log"])), log, true),
        (of(json!([""]), json!(["pods/log"])), pods, false),
        (of(json!([""]), json!(["pods/*"])), log, false),
        (of(json!([""]), json!(["*/log"])), log, true),
        (of(json!([""]), json!(["*/log"])), pods, false),
        (of(json!(["apps"]), json!(["*/scale"])), scale, true),
        (of(json!(["apps"]), json!(["*/xscale"])), scale, false),
        (of(json!([""]), json!(["services", "pods"])), pods, true),
        (names(json!(["p"])), pods, true),
        (names(json!(["q", "p"])), pods, true),
        (names(json!(["q"])), pods, false),
        (names(json!(["*"])), pods, false),
        (names(json!(["p"])), pods.named(""), false),
        (names(json!([])), pods.named(""), true),
        (urls(json!(["/api"])), path("/api"), true),
        (urls(json!(["/api"])), path("/api/v1"), false),
        (urls(json!(["/api/*"])), path("/api/v1"), true),
        (urls(json!(["/api/*"])), path("/api"), false),
        (urls(json!(["/a*"])), path("/api"), true),
        (urls(json!(["*"])), path("/anything"), true),
        (urls(json!(["/x/**"])), path("/x/y"), true),
        (urls(json!(["/a*b"])), path("/axb"), false),
        (urls(json!(["*"])), pods, false),
        (of(json!(["*"]), json!(["*"])), path("/api"), false),
    ];
    for (value, request, want) in cases {
        assert_eq!(rule(value.clone()).allows(&request), want, "{value} {request:?}");
    }
}

fn binding_of(kind: &str, name: &str, role: &str, subjects: Value) -> Value {
    let namespace = if kind == "RoleBinding" { "ns" } else { "" };
    let role_kind = if role.starts_with("c-") { "ClusterRole" } else { "Role" };
    json!({
        "metadata": { "name": name, "namespace": namespace }, "subjects": subjects,
        "roleRef": { "apiGroup": GROUP, "kind": role_kind, "name": role },
    })
}

fn world() -> Rbac {
    let mut rbac = Rbac::default();
    let rules = |verb: &str| json!([{ "verbs": [verb], "apiGroups": [""], "resources": ["pods"] }]);
    rbac.apply("ClusterRole", &json!({ "metadata": { "name": "c-get" }, "rules": rules("get") }));
    rbac.apply("Role", &json!({ "metadata": { "name": "list", "namespace": "ns" }, "rules": rules("list") }));
    let group = json!([{ "kind": "User", "name": "x" }, { "kind": "Group", "name": "dev" }]);
    rbac.apply("ClusterRoleBinding", &binding_of("ClusterRoleBinding", "readers", "c-get", group));
    rbac.apply(
        "RoleBinding",
        &binding_of("RoleBinding", "bots", "list", json!([{ "kind": "ServiceAccount", "name": "bot" }])),
    );
    let account = json!([{ "kind": "ServiceAccount", "name": "bot", "namespace": "other" }]);
    rbac.apply("RoleBinding", &binding_of("RoleBinding", "others", "c-get", account));
    rbac.apply("RoleBinding", &binding_of("RoleBinding", "lost", "gone", json!([{ "kind": "User", "name": "joe" }])));
    rbac.apply(
        "RoleBinding",
        &binding_of("RoleBinding", "lost2", "c-gone", json!([{ "kind": "User", "name": "joe" }])),
    );
    rbac
}

#[test]
fn decisions_and_their_reasons() {
    let rbac = world();
    let allowed = |text: &str| (true, format!("RBAC: allowed by {text}"));
    let cases = [
        (
            User::in_groups("jane", &["dev"]),
            "get",
            "ns",
            allowed("ClusterRoleBinding \"readers\" of ClusterRole \"c-get\" to Group \"dev\""),
        ),
        (
            User::in_groups("x", &["dev"]),
            "get",
            "",
            allowed("ClusterRoleBinding \"readers\" of ClusterRole \"c-get\" to User \"x\""),
        ),
        (
            User::new("system:serviceaccount:ns:bot"),
            "list",
            "ns",
            allowed("RoleBinding \"bots/ns\" of Role \"list\" to ServiceAccount \"bot/ns\""),
        ),
        (User::new("system:serviceaccount:ns:bot"), "list", "", (false, String::new())),
        (User::new("system:serviceaccount:ns:bot"), "list", "other", (false, String::new())),
        (
            User::new("system:serviceaccount:other:bot"),
            "get",
            "ns",
            allowed("RoleBinding \"others/ns\" of ClusterRole \"c-get\" to ServiceAccount \"bot/other\""),
        ),
        (User::in_groups("root", &[MASTERS]), "delete", "", (true, String::new())),
        (User::new("dev"), "get", "ns", (false, String::new())),
        (
            User::new("joe"),
            "get",
            "ns",
            (false, format!("rbac: RBAC: [role.{GROUP} \"gone\" not found, clusterrole.{GROUP} \"c-gone\" not found]")),
        ),
    ];
    for (user, verb, namespace, want) in cases {
        let request = Attributes::resource(&user, verb, "", "v1", "pods").in_namespace(namespace);
        let decision = rbac.authorize(&request);
        assert_eq!((decision.allowed, decision.reason), want);
        assert_eq!(rbac.allows(&request), want.0);
        assert_eq!(rbac.check(&request).is_ok(), want.0);
    }
}

#[test]
fn removal_forgets() {
    let mut rbac = world();
    let jane = User::in_groups("jane", &["dev"]);
    let bot = User::new("system:serviceaccount:ns:bot");
    let get = Attributes::resource(&jane, "get", "", "v1", "pods");
    let list = Attributes::resource(&bot, "list", "", "v1", "pods").in_namespace("ns");
    assert!(rbac.allows(&get) && rbac.allows(&list));
    rbac.remove("ClusterRoleBinding", "", "readers");
    rbac.remove("Role", "ns", "list");
    assert!(!rbac.allows(&get) && !rbac.allows(&list));
    for name in ["bots", "others", "lost", "lost2", "never"] {
        rbac.remove("RoleBinding", "ns", name);
    }
    assert!(
        rbac.namespaces.is_empty()
            && rbac.roles.is_empty()
            && rbac.cluster.users.is_empty()
            && rbac.cluster.groups.is_empty()
    );
    // Another list of subjects takes the place of the old one.
    rbac.apply(
        "ClusterRoleBinding",
        &binding_of("ClusterRoleBinding", "b", "c-get", json!([{ "kind": "Group", "name": "dev" }])),
    );
    rbac.apply(
        "ClusterRoleBinding",
        &binding_of("ClusterRoleBinding", "b", "c-get", json!([{ "kind": "Group", "name": "ops" }])),
    );
    assert!(!rbac.allows(&get));
}

#[test]
fn malformed_objects_do_nothing() {
    let mut rbac = Rbac::default();
    for object in [
        json!(null),
        json!([]),
        json!({ "metadata": 3, "rules": {}, "subjects": "x", "roleRef": [] }),
        json!({ "rules": [1, null] }),
    ] {
        for kind in ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "Pod"] {
            rbac.apply(kind, &object);
        }
    }
    assert!(!rbac.allows(&Attributes::path(&User::new(""), "get", "/")));
}

/// The rule of the index: it decides as a walk over all bindings in the order of their names would.
fn naive(objects: &[(String, Value)], request: &Attributes<'_>) -> bool {
    let text = |o: &Value, p: &str| o.pointer(p).and_then(Value::as_str).unwrap_or_default().to_owned();
    objects.iter().any(|(kind, binding)| {
        let namespace = text(binding, "/metadata/namespace");
        let in_scope = match kind.as_str() {
            "ClusterRoleBinding" => true,
            "RoleBinding" => !request.namespace.is_empty() && namespace == request.namespace,
            _ => false,
        };
        let subjects = binding["subjects"].as_array().cloned().unwrap_or_default();
        let named = subjects.iter().any(|s| match text(s, "/kind").as_str() {
            "User" => text(s, "/name") == request.user.name,
            "Group" => request.user.is_in(&text(s, "/name")),
            "ServiceAccount" => {
                let own = text(s, "/namespace");
                let of = if own.is_empty() { namespace.clone() } else { own };
                !of.is_empty() && request.user.name == format!("system:serviceaccount:{of}:{}", text(s, "/name"))
            }
            _ => false,
        });
        let (role_kind, role_name) = (text(binding, "/roleRef/kind"), text(binding, "/roleRef/name"));
        let role = objects.iter().find(|(kind, role)| {
            *kind == role_kind
                && text(role, "/metadata/name") == role_name
                && (kind == "ClusterRole" || (kind == "Role" && text(role, "/metadata/namespace") == namespace))
        });
        in_scope && named && role.is_some_and(|(_, role)| Rule::all_of(role).iter().any(|r| r.allows(request)))
    })
}

fn objects() -> impl Strategy<Value = Vec<(String, Value)>> {
    let role = (prop::bool::ANY, 0..3u8, 0..2u8, prop::sample::subsequence(vec!["get", "list", "*"], 0..2), prop::sample::select(vec!["pods", "*", "*/log", "pods/log"]))
        .prop_map(|(cluster, name, namespace, verbs, resource)| {
            let mut object = json!({ "metadata": { "name": format!("r{name}") }, "rules": [{ "verbs": verbs, "apiGroups": [""], "resources": [resource] }] });
            if !cluster {
                object["metadata"]["namespace"] = json!(format!("n{namespace}"));
            }
            ((if cluster { "ClusterRole" } else { "Role" }).to_owned(), object)
        });
    let subject = (0..4u8, 0..3u8, prop::bool::ANY).prop_map(|(kind, name, qualified)| match kind {
        0 => json!({ "kind": "User", "name": format!("u{name}") }),
        1 => json!({ "kind": "Group", "name": format!("g{name}") }),
        2 if qualified => json!({ "kind": "ServiceAccount", "name": "bot", "namespace": format!("n{name}") }),
        2 => json!({ "kind": "ServiceAccount", "name": "bot" }),
        _ => json!({ "kind": "Robot", "name": format!("u{name}") }),
    });
    let binding = (prop::bool::ANY, 0..4u8, 0..2u8, prop::bool::ANY, 0..4u8, prop::collection::vec(subject, 0..3)).prop_map(
        |(cluster, name, namespace, cluster_role, role, subjects)| {
            let kind = if cluster_role { "ClusterRole" } else { "Role" };
            let mut object = json!({ "metadata": { "name": format!("b{name}") }, "subjects": subjects, "roleRef": { "kind": kind, "name": format!("r{role}") } });
            if !cluster {
                object["metadata"]["namespace"] = json!(format!("n{namespace}"));
            }
            ((if cluster { "ClusterRoleBinding" } else { "RoleBinding" }).to_owned(), object)
        },
    );
    prop::collection::vec(prop_oneof![role, binding], 0..24)
}

proptest! {
    #[test]
    fn the_index_decides_as_a_walk_would(
        changes in objects(),
        removed in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        user in prop::sample::select(vec!["u0", "u1", "system:serviceaccount:n0:bot", "system:serviceaccount:n1:bot"]),
        groups in prop::sample::subsequence(vec!["g0", "g1", "g2"], 0..3),
        verb in prop::sample::select(vec!["get", "list", "watch"]),
        namespace in prop::sample::select(vec!["", "n0", "n1", "n2"]),
        subresource in prop::sample::select(vec!["", "log"]),
    ) {
        let mut rbac = Rbac::default();
        let mut left: Vec<(String, Value)> = Vec::new();
        let key = |kind: &str, object: &Value| (kind.to_owned(), object["metadata"]["namespace"].clone(), object["metadata"]["name"].clone());
        for (kind, object) in &changes {
            rbac.apply(kind, object);
            left.retain(|(k, o)| key(k, o) != key(kind, object));
            left.push((kind.clone(), object.clone()));
        }
        for index in removed {
            if left.is_empty() {
                break;
            }
            let (kind, object) = left.remove(index.index(left.len()));
            let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
            rbac.remove(&kind, &text("namespace"), &text("name"));
        }
        let user = User::in_groups(user, &groups);
        let request = Attributes { subresource, ..Attributes::resource(&user, verb, "", "v1", "pods").in_namespace(namespace) };
        let want = naive(&left, &request);
        prop_assert_eq!(rbac.allows(&request), want);
        let decision = rbac.authorize(&request);
        prop_assert_eq!(decision.allowed, want);
        prop_assert_eq!(decision.reason.starts_with("RBAC: allowed by "), want);
    }
}
