//! Pods that bypass the scheduler: their delayed claims are met on their node, or it is said why not.

#![allow(clippy::unwrap_used, reason = "a test: what is missing is a failure")]

mod lab;

use std::time::Duration;

use lab::{Lab, SELECTED, is_bound, pass, selected};
use plimsoll_controllers::provision::{Disks, Provisioners, simulated};
use plimsoll_controllers::world::World;
use plimsoll_controllers::{binder, rescue};
use plimsoll_runtime::{Context, Resource};
use serde_json::{Value, json};

const DRIVER: &str = "sim.csi.plimsoll.dev";
const STATIC: &str = "kubernetes.io/no-provisioner";

fn run(lab: &Lab, provisioners: Provisioners) -> Context {
    let context = lab.context();
    run_in(&context, provisioners);
    context
}

fn run_in(context: &Context, provisioners: Provisioners) {
    let world = World::new();
    binder::start(context, &world, binder::Options { provisioners, ..binder::Options::default() });
    rescue::start(context, &world, rescue::Options::default());
    world.start(context, Duration::from_secs(3600));
}

async fn cluster() -> Lab {
    let lab = Lab::new().await;
    lab.node("n1", "a").await;
    lab.node("n2", "b").await;
    lab.class("local", STATIC, true, json!({})).await;
    lab.class("csi", DRIVER, true, json!({})).await;
    lab
}

fn reference(volume: &Value) -> Option<&str> {
    volume["spec"]["claimRef"]["name"].as_str()
}

#[tokio::test(start_paused = true)]
async fn a_pod_with_a_node_gets_the_volume_of_that_node() {
    let lab = cluster().await;
    lab.volume("on-n1", "local", "n1").await;
    lab.volume("on-n2", "local", "n2").await;
    let _running = run(&lab, Provisioners::none());
    lab.claim("data", "local", json!({})).await;
    pass(30).await;
    assert!(!is_bound(&lab.get(Resource::CLAIMS, "data").await), "nobody uses it yet");
    lab.pod("pinned", "n2", &["data"]).await;
    let claim = lab.until(Resource::CLAIMS, "data", is_bound).await;
    assert_eq!(claim["spec"]["volumeName"], "on-n2");
    let volume = lab.get(Resource::VOLUMES, "on-n2").await;
    assert_eq!(volume["spec"]["claimRef"]["uid"], claim["metadata"]["uid"]);
    assert_eq!(volume["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"], "yes");
    assert_eq!(
        lab.said("pinned", rescue::DONE).await.unwrap(),
        "the pod bypassed the scheduler; for node n2 claim default/data gets volume on-n2"
    );
}

#[tokio::test(start_paused = true)]
async fn a_claim_to_be_provisioned_gets_the_pods_node() {
    let lab = cluster().await;
    let _running = run(&lab, Provisioners::none());
    lab.pod("pinned", "n2", &["data"]).await;
    pass(3).await;
    // The claim comes after its pod, as from a hasty hand.
    lab.claim("data", "csi", json!({})).await;
    let claim = lab.until(Resource::CLAIMS, "data", |claim| selected(claim).is_some()).await;
    assert_eq!(selected(&claim), Some("n2"));
    assert!(lab.said("pinned", rescue::DONE).await.unwrap().contains("a volume is to be made for claim default/data"));
    assert_eq!(lab.said("pinned", rescue::FAILED).await, None, "what was only late is not said");
}

#[tokio::test(start_paused = true)]
async fn a_provisioner_of_ours_makes_the_volume_where_the_pod_is() {
    let lab = cluster().await;
    let disks = Disks::new();
    let _running = run(&lab, simulated(&disks));
    lab.class("disk", "kubernetes.io/gce-pd", true, json!({})).await;
    lab.claim("data", "disk", json!({})).await;
    lab.pod("pinned", "n2", &["data"]).await;
    lab.until(Resource::CLAIMS, "data", is_bound).await;
    assert_eq!(disks.all()[0].zones, ["b"]);
}

