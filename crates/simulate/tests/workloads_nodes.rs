//! Budgets, nodes that fall silent or go, and what every namespace has, on the in-memory API server in virtual time.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test: what is missing is a failure")]

mod batch;
mod common;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use batch::{ALL, condition, events, get, job, passes, phase, pods, scheduler, workloads};
use common::{create, told};
use plimsoll_runtime::{Error, Resource};
use plimsoll_simulate::{Bed, Machine, Options, Report, Seeds, bed};
use plimsoll_workloads::Controller;
use serde_json::{Value, json};

fn web(name: &str, node: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}})
}

async fn evict(bed: &Bed, pod: &str) -> Result<(), Error> {
    let eviction =
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": "default"}});
    let path = Resource::PODS.sub_path("default", pod, "eviction");
    bed.objects().send::<Value>(http::Method::POST, &path, Some(&eviction)).await.map(|_| ())
}

#[test]
fn a_budget_blocks_an_eviction_and_then_allows_it() {
    passes(Options::new(8), |bed| async move {
        bed.start(Machine::new("a").component());
        bed.start(workloads(&[Controller::Disruption]));
        for name in ["one", "two", "three"] {
            create(&bed, Resource::PODS, &web(name, "a")).await?;
        }
        let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "b", "namespace": "default"},
            "spec": {"minAvailable": 3, "selector": {"matchLabels": {"app": "web"}}}});
        create(&bed, Resource::BUDGETS, &budget).await?;
        bed.wait(Duration::from_secs(5)).await;
        let status = async || {
            let budget = get(&bed, Resource::BUDGETS, "b").await;
            let status = &budget["status"];
            let numbers = ["currentHealthy", "desiredHealthy", "expectedPods", "disruptionsAllowed"];
            let reason = condition(&budget, "DisruptionAllowed")["reason"].as_str().unwrap_or_default().to_owned();
            (numbers.map(|n| status[n].as_i64().unwrap_or(-1)), reason)
        };
        assert_eq!(status().await, ([3, 3, 3, 0], "InsufficientPods".to_owned()));
        assert!(matches!(evict(&bed, "one").await, Err(Error::Busy { .. })));

        let patch = json!({"spec": {"minAvailable": 2}});
        bed.objects().merge::<Value>(Resource::BUDGETS, "default", "b", "", &patch).await.map_err(told)?;
        bed.wait(Duration::from_secs(1)).await;
        assert_eq!(status().await, ([3, 2, 3, 1], "SufficientPods".to_owned()));
        evict(&bed, "one").await.map_err(told)?;
        assert!(matches!(evict(&bed, "two").await, Err(Error::Busy { .. })), "one is on its way out");
        bed.settle().await?;
        assert_eq!(status().await, ([2, 2, 2, 0], "InsufficientPods".to_owned()));
        assert_eq!(pods(&bed).len(), 2);
        assert!(get(&bed, Resource::BUDGETS, "b").await["status"]["disruptedPods"].is_null());
        Ok(())
    });
}

#[test]
fn a_share_is_of_what_the_controllers_are_to_have() {
    passes(Options::new(9), |bed| async move {
        bed.start(Machine::new("a").component());
        bed.start(workloads(&[Controller::Disruption]));
        let template =
            json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s", "namespace": "default"},
            "spec": {"replicas": 10, "serviceName": "s", "selector": {"matchLabels": {"app": "web"}}, "template": template}});
        create(&bed, Resource::STATEFUL_SETS, &set).await?;
        let uid = get(&bed, Resource::STATEFUL_SETS, "s").await["metadata"]["uid"].clone();
        for i in 0..4 {
            let mut pod = web(&format!("s-{i}"), "a");
            pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s",
                "uid": uid, "controller": true}]);
            create(&bed, Resource::PODS, &pod).await?;
        }
        let budget = |name: &str, spec: Value| {
            let mut budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                "metadata": {"name": name, "namespace": "default"}, "spec": spec});
            budget["spec"]["selector"] = json!({"matchLabels": {"app": "web"}});
            budget
        };
        create(&bed, Resource::BUDGETS, &budget("share", json!({"maxUnavailable": "65%"}))).await?;
        bed.settle().await?;
        let found = get(&bed, Resource::BUDGETS, "share").await;
        let status = &found["status"];
        let numbers = ["expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed"];
        assert_eq!(numbers.map(|n| status[n].as_i64().unwrap()), [10, 3, 4, 1], "{status}");
        // A pod whose controller has no scale, and there is no telling.
        create(&bed, Resource::JOBS, &job("j", json!({}))).await?;
        let uid = get(&bed, Resource::JOBS, "j").await["metadata"]["uid"].clone();
        let mut odd = web("odd", "a");
        odd["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": uid, "controller": true}]);
        create(&bed, Resource::PODS, &odd).await?;
        bed.settle().await?;
        let found = get(&bed, Resource::BUDGETS, "share").await;
        assert_eq!(found["status"]["disruptionsAllowed"], 0);
        let said = condition(&found, "DisruptionAllowed");
        assert_eq!((&said["status"], &said["reason"]), (&json!("False"), &json!("SyncFailed")));
        assert_eq!(said["message"], "jobs.batch does not implement the scale subresource");
        Ok(())
    });
}

