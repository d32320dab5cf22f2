use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use plimsoll_clock::Entropy;
use plimsoll_engine::labels::Name;
use tokio::net::TcpListener;

use super::*;
use crate::fake::Store;

/// What came to a collector.
type Taken = Arc<Mutex<Vec<Told>>>;

fn taken(all: &Taken) -> Vec<Told> {
    all.lock().unwrap().clone()
}

/// A collector in this process: answers the `n`th request as told, and keeps what it accepts.
fn collector(answer: impl Fn(usize) -> (u16, Duration) + Send + Sync + 'static) -> (SpansConfig, Taken) {
    let all: Taken = Arc::default();
    let (keep, asked) = (all.clone(), AtomicUsize::new(0));
    let transport: Transport = Arc::new(move |request| {
        let (code, after) = answer(asked.fetch_add(1, Ordering::Relaxed));
        let keep = keep.clone();
        async move {
            tokio::time::sleep(after).await;
            if code == 0 {
                return Err("connection refused".to_owned());
            }
            if code == 200 {
                assert_eq!(request.headers()["content-type"], "application/x-protobuf");
                keep.lock().unwrap().extend(read(request.body()).unwrap());
            }
            Ok((StatusCode::from_u16(code).unwrap(), Bytes::new()))
        }
        .boxed()
    });
    let endpoint = endpoint("http://collector").unwrap();
    (SpansConfig { endpoint, service: "plimsoll-test", per_million: ALL, transport }, all)
}

fn context() -> Context {
    let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
    Context::new(Store::default().client(), clock, Arc::new(Entropy::seeded(1)))
}

/// A second's work in two phases, one of which has a part that failed.
async fn work(spans: &Spans) {
    let began = Instant::now();
    let Some(mut trace) = spans.trace("work", began) else { return };
    trace.set("who", "a");
    trace.set("who", &Name::from("b"));
    tokio::time::sleep(Duration::from_millis(400)).await;
    trace.add(Phase::since("first", began));
    let second = Instant::now();
    tokio::time::sleep(Duration::from_millis(600)).await;
    trace.add(Phase::since("asking", second).call().failed(Some("nobody there")));
    let list = Value::List(vec!["x".into(), "y".into()]);
    trace.add_around(1, Phase::since("second", second).with("count", 7usize).with("all", list));
}

