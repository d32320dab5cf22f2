//! The spans of attempts to place pods, as a collector gets them. In virtual time.

#![allow(clippy::unwrap_used, reason = "a test: what is missing is a failure")]

mod lab;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http::StatusCode;
use lab::{Lab, pass};
use plimsoll_controllers::Options as Controllers;
use plimsoll_runtime::outbound::Transport;
use plimsoll_runtime::spans::{self, Spans, SpansConfig, Told};
use plimsoll_runtime::{Context, Resource};
use plimsoll_scheduler::Options;
use plimsoll_scheduler::config::ExtenderConfig;
use plimsoll_scheduler::extenders::{Extender, Extenders};
use serde_json::{Value, json};

/// What a collector got.
#[derive(Clone, Default)]
struct Collected(Arc<Mutex<Vec<Told>>>);

impl Collected {
    fn all(&self) -> Vec<Told> {
        self.0.lock().unwrap().clone()
    }

    /// The attempts to place a pod, the first first.
    fn attempts(&self, pod: &str) -> Vec<Told> {
        let is_of = |told: &Told| told.parent.is_empty() && told.attributes["k8s.pod.name"] == pod;
        let mut all: Vec<Told> = self.all().into_iter().filter(is_of).collect();
        all.sort_by_key(|told| told.attributes["plimsoll.attempt"].parse::<u32>().unwrap());
        all
    }

    /// The parts of a span in the order of time.
    fn parts(&self, whole: &Told) -> Vec<Told> {
        let is_part = |told: &Told| told.parent == whole.id && told.trace == whole.trace;
        let mut all: Vec<Told> = self.all().into_iter().filter(is_part).collect();
        all.sort_by_key(|told| (told.from, told.to));
        for part in &all {
            // A report is written after the attempt has ended.
            let within = part.from >= whole.from && part.from <= part.to && part.to <= whole.to;
            assert!(within || part.name == "report", "{part:?} is not within {whole:?}");
        }
        all
    }

    fn part(&self, whole: &Told, name: &str) -> Told {
        let all = self.parts(whole);
        all.iter().find(|told| told.name == name).unwrap_or_else(|| panic!("{name} is not among {all:#?}")).clone()
    }

    fn names(&self, whole: &Told) -> Vec<String> {
        let mut names: Vec<String> = self.parts(whole).into_iter().map(|told| told.name).collect();
        names.sort();
        names
    }
}

fn seconds(told: &Told) -> f64 {
    (told.to - told.from) as f64 / 1e9
}

/// A collector that answers with a code, after a while.
fn collector(code: u16, after: Duration) -> (SpansConfig, Collected) {
    let collected = Collected::default();
    let keep = collected.clone();
    let transport: Transport = Arc::new(move |request| {
        let keep = keep.clone();
        async move {
            tokio::time::sleep(after).await;
            keep.0.lock().unwrap().extend(spans::read(request.body()).unwrap());
            Ok((StatusCode::from_u16(code).unwrap(), Bytes::new()))
        }
        .boxed()
    });
    let endpoint = spans::endpoint("http://collector").unwrap();
    (SpansConfig { endpoint, service: "plimsoll-scheduler", per_million: spans::ALL, transport }, collected)
}

async fn cluster_with(config: SpansConfig, options: Options) -> (Lab, Context) {
    let lab = Lab::new().await;
    lab.two_zones().await;
    let mut context = lab.context();
    context.spans = Spans::start(&context, config);
    plimsoll_controllers::start(&context, &Controllers::default());
    plimsoll_scheduler::start(&context, options);
    (lab, context)
}

async fn cluster(options: Options) -> (Lab, Context, Collected) {
    let (config, collected) = collector(200, Duration::ZERO);
    let (lab, context) = cluster_with(config, options).await;
    (lab, context, collected)
}