#[test]
fn a_drain_takes_one_pod_after_the_other() {
    passes(Options::new(16), |bed| async move {
        for node in ["a", "b"] {
            bed.start(Machine::new(node).component());
        }
        bed.start(scheduler());
        bed.start(workloads(&[ALL.as_slice(), &[Controller::Deployment, Controller::ReplicaSet]].concat()));
        let spec = json!({"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 5});
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": 4, "selector": {"matchLabels": {"app": "web"}},
                     "template": {"metadata": {"labels": {"app": "web"}}, "spec": spec}}});
        create(&bed, Resource::DEPLOYMENTS, &deployment).await?;
        let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "b", "namespace": "default"},
            "spec": {"maxUnavailable": "25%", "selector": {"matchLabels": {"app": "web"}}}});
        create(&bed, Resource::BUDGETS, &budget).await?;
        bed.settle().await?;
        assert_eq!(get(&bed, Resource::BUDGETS, "b").await["status"]["expectedPods"], 4);
        let patch = json!({"spec": {"unschedulable": true}});
        bed.objects().merge::<Value>(Resource::NODES, "", "a", "", &patch).await.map_err(told)?;
        let mut refused = 0;
        for _ in 0..100 {
            let there: Vec<Arc<Value>> = pods(&bed).into_iter().filter(|p| p["spec"]["nodeName"] == "a").collect();
            if there.is_empty() {
                break;
            }
            for pod in there.iter().filter(|p| p["metadata"]["deletionTimestamp"].is_null()) {
                match evict(&bed, pod["metadata"]["name"].as_str().unwrap()).await {
                    Ok(()) => {}
                    Err(Error::Busy { .. }) => refused += 1,
                    Err(error) => return Err(error.to_string()),
                }
            }
            let ready = pods(&bed).iter().filter(|p| condition(p, "Ready")["status"] == "True").count();
            assert!(ready >= 3, "{ready} are left");
            bed.wait(Duration::from_secs(1)).await;
        }
        bed.settle().await?;
        assert!(refused > 0, "the budget had something to say");
        assert!(pods(&bed).iter().all(|p| p["spec"]["nodeName"] == "b"));
        assert_eq!(get(&bed, Resource::BUDGETS, "b").await["status"]["currentHealthy"], 4);
        Ok(())
    });
}

fn taints(node: &Value) -> Vec<String> {
    let all = node["spec"]["taints"].as_array().into_iter().flatten();
    let mut out: Vec<String> =
        all.map(|t| format!("{}:{}", t["key"].as_str().unwrap(), t["effect"].as_str().unwrap())).collect();
    out.sort();
    out
}

/// A job whose pods stand a node that is away for as many seconds.
fn patient(name: &str, seconds: i64) -> Value {
    let mut job = job(name, json!({}));
    let toleration = |key: &str| {
        json!({"key": format!("node.kubernetes.io/{key}"), "operator": "Exists", "effect": "NoExecute",
            "tolerationSeconds": seconds})
    };
    job["spec"]["template"]["spec"]["tolerations"] = json!([toleration("not-ready"), toleration("unreachable")]);
    job
}