fn dropped(context: &Context, reason: &str) -> u64 {
    let line = format!("plimsoll_spans_dropped_total{{reason=\"{reason}\"}} ");
    let text = context.metrics.text();
    text.lines().find_map(|l| l.strip_prefix(&line)).map_or(0, |n| n.parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn spans_arrive_with_their_times_and_parents_and_replay_from_a_seed() {
    let mut runs = Vec::new();
    for _ in 0..2 {
        let context = context();
        let (config, all) = collector(|_| (200, Duration::ZERO));
        let spans = Spans::start(&context, config);
        tokio::time::sleep(Duration::from_secs(5)).await;
        work(&spans).await;
        let origin = spans.trace("other", Instant::now()).unwrap().origin();
        spans.late(origin, Phase::since("late", Instant::now()));
        tokio::time::sleep(Duration::from_secs(2)).await;
        context.tasks.shut_down(Duration::from_secs(5)).await;
        runs.push(taken(&all));
    }
    let all = &runs[0];
    let named = |name: &str| all.iter().find(|told| told.name == name).unwrap();
    let (work, first, second, asking) = (named("work"), named("first"), named("second"), named("asking"));
    assert!(work.parent.is_empty() && work.id.len() == 8 && work.trace.len() == 16, "{work:?}");
    assert_eq!((&first.parent, &second.parent, &asking.parent), (&work.id, &work.id, &second.id));
    assert!(all.iter().filter(|told| told.name != "other" && told.name != "late").all(|t| t.trace == work.trace));
    let start = 1_767_225_600_000_000_000 + 5_000_000_000;
    assert_eq!((work.from, work.to), (start, start + 1_000_000_000));
    assert_eq!((first.to, second.from, asking.to), (start + 400_000_000, start + 400_000_000, start + 1_000_000_000));
    assert_eq!(work.attributes, [("who".to_owned(), "b".to_owned())].into());
    assert_eq!((&*second.attributes["count"], &*second.attributes["all"]), ("7", "x,y"));
    assert_eq!((asking.error.as_deref(), asking.is_call, work.is_call), (Some("nobody there"), true, false));
    assert_eq!(work.service, "plimsoll-test");
    let (other, late) = (named("other"), named("late"));
    assert_eq!((&late.parent, &late.trace), (&other.id, &other.trace));
    assert_eq!(runs[0], runs[1], "the same seed");
}

#[tokio::test(start_paused = true)]
async fn off_nothing_is_kept() {
    let spans = context().spans;
    assert!(!spans.is_on() && spans.mark().is_none());
    assert!(spans.trace("work", Instant::now()).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_share_is_sampled() {
    let context = context();
    let (config, _) = collector(|_| (200, Duration::ZERO));
    for (per_million, least, most) in [(0, 0, 0), (ALL, 1000, 1000), (250_000, 200, 300)] {
        let spans = Spans::start(&context, SpansConfig { per_million, ..config.clone() });
        let kept = (0..1000).filter(|_| spans.trace("work", Instant::now()).is_some()).count();
        assert!((least..=most).contains(&kept), "{kept} at {per_million}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_collector_that_is_away_for_a_while_gets_the_spans_when_it_is_back() {
    let context = context();
    let answers = [0, 503, 429, 200];
    let (config, all) = collector(move |n| (answers[n.min(3)], Duration::ZERO));
    let spans = Spans::start(&context, config);
    work(&spans).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(taken(&all).len(), 4);
    assert!(context.metrics.text().contains("plimsoll_spans_exported_total 4\n"));
    assert!(!context.metrics.text().contains("plimsoll_spans_dropped_total{"));
}

#[tokio::test(start_paused = true)]
async fn a_collector_that_refuses_or_never_answers_loses_spans_and_nobody_waits() {
    for (code, after, reason) in
        [(500, 0, "refused"), (400, 0, "refused"), (0, 0, "unreachable"), (200, 3600, "unreachable")]
    {
        let context = context();
        let (config, all) = collector(move |_| (code, Duration::from_secs(after)));
        let spans = Spans::start(&context, config);
        work(&spans).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!((dropped(&context, reason), taken(&all).len()), (4, 0), "{code}");
        // More than can be kept: letting go of a trace takes no time whatever the collector does.
        let began = Instant::now();
        for _ in 0..QUEUE + BATCH_AND_MORE {
            drop(spans.trace("burst", began));
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert_eq!(dropped(&context, "queue_full"), BATCH_AND_MORE as u64);
    }
}

const BATCH_AND_MORE: usize = 300;

#[tokio::test(start_paused = true)]
async fn at_the_end_what_was_said_is_told_within_a_bound() {
    // Told though the moment in which more may come is not over.
    let context = context();
    let (config, all) = collector(|_| (200, Duration::from_millis(100)));
    let spans = Spans::start(&context, config);
    work(&spans).await;
    let began = Instant::now();
    context.tasks.shut_down(Duration::from_secs(1)).await;
    assert_eq!((taken(&all).len(), began.elapsed()), (4, Duration::from_millis(100)));
    drop(spans.trace("too late", began));
    assert_eq!(dropped(&context, "shutdown"), 1);
    // A collector that is not there costs one try, one that is silent less than a second.
    for (code, after, took) in [(0, 0, 0), (200, 3600, 700)] {
        let context = self::context();
        let (config, _) = collector(move |_| (code, Duration::from_secs(after)));
        let spans = Spans::start(&context, config);
        work(&spans).await;
        let began = Instant::now();
        context.tasks.shut_down(Duration::from_secs(1)).await;
        assert_eq!((dropped(&context, "shutdown"), began.elapsed()), (4, Duration::from_millis(took)), "{code}");
    }
}

/// Over the network, in real time: a collector on loopback, which takes all but one span.
#[tokio::test]
async fn spans_go_over_the_network() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let all: Taken = Arc::default();
    let keep = all.clone();
    let server = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let service = service_fn(async |request: Request<Incoming>| {
            assert_eq!((request.method().as_str(), request.uri().path()), ("POST", "/otel/v1/traces"));
            let body = request.into_body().collect().await.unwrap().to_bytes();
            keep.lock().unwrap().extend(read(&body).unwrap());
            // One is rejected: `{1: {1: 1, 2: "no"}}`.
            let answer = Bytes::from_static(&[0x0a, 6, 0x08, 1, 0x12, 2, b'n', b'o']);
            Ok::<_, std::convert::Infallible>(Response::new(Full::new(answer)))
        });
        let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
    });
    let context = Context::new(Store::default().client(), Clock::System, Arc::new(Entropy::seeded(1)));
    let endpoint = endpoint(&format!("http://{address}/otel/")).unwrap();
    let spans = Spans::start(&context, SpansConfig::network(endpoint, "plimsoll-test", ALL).unwrap());
    work(&spans).await;
    context.tasks.shut_down(Duration::from_secs(5)).await;
    server.abort();
    let names: Vec<String> = taken(&all).into_iter().map(|told| told.name).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    assert_eq!(dropped(&context, "refused"), 1);
    assert!(context.metrics.text().contains("plimsoll_spans_exported_total 3\n"));
}

#[test]
fn an_address_is_read_as_opentelemetry_reads_it() {
    for (given, whole) in [
        ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
        ("https://collector.example/", "https://collector.example/v1/traces"),
        ("http://c/otel", "http://c/otel/v1/traces"),
        ("http://c/v1/traces", "http://c/v1/traces"),
    ] {
        assert_eq!(endpoint(given).unwrap().to_string(), whole);
    }
    for wrong in ["", "localhost:4317", "ftp://c", "http://", "/v1/traces", "http://c?x=1"] {
        assert!(endpoint(wrong).unwrap_err().contains("is not the address of a collector"), "{wrong}");
    }
    let secret = endpoint("http://me:hunter2@c").unwrap_err();
    assert!(secret.contains("no name or password") && !secret.contains("hunter2"), "{secret}");
}

#[test]
fn what_is_no_message_is_not_read() {
    for wrong in [&[0x0a, 5, 1][..], &[0xff; 12], &[0x0b], &[0x09, 1], &[0x0a]] {
        assert!(wire::fields(wrong).is_none() && read(wrong).is_none(), "{wrong:?}");
        assert_eq!(wire::rejected(wrong), None);
    }
    assert_eq!(read(&[]), Some(Vec::new()));
}