#[tokio::test(start_paused = true)]
async fn a_claim_selected_for_another_node_is_left_alone_and_that_is_said() {
    let lab = cluster().await;
    let _running = run(&lab, Provisioners::none());
    lab.claim("data", "csi", json!({SELECTED: "n1"})).await;
    lab.pod("pinned", "n2", &["data"]).await;
    pass(60).await;
    assert_eq!(selected(&lab.get(Resource::CLAIMS, "data").await), Some("n1"));
    let said = lab.said("pinned", rescue::FAILED).await.unwrap();
    assert!(said.contains("n1") && said.contains("default/data"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_is_said_once_and_done_when_it_fits() {
    let lab = cluster().await;
    let _running = run(&lab, Provisioners::none());
    lab.volume("on-n1", "local", "n1").await;
    lab.claim("data", "local", json!({})).await;
    lab.pod("pinned", "n2", &["data"]).await;
    pass(60).await;
    assert_eq!(reference(&lab.get(Resource::VOLUMES, "on-n1").await), None);
    let events = lab.events("pinned").await;
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0].0, rescue::FAILED);
    assert!(events[0].1.starts_with("node(s) didn't find available persistent volumes to bind: "), "{events:?}");
    lab.volume("on-n2", "local", "n2").await;
    let claim = lab.until(Resource::CLAIMS, "data", is_bound).await;
    assert_eq!(claim["spec"]["volumeName"], "on-n2");
}

#[tokio::test(start_paused = true)]
async fn two_pods_do_not_get_one_volume() {
    let lab = cluster().await;
    let _running = run(&lab, Provisioners::none());
    lab.volume("on-n1", "local", "n1").await;
    lab.claim("first", "local", json!({})).await;
    lab.claim("second", "local", json!({})).await;
    lab.pod("pod-1", "n1", &["first"]).await;
    lab.pod("pod-2", "n1", &["second"]).await;
    pass(60).await;
    let bound = [lab.get(Resource::CLAIMS, "first").await, lab.get(Resource::CLAIMS, "second").await];
    assert_eq!(bound.iter().filter(|claim| is_bound(claim)).count(), 1);
    let failed = [lab.said("pod-1", rescue::FAILED).await, lab.said("pod-2", rescue::FAILED).await];
    assert_eq!(failed.iter().flatten().count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_pod_with_several_claims_gets_all_or_nothing() {
    let lab = cluster().await;
    let _running = run(&lab, Provisioners::none());
    lab.volume("on-n1", "local", "n1").await;
    lab.claim("first", "local", json!({})).await;
    lab.claim("second", "local", json!({})).await;
    lab.pod("greedy", "n1", &["first", "second"]).await;
    pass(60).await;
    assert_eq!(reference(&lab.get(Resource::VOLUMES, "on-n1").await), None);
    lab.volume("also-on-n1", "local", "n1").await;
    lab.until(Resource::CLAIMS, "first", is_bound).await;
    lab.until(Resource::CLAIMS, "second", is_bound).await;
}

#[tokio::test(start_paused = true)]
async fn pods_without_a_node_over_or_on_no_node_are_not_acted_for() {
    let lab = cluster().await;
    lab.pod("over", "n1", &["data"]).await;
    let phase = json!({"status": {"phase": "Succeeded"}});
    let _: Value = lab.objects.merge(Resource::PODS, "default", "over", "status", &phase).await.unwrap();
    let _running = run(&lab, Provisioners::none());
    lab.volume("on-n1", "local", "n1").await;
    lab.claim("data", "local", json!({})).await;
    lab.class("now", DRIVER, false, json!({})).await;
    lab.claim("immediate", "now", json!({})).await;
    lab.pod("others", "n1", &["immediate"]).await;
    lab.pod("unscheduled", "", &["data"]).await;
    lab.pod("lost", "n9", &["data"]).await;
    pass(60).await;
    assert_eq!(reference(&lab.get(Resource::VOLUMES, "on-n1").await), None);
    assert!(lab.said("lost", rescue::FAILED).await.unwrap().contains("n9 does not exist"));
    assert_eq!(lab.said("unscheduled", rescue::FAILED).await, None);
    assert!(lab.events("over").await.is_empty());
    assert_eq!(lab.said("others", rescue::FAILED).await, None, "a claim that waits for nobody is not ours");
}

#[tokio::test(start_paused = true)]
async fn a_provisioner_that_refuses_is_not_asked_round_and_round() {
    let lab = cluster().await;
    let _running = run(&lab, simulated(&Disks::new()));
    let regional = json!({"parameters": {"replication-type": "regional-pd", "zones": "b"}});
    lab.class("regional", "kubernetes.io/gce-pd", true, regional).await;
    lab.claim("data", "regional", json!({})).await;
    let before = version(&lab.get(Resource::CLAIMS, "data").await);
    lab.pod("pinned", "n2", &["data"]).await;
    pass(600).await;
    assert!(lab.said("data", "ProvisioningFailed").await.is_some());
    // Set and taken away in turn, each time after twice as long.
    let after = version(&lab.get(Resource::CLAIMS, "data").await);
    assert!(after - before < 200, "{} writes of all kinds in ten minutes", after - before);
}

fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

/// Killed before and after each of its writes, and those of the binder: the next one brings it to the same end.
#[tokio::test(start_paused = true)]
async fn a_rescue_that_died_is_completed_by_the_next() {
    for after in [false, true] {
        let mut died_at = 0;
        loop {
            let lab = cluster().await;
            lab.volume("on-n1", "local", "n1").await;
            lab.claim("first", "local", json!({})).await;
            lab.claim("second", "csi", json!({})).await;
            lab.pod("pinned", "n1", &["first", "second"]).await;
            let (mortal, death) = lab.mortal(died_at, after);
            run_in(&mortal, Provisioners::none());
            let died = tokio::time::timeout(Duration::from_secs(10), death.notified()).await.is_ok();
            mortal.tasks.abort();
            let _running = run(&lab, Provisioners::none());
            let claim = lab.until(Resource::CLAIMS, "first", is_bound).await;
            assert_eq!(claim["spec"]["volumeName"], "on-n1", "killed at write {died_at}");
            let second = lab.until(Resource::CLAIMS, "second", |claim| selected(claim).is_some()).await;
            assert_eq!(selected(&second), Some("n1"), "killed at write {died_at}");
            if !died {
                break;
            }
            died_at += 1;
        }
        // Two of rescue's, the binder's three for the volume and the claim, and events.
        assert!(died_at >= 6, "it was killed only {died_at} times");
    }
}
