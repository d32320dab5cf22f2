//! DaemonSets: nodes come and go, are tainted and labelled; pods fail; templates change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_runtime::Resource;
use plimsoll_simulate::{Bed, Component, Machine, State};
use serde_json::{Value, json};

use super::cast::{REVISION, create, daemon_set, delete, get, image, list, patch, said, text, told};
use super::play;

/// The nodes that have a running pod of `logs`, with the revisions of these.
fn covered(state: &State) -> BTreeMap<String, Vec<String>> {
    let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for pod in state.pods.values().filter(|pod| pod["metadata"]["labels"]["app"] == "logs") {
        if pod["status"]["phase"] == "Running" && pod["metadata"]["deletionTimestamp"].is_null() {
            let revision = text(&pod["metadata"]["labels"][REVISION]).to_owned();
            out.entry(text(&pod["spec"]["nodeName"]).to_owned()).or_default().push(revision);
        }
    }
    out
}

fn nodes(state: &State) -> Vec<String> {
    covered(state).into_keys().collect()
}

/// Desired, current, ready, available, unavailable, updated, misscheduled.
async fn numbers(bed: &Bed) -> Result<[i64; 7], String> {
    let status = get(bed, Resource::DAEMON_SETS, "logs").await?["status"].clone();
    let fields = [
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "numberAvailable",
        "numberUnavailable",
        "updatedNumberScheduled",
        "numberMisscheduled",
    ];
    Ok(fields.map(|field| status[field].as_i64().unwrap_or(0)))
}

async fn taint(bed: &Bed, node: &str, effect: Option<&str>) -> Result<(), String> {
    let taints: Vec<Value> = effect.iter().map(|effect| json!({"key": "k", "value": "v", "effect": effect})).collect();
    patch(bed, Resource::NODES, node, json!({"spec": {"taints": taints}})).await
}

#[test]
fn a_pod_on_every_node_also_on_those_that_come() {
    play(true, |bed| async move {
        create(&bed, Resource::DAEMON_SETS, &daemon_set(json!({}))).await?;
        bed.settle().await?;
        assert_eq!(nodes(&bed.state()), ["n1", "n2", "n3"]);
        assert_eq!(numbers(&bed).await?, [3, 3, 3, 3, 0, 3, 0]);
        bed.start(Machine::new("n4").component());
        bed.settle().await?;
        assert_eq!(nodes(&bed.state()), ["n1", "n2", "n3", "n4"]);
        assert_eq!(numbers(&bed).await?, [4, 4, 4, 4, 0, 4, 0]);
        let pods = bed.state().pods.clone();
        let pod = pods.values().find(|pod| pod["spec"]["nodeName"] == "n4").unwrap();
        let required = &pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
        assert_eq!(required["nodeSelectorTerms"][0]["matchFields"][0]["values"], json!(["n4"]));
        assert_eq!(pod["metadata"]["labels"]["pod-template-generation"], "1");
        let said = said(&bed, "logs").await?;
        let created = format!("SuccessfulCreate: Created pod: {}", text(&pod["metadata"]["name"]));
        assert!(said.contains(&created), "{said:?}");
        // A cordoned node keeps its pod, and gets one where it has none.
        patch(&bed, Resource::NODES, "n4", json!({"spec": {"unschedulable": true}})).await?;
        delete(&bed, Resource::PODS, text(&pod["metadata"]["name"])).await?;
        bed.settle().await?;
        assert_eq!(nodes(&bed.state()), ["n1", "n2", "n3", "n4"]);
        // The node goes, and with it what was wanted of it.
        bed.kill("node-n4");
        delete(&bed, Resource::NODES, "n4").await?;
        bed.settle().await?;
        assert_eq!(numbers(&bed).await?[0], 3);
        Ok(())
    });
}

#[test]
fn taints_and_labels_say_where() {
    play(true, |bed| async move {
        bed.settle().await?;
        taint(&bed, "n1", Some("NoSchedule")).await?;
        create(&bed, Resource::DAEMON_SETS, &daemon_set(json!({}))).await?;
        bed.settle().await?;
        assert_eq!(nodes(&bed.state()), ["n2", "n3"]);
        // A taint that keeps off leaves who is there; one that drives out does not.
        taint(&bed, "n2", Some("NoSchedule")).await?;
        taint(&bed, "n3", Some("NoExecute")).await?;
        bed.settle().await?;
        assert_eq!(nodes(&bed.state()), ["n2"]);
        assert_eq!(numbers(&bed).await?, [0, 0, 0, 0, 0, 0, 1]);
        for node in ["n1", "n2", "n3"] {
            taint(&bed, node, None).await?;
        }
        bed.settle().await?;
        assert_eq!(numbers(&bed).await?, [3, 3, 3, 3, 0, 3, 0]);
        let ssd = json!({"spec": {"template": {"spec": {"nodeSelector": {"disk": "ssd"}}}}});
        patch(&bed, Resource::DAEMON_SETS, "logs", ssd).await?;
        bed.settle().await?;
        assert!(nodes(&bed.state()).is_empty());
        patch(&bed, Resource::NODES, "n2", json!({"metadata": {"labels": {"disk": "ssd"}}})).await?;
        bed.settle().await?;
        assert_eq!(nodes(&bed.state()), ["n2"]);
        Ok(())
    });
}

