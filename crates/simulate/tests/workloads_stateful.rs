//! StatefulSets and DaemonSets on a simulated cluster, in virtual time.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test: what is missing is a failure")]

#[path = "workloads_stateful/cast.rs"]
mod cast;
#[path = "workloads_stateful/daemons.rs"]
mod daemons;
#[path = "workloads_stateful/faults.rs"]
mod faults;

use std::future::Future;
use std::time::Duration;

use cast::{
    Begun, REVISION, claims, create, delete, get, must, names, patch, running, said, scale, stateful_set, text,
};
use plimsoll_runtime::Resource;
use plimsoll_simulate::{Bed, Options, bed};
use serde_json::{Value, json};

/// Nothing here waits longer than this on its own.
const QUIET: Duration = Duration::from_secs(70);

/// Plays a scenario on three nodes, without faults.
fn play<F, W>(in_order: bool, scenario: F)
where
    F: FnOnce(Bed) -> W,
    W: Future<Output = Result<(), String>>,
{
    let folder = cast::folder();
    let options = Options::new(5).invariants(vec![Box::new(Begun { in_order })]).quiet(QUIET);
    let report = bed::run(options, |bed| async move {
        cast::begin(&bed, &folder, &["n1", "n2", "n3"]).await?;
        scenario(bed).await
    });
    assert_eq!(report.outcome, Ok(()), "{}", report.trace.tail(80));
}

async fn status(bed: &Bed) -> Result<Value, String> {
    Ok(get(bed, Resource::STATEFUL_SETS, "web").await?["status"].clone())
}

#[test]
fn pods_begin_one_after_the_other_with_their_claims() {
    play(true, |bed| async move {
        create(&bed, Resource::STATEFUL_SETS, &stateful_set(3, json!({}))).await?;
        bed.settle().await?;
        assert_eq!(names(&bed.state()), ["web-0", "web-1", "web-2"]);
        let pod = bed.state().pods["default/web-1"].clone();
        let labels = &pod["metadata"]["labels"];
        assert_eq!(labels["statefulset.kubernetes.io/pod-name"], "web-1");
        assert_eq!(labels["apps.kubernetes.io/pod-index"], "1");
        assert_eq!((&pod["spec"]["hostname"], &pod["spec"]["subdomain"]), (&json!("web-1"), &json!("web")));
        let claim = &bed.state().claims["default/data-web-1"];
        assert_eq!(claim["metadata"]["labels"], json!({"app": "web"}));
        assert_eq!(claim["status"]["phase"], "Bound");
        let status = status(&bed).await?;
        let revision = text(&labels[REVISION]);
        let wanted = json!({"replicas": 3, "readyReplicas": 3, "availableReplicas": 3, "currentReplicas": 3,
            "updatedReplicas": 3, "currentRevision": revision, "updateRevision": revision, "collisionCount": 0,
            "observedGeneration": 1});
        assert_eq!(status, wanted);
        let revisions = cast::list(&bed, Resource::REVISIONS).await?;
        assert_eq!(revisions.len(), 1);
        let (record, hash) =
            (&revisions[0], text(&revisions[0]["metadata"]["labels"]["controller.kubernetes.io/hash"]));
        assert_eq!((text(&record["metadata"]["name"]), &record["revision"]), (&*format!("web-{hash}"), &json!(1)));
        assert_eq!(record["data"]["spec"]["template"]["$patch"], "replace");
        let said = said(&bed, "web").await?;
        for what in [
            "SuccessfulCreate: Create Claim data-web-0 Pod web-0 in StatefulSet web success",
            "SuccessfulCreate: Create Pod web-2 in StatefulSet web successful",
        ] {
            assert!(said.iter().any(|event| event == what), "{what}: {said:#?}");
        }
        Ok(())
    });
}

