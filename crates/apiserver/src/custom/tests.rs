//! The recorded session of a real kube-apiserver, replayed: every answer must be the same.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use jiff::Timestamp;
use serde_json::{Value, json};
use tower::Service;

use super::schema::Node;
use super::serve::compare_versions;
use super::{check, formats};
use crate::auth::User;
use crate::clock::{Clock, Entropy};
use crate::service::ApiService;
use crate::start;

const RECORDED: &str = include_str!("../../tests/data/custom/recorded.json");

async fn api() -> ApiService {
    let epoch: Timestamp = "2026-11-16T02:00:00Z".parse().unwrap();
    let core = start::in_process(Clock::starting_at(epoch), Entropy::seeded(1), false).await.unwrap();
    start::service(&core, User::in_groups("admin", &["system:masters"]))
}

/// Sends a request of a case; its code, body and warnings.
async fn send(api: &mut ApiService, case: &Value) -> (u16, Value, Vec<String>) {
    let mut request = Request::builder()
        .method(case["method"].as_str().unwrap())
        .uri(case["path"].as_str().unwrap())
        .header("user-agent", "case");
    for (name, value) in case["headers"].as_object().into_iter().flatten() {
        request = request.header(name, value.as_str().unwrap());
    }
    if let Some(kind) = case["type"].as_str() {
        request = request.header("content-type", kind);
    }
    // Recorded bodies were written by Python's json, whose spaces a refusal may show.
    let body = match (case.get("body"), case["raw"].as_str()) {
        (_, Some(raw)) => Bytes::from(raw.to_owned()),
        (Some(body), None) => Bytes::from(body.to_string()),
        (None, None) => Bytes::new(),
    };
    let response = api.call(request.body(Full::new(body)).unwrap()).await.unwrap();
    let warnings = response.headers().get_all("warning").iter().map(|v| v.to_str().unwrap().to_owned()).collect();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(&bytes)));
    (code, body, warnings)
}

/// Without what differs from run to run: uids, times, versions, and the order of what upstream takes from maps or sorts by the second.
fn plain(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(key, _)| key != "storageVersionHash")
            .map(|(key, value)| {
                let value = match (key.as_str(), plain(value)) {
                    ("uid", Value::String(_)) => "U".into(),
                    ("resourceVersion", Value::String(_)) => "R".into(),
                    ("creationTimestamp" | "time" | "lastTransitionTime" | "deletionTimestamp", Value::String(_)) => {
                        "T".into()
                    }
                    ("conditions" | "causes" | "resources" | "managedFields", Value::Array(mut list)) => {
                        list.sort_by_key(Value::to_string);
                        list.into()
                    }
                    (_, value) => value,
                };
                (key, value)
            })
            .collect(),
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::String(text) if is_age(&text) => "AGE".into(),
        other => other,
    }
}

fn is_age(text: &str) -> bool {
    text == "AGE"
        || text.ends_with(['s', 'm', 'h'])
            && text.starts_with(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_digit() || matches!(c, 's' | 'm' | 'h'))
}

