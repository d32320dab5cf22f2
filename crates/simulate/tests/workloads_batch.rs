//! Jobs, budgets and the end of nodes, on the in-memory API server in virtual time.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test: what is missing is a failure")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{create, told};
use plimsoll_runtime::{Context, Error, Resource};
use plimsoll_simulate::seeds::side_by_side;
use plimsoll_simulate::{Bed, Component, Faults, Machine, Options, Report, Seeds, When, bed};
use plimsoll_workloads::{Controller, Options as Workloads};
use serde_json::{Value, json};

const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// The workloads' controllers, or some of them.
fn workloads(run: &[Controller]) -> Component {
    let run: BTreeSet<Controller> = run.iter().copied().collect();
    Component::new("workloads", move |context: Context| {
        let relist = Duration::from_secs(60);
        let root_ca = Some("certificate".to_owned());
        let options = Workloads { run: run.clone(), relist, root_ca, ..Workloads::default() };
        async move {
            plimsoll_workloads::start(&context, &options);
            context.tasks.stopping().await;
        }
    })
}

fn scheduler() -> Component {
    Component::new("scheduler", |context: Context| async move {
        let options = plimsoll_scheduler::Options { relist: Duration::from_secs(60), ..Default::default() };
        let _scheduler = plimsoll_scheduler::start(&context, options);
        context.tasks.stopping().await;
    })
}

/// All that is on trial here.
const ALL: [Controller; 6] = [
    Controller::Job,
    Controller::Disruption,
    Controller::NodeLifecycle,
    Controller::TaintEviction,
    Controller::PodGc,
    Controller::TtlAfterFinished,
];

fn job(name: &str, spec: Value) -> Value {
    let container = json!({"name": "c", "image": "i"});
    let mut job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}});
    for (key, value) in spec.as_object().unwrap() {
        job["spec"][key] = value.clone();
    }
    job
}

async fn get(bed: &Bed, resource: Resource, name: &str) -> Value {
    bed.objects().get::<Value>(resource, "default", name).await.unwrap().unwrap_or_default()
}

fn pods(bed: &Bed) -> Vec<Arc<Value>> {
    bed.state().pods.values().cloned().collect()
}

fn phase(pod: &Value) -> &str {
    pod["status"]["phase"].as_str().unwrap_or_default()
}

fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    static NONE: Value = Value::Null;
    object["status"]["conditions"].as_array().and_then(|all| all.iter().find(|c| c["type"] == kind)).unwrap_or(&NONE)
}

/// Ends a pod as its kubelet would.
async fn end(bed: &Bed, pod: &Value, code: i64) -> Result<(), Error> {
    let now = bed.clock().now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let phase = if code == 0 { "Succeeded" } else { "Failed" };
    let state = json!({"terminated": {"exitCode": code, "finishedAt": now}});
    let patch = json!({"status": {"phase": phase,
        "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": now}],
        "containerStatuses": [{"name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": state}]}});
    let name = pod["metadata"]["name"].as_str().unwrap();
    bed.objects().merge::<Value>(Resource::PODS, "default", name, "status", &patch).await.map(|_| ())
}

/// Ends every pod in this phase, again and again: `code` says how each ends, by the pod and all pods.
fn ender(bed: &Bed, of: &'static str, code: fn(&Value, &[Arc<Value>]) -> i64) -> Component {
    let bed = bed.clone();
    Component::new("ender", move |_| {
        let bed = bed.clone();
        async move {
            loop {
                tokio::time::sleep(Duration::from_secs(3)).await;
                let all = pods(&bed);
                // Those that their job has let go are on their way out, and it does not count them.
                let alive = |p: &&Arc<Value>| {
                    let meta = &p["metadata"];
                    phase(p) == of && meta["deletionTimestamp"].is_null() && !meta["finalizers"].is_null()
                };
                // One at a time, so that each is judged by those before it.
                if let Some(pod) = all.iter().find(alive) {
                    let _ = end(&bed, pod, code(pod, &all)).await;
                }
            }
        }
    })
    .spared()
}

/// What was said: `reason: message`, and how often.
async fn events(bed: &Bed) -> BTreeMap<String, i64> {
    let request = http::Request::get("/api/v1/events").body(Vec::new()).unwrap();
    let list: Value = bed.client().request(request).await.unwrap();
    let mut said = BTreeMap::new();
    for event in list["items"].as_array().unwrap() {
        let text = format!("{}: {}", event["reason"].as_str().unwrap(), event["message"].as_str().unwrap());
        *said.entry(text).or_default() += event["count"].as_i64().unwrap_or(1);
    }
    said
}