#[test]
fn all_at_once_nobody_waits_for_the_one_before() {
    play(false, |bed| async move {
        let set = stateful_set(
            4,
            json!({"podManagementPolicy": "Parallel", "ordinals": {"start": 3}, "minReadySeconds": 60}),
        );
        create(&bed, Resource::STATEFUL_SETS, &set).await?;
        // In order, the second would wait a minute for the first to be available.
        bed.wait(Duration::from_secs(5)).await;
        let made: Vec<String> = bed.state().pods.keys().cloned().collect();
        assert_eq!(made, ["default/web-3", "default/web-4", "default/web-5", "default/web-6"]);
        bed.settle().await?;
        assert_eq!(names(&bed.state()), ["web-3", "web-4", "web-5", "web-6"]);
        scale(&bed, 1).await?;
        bed.settle().await?;
        assert_eq!(names(&bed.state()), ["web-3"]);
        Ok(())
    });
}

#[test]
fn scaled_down_and_up_again_a_pod_finds_its_volume() {
    play(true, |bed| async move {
        create(&bed, Resource::STATEFUL_SETS, &stateful_set(3, json!({}))).await?;
        bed.settle().await?;
        let before = claims(&bed.state());
        let place = |bed: &Bed| bed.state().pods["default/web-2"]["spec"]["nodeName"].clone();
        let node = place(&bed);
        scale(&bed, 1).await?;
        bed.settle().await?;
        assert_eq!(names(&bed.state()), ["web-0"]);
        assert_eq!(claims(&bed.state()), before, "claims outlive their pods");
        scale(&bed, 3).await?;
        bed.settle().await?;
        assert_eq!(names(&bed.state()), ["web-0", "web-1", "web-2"]);
        assert_eq!((claims(&bed.state()), place(&bed)), (before, node));
        assert_eq!(status(&bed).await?["readyReplicas"], 3);
        Ok(())
    });
}

#[test]
fn an_update_stops_at_its_partition_and_goes_back() {
    play(true, |bed| async move {
        let rolling = |partition: u32| json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": partition}}}});
        create(&bed, Resource::STATEFUL_SETS, &stateful_set(3, rolling(2)["spec"].clone())).await?;
        bed.settle().await?;
        let first = text(&status(&bed).await?["currentRevision"]).to_owned();
        patch(&bed, Resource::STATEFUL_SETS, "web", cast::image("two")).await?;
        bed.settle().await?;
        let said = status(&bed).await?;
        let second = text(&said["updateRevision"]).to_owned();
        assert_ne!(first, second);
        let revisions = |bed: &Bed| running(&bed.state(), REVISION).into_iter().map(|(_, r)| r).collect::<Vec<_>>();
        assert_eq!(revisions(&bed), [first.clone(), first.clone(), second.clone()]);
        assert_eq!((&said["currentReplicas"], &said["updatedReplicas"]), (&json!(2), &json!(1)));
        assert_eq!(said["currentRevision"], first.as_str());
        // One below the partition that is lost comes back as it was.
        delete(&bed, Resource::PODS, "web-0").await?;
        bed.settle().await?;
        assert_eq!(revisions(&bed), [first.clone(), first.clone(), second.clone()]);
        patch(&bed, Resource::STATEFUL_SETS, "web", rolling(0)).await?;
        bed.settle().await?;
        assert_eq!(revisions(&bed), [second.as_str(); 3]);
        let said = status(&bed).await?;
        assert_eq!((&said["currentRevision"], &said["currentReplicas"]), (&json!(second), &json!(3)));
        // As `kubectl rollout undo` does: the older revision's patch. It becomes the newest, and no other is made.
        let record = get(&bed, Resource::REVISIONS, &first).await?;
        let objects = bed.objects();
        let undone = objects.merge_lists::<Value>(Resource::STATEFUL_SETS, "default", "web", "", &record["data"]).await;
        undone.map_err(cast::told)?;
        bed.settle().await?;
        assert_eq!(revisions(&bed), [first.as_str(); 3]);
        let mut numbers: Vec<(String, i64)> = Vec::new();
        for record in cast::list(&bed, Resource::REVISIONS).await? {
            numbers.push((text(&record["metadata"]["name"]).to_owned(), record["revision"].as_i64().unwrap_or(0)));
        }
        numbers.sort_by_key(|(_, number)| *number);
        assert_eq!(numbers, [(second, 2), (first, 3)]);
        Ok(())
    });
}

