//! Several `plimsoll controller`, and several `plimsoll scheduler`, on one real API server: one writes at a time, whatever becomes of
//! the one that leads. The API server's audit log says who wrote what when.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test: what is missing is a failure")]
#![allow(clippy::disallowed_methods, reason = "how long a hand-over takes is what is tested")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use plimsoll_tests::identities::{self, ADMIN, token};
use plimsoll_tests::process::Process;
use plimsoll_tests::upstream::{Options, Upstream};
use plimsoll_tests::volumes::cluster::program;
use serde_json::{Value, json};
use tokio::time::sleep;

/// client-go's proportions, half as long, so that nobody waits a minute; not shorter, since a leader that a busy machine keeps from its
/// lease for that long loses it, as it must.
const LEASE: Duration = Duration::from_secs(8);
const TIMINGS: [&str; 3] =
    ["--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=5500ms", "--leader-elect-retry-period=1s"];
/// What a candidate may need on top of the lease's time: its next look, and the first writes. The rest is for a slow machine.
const SLACK: Duration = Duration::from_secs(7);
/// Three identities, so that the audit log tells the processes apart.
const REPLICAS: [&str; 3] = ["plimsoll:controller", "plimsoll:scheduler", "plimsoll:provisioner"];

/// Whose replicas they are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Controller,
    Scheduler,
}

impl Part {
    fn command(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::Scheduler => "scheduler",
        }
    }

    fn lease(self) -> &'static str {
        match self {
            Self::Controller => "plimsoll-controller",
            Self::Scheduler => "kube-scheduler",
        }
    }

    /// A write that only the one that leads makes.
    fn writes(self) -> &'static str {
        match self {
            Self::Controller => "update persistentvolumes/",
            Self::Scheduler => "create pods/",
        }
    }
}

struct Cluster {
    server: Upstream,
    part: Part,
    made: usize,
}

impl Cluster {
    async fn start(part: Part) -> Result<Self> {
        let server = Upstream::start(Options { audit: true, ..Options::default() }).await?;
        let cluster = Self { server, part, made: 0 };
        let subjects: Vec<Value> = REPLICAS
            .iter()
            .map(|user| json!({"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}))
            .collect();
        let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "replicas"}, "subjects": subjects,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}});
        cluster.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding).await?;
        if part == Part::Scheduler {
            let room = json!({"cpu": "64", "memory": "64Gi", "pods": "1000"});
            let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
                "status": {"allocatable": room, "capacity": room}});
            cluster.create("/api/v1/nodes", &node).await?;
        }
        Ok(cluster)
    }

    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<(u16, Value)> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {}", token(ADMIN)))
            .header("content-type", "application/json");
        let body = body.map(|b| Bytes::from(b.to_string())).unwrap_or_default();
        let response = self.server.client.send(request.body(Full::new(body))?).await?;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await?.to_bytes();
        Ok((code, serde_json::from_slice(&bytes).unwrap_or_default()))
    }

    async fn create(&self, path: &str, object: &Value) -> Result<()> {
        let (code, answer) = self.ask(Method::POST, path, Some(object)).await?;
        ensure!(code == 201, "POST {path}: {code} {answer}");
        Ok(())
    }

    fn replica(&self, user: &str) -> Result<Process> {
        let folder = self.server.folder();
        let kubeconfig: PathBuf = folder.join(format!("kubeconfig-{}", user.replace(':', "-")));
        identities::kubeconfig(&kubeconfig, &self.server.client.url(), &self.server.ca, user)?;
        let mut command = Command::new(program()?);
        command.args([self.part.command(), "--health-listen", "off"]).args(TIMINGS);
        command.arg("--kubeconfig").arg(kubeconfig);
        Process::start(folder, &format!("{}-{}", self.part.command(), user.replace(':', "-")), &mut command)
    }

    /// One more thing to write for whoever leads: a claim and a volume for it, or a pod.
    async fn work(&mut self) -> Result<String> {
        self.made += 1;
        let name = format!("work-{}", self.made);
        if self.part == Part::Scheduler {
            self.pod(&name, &json!([])).await?;
            return Ok(name);
        }
        let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": name,
                "csi": {"driver": "d", "volumeHandle": name}}});
        let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": name, "volumeName": name,
                "resources": {"requests": {"storage": "1Gi"}}}});
        self.create("/api/v1/persistentvolumes", &volume).await?;
        self.create("/api/v1/namespaces/default/persistentvolumeclaims", &claim).await?;
        Ok(name)
    }

    async fn pod(&self, name: &str, volumes: &Value) -> Result<()> {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
            "spec": {"volumes": volumes, "containers": [{"name": "c", "image": "i"}]}});
        self.create("/api/v1/namespaces/default/pods", &pod).await
    }

    /// Gives work until some of it is done after `since`, and says how long that took.
    async fn until_done(&mut self, since: Instant) -> Result<Duration> {
        let name = self.work().await?;
        let (kind, pointer) = match self.part {
            Part::Controller => ("persistentvolumeclaims", "/spec/volumeName"),
            Part::Scheduler => ("pods", "/spec/nodeName"),
        };
        let path = format!("/api/v1/namespaces/default/{kind}/{name}");
        for _ in 0..600 {
            let found = self.ask(Method::GET, &path, None).await?.1;
            let bound = self.part == Part::Scheduler || found["status"]["phase"] == "Bound";
            if bound && found.pointer(pointer).is_some() {
                return Ok(since.elapsed());
            }
            sleep(Duration::from_millis(100)).await;
        }
        bail!("nobody did {name}")
    }

    /// A pod whose volume is never made: somebody waits for it in the middle of its binding.
    async fn in_the_middle(&self) -> Result<()> {
        let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "slow"},
            "provisioner": "slow", "volumeBindingMode": "WaitForFirstConsumer"});
        let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "slow", "namespace": "default"},
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "slow",
                "resources": {"requests": {"storage": "1Gi"}}}});
        self.create("/apis/storage.k8s.io/v1/storageclasses", &class).await?;
        self.create("/api/v1/namespaces/default/persistentvolumeclaims", &claim).await?;
        self.pod("slow", &json!([{"name": "v", "persistentVolumeClaim": {"claimName": "slow"}}])).await?;
        let path = "/api/v1/namespaces/default/persistentvolumeclaims/slow";
        for _ in 0..600 {
            let claim = self.ask(Method::GET, path, None).await?.1;
            if claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == "n" {
                return Ok(());
            }
            sleep(Duration::from_millis(100)).await;
        }
        bail!("nobody selected a node")
    }

    async fn holder(&self) -> Result<Value> {
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{}", self.part.lease());
        Ok(self.ask(Method::GET, &path, None).await?.1["spec"].clone())
    }
}

