//! Simulated nodes are nodes as kubelets make them: registered, alive, choosy about pods, and gone when they are cut off.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test: what is missing is a failure")]

mod common;

use std::time::Duration;

use common::pods::{container, found, patch, phase, seconds, times, told_of, well};
use common::{claim, create, told, volume};
use plimsoll_runtime::{Objects, Resource};
use plimsoll_simulate::nodes::{CUT_OFF, Driver};
use plimsoll_simulate::{Bed, Faults, Fleet, Kind, Machine, Options, bed};
use serde_json::{Value, json};

const CONFIG_MAPS: Resource =
    Resource { group: "", version: "v1", plural: "configmaps", kind: "ConfigMap", namespaced: true };

fn pod(name: &str, node: &str, cpu: &str, claim: Option<&str>) -> Value {
    let mut pod = common::pods::pod(name, "Always", json!({}));
    pod["spec"]["nodeName"] = json!(node);
    pod["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": cpu}});
    if let Some(claim) = claim {
        pod["spec"]["volumes"] = json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]);
    }
    pod
}

async fn renewed(objects: &Objects, node: &str) -> String {
    let lease = objects.get::<Value>(Resource::LEASES, "kube-node-lease", node).await.unwrap().unwrap();
    lease["spec"]["renewTime"].as_str().unwrap().to_owned()
}

