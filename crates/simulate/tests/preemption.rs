//! Preemption and nominated nodes, in virtual time.

#![allow(clippy::unwrap_used, reason = "a test: what is missing is a failure")]

mod lab;
#[path = "preemption/situations.rs"]
mod situations;

use lab::{Lab, pass, selected};
use plimsoll_controllers::Options as Controllers;
use plimsoll_runtime::{Context, Resource};
use plimsoll_scheduler::Options;
use serde_json::{Value, json};

const LOW: &str = "low";
const HIGH: &str = "high";

/// Nodes with 4 cpu each, the controllers; no scheduler yet.
async fn bare(nodes: &[&str]) -> (Lab, Context) {
    let lab = empty(nodes).await;
    let context = lab.context();
    plimsoll_controllers::start(&context, &Controllers::default());
    (lab, context)
}

/// Nodes with 4 cpu each and some priorities; nobody at work.
async fn empty(nodes: &[&str]) -> Lab {
    let lab = Lab::new().await;
    for node in nodes {
        lab.roomy_node(node, "a").await;
    }
    for (name, value, policy) in [
        (LOW, 10, "PreemptLowerPriority"),
        ("middle", 50, "PreemptLowerPriority"),
        (HIGH, 100, "PreemptLowerPriority"),
        ("polite", 100, "Never"),
    ] {
        let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name}, "value": value, "preemptionPolicy": policy});
        let path = "/apis/scheduling.k8s.io/v1/priorityclasses";
        lab.objects.send::<Value>(http::Method::POST, path, Some(&class)).await.unwrap();
    }
    lab
}

async fn cluster(nodes: &[&str]) -> (Lab, Context) {
    let (lab, context) = bare(nodes).await;
    plimsoll_scheduler::start(&context, Options::default());
    (lab, context)
}

/// A pod of a priority that asks for so much cpu; on a node where that is not empty.
async fn pod(lab: &Lab, name: &str, priority: &str, cpu: &str, node: &str, more: Value) {
    let mut spec = json!({"priorityClassName": priority,
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]});
    if !node.is_empty() {
        spec["nodeName"] = json!(node);
    }
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    lab.create(Resource::PODS, json!({"metadata": {"name": name, "labels": {"app": name}}, "spec": spec})).await;
}

fn uses(claim: &str) -> Value {
    json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]})
}

fn node_of(pod: &Value) -> Option<&str> {
    pod["spec"]["nodeName"].as_str()
}

fn nominated(pod: &Value) -> Option<&str> {
    pod["status"]["nominatedNodeName"].as_str()
}

fn is_going(pod: &Value) -> bool {
    pod["metadata"]["deletionTimestamp"].is_string()
}

fn condition<'a>(pod: &'a Value, kind: &str) -> &'a Value {
    let all = pod["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().find(|c| c["type"] == kind).unwrap_or(&Value::Null)
}

fn message(pod: &Value) -> &str {
    condition(pod, "PodScheduled")["message"].as_str().unwrap_or_default()
}

/// What a kubelet does with a pod that is told to go.
async fn finish(lab: &Lab, name: &str) {
    lab.until(Resource::PODS, name, is_going).await;
    let path = Resource::PODS.path("default", name);
    let now = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0});
    lab.objects.send::<Value>(http::Method::DELETE, &path, Some(&now)).await.unwrap();
}

