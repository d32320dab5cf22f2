//! What becomes of pods on a simulated node: they run, end, crash, are stopped, and are found again.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test: what is missing is a failure")]

mod common;

use std::time::Duration;

use common::pods::{container, found, patch, phase, pod, seconds, times, told_of, well};
use common::{create, told};
use plimsoll_runtime::Resource;
use plimsoll_simulate::{Bed, Faults, Fleet, Machine, Options, When, bed};
use serde_json::{Value, json};

fn a() -> plimsoll_simulate::Component {
    Machine::new("a").component()
}

async fn delete(bed: &Bed, name: &str) -> Result<(), String> {
    bed.objects().delete(Resource::PODS, "default", name, &Default::default()).await.map_err(told)
}

#[test]
fn a_pod_runs_with_what_a_kubelet_writes() {
    well(&bed::run(Options::new(1), |bed| async move {
        bed.start(a());
        let mut one = pod("one", "Always", json!({}));
        one["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "100m"}});
        create(&bed, Resource::PODS, &one).await?;
        create(&bed, Resource::PODS, &pod("two", "Always", json!({}))).await?;
        bed.settle().await?;
        let (one, two) = (found(&bed, "one").unwrap(), found(&bed, "two").unwrap());
        let status = &one["status"];
        assert_eq!(status["phase"], "Running");
        assert_ne!(status["podIP"], two["status"]["podIP"]);
        assert_eq!(status["podIPs"][0]["ip"], status["podIP"]);
        assert!(status["podIP"].as_str().unwrap().starts_with("10."));
        assert!(status["hostIP"].as_str().unwrap().starts_with("172.18."));
        assert_eq!(status["qosClass"], "Burstable");
        let container = &status["containerStatuses"][0];
        assert!(container["containerID"].as_str().unwrap().starts_with("simulated://"));
        assert_eq!(container["allocatedResources"], json!({"cpu": "100m"}));
        for condition in ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"] {
            let all = status["conditions"].as_array().unwrap();
            let found = all.iter().find(|c| c["type"] == condition).expect(condition);
            assert_eq!(found["status"], "True", "{condition}");
        }
        let events: Vec<(String, String)> =
            told_of(&bed, "one").await.into_iter().map(|(reason, message, _)| (reason, message)).collect();
        let pulled = "Container image \"i\" already present on machine and can be accessed by the pod";
        for (reason, message) in
            [("Pulled", pulled), ("Created", "Container created"), ("Started", "Container started")]
        {
            assert!(events.contains(&(reason.to_owned(), message.to_owned())), "{events:?}");
        }
        assert_eq!(events.len(), 3);
        Ok(())
    }));
}

#[test]
fn events_are_told_from_the_node_and_of_the_container() {
    well(&bed::run(Options::new(1), |bed| async move {
        bed.start(a());
        create(&bed, Resource::PODS, &pod("one", "Always", json!({}))).await?;
        bed.settle().await?;
        let request = http::Request::get("/api/v1/events").body(Vec::new()).unwrap();
        let list: Value = serde_json::from_str(&bed.client().request_text(request).await.map_err(|e| e.to_string())?)
            .map_err(|e| e.to_string())?;
        let started = list["items"].as_array().unwrap().iter().find(|event| event["reason"] == "Started").unwrap();
        assert_eq!(started["source"], json!({"component": "kubelet", "host": "a"}));
        assert_eq!(started["involvedObject"]["fieldPath"], "spec.containers{c}");
        assert_eq!(started["reportingInstance"], "a");
        Ok(())
    }));
}

#[test]
fn work_runs_for_a_second_and_is_done() {
    well(&bed::run(Options::new(2), |bed| async move {
        bed.start(a());
        seconds(&bed, 1).await;
        create(&bed, Resource::PODS, &pod("job", "Never", json!({}))).await?;
        create(&bed, Resource::PODS, &pod("bad", "Never", json!({"simulate.plimsoll.dev/exit-code": "7"}))).await?;
        bed.wait(Duration::from_millis(900)).await;
        assert_eq!(phase(&bed, "job"), "Running");
        bed.settle().await?;
        assert_eq!((phase(&bed, "job").as_str(), phase(&bed, "bad").as_str()), ("Succeeded", "Failed"));
        assert_eq!(container(&bed, "bad")["state"]["terminated"]["exitCode"], 7);
        let job = found(&bed, "job").unwrap();
        let ready = job["status"]["conditions"].as_array().unwrap().iter().find(|c| c["type"] == "Ready").unwrap();
        assert_eq!((&ready["status"], &ready["reason"]), (&json!("False"), &json!("PodCompleted")));
        Ok(())
    }));
}

