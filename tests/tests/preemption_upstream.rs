//! Pods that fit nowhere: what kube-scheduler writes into their status, whom it removes for them, and that ours does the same.
//!
//! The situations are in `tests/preemption/situations.yaml`; crates/simulate plays them with ours in virtual time. Here both are
//! asked on the real API server. `UPDATE=1` records again what kube-scheduler does; `ONLY=name,name` plays some.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test: what is missing is a failure")]
#![allow(clippy::print_stderr, reason = "a situation that is played again says so")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use plimsoll_tests::client::Client;
use plimsoll_tests::files::is_played;
use plimsoll_tests::identities::{ADMIN, token};
use plimsoll_tests::process::Process;
use plimsoll_tests::upstream::{Content, Options, Upstream, kube_scheduler};
use plimsoll_tests::volumes::cluster::program;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

const TRIES: usize = 600;
const PAUSE: Duration = Duration::from_millis(100);
/// How long a scheduler may take for its verdict.
const PATIENCE: Duration = Duration::from_secs(60);
/// A pod that is looked at before its nodes are seen would be told of a smaller cluster, and nobody outside knows what a scheduler has
/// seen. So it gets a moment, and more of it where what came of the situation is not what was recorded: only what comes every time counts.
const MOMENTS: [Duration; 3] = [Duration::from_millis(500), Duration::from_secs(2), Duration::from_secs(5)];

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

async fn send(client: &Client, method: &str, path: &str, body: &Value) -> Response<Incoming> {
    let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", format!("Bearer {}", token(ADMIN)))
        .header("content-type", kind)
        .body(Full::new(Bytes::from(body.to_string())))
        .unwrap();
    client.send(request).await.unwrap()
}

async fn call(client: &Client, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let answer = send(client, method, path, body).await;
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

/// Makes an object; returns its version.
async fn make(client: &Client, object: &Value) -> String {
    let path = collection(object["kind"].as_str().unwrap());
    let (code, made) = call(client, "POST", path, object).await;
    assert!(code < 300, "{object:#} is refused: {made:#}");
    if object["kind"] == "Node" {
        let path = format!("{path}/{}/status", object["metadata"]["name"].as_str().unwrap());
        let (code, answer) = call(client, "PATCH", &path, &json!({"status": object["status"]})).await;
        assert!(code < 300, "{answer:#}");
    }
    made["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

async fn pods(client: &Client) -> Vec<Value> {
    let (_, list) = call(client, "GET", collection("Pod"), &Value::Null).await;
    list["items"].as_array().cloned().unwrap_or_default()
}

fn scheduled(pod: &Value) -> Option<&Value> {
    pod["status"]["conditions"].as_array()?.iter().find(|c| c["type"] == "PodScheduled")
}

/// What the pod is told first, from the version on that it was made with. By a watch: a pod whose victims go may have its node a moment
/// later, and then its condition says something else. `Null` where it had its node before it was told anything.
async fn verdict(client: &Client, version: &str) -> Value {
    let path = format!("{}?watch=true&fieldSelector=metadata.name%3Dp&resourceVersion={version}", collection("Pod"));
    let mut body = send(client, "GET", &path, &Value::Null).await.into_body();
    let mut read = Vec::new();
    while let Some(frame) = body.frame().await {
        read.extend_from_slice(&frame.unwrap().into_data().unwrap_or_default());
        while let Some(end) = read.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = read.drain(..=end).collect();
            let event: Value = serde_json::from_slice(&line).unwrap();
            assert!(event["type"] != "ERROR", "{event:#}");
            let pod = &event["object"];
            match scheduled(pod) {
                Some(condition) if condition["status"] == "False" => {
                    return json!({"reason": condition["reason"], "message": condition["message"],
                        "nominated": pod["status"]["nominatedNodeName"], "going": []});
                }
                Some(_) => return Value::Null,
                None => {}
            }
        }
    }
    Value::Null
}

/// What comes of a situation, when the scheduler had a moment to see it.
async fn play(client: &Client, situation: &Value, moment: Duration) -> Value {
    for object in situation["objects"].as_array().unwrap() {
        make(client, object).await;
    }
    sleep(moment).await;
    let version = make(client, &situation["pod"]).await;
    let mut outcome = timeout(PATIENCE, verdict(client, &version)).await.unwrap_or_default();
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

async fn play_all(server: &Upstream, all: &[&Value], recorded: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let mut outcomes = BTreeMap::new();
    for situation in all {
        let name = situation["name"].as_str().unwrap().to_owned();
        let mut outcome = Value::Null;
        for moment in MOMENTS {
            outcome = play(&server.client, situation, moment).await;
            if recorded.get(&name).is_none_or(|wanted| *wanted == outcome) {
                break;
            }
            eprintln!("{name}: after {moment:?} {outcome}");
        }
        outcomes.insert(name, outcome);
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
    let all = situations["situations"].as_array().unwrap().iter();
    let all: Vec<&Value> = all.filter(|s| is_played(s["name"].as_str().unwrap())).collect();
    let server = Upstream::start(Options::default()).await.unwrap();
    for (name, value) in [("low", 10), ("middle", 50), ("high", 100), ("polite", 100)] {
        let policy = if name == "polite" { "Never" } else { "PreemptLowerPriority" };
        let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
            "value": value, "preemptionPolicy": policy});
        make(&server.client, &class).await;
        server.client.until_known(name).await.unwrap();
    }
    let record = folder().join("upstream.json");
    let updates = std::env::var_os("UPDATE").is_some();
    let read = || serde_json::from_str(&std::fs::read_to_string(&record).unwrap()).unwrap();
    let recorded: BTreeMap<String, Value> = if updates { BTreeMap::new() } else { read() };
    let theirs = kube_scheduler(server.folder(), &server.kubeconfig, Content::Protobuf).unwrap();
    let upstream = play_all(&server, &all, &recorded).await;
    drop(theirs);
    if updates {
        std::fs::write(&record, format!("{}\n", serde_json::to_string_pretty(&upstream).unwrap())).unwrap();
    }
    let recorded = if updates { read() } else { recorded };
    let mut command = Command::new(program().unwrap());
    command
        .args(["scheduler", "--leader-elect=false", "--health-listen", "off", "--kubeconfig"])
        .arg(&server.kubeconfig);
    let ours = Process::start(server.folder(), "plimsoll-scheduler", &mut command).unwrap();
    let found = play_all(&server, &all, &recorded).await;
    drop(ours);
    let mut wrong = differences(&recorded, &upstream, "upstream");
    wrong.extend(differences(&recorded, &found, "ours"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
