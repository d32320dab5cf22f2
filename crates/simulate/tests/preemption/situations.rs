//! What our scheduler says of a pod that fits nowhere, beside what was recorded of kube-scheduler (`tests/preemption`).

use std::collections::BTreeMap;

use plimsoll_runtime::Resource;
use plimsoll_scheduler::Options;
use serde_json::{Value, json};

use super::lab::pass;
use super::{condition, empty, is_going, message, nominated};

const SITUATIONS: &str = include_str!("../../../../tests/preemption/situations.yaml");
const UPSTREAM: &str = include_str!("../../../../tests/preemption/upstream.json");

fn resource(kind: &str) -> Resource {
    match kind {
        "Node" => Resource::NODES,
        "Pod" => Resource::PODS,
        "PersistentVolume" => Resource::VOLUMES,
        "PersistentVolumeClaim" => Resource::CLAIMS,
        "CSINode" => Resource::CSI_NODES,
        "PodDisruptionBudget" => Resource::BUDGETS,
        other => panic!("{other} is not among the situations' kinds"),
    }
}

async fn play(situation: &Value) -> Value {
    let lab = empty(&[]).await;
    for object in situation["objects"].as_array().unwrap() {
        let kind = resource(object["kind"].as_str().unwrap());
        lab.create(kind, object.clone()).await;
        if kind == Resource::NODES {
            let (name, status) = (object["metadata"]["name"].as_str().unwrap(), json!({"status": object["status"]}));
            lab.objects.merge::<Value>(Resource::NODES, "", name, "status", &status).await.unwrap();
        }
    }
    let context = lab.context();
    plimsoll_scheduler::start(&context, Options::default());
    lab.create(Resource::PODS, situation["pod"].clone()).await;
    let seen = lab.until(Resource::PODS, "p", |p| !message(p).is_empty()).await;
    pass(5).await;
    let pods: Value = lab.objects.send(http::Method::GET, &Resource::PODS.collection(None), None).await.unwrap();
    let mut going: Vec<&str> = Vec::new();
    for pod in pods["items"].as_array().unwrap().iter().filter(|pod| is_going(pod)) {
        going.push(pod["metadata"]["name"].as_str().unwrap());
    }
    let said = (&condition(&seen, "PodScheduled")["reason"], message(&seen));
    json!({"reason": said.0, "message": said.1, "nominated": nominated(&seen), "going": going})
}

#[tokio::test(start_paused = true)]
async fn pods_that_fit_nowhere_are_told_what_kube_scheduler_tells_them() {
    let all: Value = serde_saphyr::from_str(SITUATIONS).unwrap();
    let recorded: BTreeMap<String, Value> = serde_json::from_str(UPSTREAM).unwrap();
    let all = all["situations"].as_array().unwrap();
    assert_eq!(all.len(), recorded.len(), "a situation that was not recorded, or a record without one");
    let mut wrong = Vec::new();
    for situation in all {
        let name = situation["name"].as_str().unwrap();
        let (theirs, ours) = (&recorded[name], play(situation).await);
        if *theirs != ours {
            wrong.push(format!("{name}\n  upstream: {theirs}\n  ours:     {ours}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
