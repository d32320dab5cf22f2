//! Jobs, on the in-memory API server in virtual time: to their end, killed at every write, and under faults.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test: what is missing is a failure")]

mod batch;
mod common;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use batch::{ALL, INDEX, condition, ender, events, get, job, passes, phase, pods, scheduler, started, workloads};
use common::{create, told};
use plimsoll_runtime::Resource;
use plimsoll_simulate::seeds::side_by_side;
use plimsoll_simulate::{Faults, Machine, Options, Report, Seeds, When, bed};
use plimsoll_workloads::Controller;
use serde_json::{Value, json};

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
        if seed.is_multiple_of(2) {
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
        let succeeded = if seed.is_multiple_of(2) { indexes("Succeeded").len() } else { count("Succeeded") };
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
