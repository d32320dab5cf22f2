//! ReplicaSets and Deployments on simulated nodes, in virtual time.

#![allow(clippy::unwrap_used, reason = "a test: what is missing is a failure")]

mod common;
mod replicas;

use std::collections::BTreeMap;
use std::time::Duration;

use common::told;
use plimsoll_runtime::Resource;
use plimsoll_simulate::seeds::side_by_side;
use plimsoll_simulate::{Faults, Kind, Options, Report, Seeds, When};
use replicas::{
    DEPLOYMENT, REVISION, SET, calmly, condition, create, deployment, get, is_rolled_out, list, patch, play, pods,
    replica_set, resize, said, set_image, sets,
};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(5);

fn of(image: &str, count: usize) -> BTreeMap<String, usize> {
    BTreeMap::from([(image.to_owned(), count)])
}

fn row(image: &str, revision: &str, replicas: i64) -> (String, String, i64) {
    (image.to_owned(), revision.to_owned(), replicas)
}

#[test]
fn a_set_has_as_many_pods_as_asked_for() {
    calmly(1, |bed| async move {
        create(&bed, SET, replica_set("web", 5)).await?;
        bed.settle().await?;
        assert_eq!(pods(&bed), of("one", 5));
        let set = get(&bed, SET, "web").await;
        let status = json!({"replicas": 5, "fullyLabeledReplicas": 5, "readyReplicas": 5, "availableReplicas": 5,
            "terminatingReplicas": 0, "observedGeneration": 1});
        assert_eq!(set["status"], status);
        for pod in bed.state().pods.values() {
            let name = pod["metadata"]["name"].as_str().unwrap();
            assert!(name.starts_with("web-") && name.len() == "web-".len() + 5, "{name}");
            assert_eq!(pod["metadata"]["ownerReferences"][0]["uid"], set["metadata"]["uid"]);
        }
        resize(&bed, SET, "web", 2).await?;
        bed.wait(SOON).await;
        let set = get(&bed, SET, "web").await;
        assert_eq!((&set["status"]["replicas"], &set["status"]["terminatingReplicas"]), (&json!(2), &json!(3)));
        bed.settle().await?;
        assert_eq!(pods(&bed), of("one", 2));
        assert_eq!(get(&bed, SET, "web").await["status"]["terminatingReplicas"], 0);
        assert_eq!(said(&bed, "SuccessfulCreate").await.len(), 5);
        let deleted = said(&bed, "SuccessfulDelete").await;
        assert!(deleted.len() == 3 && deleted.iter().all(|text| text.starts_with("Deleted pod: web-")), "{deleted:?}");
        // What is deleted by hand comes back under another name, and none goes for it.
        let victim = bed.state().pods.values().next().unwrap()["metadata"]["name"].as_str().unwrap().to_owned();
        bed.objects().delete(Resource::PODS, "default", &victim, &Default::default()).await.map_err(told)?;
        bed.settle().await?;
        assert_eq!(pods(&bed), of("one", 2));
        assert!(!bed.state().pods.contains_key(&format!("default/{victim}")));
        assert_eq!(said(&bed, "SuccessfulDelete").await.len(), 3);
        Ok(())
    });
}