/// Waits until a pod has its node, and until that was told.
async fn placed(lab: &Lab, pod: &str) -> String {
    let pod = lab.until(Resource::PODS, pod, |pod| pod["spec"]["nodeName"].is_string()).await;
    pass(3).await;
    pod["spec"]["nodeName"].as_str().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_pod_with_a_delayed_claim_tells_of_every_phase() {
    let (lab, _context, collected) = cluster(Options::default()).await;
    lab.claim("data", "local", json!({})).await;
    lab.pod("db", "", &["data"]).await;
    pass(20).await;
    lab.volume("on-n2", "local", "n2").await;
    assert_eq!(placed(&lab, "db").await, "n2");
    let attempts = collected.attempts("db");
    let (first, last) = (attempts.first().unwrap(), attempts.last().unwrap());
    assert!(first.id != last.id && first.trace != last.trace);
    // Nothing fitted.
    let said = |told: &Told, key: &str| told.attributes.get(key).cloned().unwrap_or_default();
    assert_eq!((&*said(first, "plimsoll.outcome"), &first.error), ("unschedulable", &None));
    assert!(said(first, "plimsoll.message").starts_with("0/2 nodes are available: "), "{first:?}");
    assert_eq!(collected.names(first), ["decide", "queue", "report"]);
    assert_eq!(collected.names(&collected.part(first, "decide")), ["choose", "diagnose", "find room"]);
    assert!(collected.part(first, "report").is_call);
    // Then it did, twenty seconds later.
    let pod = lab.get(Resource::PODS, "db").await;
    for (key, value) in [
        ("k8s.namespace.name", "default"),
        ("k8s.pod.uid", pod["metadata"]["uid"].as_str().unwrap()),
        ("k8s.node.name", "n2"),
        ("plimsoll.profile", "default-scheduler"),
        ("plimsoll.attempt", &attempts.len().to_string()),
        ("plimsoll.outcome", "scheduled"),
    ] {
        assert_eq!(said(last, key), value, "{key} of {last:?}");
    }
    assert_eq!(last.service, "plimsoll-scheduler");
    assert_eq!(
        collected.names(last),
        ["bind", "decide", "queue", "reserve", "wait for volumes", "write volume"],
        "{:#?}",
        collected.parts(last)
    );
    let queue = collected.part(last, "queue");
    assert!((15.0..25.0).contains(&seconds(&queue)), "{queue:?}");
    assert_eq!(queue.from, last.from);
    assert_eq!(said(&collected.part(last, "write volume"), "k8s.persistentvolume.name"), "on-n2");
    let (wrote, bind) = (collected.part(last, "wait for volumes"), collected.part(last, "bind"));
    assert!(wrote.to <= bind.from && bind.is_call, "{wrote:?} {bind:?}");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_preempts_tells_of_its_victims() {
    let (lab, _context, collected) = cluster(Options::default()).await;
    let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": "high"}, "value": 100});
    let path = "/apis/scheduling.k8s.io/v1/priorityclasses";
    lab.objects.send::<Value>(http::Method::POST, path, Some(&class)).await.unwrap();
    let pod = |name: &str, class: Option<&str>, node: Option<&str>| {
        json!({"metadata": {"name": name}, "spec": {"priorityClassName": class, "nodeName": node,
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}]}})
    };
    for (name, node) in [("small", "n1"), ("large", "n2")] {
        let class = (name == "large").then_some("high");
        lab.create(Resource::PODS, pod(name, class, Some(node))).await;
    }
    lab.create(Resource::PODS, pod("p", Some("high"), None)).await;
    pass(5).await;
    let attempts = collected.attempts("p");
    let first = attempts.first().unwrap();
    assert_eq!(first.attributes["plimsoll.outcome"], "unschedulable");
    assert_eq!(collected.names(first), ["decide", "evict", "queue", "report"]);
    let evict = collected.part(first, "evict");
    assert_eq!(evict.attributes["plimsoll.victims"], "default/small");
    assert_eq!((&*evict.attributes["k8s.node.name"], evict.is_call), ("n1", true));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_extenders_are_asked_about_tells_of_each_question() {
    let transport: Transport = Arc::new(|request| {
        let verb = request.uri().path().trim_start_matches('/').to_owned();
        let args: Value = serde_json::from_slice(request.body()).unwrap();
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            match &*verb {
                "filter" => Ok((StatusCode::OK, Bytes::from(json!({"NodeNames": args["NodeNames"]}).to_string()))),
                _ => Err("gone away".to_owned()),
            }
        }
        .boxed()
    });
    let config = ExtenderConfig {
        url_prefix: "http://extender".to_owned(),
        filter_verb: Some("filter".to_owned()),
        preempt_verb: None,
        prioritize_verb: Some("prioritize".to_owned()),
        weight: 1,
        bind_verb: None,
        tls: None,
        timeout: Duration::from_secs(5),
        node_cache_capable: true,
        managed_resources: Vec::new(),
        ignorable: false,
    };
    let extenders = Extenders::from(vec![Extender::new(config, transport)]);
    let (lab, _context, collected) = cluster(Options { extenders, ..Options::default() }).await;
    lab.pod("web", "", &[]).await;
    placed(&lab, "web").await;
    let attempts = collected.attempts("web");
    let decide = collected.part(&attempts[0], "decide");
    assert_eq!(collected.names(&decide), ["extender filter", "extender prioritize", "rank"]);
    let (filter, prioritize) =
        (collected.part(&decide, "extender filter"), collected.part(&decide, "extender prioritize"));
    assert_eq!((seconds(&filter), seconds(&prioritize), seconds(&decide)), (1.0, 1.0, 2.0));
    assert_eq!(filter.attributes["url.full"], "http://extender");
    assert!(filter.error.is_none() && prioritize.error.as_deref().is_some_and(|e| e.contains("gone away")));
}

