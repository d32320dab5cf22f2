//! What the tests of ReplicaSets and Deployments share: a small cluster, and how it looks from outside.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use plimsoll_runtime::{Context, Resource};
use plimsoll_simulate::{Bed, Component, Machine, Options, Report, bed};
use plimsoll_workloads::{Controller, Options as Workloads};
use serde_json::{Value, json};

use super::common::told;

pub const DEPLOYMENT: Resource = Resource::DEPLOYMENTS;
pub const SET: Resource = Resource::REPLICA_SETS;
pub const REVISION: &str = "deployment.kubernetes.io/revision";

/// The controllers on trial. Lists are repeated every minute, so that a watch that left something out is healed within the
/// time that a run needs to come to rest.
fn controllers() -> Component {
    Component::new("workloads", |context: Context| async move {
        let run = BTreeSet::from([Controller::Deployment, Controller::ReplicaSet, Controller::ReplicationController]);
        plimsoll_workloads::start(
            &context,
            &Workloads { run, relist: Duration::from_secs(60), ..Workloads::default() },
        );
        context.tasks.stopping().await;
    })
}

fn scheduler() -> Component {
    Component::new("scheduler", |context: Context| async move {
        let options = plimsoll_scheduler::Options { relist: Duration::from_secs(60), ..Default::default() };
        plimsoll_scheduler::start(&context, options);
        context.tasks.stopping().await;
    })
}

/// Runs a story in a cluster of two nodes.
pub fn play<F, W>(options: Options, story: F) -> Report
where
    F: FnOnce(Bed) -> W,
    W: Future<Output = Result<(), String>>,
{
    bed::run(options, |bed| async move {
        bed.start(Machine::new("a").component());
        bed.start(Machine::new("b").component());
        bed.start(scheduler());
        bed.start(controllers());
        story(bed).await
    })
}

/// The same without anything going wrong; it must end well.
pub fn calmly<F, W>(seed: u64, story: F)
where
    F: FnOnce(Bed) -> W,
    W: Future<Output = Result<(), String>>,
{
    let report = play(Options::new(seed), story);
    assert_eq!(report.outcome, Ok(()), "{}", report.trace);
}

/// Its pods take the whole of their grace, so that it shows what is done meanwhile.
fn template(image: &str) -> Value {
    json!({"metadata": {"labels": {"app": "web"}, "annotations": {"simulate.plimsoll.dev/stop-after": "30s"}},
        "spec": {"containers": [{"name": "c", "image": image}]}})
}

pub fn deployment(replicas: i64, image: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template(image)}})
}

pub fn replica_set(name: &str, replicas: i64) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template("one")}})
}

pub async fn create(bed: &Bed, resource: Resource, object: Value) -> Result<Value, String> {
    bed.objects().create(resource, "default", &object).await.map_err(told)
}

pub async fn patch(bed: &Bed, resource: Resource, name: &str, patch: Value) -> Result<Value, String> {
    bed.objects().merge(resource, "default", name, "", &patch).await.map_err(told)
}

/// What a user changes most: the image.
pub async fn set_image(bed: &Bed, image: &str) -> Result<Value, String> {
    let containers = json!([{"name": "c", "image": image}]);
    patch(bed, DEPLOYMENT, "web", json!({"spec": {"template": {"spec": {"containers": containers}}}})).await
}

pub async fn resize(bed: &Bed, resource: Resource, name: &str, replicas: i64) -> Result<Value, String> {
    patch(bed, resource, name, json!({"spec": {"replicas": replicas}})).await
}

pub async fn get(bed: &Bed, resource: Resource, name: &str) -> Value {
    bed.objects().get(resource, "default", name).await.unwrap().unwrap_or_default()
}

pub async fn list(bed: &Bed, resource: Resource) -> Vec<Value> {
    let path = resource.collection(Some("default"));
    let list: Value = bed.objects().send(http::Method::GET, &path, None).await.unwrap();
    list["items"].as_array().cloned().unwrap_or_default()
}

/// The ReplicaSets: image, revision and replicas of each, in order of revisions.
pub async fn sets(bed: &Bed) -> Vec<(String, String, i64)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut sets: Vec<_> = list(bed, SET).await;
    sets.sort_by_key(|set| text(&set["metadata"]["annotations"][REVISION]).parse::<i64>().unwrap_or(0));
    let row = |set: &Value| {
        let image = text(&set["spec"]["template"]["spec"]["containers"][0]["image"]);
        (image, text(&set["metadata"]["annotations"][REVISION]), set["spec"]["replicas"].as_i64().unwrap_or(-1))
    };
    sets.iter().map(row).collect()
}

/// How many pods of each image there are, and of those on their way out none.
pub fn pods(bed: &Bed) -> BTreeMap<String, usize> {
    let mut count = BTreeMap::new();
    for pod in bed.state().pods.values().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null()) {
        let image = pod["spec"]["containers"][0]["image"].as_str().unwrap_or_default().to_owned();
        *count.entry(image).or_default() += 1;
    }
    count
}

pub fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().find(|c| c["type"] == kind).unwrap_or(&Value::Null)
}

/// What `kubectl rollout status` asks: whether it would end now.
pub fn is_rolled_out(deployment: &Value) -> bool {
    let (spec, status) = (&deployment["spec"], &deployment["status"]);
    let number = |value: &Value| value.as_i64().unwrap_or(0);
    number(&status["observedGeneration"]) >= number(&deployment["metadata"]["generation"])
        && number(&status["updatedReplicas"]) >= number(&spec["replicas"])
        && number(&status["replicas"]) <= number(&status["updatedReplicas"])
        && number(&status["availableReplicas"]) >= number(&status["updatedReplicas"])
}

/// The messages of the events of a reason.
pub async fn said(bed: &Bed, reason: &str) -> Vec<String> {
    let events = list(bed, Resource::EVENTS).await;
    let about = events.iter().filter(|event| event["reason"] == reason);
    about.map(|event| event["message"].as_str().unwrap_or_default().to_owned()).collect()
}
