//! PV and PVC protection on the embedded API server, in virtual time, under the role of upstream's controllers.

#![allow(clippy::unwrap_used, reason = "a test: what is missing is a failure")]

mod keeper;

use std::time::Duration;

use keeper::{Lab, claim, finalizers, pod, quiet, uses, volume};
use plimsoll_api::names::{CLAIM_PROTECTION, VOLUME_PROTECTION};
use plimsoll_controllers::protection;
use plimsoll_runtime::{Context, Resource};
use serde_json::{Value, json};

const CLAIMS: Resource = Resource::CLAIMS;
const VOLUMES: Resource = Resource::VOLUMES;
const PODS: Resource = Resource::PODS;

/// rbac-and-gates.md 9.1.3, both controllers.
const RULES: &[(&str, &[&str])] = &[("persistentvolumeclaims", &["update"]), ("persistentvolumes", &["update"])];

async fn lab(seed: u64) -> (Lab, Context) {
    let lab = Lab::new(seed, RULES).await;
    let context = begin(&lab, seed);
    (lab, context)
}

fn begin(lab: &Lab, seed: u64) -> Context {
    let (context, _, ()) = lab.component(seed, |context, world| {
        protection::start(context, world, protection::Options::default());
    });
    context
}

#[tokio::test(start_paused = true)]
async fn pc_29_a_claim_that_a_scheduled_pod_uses_stays_until_the_pod_is_gone() {
    let (lab, _context) = lab(1).await;
    lab.create(CLAIMS, claim("data")).await;
    lab.create(PODS, pod("user", "node-1", uses("data"))).await;
    quiet().await;
    lab.delete(CLAIMS, "data").await;
    quiet().await;
    assert!(!lab.get(CLAIMS, "data").await.unwrap()["metadata"]["deletionTimestamp"].is_null());
    // Its deletion has to be done, not only begun: the node may still be at it. And a pod that has ended counts as well.
    lab.delete(PODS, "user").await;
    quiet().await;
    assert!(lab.get(PODS, "user").await.is_some());
    assert!(lab.get(CLAIMS, "data").await.is_some());
    lab.set_phase(PODS, "user", "Succeeded").await;
    quiet().await;
    assert!(lab.get(CLAIMS, "data").await.is_some());
    lab.delete_now(PODS, "user").await;
    quiet().await;
    assert_eq!(lab.get(CLAIMS, "data").await, None);
}

#[tokio::test(start_paused = true)]
async fn pc_30_a_claim_that_only_an_unscheduled_pod_names_vanishes() {
    let (lab, _context) = lab(2).await;
    lab.create(CLAIMS, claim("data")).await;
    lab.create(PODS, pod("waiting", "", uses("data"))).await;
    quiet().await;
    lab.delete(CLAIMS, "data").await;
    quiet().await;
    assert_eq!(lab.get(CLAIMS, "data").await, None);
}

#[tokio::test(start_paused = true)]
async fn pc_28_a_volume_that_is_deleted_while_bound_stays_until_its_phase_says_otherwise() {
    let (lab, _context) = lab(3).await;
    lab.create(VOLUMES, volume("v", json!({}))).await;
    lab.set_phase(VOLUMES, "v", "Bound").await;
    quiet().await;
    lab.delete(VOLUMES, "v").await;
    quiet().await;
    let stays = lab.get(VOLUMES, "v").await.unwrap();
    assert!(!stays["metadata"]["deletionTimestamp"].is_null());
    assert_eq!(finalizers(&stays), [VOLUME_PROTECTION]);
    lab.set_phase(VOLUMES, "v", "Released").await;
    quiet().await;
    assert_eq!(lab.get(VOLUMES, "v").await, None);
}

#[tokio::test(start_paused = true)]
async fn objects_from_before_get_their_finalizer_and_keep_others() {
    let (lab, context) = lab(4).await;
    context.tasks.shut_down(Duration::from_secs(1)).await;
    lab.create(CLAIMS, claim("old")).await;
    lab.create(VOLUMES, volume("old", json!({}))).await;
    for resource in [CLAIMS, VOLUMES] {
        lab.merge(resource, "old", "", json!({"metadata": {"finalizers": ["example.com/mine"]}})).await;
    }
    let _context = begin(&lab, 5);
    quiet().await;
    let claim = lab.get(CLAIMS, "old").await.unwrap();
    assert_eq!(finalizers(&claim), ["example.com/mine", CLAIM_PROTECTION]);
    let volume = lab.get(VOLUMES, "old").await.unwrap();
    assert_eq!(finalizers(&volume), ["example.com/mine", VOLUME_PROTECTION]);
    // Nothing is written that is as it should be.
    quiet().await;
    assert_eq!(
        lab.get(CLAIMS, "old").await.unwrap()["metadata"]["resourceVersion"],
        claim["metadata"]["resourceVersion"]
    );
}

#[tokio::test(start_paused = true)]
async fn what_was_deleted_while_nobody_watched_is_released_at_the_start() {
    let (lab, context) = lab(6).await;
    lab.create(CLAIMS, claim("data")).await;
    lab.create(CLAIMS, claim("used")).await;
    lab.create(PODS, pod("user", "node-1", uses("used"))).await;
    quiet().await;
    context.tasks.abort();
    lab.delete(CLAIMS, "data").await;
    lab.delete(CLAIMS, "used").await;
    quiet().await;
    assert!(lab.get(CLAIMS, "data").await.is_some());
    let _context = begin(&lab, 7);
    quiet().await;
    assert_eq!(lab.get(CLAIMS, "data").await, None);
    assert!(lab.get(CLAIMS, "used").await.is_some());
}

#[tokio::test(start_paused = true)]
async fn an_ephemeral_claim_is_free_once_its_pod_is_shut_down_even_if_the_pod_waits_for_it() {
    let (lab, _context) = lab(8).await;
    let template = json!({"spec": claim("x")["spec"]});
    let volumes = json!([{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]);
    let mut waiting = pod("p", "node-1", volumes);
    waiting["metadata"]["finalizers"] = json!(["example.com/after-my-claims"]);
    let made = lab.create(PODS, waiting).await;
    let mut own = claim("p-scratch");
    own["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": made["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true,
    }]);
    lab.create(CLAIMS, own).await;
    quiet().await;
    lab.delete(CLAIMS, "p-scratch").await;
    quiet().await;
    assert!(lab.get(CLAIMS, "p-scratch").await.is_some());
    lab.delete_now(PODS, "p").await;
    quiet().await;
    assert!(lab.get(PODS, "p").await.is_some(), "its finalizer holds it");
    assert_eq!(lab.get(CLAIMS, "p-scratch").await, None);
}

#[tokio::test(start_paused = true)]
async fn many_claims_of_a_namespace_are_released_together() {
    let (lab, _context) = lab(9).await;
    for i in 0..200 {
        lab.create(CLAIMS, claim(&format!("c{i}"))).await;
    }
    quiet().await;
    for i in 0..200 {
        lab.delete(CLAIMS, &format!("c{i}")).await;
    }
    quiet().await;
    let left: Value = lab.objects.send(http::Method::GET, "/api/v1/persistentvolumeclaims", None).await.unwrap();
    assert_eq!(left["items"].as_array().map(Vec::len), Some(0));
}
