//! The scheduler with the controllers, in virtual time.

#![allow(clippy::unwrap_used, reason = "a test: what is missing is a failure")]

mod lab;

use lab::{Lab, is_bound, pass};
use plimsoll_controllers::Options as Controllers;
use plimsoll_runtime::{Context, Resource};
use plimsoll_scheduler::Options;
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