#[test]
fn a_set_adopts_what_matches_and_releases_what_no_longer_does() {
    calmly(2, |bed| async move {
        for (name, app) in [("orphan", "web"), ("stranger", "db")] {
            let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": app}},
                "spec": {"containers": [{"name": "c", "image": "by-hand"}]}});
            create(&bed, Resource::PODS, pod).await?;
        }
        create(&bed, SET, replica_set("web", 2)).await?;
        bed.settle().await?;
        let uid = get(&bed, SET, "web").await["metadata"]["uid"].clone();
        let owner = |pod: &Value| pod["metadata"]["ownerReferences"][0]["uid"].clone();
        assert_eq!(owner(&get(&bed, Resource::PODS, "orphan").await), uid);
        assert_eq!(owner(&get(&bed, Resource::PODS, "stranger").await), Value::Null);
        assert_eq!(pods(&bed), BTreeMap::from([("by-hand".to_owned(), 2), ("one".to_owned(), 1)]));
        // Its labels changed: it goes its own way, and another takes its place.
        patch(&bed, Resource::PODS, "orphan", json!({"metadata": {"labels": {"app": "free"}}})).await?;
        bed.settle().await?;
        assert_eq!(owner(&get(&bed, Resource::PODS, "orphan").await), Value::Null);
        assert_eq!(pods(&bed), BTreeMap::from([("by-hand".to_owned(), 2), ("one".to_owned(), 2)]));
        // And back: now there is one too many, and the stranger stays.
        patch(&bed, Resource::PODS, "orphan", json!({"metadata": {"labels": {"app": "web"}}})).await?;
        bed.settle().await?;
        let owned = bed.state().pods.values().filter(|pod| owner(pod) == uid).count();
        assert_eq!((owned, bed.state().pods.len()), (2, 3));
        Ok(())
    });
}

#[test]
fn a_pod_is_available_after_min_ready_seconds() {
    calmly(3, |bed| async move {
        let mut set = replica_set("web", 2);
        set["spec"]["minReadySeconds"] = json!(30);
        create(&bed, SET, set).await?;
        bed.wait(Duration::from_secs(20)).await;
        let status = get(&bed, SET, "web").await["status"].clone();
        assert_eq!((&status["readyReplicas"], &status["availableReplicas"]), (&json!(2), &Value::Null));
        bed.wait(Duration::from_secs(20)).await;
        assert_eq!(get(&bed, SET, "web").await["status"]["availableReplicas"], 2);
        Ok(())
    });
}

#[test]
fn pods_that_are_refused_are_told_of_until_they_are_not() {
    calmly(4, |bed| async move {
        let mut set = replica_set("web", 8);
        set["spec"]["template"]["spec"]["priorityClassName"] = json!("none");
        create(&bed, SET, set).await?;
        bed.wait(Duration::from_secs(30)).await;
        let set = get(&bed, SET, "web").await;
        let failure = condition(&set, "ReplicaFailure");
        assert_eq!((&failure["status"], &failure["reason"]), (&json!("True"), &json!("FailedCreate")));
        assert!(
            failure["message"].as_str().unwrap().contains("no PriorityClass with name none was found"),
            "{failure}"
        );
        let said = said(&bed, "FailedCreate").await;
        assert!(!said.is_empty() && said[0].starts_with("Error creating: pods \"web-\" is forbidden:"), "{said:?}");
        let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "none"},
            "value": 5});
        let path = "/apis/scheduling.k8s.io/v1/priorityclasses";
        bed.objects().send::<Value>(http::Method::POST, path, Some(&class)).await.map_err(told)?;
        bed.settle().await?;
        assert_eq!(pods(&bed), of("one", 8));
        assert!(condition(&get(&bed, SET, "web").await, "ReplicaFailure").is_null());
        Ok(())
    });
}

#[test]
fn a_replication_controller_is_a_set_too() {
    calmly(5, |bed| async move {
        let rc = json!({"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "web"},
            "spec": {"replicas": 3, "selector": {"app": "web"}, "template": replica_set("x", 1)["spec"]["template"]}});
        create(&bed, Resource::REPLICATION_CONTROLLERS, rc).await?;
        bed.settle().await?;
        assert_eq!(pods(&bed), of("one", 3));
        let status = get(&bed, Resource::REPLICATION_CONTROLLERS, "web").await["status"].clone();
        let wanted = json!({"replicas": 3, "fullyLabeledReplicas": 3, "readyReplicas": 3, "availableReplicas": 3,
            "observedGeneration": 1});
        assert_eq!(status, wanted);
        resize(&bed, Resource::REPLICATION_CONTROLLERS, "web", 0).await?;
        bed.settle().await?;
        assert!(bed.state().pods.is_empty());
        Ok(())
    });
}

