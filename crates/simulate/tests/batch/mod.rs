//! What the tests of jobs, budgets and nodes share: the controllers, a job, and a stand-in for the end of its pods.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test: what is missing is a failure")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_runtime::{Context, Error, Resource};
use plimsoll_simulate::{Bed, Component, Options, Report, bed};
use plimsoll_workloads::{Controller, Options as Workloads};
use serde_json::{Value, json};

pub const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// The workloads' controllers, or some of them.
pub fn workloads(run: &[Controller]) -> Component {
    let run: BTreeSet<Controller> = run.iter().copied().collect();
    Component::new("workloads", move |context: Context| {
        let relist = Duration::from_secs(60);
        let root_ca = Some("certificate".to_owned());
        let options = Workloads { run: run.clone(), relist, root_ca, ..Workloads::default() };
        async move {
            plimsoll_workloads::start(&context, &options);
            context.tasks.stopping().await;
        }
    })
}

pub fn scheduler() -> Component {
    Component::new("scheduler", |context: Context| async move {
        let options = plimsoll_scheduler::Options { relist: Duration::from_secs(60), ..Default::default() };
        let _scheduler = plimsoll_scheduler::start(&context, options);
        context.tasks.stopping().await;
    })
}

/// All that is on trial here.
pub const ALL: [Controller; 6] = [
    Controller::Job,
    Controller::Disruption,
    Controller::NodeLifecycle,
    Controller::TaintEviction,
    Controller::PodGc,
    Controller::TtlAfterFinished,
];

/// A job whose pods run until somebody ends them, and take the whole of their grace.
pub fn job(name: &str, spec: Value) -> Value {
    let container = json!({"name": "c", "image": "i"});
    let for_ever =
        json!({"annotations": {"simulate.plimsoll.dev/run-for": "1000h", "simulate.plimsoll.dev/stop-after": "30s"}});
    let template = json!({"metadata": for_ever, "spec": {"restartPolicy": "Never", "containers": [container]}});
    let mut job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": template}});
    for (key, value) in spec.as_object().unwrap() {
        job["spec"][key] = value.clone();
    }
    job
}

pub async fn get(bed: &Bed, resource: Resource, name: &str) -> Value {
    bed.objects().get::<Value>(resource, "default", name).await.unwrap().unwrap_or_default()
}

pub fn pods(bed: &Bed) -> Vec<Arc<Value>> {
    bed.state().pods.values().cloned().collect()
}

pub fn phase(pod: &Value) -> &str {
    pod["status"]["phase"].as_str().unwrap_or_default()
}

pub fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    static NONE: Value = Value::Null;
    object["status"]["conditions"].as_array().and_then(|all| all.iter().find(|c| c["type"] == kind)).unwrap_or(&NONE)
}

/// Ends a pod as its kubelet would.
pub async fn end(bed: &Bed, pod: &Value, code: i64) -> Result<(), Error> {
    let now = bed.clock().now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let phase = if code == 0 { "Succeeded" } else { "Failed" };
    let state = json!({"terminated": {"exitCode": code, "finishedAt": now}});
    let patch = json!({"status": {"phase": phase,
        "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": now}],
        "containerStatuses": [{"name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": state}]}});
    let name = pod["metadata"]["name"].as_str().unwrap();
    bed.objects().merge::<Value>(Resource::PODS, "default", name, "status", &patch).await.map(|_| ())
}

/// Ends every pod in this phase, again and again: `code` says how each ends, by the pod and all pods.
pub fn ender(bed: &Bed, of: &'static str, code: fn(&Value, &[Arc<Value>]) -> i64) -> Component {
    let bed = bed.clone();
    Component::new("ender", move |_| {
        let bed = bed.clone();
        async move {
            loop {
                tokio::time::sleep(Duration::from_secs(3)).await;
                let all = pods(&bed);
                // Those that their job has let go are on their way out, and it does not count them.
                let alive = |p: &&Arc<Value>| {
                    let meta = &p["metadata"];
                    phase(p) == of && meta["deletionTimestamp"].is_null() && !meta["finalizers"].is_null()
                };
                // One at a time, so that each is judged by those before it.
                if let Some(pod) = all.iter().find(alive) {
                    let _ = end(&bed, pod, code(pod, &all)).await;
                }
            }
        }
    })
    .spared()
}

/// What was said: `reason: message`, and how often.
pub async fn events(bed: &Bed) -> BTreeMap<String, i64> {
    let request = http::Request::get("/api/v1/events").body(Vec::new()).unwrap();
    let list: Value = bed.client().request(request).await.unwrap();
    let mut said = BTreeMap::new();
    for event in list["items"].as_array().unwrap() {
        let text = format!("{}: {}", event["reason"].as_str().unwrap(), event["message"].as_str().unwrap());
        *said.entry(text).or_default() += event["count"].as_i64().unwrap_or(1);
    }
    said
}

pub fn started(said: &BTreeMap<String, i64>, with: &str) -> i64 {
    said.iter().filter(|(text, _)| text.starts_with(with)).map(|(_, count)| count).sum()
}

pub fn passes<W: Future<Output = Result<(), String>>>(options: Options, scenario: impl FnOnce(Bed) -> W) -> Report {
    let report = bed::run(options, scenario);
    assert_eq!(report.outcome, Ok(()), "{}", report.trace);
    report
}
