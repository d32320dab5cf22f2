//! One burst: volumes are made and become Available, then all claims are made at once, and each is timed until it is Bound.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use plimsoll_tests::client::Client;
use plimsoll_tests::identities::{ADMIN, token};
use plimsoll_tests::machine::{cpu_seconds, resident_mebibytes};
use plimsoll_tests::upstream::{Options, Upstream};
use plimsoll_tests::volumes::cluster::{Keeper, Server};
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// How many clients make objects side by side.
const CLIENTS: usize = 32;
/// Longer than anybody should take.
const PATIENCE: Duration = Duration::from_secs(600);

/// What was measured, times in seconds.
pub struct Burst {
    pub total: f64,
    pub controller_cpu: f64,
    pub server_cpu: f64,
    pub memory: f64,
    latencies: Vec<f64>,
}

impl Burst {
    pub fn percentile(&self, percent: f64) -> f64 {
        let at = ((self.latencies.len() as f64 * percent / 100.0).ceil() as usize).clamp(1, self.latencies.len());
        self.latencies[at - 1]
    }
}

/// Runs a burst of `size` claims on a server of its own.
pub async fn burst(size: usize, keeper: Keeper) -> Result<Burst> {
    let upstream = Upstream::start(Options { fsync: true, ..Options::default() }).await?;
    let (apiserver, etcd) = upstream.ids();
    let server = Server::Real(Box::new(upstream));
    let client = server.client().clone();
    let processes = server.binder(keeper)?;
    let controller: Vec<u32> = processes.iter().map(plimsoll_tests::process::Process::id).collect();
    create(&client, "/apis/storage.k8s.io/v1/storageclasses", 1, |_| class()).await?;
    create(&client, "/api/v1/persistentvolumes", size, volume).await?;
    until(&client, "/api/v1/persistentvolumes", size, "Available").await?;
    eprintln!("{keeper:?}: {size} volumes are there");

    let before = (cpu_seconds(&controller)?, cpu_seconds(&[apiserver, etcd])?);
    let watch = tokio::spawn(watch_bound(client.clone(), size));
    let started = Instant::now();
    let made = create(&client, "/api/v1/namespaces/default/persistentvolumeclaims", size, claim).await?;
    let bound = tokio::time::timeout(PATIENCE, watch).await.context("not all claims became Bound")???;
    let total = started.elapsed().as_secs_f64();
    let mut latencies: Vec<f64> = bound
        .iter()
        .filter_map(|(name, at)| Some(at.saturating_duration_since(*made.get(name)?).as_secs_f64()))
        .collect();
    latencies.sort_by(f64::total_cmp);
    if latencies.len() != size {
        bail!("{} of {size} claims were timed", latencies.len());
    }
    Ok(Burst {
        total,
        controller_cpu: cpu_seconds(&controller)? - before.0,
        server_cpu: cpu_seconds(&[apiserver, etcd])? - before.1,
        memory: resident_mebibytes(&controller)?,
        latencies,
    })
}

fn class() -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "burst"},
        "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "Immediate"})
}

fn volume(i: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": format!("volume-{i}")},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "burst",
            "persistentVolumeReclaimPolicy": "Retain", "csi": {"driver": "bench", "volumeHandle": format!("handle-{i}")}}})
}

fn claim(i: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": format!("claim-{i}"), "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "burst", "resources": {"requests": {"storage": "1Gi"}}}})
}

fn request(method: Method, path: &str, body: Bytes) -> Result<Request<Full<Bytes>>> {
    let builder = Request::builder().method(method).uri(path).header("content-type", "application/json");
    Ok(builder.header("authorization", format!("Bearer {}", token(ADMIN))).body(Full::new(body))?)
}

/// Makes `count` objects from several clients. Returns when each was asked for.
async fn create(
    client: &Client,
    path: &'static str,
    count: usize,
    object: fn(usize) -> Value,
) -> Result<BTreeMap<String, Instant>> {
    let next = Arc::new(AtomicUsize::new(0));
    let made = Arc::new(Mutex::new(BTreeMap::new()));
    let mut clients = Vec::new();
    for _ in 0..CLIENTS.min(count) {
        let (client, next, made) = (client.clone(), next.clone(), made.clone());
        clients.push(tokio::spawn(async move {
            let mut connection = client.connect().await?;
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= count {
                    return anyhow::Ok(());
                }
                let object = object(i);
                let asked = Instant::now();
                let response = connection.send(request(Method::POST, path, object.to_string().into())?).await?;
                let code = response.status().as_u16();
                let answer = response.into_body().collect().await?.to_bytes();
                if code != 201 {
                    bail!("{path}: {code} {}", String::from_utf8_lossy(&answer));
                }
                let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                made.lock().await.insert(name, asked);
            }
        }));
    }
    for client in clients {
        client.await??;
    }
    Ok(Arc::try_unwrap(made).map_err(|_| anyhow::anyhow!("a client still runs"))?.into_inner())
}

/// Waits until all objects have a phase.
async fn until(client: &Client, path: &str, count: usize, phase: &str) -> Result<()> {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        let mut connection = client.connect().await?;
        let response = connection.send(request(Method::GET, path, Bytes::new())?).await?;
        let list: Value = serde_json::from_slice(&response.into_body().collect().await?.to_bytes())?;
        let items = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        if items.iter().filter(|item| item["status"]["phase"] == phase).count() == count {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    bail!("{path}: not all became {phase}")
}

/// Watches the claims until all are Bound. Returns when each was first seen so. A watch that the server ends, as it does with
/// one that falls behind, goes on where it stood.
async fn watch_bound(client: Client, count: usize) -> Result<BTreeMap<String, Instant>> {
    let mut bound = BTreeMap::new();
    let mut version = String::from("0");
    while bound.len() < count {
        let path = format!(
            "/api/v1/namespaces/default/persistentvolumeclaims?watch=true&timeoutSeconds=900&resourceVersion={version}"
        );
        let mut connection = client.connect().await?;
        let response = connection.send(request(Method::GET, &path, Bytes::new())?).await?;
        let mut body = response.into_body();
        let mut rest = Vec::new();
        while bound.len() < count
            && let Some(Ok(frame)) = body.frame().await
        {
            let Ok(data) = frame.into_data() else { continue };
            let now = Instant::now();
            rest.extend_from_slice(&data);
            let whole = rest.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
            for line in rest[..whole].split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
                let event: Value = serde_json::from_slice(line)?;
                let claim = &event["object"];
                if let Some(seen) = claim["metadata"]["resourceVersion"].as_str() {
                    version = seen.to_owned();
                }
                if claim["status"]["phase"] == "Bound" {
                    let name = claim["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                    bound.entry(name).or_insert(now);
                }
            }
            rest.drain(..whole);
        }
    }
    Ok(bound)
}
