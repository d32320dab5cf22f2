//! What the scheduler says of its work: figures, the decision log, readiness. In virtual time.

#![allow(clippy::unwrap_used, reason = "a test: what is missing is a failure")]

mod lab;

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use lab::{Lab, pass};
use plimsoll_controllers::Options as Controllers;
use plimsoll_runtime::{Context, Resource};
use plimsoll_scheduler::Options;
use serde_json::{Value, json};

async fn cluster(options: Options) -> (Lab, Context) {
    let lab = Lab::new().await;
    lab.two_zones().await;
    let context = lab.context();
    plimsoll_controllers::start(&context, &Controllers::default());
    plimsoll_scheduler::start(&context, options);
    (lab, context)
}

/// A pod that waits twenty seconds for its volume and is then placed.
async fn story(lab: &Lab) {
    lab.claim("data", "local", json!({})).await;
    lab.pod("db", "", &["data"]).await;
    pass(20).await;
    lab.volume("on-n2", "local", "n2").await;
    lab.until(Resource::PODS, "db", |pod| pod["spec"]["nodeName"].is_string()).await;
    pass(1).await;
}

#[tokio::test(start_paused = true)]
async fn figures_have_upstreams_names() {
    let (lab, context) = cluster(Options::default()).await;
    lab.claim("data", "local", json!({})).await;
    lab.pod("db", "", &["data"]).await;
    pass(20).await;
    let text = context.metrics.text();
    let refused = "scheduler_unschedulable_pods{plugin=\"VolumeBinding\",profile=\"default-scheduler\"} 1";
    for line in [refused, "scheduler_pending_pods{queue=\"unschedulable\"} 1", "scheduler_cache_size{type=\"nodes\"} 2"]
    {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    lab.volume("on-n2", "local", "n2").await;
    lab.until(Resource::PODS, "db", |pod| pod["spec"]["nodeName"].is_string()).await;
    pass(1).await;
    let text = context.metrics.text();
    let result = |result: &str| format!("{{profile=\"default-scheduler\",result=\"{result}\"}}");
    let there = [
        format!("scheduler_schedule_attempts_total{} 1", result("scheduled")),
        format!("scheduler_scheduling_attempt_duration_seconds_count{} 1", result("scheduled")),
        "scheduler_pod_scheduling_attempts_count 1".to_owned(),
        "scheduler_pending_pods{queue=\"unschedulable\"} 0".to_owned(),
        "scheduler_cache_size{type=\"pods\"} 1".to_owned(),
        "scheduler_framework_extension_point_duration_seconds_count{extension_point=\"PreBind\",profile=\"default-scheduler\",status=\"Success\"} 1".to_owned(),
    ];
    for line in there {
        assert!(text.contains(&line), "{line} is not in\n{text}");
    }
    assert!(!text.contains("scheduler_unschedulable_pods{"), "{text}");
    // It waited in virtual time, which its figure has.
    let sum =
        text.lines().find_map(|line| line.strip_prefix("scheduler_pod_scheduling_sli_duration_seconds_sum")).unwrap();
    let waited: f64 = sum.rsplit(' ').next().unwrap().parse().unwrap();
    assert!((20.0..40.0).contains(&waited), "{sum}");
}

#[tokio::test(start_paused = true)]
async fn every_decision_is_logged_with_what_it_was_made_from() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let log = File::options().append(true).open(file.path()).unwrap();
    let options = Options { decisions: Some(Arc::new(log)), ..Options::default() };
    let (lab, context) = cluster(options).await;
    story(&lab).await;
    // What was said is written before the end.
    context.tasks.shut_down(Duration::from_secs(5)).await;
    let text = std::fs::read_to_string(file.path()).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (first, last) = (lines.first().unwrap(), lines.last().unwrap());
    assert_eq!(first["outcome"], "unschedulable");
    assert_eq!(first["verdicts"], json!([{"plugin": "VolumeBinding", "code": "PL011", "nodes": 2}]), "{first}");
    assert!(first["message"].as_str().unwrap().starts_with("0/2 nodes are available: "), "{first}");
    assert_eq!((&last["outcome"], &last["choice"]["node"]), (&json!("scheduled"), &json!("n2")), "{last}");
    assert_eq!((&last["nodes"], &last["feasible"]), (&json!(2), &json!(1)));
    assert_eq!(last["attempt"], lines.len());
    let claim = &last["choice"]["claims"][0];
    assert_eq!(
        (&claim["name"], &claim["outcome"], &claim["volume"]),
        (&json!("data"), &json!("static"), &json!("on-n2"))
    );
    let pod = lab.get(Resource::PODS, "db").await;
    assert_eq!(last["pod"]["uid"], pod["metadata"]["uid"]);
    for version in ["/inputs/pod", "/inputs/claims/default~1data", "/inputs/volumes/on-n2", "/inputs/newest/Node"] {
        assert!(last.pointer(version).and_then(Value::as_u64).is_some_and(|v| v > 0), "{version} of {last}");
    }
    assert!(last["latency"]["total"].as_f64().unwrap() >= 0.0);
}