#[test]
fn a_deployment_is_rolled_out_and_back() {
    calmly(6, |bed| async move {
        let mut first = deployment(4, "one");
        first["metadata"]["annotations"] = json!({"kubernetes.io/change-cause": "first"});
        create(&bed, DEPLOYMENT, first).await?;
        bed.settle().await?;
        let web = get(&bed, DEPLOYMENT, "web").await;
        assert!(is_rolled_out(&web), "{web:#}");
        assert_eq!(web["metadata"]["annotations"][REVISION], "1");
        let progress = condition(&web, "Progressing");
        let set = &list(&bed, SET).await[0];
        let name = set["metadata"]["name"].as_str().unwrap();
        assert_eq!(progress["reason"], "NewReplicaSetAvailable");
        assert_eq!(progress["message"], format!("ReplicaSet \"{name}\" has successfully progressed."));
        let available = condition(&web, "Available");
        assert_eq!(
            (&available["status"], &available["message"]),
            (&json!("True"), &json!("Deployment has minimum availability."))
        );
        let hash = set["metadata"]["labels"]["pod-template-hash"].as_str().unwrap();
        assert_eq!(name, format!("web-{hash}"));
        assert_eq!(set["spec"]["selector"], json!({"matchLabels": {"app": "web", "pod-template-hash": hash}}));
        assert_eq!(
            set["metadata"]["annotations"],
            json!({REVISION: "1", "deployment.kubernetes.io/desired-replicas": "4",
                   "deployment.kubernetes.io/max-replicas": "5", "kubernetes.io/change-cause": "first"})
        );
        assert_eq!(said(&bed, "ScalingReplicaSet").await, [format!("Scaled up replica set {name} from 0 to 4")]);

        set_image(&bed, "two").await?;
        bed.settle().await?;
        assert_eq!(sets(&bed).await, [row("one", "1", 0), row("two", "2", 4)]);
        assert_eq!(pods(&bed), of("two", 4));
        assert!(is_rolled_out(&get(&bed, DEPLOYMENT, "web").await));

        // `kubectl rollout undo` is the old template, and nothing else: the old set is the newest again.
        set_image(&bed, "one").await?;
        bed.settle().await?;
        assert_eq!(sets(&bed).await, [row("two", "2", 0), row("one", "3", 4)]);
        assert_eq!(pods(&bed), of("one", 4));
        let web = get(&bed, DEPLOYMENT, "web").await;
        assert_eq!(web["metadata"]["annotations"][REVISION], "3");
        let back = get(&bed, SET, name).await;
        assert_eq!(back["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"], "1");
        assert!(is_rolled_out(&web));
        let status = json!({"observedGeneration": web["metadata"]["generation"], "replicas": 4, "updatedReplicas": 4,
            "readyReplicas": 4, "availableReplicas": 4, "terminatingReplicas": 0, "conditions": web["status"]["conditions"]});
        assert_eq!(web["status"], status);
        Ok(())
    });
}

#[test]
fn a_rollout_keeps_within_its_limits() {
    for (surge, unavailable) in [(json!(1), json!(0)), (json!(0), json!(1)), (json!("50%"), json!("50%"))] {
        calmly(7, |bed| async move {
            let mut web = deployment(4, "one");
            web["spec"]["minReadySeconds"] = json!(5);
            let rule = json!({"maxSurge": surge, "maxUnavailable": unavailable});
            web["spec"]["strategy"] = json!({"type": "RollingUpdate", "rollingUpdate": rule});
            create(&bed, DEPLOYMENT, web).await?;
            bed.settle().await?;
            set_image(&bed, "two").await?;
            let share = |value: &Value| value.as_u64().unwrap_or(2) as usize;
            let (most, fewest) = (4 + share(&surge), 4 - share(&unavailable));
            let mut steps = 0;
            while !is_rolled_out(&get(&bed, DEPLOYMENT, "web").await) {
                let there: usize = pods(&bed).values().sum();
                let state = bed.state();
                let stays = state.pods.values().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null());
                let ready = stays.filter(|pod| condition(pod, "Ready")["status"] == "True").count();
                assert!(there <= most, "{there} of {most}");
                assert!(ready >= fewest, "fewer than {fewest} are ready");
                bed.wait(Duration::from_millis(200)).await;
                steps += 1;
                assert!(steps < 1000, "it does not end");
            }
            assert!(steps > 10, "it takes its time: {steps}");
            Ok(())
        });
    }
}

