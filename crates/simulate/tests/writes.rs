//! The scheduler's writes when the API server refuses them for the moment or its answers are lost, in virtual time.

#![allow(clippy::unwrap_used, reason = "a test: what is missing is a failure")]

mod lab;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::FutureExt;
use lab::{Lab, Meddle, pass, selected};
use plimsoll_controllers::Options as Controllers;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::{Context, Resource};
use plimsoll_scheduler::config::ExtenderConfig;
use plimsoll_scheduler::extenders::{Extender, Extenders, Transport};
use plimsoll_scheduler::{Options, Scheduler};
use serde_json::{Value, json};

/// Two nodes and the controllers; the scheduler's requests are meddled with.
async fn cluster<F>(meddle: impl Fn(&http::Method, &str) -> F + Send + Sync + 'static) -> (Lab, [Context; 2], Scheduler)
where
    F: Future<Output = Option<Meddle>> + Send + 'static,
{
    let lab = Lab::new().await;
    lab.two_zones().await;
    let (controllers, context) = (lab.context(), lab.meddled(meddle));
    plimsoll_controllers::start(&controllers, &Controllers::default());
    let scheduler = plimsoll_scheduler::start(&context, Options::default());
    (lab, [controllers, context], scheduler)
}

/// Meets the first `times` requests of this method whose path ends so with `fate`.
fn first(
    times: u32,
    wanted: http::Method,
    end: &'static str,
    fate: Meddle,
) -> impl Fn(&http::Method, &str) -> Option<Meddle> + Send + Sync + 'static {
    let left = AtomicU32::new(times);
    move |method, path| {
        let meant = *method == wanted && path.ends_with(end);
        let take = || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        (meant && take()).then_some(fate)
    }
}

fn node_of(pod: &Value) -> Option<&str> {
    pod["spec"]["nodeName"].as_str()
}

async fn failures(lab: &Lab, pod: &str) -> Vec<String> {
    let events = lab.events(pod).await;
    events.into_iter().filter(|(reason, _)| reason == "FailedScheduling").map(|(_, message)| message).collect()
}

/// Asks for a node's cpu, at a priority.
fn wide(name: &str, cpu: &str, priority: i32, claims: &[&str]) -> Value {
    let volumes: Vec<Value> =
        claims.iter().map(|claim| json!({"name": claim, "persistentVolumeClaim": {"claimName": claim}})).collect();
    json!({"metadata": {"name": name}, "spec": {"priority": priority, "priorityClassName": class_of(priority), "volumes": volumes,
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}})
}

fn class_of(priority: i32) -> &'static str {
    if priority > 0 { "high" } else { "" }
}