/// How many pods there are with a node, and how many events say so.
async fn placed_and_told(lab: &Lab) -> (usize, usize) {
    let list = async |resource: Resource| -> Vec<Value> {
        let path = resource.collection(Some("default"));
        let list: Value = lab.objects.send(http::Method::GET, &path, None).await.unwrap();
        list["items"].as_array().cloned().unwrap_or_default()
    };
    let placed = list(Resource::PODS).await.iter().filter(|pod| pod["spec"]["nodeName"].is_string()).count();
    let told = list(Resource::EVENTS).await.iter().filter(|event| event["reason"] == "Scheduled").count();
    (placed, told)
}

#[tokio::test(start_paused = true)]
async fn slow_events_hold_up_no_placement_and_come_soon_after_it() {
    const PODS: usize = 160;
    let lab = Lab::new().await;
    lab.two_zones().await;
    let context = lab.slow_events(Duration::from_millis(100));
    plimsoll_scheduler::start(&context, Options::default());
    for i in 0..PODS {
        lab.pod(&format!("p{i}"), "", &[]).await;
    }
    tokio::time::sleep(Duration::from_millis(150)).await;
    let (placed, told) = placed_and_told(&lab).await;
    assert_eq!(placed, PODS);
    assert!(told < PODS, "{told} events in one round");
    // One after the other they would take sixteen seconds; what is under way is also written when the process is asked to end.
    let began = tokio::time::Instant::now();
    context.tasks.shut_down(Duration::from_secs(6)).await;
    assert_eq!(placed_and_told(&lab).await, (PODS, PODS));
    assert!(began.elapsed() < Duration::from_millis(1100), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_refused_in_the_same_words_again_has_a_series() {
    let stay = Duration::from_secs(20);
    let (lab, _context) = cluster(Options { longest_stay: stay, ..Options::default() }).await;
    let huge = json!([{"name": "c", "image": "i", "resources": {"requests": {"cpu": "64"}}}]);
    lab.create(Resource::PODS, json!({"metadata": {"name": "huge"}, "spec": {"containers": huge}})).await;
    // The first time, then under the version that has the condition, and then the same again.
    pass(90).await;
    let path = Resource::SERIES.collection(Some("default"));
    let events: Value = lab.objects.send(http::Method::GET, &path, None).await.unwrap();
    let events = events["items"].as_array().unwrap();
    assert_eq!(events.len(), 2, "{events:#?}");
    for event in events {
        assert_eq!((&event["action"], &event["reason"]), (&json!("Scheduling"), &json!("FailedScheduling")));
        assert_eq!(event["reportingController"], "default-scheduler");
        assert_eq!(event["reportingInstance"], "default-scheduler-localhost");
    }
    assert_eq!((&events[0]["series"], &events[1]["series"]["count"]), (&Value::Null, &json!(2)), "{events:#?}");
    assert!(events[1]["series"]["lastObservedTime"].is_string(), "{events:#?}");
    // The same object in the old view, as kubectl shows it.
    let core: Value = lab.get(Resource::EVENTS, events[1]["metadata"]["name"].as_str().unwrap()).await;
    assert_eq!((&core["series"]["count"], &core["reportingComponent"]), (&json!(2), &json!("default-scheduler")));
    assert_eq!((&core["message"], &core["involvedObject"]["name"]), (&events[1]["note"], &json!("huge")));
}
