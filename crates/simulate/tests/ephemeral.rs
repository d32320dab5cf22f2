//! Ephemeral claims on the embedded API server, in virtual time, under the role of upstream's controller.

#![allow(clippy::unwrap_used, reason = "a test: what is missing is a failure")]

mod keeper;

use keeper::{Lab, claim, pod, quiet};
use plimsoll_controllers::{ephemeral, protection};
use plimsoll_runtime::{Context, Resource};
use serde_json::{Value, json};

const CLAIMS: Resource = Resource::CLAIMS;
const PODS: Resource = Resource::PODS;

/// rbac-and-gates.md 9.1.3; and protection's, without which no claim ever goes.
const RULES: &[(&str, &[&str])] = &[
    ("persistentvolumeclaims", &["create", "update"]),
    ("pods/finalizers", &["update"]),
    ("persistentvolumes", &["update"]),
];

async fn lab(seed: u64) -> (Lab, Context) {
    let lab = Lab::new(seed, RULES).await;
    let (context, _, ()) = lab.component(seed, |context, world| {
        ephemeral::start(context, world, ephemeral::Options::default());
        protection::start(context, world, protection::Options::default());
    });
    (lab, context)
}

fn scratch(names: &[&str]) -> Value {
    let spec = json!({
        "accessModes": ["ReadWriteMany"], "storageClassName": "fast", "volumeMode": "Block",
        "resources": {"requests": {"storage": "3Gi"}, "limits": {"storage": "4Gi"}},
        "selector": {"matchLabels": {"a": "b"}},
    });
    let template = json!({"metadata": {"labels": {"l": "1"}, "annotations": {"n": "2"}}, "spec": spec});
    names.iter().map(|name| json!({"name": name, "ephemeral": {"volumeClaimTemplate": template}})).collect()
}

#[tokio::test(start_paused = true)]
async fn a_pods_ephemeral_volumes_get_the_claims_of_their_templates() {
    let (lab, context) = lab(1).await;
    let made = lab.create(PODS, pod("p", "", scratch(&["one", "two"]))).await;
    quiet().await;
    for name in ["p-one", "p-two"] {
        let claim = lab.get(CLAIMS, name).await.unwrap();
        let template = &made["spec"]["volumes"][0]["ephemeral"]["volumeClaimTemplate"];
        assert_eq!(claim["spec"], template["spec"]);
        assert_eq!(claim["metadata"]["labels"], json!({"l": "1"}));
        assert_eq!(claim["metadata"]["annotations"]["n"], json!("2"));
        let owner = json!([{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": made["metadata"]["uid"],
                            "controller": true, "blockOwnerDeletion": true}]);
        assert_eq!(claim["metadata"]["ownerReferences"], owner);
    }
    let metrics = context.metrics.text();
    assert!(metrics.contains("ephemeral_volume_controller_create_total 2\n"), "{metrics}");
    assert!(metrics.contains("ephemeral_volume_controller_create_failures_total 0\n"), "{metrics}");
}

#[tokio::test(start_paused = true)]
async fn pc_40_a_claim_that_goes_while_its_pod_lives_is_made_again() {
    let (lab, _context) = lab(2).await;
    lab.create(PODS, pod("p", "", scratch(&["one"]))).await;
    quiet().await;
    let first = lab.get(CLAIMS, "p-one").await.unwrap();
    lab.delete(CLAIMS, "p-one").await;
    quiet().await;
    let second = lab.get(CLAIMS, "p-one").await.unwrap();
    assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);
    assert!(second["metadata"]["deletionTimestamp"].is_null());
    // With the pod, the claim goes for good.
    lab.delete_now(PODS, "p").await;
    quiet().await;
    assert_eq!(lab.get(CLAIMS, "p-one").await, None);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_being_deleted_gets_no_claims() {
    let (lab, _context) = lab(3).await;
    let mut held = pod("p", "node-1", scratch(&["one"]));
    held["metadata"]["finalizers"] = json!(["example.com/mine"]);
    lab.create(PODS, held).await;
    quiet().await;
    lab.delete_now(PODS, "p").await;
    lab.delete(CLAIMS, "p-one").await;
    quiet().await;
    assert!(lab.get(PODS, "p").await.is_some());
    assert_eq!(lab.get(CLAIMS, "p-one").await, None);
}

#[tokio::test(start_paused = true)]
async fn a_claim_of_somebody_else_is_left_alone_and_replaced_when_it_goes() {
    let (lab, _context) = lab(4).await;
    let foreign = lab.create(CLAIMS, claim("p-one")).await;
    lab.create(PODS, pod("p", "", scratch(&["one"]))).await;
    quiet().await;
    let still = lab.get(CLAIMS, "p-one").await.unwrap();
    assert_eq!(still["metadata"]["uid"], foreign["metadata"]["uid"]);
    let message = "ephemeral volume one: PVC default/p-one was not created for pod default/p (pod is not owner)";
    assert_eq!(lab.events("p").await, [("FailedBinding".to_owned(), message.to_owned())]);
    lab.delete(CLAIMS, "p-one").await;
    quiet().await;
    assert_ne!(lab.get(CLAIMS, "p-one").await.unwrap()["metadata"]["uid"], foreign["metadata"]["uid"]);
}

#[tokio::test(start_paused = true)]
async fn a_successor_under_the_same_name_gets_its_own_claim() {
    let (lab, _context) = lab(5).await;
    let first = lab.create(PODS, pod("p", "", scratch(&["one"]))).await;
    quiet().await;
    lab.delete_now(PODS, "p").await;
    let second = lab.create(PODS, pod("p", "", scratch(&["one"]))).await;
    assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);
    quiet().await;
    let claim = lab.get(CLAIMS, "p-one").await.unwrap();
    assert_eq!(claim["metadata"]["ownerReferences"][0]["uid"], second["metadata"]["uid"]);
}