#[tokio::test(start_paused = true)]
async fn a_server_with_too_much_to_do_is_asked_again_when_it_says() {
    let wait = Meddle::Refuse(429, Some(7));
    let all = [
        first(1, http::Method::PUT, "/persistentvolumes/on-n2", wait),
        first(1, http::Method::PUT, "/persistentvolumeclaims/made", wait),
        first(2, http::Method::POST, "/binding", wait),
    ];
    let meddle = move |method: &http::Method, path: &str| {
        let fate = all.iter().find_map(|one| one(method, path));
        async move { fate }
    };
    let (lab, _contexts, _) = cluster(meddle).await;
    lab.volume("on-n2", "local", "n2").await;
    lab.claim("data", "local", json!({})).await;
    let began = tokio::time::Instant::now();
    lab.pod("db", "", &["data"]).await;
    lab.until(Resource::PODS, "db", |pod| node_of(pod) == Some("n2")).await;
    let took = began.elapsed().as_secs();
    assert!((21..24).contains(&took), "three waits of seven seconds: {took}");
    assert_eq!(failures(&lab, "db").await, [""; 0]);

    lab.class("slow", "example.com/csi", true, json!({})).await;
    lab.claim("made", "slow", json!({})).await;
    lab.pod("web", "", &["made"]).await;
    lab.until(Resource::CLAIMS, "made", |claim| selected(claim).is_some()).await;
    assert_eq!(failures(&lab, "web").await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_has_time_is_given_up_with_the_time_to_bind() {
    let busy = first(19, http::Method::POST, "/binding", Meddle::Refuse(429, Some(30)));
    let (lab, _contexts, _) = cluster(move |method, path| std::future::ready(busy(method, path))).await;
    lab.pod("web", "", &[]).await;
    pass(569).await;
    assert_eq!(failures(&lab, "web").await, [""; 0]);
    lab.until(Resource::PODS, "web", |pod| node_of(pod).is_some()).await;
    // And where it goes on for longer than that.
    let busy = first(u32::MAX, http::Method::POST, "/binding", Meddle::Refuse(429, None));
    let (lab, _contexts, _) = cluster(move |method, path| std::future::ready(busy(method, path))).await;
    lab.pod("web", "", &[]).await;
    pass(590).await;
    assert_eq!(failures(&lab, "web").await, [""; 0]);
    pass(15).await;
    assert_eq!(failures(&lab, "web").await, ["running Bind plugin \"DefaultBinder\": refused on purpose"]);
}

#[tokio::test(start_paused = true)]
async fn a_placement_that_waits_for_the_server_can_be_called_off() {
    let busy = first(1, http::Method::PUT, "/persistentvolumes/on-n2", Meddle::Refuse(429, Some(300)));
    let (lab, _contexts, _) = cluster(move |method, path| std::future::ready(busy(method, path))).await;
    lab.volume("on-n2", "local", "n2").await;
    lab.claim("data", "local", json!({})).await;
    let mut pod = wide("db", "3", 0, &["data"]);
    pod["metadata"]["finalizers"] = json!(["example.com/kept"]);
    lab.create(Resource::PODS, pod).await;
    lab.until(Resource::PODS, "db", |pod| pod["status"]["nominatedNodeName"] == "n2").await;
    lab.delete(Resource::PODS, "db").await;
    pass(5).await;
    let said = failures(&lab, "db").await;
    assert_eq!(said, ["running PreBind plugin \"VolumeBinding\": skip schedule deleting pod: default/db"]);
    assert!(lab.get(Resource::VOLUMES, "on-n2").await["spec"]["claimRef"].is_null());
}

#[tokio::test(start_paused = true)]
async fn where_many_pods_are_expected_is_written_by_and_by() {
    const PODS: usize = 60;
    let (lab, _contexts, _) = cluster(|_, _| std::future::ready(None)).await;
    lab.class("slow", "example.com/csi", true, json!({})).await;
    for i in 0..PODS {
        lab.claim(&format!("made-{i}"), "slow", json!({})).await;
        lab.pod(&format!("db-{i}"), "", &[&format!("made-{i}")]).await;
    }
    let written = async || {
        let mut count = 0;
        for i in 0..PODS {
            let pod = lab.get(Resource::PODS, &format!("db-{i}")).await;
            count += usize::from(pod["status"]["nominatedNodeName"].is_string());
        }
        count
    };
    lab.until(Resource::CLAIMS, &format!("made-{}", PODS - 1), |claim| selected(claim).is_some()).await;
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let soon = written().await;
    assert!((1..=30).contains(&soon), "{soon}");
    pass(60).await;
    assert_eq!(written().await, PODS);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_being_deleted_gives_its_place_up_though_it_stays() {
    let (lab, _contexts, scheduler) = cluster(|_, _| std::future::ready(None)).await;
    lab.delete(Resource::NODES, "n2").await;
    lab.class("slow", "example.com/csi", true, json!({})).await;
    lab.claim("made", "slow", json!({})).await;
    let mut pod = wide("db", "3", 0, &["made"]);
    pod["metadata"]["finalizers"] = json!(["example.com/kept"]);
    lab.create(Resource::PODS, pod).await;
    lab.until(Resource::CLAIMS, "made", |claim| selected(claim) == Some("n1")).await;
    lab.create(Resource::PODS, wide("next", "3", 0, &[])).await;
    pass(30).await;
    assert_eq!(node_of(&lab.get(Resource::PODS, "next").await), None);
    lab.delete(Resource::PODS, "db").await;
    pass(15).await;
    assert_eq!(node_of(&lab.get(Resource::PODS, "next").await), Some("n1"));
    let kept = lab.get(Resource::PODS, "db").await;
    assert!(kept["metadata"]["deletionTimestamp"].is_string() && node_of(&kept).is_none(), "{kept:#}");
    // It is not tried again.
    pass(700).await;
    assert_eq!(failures(&lab, "db").await.len(), 1);
    assert!(scheduler.is_idle());
}

#[tokio::test(start_paused = true)]
async fn a_binding_whose_answer_is_lost_is_looked_for_until_the_server_knows_us_again() {
    let lost = first(1, http::Method::POST, "/binding", Meddle::LoseAnswer);
    let stranger = first(3, http::Method::GET, "/pods/web", Meddle::Refuse(401, None));
    let meddle = move |method: &http::Method, path: &str| {
        std::future::ready(lost(method, path).or_else(|| stranger(method, path)))
    };
    let (lab, _contexts, _) = cluster(meddle).await;
    lab.pod("web", "", &[]).await;
    lab.until(Resource::PODS, "web", |pod| node_of(pod).is_some()).await;
    pass(30).await;
    assert_eq!(failures(&lab, "web").await, [""; 0]);
    assert!(lab.said("web", "Scheduled").await.is_some());
}

#[tokio::test(start_paused = true)]
async fn an_extenders_binding_whose_answer_is_lost_is_looked_for() {
    let lab = Lab::new().await;
    lab.two_zones().await;
    let objects = lab.objects.clone();
    let asked = Arc::new(AtomicU32::new(0));
    let counted = asked.clone();
    let transport: Transport = Arc::new(move |request| {
        let args: Value = serde_json::from_slice(request.body()).unwrap();
        let objects = objects.clone();
        counted.fetch_add(1, Ordering::Relaxed);
        async move {
            let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": args["PodName"]},
                "target": {"kind": "Node", "name": args["Node"]}});
            let path = Resource::PODS.sub_path("default", args["PodName"].as_str().unwrap(), "binding");
            objects.send::<Value>(http::Method::POST, &path, Some(&binding)).await.unwrap();
            Err("connection reset by peer".to_owned())
        }
        .boxed()
    });
    let config = ExtenderConfig { bind_verb: Some("bind".to_owned()), ..extender() };
    let context = lab.context();
    let extenders = Extenders::from(vec![Extender::new(config, transport)]);
    plimsoll_scheduler::start(&context, Options { extenders, ..Options::default() });
    lab.pod("web", "", &[]).await;
    pass(30).await;
    assert!(node_of(&lab.get(Resource::PODS, "web").await).is_some());
    assert_eq!(failures(&lab, "web").await, [""; 0]);
    assert!(lab.said("web", "Scheduled").await.is_some());
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

fn extender() -> ExtenderConfig {
    ExtenderConfig {
        url_prefix: "http://extender".to_owned(),
        filter_verb: None,
        preempt_verb: None,
        prioritize_verb: None,
        weight: 1,
        bind_verb: None,
        tls: None,
        timeout: std::time::Duration::from_secs(5),
        node_cache_capable: true,
        managed_resources: Vec::new(),
        ignorable: false,
    }
}

#[tokio::test(start_paused = true)]
async fn nodes_that_change_while_an_extender_is_asked_are_asked_about_next() {
    let lab = Lab::new().await;
    lab.roomy_node("n1", "a").await;
    let objects = lab.objects.clone();
    let transport: Transport = Arc::new(move |request| {
        let args: Value = serde_json::from_slice(request.body()).unwrap();
        let objects = objects.clone();
        async move {
            let answer = if args["NodeNames"] == json!(["n1"]) {
                // The node goes, another comes, and the scheduler hears of both before the answer.
                let gone = plimsoll_runtime::Preconditions::default();
                objects.delete(Resource::NODES, "", "n1", &gone).await.unwrap();
                let amounts = json!({"cpu": "4", "memory": "8Gi", "pods": "110"});
                let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n2"},
                    "status": {"allocatable": amounts, "capacity": amounts}});
                objects.create::<Value>(Resource::NODES, "", &node).await.unwrap();
                pass(1).await;
                json!({"NodeNames": [], "FailedNodes": {"n1": "not today"}})
            } else {
                json!({"NodeNames": args["NodeNames"]})
            };
            Ok((http::StatusCode::OK, bytes::Bytes::from(answer.to_string())))
        }
        .boxed()
    });
    let config = ExtenderConfig { filter_verb: Some("filter".to_owned()), ..extender() };
    let context = lab.context();
    let extenders = Extenders::from(vec![Extender::new(config, transport)]);
    plimsoll_scheduler::start(&context, Options { extenders, ..Options::default() });
    lab.pod("web", "", &[]).await;
    pass(30).await;
    assert_eq!(node_of(&lab.get(Resource::PODS, "web").await), Some("n2"));
    assert_eq!(failures(&lab, "web").await, ["the nodes changed while the extenders were asked"]);
}