#[test]
fn old_revisions_go_beyond_the_limit() {
    play(true, |bed| async move {
        create(&bed, Resource::STATEFUL_SETS, &stateful_set(1, json!({"revisionHistoryLimit": 1}))).await?;
        bed.settle().await?;
        for image in ["two", "three", "four"] {
            patch(&bed, Resource::STATEFUL_SETS, "web", cast::image(image)).await?;
            bed.settle().await?;
        }
        let records = cast::list(&bed, Resource::REVISIONS).await?;
        let mut numbers: Vec<i64> = records.iter().filter_map(|record| record["revision"].as_i64()).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [3, 4], "the one in use and one before it");
        Ok(())
    });
}

#[test]
fn on_delete_waits_for_somebody_to_delete() {
    play(true, |bed| async move {
        let set = stateful_set(2, json!({"updateStrategy": {"type": "OnDelete"}, "minReadySeconds": 20}));
        create(&bed, Resource::STATEFUL_SETS, &set).await?;
        bed.settle().await?;
        let first = text(&status(&bed).await?["updateRevision"]).to_owned();
        patch(&bed, Resource::STATEFUL_SETS, "web", cast::image("two")).await?;
        bed.settle().await?;
        let second = text(&status(&bed).await?["updateRevision"]).to_owned();
        delete(&bed, Resource::PODS, "web-0").await?;
        bed.wait(Duration::from_secs(10)).await;
        let said = status(&bed).await?;
        assert_eq!((&said["readyReplicas"], &said["availableReplicas"]), (&json!(2), &json!(1)), "not for long enough");
        bed.settle().await?;
        let all = running(&bed.state(), REVISION);
        assert_eq!(all, [("web-0".to_owned(), second), ("web-1".to_owned(), first)]);
        assert_eq!(status(&bed).await?["availableReplicas"], 2);
        Ok(())
    });
}

#[test]
fn a_pod_that_ended_is_replaced() {
    play(true, |bed| async move {
        create(&bed, Resource::STATEFUL_SETS, &stateful_set(2, json!({}))).await?;
        bed.settle().await?;
        let uid = |bed: &Bed| text(&bed.state().pods["default/web-1"]["metadata"]["uid"]).to_owned();
        for phase in ["Failed", "Succeeded"] {
            let before = uid(&bed);
            let mut pod = get(&bed, Resource::PODS, "web-1").await?;
            pod["status"]["phase"] = json!(phase);
            bed.objects().replace_status::<Value>(Resource::PODS, &pod).await.map_err(cast::told)?;
            bed.settle().await?;
            must(uid(&bed) != before, || format!("web-1 {phase} and stayed"))?;
            assert_eq!(names(&bed.state()), ["web-0", "web-1"]);
        }
        Ok(())
    });
}

