//! Stale selected nodes: released when they are stale, and never otherwise.

#![allow(clippy::unwrap_used, reason = "a test: what is missing is a failure")]

mod lab;

use std::time::Duration;

use lab::{Lab, SELECTED, pass, selected};
use plimsoll_controllers::stale;
use plimsoll_controllers::world::World;
use plimsoll_runtime::{Context, Resource};
use serde_json::{Value, json};

const DRIVER: &str = "sim.csi.plimsoll.dev";

async fn run(lab: &Lab) -> Context {
    let (context, world) = (lab.context(), World::new());
    stale::start(&context, &world, stale::Options::default());
    world.start(&context, Duration::from_secs(3600));
    world.synced().await;
    context
}

async fn drivers(lab: &Lab, node: &str, drivers: &[&str]) {
    let list: Vec<Value> = drivers.iter().map(|d| json!({"name": d, "nodeID": node})).collect();
    lab.create(Resource::CSI_NODES, json!({"metadata": {"name": node}, "spec": {"drivers": list}})).await;
}

async fn selection(lab: &Lab, claim: &str) -> Option<String> {
    selected(&lab.get(Resource::CLAIMS, claim).await).map(str::to_owned)
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_gone_is_released_after_a_while_and_said() {
    let lab = Lab::new().await;
    lab.node("n1", "a").await;
    lab.node("n2", "a").await;
    lab.class("fast", DRIVER, true, json!({})).await;
    lab.claim("data", "fast", json!({SELECTED: "n1"})).await;
    lab.claim("other", "fast", json!({SELECTED: "n2"})).await;
    let _running = run(&lab).await;
    pass(600).await;
    assert_eq!(selection(&lab, "data").await.as_deref(), Some("n1"), "the node is there");
    lab.delete(Resource::NODES, "n1").await;
    pass(29).await;
    assert_eq!(selection(&lab, "data").await.as_deref(), Some("n1"), "too early");
    pass(2).await;
    assert_eq!(selection(&lab, "data").await, None);
    assert_eq!(selection(&lab, "other").await.as_deref(), Some("n2"));
    assert_eq!(
        lab.said("data", stale::RELEASED).await.unwrap(),
        "selected node \"n1\" does not exist; a new node can be chosen for the claim"
    );
}

#[tokio::test(start_paused = true)]
async fn a_node_that_comes_back_in_time_keeps_its_claims() {
    let lab = Lab::new().await;
    lab.node("n1", "a").await;
    lab.class("fast", DRIVER, true, json!({})).await;
    lab.claim("data", "fast", json!({SELECTED: "n1"})).await;
    let _running = run(&lab).await;
    for _ in 0..3 {
        lab.delete(Resource::NODES, "n1").await;
        pass(25).await;
        lab.node("n1", "a").await;
        pass(25).await;
    }
    assert_eq!(selection(&lab, "data").await.as_deref(), Some("n1"));
}

#[tokio::test(start_paused = true)]
async fn what_is_bound_or_made_is_left_alone() {
    let lab = Lab::new().await;
    lab.class("fast", DRIVER, true, json!({})).await;
    let made = lab.claim("made", "fast", json!({SELECTED: "gone"})).await;
    let name = format!("pvc-{}", made["metadata"]["uid"].as_str().unwrap());
    lab.volume(&name, "fast", "gone").await;
    let annotations = json!({SELECTED: "gone", "pv.kubernetes.io/bind-completed": "yes"});
    lab.claim("bound", "fast", annotations).await;
    lab.claim("named", "fast", json!({SELECTED: "gone"})).await;
    lab.merge(Resource::CLAIMS, "named", json!({"spec": {"volumeName": "some"}})).await;
    let _running = run(&lab).await;
    pass(600).await;
    for claim in ["made", "bound", "named"] {
        assert_eq!(selection(&lab, claim).await.as_deref(), Some("gone"), "{claim}");
    }
    // The volume goes: now nothing was made, and the claim may be placed anew.
    lab.merge(Resource::VOLUMES, &name, json!({"metadata": {"finalizers": null}})).await;
    lab.delete(Resource::VOLUMES, &name).await;
    pass(61).await;
    assert_eq!(selection(&lab, "made").await, None);
}

#[tokio::test(start_paused = true)]
async fn a_node_without_the_driver_is_released_if_it_is_a_csi_driver() {
    let lab = Lab::new().await;
    for node in ["with", "without", "unknown"] {
        lab.node(node, "a").await;
    }
    drivers(&lab, "with", &[DRIVER]).await;
    drivers(&lab, "without", &["another"]).await;
    lab.class("csi", DRIVER, true, json!({})).await;
    lab.class("plain", "example.com/directories", true, json!({})).await;
    for node in ["with", "without", "unknown"] {
        lab.claim(&format!("csi-{node}"), "csi", json!({SELECTED: node})).await;
    }
    lab.claim("plain-without", "plain", json!({SELECTED: "without"})).await;
    let _running = run(&lab).await;
    pass(119).await;
    assert_eq!(selection(&lab, "csi-without").await.as_deref(), Some("without"), "too early");
    pass(2).await;
    assert_eq!(selection(&lab, "csi-without").await, None);
    assert!(lab.said("csi-without", stale::RELEASED).await.unwrap().contains(DRIVER));
    pass(600).await;
    assert_eq!(selection(&lab, "csi-with").await.as_deref(), Some("with"));
    assert_eq!(selection(&lab, "csi-unknown").await.as_deref(), Some("unknown"), "its drivers are not known");
    assert_eq!(selection(&lab, "plain-without").await.as_deref(), Some("without"), "not a CSI driver");
}

#[tokio::test(start_paused = true)]
async fn any_text_may_be_selected() {
    let lab = Lab::new().await;
    lab.node("n1", "a").await;
    lab.class("fast", DRIVER, true, json!({})).await;
    let texts = ["../persistentvolumes", "n1/status", "n1?x=y", "N1", "ü", " n1", "%2e%2e"];
    for (i, text) in texts.iter().enumerate() {
        lab.claim(&format!("claim-{i}"), "fast", json!({SELECTED: text})).await;
    }
    lab.claim("empty", "fast", json!({SELECTED: ""})).await;
    let _running = run(&lab).await;
    pass(40).await;
    for (i, text) in texts.iter().enumerate() {
        assert_eq!(selection(&lab, &format!("claim-{i}")).await, None, "{text}");
    }
    assert_eq!(selection(&lab, "empty").await.as_deref(), Some(""), "pc_33: it selects nobody, and is left alone");
}
