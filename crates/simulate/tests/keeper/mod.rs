//! An API server in virtual time, and a component on it that may do what its role says and no more.

#![allow(dead_code, reason = "every test uses a part of it")]

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use plimsoll_apiserver::auth::User;
use plimsoll_apiserver::core::Core;
use plimsoll_apiserver::start;
use plimsoll_clock::{Clock, Entropy};
use plimsoll_controllers::World;
use plimsoll_runtime::reflector::RELIST;
use plimsoll_runtime::{Context, Error, Objects, Preconditions, Resource};
use serde_json::{Value, json};

pub const NAMESPACE: &str = "default";

/// The user that components act as.
const COMPONENT: &str = "component";

pub struct Lab {
    core: Arc<Core>,
    clock: Clock,
    /// The administrator's hands.
    pub objects: Objects,
}

/// What every component may do: keep its mirrors, and say things.
fn common_rules() -> Vec<Value> {
    let kinds = ["persistentvolumes", "persistentvolumeclaims", "pods", "nodes"];
    vec![
        json!({"apiGroups": [""], "resources": kinds, "verbs": ["get", "list", "watch"]}),
        json!({"apiGroups": ["storage.k8s.io"], "resources": ["storageclasses", "csinodes", "csidrivers"],
               "verbs": ["get", "list", "watch"]}),
        json!({"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update"]}),
    ]
}

impl Lab {
    /// A server whose components may also do what `rules` say: (resource, verbs) of the core group.
    pub async fn new(seed: u64, rules: &[(&str, &[&str])]) -> Self {
        let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
        let core = start::in_process(clock.clone(), Entropy::seeded(seed), true).await.unwrap();
        let admin = Client::new(start::service(&core, User::in_groups("admin", &["system:masters"])), NAMESPACE);
        let lab = Self { core, clock, objects: Objects::new(admin) };
        let mut all = common_rules();
        all.extend(
            rules.iter().map(|(resource, verbs)| json!({"apiGroups": [""], "resources": [resource], "verbs": verbs})),
        );
        let api = "/apis/rbac.authorization.k8s.io/v1";
        let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": COMPONENT}, "rules": all});
        lab.post(&format!("{api}/clusterroles"), role).await;
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": COMPONENT},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": COMPONENT},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": COMPONENT}],
        });
        lab.post(&format!("{api}/clusterrolebindings"), binding).await;
        lab
    }

    async fn post(&self, path: &str, body: Value) {
        self.objects.send::<Value>(http::Method::POST, path, Some(&body)).await.unwrap();
    }

    /// Starts a component: `begin` is called before the mirrors are.
    pub fn component<T>(&self, seed: u64, begin: impl FnOnce(&Context, &World) -> T) -> (Context, World, T) {
        let client = Client::new(start::service(&self.core, User::in_groups(COMPONENT, &[])), NAMESPACE);
        let context = Context::new(client, self.clock.clone(), Arc::new(Entropy::seeded(seed)));
        let world = World::new();
        let begun = begin(&context, &world);
        world.start(&context, RELIST);
        (context, world, begun)
    }

    pub async fn create(&self, resource: Resource, object: Value) -> Value {
        self.objects.create(resource, NAMESPACE, &object).await.unwrap_or_else(|e| panic!("{object}: {e}"))
    }

    pub async fn get(&self, resource: Resource, name: &str) -> Option<Value> {
        self.objects.get(resource, NAMESPACE, name).await.unwrap()
    }

    pub async fn merge(&self, resource: Resource, name: &str, subresource: &str, patch: Value) -> Value {
        self.objects.merge(resource, NAMESPACE, name, subresource, &patch).await.unwrap()
    }

    pub async fn delete(&self, resource: Resource, name: &str) {
        self.objects.delete(resource, NAMESPACE, name, &Preconditions::default()).await.unwrap();
    }

    /// Deletes at once, as a kubelet does when it is done with a pod.
    pub async fn delete_now(&self, resource: Resource, name: &str) {
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
        let path = resource.path(NAMESPACE, name);
        match self.objects.send::<Value>(http::Method::DELETE, &path, Some(&options)).await {
            Ok(_) | Err(Error::NotFound(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }

    pub async fn set_phase(&self, resource: Resource, name: &str, phase: &str) {
        self.merge(resource, name, "status", json!({"status": {"phase": phase}})).await;
    }

    /// The (reason, message) of all events about an object, each once.
    pub async fn events(&self, name: &str) -> Vec<(String, String)> {
        let list: Value = self.objects.send(http::Method::GET, "/api/v1/events", None).await.unwrap();
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        let about = list["items"].as_array().unwrap().iter().filter(|e| e["involvedObject"]["name"] == json!(name));
        let mut all: Vec<_> = about.map(|e| (text(&e["reason"]), text(&e["message"]))).collect();
        all.sort();
        all.dedup();
        all
    }
}

/// Gives everything time to happen that happens without further cause.
pub async fn quiet() {
    tokio::time::sleep(Duration::from_secs(30)).await;
}

pub fn volume(name: &str, labels: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, "labels": labels},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}},
    })
}

pub fn claim(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}},
    })
}

/// A pod with these volumes, on a node unless its name is empty.
pub fn pod(name: &str, node: &str, volumes: Value) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i"}], "volumes": volumes},
    });
    if !node.is_empty() {
        pod["spec"]["nodeName"] = json!(node);
    }
    pod
}

pub fn uses(claim: &str) -> Value {
    json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}])
}

pub fn node(name: &str, labels: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})
}

/// An object's finalizers.
pub fn finalizers(object: &Value) -> Vec<&str> {
    object["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}
