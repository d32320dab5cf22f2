//! Who is at work: the workloads' controllers on trial, and around them the volume controllers with directories on this machine, the
//! scheduler, and simulated nodes.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_controllers::Options as Controllers;
use plimsoll_controllers::provision::Provisioners;
use plimsoll_controllers::provision::{Directories, LOCAL_DIRECTORY};
use plimsoll_runtime::{Context, Resource};
use plimsoll_scheduler::Options as Placing;
use plimsoll_simulate::invariants::{Change, Invariant};
use plimsoll_simulate::{Bed, Component, Machine, State};
use plimsoll_workloads::{Controller, Options as Workloads};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The name of the component on trial.
pub const WORKLOADS: &str = "workloads";
/// Lists are repeated this often, so that a watch that left something out is healed before the run is judged.
const RELIST: Duration = Duration::from_secs(60);
pub const REVISION: &str = "controller-revision-hash";

/// A cluster with these nodes, and a class of directories on them. The folder must outlive the run.
pub async fn begin(bed: &Bed, folder: &Arc<TempDir>, nodes: &[&str]) -> Result<(), String> {
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "local"},
        "provisioner": LOCAL_DIRECTORY, "volumeBindingMode": "WaitForFirstConsumer"});
    create(bed, Resource::CLASSES, &class).await?;
    for node in nodes {
        bed.start(Machine::new(node).component().spared());
    }
    bed.start(Component::new(WORKLOADS, |context: Context| async move {
        let run = [Controller::StatefulSet, Controller::DaemonSet].into();
        plimsoll_workloads::start(&context, &Workloads { run, relist: RELIST, ..Workloads::default() });
        context.tasks.stopping().await;
    }));
    let folder = folder.clone();
    let volumes = Component::new("binder", move |context: Context| {
        let folder = folder.clone();
        async move {
            let directories = Directories::new(folder.path()).unwrap();
            let mut options = Controllers { relist: RELIST, ..Controllers::default() };
            options.binder.provisioners = Provisioners::none().with(directories);
            plimsoll_controllers::start(&context, &options);
            context.tasks.stopping().await;
        }
    });
    bed.start(volumes.spared());
    let scheduler = Component::new("scheduler", |context: Context| async move {
        plimsoll_scheduler::start(&context, Placing { relist: RELIST, ..Placing::default() });
        context.tasks.stopping().await;
    });
    bed.start(scheduler.spared());
    Ok(())
}

pub fn folder() -> Arc<TempDir> {
    Arc::new(tempfile::tempdir().unwrap())
}

/// A StatefulSet `web` of so many pods, each with a claim; `more` goes into its spec.
pub fn stateful_set(replicas: u32, more: Value) -> Value {
    let mut set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": replicas, "serviceName": "web", "selector": {"matchLabels": {"app": "web"}},
            "template": template("web", "one"),
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
                "storageClassName": "local", "resources": {"requests": {"storage": "1Gi"}}}}]}});
    merge(&mut set["spec"], more);
    set
}

/// A DaemonSet `logs`; `more` goes into its spec.
pub fn daemon_set(more: Value) -> Value {
    let mut set = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "logs", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "logs"}}, "template": template("logs", "one")}});
    merge(&mut set["spec"], more);
    set
}

/// Its pods take the whole of their grace, so that it shows what is done meanwhile.
fn template(app: &str, image: &str) -> Value {
    json!({"metadata": {"labels": {"app": app}, "annotations": {"simulate.plimsoll.dev/stop-after": "2s"}},
           "spec": {"terminationGracePeriodSeconds": 2, "containers": [{"name": "c", "image": image}]}})
}

fn merge(into: &mut Value, from: Value) {
    match from {
        Value::Object(fields) if into.is_object() => {
            for (key, value) in fields {
                merge(&mut into[&key], value);
            }
        }
        other => *into = other,
    }
}

/// A patch of the template that makes a new revision.
pub fn image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}})
}

pub fn told(error: plimsoll_runtime::Error) -> String {
    error.to_string()
}