#[test]
fn a_silent_node_is_tainted_its_pods_go_elsewhere_and_it_comes_back() {
    passes(Options::new(10), |bed| async move {
        for node in ["a", "b", "c"] {
            bed.start(Machine::new(node).component());
        }
        bed.start(scheduler());
        bed.start(workloads(&ALL));
        bed.wait(Duration::from_secs(5)).await;
        create(&bed, Resource::JOBS, &patient("work", 60)).await?;
        bed.wait(Duration::from_secs(20)).await;
        let first = pods(&bed).pop().unwrap();
        let (name, node) = (first["metadata"]["name"].as_str().unwrap(), first["spec"]["nodeName"].as_str().unwrap());
        let component = format!("node-{node}");
        let said = events(&bed).await;
        assert_eq!(said[&format!("RegisteredNode: Node {node} event: Registered Node {node} in Controller")], 1);

        bed.kill(&component);
        bed.wait(Duration::from_secs(40)).await;
        assert_eq!(condition(&bed.state().nodes[node], "Ready")["status"], "True", "it is given time");
        bed.wait(Duration::from_secs(30)).await;
        let silent = bed.state().nodes[node].clone();
        let ready = condition(&silent, "Ready");
        assert_eq!((&ready["status"], &ready["reason"]), (&json!("Unknown"), &json!("NodeStatusUnknown")));
        assert_eq!(ready["message"], "Kubelet stopped posting node status.");
        assert_eq!(condition(&silent, "MemoryPressure")["status"], "Unknown");
        let unreachable = ["node.kubernetes.io/unreachable:NoExecute", "node.kubernetes.io/unreachable:NoSchedule"];
        assert_eq!(taints(&silent), unreachable);
        let pod = get(&bed, Resource::PODS, name).await;
        assert_eq!(condition(&pod, "Ready")["status"], "False");
        assert!(pod["metadata"]["deletionTimestamp"].is_null());

        bed.wait(Duration::from_secs(60)).await;
        let pod = get(&bed, Resource::PODS, name).await;
        assert!(pod["metadata"]["deletionTimestamp"].is_string(), "its patience is over");
        let why = condition(&pod, "DisruptionTarget");
        assert_eq!((&why["status"], &why["reason"]), (&json!("True"), &json!("DeletionByTaintManager")));
        assert_eq!(why["message"], "Taint manager: deleting due to NoExecute taint");
        bed.settle().await?;
        let other = pods(&bed).into_iter().find(|p| p["metadata"]["name"] != name).unwrap();
        assert_eq!(phase(&other), "Running");
        assert_ne!(other["spec"]["nodeName"], node);

        bed.revive(&component);
        bed.settle().await?;
        let back = bed.state().nodes[node].clone();
        assert_eq!(condition(&back, "Ready")["status"], "True");
        assert!(taints(&back).is_empty(), "{:?}", taints(&back));
        assert_eq!(pods(&bed).len(), 1, "the kubelet lets the first one go");
        assert_eq!(get(&bed, Resource::JOBS, "work").await["status"]["failed"], 1);
        let said = events(&bed).await;
        for text in [
            format!("NodeNotReady: Node {node} status is now: NodeNotReady"),
            "NodeNotReady: Node is not ready".to_owned(),
            format!("TaintManagerEviction: Marking for deletion Pod default/{name}"),
        ] {
            assert_eq!(said.get(&text), Some(&1), "{text} in {said:#?}");
        }
        Ok(())
    });
}