#[test]
fn an_update_replaces_one_pod_at_a_time() {
    play(true, |bed| async move {
        create(&bed, Resource::DAEMON_SETS, &daemon_set(json!({"minReadySeconds": 5}))).await?;
        bed.settle().await?;
        let first = covered(&bed.state())["n1"][0].clone();
        patch(&bed, Resource::DAEMON_SETS, "logs", image("two")).await?;
        let mut fewest = 3;
        for _ in 0..200 {
            bed.wait(Duration::from_millis(500)).await;
            fewest = fewest.min(nodes(&bed.state()).len());
        }
        assert_eq!(fewest, 2, "one is away at a time");
        bed.settle().await?;
        assert_eq!(numbers(&bed).await?, [3, 3, 3, 3, 0, 3, 0]);
        let revisions: Vec<String> = covered(&bed.state()).into_values().flatten().collect();
        assert!(revisions.iter().all(|revision| *revision == revisions[0] && *revision != first));
        let records = list(&bed, Resource::REVISIONS).await?;
        assert_eq!(records.len(), 2);
        // Back to the first.
        let old = records.iter().find(|r| r["metadata"]["labels"][REVISION] == first.as_str()).unwrap();
        let undone =
            bed.objects().merge_lists::<Value>(Resource::DAEMON_SETS, "default", "logs", "", &old["data"]).await;
        undone.map_err(told)?;
        bed.settle().await?;
        let revisions: Vec<String> = covered(&bed.state()).into_values().flatten().collect();
        assert_eq!(revisions, [first.as_str(); 3]);
        let mut numbers: Vec<i64> =
            list(&bed, Resource::REVISIONS).await?.iter().filter_map(|record| record["revision"].as_i64()).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [2, 3]);
        Ok(())
    });
}