#[test]
fn init_containers_run_first_and_in_order() {
    well(&bed::run(Options::new(3), |bed| async move {
        bed.start(a());
        let mut one = pod("one", "Always", json!({"simulate.plimsoll.dev/run-for.second": "30s"}));
        one["spec"]["initContainers"] = json!([{"name": "first", "image": "i"}, {"name": "second", "image": "i"},
            {"name": "side", "image": "i", "restartPolicy": "Always"}]);
        create(&bed, Resource::PODS, &one).await?;
        seconds(&bed, 10).await;
        let status = found(&bed, "one").unwrap()["status"].clone();
        assert_eq!(status["phase"], "Pending");
        let init = &status["initContainerStatuses"];
        assert_eq!(init[0]["state"]["terminated"]["reason"], "Completed");
        assert!(init[1]["state"]["running"].is_object());
        assert_eq!(init[2]["state"]["waiting"]["reason"], "PodInitializing");
        assert_eq!(status["containerStatuses"][0]["state"]["waiting"]["reason"], "PodInitializing");
        bed.settle().await?;
        let status = found(&bed, "one").unwrap()["status"].clone();
        assert_eq!(status["phase"], "Running");
        assert!(status["initContainerStatuses"][2]["state"]["running"].is_object());
        assert_eq!(status["initContainerStatuses"][1]["ready"], true);
        Ok(())
    }));
}

#[test]
fn a_sidecar_ends_with_the_work_that_it_is_for() {
    well(&bed::run(Options::new(3), |bed| async move {
        bed.start(a());
        let mut job = pod("job", "Never", json!({}));
        job["spec"]["initContainers"] = json!([{"name": "side", "image": "i", "restartPolicy": "Always"}]);
        create(&bed, Resource::PODS, &job).await?;
        bed.settle().await?;
        assert_eq!(phase(&bed, "job"), "Succeeded");
        let status = found(&bed, "job").unwrap()["status"]["initContainerStatuses"][0].clone();
        assert!(status["state"]["terminated"].is_object(), "{status}");
        assert_eq!(times(&bed, "job", "Killing").await, 1);
        Ok(())
    }));
}

#[test]
fn a_crash_loop_backs_off() {
    well(&bed::run(Options::new(4).quiet(Duration::from_secs(1)), |bed| async move {
        bed.start(a());
        seconds(&bed, 1).await;
        create(&bed, Resource::PODS, &pod("one", "Always", json!({"simulate.plimsoll.dev/crash-loop": "true"})))
            .await?;
        // Runs 1 s, again at once for 1 s, waits 10 s.
        seconds(&bed, 5).await;
        let status = container(&bed, "one");
        assert_eq!(status["state"]["waiting"]["reason"], "CrashLoopBackOff");
        assert_eq!(status["restartCount"], 1);
        assert_eq!(status["lastState"]["terminated"]["exitCode"], 1);
        assert_eq!(phase(&bed, "one"), "Running");
        seconds(&bed, 60).await;
        // 2 s, 10 s, 1 s, 20 s, 1 s, 40 s.
        let status = container(&bed, "one");
        assert_eq!(status["restartCount"], 3);
        let message = status["state"]["waiting"]["message"].as_str().unwrap();
        assert!(message.starts_with("back-off 40s restarting failed container=c pod=one_default("), "{message}");
        assert_eq!(times(&bed, "one", "BackOff").await, 3);
        assert_eq!(times(&bed, "one", "Started").await, 4);
        delete(&bed, "one").await?;
        seconds(&bed, 2).await;
        assert_eq!(phase(&bed, "one"), "");
        Ok(())
    }));
}

