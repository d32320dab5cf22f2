//! A cluster for one test: the API server in this process, controllers on it, virtual time.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "a test: what is missing is a failure")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use plimsoll_apiserver::auth::User;
use plimsoll_apiserver::core::Core;
use plimsoll_apiserver::service::ApiService;
use plimsoll_apiserver::start;
use plimsoll_clock::{Clock, Entropy};
use plimsoll_runtime::{Context, Objects, Preconditions, Resource};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tower::ServiceExt;

pub const HOSTNAME: &str = "kubernetes.io/hostname";
pub const ZONE: &str = "topology.kubernetes.io/zone";
pub const SELECTED: &str = "volume.kubernetes.io/selected-node";

pub struct Lab {
    core: Arc<Core>,
    clock: Clock,
    pub objects: Objects,
}

impl Lab {
    pub async fn new() -> Self {
        let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
        let core = start::in_process(clock.clone(), Entropy::seeded(7), true).await.unwrap();
        let objects = Objects::new(client(&core));
        Self { core, clock, objects }
    }

    /// What a component is started with.
    pub fn context(&self) -> Context {
        Context::new(client(&self.core), self.clock.clone(), Arc::new(Entropy::seeded(8)))
    }

    /// The same for a component that stands still for ever at its `nth` write, before or after the server has done it;
    /// then somebody is told.
    pub fn mortal(&self, nth: usize, after: bool) -> (Context, Arc<Notify>) {
        let inner = service(&self.core);
        let (writes, death) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
        let told = death.clone();
        let dying = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let (inner, writes, death) = (inner.clone(), writes.clone(), death.clone());
            async move {
                let write = request.method() != http::Method::GET;
                let dead = write && writes.fetch_add(1, Ordering::Relaxed) >= nth;
                if !dead {
                    return inner.oneshot(request).await;
                }
                if after && writes.load(Ordering::Relaxed) == nth + 1 {
                    let _ = inner.oneshot(request).await;
                }
                death.notify_one();
                std::future::pending().await
            }
        });
        let client = kube::Client::new(dying, "default");
        (Context::new(client, self.clock.clone(), Arc::new(Entropy::seeded(8))), told)
    }

    /// The same for a component whose requests meet with what `meddle` says of each (its method and path), which may take its
    /// time over it.
    pub fn meddled<F>(&self, meddle: impl Fn(&http::Method, &str) -> F + Send + Sync + 'static) -> Context
    where
        F: Future<Output = Option<Meddle>> + Send + 'static,
    {
        let (inner, meddle) = (service(&self.core), Arc::new(meddle));
        let between = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let (inner, fate) = (inner.clone(), meddle(request.method(), request.uri().path()));
            async move {
                let fate = fate.await;
                if let Some(Meddle::Refuse(code, after)) = fate {
                    return Ok(refusal(code, after));
                }
                let Ok(answer) = inner.oneshot(request).await;
                match fate {
                    Some(_) => Err(std::io::Error::other("the answer is lost")),
                    None => Ok(answer.map(|body| body.map_err(|never| match never {}).boxed_unsync())),
                }
            }
        });
        let client = kube::Client::new(between, "default");
        Context::new(client, self.clock.clone(), Arc::new(Entropy::seeded(8)))
    }

    /// The same for a component whose events are each written after a while.
    pub fn slow_events(&self, after: Duration) -> Context {
        self.meddled(move |_, path| {
            let is_event = path.contains("/events");
            async move {
                if is_event {
                    tokio::time::sleep(after).await;
                }
                None
            }
        })
    }

    pub async fn create(&self, resource: Resource, object: Value) -> Value {
        let mut object = object;
        object["apiVersion"] = json!(resource.api_version());
        object["kind"] = json!(resource.kind);
        self.objects.create(resource, "default", &object).await.unwrap()
    }

    pub async fn get(&self, resource: Resource, name: &str) -> Value {
        self.objects.get(resource, "default", name).await.unwrap().unwrap_or_default()
    }

    pub async fn merge(&self, resource: Resource, name: &str, patch: Value) -> Value {
        self.objects.merge(resource, "default", name, "", &patch).await.unwrap()
    }

    pub async fn delete(&self, resource: Resource, name: &str) {
        self.objects.delete(resource, "default", name, &Preconditions::default()).await.unwrap();
    }

    /// Waits until an object is as wished.
    pub async fn until(&self, resource: Resource, name: &str, wish: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        for _ in 0..6000 {
            last = self.get(resource, name).await;
            if wish(&last) {
                return last;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{} {name} stayed {last:#}", resource.kind);
    }

    /// The events about an object that are there now: (reason, message).
    pub async fn events(&self, name: &str) -> Vec<(String, String)> {
        // Events are written by a task of their own.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let path = Resource::EVENTS.collection(Some("default"));
        let list: Value = self.objects.send(http::Method::GET, &path, None).await.unwrap();
        let items = list["items"].as_array().cloned().unwrap_or_default();
        let about = items.iter().filter(|e| e["involvedObject"]["name"] == name);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        about.map(|e| (text(&e["reason"]), text(&e["message"]))).collect()
    }

    /// The message of the object's first event with this reason.
    pub async fn said(&self, name: &str, reason: &str) -> Option<String> {
        self.events(name).await.into_iter().find(|(r, _)| r == reason).map(|(_, message)| message)
    }

    pub async fn node(&self, name: &str, zone: &str) {
        self.create(Resource::NODES, json!({"metadata": {"name": name, "labels": {HOSTNAME: name, ZONE: zone}}})).await;
    }

    /// A node with room for pods: 4 cpu.
    pub async fn roomy_node(&self, name: &str, zone: &str) {
        self.node(name, zone).await;
        let amounts = json!({"cpu": "4", "memory": "8Gi", "pods": "110"});
        let status = json!({"status": {"allocatable": amounts, "capacity": amounts}});
        self.objects.merge::<Value>(Resource::NODES, "", name, "status", &status).await.unwrap();
    }

    /// Two nodes in two zones with room for pods, and a class of the volumes that are there.
    pub async fn two_zones(&self) {
        for (node, zone) in [("n1", "a"), ("n2", "b")] {
            self.roomy_node(node, zone).await;
        }
        self.class("local", "kubernetes.io/no-provisioner", true, json!({})).await;
    }

    pub async fn class(&self, name: &str, provisioner: &str, delayed: bool, more: Value) {
        let mode = if delayed { "WaitForFirstConsumer" } else { "Immediate" };
        let mut class = json!({"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode});
        for (key, value) in more.as_object().into_iter().flatten() {
            class[key] = value.clone();
        }
        self.create(Resource::CLASSES, class).await;
    }

    pub async fn claim(&self, name: &str, class: &str, annotations: Value) -> Value {
        let spec = json!({"accessModes": ["ReadWriteOnce"], "storageClassName": class,
                          "resources": {"requests": {"storage": "1Gi"}}});
        self.create(Resource::CLAIMS, json!({"metadata": {"name": name, "annotations": annotations}, "spec": spec}))
            .await
    }

    /// A local volume on a node.
    pub async fn volume(&self, name: &str, class: &str, node: &str) {
        let term = json!({"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [node]}]});
        let spec = json!({"accessModes": ["ReadWriteOnce"], "storageClassName": class, "capacity": {"storage": "1Gi"},
                          "local": {"path": "/mnt/x"},
                          "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}});
        self.create(Resource::VOLUMES, json!({"metadata": {"name": name}, "spec": spec})).await;
    }

    /// A pod that uses claims; on a node where that is not empty.
    pub async fn pod(&self, name: &str, node: &str, claims: &[&str]) -> Value {
        let volumes: Vec<Value> =
            claims.iter().map(|claim| json!({"name": claim, "persistentVolumeClaim": {"claimName": claim}})).collect();
        let mut spec = json!({"containers": [{"name": "c", "image": "i"}], "volumes": volumes});
        if !node.is_empty() {
            spec["nodeName"] = json!(node);
        }
        self.create(Resource::PODS, json!({"metadata": {"name": name}, "spec": spec})).await
    }
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug)]
pub enum Meddle {
    /// It is refused with this code, and the wish to be asked again after so many seconds.
    Refuse(u16, Option<u64>),
    /// It is done, and nobody hears of it.
    LoseAnswer,
}

type Answer = UnsyncBoxBody<bytes::Bytes, std::io::Error>;

fn refusal(code: u16, after: Option<u64>) -> http::Response<Answer> {
    let mut status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "refused on purpose", "reason": "Refused", "code": code});
    if let Some(seconds) = after {
        status["details"] = json!({"retryAfterSeconds": seconds});
    }
    let body = Full::from(status.to_string()).map_err(|never| match never {}).boxed_unsync();
    http::Response::builder().status(code).body(body).unwrap()
}

fn service(core: &Arc<Core>) -> ApiService {
    start::service(core, User::in_groups("test", &["system:masters"]))
}

fn client(core: &Arc<Core>) -> kube::Client {
    kube::Client::new(service(core), "default")
}

pub fn is_bound(claim: &Value) -> bool {
    claim["status"]["phase"] == "Bound"
}

pub fn selected(claim: &Value) -> Option<&str> {
    claim["metadata"]["annotations"][SELECTED].as_str()
}

pub async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}