#[test]
fn a_node_that_is_back_in_time_keeps_its_pods() {
    passes(Options::new(11), |bed| async move {
        for node in ["a", "b"] {
            bed.start(Machine::new(node).component());
        }
        bed.start(scheduler());
        bed.start(workloads(&ALL));
        bed.wait(Duration::from_secs(5)).await;
        create(&bed, Resource::JOBS, &patient("work", 300)).await?;
        bed.wait(Duration::from_secs(20)).await;
        let first = pods(&bed).pop().unwrap();
        let (name, node) = (first["metadata"]["name"].as_str().unwrap(), first["spec"]["nodeName"].as_str().unwrap());
        bed.kill(&format!("node-{node}"));
        bed.wait(Duration::from_secs(120)).await;
        assert_eq!(taints(&bed.state().nodes[node]).len(), 2);
        bed.revive(&format!("node-{node}"));
        bed.settle().await?;
        bed.wait(Duration::from_secs(300)).await;
        assert!(taints(&bed.state().nodes[node]).is_empty());
        let pod = get(&bed, Resource::PODS, name).await;
        assert_eq!(pod["metadata"]["uid"], first["metadata"]["uid"]);
        assert!(pod["metadata"]["deletionTimestamp"].is_null());
        let text = format!("TaintManagerEviction: Cancelling deletion of Pod default/{name}");
        assert_eq!(events(&bed).await.get(&text), Some(&1));
        Ok(())
    });
}

/// What the kubelet would say of its node.
async fn say_ready(bed: &Bed, node: &str, status: &str) {
    let mut said = get_node(bed, node).await;
    for ready in said["status"]["conditions"].as_array_mut().unwrap().iter_mut().filter(|c| c["type"] == "Ready") {
        ready["status"] = json!(status);
        ready["lastHeartbeatTime"] = json!(bed.clock().now().to_string());
    }
    bed.objects().replace_status::<Value>(Resource::NODES, &said).await.unwrap();
}

async fn get_node(bed: &Bed, name: &str) -> Value {
    bed.objects().get::<Value>(Resource::NODES, "", name).await.unwrap().unwrap()
}

