//! Refusals of a real kube-apiserver 1.37.1, recorded, and asked of ours.

use serde_json::{Value, json};

use super::path::Path;
use super::{create, ip, update, update_subresource};
use crate::kind::Kind;

/// Each line: a kind, an object, perhaps the one before and a subresource, and the causes that the real server gave, in order.
fn replay(data: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (i, line) in data.lines().enumerate() {
        let case: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| case[name].as_str().unwrap_or_default();
        let kind = Kind::new(text("group"), text("version"), text("kind"));
        let found = match (case.get("old"), text("subresource")) {
            (None, _) => create(kind, &case["new"]),
            (Some(old), "") => update(kind, &case["new"], old),
            (Some(old), subresource) => update_subresource(kind, subresource, &case["new"], old),
        };
        let shown = |cause: &Value| {
            format!(
                "{} {}: {}",
                cause["reason"].as_str().unwrap(),
                cause["field"].as_str().unwrap(),
                cause["message"].as_str().unwrap()
            )
        };
        let expected: Vec<String> = case["causes"].as_array().unwrap().iter().map(shown).collect();
        let got: Vec<String> =
            found.iter().map(|e| format!("{} {}: {}", e.wrong.reason(), e.field, e.body())).collect();
        if expected != got {
            wrong.push(format!("line {} {}\n  real: {expected:#?}\n  ours: {got:#?}", i + 1, text("kind")));
        }
    }
    wrong
}

#[test]
fn workloads_are_refused_as_recorded() {
    let data = include_str!("../../tests/data/validation/workloads.jsonl");
    assert!(data.lines().count() >= 200, "the recording is cut short");
    let wrong = replay(data);
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), data.lines().count(), wrong.join("\n"));
}

#[test]
fn odd_objects_are_answered() {
    let odd = [
        json!(null),
        json!([]),
        json!({"metadata": [], "spec": "x", "template": 1}),
        json!({"metadata": {"name": 5, "labels": []}, "spec": {"containers": {}, "template": {"spec": {"volumes": [null, 1]}}}}),
        json!({"spec": {"containers": [null, {"env": [1], "ports": [{"containerPort": "x"}], "resources": {"limits": {"cpu": 1}}}]}}),
        json!({"spec": {"schedule": "TZ=", "completions": "x", "successPolicy": {"rules": [null]}, "completionMode": "Indexed"}}),
    ];
    let kinds: Vec<Kind<'static>> = [
        ("", "Pod"),
        ("", "Binding"),
        ("", "PodTemplate"),
        ("", "ReplicationController"),
        ("apps", "ReplicaSet"),
        ("apps", "Deployment"),
        ("apps", "StatefulSet"),
        ("apps", "DaemonSet"),
        ("apps", "ControllerRevision"),
        ("batch", "Job"),
        ("batch", "CronJob"),
        ("autoscaling", "HorizontalPodAutoscaler"),
        ("policy", "PodDisruptionBudget"),
        ("scheduling.k8s.io", "PriorityClass"),
        ("example.com", "Thing"),
    ]
    .map(|(group, kind)| Kind::new(group, "v1", kind))
    .to_vec();
    for kind in kinds {
        for new in &odd {
            create(kind, new);
            for old in &odd {
                update(kind, new, old);
                for subresource in ["status", "scale", "resize", "ephemeralcontainers", "binding"] {
                    update_subresource(kind, subresource, new, old);
                }
            }
        }
    }
}

#[test]
fn addresses_are_read_as_go_reads_them() {
    let path = Path::new("ip");
    let said =
        |errors: Vec<crate::field::FieldError>| errors.into_iter().map(|e| e.detail).collect::<Vec<_>>().join("; ");
    let cases = [
        ("10.9.8.7", ""),
        ("2001:db8::1", ""),
        ("x", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        ("", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        ("010.1.1.1", "must not have leading 0s"),
        ("::ffff:1.2.3.4", "must not be an IPv4-mapped IPv6 address"),
        ("2001:DB8:0::1", "must be in canonical form (\"2001:db8::1\")"),
    ];
    for (text, expected) in cases {
        assert_eq!(said(ip::is_ip(&path, text)), expected, "{text}");
    }
    let cases = [
        ("10.0.0.0/8", ""),
        ("10.0.0.1/8", "must not have bits set beyond the prefix length"),
        ("10.0.0.0/08", "must not have leading 0s in IP or prefix length"),
        ("10.0.0.0/33", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
        ("0.0.0.0/0", ""),
        ("2001:db8::/128", ""),
    ];
    for (text, expected) in cases {
        assert_eq!(said(ip::is_cidr(&path, text)), expected, "{text}");
    }
}
