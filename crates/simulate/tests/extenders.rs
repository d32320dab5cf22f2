//! The scheduler with HTTP extenders, in virtual time: what they are asked, and what comes of their answers.

#![allow(clippy::unwrap_used, reason = "a test: what is missing is a failure")]

mod lab;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http::StatusCode;
use lab::{Lab, pass};
use plimsoll_controllers::Options as Controllers;
use plimsoll_runtime::{Context, Resource};
use plimsoll_scheduler::Options;
use plimsoll_scheduler::config::ExtenderConfig;
use plimsoll_scheduler::extenders::{Extender, Extenders, Transport};
use serde_json::{Value, json};

/// The verbs that were asked, with what was sent.
type Asked = Arc<Mutex<Vec<(String, Value)>>>;

/// An extender in this process, which answers as told.
fn extender(
    config: ExtenderConfig,
    answer: impl Fn(&str, &Value) -> Result<Value, u16> + Send + Sync + 'static,
) -> (Extender, Asked) {
    let asked: Asked = Arc::default();
    let seen = asked.clone();
    let transport: Transport = Arc::new(move |request| {
        let verb = request.uri().path().trim_start_matches('/').to_owned();
        let args: Value = serde_json::from_slice(request.body()).unwrap();
        seen.lock().unwrap().push((verb.clone(), args.clone()));
        let answer = match answer(&verb, &args) {
            Ok(answer) => (StatusCode::OK, Bytes::from(answer.to_string())),
            Err(code) => (StatusCode::from_u16(code).unwrap(), Bytes::new()),
        };
        async move { Ok(answer) }.boxed()
    });
    (Extender::new(config, transport), asked)
}

fn config(verbs: &[&str]) -> ExtenderConfig {
    let verb = |name: &str| verbs.contains(&name).then(|| name.to_owned());
    ExtenderConfig {
        url_prefix: "http://extender".to_owned(),
        filter_verb: verb("filter"),
        preempt_verb: verb("preempt"),
        prioritize_verb: verb("prioritize"),
        weight: 1,
        bind_verb: verb("bind"),
        tls: None,
        timeout: Duration::from_secs(5),
        node_cache_capable: true,
        managed_resources: Vec::new(),
        ignorable: false,
    }
}

/// Two nodes and a scheduler that asks this extender.
async fn cluster(extender: Extender) -> (Lab, Context) {
    let lab = Lab::new().await;
    lab.two_zones().await;
    let context = lab.context();
    plimsoll_controllers::start(&context, &Controllers::default());
    plimsoll_scheduler::start(&context, Options { extenders: Extenders::from(vec![extender]), ..Options::default() });
    (lab, context)
}

fn node_of(pod: &Value) -> Option<&str> {
    pod["spec"]["nodeName"].as_str()
}

async fn placed(lab: &Lab, pod: &str) -> String {
    let pod = lab.until(Resource::PODS, pod, |pod| node_of(pod).is_some()).await;
    node_of(&pod).unwrap_or_default().to_owned()
}

fn condition(pod: &Value) -> (String, String) {
    let condition = &pod["status"]["conditions"][0];
    let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    (text("reason"), text("message"))
}

