//! One burst: volumes are made and become Available, then all claims are made at once, and each is timed until it is Bound.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use plimsoll_tests::load::{create, percentile, until, watch};
use plimsoll_tests::machine::{cpu_seconds, resident_mebibytes};
use plimsoll_tests::upstream::{Options, Upstream};
use plimsoll_tests::volumes::cluster::{Keeper, Server};
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// Longer than anybody should take.
const PATIENCE: Duration = Duration::from_secs(600);
const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";

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
        percentile(&self.latencies, percent)
    }
}

/// Runs a burst of `size` claims on a server of its own.
pub async fn burst(size: usize, keeper: Keeper) -> Result<Burst> {
    let upstream = Upstream::start(Options { fsync: true, audit: false }).await?;
    let (apiserver, etcd) = upstream.ids();
    let server = Server::Real(Box::new(upstream));
    let client = server.client().clone();
    let processes = server.binder(keeper)?;
    let controller: Vec<u32> = processes.iter().map(plimsoll_tests::process::Process::id).collect();
    create(&client, "/apis/storage.k8s.io/v1/storageclasses", 1, |_| class()).await?;
    create(&client, "/api/v1/persistentvolumes", size, volume).await?;
    until(&client, "/api/v1/persistentvolumes", size, PATIENCE, |v| v["status"]["phase"] == "Available").await?;
    eprintln!("{keeper:?}: {size} volumes are there");

    let before = (cpu_seconds(&controller)?, cpu_seconds(&[apiserver, etcd])?);
    let bound = Arc::new(Mutex::new(BTreeMap::new()));
    let watch =
        tokio::spawn(watch(client.clone(), CLAIMS, size, bound.clone(), |claim| claim["status"]["phase"] == "Bound"));
    let started = Instant::now();
    let made = create(&client, CLAIMS, size, claim).await?;
    tokio::time::timeout(PATIENCE, watch).await.context("not all claims became Bound")???;
    let total = started.elapsed().as_secs_f64();
    let bound = std::mem::take(&mut *bound.lock().await);
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
