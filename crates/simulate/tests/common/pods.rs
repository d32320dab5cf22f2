//! Pods as a node is given them, and what became of them.

use std::time::Duration;

use plimsoll_runtime::Resource;
use plimsoll_simulate::{Bed, Report};
use serde_json::{Value, json};

/// A pod on node `a` with one container, `c`, and these annotations.
pub fn pod(name: &str, policy: &str, annotations: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {"nodeName": "a", "restartPolicy": policy, "terminationGracePeriodSeconds": 20,
                 "containers": [{"name": "c", "image": "i"}]}})
}

/// The pod as it is now.
pub fn found(bed: &Bed, name: &str) -> Option<Value> {
    bed.state().pods.get(&format!("default/{name}")).map(|pod| (**pod).clone())
}

/// Its phase; empty where there is no such pod.
pub fn phase(bed: &Bed, name: &str) -> String {
    found(bed, name).and_then(|pod| pod["status"]["phase"].as_str().map(str::to_owned)).unwrap_or_default()
}

/// The status of its only container.
pub fn container(bed: &Bed, name: &str) -> Value {
    found(bed, name).map(|pod| pod["status"]["containerStatuses"][0].clone()).unwrap_or_default()
}

/// The events about an object: reason, message and count.
pub async fn told_of(bed: &Bed, name: &str) -> Vec<(String, String, u64)> {
    let request = http::Request::get("/api/v1/events").body(Vec::new()).unwrap();
    let list = bed.client().request_text(request).await.unwrap();
    let list: Value = serde_json::from_str(&list).unwrap();
    let events = list["items"].as_array().unwrap().iter().filter(|event| event["involvedObject"]["name"] == name);
    let text = |event: &Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
    events.map(|e| (text(e, "reason"), text(e, "message"), e["count"].as_u64().unwrap_or(1))).collect()
}

/// How often an event of this reason was told of an object.
pub async fn times(bed: &Bed, name: &str, reason: &str) -> u64 {
    told_of(bed, name).await.iter().filter(|(r, ..)| r == reason).map(|(.., count)| count).sum()
}

pub async fn seconds(bed: &Bed, seconds: u64) {
    bed.wait(Duration::from_secs(seconds)).await;
}

/// Changes an object.
pub async fn patch(bed: &Bed, resource: Resource, name: &str, patch: Value) -> Result<(), String> {
    bed.objects().merge::<Value>(resource, "default", name, "", &patch).await.map(|_| ()).map_err(|e| e.to_string())
}

/// The run went well.
pub fn well(report: &Report) {
    assert_eq!(report.outcome, Ok(()), "seed {}\n{}", report.seed, report.trace);
}