/// A bound CSI volume and its claim.
async fn attached(lab: &Lab, name: &str, mode: &str) {
    let claim = lab
        .create(
            Resource::CLAIMS,
            json!({"metadata": {"name": name, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
                "spec": {"accessModes": [mode], "storageClassName": "", "volumeName": name,
                    "resources": {"requests": {"storage": "1Gi"}}}}),
        )
        .await;
    let to = json!({"namespace": "default", "name": name, "uid": claim["metadata"]["uid"]});
    let spec = json!({"accessModes": [mode], "storageClassName": "", "capacity": {"storage": "1Gi"},
        "csi": {"driver": "csi.example.com", "volumeHandle": name}, "claimRef": to});
    lab.create(Resource::VOLUMES, json!({"metadata": {"name": name}, "spec": spec})).await;
    lab.until(Resource::CLAIMS, name, lab::is_bound).await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_of_higher_priority_gets_the_place() {
    let (lab, _context) = cluster(&["n1", "n2"]).await;
    pod(&lab, "small", LOW, "3", "n1", json!({})).await;
    pod(&lab, "equal", HIGH, "3", "n2", json!({})).await;
    pod(&lab, "p", HIGH, "2", "", json!({})).await;
    let waiting = lab.until(Resource::PODS, "p", |p| nominated(p).is_some()).await;
    assert_eq!(nominated(&waiting), Some("n1"));
    assert_eq!(condition(&waiting, "PodScheduled")["reason"], "Unschedulable");
    assert_eq!(
        message(&waiting),
        "0/2 nodes are available: 2 Insufficient cpu. preemption: found a potential placement for pod on node n1, \
         preempting 1 victims"
    );
    let victim = lab.until(Resource::PODS, "small", is_going).await;
    let marked = condition(&victim, "DisruptionTarget");
    assert_eq!((&marked["status"], &marked["reason"]), (&json!("True"), &json!("PreemptionByScheduler")));
    assert_eq!(marked["message"], "default-scheduler: preempting to accommodate a higher priority pod");
    let uid = waiting["metadata"]["uid"].as_str().unwrap();
    assert_eq!(lab.said("small", "Preempted").await, Some(format!("Preempted by pod {uid} on node n1")));
    // While the victim takes its time, nobody else has to go, and nobody of the same priority takes the place.
    pass(20).await;
    pod(&lab, "rival", HIGH, "2", "", json!({})).await;
    pass(60).await;
    finish(&lab, "small").await;
    let placed = lab.until(Resource::PODS, "p", |p| node_of(p).is_some()).await;
    assert_eq!((node_of(&placed), nominated(&placed)), (Some("n1"), None));
    let rival = lab.until(Resource::PODS, "rival", |p| node_of(p).is_some()).await;
    assert_eq!(node_of(&rival), Some("n1"), "there is room for it beside the pod");
    assert_eq!(node_of(&lab.get(Resource::PODS, "equal").await), Some("n2"));
}

#[tokio::test(start_paused = true)]
async fn a_budget_is_respected_where_it_can_be() {
    let (lab, _context) = bare(&["n1", "n2"]).await;
    pod(&lab, "guarded", LOW, "4", "n1", json!({})).await;
    pod(&lab, "unguarded", "middle", "4", "n2", json!({})).await;
    let budget = json!({"metadata": {"name": "b"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "guarded"}}}});
    lab.create(Resource::BUDGETS, budget).await;
    let context = lab.context();
    plimsoll_scheduler::start(&context, Options::default());
    pod(&lab, "p", HIGH, "4", "", json!({})).await;
    finish(&lab, "unguarded").await;
    let placed = lab.until(Resource::PODS, "p", |p| node_of(p).is_some()).await;
    assert_eq!(node_of(&placed), Some("n2"));
    assert!(!is_going(&lab.get(Resource::PODS, "guarded").await));
}

#[tokio::test(start_paused = true)]
async fn a_nomination_outlives_the_scheduler() {
    let (lab, _controllers) = bare(&["n1"]).await;
    let first = lab.context();
    plimsoll_scheduler::start(&first, Options::default());
    pod(&lab, "small", LOW, "4", "n1", json!({})).await;
    pod(&lab, "p", HIGH, "3", "", json!({})).await;
    lab.until(Resource::PODS, "p", |p| nominated(p) == Some("n1")).await;
    lab.until(Resource::PODS, "small", is_going).await;
    first.tasks.abort();
    finish(&lab, "small").await;
    // Of the same priority, and first in line after the restart.
    pod(&lab, "a-rival", HIGH, "3", "", json!({})).await;
    let second = lab.context();
    plimsoll_scheduler::start(&second, Options::default());
    let placed = lab.until(Resource::PODS, "p", |p| node_of(p).is_some()).await;
    assert_eq!(node_of(&placed), Some("n1"));
    let rival = lab.until(Resource::PODS, "a-rival", |p| !message(p).is_empty()).await;
    assert!(message(&rival).starts_with("0/1 nodes are available: 1 Insufficient cpu. preemption: "), "{rival:#}");
}

