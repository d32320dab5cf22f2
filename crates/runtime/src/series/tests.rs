//! The recorder against a small API, in virtual time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use http::Method;

use super::*;
use crate::fake::{Fault, Store, context};

const ALL: &str = "/apis/events.k8s.io/v1/namespaces/n/events";

fn pod(name: &str) -> About {
    About {
        resource: Resource::PODS,
        namespace: "n".to_owned(),
        name: name.to_owned(),
        uid: format!("u-{name}"),
        version: "41".to_owned(),
    }
}

fn saying<'a>(about: &'a About, note: &'a str) -> Saying<'a> {
    let (severity, reason, action) = (Severity::Warning, "FailedScheduling", "Scheduling");
    Saying { about, related: None, severity, reason, action, note }
}

async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

async fn minutes(count: u64) {
    tokio::time::sleep(Duration::from_secs(60 * count)).await;
}

/// A store, a context on it, and a recorder of that.
fn recorder() -> (Store, Context, SeriesRecorder) {
    let store = Store::default();
    let context = context(store.client());
    let recorder = SeriesRecorder::new(&context, "default-scheduler", "here");
    (store, context, recorder)
}

#[tokio::test(start_paused = true)]
async fn an_event_is_written_as_upstream_writes_it() {
    let (store, _context, recorder) = recorder();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let (victim, preemptor) = (pod("victim"), pod("preemptor"));
    recorder.event(Saying {
        related: Some(&preemptor),
        severity: Severity::Normal,
        reason: "Preempted",
        action: "Preempting",
        ..saying(&victim, "Preempted by pod u on node n1")
    });
    settle().await;
    let posts = store.done(&Method::POST);
    assert_eq!(posts[0].0, ALL);
    let event = &posts[0].1;
    let name = event["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("victim."), "{name}");
    let reference = |name: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "namespace": "n", "name": name, "uid": format!("u-{name}"),
            "resourceVersion": "41"})
    };
    let expected = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": {"name": name, "namespace": "n"},
        "eventTime": "2026-01-01T00:00:01.500000Z",
        "reportingController": "default-scheduler", "reportingInstance": "default-scheduler-here",
        "action": "Preempting", "reason": "Preempted", "type": "Normal",
        "regarding": reference("victim"), "related": reference("preemptor"),
        "note": "Preempted by pod u on node n1",
    });
    assert_eq!(*event, expected);
}

