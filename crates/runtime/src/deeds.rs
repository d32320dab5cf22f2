//! What is said in the log about requests that change something: each write, and rights that are missing.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use http::{Method, Request};
use serde::Deserialize;
use tokio::time::Instant;

use crate::error::Error;

/// How often the same missing right is said: whoever needs it asks again and again.
const EVERY: Duration = Duration::from_secs(60);

/// A write, remembered only where somebody listens.
pub(crate) struct Deed {
    method: Method,
    path: String,
    /// What the path of a new object does not say.
    name: Option<String>,
}

impl Deed {
    /// The write that a request is, if it is one and is to be told.
    pub(crate) fn of(request: &Request<Vec<u8>>) -> Option<Self> {
        let (method, path) = (request.method(), request.uri().path());
        if method == Method::GET || !tracing::enabled!(tracing::Level::INFO) {
            return None;
        }
        let told = tracing::enabled!(tracing::Level::DEBUG) || !is_routine(method, path);
        told.then(|| Self {
            method: method.clone(),
            path: path.to_owned(),
            name: (method == Method::POST).then(|| name_in(request.body())).flatten(),
        })
    }

    /// Says what came of it.
    pub(crate) fn tell(&self, error: Option<&Error>) {
        let (method, path, name) = (self.method.as_str(), self.path.as_str(), self.name.as_deref());
        match error {
            None if is_routine(&self.method, path) => tracing::debug!(method, path, name, "written"),
            None => tracing::info!(method, path, name, "written"),
            Some(error @ (Error::Unknown(_) | Error::Fenced(_))) => {
                tracing::debug!(method, path, name, %error, "nobody knows whether it is written");
            }
            // Whoever asked says so where it matters; most often somebody else was first.
            Some(error) => tracing::debug!(method, path, name, %error, "not written"),
        }
    }
}

/// Signs of life and events come all the time, and are asked for by a higher level.
fn is_routine(method: &Method, path: &str) -> bool {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    // What is behind the version: of a namespace, or of the whole cluster.
    let behind = if parts.first() == Some(&"api") { parts.get(2..) } else { parts.get(3..) };
    match behind.unwrap_or_default() {
        ["namespaces", _, resource, ..] => ["leases", "events"].contains(resource),
        ["nodes", _, "status"] => method == Method::PATCH,
        _ => false,
    }
}

/// The name in an object's text; the beginning of one that the server completes.
fn name_in(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Object {
        metadata: Meta,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Meta {
        name: Option<String>,
        generate_name: Option<String>,
    }
    let meta = serde_json::from_slice::<Object>(body).ok()?.metadata;
    meta.name.or(meta.generate_name)
}

/// Says that a right is missing: that does not pass by itself, and whoever asked tries again and says nothing of what may pass.
pub(crate) fn tell_missing_right(error: &Error) {
    static SAID: Mutex<BTreeMap<String, Instant>> = Mutex::new(BTreeMap::new());
    let Error::Forbidden(message) = error else { return };
    let mut said = SAID.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let now = Instant::now();
    if said.get(right_in(message)).is_none_or(|last| now.duration_since(*last) >= EVERY) {
        tracing::warn!(%error, "a right is missing");
        said.insert(right_in(message).to_owned(), now);
    }
}

/// Who lacks which verb on which resource, whatever the object and its namespace.
fn right_in(message: &str) -> &str {
    let from = message.find("User \"").unwrap_or_default();
    let right = &message[from..];
    right.split(" in the namespace").next().unwrap_or(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routine_is_told_by_the_resource() {
        let patch = |path: &str| is_routine(&Method::PATCH, path);
        assert!(patch("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1"));
        assert!(patch("/api/v1/namespaces/shop/events/x.1") && patch("/apis/events.k8s.io/v1/namespaces/shop/events"));
        assert!(patch("/api/v1/nodes/node-1/status") && !is_routine(&Method::PUT, "/api/v1/nodes/node-1/status"));
        assert!(!patch("/api/v1/namespaces/events/pods/leases") && !patch("/api/v1/namespaces/leases-prod/pods"));
        assert!(!patch("/api/v1/namespaces/events") && !patch("/") && !patch("") && !patch("/api/v1/nodes/events"));
    }

    #[test]
    fn a_new_object_is_named() {
        assert_eq!(name_in(br#"{"metadata":{"name":"a","labels":{}},"x":1}"#).as_deref(), Some("a"));
        assert_eq!(name_in(br#"{"metadata":{"generateName":"a-"}}"#).as_deref(), Some("a-"));
        assert_eq!(name_in(b"no"), None);
    }

    #[test]
    fn one_right_is_one_however_many_objects_need_it() {
        let of = |object: &str, namespace: &str| {
            format!(
                "{object} is forbidden: User \"u\" cannot get resource \"pods\" in API group \"\" in the namespace \"{namespace}\""
            )
        };
        let (one, other) = (of("pods \"a\"", "m"), of("pods \"b\"", "n"));
        assert_eq!(right_in(&one), right_in(&other));
        assert_eq!(right_in(&one), "User \"u\" cannot get resource \"pods\" in API group \"\"");
    }
}
