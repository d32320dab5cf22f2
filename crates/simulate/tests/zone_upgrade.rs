//! Zone-label upgrade on the embedded API server, in virtual time.

#![allow(clippy::unwrap_used, reason = "a test: what is missing is a failure")]

mod keeper;

use std::time::Duration;

use keeper::{Lab, node, quiet, volume};
use plimsoll_controllers::zone_upgrade::{self, Options, Outcome, ZoneUpgrade};
use plimsoll_runtime::{Context, Resource};
use serde_json::{Value, json};

const VOLUMES: Resource = Resource::VOLUMES;
const NODES: Resource = Resource::NODES;
const RULES: &[(&str, &[&str])] = &[("persistentvolumes", &["update"])];

const ZONE: &str = "topology.kubernetes.io/zone";
const ZONE_BETA: &str = "failure-domain.beta.kubernetes.io/zone";
const REGION_BETA: &str = "failure-domain.beta.kubernetes.io/region";

fn begin(lab: &Lab, seed: u64, options: Options) -> (Context, ZoneUpgrade) {
    let (context, _, upgrade) = lab.component(seed, |context, world| zone_upgrade::start(context, world, options));
    (context, upgrade)
}

fn term(requirements: &[(&str, &[&str])]) -> Value {
    let expressions: Vec<Value> =
        requirements.iter().map(|(k, v)| json!({"key": k, "operator": "In", "values": v})).collect();
    json!({"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}})
}

async fn affinity(lab: &Lab, name: &str) -> Value {
    lab.get(VOLUMES, name).await.unwrap()["spec"]["nodeAffinity"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_multi_zonal_volume_becomes_what_the_design_says_and_keeps_its_labels() {
    let lab = Lab::new(1, RULES).await;
    for zone in ["us-central1-a", "us-central1-b", "us-central1-c"] {
        lab.create(NODES, node(zone, json!({ZONE_BETA: zone, REGION_BETA: "us-central1"}))).await;
    }
    let (_context, upgrade) = begin(&lab, 1, Options::default());
    upgrade.first_pass().await;
    let labels = json!({ZONE_BETA: "us-central1-a__us-central1-b", REGION_BETA: "us-central1"});
    lab.create(VOLUMES, volume("multi-zonal-volume-1", labels.clone())).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let wanted = term(&[(ZONE_BETA, &["us-central1-a", "us-central1-b"]), (REGION_BETA, &["us-central1"])]);
    assert_eq!(affinity(&lab, "multi-zonal-volume-1").await, wanted);
    let upgraded = lab.get(VOLUMES, "multi-zonal-volume-1").await.unwrap();
    assert_eq!(upgraded["metadata"]["labels"], labels);
    quiet().await;
    let message = "Node affinity was added that says the same as the zone labels: \
        failure-domain.beta.kubernetes.io/zone in (us-central1-a, us-central1-b) and \
        failure-domain.beta.kubernetes.io/region in (us-central1)";
    assert_eq!(lab.events("multi-zonal-volume-1").await, [("ZoneLabelsUpgraded".to_owned(), message.to_owned())]);
    // Done once and for all.
    assert_eq!(lab.get(VOLUMES, "multi-zonal-volume-1").await.unwrap(), upgraded);
    assert!(upgrade.outcomes().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_node_without_labels_keeps_a_volume_as_it_is_until_the_node_goes() {
    let lab = Lab::new(2, RULES).await;
    lab.create(NODES, node("a", json!({ZONE: "a"}))).await;
    for i in 0..5 {
        lab.create(NODES, node(&format!("bare-{i}"), json!({}))).await;
    }
    lab.create(VOLUMES, volume("v", json!({ZONE: "a"}))).await;
    let (_context, upgrade) = begin(&lab, 2, Options::default());
    upgrade.first_pass().await;
    quiet().await;
    assert_eq!(affinity(&lab, "v").await, Value::Null);
    let message = "The zone labels stay as they are: said as node affinity, \
        the volume would no longer be usable on bare-0, bare-1, bare-2 and 2 more";
    assert_eq!(upgrade.outcomes().into_values().collect::<Vec<_>>(), [Outcome::Left(message.to_owned())]);
    assert_eq!(lab.events("v").await, [("ZoneLabelsNotUpgraded".to_owned(), message.to_owned())]);
    for i in 0..5 {
        match i {
            0 => lab.delete(NODES, "bare-0").await,
            _ => drop(lab.merge(NODES, &format!("bare-{i}"), "", json!({"metadata": {"labels": {ZONE: "b"}}})).await),
        }
    }
    quiet().await;
    assert_eq!(affinity(&lab, "v").await, term(&[(ZONE, &["a"])]));
    assert!(upgrade.outcomes().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_beta_label_is_said_by_the_ga_key_where_nodes_have_only_that() {
    let lab = Lab::new(3, RULES).await;
    lab.create(NODES, node("a", json!({ZONE: "a"}))).await;
    lab.create(NODES, node("b", json!({ZONE: "b"}))).await;
    lab.create(VOLUMES, volume("v", json!({ZONE_BETA: "a"}))).await;
    let (_context, upgrade) = begin(&lab, 3, Options::default());
    upgrade.first_pass().await;
    assert_eq!(affinity(&lab, "v").await, term(&[(ZONE, &["a"])]));
}

#[tokio::test(start_paused = true)]
async fn volumes_with_affinity_and_volumes_without_labels_are_never_touched() {
    let lab = Lab::new(4, RULES).await;
    lab.create(NODES, node("a", json!({ZONE: "a"}))).await;
    let mut has = volume("has", json!({ZONE: "a"}));
    has["spec"]["nodeAffinity"] = term(&[("kubernetes.io/hostname", &["somewhere"])]);
    let has = lab.create(VOLUMES, has).await;
    let plain = lab.create(VOLUMES, volume("plain", json!({"app": "x"}))).await;
    let (_context, upgrade) = begin(&lab, 4, Options::default());
    upgrade.first_pass().await;
    quiet().await;
    assert_eq!(lab.get(VOLUMES, "has").await.unwrap(), has);
    assert_eq!(lab.get(VOLUMES, "plain").await.unwrap(), plain);
    assert!(upgrade.outcomes().is_empty());
    assert!(lab.events("has").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn old_volumes_are_upgraded_at_the_rate_that_is_asked_for_and_new_ones_at_once() {
    let lab = Lab::new(5, RULES).await;
    lab.create(NODES, node("a", json!({ZONE: "a"}))).await;
    for i in 0..30 {
        lab.create(VOLUMES, volume(&format!("old-{i:02}"), json!({ZONE: "a"}))).await;
    }
    let (_context, upgrade) = begin(&lab, 5, Options { per_second: 10, ..Options::default() });
    tokio::time::sleep(Duration::from_millis(1050)).await;
    lab.create(VOLUMES, volume("new", json!({ZONE: "a"}))).await;
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(affinity(&lab, "new").await, term(&[(ZONE, &["a"])]));
    let mut done = 0;
    for i in 0..30 {
        done += usize::from(!affinity(&lab, &format!("old-{i:02}")).await.is_null());
    }
    assert!((9..=12).contains(&done), "{done} in about a second");
    upgrade.first_pass().await;
    assert_eq!(affinity(&lab, "old-29").await, term(&[(ZONE, &["a"])]));
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_says_what_it_would_do_and_writes_nothing() {
    // It may not even write.
    let lab = Lab::new(6, &[]).await;
    lab.create(NODES, node("a", json!({ZONE: "a"}))).await;
    lab.create(NODES, node("old", json!({ZONE_BETA: "a"}))).await;
    let mut before = Vec::new();
    for (name, labels) in [("left", json!({ZONE_BETA: "a"})), ("would", json!({ZONE: "a__b"}))] {
        before.push(lab.create(VOLUMES, volume(name, labels)).await);
    }
    let (_context, upgrade) = begin(&lab, 6, Options { dry_run: true, ..Options::default() });
    upgrade.first_pass().await;
    quiet().await;
    let outcomes = upgrade.outcomes();
    let would = format!("{ZONE} in (a, b)");
    assert_eq!(outcomes["would"], Outcome::WouldUpgrade(would));
    assert!(matches!(&outcomes["left"], Outcome::Left(why) if why.ends_with("no longer be usable on a")));
    for object in before {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        assert_eq!(lab.get(VOLUMES, &name).await, Some(object));
        assert!(lab.events(&name).await.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn before_there_are_nodes_nothing_is_decided() {
    let lab = Lab::new(7, RULES).await;
    lab.create(VOLUMES, volume("v", json!({ZONE: "a"}))).await;
    let (_context, upgrade) = begin(&lab, 7, Options::default());
    upgrade.first_pass().await;
    assert_eq!(upgrade.outcomes()["v"], Outcome::NoNodes);
    lab.create(NODES, node("a", json!({ZONE: "a"}))).await;
    quiet().await;
    assert_eq!(affinity(&lab, "v").await, term(&[(ZONE, &["a"])]));
}