#[test]
fn claims_go_when_the_policy_says_so() {
    // When scaled, when deleted; the claims left after scaling to one, and after deleting the set.
    for (scaled, deleted, after_scaling, after_deletion) in [
        ("Retain", "Retain", vec!["data-web-0", "data-web-1"], vec!["data-web-0", "data-web-1"]),
        ("Retain", "Delete", vec!["data-web-0", "data-web-1"], vec![]),
        ("Delete", "Retain", vec!["data-web-0"], vec!["data-web-0"]),
        ("Delete", "Delete", vec!["data-web-0"], vec![]),
    ] {
        play(true, |bed| async move {
            let left = |bed: &Bed| claims(&bed.state()).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
            let policy = json!({"whenScaled": scaled, "whenDeleted": deleted});
            let set = stateful_set(2, json!({"persistentVolumeClaimRetentionPolicy": policy}));
            create(&bed, Resource::STATEFUL_SETS, &set).await?;
            bed.settle().await?;
            assert_eq!(left(&bed), ["data-web-0", "data-web-1"]);
            // A pod that is lost takes no claim with it.
            delete(&bed, Resource::PODS, "web-1").await?;
            bed.settle().await?;
            let before = claims(&bed.state());
            scale(&bed, 1).await?;
            bed.settle().await?;
            assert_eq!(left(&bed), after_scaling, "{scaled}, {deleted}");
            // A new pod waits for its predecessor's claim to go, and has one of its own then.
            scale(&bed, 2).await?;
            bed.settle().await?;
            assert_eq!(names(&bed.state()), ["web-0", "web-1"]);
            assert_eq!(claims(&bed.state()) == before, scaled == "Retain");
            scale(&bed, 1).await?;
            bed.settle().await?;
            delete(&bed, Resource::STATEFUL_SETS, "web").await?;
            bed.settle().await?;
            assert_eq!(names(&bed.state()), Vec::<String>::new());
            assert_eq!(left(&bed), after_deletion, "{scaled}, {deleted}");
            Ok(())
        });
    }
}

#[test]
fn claims_of_others_are_left_to_them() {
    play(true, |bed| async move {
        let owner =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "keeper", "namespace": "default"}});
        let path = "/api/v1/namespaces/default/configmaps";
        let keeper: Value = bed.objects().send(http::Method::POST, path, Some(&owner)).await.map_err(cast::told)?;
        let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "keeper", "uid": keeper["metadata"]["uid"],
            "controller": true});
        let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data-web-0", "namespace": "default", "ownerReferences": [reference]},
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "local",
                     "resources": {"requests": {"storage": "1Gi"}}}});
        create(&bed, Resource::CLAIMS, &claim).await?;
        let policy = json!({"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete", "whenDeleted": "Delete"}});
        create(&bed, Resource::STATEFUL_SETS, &stateful_set(1, policy)).await?;
        bed.settle().await?;
        let owners = bed.state().claims["default/data-web-0"]["metadata"]["ownerReferences"].clone();
        assert_eq!(owners, json!([reference]));
        let said = said(&bed, "web").await?;
        assert!(
            said.iter().any(|event| event.starts_with("ConflictingController: PersistentVolumeClaim data-web-0 ")),
            "{said:?}"
        );
        Ok(())
    });
}

#[test]
fn an_orphan_is_taken_back_and_a_stranger_is_not() {
    play(true, |bed| async move {
        create(&bed, Resource::STATEFUL_SETS, &stateful_set(2, json!({}))).await?;
        bed.settle().await?;
        let before = bed.state().pods["default/web-1"]["metadata"]["uid"].clone();
        // As `kubectl delete --cascade=orphan` leaves them, and another set of the name then finds them.
        let path = Resource::STATEFUL_SETS.path("default", "web");
        let orphan = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Orphan"});
        bed.objects().send::<Value>(http::Method::DELETE, &path, Some(&orphan)).await.map_err(cast::told)?;
        bed.settle().await?;
        assert!(bed.state().pods["default/web-1"]["metadata"]["ownerReferences"].is_null());
        let stranger = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "web-x", "namespace": "default", "labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]}});
        create(&bed, Resource::PODS, &stranger).await?;
        create(&bed, Resource::STATEFUL_SETS, &stateful_set(2, json!({}))).await?;
        bed.settle().await?;
        let state = bed.state();
        assert_eq!(state.pods["default/web-1"]["metadata"]["uid"], before, "the same pod");
        let set = get(&bed, Resource::STATEFUL_SETS, "web").await?;
        for pod in ["web-0", "web-1"] {
            assert_eq!(
                state.pods[&format!("default/{pod}")]["metadata"]["ownerReferences"][0]["uid"],
                set["metadata"]["uid"]
            );
        }
        assert!(state.pods["default/web-x"]["metadata"]["ownerReferences"].is_null());
        let records = cast::list(&bed, Resource::REVISIONS).await?;
        assert_eq!(records.len(), 1, "the revision is taken back, too");
        assert_eq!(set["status"]["readyReplicas"], 2);
        Ok(())
    });
}