fn started(said: &BTreeMap<String, i64>, with: &str) -> i64 {
    said.iter().filter(|(text, _)| text.starts_with(with)).map(|(_, count)| count).sum()
}

fn passes<W: Future<Output = Result<(), String>>>(options: Options, scenario: impl FnOnce(Bed) -> W) -> Report {
    let report = bed::run(options, scenario);
    assert_eq!(report.outcome, Ok(()), "{}", report.trace);
    report
}

#[test]
fn a_job_runs_to_completion() {
    passes(Options::new(1), |bed| async move {
        for node in ["a", "b"] {
            bed.start(Machine::new(node).component());
        }
        bed.start(scheduler());
        bed.start(workloads(&ALL));
        create(&bed, Resource::JOBS, &job("count", json!({"completions": 4, "parallelism": 2}))).await?;
        bed.wait(Duration::from_secs(10)).await;
        let running = get(&bed, Resource::JOBS, "count").await["status"].clone();
        assert_eq!((&running["active"], &running["ready"]), (&json!(2), &json!(2)), "{running}");
        assert!(running["startTime"].is_string() && running["conditions"].is_null());
        assert_eq!(pods(&bed).len(), 2);
        bed.start(ender(&bed, "Running", |_, _| 0));
        bed.settle().await?;

        let job = get(&bed, Resource::JOBS, "count").await;
        let status = &job["status"];
        assert_eq!(status["succeeded"], 4, "{status}");
        for (field, value) in [("active", Value::Null), ("failed", Value::Null), ("ready", json!(0))] {
            assert_eq!(status[field], value, "{field}");
        }
        assert_eq!(status["terminating"], 0);
        assert_eq!(status["uncountedTerminatedPods"], json!({}));
        for kind in ["SuccessCriteriaMet", "Complete"] {
            let condition = condition(&job, kind);
            let found = (&condition["status"], &condition["reason"], &condition["message"]);
            let message = "Reached expected number of succeeded pods";
            assert_eq!(found, (&json!("True"), &json!("CompletionsReached"), &json!(message)));
        }
        assert_eq!(status["completionTime"], condition(&job, "Complete")["lastTransitionTime"]);
        let ended = pods(&bed);
        assert_eq!(ended.len(), 4);
        for pod in &ended {
            assert_eq!(phase(pod), "Succeeded");
            assert!(pod["metadata"]["finalizers"].is_null(), "{pod}");
            assert_eq!(pod["metadata"]["labels"]["batch.kubernetes.io/job-name"], "count");
            assert_eq!(pod["metadata"]["generateName"], "count-");
        }
        let said = events(&bed).await;
        assert_eq!(started(&said, "SuccessfulCreate: Created pod: count-"), 4);
        assert_eq!(said["Completed: Job completed"], 1);
        Ok(())
    });
}

