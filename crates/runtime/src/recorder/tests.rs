//! The recorder against a small API, in virtual time.

use super::*;
use crate::fake::{Fault, Store, context};
use http::Method;

fn claim(name: &str) -> About {
    About {
        resource: Resource::CLAIMS,
        namespace: "n".to_owned(),
        name: name.to_owned(),
        uid: "u".to_owned(),
        version: "41".to_owned(),
    }
}

async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn an_event_is_written_as_upstream_writes_it() {
    let store = Store::default();
    let context = context(store.client());
    let recorder = Recorder::new(&context, "persistentvolume-controller");
    tokio::time::sleep(Duration::from_micros(1_500_001)).await;
    recorder.event(&claim("c"), Severity::Normal, "WaitForFirstConsumer", "waiting");
    settle().await;
    let posts = store.done(&Method::POST);
    assert_eq!(posts[0].0, "/api/v1/namespaces/n/events");
    let event = &posts[0].1;
    let name = event["metadata"]["name"].as_str().unwrap();
    // Tokio's clock is in whole milliseconds.
    let nanos = i64::from_str_radix(name.strip_prefix("c.").unwrap(), 16).unwrap();
    assert_eq!(nanos / 1_000_000_000, 1_767_225_601);
    let expected = json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": name, "namespace": "n"},
        "involvedObject": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "n", "name": "c",
                           "uid": "u", "resourceVersion": "41"},
        "reason": "WaitForFirstConsumer", "message": "waiting", "type": "Normal",
        "source": {"component": "persistentvolume-controller"},
        "firstTimestamp": "2026-01-01T00:00:01Z", "lastTimestamp": "2026-01-01T00:00:01Z", "count": 1,
        "eventTime": null, "reportingComponent": "persistentvolume-controller", "reportingInstance": "",
    });
    assert_eq!(*event, expected);

    let volume = About { resource: Resource::VOLUMES, namespace: String::new(), ..claim("v") };
    recorder.event(&volume, Severity::Warning, "VolumeMismatch", "no");
    settle().await;
    let (path, event) = store.done(&Method::POST).remove(1);
    assert_eq!(path, "/api/v1/namespaces/default/events");
    assert_eq!(event["metadata"]["namespace"], "default");
    assert_eq!(event["involvedObject"]["namespace"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn a_repeated_event_is_counted_and_a_forgotten_one_is_made_anew() {
    let store = Store::default();
    let context = context(store.client());
    let recorder = Recorder::new(&context, "c");
    recorder.event(&claim("c"), Severity::Normal, "R", "m");
    settle().await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    recorder.event(&claim("c"), Severity::Normal, "R", "m");
    settle().await;
    let event = store.objects().remove(0);
    assert_eq!(event["count"], 2);
    assert_eq!(event["firstTimestamp"], "2026-01-01T00:00:00Z");
    assert_eq!(event["lastTimestamp"], "2026-01-01T00:00:05Z");
    assert_eq!(store.done(&Method::PATCH).len(), 1);

    let path = format!("/api/v1/namespaces/n/events/{}", event["metadata"]["name"].as_str().unwrap());
    store.remove(&path);
    recorder.event(&claim("c"), Severity::Normal, "R", "m");
    settle().await;
    let event = store.object(&path).unwrap();
    assert_eq!((&event["count"], &event["firstTimestamp"]), (&json!(3), &json!("2026-01-01T00:00:00Z")));
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_does_not_write_twice() {
    let store = Store::default();
    let tries = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counted = tries.clone();
    store.faults(move |_, _| {
        let first = counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
        first.then_some(Fault::LoseAnswer)
    });
    let context = context(store.client());
    let recorder = Recorder::new(&context, "c");
    recorder.event(&claim("c"), Severity::Normal, "R", "m");
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(store.objects().len(), 1);
    assert_eq!(tries.load(std::sync::atomic::Ordering::Relaxed), 2);
    // It goes on after that.
    recorder.event(&claim("d"), Severity::Normal, "R", "m");
    settle().await;
    assert_eq!(store.objects().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_tried_twelve_times_and_a_refusal_once() {
    let store = Store::default();
    let tries = Arc::new(std::sync::Mutex::new(Vec::new()));
    let asked = tries.clone();
    store.faults(move |_, _| {
        asked.lock().unwrap().push(tokio::time::Instant::now());
        Some(Fault::Refuse(if asked.lock().unwrap().len() > 12 { 403 } else { 503 }))
    });
    let context = context(store.client());
    let recorder = Recorder::new(&context, "c");
    recorder.event(&claim("c"), Severity::Normal, "R", "m");
    recorder.event(&claim("d"), Severity::Normal, "R", "m");
    tokio::time::sleep(Duration::from_secs(300)).await;
    let tries = tries.lock().unwrap();
    assert_eq!(tries.len(), 13);
    let first = tries[1] - tries[0];
    assert!(first < Duration::from_secs(10), "{first:?}");
    assert!(tries[2..12].iter().zip(&tries[1..]).all(|(b, a)| *b - *a >= BETWEEN_TRIES));
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_drops_and_counts() {
    let store = Store::default();
    store.faults(|_, _| Some(Fault::Silence));
    let context = context(store.client());
    let recorder = Recorder::new(&context, "c");
    for _ in 0..QUEUE + 3 {
        recorder.event(&claim("c"), Severity::Normal, "R", "m");
    }
    let text = context.metrics.text();
    assert!(text.contains("plimsoll_events_dropped_total{name=\"c\"} 3"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn what_is_said_to_the_end_is_written() {
    let store = Store::default();
    store.faults(|_, _| Some(Fault::Late(Duration::from_millis(100))));
    let context = context(store.client());
    let recorder = Recorder::new(&context, "c");
    let (stopping, late) = (context.tasks.token(), recorder.clone());
    context.tasks.spawn("worker", async move {
        stopping.cancelled().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        late.event(&claim("last"), Severity::Normal, "R", "m");
    });
    for i in 0..5 {
        recorder.event(&claim(&format!("c{i}")), Severity::Normal, "R", "m");
    }
    context.tasks.shut_down(Duration::from_secs(10)).await;
    assert_eq!(store.objects().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_gone_does_not_hold_up_the_end() {
    let store = Store::default();
    store.faults(|_, _| Some(Fault::Refuse(503)));
    let context = context(store.client());
    let recorder = Recorder::new(&context, "c");
    for i in 0..5 {
        recorder.event(&claim(&format!("c{i}")), Severity::Normal, "R", "m");
    }
    settle().await;
    let began = tokio::time::Instant::now();
    context.tasks.shut_down(Duration::from_secs(10)).await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

#[test]
fn names_are_fit_for_events() {
    let entropy = Entropy::seeded(1);
    let at: Timestamp = "2026-01-01T00:00:00.000000001Z".parse().unwrap();
    assert_eq!(name("c", at, &entropy), "c.18867251edfa0001");
    let whole: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    assert_ne!(name("c", whole, &entropy), name("c", whole, &entropy));
    for odd in ["C", "system:x", "a_b", "-a", &"x".repeat(240)] {
        assert_eq!(name(odd, at, &entropy).len(), 36, "{odd}");
    }
}
