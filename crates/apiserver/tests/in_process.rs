//! The API without a socket: a `kube::Client` on the tower service, in virtual time and from a seed.

#![allow(clippy::unwrap_used, reason = "a test: what is missing is a failure")]

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, Client};
use plimsoll_apiserver::auth::User;
use plimsoll_apiserver::clock::{Clock, Entropy};
use plimsoll_apiserver::core::Core;
use plimsoll_apiserver::start;
use serde_json::json;

async fn server(seed: u64) -> Arc<Core> {
    let epoch = "2026-01-01T00:00:00Z".parse().unwrap();
    start::in_process(Clock::starting_at(epoch), Entropy::seeded(seed), true).await.unwrap()
}

fn client(core: &Arc<Core>) -> Client {
    Client::new(start::service(core, User::in_groups("test", &["system:masters"])), "default")
}

fn pod(name: &str) -> Pod {
    serde_json::from_value(json!({
        "metadata": {"generateName": format!("{name}-")},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }))
    .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_client_lists_watches_and_patches() {
    let core = server(1).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(client(&core));
    let list = maps.list(&ListParams::default()).await.unwrap();
    let version = list.metadata.resource_version.unwrap();
    let map = json!({"metadata": {"name": "a", "labels": {"x": "1"}}, "data": {"k": "v"}});
    maps.create(&PostParams::default(), &serde_json::from_value(map).unwrap()).await.unwrap();
    maps.patch("a", &PatchParams::default(), &Patch::Merge(json!({"data": {"k": "w"}}))).await.unwrap();
    let applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"z": "1"}});
    maps.patch("a", &PatchParams::apply("me"), &Patch::Apply(applied)).await.unwrap();
    maps.patch("a", &PatchParams::default(), &Patch::Merge(json!({"metadata": {"labels": null}}))).await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap();

    let params = WatchParams::default().labels("x=1").timeout(5);
    let events: Vec<_> = maps.watch(&params, &version).await.unwrap().try_collect().await.unwrap();
    let kinds: Vec<&str> = events
        .iter()
        .map(|event| match event {
            WatchEvent::Added(_) => "added",
            WatchEvent::Modified(_) => "modified",
            WatchEvent::Deleted(_) => "deleted",
            WatchEvent::Bookmark(_) => "bookmark",
            WatchEvent::Error(_) => "error",
        })
        .collect();
    // It leaves the selection before it is deleted.
    assert_eq!(kinds, ["added", "modified", "modified", "deleted"]);
}

#[tokio::test(start_paused = true)]
async fn conflicts_and_absence_have_their_codes() {
    let core = server(2).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(client(&core));
    let code = |error: kube::Error| match error {
        kube::Error::Api(status) => status.code,
        other => panic!("{other}"),
    };
    assert_eq!(code(maps.get("none").await.unwrap_err()), 404);
    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "a"}})).unwrap();
    let mut stored = maps.create(&PostParams::default(), &map).await.unwrap();
    assert_eq!(code(maps.create(&PostParams::default(), &map).await.unwrap_err()), 409);
    maps.patch("a", &PatchParams::default(), &Patch::Merge(json!({"data": {"k": "w"}}))).await.unwrap();
    stored.data = Some([("k".to_owned(), "v".to_owned())].into());
    assert_eq!(code(maps.replace("a", &PostParams::default(), &stored).await.unwrap_err()), 409);
}

#[tokio::test(start_paused = true)]
async fn a_version_that_was_never_there_is_gone() {
    let core = server(3).await;
    let pods: Api<Pod> = Api::default_namespaced(client(&core));
    let mut stream = pods.watch(&WatchParams::default().timeout(5), "1").await.unwrap().boxed();
    match stream.next().await {
        // Nothing was ever written here, so nothing is missed.
        None => {}
        Some(Ok(WatchEvent::Error(status))) => assert_eq!(status.code, 410),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_namespace_takes_its_content_along() {
    let core = server(4).await;
    let client = client(&core);
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces
        .create(&PostParams::default(), &serde_json::from_value(json!({"metadata": {"name": "n"}})).unwrap())
        .await
        .unwrap();
    let pods: Api<Pod> = Api::namespaced(client, "n");
    for _ in 0..3 {
        pods.create(&PostParams::default(), &pod("web")).await.unwrap();
    }
    namespaces.delete("n", &DeleteParams::default()).await.unwrap();
    for _ in 0..100 {
        if namespaces.get_opt("n").await.unwrap().is_none() {
            assert!(pods.list(&ListParams::default()).await.unwrap().items.is_empty());
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the namespace is still there: {:?}", namespaces.get("n").await);
}

/// One run of everything that draws on time or randomness.
async fn run(seed: u64) -> String {
    let core = server(seed).await;
    let client = client(&core);
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    for i in 0..5 {
        pods.create(&PostParams::default(), &pod("web")).await.unwrap();
        tokio::time::sleep(Duration::from_millis(700 * i)).await;
    }
    let request = |path: &str| http::Request::get(path).body(Vec::new()).unwrap();
    let mut out = client.request_text(request("/api/v1/pods")).await.unwrap();
    out += &client.request_text(request("/apis/rbac.authorization.k8s.io/v1/clusterroles")).await.unwrap();
    out
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_bytes() {
    let first = run(7).await;
    assert_eq!(first, run(7).await);
    assert_ne!(first, run(8).await);
}