fn verbs(asked: &Asked) -> Vec<String> {
    asked.lock().unwrap().iter().map(|(verb, _)| verb.clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn an_extenders_scores_decide_and_its_binding_places() {
    let answer = |verb: &str, args: &Value| {
        Ok(match verb {
            "filter" => json!({"NodeNames": args["NodeNames"]}),
            // Ten points are a hundred of ours.
            "prioritize" => json!([{"Host": "n2", "Score": 10}]),
            _ => json!({"Error": ""}),
        })
    };
    let (extender, asked) = extender(config(&["filter", "prioritize", "bind"]), answer);
    let (lab, _context) = cluster(extender).await;
    lab.pod("web", "", &[]).await;
    pass(5).await;
    assert_eq!(verbs(&asked), ["filter", "prioritize", "bind"]);
    let (_, filter) = asked.lock().unwrap()[0].clone();
    assert_eq!(filter["NodeNames"], json!(["n1", "n2"]));
    assert_eq!(filter["Pod"]["metadata"]["name"], "web");
    assert!(filter["Pod"]["kind"].is_null() && filter["Pod"]["metadata"]["managedFields"].is_null(), "{filter}");
    let (_, bind) = asked.lock().unwrap()[2].clone();
    assert_eq!((&bind["PodName"], &bind["Node"]), (&json!("web"), &json!("n2")));
    // This extender says that it bound the pod, and did not: nobody else does.
    assert_eq!(node_of(&lab.get(Resource::PODS, "web").await), None);
}

#[tokio::test(start_paused = true)]
async fn a_pod_goes_where_the_extender_leaves_it_and_its_volume_is() {
    let answer = |_: &str, args: &Value| Ok(json!({"nodes": {"items": args["Nodes"]["items"]}}));
    let (extender, asked) =
        extender(ExtenderConfig { node_cache_capable: false, ..config(&["filter", "prioritize"]) }, answer);
    let (lab, _context) = cluster(extender).await;
    lab.volume("on-n2", "local", "n2").await;
    lab.claim("data", "local", json!({})).await;
    lab.pod("db", "", &["data"]).await;
    assert_eq!(placed(&lab, "db").await, "n2");
    // Asked about the nodes that fit only, whole; and not how good the only one is.
    let (_, filter) = asked.lock().unwrap().last().unwrap().clone();
    let items = filter["Nodes"]["items"].as_array().unwrap().clone();
    assert_eq!(items.len(), 1);
    assert_eq!(items[0]["metadata"]["name"], "n2");
    assert!(items[0]["status"]["allocatable"]["cpu"].is_string(), "{items:?}");
    assert!(verbs(&asked).iter().all(|verb| verb == "filter"), "{:?}", verbs(&asked));
}

#[tokio::test(start_paused = true)]
async fn what_an_extender_refuses_is_told_and_tried_again() {
    let open = Arc::new(Mutex::new(false));
    let gate = open.clone();
    let answer = move |_: &str, args: &Value| {
        Ok(match *gate.lock().unwrap() {
            true => json!({"NodeNames": args["NodeNames"]}),
            false => json!({"NodeNames": [], "FailedNodes": {"n1": "no device"},
                "FailedAndUnresolvableNodes": {"n2": "no slot for one"}}),
        })
    };
    let (extender, _) = extender(config(&["filter"]), answer);
    let (lab, _context) = cluster(extender).await;
    lab.pod("web", "", &[]).await;
    let pod = lab.until(Resource::PODS, "web", |pod| !condition(pod).1.is_empty()).await;
    let (reason, message) = condition(&pod);
    assert_eq!(reason, "Unschedulable");
    assert!(message.starts_with("0/2 nodes are available: 1 no device, 1 no slot for one."), "{message}");
    *open.lock().unwrap() = true;
    // Any change may help an extender; this is one.
    lab.merge(Resource::NODES, "n1", json!({"metadata": {"labels": {"new": "yes"}}})).await;
    placed(&lab, "web").await;
}

#[tokio::test(start_paused = true)]
async fn an_extender_that_fails_fails_the_pod_unless_it_may_be_ignored() {
    let (strict, _) = extender(config(&["filter"]), |_, _| Err(500));
    let (lab, _context) = cluster(strict).await;
    lab.pod("web", "", &[]).await;
    let pod = lab.until(Resource::PODS, "web", |pod| !condition(pod).1.is_empty()).await;
    let message = "failed filter with extender at URL http://extender/filter, code 500".to_owned();
    assert_eq!(condition(&pod), ("SchedulerError".to_owned(), message));

    let (lenient, _) = extender(ExtenderConfig { ignorable: true, ..config(&["filter"]) }, |_, _| Err(500));
    let (lab, _context) = cluster(lenient).await;
    lab.pod("web", "", &[]).await;
    placed(&lab, "web").await;
}

#[tokio::test(start_paused = true)]
async fn an_extender_has_a_say_about_victims() {
    let answer = |verb: &str, args: &Value| {
        let all = args["NodeNameToMetaVictims"].as_object().cloned().unwrap_or_default();
        Ok(match verb {
            "preempt" => {
                let only: serde_json::Map<String, Value> = all.into_iter().filter(|(node, _)| node == "n2").collect();
                json!({"NodeNameToMetaVictims": only})
            }
            _ => json!({"NodeNames": args["NodeNames"]}),
        })
    };
    let (extender, asked) = extender(config(&["filter", "preempt"]), answer);
    let (lab, _context) = cluster(extender).await;
    let pod = |name: &str, priority: i32| {
        json!({"metadata": {"name": name, "namespace": "default"}, "spec": {"priority": priority, "schedulerName": "default-scheduler",
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}]}})
    };
    for name in ["low-1", "low-2"] {
        lab.create(Resource::PODS, pod(name, 0)).await;
        placed(&lab, name).await;
    }
    let class = json!({"metadata": {"name": "high"}, "value": 1000});
    let classes = Resource {
        group: "scheduling.k8s.io",
        version: "v1",
        plural: "priorityclasses",
        kind: "PriorityClass",
        namespaced: false,
    };
    lab.create(classes, class).await;
    let mut high = pod("high", 1000);
    high["spec"]["priorityClassName"] = json!("high");
    lab.create(Resource::PODS, high).await;
    let high = lab.until(Resource::PODS, "high", |pod| pod["status"]["nominatedNodeName"].is_string()).await;
    // Without the extender it would be the first by name.
    assert_eq!(high["status"]["nominatedNodeName"], "n2");
    let asked = asked.lock().unwrap().clone();
    let (_, args) = asked.iter().find(|(verb, _)| verb == "preempt").unwrap();
    assert_eq!(args["Pod"]["metadata"]["name"], "high");
    assert_eq!(args["NodeNameToMetaVictims"].as_object().unwrap().len(), 2);
}
