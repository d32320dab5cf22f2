//! The scheduler with the controllers, in virtual time.

#![allow(clippy::unwrap_used, reason = "a test: what is missing is a failure")]

mod lab;

use lab::{Lab, is_bound, pass, selected};
use plimsoll_controllers::Options as Controllers;
use plimsoll_runtime::{Context, Resource};
use plimsoll_scheduler::Options;
use plimsoll_scheduler::config::{AllGates, Configuration};
use serde_json::{Value, json};

/// Two nodes with room for pods, and the scheduler and the controllers on them.
async fn cluster() -> (Lab, Context) {
    let lab = Lab::new().await;
    lab.two_zones().await;
    let context = lab.context();
    plimsoll_controllers::start(&context, &Controllers::default());
    plimsoll_scheduler::start(&context, Options::default());
    (lab, context)
}

fn node_of(pod: &Value) -> Option<&str> {
    pod["spec"]["nodeName"].as_str()
}

#[tokio::test(start_paused = true)]
async fn a_pod_goes_where_its_volume_is() {
    let (lab, _context) = cluster().await;
    lab.volume("on-n2", "local", "n2").await;
    lab.claim("data", "local", json!({})).await;
    lab.pod("db", "", &["data"]).await;
    let pod = lab.until(Resource::PODS, "db", |pod| node_of(pod).is_some()).await;
    assert_eq!(node_of(&pod), Some("n2"));
    assert!(is_bound(&lab.get(Resource::CLAIMS, "data").await), "a pod is bound only after its claims");
    assert_eq!(lab.said("db", "Scheduled").await.as_deref(), Some("Successfully assigned default/db to n2"));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_fits_nowhere_says_why_and_goes_when_it_does() {
    let (lab, _context) = cluster().await;
    lab.claim("data", "local", json!({})).await;
    lab.pod("db", "", &["data"]).await;
    let why = "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.";
    let refused = |pod: &Value| pod["status"]["conditions"][0]["message"].as_str().is_some_and(|m| m.starts_with(why));
    let pod = lab.until(Resource::PODS, "db", refused).await;
    assert_eq!(pod["status"]["conditions"][0]["reason"], "Unschedulable");
    pass(20).await;
    lab.volume("on-n1", "local", "n1").await;
    let pod = lab.until(Resource::PODS, "db", |pod| node_of(pod).is_some()).await;
    assert_eq!(node_of(&pod), Some("n1"));
}

fn condition(pod: &Value) -> (&str, &str) {
    let condition = &pod["status"]["conditions"][0];
    (condition["reason"].as_str().unwrap_or_default(), condition["message"].as_str().unwrap_or_default())
}

/// A driver that has its space checked, a class of its, and one pool of 1Gi that every node can reach.
async fn pool_of_1gi(lab: &Lab) {
    lab.create(Resource::CSI_DRIVERS, json!({"metadata": {"name": "disks"}, "spec": {"storageCapacity": true}})).await;
    lab.class("made", "disks", true, json!({})).await;
    let pool = json!({"metadata": {"name": "pool"}, "storageClassName": "made", "nodeTopology": {}, "capacity": "1Gi"});
    lab.create(Resource::CAPACITIES, pool).await;
}

#[tokio::test(start_paused = true)]
async fn rg_8_a_refusal_is_unschedulable_and_what_fails_while_volumes_are_bound_an_error_of_the_scheduler() {
    let lab = Lab::new().await;
    lab.two_zones().await;
    lab.class("nobody", "nobody.example", true, json!({})).await;
    let hasty =
        "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: [{pluginConfig: [
        {name: VolumeBinding, args: {bindTimeoutSeconds: 3}}]}]}";
    let configuration = Configuration::read(hasty, AllGates::default()).unwrap();
    plimsoll_scheduler::start(&lab.context(), Options::from(configuration));
    lab.claim("none", "local", json!({})).await;
    lab.pod("refused", "", &["none"]).await;
    let pod = lab.until(Resource::PODS, "refused", |pod| !condition(pod).0.is_empty()).await;
    let none = "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.";
    assert_eq!(condition(&pod).0, "Unschedulable");
    assert!(condition(&pod).1.starts_with(none), "{pod:#}");
    // Nobody makes the volume, so that the wait for it ends in vain.
    lab.claim("late", "nobody", json!({})).await;
    lab.pod("failed", "", &["late"]).await;
    let pod = lab.until(Resource::PODS, "failed", |pod| !condition(pod).0.is_empty()).await;
    let late = "running PreBind plugin \"VolumeBinding\": binding volumes: context deadline exceeded";
    assert_eq!(condition(&pod), ("SchedulerError", late));
    assert!(selected(&lab.get(Resource::CLAIMS, "late").await).is_some(), "it failed after the node was selected");
}

#[tokio::test(start_paused = true)]
async fn rg_13_the_event_of_a_pod_without_space_says_so() {
    let (lab, _context) = cluster().await;
    pool_of_1gi(&lab).await;
    let spec = json!({"accessModes": ["ReadWriteOnce"], "storageClassName": "made",
                      "resources": {"requests": {"storage": "2Gi"}}});
    lab.create(Resource::CLAIMS, json!({"metadata": {"name": "large"}, "spec": spec})).await;
    lab.pod("db", "", &["large"]).await;
    lab.until(Resource::PODS, "db", |pod| condition(pod).0 == "Unschedulable").await;
    let said = lab.said("db", "FailedScheduling").await.unwrap();
    assert!(said.starts_with("0/2 nodes are available: 2 node(s) did not have enough free storage."), "{said}");
    assert!(selected(&lab.get(Resource::CLAIMS, "large").await).is_none());
}

/// The space of a volume that was made stays taken until its pool has had the time to show it. No event tells when that is
/// over; the pod must not wait for the flush after five minutes.
#[tokio::test(start_paused = true)]
async fn a_pod_that_waits_for_space_is_woken_when_it_settles() {
    let (lab, _context) = cluster().await;
    pool_of_1gi(&lab).await;
    lab.claim("first", "made", json!({})).await;
    lab.pod("one", "", &["first"]).await;
    let claim = lab.until(Resource::CLAIMS, "first", |claim| selected(claim).is_some()).await;
    // The volume takes nothing of what its pool shows, as with thin disks.
    let claim_ref = json!({"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": "default", "name": "first",
                           "uid": claim["metadata"]["uid"]});
    let spec = json!({"accessModes": ["ReadWriteOnce"], "storageClassName": "made", "capacity": {"storage": "1Gi"},
                      "claimRef": claim_ref, "csi": {"driver": "disks", "volumeHandle": "first"}});
    lab.create(Resource::VOLUMES, json!({"metadata": {"name": "thin"}, "spec": spec})).await;
    lab.until(Resource::PODS, "one", |pod| node_of(pod).is_some()).await;
    lab.claim("second", "made", json!({})).await;
    lab.pod("two", "", &["second"]).await;
    lab.until(Resource::PODS, "two", |pod| condition(pod).1.contains("enough free storage")).await;
    pass(100).await;
    assert!(selected(&lab.get(Resource::CLAIMS, "second").await).is_none(), "the space counts as taken");
    pass(60).await;
    assert!(selected(&lab.get(Resource::CLAIMS, "second").await).is_some(), "it waits for the flush");
}