#[test]
fn a_node_registers_as_a_kubelet_does() {
    well(&bed::run(Options::new(1), |bed| async move {
        let driver = Driver {
            name: "sim.example.com".to_owned(),
            topology_keys: vec!["topology.kubernetes.io/zone".to_owned()],
            attach_limit: Some(16),
        };
        bed.start(Machine::new("a").zone("z").region("r").driver(driver).component());
        seconds(&bed, 1).await;
        let node = bed.state().nodes["a"].clone();
        let labels = &node["metadata"]["labels"];
        for (key, value) in [
            ("kubernetes.io/hostname", "a"),
            ("kubernetes.io/os", "linux"),
            ("topology.kubernetes.io/zone", "z"),
            ("topology.kubernetes.io/region", "r"),
        ] {
            assert_eq!(labels[key], value);
        }
        let status = &node["status"];
        let conditions: Vec<(&str, &str)> = status["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| (c["type"].as_str().unwrap(), c["status"].as_str().unwrap()))
            .collect();
        let expected = [("MemoryPressure", "False"), ("DiskPressure", "False"), ("PIDPressure", "False")];
        assert_eq!(conditions[..3], expected);
        assert_eq!(conditions[3], ("Ready", "True"));
        assert_eq!(status["nodeInfo"]["kubeletVersion"], "v1.37.1-plimsoll");
        assert_eq!(status["nodeInfo"]["containerRuntimeVersion"], "simulated://0.1");
        assert_eq!(status["addresses"][1], json!({"type": "Hostname", "address": "a"}));
        assert_eq!(status["capacity"]["cpu"], "8");
        let objects = bed.objects();
        let owner = json!({"apiVersion": "v1", "kind": "Node", "name": "a", "uid": node["metadata"]["uid"]});
        let csi_node = objects.get::<Value>(Resource::CSI_NODES, "", "a").await.map_err(told)?.unwrap();
        assert_eq!(csi_node["metadata"]["ownerReferences"], json!([owner]));
        let drivers = json!([{"name": "sim.example.com", "nodeID": "a",
            "topologyKeys": ["topology.kubernetes.io/zone"], "allocatable": {"count": 16}}]);
        assert_eq!(csi_node["spec"]["drivers"], drivers);
        let lease = objects.get::<Value>(Resource::LEASES, "kube-node-lease", "a").await.map_err(told)?.unwrap();
        assert_eq!(lease["metadata"]["ownerReferences"], json!([owner]));
        assert_eq!(times(&bed, "a", "Starting").await, 1);
        assert_eq!(times(&bed, "a", "NodeHasSufficientMemory").await, 1);
        Ok(())
    }));
}

#[test]
fn a_node_renews_its_lease_and_lives_again_on_its_node() {
    well(&bed::run(Options::new(1), |bed| async move {
        bed.start(Machine::new("a").label("zone", "z").component());
        seconds(&bed, 1).await;
        let first = renewed(&bed.objects(), "a").await;
        seconds(&bed, 11).await;
        assert!(renewed(&bed.objects(), "a").await > first);
        let before = bed.state().nodes["a"].clone();
        // A new life finds its node there already, and brings back what is its own; what others wrote stays.
        let others = json!({"metadata": {"labels": {"zone": "y", "other": "1"}}, "spec": {"unschedulable": true}});
        patch(&bed, Resource::NODES, "a", others).await?;
        seconds(&bed, 1).await;
        bed.crash("node-a");
        bed.settle().await?;
        let node = bed.state().nodes["a"].clone();
        assert_eq!(node["metadata"]["uid"], before["metadata"]["uid"]);
        assert_eq!(node["metadata"]["labels"]["zone"], "z");
        assert_eq!(node["metadata"]["labels"]["other"], "1");
        assert_eq!(node["spec"]["unschedulable"], true);
        assert_eq!(node["status"]["allocatable"]["cpu"], "8");
        assert_eq!(times(&bed, "a", "NodeNotSchedulable").await, 1);
        assert_eq!(times(&bed, "a", "NodeHasSufficientMemory").await, 1);
        Ok(())
    }));
}

#[test]
fn three_nodes_at_rest_cost_next_to_nothing() {
    let report = bed::run(Options::new(1), |bed| async move {
        bed.start(Fleet::of(["a", "b", "c"].map(Machine::new)).component("fleet"));
        for (name, node) in [("one", "a"), ("two", "b"), ("three", "c")] {
            create(&bed, Resource::PODS, &pod(name, node, "1", None)).await?;
        }
        bed.wait(Duration::from_secs(20 * 60)).await;
        assert_eq!(phase(&bed, "three"), "Running");
        Ok(())
    });
    well(&report);
    // Over ten minutes at rest: six leases a minute for each node, its status every five minutes, and the watches' renewals.
    let rest = Duration::from_secs(300)..Duration::from_secs(900);
    let requests = report.trace.0.iter().filter(|e| e.component == "fleet" && rest.contains(&e.at));
    let requests: Vec<&str> = requests.map(|entry| entry.request.as_str()).collect();
    let leases = requests.iter().filter(|request| request.starts_with("PUT") && request.contains("/leases/")).count();
    assert!((174..=186).contains(&leases), "{leases}");
    let reports = requests.iter().filter(|request| request.starts_with("PATCH /api/v1/nodes/")).count();
    assert_eq!(reports, 6, "{requests:#?}");
    assert!(requests.len() - leases - reports <= 6, "{requests:#?}");
}

#[test]
fn pods_run_where_there_is_room_and_are_refused_where_not() {
    well(&bed::run(Options::new(2), |bed| async move {
        bed.start(Machine::new("a").allocatable("cpu", "2").component());
        seconds(&bed, 1).await;
        create(&bed, Resource::PODS, &pod("one", "a", "1500m", None)).await?;
        create(&bed, Resource::PODS, &pod("two", "a", "1", None)).await?;
        create(&bed, Resource::PODS, &pod("elsewhere", "b", "1", None)).await?;
        let mut wrong = pod("wrong", "a", "1m", None);
        wrong["spec"]["nodeSelector"] = json!({"not": "here"});
        create(&bed, Resource::PODS, &wrong).await?;
        bed.settle().await?;
        let phases = ["one", "two", "elsewhere", "wrong"].map(|name| phase(&bed, name));
        assert_eq!(phases, ["Running", "Failed", "Pending", "Failed"]);
        let two = found(&bed, "two").unwrap();
        assert_eq!(two["status"]["reason"], "OutOfcpu");
        let message = "Node didn't have enough resource: cpu, requested: 1000, used: 1500, capacity: 2000";
        assert_eq!(two["status"]["message"], format!("Pod was rejected: {message}"));
        assert!(told_of(&bed, "two").await.contains(&("OutOfcpu".to_owned(), message.to_owned(), 1)));
        assert_eq!(found(&bed, "wrong").unwrap()["status"]["reason"], "NodeAffinity");
        assert!(found(&bed, "one").unwrap()["status"]["startTime"].is_string());
        // A taint that ends pods refuses them, too.
        let taint = json!({"spec": {"taints": [{"key": "broken", "effect": "NoExecute"}]}});
        patch(&bed, Resource::NODES, "a", taint).await?;
        seconds(&bed, 1).await;
        create(&bed, Resource::PODS, &pod("driven", "a", "1m", None)).await?;
        bed.settle().await?;
        assert_eq!(found(&bed, "driven").unwrap()["status"]["reason"], "TaintToleration");
        Ok(())
    }));
}

#[test]
fn a_pod_waits_for_its_claim_and_for_a_volume_within_reach() {
    well(&bed::run(Options::new(4), |bed| async move {
        common::classes(&bed).await?;
        bed.start(common::controllers());
        bed.start(Machine::new("a").label("topology.kubernetes.io/zone", "a").component());
        create(&bed, Resource::PODS, &pod("near", "a", "1", Some("near"))).await?;
        create(&bed, Resource::PODS, &pod("far", "a", "1", Some("far"))).await?;
        create(&bed, Resource::PODS, &pod("lost", "a", "1", Some("lost"))).await?;
        create(&bed, Resource::CLAIMS, &claim("near", Some("disk"), 1)).await?;
        create(&bed, Resource::CLAIMS, &claim("far", Some("disk"), 1)).await?;
        bed.settle().await?;
        assert_eq!(phase(&bed, "near"), "Pending");
        assert_eq!(container(&bed, "near")["state"]["waiting"]["reason"], "ContainerCreating");
        let start = "Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], \
                     failed to process volumes=[data]: error processing PVC default/";
        let says = |events: &[(String, String, u64)], message: &str| {
            events.iter().any(|(reason, m, _)| reason == "FailedMount" && m == message)
        };
        let events = told_of(&bed, "near").await;
        assert!(says(&events, &format!("{start}near: PVC is not bound")), "{events:?}");
        let events = told_of(&bed, "lost").await;
        let lost = "lost: failed to fetch PVC from API server: persistentvolumeclaims \"lost\" not found";
        assert!(says(&events, &format!("{start}{lost}")), "{events:?}");
        for zone in ["near", "far"] {
            let mut volume = volume(zone, "disk", 1, "Retain");
            volume["spec"]["claimRef"] = json!({"namespace": "default", "name": zone});
            let value = if zone == "near" { "a" } else { "b" };
            volume["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [value]}]}]}});
            create(&bed, Resource::VOLUMES, &volume).await?;
        }
        bed.settle().await?;
        assert_eq!((phase(&bed, "near").as_str(), phase(&bed, "far").as_str()), ("Running", "Pending"));
        let events = told_of(&bed, "far").await;
        let why = "MountVolume.NodeAffinity check failed for volume \"far\" : no matching NodeSelectorTerms";
        assert!(says(&events, why), "{events:?}");
        Ok(())
    }));
}

#[test]
fn a_local_volume_needs_its_directory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("volume");
    let text = path.to_str().unwrap().to_owned();
    well(&bed::run(Options::new(5), |bed| async move {
        common::classes(&bed).await?;
        bed.start(common::controllers());
        bed.start(Machine::new("a").component());
        let mut local = volume("local", "disk", 1, "Retain");
        local["spec"].as_object_mut().unwrap().remove("csi");
        local["spec"]["local"] = json!({"path": text});
        local["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": ["a"]}]}]}});
        create(&bed, Resource::VOLUMES, &local).await?;
        create(&bed, Resource::CLAIMS, &claim("data", Some("disk"), 1)).await?;
        create(&bed, Resource::PODS, &pod("one", "a", "1", Some("data"))).await?;
        bed.settle().await?;
        assert_eq!(phase(&bed, "one"), "Pending");
        let why = format!(
            "MountVolume.NewMounter initialization failed for volume \"local\" : path \"{text}\" does not exist"
        );
        let events = told_of(&bed, "one").await;
        assert!(events.iter().any(|(_, message, _)| *message == why), "{events:?}");
        assert!(!path.exists(), "a node makes no directories");
        std::fs::create_dir(&path).unwrap();
        bed.settle().await?;
        assert_eq!(phase(&bed, "one"), "Running");
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0, "and writes nothing into them");
        Ok(())
    }));
}

