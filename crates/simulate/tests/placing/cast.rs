//! Who is at work in a seed's cluster: the controllers, one scheduler or two, and stand-ins for a provisioner, the kubelets and a
//! vendor's extender.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http::StatusCode;
use plimsoll_controllers::Options as Controllers;
use plimsoll_runtime::{Context, LeaseConfig, Objects, Resource, run_as_leader};
use plimsoll_scheduler::config::ExtenderConfig;
use plimsoll_scheduler::extenders::{Extender, Extenders, Transport};
use plimsoll_scheduler::{Options as Placing, Scheduler};
use plimsoll_simulate::invariants::volumes::read;
use plimsoll_simulate::{Bed, Component};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::common::{self, DRIVER};
use super::worlds::Kinds;
use super::{RELIST, REPLICAS, SELECTED, ZONE};

/// The present life of the scheduler that works.
pub type Handle = Arc<Mutex<Option<Scheduler>>>;

/// How long the extender fails now and then.
const EXTENDER_FAILS: Duration = Duration::from_secs(50);

/// Starts everybody.
pub fn begin(bed: &Bed, kinds: Kinds) -> Handle {
    bed.start(Component::new("binder", |context: Context| async move {
        let options = Controllers { relist: RELIST, ..Controllers::default() };
        plimsoll_controllers::start(&context, &options);
        context.tasks.stopping().await;
    }));
    let extenders = if kinds.extender { extender(bed) } else { Extenders::default() };
    let placing = Placing { relist: RELIST, extenders, ..Placing::default() };
    let handle: Handle = Arc::default();
    if kinds.replicas {
        REPLICAS.into_iter().for_each(|name| bed.start(replica(bed, name, &placing, &handle)));
    } else {
        let mine = handle.clone();
        bed.start(Component::new("scheduler", move |context: Context| {
            let (mine, placing) = (mine.clone(), placing.clone());
            async move {
                *mine.lock().unwrap() = Some(plimsoll_scheduler::start(&context, placing));
                context.tasks.stopping().await;
            }
        }));
    }
    let provisioner = bed.clone();
    bed.start(Component::new("provisioner", move |context| provision(provisioner.clone(), context)).spared());
    if kinds.priorities {
        let kubelet = bed.clone();
        bed.start(Component::new("kubelet", move |context| let_go(kubelet.clone(), context)).spared());
    }
    handle
}

/// One of two schedulers: it works while it leads, and ends, to be started anew, when it leads no more.
fn replica(bed: &Bed, name: &'static str, placing: &Placing, handle: &Handle) -> Component {
    let (bed, placing, handle) = (bed.clone(), placing.clone(), handle.clone());
    Component::new(name, move |context: Context| {
        let (bed, placing, handle) = (bed.clone(), placing.clone(), handle.clone());
        async move {
            let config = LeaseConfig::new("kube-system", "scheduler", name);
            run_as_leader(&context, config, |leader| async move {
                *handle.lock().unwrap() = Some(plimsoll_scheduler::start(&leader, placing));
                leader.tasks.stopping().await;
            })
            .await;
            bed.crash(name);
        }
    })
}