pub async fn create(bed: &Bed, resource: Resource, object: &Value) -> Result<(), String> {
    bed.objects().create::<Value>(resource, "default", object).await.map(|_| ()).map_err(told)
}

pub async fn patch(bed: &Bed, resource: Resource, name: &str, patch: Value) -> Result<(), String> {
    bed.objects().merge::<Value>(resource, "default", name, "", &patch).await.map(|_| ()).map_err(told)
}

pub async fn scale(bed: &Bed, replicas: u32) -> Result<(), String> {
    patch(bed, Resource::STATEFUL_SETS, "web", json!({"spec": {"replicas": replicas}})).await
}

pub async fn delete(bed: &Bed, resource: Resource, name: &str) -> Result<(), String> {
    bed.objects().delete(resource, "default", name, &Default::default()).await.map_err(told)
}

pub async fn get(bed: &Bed, resource: Resource, name: &str) -> Result<Value, String> {
    bed.objects().get::<Value>(resource, "default", name).await.map_err(told)?.ok_or(format!("{name} is not there"))
}

/// All objects of a kind in the namespace.
pub async fn list(bed: &Bed, resource: Resource) -> Result<Vec<Value>, String> {
    let path = resource.collection(Some("default"));
    let list: Value = bed.objects().send(http::Method::GET, &path, None).await.map_err(told)?;
    Ok(list["items"].as_array().cloned().unwrap_or_default())
}

/// What was said about a workload: `reason: message`.
pub async fn said(bed: &Bed, name: &str) -> Result<Vec<String>, String> {
    let events = list(bed, Resource::EVENTS).await?;
    let about = events.iter().filter(|event| event["involvedObject"]["name"] == name);
    Ok(about.map(|e| format!("{}: {}", text(&e["reason"]), text(&e["message"]))).collect())
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The names of the pods that run and are not on their way out, with one of their labels.
pub fn running(state: &State, label: &str) -> Vec<(String, String)> {
    let runs = |pod: &Value| pod["status"]["phase"] == "Running" && pod["metadata"]["deletionTimestamp"].is_null();
    let pods = state.pods.values().filter(|pod| runs(pod));
    pods.map(|pod| (text(&pod["metadata"]["name"]).to_owned(), text(&pod["metadata"]["labels"][label]).to_owned()))
        .collect()
}

pub fn names(state: &State) -> Vec<String> {
    running(state, "").into_iter().map(|(name, _)| name).collect()
}

/// The claims that are there, with their volumes.
pub fn claims(state: &State) -> Vec<(String, String)> {
    let all = state.claims.values();
    all.map(|c| (text(&c["metadata"]["name"]).to_owned(), text(&c["spec"]["volumeName"]).to_owned())).collect()
}

/// A failure where something is not as it must be.
pub fn must(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

/// Pods of `web` come after their claims, and, in order, after all that stand before them are ready.
pub struct Begun {
    pub in_order: bool,
}

impl Invariant for Begun {
    fn name(&self) -> &'static str {
        "a pod begins with its claims, in order"
    }

    fn check(&mut self, state: &State, change: &Change<'_>) -> Result<(), String> {
        let made = change.resource == "pods" && change.before.is_none() && change.by == WORKLOADS;
        let Some(number) = change.key.strip_prefix("default/web-").filter(|_| made) else { return Ok(()) };
        let number: u32 = number.parse().map_err(|_| format!("{} is no name", change.key))?;
        let claim = format!("default/data-web-{number}");
        must(state.claims.contains_key(&claim), || format!("{claim} is not there"))?;
        for before in 0..number {
            let pod = state.pods.get(&format!("default/web-{before}"));
            let conditions = pod.and_then(|pod| pod["status"]["conditions"].as_array());
            let ready = conditions.is_some_and(|all| all.iter().any(|c| c["type"] == "Ready" && c["status"] == "True"));
            must(ready || !self.in_order, || format!("web-{before} is not ready"))?;
        }
        Ok(())
    }
}