#[test]
fn a_pod_that_is_deleted_ends_at_once_or_as_it_says_and_at_last_by_its_grace() {
    well(&bed::run(Options::new(5), |bed| async move {
        bed.start(a());
        create(&bed, Resource::PODS, &pod("quick", "Always", json!({}))).await?;
        create(&bed, Resource::PODS, &pod("slow", "Always", json!({"simulate.plimsoll.dev/stop-after": "5s"}))).await?;
        create(&bed, Resource::PODS, &pod("stuck", "Always", json!({"simulate.plimsoll.dev/stop-after": "1h"})))
            .await?;
        bed.settle().await?;
        for name in ["quick", "slow", "stuck"] {
            delete(&bed, name).await?;
        }
        seconds(&bed, 1).await;
        let phases = |bed: &Bed| ["quick", "slow", "stuck"].map(|name| phase(bed, name));
        assert_eq!(phases(&bed), ["", "Running", "Running"]);
        seconds(&bed, 5).await;
        assert_eq!(phases(&bed), ["", "", "Running"]);
        seconds(&bed, 12).await;
        assert_eq!(phases(&bed), ["", "", "Running"]);
        seconds(&bed, 4).await;
        assert_eq!(phases(&bed), ["", "", ""]);
        for name in ["quick", "slow", "stuck"] {
            assert_eq!(times(&bed, name, "Killing").await, 1);
        }
        Ok(())
    }));
}

#[test]
fn a_finalizer_shows_how_a_deleted_pod_ended() {
    well(&bed::run(Options::new(6), |bed| async move {
        bed.start(a());
        for (name, policy) in [("server", "Always"), ("work", "Never")] {
            let mut pod = pod(name, policy, json!({"simulate.plimsoll.dev/run-for": "forever"}));
            pod["metadata"]["finalizers"] = json!(["example.com/hold"]);
            create(&bed, Resource::PODS, &pod).await?;
        }
        let mut never = pod("never", "Always", json!({}));
        never["metadata"]["finalizers"] = json!(["example.com/hold"]);
        never["spec"]["volumes"] = json!([{"name": "v", "configMap": {"name": "missing"}}]);
        create(&bed, Resource::PODS, &never).await?;
        bed.settle().await?;
        let before = bed.writes("node-a");
        for name in ["server", "work", "never"] {
            delete(&bed, name).await?;
        }
        bed.settle().await?;
        // A server ends well, work that is cut off does not, and what never ran failed.
        assert_eq!(["server", "work", "never"].map(|n| phase(&bed, n)), ["Succeeded", "Failed", "Failed"]);
        assert_eq!(container(&bed, "server")["state"]["terminated"]["exitCode"], 0);
        assert_eq!(container(&bed, "work")["state"]["terminated"]["exitCode"], 143);
        assert_eq!(container(&bed, "never")["state"]["terminated"]["reason"], "ContainerStatusUnknown");
        assert_eq!(found(&bed, "work").unwrap()["metadata"]["deletionGracePeriodSeconds"], 0);
        // Three statuses, three deletions, events and the lease: it is not said again and again.
        assert!(bed.writes("node-a") - before < 40, "{}", bed.writes("node-a") - before);
        for name in ["server", "work", "never"] {
            patch(&bed, Resource::PODS, name, json!({"metadata": {"finalizers": null}})).await?;
        }
        bed.settle().await?;
        assert_eq!(phase(&bed, "work"), "");
        Ok(())
    }));
}

#[test]
fn a_pods_own_deadline_fails_it() {
    well(&bed::run(Options::new(7), |bed| async move {
        bed.start(a());
        let mut one = pod("one", "Always", json!({}));
        one["spec"]["activeDeadlineSeconds"] = json!(30);
        create(&bed, Resource::PODS, &one).await?;
        seconds(&bed, 20).await;
        assert_eq!(phase(&bed, "one"), "Running");
        bed.settle().await?;
        let status = found(&bed, "one").unwrap()["status"].clone();
        assert_eq!((&status["phase"], &status["reason"]), (&json!("Failed"), &json!("DeadlineExceeded")));
        assert_eq!(times(&bed, "one", "DeadlineExceeded").await, 1);
        Ok(())
    }));
}

#[test]
fn readiness_gates_keep_a_running_pod_unready() {
    well(&bed::run(Options::new(8), |bed| async move {
        bed.start(a());
        let mut one = pod("one", "Always", json!({}));
        one["spec"]["readinessGates"] = json!([{"conditionType": "example.com/ready"}]);
        create(&bed, Resource::PODS, &one).await?;
        bed.settle().await?;
        let ready = |bed: &Bed| {
            let pod = found(bed, "one").unwrap();
            let all = pod["status"]["conditions"].as_array().unwrap().clone();
            all.into_iter().find(|c| c["type"] == "Ready").unwrap()["status"].clone()
        };
        assert_eq!((phase(&bed, "one").as_str(), ready(&bed)), ("Running", json!("False")));
        let condition = json!({"status": {"conditions": [{"type": "example.com/ready", "status": "True"}]}});
        let objects = bed.objects();
        objects.merge_lists::<Value>(Resource::PODS, "default", "one", "status", &condition).await.map_err(told)?;
        bed.settle().await?;
        assert_eq!(ready(&bed), json!("True"));
        Ok(())
    }));
}