#[test]
fn what_a_pod_mounts_or_reads_must_be_there_unless_it_is_optional() {
    well(&bed::run(Options::new(6), |bed| async move {
        bed.start(Machine::new("a").component());
        let mut mounts = pod("mounts", "a", "1m", None);
        mounts["spec"]["volumes"] = json!([
            {"name": "config", "configMap": {"name": "settings"}},
            {"name": "maybe", "secret": {"secretName": "nothing", "optional": true}}]);
        create(&bed, Resource::PODS, &mounts).await?;
        let mut reads = pod("reads", "a", "1m", None);
        reads["spec"]["containers"][0]["env"] = json!([{"name": "X",
            "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "x"}}}]);
        create(&bed, Resource::PODS, &reads).await?;
        bed.settle().await?;
        assert_eq!((phase(&bed, "mounts").as_str(), phase(&bed, "reads").as_str()), ("Pending", "Pending"));
        let why = "MountVolume.SetUp failed for volume \"config\" : configmap \"settings\" not found";
        let events = told_of(&bed, "mounts").await;
        assert!(events.iter().any(|(reason, message, _)| reason == "FailedMount" && message == why), "{events:?}");
        let waiting = container(&bed, "reads")["state"]["waiting"].clone();
        let expected = json!({"reason": "CreateContainerConfigError", "message": "configmap \"settings\" not found"});
        assert_eq!(waiting, expected);
        assert_eq!(times(&bed, "reads", "Failed").await, 1);
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "settings", "namespace": "default"}, "data": {"y": "1"}});
        create(&bed, CONFIG_MAPS, &map).await?;
        bed.settle().await?;
        assert_eq!(phase(&bed, "mounts"), "Running");
        let waiting = container(&bed, "reads")["state"]["waiting"]["message"].clone();
        assert_eq!(waiting, "couldn't find key x in ConfigMap default/settings");
        patch(&bed, CONFIG_MAPS, "settings", json!({"data": {"x": "1"}})).await?;
        bed.settle().await?;
        assert_eq!(phase(&bed, "reads"), "Running");
        Ok(())
    }));
}

