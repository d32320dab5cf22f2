//! A binder that sees only part of the world: its watch of the claims is silent. What it has not seen must not cost a
//! volume, nor a claim its data.

#![allow(clippy::unwrap_used, reason = "a test: what is missing is a failure")]

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use plimsoll_apiserver::auth::User;
use plimsoll_apiserver::start;
use plimsoll_clock::{Clock, Entropy};
use plimsoll_controllers::{Options, start as start_controllers};
use plimsoll_runtime::{Context, Objects, Resource};
use serde_json::{Value, json};
use tower::{BoxError, service_fn};

struct Blind {
    objects: Objects,
    /// Held, so that its tasks go on.
    _context: Context,
}

/// The controllers on a cluster, with a silent watch of one kind.
async fn blind_to(plural: &'static str) -> Blind {
    let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
    let core = start::in_process(clock.clone(), Entropy::seeded(1), true).await.unwrap();
    let client = |name: &str| Client::new(start::service(&core, User::in_groups(name, &["system:masters"])), "default");
    let (admin, seeing) = (client("admin"), client("binder"));
    let service = service_fn(move |request: Request<Body>| -> BoxFuture<'static, Result<Response<Body>, BoxError>> {
        let uri = request.uri().clone();
        if uri.path().ends_with(plural) && uri.query().is_some_and(|query| query.contains("watch=true")) {
            return Box::pin(std::future::pending());
        }
        let seeing = seeing.clone();
        Box::pin(async move { seeing.send(request).await.map_err(BoxError::from) })
    });
    let context = Context::new(Client::new(service, "default"), clock, Arc::new(Entropy::seeded(2)));
    let world = start_controllers(&context, &Options::default());
    world.synced().await;
    Blind { objects: Objects::new(admin), _context: context }
}

fn claim() -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "default"},
           "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "s", "volumeName": "v",
                    "resources": {"requests": {"storage": "1Gi"}}}})
}

fn volume(claim_ref: Option<&Value>) -> Value {
    let mut volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "s",
                 "persistentVolumeReclaimPolicy": "Delete", "csi": {"driver": "d", "volumeHandle": "h"}}});
    if let Some(claim) = claim_ref {
        let meta = &claim["metadata"];
        volume["spec"]["claimRef"] = json!({"kind": "PersistentVolumeClaim", "apiVersion": "v1",
            "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]});
    }
    volume
}

#[tokio::test(start_paused = true)]
async fn pc_19_a_volume_whose_claim_was_not_seen_is_not_released() {
    let lab = blind_to("persistentvolumeclaims").await;
    let claim: Value = lab.objects.create(Resource::CLAIMS, "default", &claim()).await.unwrap();
    let _: Value = lab.objects.create(Resource::VOLUMES, "", &volume(Some(&claim))).await.unwrap();
    for _ in 0..60 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let volume: Value = lab.objects.get(Resource::VOLUMES, "", "v").await.unwrap().unwrap();
        assert_ne!(volume["status"]["phase"], "Released", "{volume}");
    }
    let claim: Value = lab.objects.get(Resource::CLAIMS, "default", "c").await.unwrap().unwrap();
    assert_eq!(claim["status"]["phase"], "Bound", "asking the API itself was enough to bind them: {claim}");
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_volume_was_not_seen_is_not_lost() {
    let lab = blind_to("persistentvolumes").await;
    let mut bound = claim();
    bound["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "yes"});
    let _: Value = lab.objects.create(Resource::VOLUMES, "", &volume(None)).await.unwrap();
    let _: Value = lab.objects.create(Resource::CLAIMS, "default", &bound).await.unwrap();
    for _ in 0..60 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let claim: Value = lab.objects.get(Resource::CLAIMS, "default", "c").await.unwrap().unwrap();
        assert_ne!(claim["status"]["phase"], "Lost", "{claim}");
    }
}