#[test]
fn recreate_waits_until_the_old_pods_are_gone() {
    calmly(8, |bed| async move {
        let mut web = deployment(3, "one");
        web["spec"]["strategy"] = json!({"type": "Recreate"});
        create(&bed, DEPLOYMENT, web).await?;
        bed.settle().await?;
        set_image(&bed, "two").await?;
        bed.wait(SOON).await;
        // Those on their way out are still there: nothing new may be.
        assert!(pods(&bed).is_empty() && bed.state().pods.len() == 3);
        assert_eq!(sets(&bed).await, [row("one", "1", 0)]);
        bed.settle().await?;
        assert_eq!(sets(&bed).await, [row("one", "1", 0), row("two", "2", 3)]);
        assert_eq!(pods(&bed), of("two", 3));
        assert!(is_rolled_out(&get(&bed, DEPLOYMENT, "web").await));
        Ok(())
    });
}

#[test]
fn a_rollout_that_cannot_come_up_keeps_the_old_pods_and_times_out() {
    calmly(9, |bed| async move {
        let mut web = deployment(4, "one");
        web["spec"]["progressDeadlineSeconds"] = json!(60);
        create(&bed, DEPLOYMENT, web).await?;
        bed.settle().await?;
        // No node is that large.
        let container = json!({"name": "c", "image": "huge", "resources": {"requests": {"cpu": "100"}}});
        let template = json!({"spec": {"containers": [container]}});
        patch(&bed, DEPLOYMENT, "web", json!({"spec": {"template": template}})).await?;
        bed.wait(Duration::from_secs(30)).await;
        assert_eq!(sets(&bed).await, [row("one", "1", 3), row("huge", "2", 2)]);
        let web = get(&bed, DEPLOYMENT, "web").await;
        assert_eq!(condition(&web, "Progressing")["status"], "True");
        bed.wait(Duration::from_secs(60)).await;
        let web = get(&bed, DEPLOYMENT, "web").await;
        let progress = condition(&web, "Progressing");
        assert_eq!((&progress["status"], &progress["reason"]), (&json!("False"), &json!("ProgressDeadlineExceeded")));
        assert_eq!(
            (&web["status"]["unavailableReplicas"], &web["status"]["availableReplicas"]),
            (&json!(2), &json!(3))
        );
        assert_eq!(condition(&web, "Available")["status"], "True", "a quarter may be missing");
        // Scaled in the middle of it: in proportion.
        resize(&bed, DEPLOYMENT, "web", 8).await?;
        bed.wait(SOON).await;
        assert_eq!(sets(&bed).await, [row("one", "1", 6), row("huge", "2", 4)]);
        // Rolled back: the old set has all again.
        patch(
            &bed,
            DEPLOYMENT,
            "web",
            json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "one"}]}}}}),
        )
        .await?;
        bed.settle().await?;
        assert_eq!(sets(&bed).await, [row("huge", "2", 0), row("one", "3", 8)]);
        assert!(is_rolled_out(&get(&bed, DEPLOYMENT, "web").await));
        Ok(())
    });
}

