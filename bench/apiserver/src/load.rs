//! The loads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use plimsoll_tests::client::Connection;
use plimsoll_tests::identities::{ADMIN, token};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::Sizes;
use crate::subject::Subject;
use plimsoll_tests::machine::{cpu_seconds, resident_mebibytes};

pub struct Writes {
    pub per_second: f64,
    pub per_cpu_second: f64,
    pub p99: f64,
}

pub struct Watches {
    pub per_second: f64,
    pub per_cpu_second: f64,
}

pub struct Lists {
    pub milliseconds: f64,
    pub cpu_milliseconds: f64,
}

pub struct Memory {
    pub mebibytes: f64,
}

fn request(method: Method, path: &str, body: Bytes) -> Result<Request<Full<Bytes>>> {
    let builder = Request::builder().method(method).uri(path).header("content-type", "application/json");
    Ok(builder.header("authorization", format!("Bearer {}", token(ADMIN))).body(Full::new(body))?)
}

async fn expect(connection: &mut Connection, method: Method, path: &str, body: Value, code: u16) -> Result<()> {
    let response = connection.send(request(method, path, body.to_string().into())?).await?;
    let found = response.status().as_u16();
    let bytes = response.into_body().collect().await?.to_bytes();
    if found != code {
        bail!("{path}: {found} {}", String::from_utf8_lossy(&bytes));
    }
    Ok(())
}

/// An object of about a kilobyte.
fn config_map(prefix: &str, i: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("{prefix}-{i}"), "labels": {"app": prefix}},
        "data": {"text": "0123456789abcdef".repeat(48), "number": i.to_string()}})
}

/// A pod as a Deployment makes it.
fn pod(i: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("web-{i}"), "labels": {"app": "web", "tier": "front"}},
        "spec": {"containers": [{"name": "c", "image": "registry/app:v1", "ports": [{"containerPort": 80}],
            "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
            "readinessProbe": {"httpGet": {"path": "/ready", "port": 80}},
            "volumeMounts": [{"name": "v", "mountPath": "/v"}]}],
            "volumes": [{"name": "v", "emptyDir": {}}]}})
}

/// Creates `count` objects over `clients` connections; the latencies in milliseconds.
async fn create(
    subject: &Subject,
    clients: usize,
    count: usize,
    path: &'static str,
    make: fn(usize) -> Value,
) -> Result<Vec<f64>> {
    let next = Arc::new(AtomicUsize::new(0));
    let latencies = Arc::new(Mutex::new(Vec::with_capacity(count)));
    let mut tasks = Vec::new();
    for _ in 0..clients {
        let (client, next, latencies) = (subject.client.clone(), next.clone(), latencies.clone());
        tasks.push(tokio::spawn(async move {
            let mut connection = client.connect().await?;
            let mut mine = Vec::new();
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= count {
                    break;
                }
                let started = Instant::now();
                expect(&mut connection, Method::POST, path, make(i), 201).await?;
                mine.push(started.elapsed().as_secs_f64() * 1e3);
            }
            latencies.lock().await.extend(mine);
            anyhow::Ok(())
        }));
    }
    for task in tasks {
        task.await??;
    }
    let mut all = Arc::try_unwrap(latencies).map(Mutex::into_inner).unwrap_or_default();
    all.sort_by(f64::total_cmp);
    Ok(all)
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

pub async fn writes(subject: &Subject, sizes: &Sizes) -> Result<Writes> {
    // What is slow only the first time is not what is asked for.
    create(subject, sizes.clients, 500, MAPS, |i| config_map("warm", i)).await?;
    let (started, before) = (Instant::now(), cpu_seconds(&subject.processes)?);
    let latencies = create(subject, sizes.clients, sizes.writes, MAPS, |i| config_map("write", i)).await?;
    let (seconds, cpu) = (started.elapsed().as_secs_f64(), cpu_seconds(&subject.processes)? - before);
    let p99 = latencies.get(latencies.len() * 99 / 100).copied().unwrap_or_default();
    let count = sizes.writes as f64;
    Ok(Writes { per_second: count / seconds, per_cpu_second: count / cpu, p99 })
}

pub async fn watches(subject: &Subject, sizes: &Sizes) -> Result<Watches> {
    let mut admin = subject.client.connect().await?;
    expect(&mut admin, Method::POST, "/api/v1/namespaces", json!({"metadata": {"name": "fan"}}), 201).await?;
    let seen = Arc::new(AtomicUsize::new(0));
    let wanted = sizes.watchers * sizes.changes;
    let mut tasks = Vec::new();
    for _ in 0..sizes.watchers {
        let mut connection = subject.client.connect().await?;
        let path = "/api/v1/namespaces/fan/configmaps?watch=true&timeoutSeconds=600";
        let response = connection.send(request(Method::GET, path, Bytes::new())?).await?;
        let seen = seen.clone();
        tasks.push(tokio::spawn(async move {
            // The connection must outlive its answer.
            let _connection = connection;
            let mut body = response.into_body();
            while let Some(Ok(frame)) = body.frame().await {
                if let Some(data) = frame.data_ref() {
                    // Every event is a line.
                    let lines = data.iter().filter(|b| **b == b'\n').count();
                    seen.fetch_add(lines, Ordering::Relaxed);
                }
            }
        }));
    }
    let (started, before) = (Instant::now(), cpu_seconds(&subject.processes)?);
    create(subject, 8, sizes.changes, "/api/v1/namespaces/fan/configmaps", |i| config_map("fan", i)).await?;
    while seen.load(Ordering::Relaxed) < wanted {
        if started.elapsed() > Duration::from_secs(120) {
            bail!("only {} of {wanted} events came", seen.load(Ordering::Relaxed));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let (seconds, cpu) = (started.elapsed().as_secs_f64(), cpu_seconds(&subject.processes)? - before);
    tasks.into_iter().for_each(|task| task.abort());
    Ok(Watches { per_second: wanted as f64 / seconds, per_cpu_second: wanted as f64 / cpu })
}

pub async fn lists(subject: &Subject, sizes: &Sizes) -> Result<Lists> {
    create(subject, sizes.clients, sizes.pods, "/api/v1/namespaces/default/pods", pod).await?;
    let mut connection = subject.client.connect().await?;
    let mut times = Vec::new();
    let before = cpu_seconds(&subject.processes)?;
    const ROUNDS: usize = 10;
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let response = connection.send(request(Method::GET, "/api/v1/pods", Bytes::new())?).await?;
        let mut body = response.into_body();
        let mut bytes = 0;
        while let Some(frame) = body.frame().await {
            bytes += frame?.data_ref().map_or(0, Bytes::len);
        }
        if bytes < sizes.pods * 500 {
            bail!("a list of {} pods in {bytes} bytes", sizes.pods);
        }
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    let cpu = cpu_seconds(&subject.processes)? - before;
    times.sort_by(f64::total_cmp);
    let milliseconds = times.get(ROUNDS / 2).copied().context("no list")?;
    Ok(Lists { milliseconds, cpu_milliseconds: cpu * 1e3 / ROUNDS as f64 })
}

pub async fn memory(subject: &Subject, sizes: &Sizes) -> Result<Memory> {
    let there = sizes.pods + sizes.writes + sizes.changes + 500;
    create(subject, sizes.clients, sizes.objects.saturating_sub(there), MAPS, |i| config_map("many", i)).await?;
    // Collectors and compactors have a moment to settle.
    tokio::time::sleep(Duration::from_secs(10)).await;
    Ok(Memory { mebibytes: resident_mebibytes(&subject.processes)? })
}