/// A write that the API server was asked for, by one of the replicas, to anything but the lease and events.
#[derive(Debug)]
struct Write {
    at: String,
    user: String,
    what: String,
}

fn writes(folder: &Path) -> Result<Vec<Write>> {
    let log = std::fs::read_to_string(folder.join("audit.log")).context("there is no audit log")?;
    let mut found = Vec::new();
    for line in log.lines() {
        // The last line may be half written.
        let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
        let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (user, resource, verb) = (text("/user/username"), text("/objectRef/resource"), text("/verb"));
        if !REPLICAS.contains(&user.as_str()) || ["events", "leases"].contains(&resource.as_str()) {
            continue;
        }
        if ["create", "update", "patch", "delete"].contains(&verb.as_str()) {
            let what = format!("{verb} {resource}/{}", text("/objectRef/name"));
            found.push(Write { at: text("/requestReceivedTimestamp"), user, what });
        }
    }
    found.sort_by(|a, b| a.at.cmp(&b.at));
    Ok(found)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_controller_writes_at_a_time() {
    one_replica_writes_at_a_time(Part::Controller).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_scheduler_writes_at_a_time() {
    one_replica_writes_at_a_time(Part::Scheduler).await;
}

async fn one_replica_writes_at_a_time(part: Part) {
    let mut cluster = Cluster::start(part).await.unwrap();
    let mut first = cluster.replica(REPLICAS[0]).unwrap();
    cluster.until_done(Instant::now()).await.unwrap();
    let second = cluster.replica(REPLICAS[1]).unwrap();
    cluster.until_done(Instant::now()).await.unwrap();

    // The leader dies.
    let died = Instant::now();
    first.kill();
    let took = cluster.until_done(died).await.unwrap();
    assert!(took <= LEASE + SLACK, "the hand-over after a death took {took:?}");

    // The next one hangs for longer than its lease, and wakes up in the belief that it leads.
    let mut third = cluster.replica(REPLICAS[2]).unwrap();
    sleep(Duration::from_secs(1)).await;
    third.alive().unwrap();
    let before = cluster.holder().await.unwrap();
    let hung = Instant::now();
    second.freeze().unwrap();
    let took = cluster.until_done(hung).await.unwrap();
    assert!(took <= LEASE + SLACK, "the hand-over after a hang took {took:?}");
    let mut second = second;
    second.thaw().unwrap();
    for _ in 0..20 {
        cluster.until_done(Instant::now()).await.unwrap();
    }
    let mut ended = second.ended().unwrap();
    for _ in 0..100 {
        if ended.is_some() {
            break;
        }
        sleep(Duration::from_millis(100)).await;
        ended = second.ended().unwrap();
    }
    assert_eq!(ended.and_then(|status| status.code()), Some(1), "{}", second.printed());
    assert!(second.printed().contains("was lost"), "{}", second.printed());
    let after = cluster.holder().await.unwrap();
    assert_ne!(before["holderIdentity"], after["holderIdentity"]);
    assert!(after["leaseTransitions"].as_i64() > before["leaseTransitions"].as_i64(), "{before} {after}");

    // The third ends in good order, also in the middle of a binding: the lease is free at once.
    if part == Part::Scheduler {
        cluster.in_the_middle().await.unwrap();
    }
    let fourth = cluster.replica(REPLICAS[0]).unwrap();
    let asked = Instant::now();
    third.terminate().unwrap();
    let ended = loop {
        if let Some(status) = third.ended().unwrap() {
            break status;
        }
        assert!(asked.elapsed() <= Duration::from_secs(10), "it does not end:\n{}", third.printed());
        sleep(Duration::from_millis(50)).await;
    };
    assert!(ended.success(), "{ended}:\n{}", third.printed());
    let released = Instant::now();
    let took = cluster.until_done(released).await.unwrap();
    assert!(took <= SLACK, "the hand-over after a clean end took {took:?}");
    drop(fourth);

    let all = writes(cluster.server.folder()).unwrap();
    let mut order: Vec<&str> = all.iter().map(|write| write.user.as_str()).collect();
    order.dedup();
    let expected = [REPLICAS[0], REPLICAS[1], REPLICAS[2], REPLICAS[0]];
    assert_eq!(order, expected, "two replicas wrote by turns:\n{all:#?}");
    assert!(all.iter().any(|write| write.what.starts_with(part.writes())), "{all:#?}");
}