/// Stands in for an external provisioner: makes volumes in the zone of the selected node, or, for some claims on some nodes, gives
/// up and takes the choice back.
async fn provision(bed: Bed, context: Context) {
    loop {
        let state = bed.state();
        tokio::time::sleep(Duration::from_millis(700)).await;
        for claim in state.claims.values() {
            let handed = read::annotation(claim, "volume.kubernetes.io/storage-provisioner") == Some(DRIVER);
            let name = format!("pvc-{}", read::uid(claim));
            if !handed || !read::volume_name(claim).is_empty() || state.volumes.contains_key(&name) {
                continue;
            }
            let selected = read::annotation(claim, SELECTED);
            let odd = read::uid(claim).bytes().chain(selected.unwrap_or_default().bytes()).map(u32::from).sum::<u32>();
            if selected.is_some() && odd % 3 == 0 {
                let mut released = (**claim).clone();
                released["metadata"]["annotations"].as_object_mut().map(|a| a.remove(SELECTED));
                let _ = context.objects().replace::<Value>(Resource::CLAIMS, &released).await;
                continue;
            }
            let mut made = common::volume(&name, "", 1, "Delete");
            made["spec"]["storageClassName"] = claim["spec"]["storageClassName"].clone();
            made["spec"]["capacity"] = claim["spec"]["resources"]["requests"].clone();
            made["metadata"]["annotations"] = json!({"pv.kubernetes.io/provisioned-by": DRIVER});
            made["spec"]["claimRef"] = json!({"kind": "PersistentVolumeClaim", "apiVersion": "v1",
                "namespace": claim["metadata"]["namespace"], "name": claim["metadata"]["name"], "uid": read::uid(claim)});
            if let Some(node) = selected.and_then(|node| state.nodes.get(node)) {
                let term = json!({"matchExpressions": [
                    {"key": ZONE, "operator": "In", "values": [node["metadata"]["labels"][ZONE]]}]});
                made["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [term]}});
            }
            let _ = context.objects().create::<Value>(Resource::VOLUMES, "", &made).await;
        }
    }
}

/// Stands in for the kubelets and for whoever has put finalizers on pods: what is asked to go goes, after a while.
async fn let_go(bed: Bed, context: Context) {
    for tick in 0.. {
        tokio::time::sleep(Duration::from_millis(900)).await;
        for pod in bed.state().pods.values().filter(|pod| pod["metadata"]["deletionTimestamp"].is_string()) {
            if !(sum(read::uid(pod)) + tick).is_multiple_of(8) {
                continue;
            }
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            let now = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
            let path = Resource::PODS.path("default", name);
            let _ = context.objects().send::<Value>(http::Method::DELETE, &path, Some(&now)).await;
            let bare = json!({"metadata": {"uid": read::uid(pod), "finalizers": null}});
            let _ = context.objects().merge::<Value>(Resource::PODS, "default", name, "", &bare).await;
        }
    }
}

fn sum(text: &str) -> u32 {
    text.bytes().map(u32::from).sum()
}

/// Whether the extender would ever have a pod on a node.
pub fn accepts(pod: &str, node: &str) -> bool {
    !(sum(pod) + sum(node)).is_multiple_of(4)
}

/// A vendor's extender. It binds pods itself, as one that is started by the bed, so that its writes have a name.
fn extender(bed: &Bed) -> Extenders {
    let client: Arc<Mutex<Option<Objects>>> = Arc::default();
    let slot = client.clone();
    let extender = Component::new("extender", move |context: Context| {
        *slot.lock().unwrap() = Some(context.objects());
        async move { context.tasks.stopping().await }
    });
    bed.start(extender.spared());
    let (seed, began, calls) = (bed.seed(), Instant::now(), AtomicU64::new(0));
    let transport: Transport = Arc::new(move |request| {
        let verb = request.uri().path().trim_start_matches('/').to_owned();
        let args: Value = serde_json::from_slice(request.body()).unwrap();
        let call = calls.fetch_add(1, Ordering::Relaxed);
        let random = &mut StdRng::seed_from_u64(seed.wrapping_mul(1000).wrapping_add(call));
        let fate = if began.elapsed() < EXTENDER_FAILS { random.random_range(0..100) } else { 100 };
        let slow = Duration::from_millis(random.random_range(0..300));
        let objects = client.lock().unwrap().clone();
        async move {
            tokio::time::sleep(slow).await;
            match fate {
                0..8 => return Err("connection refused".to_owned()),
                8..16 => return Ok((StatusCode::INTERNAL_SERVER_ERROR, Bytes::new())),
                // Longer than anybody waits.
                16..22 => std::future::pending().await,
                _ => {}
            }
            let answer = answer(&verb, &args, objects).await;
            match fate {
                22..36 => Err("connection reset by peer".to_owned()),
                _ => Ok((StatusCode::OK, Bytes::from(answer.to_string()))),
            }
        }
        .boxed()
    });
    let verb = |name: &str| Some(name.to_owned());
    let config = ExtenderConfig {
        url_prefix: "http://extender".to_owned(),
        filter_verb: verb("filter"),
        preempt_verb: verb("preempt"),
        prioritize_verb: verb("prioritize"),
        weight: 1,
        bind_verb: verb("bind"),
        tls: None,
        timeout: Duration::from_secs(5),
        node_cache_capable: seed.is_multiple_of(2),
        managed_resources: Vec::new(),
        ignorable: false,
    };
    Extenders::from(vec![Extender::new(config, transport)])
}

async fn answer(verb: &str, args: &Value, objects: Option<Objects>) -> Value {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let pod = text(&args["Pod"]["metadata"]["name"]);
    let whole = args["Nodes"]["items"].as_array().cloned().unwrap_or_default();
    let names: Vec<String> = match args["NodeNames"].as_array() {
        Some(names) => names.iter().map(text).collect(),
        None => whole.iter().map(|node| text(&node["metadata"]["name"])).collect(),
    };
    match verb {
        "filter" => {
            let (good, bad): (Vec<&String>, Vec<&String>) = names.iter().partition(|node| accepts(&pod, node));
            let why: Map<String, Value> = bad.into_iter().map(|node| (node.clone(), json!("not there"))).collect();
            let items = whole.iter().filter(|node| accepts(&pod, &text(&node["metadata"]["name"])));
            let items: Vec<&Value> = items.collect();
            json!({"NodeNames": good, "Nodes": {"items": items}, "FailedAndUnresolvableNodes": why})
        }
        "prioritize" => names.iter().map(|node| json!({"Host": node, "Score": sum(node) % 10})).collect(),
        "preempt" => {
            let by_uid = args["NodeNameToMetaVictims"].as_object();
            let nodes = by_uid.or_else(|| args["NodeNameToVictims"].as_object()).into_iter().flatten();
            let uid = |pod: &Value| if by_uid.is_some() { pod["UID"].clone() } else { pod["metadata"]["uid"].clone() };
            let nodes = nodes.map(|(node, victims)| {
                let pods = victims["Pods"].as_array().into_iter().flatten().map(|pod| json!({"UID": uid(pod)}));
                let pods: Vec<Value> = pods.collect();
                (node.clone(), json!({"Pods": pods, "NumPDBViolations": victims["NumPDBViolations"]}))
            });
            json!({"NodeNameToMetaVictims": nodes.collect::<Map<String, Value>>()})
        }
        _ => {
            let binding = json!({"apiVersion": "v1", "kind": "Binding",
                "metadata": {"namespace": args["PodNamespace"], "name": args["PodName"], "uid": args["PodUID"]},
                "target": {"kind": "Node", "name": args["Node"]}});
            let path = Resource::PODS.sub_path("default", &text(&args["PodName"]), "binding");
            let Some(objects) = objects else { return json!({"Error": "not ready"}) };
            match objects.send::<Value>(http::Method::POST, &path, Some(&binding)).await {
                Ok(_) => json!({"Error": ""}),
                Err(error) => json!({"Error": error.to_string()}),
            }
        }
    }
}