#[tokio::test(start_paused = true)]
async fn a_placement_whose_pod_goes_is_abandoned() {
    let (lab, _context, collected) = cluster(Options::default()).await;
    // Nobody makes the volume; the pod goes while it waits.
    lab.class("remote", "example.com/nobody", true, json!({})).await;
    lab.claim("data", "remote", json!({})).await;
    lab.pod("db", "", &["data"]).await;
    pass(30).await;
    assert_eq!(lab::selected(&lab.get(Resource::CLAIMS, "data").await).map(|node| node.len()), Some(2));
    assert!(collected.attempts("db").is_empty(), "it is not over");
    lab.delete(Resource::PODS, "db").await;
    pass(30).await;
    let attempts = collected.attempts("db");
    let [told] = attempts.as_slice() else { panic!("{attempts:#?}") };
    assert_eq!(told.attributes["plimsoll.outcome"], "abandoned");
    assert_eq!(collected.names(told), ["decide", "queue", "reserve", "wait for volumes", "write claim"]);
    let waited = collected.part(told, "wait for volumes");
    assert!(seconds(&waited) > 29.0, "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn pods_are_placed_as_quickly_whatever_the_collector_does() {
    let mut took = Vec::new();
    for (code, after) in [(200, 0), (500, 0), (503, 0), (200, 3600)] {
        let (config, _) = collector(code, Duration::from_secs(after));
        let (lab, context) = cluster_with(config, Options::default()).await;
        let began = tokio::time::Instant::now();
        for number in 0..20 {
            lab.pod(&format!("p{number}"), "", &[]).await;
        }
        for number in 0..20 {
            lab.until(Resource::PODS, &format!("p{number}"), |pod| pod["spec"]["nodeName"].is_string()).await;
        }
        took.push(began.elapsed());
        pass(120).await;
        let text = context.metrics.text();
        assert_eq!(text.contains("plimsoll_spans_dropped_total{"), (code, after) != (200, 0), "{code}: {text}");
    }
    assert!(took.iter().all(|time| *time == took[0]), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn off_by_default() {
    let lab = Lab::new().await;
    lab.two_zones().await;
    let context = lab.context();
    assert!(!context.spans.is_on());
    plimsoll_scheduler::start(&context, Options::default());
    lab.pod("web", "", &[]).await;
    placed(&lab, "web").await;
    assert!(!context.metrics.text().contains("plimsoll_spans"));
}