#[test]
fn what_a_kubelet_says_of_its_node_is_not_said_of_its_pods() {
    passes(Options::new(17), |bed| async move {
        for node in ["a", "b", "c"] {
            bed.start(Machine::new(node).component());
        }
        bed.start(workloads(&ALL));
        for (name, node) in [("one", "a"), ("two", "b")] {
            let mut pod = web(name, node);
            pod["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
            create(&bed, Resource::PODS, &pod).await?;
        }
        bed.wait(Duration::from_secs(10)).await;
        // The simulated one would take it back.
        bed.kill("node-a");
        say_ready(&bed, "a", "False").await;
        bed.wait(Duration::from_secs(20)).await;
        let not_ready = ["node.kubernetes.io/not-ready:NoExecute", "node.kubernetes.io/not-ready:NoSchedule"];
        assert_eq!(taints(&get_node(&bed, "a").await), not_ready);
        let ready = async |pod: &str| condition(&get(&bed, Resource::PODS, pod).await, "Ready")["status"].clone();
        assert_eq!(ready("one").await, "True", "its kubelet is there, and says how its pods are");

        // A node that falls silent can say nothing of its pods.
        bed.kill("node-b");
        bed.wait(Duration::from_secs(70)).await;
        for node in ["a", "b"] {
            assert_eq!(condition(&get_node(&bed, node).await, "Ready")["status"], "Unknown", "{node}");
        }
        assert_eq!((ready("one").await, ready("two").await), (json!("True"), json!("False")));
        let said = events(&bed).await;
        assert_eq!(said.get("NodeNotReady: Node is not ready"), Some(&1), "{said:#?}");
        assert_eq!(said.get("NodeNotReady: Node a status is now: NodeNotReady"), None, "{said:#?}");
        Ok(())
    });
}

#[test]
fn where_all_nodes_are_silent_no_pod_is_evicted() {
    passes(Options::new(12), |bed| async move {
        bed.start(Machine::new("a").component());
        bed.start(workloads(&ALL));
        let mut pod = web("stays", "a");
        pod["spec"]["tolerations"] = json!([{"key": "node.kubernetes.io/unreachable", "operator": "Exists",
            "effect": "NoExecute", "tolerationSeconds": 5}]);
        create(&bed, Resource::PODS, &pod).await?;
        bed.wait(Duration::from_secs(20)).await;
        bed.kill("node-a");
        bed.settle().await?;
        bed.wait(Duration::from_secs(600)).await;
        assert_eq!(condition(&bed.state().nodes["a"], "Ready")["status"], "Unknown");
        assert_eq!(taints(&bed.state().nodes["a"]), ["node.kubernetes.io/unreachable:NoSchedule"]);
        assert!(get(&bed, Resource::PODS, "stays").await["metadata"]["deletionTimestamp"].is_null());
        Ok(())
    });
}

/// A node may be given its taint while the look that finds all of them silent is still at it; and what takes it back may fail.
#[test]
fn where_all_nodes_are_silent_a_taint_that_comes_late_is_taken_back() {
    passes(Options::new(18), |bed| async move {
        bed.start(Machine::new("a").component());
        bed.start(workloads(&ALL));
        let mut pod = web("stays", "a");
        pod["spec"]["tolerations"] = json!([{"key": "node.kubernetes.io/unreachable", "operator": "Exists",
            "effect": "NoExecute", "tolerationSeconds": 60}]);
        create(&bed, Resource::PODS, &pod).await?;
        bed.wait(Duration::from_secs(20)).await;
        bed.kill("node-a");
        bed.settle().await?;
        let taint = |effect: &str| json!({"key": "node.kubernetes.io/unreachable", "effect": effect});
        let late = json!({"spec": {"taints": [taint("NoSchedule"), taint("NoExecute")]}});
        bed.objects().merge::<Value>(Resource::NODES, "", "a", "", &late).await.map_err(told)?;
        bed.wait(Duration::from_secs(300)).await;
        assert_eq!(taints(&bed.state().nodes["a"]), ["node.kubernetes.io/unreachable:NoSchedule"]);
        assert!(get(&bed, Resource::PODS, "stays").await["metadata"]["deletionTimestamp"].is_null());
        Ok(())
    });
}

#[test]
fn a_cordoned_node_has_a_taint_for_it() {
    passes(Options::new(13), |bed| async move {
        bed.start(Machine::new("a").component());
        bed.start(workloads(&ALL));
        bed.wait(Duration::from_secs(5)).await;
        for on in [true, false] {
            let patch = json!({"spec": {"unschedulable": on}});
            bed.objects().merge::<Value>(Resource::NODES, "", "a", "", &patch).await.map_err(told)?;
            bed.wait(Duration::from_secs(1)).await;
            let wanted: &[&str] = if on { &["node.kubernetes.io/unschedulable:NoSchedule"] } else { &[] };
            assert_eq!(taints(&bed.state().nodes["a"]), wanted);
        }
        Ok(())
    });
}

#[test]
fn the_pods_of_a_deleted_node_are_collected() {
    passes(Options::new(14), |bed| async move {
        for node in ["a", "b"] {
            bed.start(Machine::new(node).component());
        }
        bed.start(workloads(&ALL));
        let mut held = web("held", "a");
        held["metadata"]["finalizers"] = json!(["example.com/held"]);
        for pod in [web("gone", "a"), held, web("stays", "b")] {
            create(&bed, Resource::PODS, &pod).await?;
        }
        bed.wait(Duration::from_secs(10)).await;
        bed.kill("node-a");
        bed.objects().delete(Resource::NODES, "", "a", &Default::default()).await.map_err(told)?;
        bed.wait(Duration::from_secs(38)).await;
        assert_eq!(pods(&bed).len(), 3, "the mirror may be wrong for a while");
        bed.settle().await?;
        let left: BTreeSet<String> = bed.state().pods.keys().cloned().collect();
        assert_eq!(left, ["default/held".to_owned(), "default/stays".to_owned()].into());
        let held = get(&bed, Resource::PODS, "held").await;
        assert_eq!((phase(&held), held["metadata"]["deletionTimestamp"].is_string()), ("Failed", true));
        let why = condition(&held, "DisruptionTarget");
        assert_eq!(
            (&why["reason"], &why["message"]),
            (&json!("DeletionByPodGC"), &json!("PodGC: node no longer exists"))
        );
        assert_eq!(phase(&get(&bed, Resource::PODS, "stays").await), "Running");
        let text = "RemovingNode: Node a event: Removing Node a from Controller";
        assert_eq!(events(&bed).await.get(text), Some(&1));
        Ok(())
    });
}

#[test]
fn every_namespace_has_an_account_and_a_certificate() {
    passes(Options::new(15), |bed| async move {
        bed.start(workloads(&[Controller::ServiceAccount, Controller::RootCa]));
        bed.wait(Duration::from_secs(2)).await;
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}});
        create(&bed, Resource::NAMESPACES, &space).await?;
        bed.wait(Duration::from_secs(2)).await;
        let objects = bed.objects();
        for namespace in ["default", "kube-system", "new"] {
            let account = objects.get::<Value>(Resource::SERVICE_ACCOUNTS, namespace, "default").await.map_err(told)?;
            assert!(account.is_some(), "{namespace}");
            let map = objects.get::<Value>(Resource::CONFIG_MAPS, namespace, "kube-root-ca.crt").await.map_err(told)?;
            assert_eq!(map.unwrap_or_default()["data"]["ca.crt"], "certificate", "{namespace}");
        }
        // What is taken away comes back, what is changed is put right, and a namespace that goes is let go.
        objects.delete(Resource::SERVICE_ACCOUNTS, "new", "default", &Default::default()).await.map_err(told)?;
        let patch = json!({"data": {"ca.crt": "another", "more": "x"}});
        objects.merge::<Value>(Resource::CONFIG_MAPS, "new", "kube-root-ca.crt", "", &patch).await.map_err(told)?;
        bed.wait(Duration::from_secs(2)).await;
        assert!(objects.get::<Value>(Resource::SERVICE_ACCOUNTS, "new", "default").await.map_err(told)?.is_some());
        let map = objects.get::<Value>(Resource::CONFIG_MAPS, "new", "kube-root-ca.crt").await.map_err(told)?;
        assert_eq!(map.unwrap_or_default()["data"], json!({"ca.crt": "certificate"}));
        objects.delete(Resource::NAMESPACES, "", "new", &Default::default()).await.map_err(told)?;
        bed.settle().await?;
        assert!(objects.get::<Value>(Resource::NAMESPACES, "", "new").await.map_err(told)?.is_none());
        Ok(())
    });
}