#[test]
fn a_failing_job_is_tried_ever_more_slowly_and_then_no_more() {
    passes(Options::new(2), |bed| async move {
        bed.start(workloads(&ALL));
        bed.start(ender(&bed, "Pending", |_, _| 1));
        create(&bed, Resource::JOBS, &job("fail", json!({"backoffLimit": 2}))).await?;
        bed.settle().await?;
        let job = get(&bed, Resource::JOBS, "fail").await;
        assert_eq!((&job["status"]["failed"], &job["status"]["succeeded"]), (&json!(3), &Value::Null));
        for kind in ["FailureTarget", "Failed"] {
            let condition = condition(&job, kind);
            assert_eq!((&condition["status"], &condition["reason"]), (&json!("True"), &json!("BackoffLimitExceeded")));
            assert_eq!(condition["message"], "Job has reached the specified backoff limit");
        }
        assert!(job["status"]["completionTime"].is_null());
        let mut made: Vec<i64> = pods(&bed)
            .iter()
            .map(|p| {
                p["metadata"]["creationTimestamp"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_second()
            })
            .collect();
        made.sort_unstable();
        assert_eq!(made.len(), 3);
        assert!((10..20).contains(&(made[1] - made[0])), "{made:?}");
        assert!((20..30).contains(&(made[2] - made[1])), "{made:?}");
        let said = events(&bed).await;
        assert_eq!(said["BackoffLimitExceeded: Job has reached the specified backoff limit"], 1);
        Ok(())
    });
}

#[test]
fn an_indexed_job_has_a_pod_of_every_index() {
    passes(Options::new(3), |bed| async move {
        bed.start(workloads(&ALL));
        // The first pod of index 1 fails.
        bed.start(ender(&bed, "Pending", |pod, all| {
            let index = &pod["metadata"]["annotations"][INDEX];
            let failed = all.iter().any(|p| phase(p) == "Failed");
            i64::from(*index == "1" && !failed)
        }));
        let spec = json!({"completions": 3, "parallelism": 3, "completionMode": "Indexed", "backoffLimitPerIndex": 1});
        create(&bed, Resource::JOBS, &job("ix", spec)).await?;
        bed.wait(Duration::from_secs(2)).await;
        let begun = pods(&bed);
        assert_eq!(begun.len(), 3);
        for pod in &begun {
            let index = pod["metadata"]["annotations"][INDEX].as_str().unwrap();
            assert_eq!(pod["metadata"]["labels"][INDEX], index);
            assert_eq!(pod["spec"]["hostname"], format!("ix-{index}"));
            assert!(pod["metadata"]["name"].as_str().unwrap().starts_with(&format!("ix-{index}-")));
            assert_eq!(pod["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"], "0");
            let told = &pod["spec"]["containers"][0]["env"][0];
            assert_eq!(told["name"], "JOB_COMPLETION_INDEX");
            assert_eq!(told["valueFrom"]["fieldRef"]["fieldPath"], format!("metadata.labels['{INDEX}']"));
        }
        bed.settle().await?;
        let job = get(&bed, Resource::JOBS, "ix").await;
        let status = &job["status"];
        assert_eq!((&status["completedIndexes"], &status["succeeded"]), (&json!("0-2"), &json!(3)), "{status}");
        assert_eq!((&status["failed"], &status["failedIndexes"]), (&json!(1), &json!("")));
        assert_eq!(condition(&job, "Complete")["status"], "True");
        let counts: Vec<String> = pods(&bed)
            .iter()
            .filter(|p| p["metadata"]["annotations"][INDEX] == "1")
            .map(|p| {
                p["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"].as_str().unwrap().into()
            })
            .collect();
        assert_eq!(counts.iter().collect::<BTreeSet<_>>(), [&"0".to_owned(), &"1".to_owned()].into());
        Ok(())
    });
}

#[test]
fn an_index_fails_after_its_own_limit() {
    passes(Options::new(4), |bed| async move {
        bed.start(workloads(&ALL));
        bed.start(ender(&bed, "Pending", |pod, _| i64::from(pod["metadata"]["annotations"][INDEX] == "0")));
        let spec = json!({"completions": 2, "parallelism": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 1});
        create(&bed, Resource::JOBS, &job("ix", spec)).await?;
        bed.settle().await?;
        let job = get(&bed, Resource::JOBS, "ix").await;
        let status = &job["status"];
        assert_eq!((&status["completedIndexes"], &status["failedIndexes"]), (&json!("1"), &json!("0")), "{status}");
        assert_eq!((&status["succeeded"], &status["failed"]), (&json!(1), &json!(2)));
        assert_eq!(condition(&job, "Failed")["reason"], "FailedIndexes");
        Ok(())
    });
}

#[test]
fn a_job_is_suspended_goes_on_and_is_over_by_its_deadline() {
    passes(Options::new(5), |bed| async move {
        bed.start(Machine::new("a").component());
        bed.start(scheduler());
        bed.start(workloads(&ALL));
        create(&bed, Resource::JOBS, &job("late", json!({"parallelism": 2, "activeDeadlineSeconds": 60}))).await?;
        bed.wait(Duration::from_secs(20)).await;
        assert_eq!(pods(&bed).len(), 2);
        let suspend = |on: bool| json!({"spec": {"suspend": on}});
        let change = async |patch: Value| {
            bed.objects().merge::<Value>(Resource::JOBS, "default", "late", "", &patch).await.map(|_| ()).map_err(told)
        };
        change(suspend(true)).await?;
        bed.wait(Duration::from_secs(60)).await;
        let job = get(&bed, Resource::JOBS, "late").await;
        assert_eq!(condition(&job, "Suspended")["status"], "True");
        assert_eq!(condition(&job, "Suspended")["reason"], "JobSuspended");
        assert!(job["status"]["startTime"].is_null() && job["status"]["failed"].is_null(), "{}", job["status"]);
        assert!(pods(&bed).is_empty());
        change(suspend(false)).await?;
        bed.wait(Duration::from_secs(40)).await;
        let job = get(&bed, Resource::JOBS, "late").await;
        assert_eq!(condition(&job, "Suspended")["reason"], "JobResumed");
        assert_eq!((&job["status"]["active"], pods(&bed).len()), (&json!(2), 2));
        bed.settle().await?;
        let job = get(&bed, Resource::JOBS, "late").await;
        assert_eq!(condition(&job, "Failed")["reason"], "DeadlineExceeded");
        assert_eq!(condition(&job, "Failed")["message"], "Job was active longer than specified deadline");
        assert_eq!(job["status"]["failed"], 2);
        assert!(pods(&bed).is_empty(), "those that ran are deleted");
        let said = events(&bed).await;
        for text in ["Suspended: Job suspended", "Resumed: Job resumed"] {
            assert_eq!(said[text], 1, "{said:?}");
        }
        assert_eq!(said["DeadlineExceeded: Job was active longer than specified deadline"], 1);
        assert_eq!(started(&said, "SuccessfulDelete: Deleted pod: late-"), 4);
        Ok(())
    });
}

#[test]
fn a_job_that_is_over_goes_after_its_time_and_its_pods_with_it() {
    passes(Options::new(6), |bed| async move {
        bed.start(workloads(&ALL));
        bed.start(ender(&bed, "Pending", |_, _| 0));
        create(&bed, Resource::JOBS, &job("gone", json!({"ttlSecondsAfterFinished": 100}))).await?;
        bed.wait(Duration::from_secs(60)).await;
        assert_eq!(condition(&get(&bed, Resource::JOBS, "gone").await, "Complete")["status"], "True");
        bed.settle().await?;
        assert!(get(&bed, Resource::JOBS, "gone").await.is_null());
        assert!(pods(&bed).is_empty());
        Ok(())
    });
}

#[test]
fn pods_of_a_job_that_is_deleted_are_let_go() {
    passes(Options::new(7), |bed| async move {
        bed.start(workloads(&ALL));
        create(&bed, Resource::JOBS, &job("gone", json!({"parallelism": 3, "completions": 3}))).await?;
        bed.wait(Duration::from_secs(5)).await;
        assert_eq!(pods(&bed).len(), 3);
        let path = Resource::JOBS.path("default", "gone");
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"});
        bed.objects().send::<Value>(http::Method::DELETE, &path, Some(&options)).await.map_err(told)?;
        bed.settle().await?;
        assert!(pods(&bed).is_empty(), "{:?}", pods(&bed));
        Ok(())
    });
}

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

/// The story that is told with a death at every write: a pod fails, one is too many, the others succeed, the job is complete.
fn story(faults: Faults) -> (Report, Value) {
    let ended: Arc<Mutex<Value>> = Arc::default();
    let told_to = ended.clone();
    let report = bed::run(Options::new(20).faults(faults), |bed| async move {
        bed.start(workloads(&[Controller::Job, Controller::TtlAfterFinished]));
        let spec = json!({"completions": 3, "parallelism": 3, "backoffLimit": 4});
        create(&bed, Resource::JOBS, &job("story", spec)).await?;
        bed.settle().await?;
        let patch = json!({"spec": {"parallelism": 2}});
        bed.objects().merge::<Value>(Resource::JOBS, "default", "story", "", &patch).await.map_err(told)?;
        bed.settle().await?;
        // The first that ends fails.
        bed.start(ender(&bed, "Pending", |_, all| i64::from(!all.iter().any(|p| phase(p) == "Failed"))));
        bed.settle().await?;
        let mut job = get(&bed, Resource::JOBS, "story").await;
        let status = job["status"].as_object_mut().unwrap();
        for field in ["startTime", "completionTime"] {
            assert!(status.remove(field).is_some_and(|time| time.is_string()), "{field}");
        }
        for condition in status["conditions"].as_array_mut().unwrap() {
            condition["lastProbeTime"] = json!("<time>");
            condition["lastTransitionTime"] = json!("<time>");
        }
        let mut phases: Vec<Value> =
            pods(&bed).iter().map(|p| json!([p["status"]["phase"], p["metadata"]["finalizers"]])).collect();
        phases.sort_by_key(Value::to_string);
        *told_to.lock().unwrap() = json!({"status": status, "pods": phases});
        Ok(())
    });
    let ended = ended.lock().unwrap().clone();
    (report, ended)
}

#[test]
fn killed_at_every_write_a_job_ends_as_if_its_controller_had_lived() {
    let (calm, wanted) = story(Faults::none());
    assert_eq!(calm.outcome, Ok(()), "{}", calm.trace);
    assert_eq!((&wanted["status"]["succeeded"], &wanted["status"]["failed"]), (&json!(3), &json!(1)), "{wanted}");
    assert_eq!(wanted["pods"].as_array().unwrap().len(), 4, "{wanted}");
    let writes = calm.writes["workloads"];
    assert!(writes > 15, "{writes}");
    let deaths: Vec<_> = (0..writes).flat_map(|write| [When::Before, When::After].map(|when| (write, when))).collect();
    let failures = Mutex::new(Vec::new());
    side_by_side(deaths.len() as u64, |i| {
        let (write, when) = deaths[i as usize];
        let (report, ended) = story(Faults::none().kill("workloads", write, when));
        let well = report.outcome == Ok(()) && ended == wanted;
        if !well {
            let (outcome, trace) = (report.outcome, report.trace);
            let account = format!("killed {when:?} write {write}: {outcome:?}\n{ended:#}\n{wanted:#}\n{trace}");
            failures.lock().unwrap().push(account);
        }
        well
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    eprintln!("{} deaths", deaths.len());
}

/// A job under faults: whatever is lost, delayed or said twice, every pod that ended is in the counters, once.
fn random_job(options: Options) -> Report {
    let seed = options.seed;
    bed::run(options, |bed| async move {
        bed.start(workloads(&[Controller::Job]));
        bed.start(ender(&bed, "Pending", |_, all| {
            let failed = all.iter().filter(|p| phase(p) == "Failed").count();
            let ended = all.iter().filter(|p| phase(p) != "Pending").count();
            i64::from(failed < 2 && ended % 2 == 0)
        }));
        let mut spec = json!({"completions": 4, "parallelism": 3, "backoffLimit": 6});
        if seed % 2 == 0 {
            spec["completionMode"] = json!("Indexed");
        }
        create(&bed, Resource::JOBS, &job("chance", spec)).await?;
        bed.settle().await?;
        let job = get(&bed, Resource::JOBS, "chance").await;
        let status = &job["status"];
        let count = |wanted: &str| pods(&bed).iter().filter(|p| phase(p) == wanted).count();
        let counted = |field: &str| usize::try_from(status[field].as_i64().unwrap_or(0)).unwrap();
        let indexes = |wanted: &str| -> BTreeSet<String> {
            let of = |p: &Arc<Value>| p["metadata"]["annotations"][INDEX].to_string();
            pods(&bed).iter().filter(|p| phase(p) == wanted).map(of).collect()
        };
        // An index counts once, however many pods of it succeed.
        let succeeded = if seed % 2 == 0 { indexes("Succeeded").len() } else { count("Succeeded") };
        if condition(&job, "Complete")["status"] != "True" || status["uncountedTerminatedPods"] != json!({}) {
            return Err(format!("it is not complete: {status}"));
        }
        if (counted("succeeded"), counted("failed")) != (succeeded, count("Failed")) || succeeded < 4 {
            return Err(format!(
                "{status} of {:?}",
                pods(&bed).iter().map(|p| phase(p).to_owned()).collect::<Vec<_>>()
            ));
        }
        if let Some(kept) = pods(&bed).iter().find(|p| !p["metadata"]["finalizers"].is_null()) {
            return Err(format!("a pod is kept: {kept}"));
        }
        Ok(())
    })
}

#[test]
fn three_hundred_seeds_of_faults_count_every_pod_once() {
    let name = "three_hundred_seeds_of_faults_count_every_pod_once";
    let summary = Seeds::new("workloads_batch", name, 300).check(random_job);
    eprintln!("{summary:?}");
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
    let summary = Seeds::new("workloads_batch", name, 40).check(random_silence);
    eprintln!("{summary:?}");
}