#[test]
fn a_fleet_that_is_killed_finds_its_pods_again() {
    well(&bed::run(Options::new(9), |bed| async move {
        bed.start(Fleet::of([Machine::new("a"), Machine::new("b")]).component("fleet"));
        create(&bed, Resource::PODS, &pod("server", "Always", json!({}))).await?;
        create(&bed, Resource::PODS, &pod("job", "Never", json!({"simulate.plimsoll.dev/run-for": "10m"}))).await?;
        let mut other = pod("other", "Always", json!({}));
        other["spec"]["nodeName"] = json!("b");
        create(&bed, Resource::PODS, &other).await?;
        seconds(&bed, 5).await;
        let before = ["server", "job", "other"].map(|name| found(&bed, name).unwrap()["status"].clone());
        bed.kill("fleet");
        delete(&bed, "other").await?;
        seconds(&bed, 30).await;
        bed.revive("fleet");
        seconds(&bed, 30).await;
        // What ran is as it was, to the letter; what was deleted meanwhile is ended.
        let after = ["server", "job"].map(|name| found(&bed, name).unwrap()["status"].clone());
        assert_eq!(before[..2], after);
        assert_eq!(phase(&bed, "other"), "");
        assert_eq!(times(&bed, "server", "Started").await, 1);
        // A pod that comes now gets an address that nobody has.
        create(&bed, Resource::PODS, &pod("late", "Always", json!({}))).await?;
        bed.settle().await?;
        let address = |name: &str| found(&bed, name).unwrap()["status"]["podIP"].clone();
        assert_ne!(address("late"), address("server"));
        seconds(&bed, 600).await;
        assert_eq!(phase(&bed, "job"), "Succeeded");
        Ok(())
    }));
}

/// One pod's story, from its making to its end: what it is at the end, whatever happens to its node on the way.
async fn story(bed: Bed) -> Result<(), String> {
    // So often that an event which a watch left out is made up for before the end is looked at.
    let fleet = Fleet::of([Machine::new("a")]).relist(Duration::from_secs(60));
    bed.start(fleet.component("node-a"));
    create(&bed, Resource::PODS, &pod("server", "Always", json!({}))).await?;
    create(&bed, Resource::PODS, &pod("job", "OnFailure", json!({"simulate.plimsoll.dev/run-for": "2s"}))).await?;
    let mut wrong = pod("wrong", "Always", json!({}));
    wrong["spec"]["nodeSelector"] = json!({"not": "here"});
    create(&bed, Resource::PODS, &wrong).await?;
    bed.settle().await?;
    assert_eq!(["server", "job", "wrong"].map(|name| phase(&bed, name)), ["Running", "Succeeded", "Failed"]);
    assert_eq!(container(&bed, "server")["restartCount"], 0);
    delete(&bed, "server").await?;
    bed.settle().await?;
    assert_eq!(phase(&bed, "server"), "");
    Ok(())
}

#[test]
fn a_node_may_be_killed_before_and_after_every_write() {
    let whole = bed::run(Options::new(10), story);
    well(&whole);
    // Heartbeats go on for ever: those of the first minutes are enough.
    let writes = whole.writes["node-a"].min(40);
    assert!(writes > 20, "{writes}");
    for write in 0..writes {
        for when in [When::Before, When::After] {
            let faults = Faults::none().kill("node-a", write, when);
            let report = bed::run(Options::new(10).faults(faults), story);
            assert_eq!(report.outcome, Ok(()), "killed at write {write} ({when:?})\n{}", report.trace);
        }
    }
}

#[test]
fn a_story_ends_the_same_under_all_kinds_of_trouble() {
    for seed in 0..60 {
        let report = bed::run(Options::new(seed).faults(Faults::from_seed(seed)), story);
        assert_eq!(report.outcome, Ok(()), "seed {seed}\n{}", report.trace);
    }
}