#[test]
fn a_node_that_is_cut_off_is_silent_until_it_is_brought_back() {
    well(&bed::run(Options::new(7), |bed| async move {
        bed.start(Fleet::of(["a", "b"].map(Machine::new)).component("fleet"));
        create(&bed, Resource::PODS, &pod("stays", "a", "1", None)).await?;
        create(&bed, Resource::PODS, &pod("goes", "a", "1", None)).await?;
        bed.settle().await?;
        let cut = |value: Value| json!({"metadata": {"annotations": {CUT_OFF: value}}});
        patch(&bed, Resource::NODES, "a", cut(json!("true"))).await?;
        seconds(&bed, 1).await;
        let (lease, other) = (renewed(&bed.objects(), "a").await, renewed(&bed.objects(), "b").await);
        bed.objects().delete(Resource::PODS, "default", "goes", &Default::default()).await.map_err(told)?;
        create(&bed, Resource::PODS, &pod("comes", "a", "1", None)).await?;
        // As a controller says of a node that is not heard of.
        let unknown = json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown",
            "message": "Kubelet stopped posting node status.", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
        bed.objects().merge_lists::<Value>(Resource::NODES, "", "a", "status", &unknown).await.map_err(told)?;
        // Killed and started again, it is still cut off.
        bed.crash("fleet");
        seconds(&bed, 400).await;
        assert_eq!(renewed(&bed.objects(), "a").await, lease);
        assert!(renewed(&bed.objects(), "b").await > other);
        let ready = |bed: &Bed| {
            let node = bed.state().nodes["a"].clone();
            node["status"]["conditions"].as_array().unwrap().iter().find(|c| c["type"] == "Ready").unwrap().clone()
        };
        assert_eq!(ready(&bed)["status"], "Unknown");
        assert_eq!((phase(&bed, "goes").as_str(), phase(&bed, "comes").as_str()), ("Running", "Pending"));
        patch(&bed, Resource::NODES, "a", cut(Value::Null)).await?;
        seconds(&bed, 15).await;
        assert_eq!((&ready(&bed)["status"], &ready(&bed)["reason"]), (&json!("True"), &json!("KubeletReady")));
        assert!(renewed(&bed.objects(), "a").await > lease);
        assert_eq!(["stays", "goes", "comes"].map(|name| phase(&bed, name)), ["Running", "", "Running"]);
        assert_eq!(times(&bed, "a", "NodeReady").await, 1);
        assert_eq!(times(&bed, "stays", "Started").await, 1);
        Ok(())
    }));
}