#[tokio::test(start_paused = true)]
async fn the_second_makes_a_series_and_the_others_are_counted_until_it_is_over() {
    let (store, _context, recorder) = recorder();
    let p = pod("p");
    for _ in 0..4 {
        recorder.event(saying(&p, "m"));
        minutes(1).await;
    }
    let event = store.objects().remove(0);
    assert_eq!(event["series"], json!({"count": 2, "lastObservedTime": "2026-01-01T00:01:00.000000Z"}));
    assert_eq!((store.done(&Method::POST).len(), store.done(&Method::PATCH).len()), (1, 1));
    minutes(9).await;
    let event = store.objects().remove(0);
    assert_eq!(event["series"], json!({"count": 4, "lastObservedTime": "2026-01-01T00:03:00.000000Z"}));
    assert_eq!(store.done(&Method::PATCH).len(), 2);
    // It is over: what is said now is another.
    recorder.event(saying(&p, "m"));
    settle().await;
    assert_eq!(store.objects().len(), 2);
    minutes(60).await;
    assert_eq!((store.done(&Method::POST).len(), store.done(&Method::PATCH).len()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn another_version_action_or_companion_is_another_event_and_so_are_other_words() {
    let (store, _context, recorder) = recorder();
    let (p, q) = (pod("p"), pod("q"));
    let newer = About { version: "42".to_owned(), ..p.clone() };
    recorder.event(saying(&p, "m"));
    recorder.event(saying(&newer, "m"));
    recorder.event(Saying { action: "Binding", ..saying(&p, "m") });
    recorder.event(Saying { related: Some(&q), ..saying(&p, "m") });
    recorder.event(Saying { severity: Severity::Normal, ..saying(&p, "m") });
    recorder.event(saying(&p, "other words"));
    recorder.event(saying(&p, "other words"));
    settle().await;
    assert_eq!(store.objects().len(), 6);
    assert_eq!(store.done(&Method::PATCH).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn many_warnings_of_one_object_are_all_written() {
    let (store, _context, recorder) = recorder();
    for version in 0..60 {
        let p = About { version: version.to_string(), ..pod("p") };
        recorder.event(saying(&p, &format!("the {version}th")));
        recorder.event(saying(&pod("q"), &format!("the {version}th")));
    }
    settle().await;
    assert_eq!(store.objects().len(), 120);
    assert_eq!(store.done(&Method::PATCH).len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_series_that_goes_on_is_written_again_every_half_hour() {
    let (store, _context, recorder) = recorder();
    let p = pod("p");
    tokio::time::sleep(Duration::from_secs(30)).await;
    for _ in 0..70 {
        recorder.event(saying(&p, "m"));
        minutes(1).await;
    }
    let counts: Vec<Value> =
        store.done(&Method::PATCH).iter().map(|(_, body)| body["series"]["count"].clone()).collect();
    assert_eq!(counts, [2, 30, 60].map(Value::from));
}

#[tokio::test(start_paused = true)]
async fn a_series_waits_for_its_event_to_be_there() {
    let (store, _context, recorder) = recorder();
    store.faults(|_, _| Some(Fault::Late(Duration::from_millis(100))));
    let p = pod("p");
    for _ in 0..3 {
        recorder.event(saying(&p, "m"));
    }
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert_eq!((store.done(&Method::POST).len(), store.done(&Method::PATCH).len()), (1, 0));
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(store.objects()[0]["series"]["count"], 3);
    assert_eq!((store.done(&Method::POST).len(), store.done(&Method::PATCH).len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_series_whose_event_was_forgotten_is_made_anew() {
    let (store, _context, recorder) = recorder();
    let p = pod("p");
    recorder.event(saying(&p, "m"));
    settle().await;
    let path = format!("{ALL}/{}", store.objects()[0]["metadata"]["name"].as_str().unwrap());
    store.remove(&path);
    recorder.event(saying(&p, "m"));
    settle().await;
    assert_eq!(store.object(&path).unwrap()["series"]["count"], 2);
}

#[tokio::test(start_paused = true)]
async fn lost_answers_do_not_write_twice() {
    let (store, _context, recorder) = recorder();
    let tries = Arc::new(AtomicU32::new(0));
    let counted = tries.clone();
    store.faults(move |_, _| counted.fetch_add(1, Ordering::Relaxed).is_multiple_of(2).then_some(Fault::LoseAnswer));
    let p = pod("p");
    recorder.event(saying(&p, "m"));
    minutes(1).await;
    recorder.event(saying(&p, "m"));
    minutes(1).await;
    assert_eq!(store.objects().len(), 1);
    assert_eq!(store.objects()[0]["series"]["count"], 2);
    assert_eq!(tries.load(Ordering::Relaxed), 4);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_tried_twelve_times_and_a_refusal_once() {
    let (store, _context, recorder) = recorder();
    let tries = Arc::new(Mutex::new(Vec::new()));
    let asked = tries.clone();
    store.faults(move |_, _| {
        let mut asked = asked.lock().unwrap();
        asked.push(Instant::now());
        Some(Fault::Refuse(if asked.len() > 12 { 403 } else { 503 }))
    });
    recorder.event(saying(&pod("p"), "m"));
    minutes(5).await;
    recorder.event(saying(&pod("q"), "m"));
    minutes(5).await;
    let tries = tries.lock().unwrap();
    assert_eq!(tries.len(), 13);
    let waits = tries[1..12].iter().zip(&tries[..]).map(|(b, a)| (*b - *a).as_secs_f64());
    assert!(waits.into_iter().all(|wait| (10.0..12.6).contains(&wait)), "{tries:?}");
}

#[tokio::test(start_paused = true)]
async fn slow_writes_are_side_by_side_and_failing_ones_hold_up_nobody() {
    let (store, _context, recorder) = recorder();
    // One namespace is broken, and every write takes its time.
    store.faults(|_, path| {
        Some(if path.contains("/broken/") { Fault::Refuse(500) } else { Fault::Late(Duration::from_millis(20)) })
    });
    for i in 0..100 {
        let p = About { namespace: "broken".to_owned(), ..pod(&format!("b{i}")) };
        recorder.event(saying(&p, "m"));
    }
    for i in 0..800 {
        recorder.event(saying(&pod(&format!("p{i}")), "m"));
    }
    // Fifty rounds of sixteen.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert_eq!(store.objects().len(), 800);
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_drops_and_counts() {
    let (store, context, recorder) = recorder();
    store.faults(|_, _| Some(Fault::Silence));
    for i in 0..QUEUE + 3 {
        recorder.event(saying(&pod(&format!("p{i}")), "m"));
    }
    let text = context.metrics.text();
    assert!(text.contains("plimsoll_events_dropped_total{name=\"default-scheduler\"} 3"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn what_was_forgotten_for_want_of_memory_is_written_to_its_end() {
    let (store, _context, recorder) = recorder();
    let p = pod("p");
    for _ in 0..5 {
        recorder.event(saying(&p, "m"));
        settle().await;
    }
    for i in 0..9_000 {
        recorder.event(saying(&pod(&format!("p{i}")), "m"));
    }
    settle().await;
    let counts: Vec<Value> =
        store.done(&Method::PATCH).iter().map(|(_, body)| body["series"]["count"].clone()).collect();
    assert_eq!(counts, [2, 5].map(Value::from));
}

#[tokio::test(start_paused = true)]
async fn what_is_said_to_the_end_is_written_and_a_server_that_is_gone_does_not_hold_it_up() {
    let (store, context, recorder) = recorder();
    store.faults(|_, _| Some(Fault::Late(Duration::from_millis(100))));
    for i in 0..100 {
        recorder.event(saying(&pod(&format!("p{i}")), "m"));
    }
    let began = Instant::now();
    context.tasks.shut_down(Duration::from_secs(10)).await;
    assert_eq!(store.objects().len(), 100);
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());

    let (store, context, recorder) = self::recorder();
    store.faults(|_, _| Some(Fault::Refuse(503)));
    for i in 0..100 {
        recorder.event(saying(&pod(&format!("p{i}")), "m"));
    }
    settle().await;
    let began = Instant::now();
    context.tasks.shut_down(Duration::from_secs(10)).await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

#[test]
fn long_notes_are_cut_between_letters() {
    assert_eq!(cut(&"x".repeat(1024)), "x".repeat(1024));
    assert_eq!(cut(&"x".repeat(1025)), format!("{} ...", "x".repeat(1020)));
    assert_eq!(cut(&"é".repeat(600)), format!("{} ...", "é".repeat(510)));
    assert_eq!(cut(&format!("x{}", "é".repeat(600))), format!("x{} ...", "é".repeat(509)));
}
