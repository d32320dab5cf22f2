//! An extender that writes down what it is asked, by kube-scheduler and then by ours, on the real API server: the same questions, in the
//! same order, about the same pods; and what it answers comes to the same.

#![allow(clippy::unwrap_used, reason = "a test: what is missing is a failure")]

use std::convert::Infallible;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use plimsoll_tests::client::Client;
use plimsoll_tests::identities::{ADMIN, token};
use plimsoll_tests::process::Process;
use plimsoll_tests::upstream::{Options, Upstream, binary};
use plimsoll_tests::volumes::cluster::program;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::time::sleep;

const PODS: &str = "/api/v1/namespaces/default/pods";
const JSON: &str = "application/json";

type Asked = Arc<Mutex<Vec<(String, Value)>>>;

/// Accepts all nodes but node-2, prefers node-1, binds by itself, and lets only node-1's pods go.
async fn answer(client: &Client, path: &str, args: &Value) -> Value {
    let names = |list: &Value| -> Vec<Value> {
        list.as_array().into_iter().flatten().filter(|name| **name != "node-2").cloned().collect()
    };
    match path.rsplit('/').next().unwrap_or_default() {
        "filter" if args["NodeNames"].is_null() => {
            let items = args["Nodes"]["items"].as_array().cloned().unwrap_or_default();
            let items: Vec<Value> = items.into_iter().filter(|node| node["metadata"]["name"] != "node-2").collect();
            json!({"Nodes": {"items": items}, "FailedNodes": {"node-2": "not this one"}})
        }
        "filter" => json!({"NodeNames": names(&args["NodeNames"])}),
        "prioritize" => json!([{"Host": "node-0", "Score": 1}, {"Host": "node-1", "Score": 10}]),
        "preempt" => {
            let all = ["NodeNameToVictims", "NodeNameToMetaVictims"].map(|field| args[field].as_object().cloned());
            let mut left = Map::new();
            for (node, victims) in all.into_iter().flatten().flatten().filter(|(node, _)| node == "node-1") {
                let pods = victims["Pods"].as_array().cloned().unwrap_or_default();
                let uid = |pod: &Value| {
                    if pod["UID"].is_string() { pod["UID"].clone() } else { pod["metadata"]["uid"].clone() }
                };
                let pods: Vec<Value> = pods.iter().map(|pod| json!({"UID": uid(pod)})).collect();
                left.insert(node, json!({"Pods": pods, "NumPDBViolations": victims["NumPDBViolations"]}));
            }
            json!({"NodeNameToMetaVictims": left})
        }
        _ => {
            let name = args["PodName"].as_str().unwrap_or_default();
            let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "namespace": args["PodNamespace"],
                "uid": args["PodUID"]}, "target": {"kind": "Node", "name": args["Node"]}});
            let path = format!("{PODS}/{name}/binding");
            match client.ask(&token(ADMIN), Method::POST, &path, JSON, Some(&binding)).await {
                Ok((201, _)) => json!({}),
                other => json!({"Error": format!("{other:?}")}),
            }
        }
    }
}

/// Serves the extender, and hands back where.
async fn serve(client: Client, asked: Asked) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (client, asked) = (client.clone(), asked.clone());
            tokio::spawn(async move {
                let service = service_fn(move |request: Request<Incoming>| {
                    let (client, asked) = (client.clone(), asked.clone());
                    async move {
                        let path = request.uri().path().to_owned();
                        let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
                        let args: Value = serde_json::from_slice(&body).unwrap_or_default();
                        asked.lock().unwrap().push((path.clone(), args.clone()));
                        let answer = answer(&client, &path, &args).await;
                        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(answer.to_string()))))
                    }
                });
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    Ok(format!("http://{address}"))
}

struct Cluster {
    server: Upstream,
    asked: Asked,
    extender: String,
}

