//! Provisioners under the binder: volumes that an API server accepts, for the node that was selected, and their end.

#![allow(clippy::unwrap_used, reason = "a test: what is missing is a failure")]

mod lab;

use std::time::Duration;

use lab::{Lab, ZONE, is_bound, selected};
use plimsoll_controllers::binder;
use plimsoll_controllers::provision::{Directories, Disks, FLAVOURS, LOCAL_DIRECTORY, Provisioners, simulated};
use plimsoll_controllers::world::World;
use plimsoll_runtime::{Context, Resource};
use serde_json::{Value, json};

fn run(lab: &Lab, provisioners: Provisioners) -> Context {
    let (context, world) = (lab.context(), World::new());
    binder::start(&context, &world, binder::Options { provisioners, ..binder::Options::default() });
    world.start(&context, Duration::from_secs(3600));
    context
}

fn zones(volume: &Value) -> Vec<&str> {
    let terms = &volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"];
    let values = terms[0]["matchExpressions"][0]["values"].as_array();
    values.into_iter().flatten().filter_map(Value::as_str).collect()
}

#[tokio::test(start_paused = true)]
async fn every_flavour_makes_a_volume_that_the_api_server_accepts() {
    let lab = Lab::new().await;
    let disks = Disks::new();
    let _running = run(&lab, simulated(&disks));
    lab.node("n1", "us-central1-a").await;
    lab.node("n2", "us-central1-b").await;
    for (i, flavour) in FLAVOURS.iter().enumerate() {
        let name = format!("flavour-{i}");
        lab.class(&name, flavour.plugin, false, json!({})).await;
        lab.claim(&name, &name, json!({})).await;
        let claim = lab.until(Resource::CLAIMS, &name, is_bound).await;
        let volume = lab.get(Resource::VOLUMES, claim["spec"]["volumeName"].as_str().unwrap()).await;
        assert!(volume["spec"][flavour.field].is_object(), "{}: {volume:#}", flavour.plugin);
        assert_eq!(volume["metadata"]["annotations"]["pv.kubernetes.io/provisioned-by"], flavour.plugin);
    }
    assert_eq!(disks.all().len(), FLAVOURS.len());
}

#[tokio::test(start_paused = true)]
async fn a_disk_is_made_in_the_selected_nodes_zone_and_deleted_with_its_claim() {
    let lab = Lab::new().await;
    let disks = Disks::new();
    let _running = run(&lab, simulated(&disks));
    lab.node("n1", "a").await;
    lab.node("n2", "b").await;
    lab.class("disk", "kubernetes.io/gce-pd", true, json!({"parameters": {"type": "pd-ssd"}})).await;
    lab.claim("data", "disk", json!({lab::SELECTED: "n2"})).await;
    let claim = lab.until(Resource::CLAIMS, "data", is_bound).await;
    let name = claim["spec"]["volumeName"].as_str().unwrap();
    let volume = lab.get(Resource::VOLUMES, name).await;
    assert_eq!(zones(&volume), ["b"]);
    assert_eq!(volume["metadata"]["labels"][ZONE], "b");
    assert_eq!(disks.all().len(), 1);

    lab.delete(Resource::CLAIMS, "data").await;
    // No protection runs here, so its finalizers are taken away by hand.
    lab.merge(Resource::CLAIMS, "data", json!({"metadata": {"finalizers": null}})).await;
    lab.until(Resource::VOLUMES, name, |v| v.is_null() || v["metadata"]["deletionTimestamp"].is_string()).await;
    assert!(disks.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn pc_26_an_impossible_request_is_said_and_the_node_is_given_back() {
    let lab = Lab::new().await;
    let _running = run(&lab, simulated(&Disks::new()));
    lab.node("n1", "a").await;
    let regional = json!({
        "parameters": {"replication-type": "regional-pd"},
        "allowedTopologies": [{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}],
    });
    lab.class("regional", "kubernetes.io/gce-pd", true, regional).await;
    lab.claim("data", "regional", json!({lab::SELECTED: "n1"})).await;
    lab.until(Resource::CLAIMS, "data", |claim| selected(claim).is_none()).await;
    let said = lab.said("data", "ProvisioningFailed").await.unwrap();
    assert_eq!(
        said,
        "Failed to provision volume with StorageClass \"regional\": a volume that is kept in 2 zones of one region cannot \
         be made: the allowedTopologies have only a"
    );
}

#[tokio::test(start_paused = true)]
async fn a_directory_is_made_on_the_selected_node_and_removed() {
    let lab = Lab::new().await;
    let root = tempfile::tempdir().unwrap();
    let _running = run(&lab, Provisioners::none().with(Directories::new(root.path()).unwrap()));
    lab.node("n1", "a").await;
    lab.class("local", LOCAL_DIRECTORY, true, json!({})).await;
    let made = lab.claim("data", "local", json!({lab::SELECTED: "n1"})).await;
    lab.until(Resource::CLAIMS, "data", is_bound).await;
    let name = format!("pvc-{}", made["metadata"]["uid"].as_str().unwrap());
    let path = root.path().join("n1").join(&name);
    assert!(path.is_dir());
    std::fs::write(path.join("file"), "data").unwrap();

    lab.delete(Resource::CLAIMS, "data").await;
    lab.merge(Resource::CLAIMS, "data", json!({"metadata": {"finalizers": null}})).await;
    lab.until(Resource::VOLUMES, &name, |v| v.is_null() || v["metadata"]["deletionTimestamp"].is_string()).await;
    assert!(!path.exists());
}
