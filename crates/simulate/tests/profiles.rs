//! A KubeSchedulerConfiguration at work, in virtual time: each pod is placed by the profile it asks for.

#![allow(clippy::unwrap_used, reason = "a test: what is missing is a failure")]

mod lab;

use lab::{Lab, pass};
use plimsoll_runtime::{Context, Resource};
use plimsoll_scheduler::Options;
use plimsoll_scheduler::config::{AllGates, Configuration};
use serde_json::{Value, json};

const CONFIGURATION: &str = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
- schedulerName: packed
  plugins:
    score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit}]}
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated}}
- schedulerName: bold
  plugins:
    multiPoint: {disabled: [{name: NodeUnschedulable}, {name: TaintToleration}]}
- schedulerName: calm
  plugins:
    postFilter: {disabled: [{name: DefaultPreemption}]}
- schedulerName: hasty
  pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: 3}}]
";

/// Two nodes of 4 cpu, and the scheduler as configured; no controllers.
async fn cluster() -> (Lab, Context) {
    let lab = Lab::new().await;
    for node in ["n1", "n2"] {
        lab.roomy_node(node, "a").await;
    }
    let context = lab.context();
    let configuration = Configuration::read(CONFIGURATION, AllGates::default()).unwrap();
    plimsoll_scheduler::start(&context, Options::from(configuration));
    (lab, context)
}

async fn pod(lab: &Lab, name: &str, scheduler: &str, cpu: &str, more: Value) {
    let mut spec = json!({"schedulerName": scheduler,
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]});
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    lab.create(Resource::PODS, json!({"metadata": {"name": name}, "spec": spec})).await;
}

async fn node_of(lab: &Lab, name: &str) -> String {
    let pod = lab.until(Resource::PODS, name, |pod| pod["spec"]["nodeName"].is_string()).await;
    pod["spec"]["nodeName"].as_str().unwrap().to_owned()
}

async fn refused(lab: &Lab, name: &str) -> String {
    let message = |pod: &Value| pod["status"]["conditions"][0]["message"].as_str().map(str::to_owned);
    message(&lab.until(Resource::PODS, name, |pod| message(pod).is_some()).await).unwrap()
}

#[tokio::test(start_paused = true)]
async fn pods_are_scored_by_their_profile() {
    let (lab, _context) = cluster().await;
    pod(&lab, "first", "default-scheduler", "1", json!({})).await;
    let first = node_of(&lab, "first").await;
    pod(&lab, "second", "default-scheduler", "1", json!({})).await;
    assert_ne!(node_of(&lab, "second").await, first, "the default profile prefers the emptier node");
    pod(&lab, "third", "packed", "1", json!({})).await;
    let third = node_of(&lab, "third").await;
    pod(&lab, "fourth", "packed", "1", json!({})).await;
    assert_eq!(node_of(&lab, "fourth").await, third, "this one the fuller");
}

#[tokio::test(start_paused = true)]
async fn pods_are_filtered_by_their_profile() {
    let (lab, _context) = cluster().await;
    for node in ["n1", "n2"] {
        let off = json!({"spec": {"unschedulable": true}});
        lab.objects.merge::<Value>(Resource::NODES, "", node, "", &off).await.unwrap();
    }
    pass(1).await;
    pod(&lab, "usual", "default-scheduler", "1", json!({})).await;
    assert!(refused(&lab, "usual").await.starts_with("0/2 nodes are available: 2 node(s) were unschedulable."));
    pod(&lab, "bold", "bold", "1", json!({})).await;
    node_of(&lab, "bold").await;
}

#[tokio::test(start_paused = true)]
async fn pods_of_other_schedulers_are_left_alone() {
    let (lab, _context) = cluster().await;
    pod(&lab, "foreign", "somebody-else", "1", json!({})).await;
    pod(&lab, "ours", "packed", "1", json!({})).await;
    node_of(&lab, "ours").await;
    pass(600).await;
    let foreign = lab.get(Resource::PODS, "foreign").await;
    assert_eq!((&foreign["spec"]["nodeName"], &foreign["status"]["conditions"]), (&Value::Null, &Value::Null));
}

#[tokio::test(start_paused = true)]
async fn a_profile_without_preemption_removes_nobody() {
    let (lab, _context) = cluster().await;
    for (name, value) in [("low", 10), ("high", 100)] {
        let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name}, "value": value});
        let path = "/apis/scheduling.k8s.io/v1/priorityclasses";
        lab.objects.send::<Value>(http::Method::POST, path, Some(&class)).await.unwrap();
    }
    for name in ["a", "b"] {
        pod(&lab, name, "default-scheduler", "3", json!({"priorityClassName": "low"})).await;
        node_of(&lab, name).await;
    }
    pod(&lab, "calm", "calm", "3", json!({"priorityClassName": "high"})).await;
    assert_eq!(refused(&lab, "calm").await, "0/2 nodes are available: 2 Insufficient cpu.");
    pass(60).await;
    for name in ["a", "b"] {
        assert!(lab.get(Resource::PODS, name).await["metadata"]["deletionTimestamp"].is_null());
    }
    pod(&lab, "usual", "default-scheduler", "3", json!({"priorityClassName": "high"})).await;
    lab.until(Resource::PODS, "usual", |pod| pod["status"]["nominatedNodeName"].is_string()).await;
}

#[tokio::test(start_paused = true)]
async fn a_profile_has_its_own_bind_timeout() {
    let (lab, context) = cluster().await;
    // There is no provisioner, so that what is asked for is never made.
    lab.class("made", "example.com/nobody", true, json!({})).await;
    lab.claim("data", "made", json!({})).await;
    let volumes = json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]});
    pass(1).await;
    let begun = context.clock.now();
    pod(&lab, "hasty", "hasty", "1", volumes).await;
    let message = refused(&lab, "hasty").await;
    assert!(message.contains("binding volumes: context deadline exceeded"), "{message}");
    let seconds = context.clock.now().duration_since(begun).as_secs();
    assert!((3..10).contains(&seconds), "{seconds}");
}

#[tokio::test(start_paused = true)]
async fn events_are_said_by_the_profile() {
    let (lab, _context) = cluster().await;
    pod(&lab, "p", "packed", "1", json!({})).await;
    node_of(&lab, "p").await;
    pass(1).await;
    let path = Resource::EVENTS.collection(Some("default"));
    let events: Value = lab.objects.send(http::Method::GET, &path, None).await.unwrap();
    let scheduled = events["items"].as_array().unwrap().iter().find(|event| event["reason"] == "Scheduled").unwrap();
    assert_eq!(scheduled["reportingComponent"], "packed", "{scheduled}");
    assert_eq!(scheduled["action"], "Binding", "{scheduled}");
}