fn without_descriptions(table: &mut Value) {
    for column in table.get_mut("columnDefinitions").and_then(Value::as_array_mut).into_iter().flatten() {
        column.as_object_mut().unwrap().remove("description");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_are_those_of_a_real_server() {
    let mut api = api().await;
    let cases: Vec<Value> = serde_json::from_str(RECORDED).unwrap();
    assert!(cases.len() >= 60);
    let mut wrong = Vec::new();
    for case in &cases {
        // Every case has a second of its own: entries are ordered by time.
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
        let (code, body, warnings) = send(&mut api, case).await;
        let (mut real, mut ours) = (plain(case["answer"].clone()), plain(body));
        without_descriptions(&mut real);
        without_descriptions(&mut ours);
        let known = case["warnings"].as_array().map(Vec::as_slice).unwrap_or_default();
        let known: Vec<String> = known.iter().map(|w| w.as_str().unwrap().to_owned()).collect();
        // Several causes come in any order from a real server, and so do the sentences in the message; a shown patch has versions and times.
        let several = real["details"]["causes"].as_array().is_some_and(|causes| causes.len() > 1);
        if several || case["loose"] == true {
            real["message"] = Value::Null;
            ours["message"] = Value::Null;
        }
        if case["loose"] == true {
            real["details"] = Value::Null;
            ours["details"] = Value::Null;
        }
        if json!(code) != case["code"] || real != ours || known != warnings {
            wrong.push(format!(
                "{}\n  real {} {real} {known:?}\n  ours {code} {ours} {warnings:?}",
                case["name"], case["code"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[tokio::test]
async fn our_own_kind_is_served_from_the_start() {
    let mut api = api().await;
    let object = json!({
        "apiVersion": "plimsoll.dev/v1", "kind": "SimulatedStorage", "metadata": {"name": "sim.csi.plimsoll.dev"},
        "spec": {
            "topologyKeys": ["topology.kubernetes.io/zone"], "attachLimit": 16,
            "pools": [{"segment": {"topology.kubernetes.io/zone": "a"}, "capacity": "100Gi", "maximumVolumeSize": "40Gi",
                "publishedCapacity": "500Gi", "classes": {"mirrored": 0.5}}],
            "faults": [{"call": "DeleteVolume", "code": "UNAVAILABLE", "times": 3, "latency": "5s"}, {"call": "CreateVolume", "code": "OK"}],
        },
    });
    let case = json!({"method": "POST", "path": "/apis/plimsoll.dev/v1/simulatedstorages?fieldValidation=Strict", "type": "application/json", "body": object});
    let (code, body, _) = send(&mut api, &case).await;
    assert_eq!(code, 201, "{body}");
    assert_eq!(body["spec"]["capacityTracking"], true);
    assert_eq!(body["spec"]["faults"][1]["times"], 1);
}

#[test]
fn versions_are_ordered_as_kubernetes_orders_them() {
    let mut versions =
        vec!["v1", "foo10", "v2beta1", "v11alpha2", "v10", "v3beta1", "foo1", "v12alpha1", "v11beta2", "v2"];
    versions.sort_by(|a, b| compare_versions(b, a));
    assert_eq!(
        versions,
        ["v10", "v2", "v1", "v11beta2", "v3beta1", "v2beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
    );
}

#[test]
fn formats_are_told_apart() {
    let table: BTreeMap<&str, (&[&str], &[&str])> = BTreeMap::from([
        (
            "date-time",
            (
                &["2026-11-16T02:00:00Z", "2026-11-16T02:00:00.5+01:00"][..],
                &["2026-13-16T02:00:00Z", "2026-11-16", "x"][..],
            ),
        ),
        ("date", (&["2026-11-16"], &["2026-11-31", "16.11.2026"])),
        ("byte", (&["aGk=", "aGVsbG8h"], &["###", "aGk"])),
        ("ipv4", (&["10.0.0.1", "010.0.0.1"], &["1.2.3", "::1", "256.1.1.1"])),
        ("ipv6", (&["::1", "fe80::1"], &["1.2.3.4", "g::1"])),
        ("cidr", (&["10.0.0.0/8", "::/0"], &["10.0.0.0", "10.0.0.0/33"])),
        ("uuid", (&["4A3C2F61-0d2e-4c1b-9d61-1f2e3d4c5b6a"], &["4a3c"])),
        ("duration", (&["5s", "1h30m", "22 ns"], &["five", ""])),
        ("hostname", (&["a.example.com", "localhost"], &["-a", "a..b"])),
        ("isbn10", (&["0321751043"], &["0321751044"])),
    ]);
    for (format, (good, bad)) in table {
        for text in good {
            assert!(formats::fits(format, text), "{format} {text}");
        }
        for text in bad {
            assert!(!formats::fits(format, text), "{format} {text}");
        }
    }
}

#[test]
fn what_did_not_change_is_not_held_against_an_update() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "a": {"type": "integer", "maximum": 5}, "b": {"type": "string"},
        "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer", "maximum": 5}}}},
    }}}});
    let node = Node::root(&schema);
    let old = json!({"spec": {"a": 9, "list": [{"k": "x", "v": 9}]}});
    let same = json!({"spec": {"a": 9, "b": "new", "list": [{"k": "y", "v": 1}, {"k": "x", "v": 9}]}});
    let worse = json!({"spec": {"a": 10, "list": [{"k": "x", "v": 10}]}});
    assert_eq!(check::value(&node, &same, Some(&old), "").len(), 0);
    assert_eq!(check::value(&node, &worse, Some(&old), "").len(), 2);
    assert_eq!(check::value(&node, &same, None, "").len(), 2);
}