#[test]
fn a_paused_deployment_is_scaled_but_not_rolled_out() {
    calmly(10, |bed| async move {
        create(&bed, DEPLOYMENT, deployment(2, "one")).await?;
        bed.settle().await?;
        patch(&bed, DEPLOYMENT, "web", json!({"spec": {"paused": true}})).await?;
        set_image(&bed, "two").await?;
        resize(&bed, DEPLOYMENT, "web", 3).await?;
        bed.settle().await?;
        assert_eq!(sets(&bed).await, [row("one", "1", 3)]);
        let web = get(&bed, DEPLOYMENT, "web").await;
        let progress = condition(&web, "Progressing");
        assert_eq!((&progress["status"], &progress["reason"]), (&json!("Unknown"), &json!("DeploymentPaused")));
        assert!(web["status"]["updatedReplicas"].is_null());
        patch(&bed, DEPLOYMENT, "web", json!({"spec": {"paused": false}})).await?;
        bed.settle().await?;
        assert_eq!(sets(&bed).await, [row("one", "1", 0), row("two", "2", 3)]);
        assert!(is_rolled_out(&get(&bed, DEPLOYMENT, "web").await));
        Ok(())
    });
}

#[test]
fn history_is_kept_as_far_as_asked() {
    calmly(11, |bed| async move {
        let mut web = deployment(1, "one");
        web["spec"]["revisionHistoryLimit"] = json!(2);
        create(&bed, DEPLOYMENT, web).await?;
        for image in ["two", "three", "four", "five"] {
            bed.settle().await?;
            set_image(&bed, image).await?;
        }
        bed.settle().await?;
        assert_eq!(sets(&bed).await, [row("three", "3", 0), row("four", "4", 0), row("five", "5", 1)]);
        // To one that was forgotten: made anew.
        set_image(&bed, "one").await?;
        bed.settle().await?;
        assert_eq!(sets(&bed).await, [row("four", "4", 0), row("five", "5", 0), row("one", "6", 1)]);
        Ok(())
    });
}

#[test]
fn a_template_whose_name_is_taken_gets_another_one() {
    calmly(12, |bed| async move {
        create(&bed, DEPLOYMENT, deployment(1, "one")).await?;
        bed.settle().await?;
        let taken = list(&bed, SET).await[0]["metadata"]["name"].as_str().unwrap().to_owned();
        bed.objects().delete(DEPLOYMENT, "default", "web", &Default::default()).await.map_err(told)?;
        bed.settle().await?;
        assert!(list(&bed, SET).await.is_empty() && bed.state().pods.is_empty(), "what it owned is gone with it");
        // Somebody else's set has the name that the template leads to.
        let mut other = replica_set(&taken, 0);
        let labels = json!({"app": "other"});
        other["spec"]["selector"]["matchLabels"] = labels.clone();
        other["spec"]["template"]["metadata"]["labels"] = labels;
        create(&bed, SET, other).await?;
        create(&bed, DEPLOYMENT, deployment(1, "one")).await?;
        bed.settle().await?;
        let web = get(&bed, DEPLOYMENT, "web").await;
        assert_eq!(web["status"]["collisionCount"], 1);
        assert!(is_rolled_out(&web));
        assert_eq!(list(&bed, SET).await.len(), 2);
        Ok(())
    });
}

/// Whoever may annotate a set can write such a revision.
#[test]
fn a_revision_beyond_all_numbers_does_no_harm() {
    calmly(31, |bed| async move {
        create(&bed, DEPLOYMENT, deployment(2, "one")).await?;
        bed.settle().await?;
        let old = list(&bed, SET).await[0]["metadata"]["name"].as_str().unwrap().to_owned();
        patch(&bed, SET, &old, json!({"metadata": {"annotations": {REVISION: i64::MAX.to_string()}}})).await?;
        set_image(&bed, "two").await?;
        bed.settle().await?;
        assert_eq!(pods(&bed), of("two", 2));
        assert!(is_rolled_out(&get(&bed, DEPLOYMENT, "web").await));
        Ok(())
    });
}

