//! One run: a cluster is made, a scheduler started, pods created at once, and each is timed until it has its node.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use plimsoll_tests::client::Client;
use plimsoll_tests::identities;
use plimsoll_tests::load::{create, percentile, until, watch};
use plimsoll_tests::machine::{cpu_seconds, peak_mebibytes};
use plimsoll_tests::process::Process;
use plimsoll_tests::upstream::{self, Content, Options, Upstream};
use plimsoll_tests::volumes::cluster::program;
use serde_json::Value;
use tokio::sync::Mutex;

use crate::shapes::{self, Kind, Placer, Shape};

/// What upstream gets at most; ours needs far less.
const PATIENCE: Duration = Duration::from_secs(300);
const PODS: &str = "/api/v1/namespaces/default/pods";
const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
const VOLUMES: &str = "/api/v1/persistentvolumes";
/// The user that the scheduler under measurement is, so that the audit log tells its requests from others.
const USER: &str = "plimsoll:scheduler";

/// What was measured, times in seconds.
pub struct Measured {
    /// From the first pod's creation to the last pod's node, or to the end of patience.
    pub total: f64,
    pub cpu: f64,
    pub server_cpu: f64,
    pub memory: f64,
    pub calls_per_pod: f64,
    latencies: Vec<f64>,
}

impl Measured {
    pub fn placed(&self) -> usize {
        self.latencies.len()
    }

    pub fn rate(&self) -> f64 {
        self.placed() as f64 / self.total
    }

    pub fn cpu_per_pod(&self) -> f64 {
        self.cpu / self.placed() as f64
    }

    pub fn percentile(&self, percent: f64) -> f64 {
        percentile(&self.latencies, percent)
    }
}

/// Runs a shape on a server of its own; `share` divides its sizes.
pub async fn measure(shape: &Shape, placer: Placer, share: usize) -> Result<Measured> {
    let (nodes, pods) = ((shape.nodes / share).max(1), (shape.pods / share).max(1));
    let server = Upstream::start(Options { fsync: true, audit: true }).await?;
    let client = server.client.clone();
    permit(&client).await?;
    let kubeconfig = server.folder().join("scheduler.kubeconfig");
    identities::kubeconfig(&kubeconfig, &client.url(), &server.ca, USER)?;
    let controller = controller(&server)?;
    create(&client, "/api/v1/nodes", nodes, shapes::node).await?;
    let before = prepare(&client, shape.kind, nodes, pods, share).await?;
    eprintln!("{} {placer:?}: the cluster is there", shape.name);

    let scheduler = scheduler(&server, placer, &kubeconfig)?;
    let with_claim = shape.kind != Kind::Plain;
    // Pods that are there before, and one that shows that the scheduler is at work.
    create(&client, PODS, before, move |i| shapes::pod(pods + i, with_claim)).await?;
    create(&client, PODS, 1, |_| shapes::pod(999_999, false)).await?;
    until(&client, PODS, before + 1, PATIENCE, placed).await?;

    let audit = server.folder().join("audit.log");
    let calls = requests(&audit)?;
    let (apiserver, etcd) = server.ids();
    let used = (cpu_seconds(&[scheduler.id()])?, cpu_seconds(&[apiserver, etcd])?);
    let seen = Arc::new(Mutex::new(BTreeMap::new()));
    let watching = watch(client.clone(), PODS, before + 1 + pods, seen.clone(), placed);
    let watching = tokio::spawn(watching);
    let started = Instant::now();
    let made = create(&client, PODS, pods, move |i| shapes::pod(i, with_claim)).await?;
    if let Ok(done) = tokio::time::timeout(PATIENCE.saturating_sub(started.elapsed()), watching).await {
        done??;
    }
    let seen = std::mem::take(&mut *seen.lock().await);
    let times: Vec<(Instant, f64)> = made
        .iter()
        .filter_map(|(name, asked)| {
            let at = *seen.get(name)?;
            Some((at, at.saturating_duration_since(*asked).as_secs_f64()))
        })
        .collect();
    let Some(last) = times.iter().map(|(at, _)| *at).max() else { bail!("{}: no pod was placed", shape.name) };
    let whole = if times.len() == pods { last - started } else { PATIENCE };
    let mut latencies: Vec<f64> = times.iter().map(|(_, latency)| *latency).collect();
    latencies.sort_by(f64::total_cmp);
    let cpu = cpu_seconds(&[scheduler.id()])? - used.0;
    let server_cpu = cpu_seconds(&[apiserver, etcd])? - used.1;
    let memory = peak_mebibytes(&[scheduler.id()])?;
    // Events may still be on their way; they are calls, too.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let calls_per_pod = (requests(&audit)? - calls) as f64 / latencies.len() as f64;
    drop((scheduler, controller));
    Ok(Measured { total: whole.as_secs_f64(), cpu, server_cpu, memory, calls_per_pod, latencies })
}

fn placed(pod: &Value) -> bool {
    pod["spec"]["nodeName"].is_string()
}

/// Makes what the pods need. Returns how many pods there are to be before the measured ones.
async fn prepare(client: &Client, kind: Kind, nodes: usize, pods: usize, share: usize) -> Result<usize> {
    match kind {
        Kind::Plain => Ok(0),
        Kind::Local { volumes } => {
            let count = nodes * volumes;
            create(client, "/apis/storage.k8s.io/v1/storageclasses", 1, |_| shapes::class()).await?;
            create(client, VOLUMES, count, move |i| shapes::local_volume(i, volumes)).await?;
            until(client, VOLUMES, count, PATIENCE, |v| v["status"]["phase"] == "Available").await?;
            create(client, CLAIMS, pods, |i| shapes::claim(i, "local", None)).await?;
            Ok(0)
        }
        Kind::Csi { before } => {
            let count = pods + before / share;
            create(client, "/apis/storage.k8s.io/v1/csinodes", nodes, shapes::csi_node).await?;
            create(client, VOLUMES, count, shapes::csi_volume).await?;
            create(client, CLAIMS, count, |i| shapes::claim(i, "", Some(format!("csi-{i:06}")))).await?;
            until(client, CLAIMS, count, PATIENCE, |c| c["status"]["phase"] == "Bound").await?;
            Ok(before / share)
        }
    }
}

/// The measured scheduler may do everything: what it may not is another test.
async fn permit(client: &Client) -> Result<()> {
    let binding = serde_json::json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "measured"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}]});
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    create(client, path, 1, move |_| binding.clone()).await.map(|_| ())
}

fn controller(server: &Upstream) -> Result<Process> {
    let mut command = Command::new(program()?);
    command.args(["controller", "--leader-elect=false", "--health-listen", "off", "--kubeconfig"]);
    command.arg(&server.kubeconfig);
    Process::start(server.folder(), "plimsoll-controller", &mut command)
}

fn scheduler(server: &Upstream, placer: Placer, kubeconfig: &Path) -> Result<Process> {
    if placer == Placer::Upstream {
        return upstream::kube_scheduler(server.folder(), kubeconfig, Content::Protobuf);
    }
    let mut command = Command::new(program()?);
    command.args(["scheduler", "--leader-elect=false", "--health-listen", "off", "--kubeconfig"]).arg(kubeconfig);
    Process::start(server.folder(), "plimsoll-scheduler", &mut command)
}

/// How many requests the scheduler made so far, by the audit log; lists and watches that last are one each.
fn requests(audit: &Path) -> Result<usize> {
    let log = std::fs::read_to_string(audit).context("the audit log")?;
    let user = format!("\"username\":\"{USER}\"");
    Ok(log.lines().filter(|line| line.contains(&user)).count())
}