#[test]
fn an_update_by_surge_leaves_no_node_without() {
    play(true, |bed| async move {
        let rolling = json!({"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}});
        create(&bed, Resource::DAEMON_SETS, &daemon_set(json!({"updateStrategy": rolling}))).await?;
        bed.settle().await?;
        let first = covered(&bed.state())["n1"][0].clone();
        patch(&bed, Resource::DAEMON_SETS, "logs", image("two")).await?;
        for _ in 0..100 {
            bed.wait(Duration::from_millis(100)).await;
            assert_eq!(nodes(&bed.state()), ["n1", "n2", "n3"]);
        }
        bed.settle().await?;
        let after = covered(&bed.state());
        assert!(after.values().all(|pods| pods.len() == 1 && pods[0] != first), "{after:?}");
        assert_eq!(numbers(&bed).await?, [3, 3, 3, 3, 0, 3, 0]);
        Ok(())
    });
}

#[test]
fn on_delete_and_the_limit_of_revisions() {
    play(true, |bed| async move {
        let spec = json!({"updateStrategy": {"type": "OnDelete"}, "revisionHistoryLimit": 1});
        create(&bed, Resource::DAEMON_SETS, &daemon_set(spec)).await?;
        bed.settle().await?;
        let first = covered(&bed.state())["n1"][0].clone();
        for image_name in ["two", "three"] {
            patch(&bed, Resource::DAEMON_SETS, "logs", image(image_name)).await?;
            bed.settle().await?;
        }
        assert!(covered(&bed.state()).into_values().flatten().all(|revision| revision == first));
        assert_eq!(numbers(&bed).await?[5], 0, "none is updated");
        for name in bed.state().pods.values().map(|pod| text(&pod["metadata"]["name"]).to_owned()) {
            delete(&bed, Resource::PODS, &name).await?;
        }
        bed.settle().await?;
        assert_eq!(numbers(&bed).await?, [3, 3, 3, 3, 0, 3, 0]);
        assert_eq!(list(&bed, Resource::REVISIONS).await?.len(), 2, "the one in use and one before it");
        Ok(())
    });
}

/// Without it the set has nothing to go back to, and nothing else may happen to it for days.
#[test]
fn a_revision_that_somebody_deletes_is_made_again() {
    play(true, |bed| async move {
        create(&bed, Resource::DAEMON_SETS, &daemon_set(json!({}))).await?;
        bed.settle().await?;
        let records = list(&bed, Resource::REVISIONS).await?;
        let pods: Vec<String> = bed.state().pods.keys().cloned().collect();
        delete(&bed, Resource::REVISIONS, text(&records[0]["metadata"]["name"])).await?;
        bed.wait(Duration::from_secs(5)).await;
        let again = list(&bed, Resource::REVISIONS).await?;
        assert_eq!(again.len(), 1);
        assert_eq!(again[0]["metadata"]["name"], records[0]["metadata"]["name"]);
        assert_ne!(again[0]["metadata"]["uid"], records[0]["metadata"]["uid"]);
        bed.settle().await?;
        let now: Vec<String> = bed.state().pods.keys().cloned().collect();
        assert_eq!(now, pods, "their revision has the same name");
        Ok(())
    });
}

#[test]
fn a_failed_pod_is_replaced_with_patience() {
    play(true, |bed| async move {
        create(&bed, Resource::DAEMON_SETS, &daemon_set(json!({}))).await?;
        bed.settle().await?;
        let on_n1 = |bed: &Bed| bed.state().pods.values().find(|pod| pod["spec"]["nodeName"] == "n1").cloned();
        let mut replaced = Vec::new();
        for _ in 0..4 {
            let mut pod = (*on_n1(&bed).unwrap()).clone();
            pod["status"]["phase"] = json!("Failed");
            bed.objects().replace_status::<Value>(Resource::PODS, &pod).await.map_err(told)?;
            let begun = bed.clock().now();
            let next = loop {
                bed.wait(Duration::from_millis(100)).await;
                let next = on_n1(&bed).filter(|next| next["status"]["phase"] == "Running");
                if let Some(next) = next {
                    break next;
                }
            };
            assert_ne!(next["metadata"]["uid"], pod["metadata"]["uid"]);
            replaced.push(bed.clock().now().duration_since(begun).as_secs());
        }
        assert_eq!(replaced.len(), 4);
        assert!(replaced[0] < 4 && replaced[3] >= 3, "each waits longer than the one before: {replaced:?}");
        let said = said(&bed, "logs").await?;
        let found = |text: &str| said.iter().any(|event| event.starts_with(text));
        assert!(found("FailedDaemonPod: Found failed daemon pod default/logs-"), "{said:?}");
        Ok(())
    });
}

/// A kubelet that takes no pod: whatever comes to the node has failed at once. Returns who came.
fn refusing(bed: &Bed, node: &'static str) -> Arc<Mutex<BTreeSet<String>>> {
    let came = Arc::new(Mutex::new(BTreeSet::new()));
    let (cluster, seen) = (bed.clone(), came.clone());
    let refuser = Component::new("refuser", move |_| {
        let (bed, seen) = (cluster.clone(), seen.clone());
        async move {
            loop {
                tokio::time::sleep(Duration::from_millis(50)).await;
                let here = |pod: &&Arc<Value>| pod["spec"]["nodeName"] == node && pod["status"]["phase"] != "Failed";
                let pods: Vec<Arc<Value>> = bed.state().pods.values().filter(here).cloned().collect();
                for pod in pods {
                    seen.lock().unwrap().insert(text(&pod["metadata"]["uid"]).to_owned());
                    let failed = json!({"status": {"phase": "Failed", "reason": "OutOfpods"}});
                    let name = text(&pod["metadata"]["name"]);
                    let _ = bed.objects().merge::<Value>(Resource::PODS, "default", name, "status", &failed).await;
                }
            }
        }
    });
    bed.start(refuser.spared());
    came
}

#[test]
fn where_a_kubelet_refuses_pods_a_surge_has_patience_too() {
    play(true, |bed| async move {
        bed.settle().await?;
        let came = refusing(&bed, "n1");
        let rolling = json!({"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}});
        create(&bed, Resource::DAEMON_SETS, &daemon_set(json!({"updateStrategy": rolling}))).await?;
        bed.wait(Duration::from_secs(60)).await;
        let many = came.lock().unwrap().len();
        // After 1, 2, 4, 8, 16 and 32 seconds.
        assert!((5..=8).contains(&many), "{many} pods in a minute");
        let there = bed.state().pods.values().filter(|pod| pod["spec"]["nodeName"] == "n1").count();
        assert!(there <= 2, "{there} pods are there");
        assert_eq!(nodes(&bed.state()), ["n2", "n3"]);
        // An update has patience, too, and comes through where pods are taken.
        patch(&bed, Resource::DAEMON_SETS, "logs", image("two")).await?;
        bed.wait(Duration::from_secs(60)).await;
        let more = came.lock().unwrap().len() - many;
        assert!((1..=10).contains(&more), "{more} pods in a minute of the update");
        assert_eq!(numbers(&bed).await?[5], 3);
        Ok(())
    });
}