#[test]
fn a_deployment_whose_children_stay_takes_them_back() {
    calmly(13, |bed| async move {
        create(&bed, DEPLOYMENT, deployment(2, "one")).await?;
        bed.settle().await?;
        let path = DEPLOYMENT.path("default", "web");
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Orphan"});
        bed.objects().send::<Value>(http::Method::DELETE, &path, Some(&options)).await.map_err(told)?;
        bed.settle().await?;
        let before: Vec<String> = bed.state().pods.keys().cloned().collect();
        assert_eq!(before.len(), 2);
        create(&bed, DEPLOYMENT, deployment(2, "one")).await?;
        bed.settle().await?;
        assert_eq!(bed.state().pods.keys().cloned().collect::<Vec<_>>(), before, "none is made anew");
        let (web, sets) = (get(&bed, DEPLOYMENT, "web").await, list(&bed, SET).await);
        assert_eq!(sets.len(), 1);
        assert_eq!(sets[0]["metadata"]["ownerReferences"][0]["uid"], web["metadata"]["uid"]);
        assert!(is_rolled_out(&web));
        Ok(())
    });
}

#[test]
fn the_annotation_of_old_rolls_back_too() {
    calmly(14, |bed| async move {
        create(&bed, DEPLOYMENT, deployment(1, "one")).await?;
        bed.settle().await?;
        set_image(&bed, "two").await?;
        bed.settle().await?;
        let wish =
            |revision: &str| json!({"metadata": {"annotations": {"deprecated.deployment.rollback.to": revision}}});
        patch(&bed, DEPLOYMENT, "web", wish("7")).await?;
        bed.settle().await?;
        assert_eq!(
            said(&bed, "DeploymentRollbackRevisionNotFound").await,
            ["Unable to find the revision to rollback to."]
        );
        assert_eq!(sets(&bed).await, [row("one", "1", 0), row("two", "2", 1)]);
        patch(&bed, DEPLOYMENT, "web", wish("0")).await?;
        bed.settle().await?;
        assert_eq!(sets(&bed).await, [row("two", "2", 0), row("one", "3", 1)]);
        assert_eq!(said(&bed, "DeploymentRollback").await, ["Rolled back deployment \"web\" to revision 1"]);
        Ok(())
    });
}

#[test]
fn a_deployment_goes_with_all_that_is_its() {
    for policy in ["Background", "Foreground"] {
        calmly(15, |bed| async move {
            create(&bed, DEPLOYMENT, deployment(2, "one")).await?;
            bed.settle().await?;
            set_image(&bed, "two").await?;
            bed.settle().await?;
            let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy});
            let path = DEPLOYMENT.path("default", "web");
            bed.objects().send::<Value>(http::Method::DELETE, &path, Some(&options)).await.map_err(told)?;
            bed.wait(SOON).await;
            // The owner goes last where that is asked for, and makes nothing anew until then.
            assert_eq!(get(&bed, DEPLOYMENT, "web").await.is_null(), policy == "Background");
            assert!(pods(&bed).is_empty(), "{policy}");
            bed.settle().await?;
            assert!(get(&bed, DEPLOYMENT, "web").await.is_null() && list(&bed, SET).await.is_empty(), "{policy}");
            assert!(bed.state().pods.is_empty(), "{policy}");
            Ok(())
        });
    }
}

#[test]
fn lost_answers_leave_no_pod_too_many() {
    for seed in 0..20 {
        let faults =
            Faults::none().with(Kind::LostAnswer, 0.5).with(Kind::WatchDelay, 0.5).until(Duration::from_secs(40));
        let report = play(Options::new(seed).faults(faults), |bed| async move {
            create(&bed, SET, replica_set("web", 6)).await?;
            bed.wait(Duration::from_secs(20)).await;
            resize(&bed, SET, "web", 3).await?;
            bed.settle().await?;
            assert_eq!(pods(&bed), of("one", 3));
            assert_eq!(get(&bed, SET, "web").await["status"]["readyReplicas"], 3);
            Ok(())
        });
        assert_eq!(report.outcome, Ok(()), "seed {seed}: {}", report.trace);
        assert!(report.trace.faults() > 0, "seed {seed}: nothing went wrong");
    }
}