#[tokio::test(start_paused = true)]
async fn sb_50_a_victim_that_is_being_placed_is_called_off_instead_of_deleted() {
    let (lab, _context) = cluster(&["n1"]).await;
    lab.class("slow", "example.com/csi", true, json!({})).await;
    lab.claim("data", "slow", json!({})).await;
    pod(&lab, "db", LOW, "3", "", uses("data")).await;
    // Its volume is never made: the placement waits. Where it is expected shows before it is bound.
    let claim = lab.until(Resource::CLAIMS, "data", |c| selected(c).is_some()).await;
    assert_eq!(selected(&claim), Some("n1"));
    lab.until(Resource::PODS, "db", |p| nominated(p) == Some("n1")).await;
    pod(&lab, "p", HIGH, "3", "", json!({})).await;
    let placed = lab.until(Resource::PODS, "p", |p| node_of(p).is_some()).await;
    assert_eq!(node_of(&placed), Some("n1"));
    let uid = placed["metadata"]["uid"].as_str().unwrap();
    let note = format!("Preempted by pod {uid} on node n1 (in kube-scheduler memory).");
    assert_eq!(lab.said("db", "Preempted").await, Some(note));
    let said: Vec<String> = lab.events("db").await.into_iter().map(|(_, message)| message).collect();
    let why = "running PreBind plugin \"VolumeBinding\": preempted by DefaultPreemption";
    assert!(said.iter().any(|message| message == why), "{said:?}");
    let victim = lab.until(Resource::PODS, "db", |p| nominated(p).is_none()).await;
    assert!(!is_going(&victim) && node_of(&victim).is_none(), "{victim:#}");
    assert_eq!(selected(&lab.get(Resource::CLAIMS, "data").await), Some("n1"), "what was written stays");
}

#[tokio::test(start_paused = true)]
async fn of_25_a_claim_for_one_pod_is_freed_by_its_user() {
    let (lab, _context) = bare(&["n1", "n2"]).await;
    attached(&lab, "data", "ReadWriteOncePod").await;
    pod(&lab, "user", LOW, "1", "n1", uses("data")).await;
    let context = lab.context();
    plimsoll_scheduler::start(&context, Options::default());
    pod(&lab, "p", HIGH, "1", "", uses("data")).await;
    let waiting = lab.until(Resource::PODS, "p", |p| nominated(p).is_some()).await;
    assert_eq!(nominated(&waiting), Some("n1"), "only there is the user");
    finish(&lab, "user").await;
    let placed = lab.until(Resource::PODS, "p", |p| node_of(p).is_some()).await;
    assert_eq!(node_of(&placed), Some("n1"));
}

#[tokio::test(start_paused = true)]
async fn an_attach_slot_is_freed() {
    let (lab, _context) = bare(&["n1"]).await;
    let driver = json!({"name": "csi.example.com", "nodeID": "n1", "allocatable": {"count": 1}});
    lab.create(Resource::CSI_NODES, json!({"metadata": {"name": "n1"}, "spec": {"drivers": [driver]}})).await;
    attached(&lab, "first", "ReadWriteOnce").await;
    attached(&lab, "second", "ReadWriteOnce").await;
    pod(&lab, "user", LOW, "1", "n1", uses("first")).await;
    pod(&lab, "bystander", LOW, "1", "n1", json!({})).await;
    let context = lab.context();
    plimsoll_scheduler::start(&context, Options::default());
    pod(&lab, "p", HIGH, "1", "", uses("second")).await;
    let waiting = lab.until(Resource::PODS, "p", |p| nominated(p).is_some()).await;
    assert!(message(&waiting).contains("1 node(s) exceed max volume count"), "{waiting:#}");
    finish(&lab, "user").await;
    lab.until(Resource::PODS, "p", |p| node_of(p) == Some("n1")).await;
    assert!(!is_going(&lab.get(Resource::PODS, "bystander").await));
}