#[test]
fn on_a_node_that_is_drained_a_pod_waits_for_its_volume() {
    play(true, |bed| async move {
        create(&bed, Resource::STATEFUL_SETS, &stateful_set(2, json!({}))).await?;
        bed.settle().await?;
        let node = text(&bed.state().pods["default/web-1"]["spec"]["nodeName"]).to_owned();
        let cordon = |on: bool| json!({"spec": {"unschedulable": on}});
        patch(&bed, Resource::NODES, &node, cordon(true)).await?;
        delete(&bed, Resource::PODS, "web-1").await?;
        bed.settle().await?;
        let pod = bed.state().pods["default/web-1"].clone();
        assert_eq!((text(&pod["status"]["phase"]), &pod["spec"]["nodeName"]), ("Pending", &Value::Null));
        assert_eq!(status(&bed).await?["readyReplicas"], 1);
        patch(&bed, Resource::NODES, &node, cordon(false)).await?;
        bed.settle().await?;
        assert_eq!(bed.state().pods["default/web-1"]["spec"]["nodeName"], node.as_str());
        assert_eq!(names(&bed.state()), ["web-0", "web-1"]);
        Ok(())
    });
}

#[test]
fn what_a_lost_node_had_begins_elsewhere_where_it_can() {
    play(true, |bed| async move {
        let mut set = stateful_set(2, json!({}));
        set["spec"].as_object_mut().map(|spec| spec.remove("volumeClaimTemplates"));
        set["metadata"]["name"] = json!("free");
        create(&bed, Resource::STATEFUL_SETS, &set).await?;
        bed.settle().await?;
        let before = bed.state().pods["default/free-1"].clone();
        let node = text(&before["spec"]["nodeName"]).to_owned();
        bed.kill(&format!("node-{node}"));
        delete(&bed, Resource::NODES, &node).await?;
        delete(&bed, Resource::PODS, "free-1").await?;
        bed.wait(Duration::from_secs(60)).await;
        // Nobody can say that it has ended, so that no other may begin.
        assert_eq!(bed.state().pods["default/free-1"]["metadata"]["uid"], before["metadata"]["uid"]);
        let at_once = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
        let path = Resource::PODS.path("default", "free-1");
        bed.objects().send::<Value>(http::Method::DELETE, &path, Some(&at_once)).await.map_err(cast::told)?;
        bed.settle().await?;
        let after = bed.state().pods["default/free-1"].clone();
        assert_eq!(after["status"]["phase"], "Running");
        assert_ne!(after["spec"]["nodeName"], node.as_str());
        Ok(())
    });
}

/// To see to the claims of a pod that waits, and to mend it, is two writes to one claim: beside each other, one would fail.
#[test]
fn all_at_once_each_pod_is_seen_to_by_one_step_after_the_other() {
    play(false, |bed| async move {
        let nowhere = json!({"spec": {"nodeSelector": {"there": "is-none"}}});
        let spec = json!({"podManagementPolicy": "Parallel", "template": nowhere});
        create(&bed, Resource::STATEFUL_SETS, &stateful_set(8, spec)).await?;
        bed.wait(Duration::from_secs(10)).await;
        let policy = json!({"spec": {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}}});
        patch(&bed, Resource::STATEFUL_SETS, "web", policy).await?;
        bed.wait(Duration::from_secs(10)).await;
        let owned = |claim: &Value| claim["metadata"]["ownerReferences"][0]["kind"] == "StatefulSet";
        assert_eq!(bed.state().claims.values().filter(|claim| owned(claim)).count(), 8);
        let said = said(&bed, "web").await?;
        let failed: Vec<&String> = said.iter().filter(|event| event.starts_with("Failed")).collect();
        assert!(failed.is_empty(), "{failed:#?}");
        Ok(())
    });
}