/// A rollout, a change of size in the middle of another, and back again; each step begun when the cluster is at rest.
fn story(options: Options) -> Report {
    play(options, |bed| async move {
        create(&bed, DEPLOYMENT, deployment(2, "one")).await?;
        bed.settle().await?;
        set_image(&bed, "two").await?;
        bed.settle().await?;
        resize(&bed, DEPLOYMENT, "web", 3).await?;
        bed.settle().await?;
        set_image(&bed, "one").await?;
        bed.settle().await?;
        assert_eq!(pods(&bed), of("one", 3));
        assert!(is_rolled_out(&get(&bed, DEPLOYMENT, "web").await));
        Ok(())
    })
}

/// The end of a run without what chance decides: uids, times, versions, the names of pods, and how many steps it took.
fn end(report: &Report) -> BTreeMap<String, Value> {
    let mut out = BTreeMap::new();
    for line in report.dump.lines() {
        let mut parts = line.splitn(3, ' ');
        let (resource, path, text) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap_or_default());
        if !matches!(resource, "apps/deployments" | "apps/replicasets" | "pods") {
            continue;
        }
        let mut object: Value = serde_json::from_str(text).unwrap();
        if resource == "pods" {
            let image = object["spec"]["containers"][0]["image"].as_str().unwrap();
            let phase = object["status"]["phase"].as_str().unwrap();
            let count = out.entry(format!("pods of {image}, {phase}")).or_insert_with(|| json!(0));
            *count = json!(count.as_u64().unwrap() + 1);
            continue;
        }
        let meta = object["metadata"].as_object_mut().unwrap();
        for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "ownerReferences"] {
            meta.remove(field);
        }
        let status = object["status"].as_object_mut().unwrap();
        status.remove("observedGeneration");
        if let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut) {
            conditions.sort_by_key(|condition| condition["type"].as_str().unwrap_or_default().to_owned());
            for condition in conditions {
                condition["lastTransitionTime"] = json!("<time>");
                condition["lastUpdateTime"] = json!("<time>");
            }
        }
        out.insert(format!("{resource} {path}"), object);
    }
    out
}

#[test]
fn killed_at_every_write_a_rollout_ends_as_if_its_controller_had_lived() {
    // Longer than the longest wait for another try, and no longer: there are some hundred runs.
    let options = || Options::new(21).quiet(Duration::from_secs(70));
    let calm = story(options());
    assert_eq!(calm.outcome, Ok(()), "{}", calm.trace);
    let (writes, wanted) = (calm.writes["workloads"], end(&calm));
    assert!(writes > 20 && wanted.len() == 4, "{writes} {wanted:#?}");
    let deaths: Vec<(u64, When)> =
        (0..writes).flat_map(|write| [When::Before, When::After].map(|when| (write, when))).collect();
    let failures = std::sync::Mutex::new(Vec::new());
    side_by_side(deaths.len() as u64, |i| {
        let (write, when) = deaths[i as usize];
        let report = story(options().faults(Faults::none().kill("workloads", write, when)));
        let ended = end(&report);
        let well = report.outcome == Ok(()) && report.trace.faults() == 1 && ended == wanted;
        if !well {
            let (outcome, trace) = (report.outcome, report.trace);
            let account = format!("killed {when:?} write {write}: {outcome:?}\n{ended:#?}\n{wanted:#?}\n{trace}");
            failures.lock().unwrap().push(account);
        }
        well
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    eprintln!("{} deaths", deaths.len());
}

#[test]
fn fifty_seeds_of_faults_end_at_the_same_place() {
    let wanted = end(&story(Options::new(21)));
    let name = "fifty_seeds_of_faults_end_at_the_same_place";
    let summary = Seeds::new("workloads_replicas", name, 50).check(|options| {
        let mut report = story(options);
        if report.outcome == Ok(()) && end(&report) != wanted {
            report.outcome = Err(format!("another end: {:#?}", end(&report)));
        }
        report
    });
    eprintln!("{summary:?}");
}