/// A node that falls silent and comes back, under faults: in the end nothing is left of it, and every pod runs.
fn random_silence(options: Options) -> Report {
    bed::run(options, |bed| async move {
        for node in ["a", "b", "c"] {
            // Spared: these report their state once, so that a node which faults made silent would stay so.
            bed.start(Machine::new(node).component().spared());
        }
        bed.start(scheduler());
        bed.start(workloads(&[ALL.as_slice(), &[Controller::ReplicaSet]].concat()));
        let patient = &patient("work", 20)["spec"]["template"]["spec"]["tolerations"];
        let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": 5, "selector": {"matchLabels": {"app": "web"}}, "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "i"}], "tolerations": patient}}}});
        create(&bed, Resource::REPLICA_SETS, &set).await?;
        let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "b", "namespace": "default"},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}});
        create(&bed, Resource::BUDGETS, &budget).await?;
        bed.wait(Duration::from_secs(15)).await;
        bed.kill("node-a");
        bed.settle().await?;
        let on_silent = |p: &&Arc<Value>| p["spec"]["nodeName"] == "a" && p["metadata"]["deletionTimestamp"].is_null();
        if let Some(left) = pods(&bed).iter().find(on_silent) {
            return Err(format!("a pod is left on the node that is silent: {left}"));
        }
        let budget = get(&bed, Resource::BUDGETS, "b").await;
        if budget["status"]["currentHealthy"] != 5 || budget["status"]["disruptionsAllowed"] != 1 {
            return Err(format!("the budget is wrong: {}", budget["status"]));
        }
        bed.revive("node-a");
        bed.settle().await?;
        for (name, node) in &bed.state().nodes {
            if condition(node, "Ready")["status"] != "True" || !taints(node).is_empty() {
                return Err(format!("the node {name} is not well: {node}"));
            }
        }
        let all = pods(&bed);
        let well = all.iter().all(|p| phase(p) == "Running" && p["metadata"]["deletionTimestamp"].is_null());
        if all.len() == 5 && well { Ok(()) } else { Err(format!("the pods are not well: {all:?}")) }
    })
}

#[test]
fn forty_seeds_of_faults_leave_nothing_of_a_silent_node() {
    let name = "forty_seeds_of_faults_leave_nothing_of_a_silent_node";
    let summary = Seeds::new("workloads_nodes", name, 40).check(random_silence);
    eprintln!("{summary:?}");
}