#[test]
fn a_node_that_was_deleted_is_not_made_again_before_it_is_restarted() {
    well(&bed::run(Options::new(8), |bed| async move {
        bed.start(Machine::new("a").component());
        create(&bed, Resource::PODS, &pod("one", "a", "1", None)).await?;
        bed.settle().await?;
        let first = bed.state().nodes["a"]["metadata"]["uid"].clone();
        bed.objects().delete(Resource::NODES, "", "a", &Default::default()).await.map_err(told)?;
        seconds(&bed, 60).await;
        assert_eq!(phase(&bed, "one"), "Running");
        bed.settle().await?;
        assert!(!bed.state().nodes.contains_key("a"));
        assert_eq!(phase(&bed, "one"), "", "its pods end with it");
        let lease = bed.objects().get::<Value>(Resource::LEASES, "kube-node-lease", "a").await.map_err(told)?;
        assert!(lease.is_none(), "the lease went with its owner");
        bed.crash("node-a");
        bed.settle().await?;
        assert_ne!(bed.state().nodes["a"]["metadata"]["uid"], first);
        create(&bed, Resource::PODS, &pod("two", "a", "1", None)).await?;
        bed.settle().await?;
        assert_eq!(phase(&bed, "two"), "Running");
        let lease = bed.objects().get::<Value>(Resource::LEASES, "kube-node-lease", "a").await.map_err(told)?.unwrap();
        assert_eq!(lease["metadata"]["ownerReferences"][0]["uid"], bed.state().nodes["a"]["metadata"]["uid"]);
        Ok(())
    }));
}

/// A request that fails half way through its registration keeps a node from nothing: neither its labels nor its pods.
#[test]
fn a_node_that_registers_with_trouble_still_does_all_of_it() {
    for seed in 0..10 {
        let faults = Faults::none().with(Kind::LostAnswer, 0.5).until(Duration::from_secs(20));
        let report = bed::run(Options::new(seed).faults(faults), |bed| async move {
            let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "labels": {"zone": "y"}},
                "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}}});
            create(&bed, Resource::NODES, &node).await?;
            create(&bed, Resource::PODS, &pod("one", "a", "1", None)).await?;
            bed.start(Machine::new("a").label("zone", "z").component());
            bed.settle().await?;
            assert_eq!(bed.state().nodes["a"]["metadata"]["labels"]["zone"], "z");
            assert_eq!(phase(&bed, "one"), "Running");
            Ok(())
        });
        assert_eq!(report.outcome, Ok(()), "seed {seed}: {}", report.trace);
    }
}

#[test]
fn a_node_that_is_killed_and_cut_off_comes_to_the_same_end() {
    for seed in 0..10 {
        let faults = Faults::none()
            .with(Kind::CrashAfter, 0.1)
            .with(Kind::LostAnswer, 0.2)
            .with(Kind::WatchCut, 0.2)
            .with(Kind::WatchGone, 0.2)
            .until(Duration::from_secs(60));
        let report = bed::run(Options::new(seed).faults(faults), |bed| async move {
            bed.start(Machine::new("a").component());
            create(&bed, Resource::PODS, &pod("one", "a", "1", None)).await?;
            create(&bed, Resource::PODS, &pod("two", "a", "100", None)).await?;
            bed.settle().await?;
            assert_eq!((phase(&bed, "one").as_str(), phase(&bed, "two").as_str()), ("Running", "Failed"));
            bed.objects().delete(Resource::PODS, "default", "one", &Default::default()).await.map_err(told)?;
            bed.settle().await?;
            assert_eq!(phase(&bed, "one"), "");
            Ok(())
        });
        assert_eq!(report.outcome, Ok(()), "seed {seed}: {}", report.trace);
    }
}
