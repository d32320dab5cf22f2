use serde_json::{Value, json};

use super::{Report, canonical, parse};
use crate::{Schema, Table, Type};

fn round(kind: (&str, &str, &str), value: Value) -> (Result<Value, String>, Vec<String>) {
    let table = Table::builtin();
    let ty = Type::Struct(table.kind(kind.0, kind.1, kind.2).unwrap());
    let mut report = Report::default();
    let out = canonical(Schema::new(&table, &ty), value, &mut report).map_err(|e| e.to_string());
    (out, report.problems)
}

#[test]
fn empty_optional_fields_go_and_plain_structs_stay() {
    let (pod, problems) = round(
        ("", "v1", "Pod"),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {}, "creationTimestamp": null},
               "spec": {"containers": [{"name": "c", "image": "", "args": [], "tty": false}], "nodeSelector": null}}),
    );
    assert_eq!(
        pod.unwrap(),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
               "spec": {"containers": [{"name": "c", "resources": {}}]}, "status": {}})
    );
    assert!(problems.is_empty());
}

#[test]
fn lists_without_omitempty_are_null() {
    let (role, _) =
        round(("rbac.authorization.k8s.io", "v1", "ClusterRole"), json!({"metadata": {"name": "r"}, "rules": []}));
    assert_eq!(role.unwrap(), json!({"metadata": {"name": "r"}, "rules": null}));
}

#[test]
fn unknown_fields_are_reported_with_their_way() {
    let (_, problems) = round(
        ("apps", "v1", "Deployment"),
        json!({"spec": {"bogus": 1, "template": {"spec": {"containers": [{"name": "a", "imag": "x"}]}}}}),
    );
    assert_eq!(problems, [r#"unknown field "spec.bogus""#, r#"unknown field "spec.template.spec.containers[0].imag""#]);
}

#[test]
fn type_errors_are_gos() {
    let deployment = ("apps", "v1", "Deployment");
    for (value, error) in [
        (
            json!({"spec": {"replicas": "three"}}),
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            json!({"spec": {"template": {"spec": {"containers": {}}}}}),
            "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
        ),
        (
            json!({"spec": {"replicas": 1.5}}),
            "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (json!([]), "json: cannot unmarshal array into Go value of type v1.Deployment"),
    ] {
        assert_eq!(round(deployment, value).0.unwrap_err(), error);
    }
}

#[test]
fn quantities_and_times_have_one_form() {
    let (claim, _) = round(
        ("", "v1", "PersistentVolumeClaim"),
        json!({"metadata": {"creationTimestamp": "2026-11-16T03:00:00.5+01:00"},
               "spec": {"resources": {"requests": {"storage": "1024Mi"}, "limits": {"storage": 1000}}}}),
    );
    assert_eq!(
        claim.unwrap(),
        json!({"metadata": {"creationTimestamp": "2026-11-16T02:00:00Z"},
               "spec": {"resources": {"requests": {"storage": "1Gi"}, "limits": {"storage": "1k"}}}, "status": {}})
    );
}

#[test]
fn a_comma_begins_a_fraction_too() {
    let (lease, _) = round(
        ("coordination.k8s.io", "v1", "Lease"),
        json!({"metadata": {"creationTimestamp": "2026-11-16T03:00:00,5Z"}, "spec": {"renewTime": "2026-11-16T03:00:00,500000Z"}}),
    );
    let lease = lease.unwrap();
    assert_eq!(lease["metadata"]["creationTimestamp"], json!("2026-11-16T03:00:00Z"));
    assert_eq!(lease["spec"]["renewTime"], json!("2026-11-16T03:00:00.500000Z"));
}

#[test]
fn canonical_form_is_stable() {
    let (once, _) = round(("", "v1", "Service"), json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}));
    let once = once.unwrap();
    assert_eq!(once["spec"]["ports"][0]["targetPort"], json!(0));
    assert_eq!(round(("", "v1", "Service"), once.clone()).0.unwrap(), once);
}

#[test]
fn keys_that_stand_twice_are_noted() {
    let (value, duplicates) = parse(br#"{"a": 1, "b": {"c": [{"d": 1, "d": 2}]}, "a": 3}"#).unwrap();
    assert_eq!(value, json!({"a": 3, "b": {"c": [{"d": 2}]}}));
    assert_eq!(duplicates, [r#"duplicate field "b.c[0].d""#, r#"duplicate field "a""#]);
    assert!(parse(b"{\"a\": ").is_err());
    assert!(parse(b"{} x").is_err());
}

/// As kube-apiserver 1.37.1 answered.
#[test]
fn a_type_that_reads_its_own_form_has_the_first_word() {
    let refused = |spec: Value| round(("apps", "v1", "Deployment"), json!({"spec": spec})).0.unwrap_err();
    let field = "Go struct field";
    let replicas = format!("json: cannot unmarshal string into {field} DeploymentSpec.spec.replicas of type int32");
    assert_eq!(refused(json!({"replicas": "x", "template": 5})), replicas);
    let surge = |value: Value| refused(json!({"replicas": "x", "strategy": {"rollingUpdate": {"maxSurge": value}}}));
    let path = "RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge";
    assert_eq!(surge(json!(true)), format!("json: cannot unmarshal bool into {field} {path} of type int32"));
    let template = |metadata: Value| refused(json!({"replicas": "x", "template": {"metadata": metadata}}));
    let path = "ObjectMeta.spec.template.metadata.creationTimestamp";
    let time = template(json!({"creationTimestamp": 5}));
    assert_eq!(time, format!("json: cannot unmarshal number into {field} {path} of type string"));
    let amount = refused(json!({"replicas": "x", "template": {"spec": {"overhead": {"cpu": [1]}}}}));
    assert!(amount.starts_with("quantities must match the regular expression"), "{amount}");
}
