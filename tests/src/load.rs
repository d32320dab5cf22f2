//! Load for benchmarks: many objects made side by side, and watches that note when each of them is as it should be.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;
use tokio::sync::Mutex;

use crate::client::Client;
use crate::identities::{ADMIN, token};

/// How many clients make objects side by side.
const CLIENTS: usize = 32;

/// A request by the administrator.
pub fn request(method: Method, path: &str, body: Bytes) -> Result<Request<Full<Bytes>>> {
    let builder = Request::builder().method(method).uri(path).header("content-type", "application/json");
    Ok(builder.header("authorization", format!("Bearer {}", token(ADMIN))).body(Full::new(body))?)
}

/// Makes `count` objects from several clients. Returns when each was asked for, by name.
#[allow(clippy::disallowed_methods, reason = "it measures time")]
pub async fn create(
    client: &Client,
    path: &str,
    count: usize,
    object: impl Fn(usize) -> Value + Send + Sync + 'static,
) -> Result<BTreeMap<String, Instant>> {
    let (next, object) = (Arc::new(AtomicUsize::new(0)), Arc::new(object));
    let made = Arc::new(Mutex::new(BTreeMap::new()));
    let mut clients = Vec::new();
    for _ in 0..CLIENTS.min(count) {
        let (client, path) = (client.clone(), path.to_owned());
        let (next, made, object) = (next.clone(), made.clone(), object.clone());
        clients.push(tokio::spawn(async move {
            let mut connection = client.connect().await?;
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= count {
                    return anyhow::Ok(());
                }
                let object = object(i);
                let asked = Instant::now();
                let response = connection.send(request(Method::POST, &path, object.to_string().into())?).await?;
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
    Ok(std::mem::take(&mut *made.lock().await))
}

/// Waits until `count` objects of a collection are as wished.
#[allow(clippy::disallowed_methods, reason = "it measures time")]
pub async fn until(
    client: &Client,
    path: &str,
    count: usize,
    patience: Duration,
    wish: impl Fn(&Value) -> bool,
) -> Result<()> {
    let started = Instant::now();
    while started.elapsed() < patience {
        let mut connection = client.connect().await?;
        let response = connection.send(request(Method::GET, path, Bytes::new())?).await?;
        let list: Value = serde_json::from_slice(&response.into_body().collect().await?.to_bytes())?;
        let items = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        if items.iter().filter(|item| wish(item)).count() >= count {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    bail!("{path}: not all became as they should")
}

/// Watches a collection until `count` objects are as wished. Returns when each was first seen so. A watch that the server ends,
/// as it does with one that falls behind, goes on where it stood. What was seen until then is in `seen`, also when nobody waits
/// for the end any more.
#[allow(clippy::disallowed_methods, reason = "it measures time")]
pub async fn watch(
    client: Client,
    path: &str,
    count: usize,
    seen: Arc<Mutex<BTreeMap<String, Instant>>>,
    wish: impl Fn(&Value) -> bool,
) -> Result<()> {
    let mut version = String::from("0");
    loop {
        let path = format!("{path}?watch=true&timeoutSeconds=900&resourceVersion={version}");
        let mut connection = client.connect().await?;
        let response = connection.send(request(Method::GET, &path, Bytes::new())?).await?;
        let mut body = response.into_body();
        let mut rest = Vec::new();
        while let Some(Ok(frame)) = body.frame().await {
            let Ok(data) = frame.into_data() else { continue };
            let now = Instant::now();
            rest.extend_from_slice(&data);
            let whole = rest.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
            for line in rest[..whole].split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
                let event: Value = serde_json::from_slice(line)?;
                let object = &event["object"];
                if let Some(at) = object["metadata"]["resourceVersion"].as_str() {
                    version = at.to_owned();
                }
                if wish(object) {
                    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                    seen.lock().await.entry(name).or_insert(now);
                }
            }
            rest.drain(..whole);
            if seen.lock().await.len() >= count {
                return Ok(());
            }
        }
    }
}

/// The value at a percentile of sorted values.
pub fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let at = (sorted.len() as f64 * percent / 100.0).ceil() as usize;
    sorted.get(at.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or(f64::NAN)
}