#[tokio::test(start_paused = true)]
async fn nobody_goes_where_the_volume_is_not() {
    let (lab, _context) = bare(&["n1", "n2"]).await;
    lab.class("local", "kubernetes.io/no-provisioner", true, json!({})).await;
    lab.volume("on-n2", "local", "n2").await;
    lab.claim("data", "local", json!({})).await;
    pod(&lab, "weak", LOW, "4", "n1", json!({})).await;
    pod(&lab, "strong", HIGH, "4", "n2", json!({})).await;
    let context = lab.context();
    plimsoll_scheduler::start(&context, Options::default());
    pod(&lab, "p", HIGH, "1", "", uses("data")).await;
    let waiting = lab.until(Resource::PODS, "p", |p| !message(p).is_empty()).await;
    assert_eq!(
        message(&waiting),
        "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: \
         1 No preemption victims found for incoming pod, 1 node(s) didn't find available persistent volumes to bind."
    );
    pass(400).await;
    assert!(!is_going(&lab.get(Resource::PODS, "weak").await));
    assert_eq!(nominated(&lab.get(Resource::PODS, "p").await), None);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_never_preempts_waits() {
    let (lab, _context) = cluster(&["n1"]).await;
    pod(&lab, "weak", LOW, "4", "n1", json!({})).await;
    pod(&lab, "p", "polite", "1", "", json!({})).await;
    let waiting = lab.until(Resource::PODS, "p", |p| !message(p).is_empty()).await;
    assert_eq!(
        message(&waiting),
        "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never."
    );
    pass(400).await;
    assert!(!is_going(&lab.get(Resource::PODS, "weak").await));
}

#[tokio::test(start_paused = true)]
async fn a_stronger_pod_takes_over_a_nomination() {
    let (lab, _context) = cluster(&["n1"]).await;
    pod(&lab, "weak", LOW, "4", "n1", json!({})).await;
    pod(&lab, "m", "middle", "3", "", json!({})).await;
    lab.until(Resource::PODS, "m", |p| nominated(p) == Some("n1")).await;
    lab.until(Resource::PODS, "weak", is_going).await;
    pod(&lab, "p", HIGH, "3", "", json!({})).await;
    lab.until(Resource::PODS, "p", |p| nominated(p) == Some("n1")).await;
    lab.until(Resource::PODS, "m", |p| nominated(p).is_none()).await;
    finish(&lab, "weak").await;
    lab.until(Resource::PODS, "p", |p| node_of(p) == Some("n1")).await;
    let waiting = lab.until(Resource::PODS, "m", |p| message(p).ends_with("for incoming pod.")).await;
    assert_eq!(node_of(&waiting), None);
}

#[tokio::test(start_paused = true)]
async fn where_a_pod_is_expected_shows_while_its_volumes_are_bound() {
    let (lab, _context) = cluster(&["n1"]).await;
    lab.class("local", "kubernetes.io/no-provisioner", true, json!({})).await;
    lab.volume("on-n1", "local", "n1").await;
    lab.claim("data", "local", json!({})).await;
    pod(&lab, "db", LOW, "1", "", uses("data")).await;
    let placed = lab.until(Resource::PODS, "db", |p| node_of(p).is_some()).await;
    assert_eq!(nominated(&placed), None);
    pass(30).await;
    assert_eq!(nominated(&lab.get(Resource::PODS, "db").await), None, "a late write must not bring it back");
}
