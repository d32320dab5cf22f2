use super::*;
use serde_json::{Value, json};

fn claim(name: &str, owner: Option<&str>) -> PersistentVolumeClaim {
    let owners: Vec<Value> = owner
        .iter()
        .map(|uid| json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid, "controller": true}))
        .collect();
    serde_json::from_value(json!({"metadata": {"name": name, "namespace": "n", "ownerReferences": owners}})).unwrap()
}

fn pod(extra: Value) -> Value {
    let mut pod = json!({
        "metadata": {"name": "p", "namespace": "n", "uid": "u"},
        "spec": {"nodeName": "node", "volumes": [
            {"name": "a", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
            {"name": "other", "emptyDir": {}},
        ]},
    });
    for (part, fields) in extra.as_object().unwrap() {
        for (field, value) in fields.as_object().unwrap() {
            pod[part][field] = value.clone();
        }
    }
    pod
}

/// The same pod as the mirror has it and as a live list has it must mean the same.
fn usage(value: Value) -> Usage {
    let mirrored = Usage::of(&serde_json::from_value(value.clone()).unwrap());
    let live = Usage::from(serde_json::from_value::<LivePod>(value).unwrap());
    assert_eq!(mirrored, live);
    mirrored
}

#[test]
fn a_scheduled_pod_holds_the_claims_it_names() {
    let pod = usage(pod(json!({})));
    assert!(pod.holds(&claim("data", None)));
    assert!(!pod.holds(&claim("other", None)));
}

#[test]
fn pc_30_an_unscheduled_pod_holds_nothing() {
    let pod = usage(pod(json!({"spec": {"nodeName": ""}})));
    assert!(!pod.holds(&claim("data", None)));
}

#[test]
fn a_pod_that_has_ended_holds_its_claims_until_it_is_deleted() {
    let pod = usage(pod(json!({"status": {"phase": "Succeeded"}})));
    assert!(pod.holds(&claim("data", None)));
}

#[test]
fn an_ephemeral_claim_is_held_only_by_its_owner() {
    let pod = usage(pod(json!({})));
    assert!(pod.holds(&claim("p-scratch", Some("u"))));
    assert!(!pod.holds(&claim("p-scratch", Some("another"))));
    assert!(!pod.holds(&claim("p-scratch", None)));
}

#[test]
fn a_pod_that_is_shut_down_lets_go_of_its_ephemeral_claims_only() {
    let deleted = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}});
    let shut_down = usage(pod(deleted));
    assert!(!shut_down.holds(&claim("p-scratch", Some("u"))));
    assert!(shut_down.holds(&claim("data", None)));
    let ending = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}});
    assert!(usage(pod(ending)).holds(&claim("p-scratch", Some("u"))));
}

#[test]
fn the_index_follows_pods_and_their_names() {
    let mirror = Mirror::<Pod>::new();
    let index = Pods::of(&mirror);
    let key = |name: &str| ObjectKey::new("n", name);
    let make = |version: &str, uid: &str, claim: &str| {
        let value = json!({
            "metadata": {"name": "p", "namespace": "n", "uid": uid, "resourceVersion": version},
            "spec": {"nodeName": "node", "volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": claim}}]},
        });
        Arc::new(serde_json::from_value::<Pod>(value).unwrap())
    };
    mirror.set(make("1", "u", "data"));
    assert_eq!(index.of_claim(&key("data")).len(), 1);
    // Deleted and made again under its name, and the watch told only of the second.
    mirror.set(make("5", "v", "more"));
    assert!(index.of_claim(&key("data")).is_empty());
    assert_eq!(&*index.of_claim(&key("more"))[0].uid, "v");
    mirror.gone(&key("p"), 6);
    assert!(index.of_claim(&key("more")).is_empty());
    assert!(index.by_claim.lock().unwrap().is_empty());
}