#[tokio::test(start_paused = true)]
async fn a_victim_is_not_gone_because_somebody_else_wrote_it() {
    let conflict = Meddle::Refuse(409, None);
    let marking = first(1, http::Method::PATCH, "/pods/weak/status", conflict);
    let deleting = first(1, http::Method::DELETE, "/pods/weak", conflict);
    let meddle = move |method: &http::Method, path: &str| {
        std::future::ready(marking(method, path).or_else(|| deleting(method, path)))
    };
    let (lab, _contexts, _) = cluster(meddle).await;
    let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 100});
    let path = "/apis/scheduling.k8s.io/v1/priorityclasses";
    lab.objects.send::<Value>(http::Method::POST, path, Some(&class)).await.unwrap();
    lab.delete(Resource::NODES, "n2").await;
    lab.create(Resource::PODS, wide("weak", "3", 0, &[])).await;
    lab.until(Resource::PODS, "weak", |pod| node_of(pod).is_some()).await;
    lab.create(Resource::PODS, wide("strong", "3", 100, &[])).await;
    pass(15).await;
    let victim = lab.get(Resource::PODS, "weak").await;
    assert!(victim["metadata"]["deletionTimestamp"].is_string(), "nobody asked it to go: {victim:#}");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_ended_is_not_put_back_by_who_writes_its_condition() {
    let lab = Lab::new().await;
    let (objects, conflict) =
        (lab.objects.clone(), first(1, http::Method::PATCH, "/pods/web/status", Meddle::Refuse(409, None)));
    let meddle = move |method: &http::Method, path: &str| {
        let (objects, fate) = (objects.clone(), conflict(method, path));
        async move {
            if fate.is_some() {
                // It ends, and is written once more: of that the scheduler's watch says nothing.
                let ended = json!({"status": {"phase": "Failed"}});
                objects.merge::<Value>(Resource::PODS, "default", "web", "status", &ended).await.unwrap();
                let label = json!({"metadata": {"labels": {"a": "b"}}});
                objects.merge::<Value>(Resource::PODS, "default", "web", "", &label).await.unwrap();
                pass(1).await;
            }
            fate
        }
    };
    let context = lab.meddled(meddle);
    let scheduler = plimsoll_scheduler::start(&context, Options::default());
    lab.pod("web", "", &[]).await;
    pass(60).await;
    assert_eq!(lab.get(Resource::PODS, "web").await["metadata"]["labels"]["a"], "b");
    let known = scheduler.inspect(|catalog| catalog.pod(&ObjectKey::new("default", "web")).is_some());
    assert!(!known, "it came back");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_cannot_be_told_an_extender_yet_is_asked_about_later() {
    let lab = Lab::new().await;
    // The scheduler lists nodes twice, for itself and for extenders, and then watches them twice: the second watch fails.
    let asked = AtomicU32::new(0);
    let context = lab.meddled(move |method, path| {
        let nodes = *method == http::Method::GET && path == "/api/v1/nodes";
        let late = nodes && (3..6).contains(&asked.fetch_add(1, Ordering::Relaxed));
        std::future::ready(late.then_some(Meddle::Refuse(503, None)))
    });
    let transport: Transport = Arc::new(|request| {
        let args: Value = serde_json::from_slice(request.body()).unwrap();
        let answer = json!({"Nodes": args["Nodes"]}).to_string();
        async move { Ok((http::StatusCode::OK, bytes::Bytes::from(answer))) }.boxed()
    });
    let config = ExtenderConfig { filter_verb: Some("filter".to_owned()), node_cache_capable: false, ..extender() };
    let extenders = Extenders::from(vec![Extender::new(config, transport)]);
    plimsoll_scheduler::start(&context, Options { extenders, ..Options::default() });
    lab.roomy_node("n1", "a").await;
    lab.pod("web", "", &[]).await;
    pass(60).await;
    let said = failures(&lab, "web").await;
    let why = "1 node(s) that fit are not known well enough to ask extenders about";
    assert!(said.iter().any(|message| message == why), "{said:?}");
    assert_eq!(node_of(&lab.get(Resource::PODS, "web").await), Some("n1"));
}