impl Cluster {
    async fn start() -> Result<Self> {
        let server = Upstream::start(Options::default()).await?;
        let asked = Asked::default();
        let extender = serve(server.client.clone(), asked.clone()).await?;
        let cluster = Self { server, asked, extender };
        for name in ["node-0", "node-1", "node-2"] {
            cluster
                .post("/api/v1/nodes", &json!({"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}}))
                .await?;
            let resources = json!({"cpu": "4", "memory": "8Gi", "pods": "100"});
            let status = json!({"status": {"capacity": resources, "allocatable": resources}});
            let path = format!("/api/v1/nodes/{name}/status");
            cluster.ask(Method::PATCH, &path, "application/merge-patch+json", Some(&status)).await?;
        }
        let class = json!({"metadata": {"name": "high"}, "value": 1000});
        cluster.post("/apis/scheduling.k8s.io/v1/priorityclasses", &class).await?;
        cluster.server.client.until_known("high").await?;
        Ok(cluster)
    }

    async fn ask(&self, method: Method, path: &str, kind: &str, body: Option<&Value>) -> Result<(u16, Value)> {
        self.server.client.ask(&token(ADMIN), method, path, kind, body).await
    }

    async fn post(&self, path: &str, object: &Value) -> Result<()> {
        let (code, answer) = self.ask(Method::POST, path, JSON, Some(object)).await?;
        ensure!(code == 201, "POST {path}: {code} {answer}");
        Ok(())
    }

    async fn until(&self, pod: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        for _ in 0..600 {
            let pod = self.ask(Method::GET, &format!("{PODS}/{pod}"), JSON, None).await?.1;
            if wanted(&pod) {
                return Ok(pod);
            }
            sleep(Duration::from_millis(100)).await;
        }
        bail!("{pod} does not come to it: {:?}", self.asked.lock().unwrap())
    }

    /// Two extenders at one address: one that is sent nodes whole, one that knows them.
    fn configuration(&self) -> Value {
        let extender = |name: &str, by_name: bool, binds: bool| {
            let mut extender = json!({"urlPrefix": format!("{}/{name}", self.extender), "filterVerb": "filter", "prioritizeVerb": "prioritize",
                "preemptVerb": "preempt", "weight": 5, "enableHTTPS": false, "nodeCacheCapable": by_name});
            if binds {
                extender["bindVerb"] = json!("bind");
            }
            extender
        };
        json!({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": false}, "clientConnection": {"kubeconfig": self.server.kubeconfig},
            "extenders": [extender("whole", false, false), extender("names", true, true)]})
    }

    fn scheduler(&self, ours: bool) -> Result<Process> {
        let file = self.server.folder().join("extenders.json");
        std::fs::write(&file, self.configuration().to_string())?;
        let name = if ours { "plimsoll-scheduler" } else { "kube-scheduler" };
        let mut command = if ours {
            let mut command = Command::new(program()?);
            command.args(["scheduler", "--health-listen=off"]);
            command
        } else {
            let mut command = Command::new(binary("kube-scheduler")?);
            command.arg("--secure-port=0");
            command
        };
        command.arg("--config").arg(&file);
        Process::start(self.server.folder() as &Path, name, &mut command)
    }

    /// Two pods are placed, one after the other; the second only after another has been made to go. What was asked.
    async fn play(&self, ours: bool) -> Result<Vec<(String, Value)>> {
        self.asked.lock().unwrap().clear();
        let scheduler = self.scheduler(ours)?;
        let pod = |name: &str, cpu: &str| {
            json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i",
                "resources": {"requests": {"cpu": cpu}}}]}})
        };
        self.post(PODS, &pod("web", "100m")).await?;
        let web = self.until("web", |pod| pod["spec"]["nodeName"].is_string()).await?;
        ensure!(web["spec"]["nodeName"] == "node-1", "{web}");
        for node in ["node-0", "node-1", "node-2"] {
            let mut full = pod(&format!("full-{node}"), "3500m");
            full["spec"]["nodeName"] = json!(node);
            self.post(PODS, &full).await?;
        }
        // The schedulers hear of these by their watch; a pod of no account shows that they have.
        sleep(Duration::from_secs(2)).await;
        let before = self.asked.lock().unwrap().len();
        let mut high = pod("high", "3");
        high["spec"]["priorityClassName"] = json!("high");
        self.post(PODS, &high).await?;
        let high = self.until("high", |pod| pod["status"]["nominatedNodeName"].is_string()).await?;
        ensure!(high["status"]["nominatedNodeName"] == "node-1", "{high}");
        self.until("full-node-1", |pod| pod["metadata"]["deletionTimestamp"].is_string()).await?;
        drop(scheduler);
        let asked = self.asked.lock().unwrap().clone();
        ensure!(before == 5, "asked about web: {asked:#?}");
        let mut uids = Map::new();
        for name in ["web", "high", "full-node-0", "full-node-1", "full-node-2"] {
            let pod = self.ask(Method::GET, &format!("{PODS}/{name}"), JSON, None).await?.1;
            uids.insert(pod["metadata"]["uid"].as_str().context("no uid")?.to_owned(), json!(name));
            let at_once = json!({"gracePeriodSeconds": 0});
            self.ask(Method::DELETE, &format!("{PODS}/{name}"), JSON, Some(&at_once)).await?;
        }
        Ok(asked.into_iter().map(|(path, args)| (path, normal(&args, &uids))).collect())
    }
}

/// Without what differs from one run to the next; lists of nodes in order of their names.
fn normal(value: &Value, uids: &Map<String, Value>) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| {
                !["resourceVersion", "creationTimestamp", "managedFields", "lastTransitionTime", "startTime"]
                    .contains(&name.as_str())
            });
            let kept = kept.map(|(name, value)| (name.clone(), normal(value, uids)));
            let empty = |value: &Value| {
                value.is_null()
                    || value.as_object().is_some_and(Map::is_empty)
                    || value.as_array().is_some_and(Vec::is_empty)
            };
            Value::Object(kept.filter(|(_, value)| !empty(value)).collect())
        }
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(|item| normal(item, uids)).collect();
            if items.iter().all(|item| item.is_string() || item["metadata"]["name"].is_string()) {
                items.sort_by_key(|item| item["metadata"]["name"].as_str().or(item.as_str()).map(str::to_owned));
            }
            Value::Array(items)
        }
        Value::String(text) => uids.get(text).cloned().unwrap_or_else(|| value.clone()),
        other => other.clone(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn extenders_are_asked_what_kube_scheduler_asks() {
    let cluster = Cluster::start().await.unwrap();
    let mut theirs = cluster.play(false).await.unwrap();
    let mut ours = cluster.play(true).await.unwrap();
    // Scores are asked for side by side, in any order.
    for asked in [&mut theirs, &mut ours] {
        asked[2..4].sort_by_key(|(path, _)| path.clone());
        // How often the preemptor is tried again after that is a matter of time.
        let last = asked.iter().position(|(path, _)| path == "/names/preempt").unwrap();
        asked.truncate(last + 1);
    }
    let paths = |asked: &[(String, Value)]| asked.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
    assert_eq!(paths(&ours), paths(&theirs));
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours, theirs);
    }
}
