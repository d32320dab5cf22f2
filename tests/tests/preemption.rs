//! Pods that fit nowhere: what kube-scheduler writes into their status, whom it removes for them, and that ours does the same.
//!
//! The situations are in `tests/preemption/situations.yaml`; crates/simulate plays them with ours in virtual time. Here both are
//! asked on the real API server. `UPDATE=1` records again what kube-scheduler does; `ONLY=part of a name` plays some.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test: what is missing is a failure")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use plimsoll_tests::client::Client;
use plimsoll_tests::identities::{ADMIN, token};
use plimsoll_tests::process::Process;
use plimsoll_tests::upstream::{Content, Options, Upstream, kube_scheduler};
use plimsoll_tests::volumes::cluster::program;
use serde_json::{Value, json};
use tokio::time::sleep;

const TRIES: usize = 300;
const PAUSE: Duration = Duration::from_millis(100);
const POD: &str = "/api/v1/namespaces/default/pods/p";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("preemption")
}

/// Where objects of a kind are made.
fn collection(kind: &str) -> &'static str {
    match kind {
        "Node" => "/api/v1/nodes",
        "Pod" => "/api/v1/namespaces/default/pods",
        "PersistentVolume" => "/api/v1/persistentvolumes",
        "PersistentVolumeClaim" => "/api/v1/namespaces/default/persistentvolumeclaims",
        "CSINode" => "/apis/storage.k8s.io/v1/csinodes",
        "PodDisruptionBudget" => "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
        "PriorityClass" => "/apis/scheduling.k8s.io/v1/priorityclasses",
        other => panic!("{other} is not among the situations' kinds"),
    }
}

async fn call(client: &Client, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", format!("Bearer {}", token(ADMIN)))
        .header("content-type", kind)
        .body(Full::new(Bytes::from(body.to_string())))
        .unwrap();
    let answer = client.send(request).await.unwrap();
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

async fn make(client: &Client, object: &Value) {
    let path = collection(object["kind"].as_str().unwrap());
    let (code, answer) = call(client, "POST", path, object).await;
    assert!(code < 300, "{object:#} is refused: {answer:#}");
    if object["kind"] == "Node" {
        let path = format!("{path}/{}/status", object["metadata"]["name"].as_str().unwrap());
        let (code, answer) = call(client, "PATCH", &path, &json!({"status": object["status"]})).await;
        assert!(code < 300, "{answer:#}");
    }
}

async fn pods(client: &Client) -> Vec<Value> {
    let (_, list) = call(client, "GET", collection("Pod"), &Value::Null).await;
    list["items"].as_array().cloned().unwrap_or_default()
}

fn scheduled(pod: &Value) -> Option<&Value> {
    pod["status"]["conditions"].as_array()?.iter().find(|c| c["type"] == "PodScheduled")
}

/// What comes of a situation.
async fn play(client: &Client, situation: &Value) -> Value {
    for object in situation["objects"].as_array().unwrap() {
        make(client, object).await;
    }
    // A pod that is looked at before its node is seen would be told of a smaller cluster.
    sleep(Duration::from_millis(500)).await;
    make(client, &situation["pod"]).await;
    let mut outcome = Value::Null;
    for _ in 0..TRIES {
        let (_, pod) = call(client, "GET", POD, &Value::Null).await;
        if let Some(condition) = scheduled(&pod) {
            outcome = json!({"reason": condition["reason"], "message": condition["message"],
                "nominated": pod["status"]["nominatedNodeName"], "going": []});
            break;
        }
        sleep(PAUSE).await;
    }
    // Victims are asked to go beside the loop.
    let wanted =
        outcome["message"].as_str().and_then(|m| m.split("preempting ").nth(1)?.split(' ').next()?.parse().ok());
    for _ in 0..TRIES {
        let going = pods(client).await.into_iter().filter(|p| p["metadata"]["deletionTimestamp"].is_string());
        let names: Vec<Value> = going.map(|p| p["metadata"]["name"].clone()).collect();
        let enough = names.len() >= wanted.unwrap_or(0);
        outcome["going"] = json!(names);
        if enough {
            break;
        }
        sleep(PAUSE).await;
    }
    clear(client, situation).await;
    outcome
}

/// Takes everything away. Nobody else is there to let go of claims and volumes.
async fn clear(client: &Client, situation: &Value) {
    let now = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0});
    let mut objects: Vec<&Value> = situation["objects"].as_array().unwrap().iter().collect();
    // Pods first: the one that waits must not be placed where others have gone.
    objects.push(&situation["pod"]);
    for object in objects.into_iter().rev() {
        let path = collection(object["kind"].as_str().unwrap());
        let path = format!("{path}/{}", object["metadata"]["name"].as_str().unwrap());
        call(client, "DELETE", &path, &now).await;
        call(client, "PATCH", &path, &json!({"metadata": {"finalizers": null}})).await;
        for _ in 0..TRIES {
            if call(client, "GET", &path, &Value::Null).await.0 == 404 {
                break;
            }
            sleep(PAUSE).await;
        }
    }
}

async fn play_all(server: &Upstream, all: &[&Value]) -> BTreeMap<String, Value> {
    let mut outcomes = BTreeMap::new();
    for situation in all {
        let name = situation["name"].as_str().unwrap().to_owned();
        outcomes.insert(name, play(&server.client, situation).await);
    }
    outcomes
}

fn differences(recorded: &BTreeMap<String, Value>, found: &BTreeMap<String, Value>, who: &str) -> Vec<String> {
    let differs = found.iter().filter(|(name, outcome)| recorded.get(*name) != Some(*outcome));
    let text = |(name, outcome): (&String, &Value)| {
        format!("{name}\n  recorded: {}\n  {who}: {outcome}", recorded.get(name).unwrap_or(&Value::Null))
    };
    differs.map(text).collect()
}

#[tokio::test]
async fn pods_that_fit_nowhere_are_told_the_same_by_both() {
    let situations: Value =
        serde_saphyr::from_str(&std::fs::read_to_string(folder().join("situations.yaml")).unwrap()).unwrap();
    let only = std::env::var("ONLY").unwrap_or_default();
    let all = situations["situations"].as_array().unwrap().iter();
    let all: Vec<&Value> = all.filter(|s| s["name"].as_str().unwrap().contains(&only)).collect();
    let server = Upstream::start(Options::default()).await.unwrap();
    for (name, value) in [("low", 10), ("middle", 50), ("high", 100), ("polite", 100)] {
        let policy = if name == "polite" { "Never" } else { "PreemptLowerPriority" };
        let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
            "value": value, "preemptionPolicy": policy});
        make(&server.client, &class).await;
        server.client.until_known(name).await.unwrap();
    }
    let theirs = kube_scheduler(server.folder(), &server.kubeconfig, Content::Protobuf).unwrap();
    let upstream = play_all(&server, &all).await;
    drop(theirs);
    let record = folder().join("upstream.json");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&record, format!("{}\n", serde_json::to_string_pretty(&upstream).unwrap())).unwrap();
    }
    let mut command = Command::new(program().unwrap());
    command
        .args(["scheduler", "--leader-elect=false", "--health-listen", "off", "--kubeconfig"])
        .arg(&server.kubeconfig);
    let ours = Process::start(server.folder(), "plimsoll-scheduler", &mut command).unwrap();
    let found = play_all(&server, &all).await;
    drop(ours);
    let recorded: BTreeMap<String, Value> = serde_json::from_str(&std::fs::read_to_string(&record).unwrap()).unwrap();
    let mut wrong = differences(&recorded, &upstream, "upstream");
    wrong.extend(differences(&recorded, &found, "ours"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
