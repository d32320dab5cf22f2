//! The soak: the scheduler on a real API server with trouble in between, for as long as it takes. Run by `bench/scheduler/soak`.
//!
//! The scheduler runs inside this program, so that at the end what it knows can be compared with what there is; it is killed
//! by ending its tasks where they stand, as the death of a process would, and begins again with nothing.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program whose output is its result")]
#![allow(clippy::disallowed_methods, reason = "it measures time")]

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use http::Method;
use http_body_util::BodyExt as _;
use kube::config::AuthInfo;
use plimsoll_api::{DocumentKind, Interner};
use plimsoll_engine::gates::{Gate, Gates};
use plimsoll_engine::{Catalog, Event};
use plimsoll_runtime::Context;
use plimsoll_scheduler::{Options, Scheduler};
use plimsoll_tests::client::Client;
use plimsoll_tests::identities::{ADMIN, token};
use plimsoll_tests::load::{create, request};
use plimsoll_tests::process::Process;
use plimsoll_tests::trouble::Trouble;
use plimsoll_tests::upstream::{self, Upstream};
use plimsoll_tests::volumes::cluster::program;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

#[path = "shapes.rs"]
#[allow(dead_code, reason = "the benchmark uses the rest")]
mod shapes;

const NODES: usize = 20;
const VOLUMES_PER_NODE: usize = 3;
/// How many pods there are at a time, about: more than volumes, so that some wait.
const PODS: usize = 90;
/// How long a life of the scheduler lasts, about.
const LIFE: Duration = Duration::from_secs(30);
/// Everything is listed again this often, so that what a watch left out is known at the end.
const RELIST: Duration = Duration::from_secs(20);
/// How long nothing is done before the end is judged: longer than the longest backoff and a list.
const QUIET: Duration = Duration::from_secs(60);

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let minutes: f64 = std::env::var("MINUTES").ok().and_then(|m| m.parse().ok()).unwrap_or(20.0);
    let seed: u64 = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let server = Upstream::start(upstream::Options::default()).await?;
    let client = server.client.clone();
    let _controller = controller(&server)?;
    create(&client, "/api/v1/nodes", NODES, shapes::node).await?;
    create(&client, "/apis/storage.k8s.io/v1/storageclasses", 1, |_| shapes::class()).await?;
    create(&client, "/api/v1/persistentvolumes", NODES * VOLUMES_PER_NODE, |i| {
        shapes::local_volume(i, VOLUMES_PER_NODE)
    })
    .await?;
    let trouble = Trouble::start(client.clone(), seed).await?;
    let mut user = User { client, random: StdRng::seed_from_u64(seed), pods: BTreeMap::new(), next: 0 };

    let (mut context, mut scheduler) = live(&trouble)?;
    let (began, mut lives, mut born) = (Instant::now(), 1, Instant::now());
    while began.elapsed().as_secs_f64() < minutes * 60.0 {
        user.act().await?;
        if born.elapsed() > LIFE {
            context.tasks.abort();
            (context, scheduler) = live(&trouble)?;
            (lives, born) = (lives + 1, Instant::now());
            if lives % 10 == 0 {
                eprintln!(
                    "{:.0} s: {} pods made, {lives} lives, {} troubles",
                    began.elapsed().as_secs_f64(),
                    user.next,
                    trouble.made()
                );
            }
        }
    }
    trouble.stop();
    eprintln!("quiet for {} s", QUIET.as_secs());
    tokio::time::sleep(QUIET).await;
    judge(&user.client, &scheduler).await?;
    println!(
        "{minutes} minutes: {} pods, {lives} lives of the scheduler, {} troubles; the end is as it should be",
        user.next,
        trouble.made()
    );
    context.tasks.abort();
    Ok(())
}

fn controller(server: &Upstream) -> Result<Process> {
    let mut command = Command::new(program()?);
    command.args(["controller", "--leader-elect=false", "--health-listen", "off", "--kubeconfig"]);
    command.arg(&server.kubeconfig);
    Process::start(server.folder(), "plimsoll-controller", &mut command)
}

/// A new life of the scheduler.
fn live(trouble: &Trouble) -> Result<(Context, Scheduler)> {
    let mut config = kube::Config::new(trouble.url().parse()?);
    config.auth_info = AuthInfo { token: Some(token(ADMIN).into()), ..AuthInfo::default() };
    let context = Context::system(kube::Client::try_from(config).context("no client")?);
    let scheduler = plimsoll_scheduler::start(&context, Options { relist: RELIST, ..Options::default() });
    Ok((context, scheduler))
}

/// Whoever makes pods and claims, deletes them, and makes volumes free again.
struct User {
    client: Client,
    random: StdRng,
    pods: BTreeMap<usize, bool>,
    next: usize,
}

impl User {
    async fn act(&mut self) -> Result<()> {
        let make = self.pods.len() < PODS && (self.pods.len() < PODS / 2 || self.random.random_bool(0.55));
        if make {
            let (i, with_claim) = (self.next, self.random.random_bool(0.6));
            self.next += 1;
            if with_claim {
                self.send(
                    Method::POST,
                    "/api/v1/namespaces/default/persistentvolumeclaims",
                    &shapes::claim(i, "local", None),
                )
                .await?;
            }
            self.send(Method::POST, "/api/v1/namespaces/default/pods", &shapes::pod(i, with_claim)).await?;
            self.pods.insert(i, with_claim);
        } else {
            let at = self.random.random_range(0..self.pods.len());
            let Some((i, with_claim)) = self.pods.iter().nth(at).map(|(i, claim)| (*i, *claim)) else { return Ok(()) };
            self.pods.remove(&i);
            let now = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
            self.send(Method::DELETE, &format!("/api/v1/namespaces/default/pods/pod-{i:06}"), &now).await?;
            if with_claim {
                let path = format!("/api/v1/namespaces/default/persistentvolumeclaims/claim-{i:06}");
                self.send(Method::DELETE, &path, &json!({})).await?;
            }
        }
        if self.random.random_bool(0.1) {
            self.recycle().await?;
        }
        tokio::time::sleep(Duration::from_millis(self.random.random_range(10..120))).await;
        Ok(())
    }

    /// Makes volumes free again whose claims are gone.
    async fn recycle(&self) -> Result<()> {
        for volume in list(&self.client, "/api/v1/persistentvolumes").await? {
            if volume["status"]["phase"] == "Released" {
                let name = volume["metadata"]["name"].as_str().unwrap_or_default();
                let mut free = volume.clone();
                free["spec"].as_object_mut().map(|spec| spec.remove("claimRef"));
                // Somebody else may have been faster.
                let _ = self.try_send(Method::PUT, &format!("/api/v1/persistentvolumes/{name}"), &free).await?;
            }
        }
        Ok(())
    }

    async fn send(&self, method: Method, path: &str, body: &Value) -> Result<()> {
        match self.try_send(method, path, body).await? {
            (200..=299 | 404, _) => Ok(()),
            (code, answer) => bail!("{path}: {code} {answer}"),
        }
    }

    async fn try_send(&self, method: Method, path: &str, body: &Value) -> Result<(u16, String)> {
        let response = self.client.send(request(method, path, body.to_string().into())?).await?;
        let code = response.status().as_u16();
        Ok((code, String::from_utf8_lossy(&response.into_body().collect().await?.to_bytes()).into_owned()))
    }
}

async fn list(client: &Client, path: &str) -> Result<Vec<Value>> {
    let (code, body) = client.get(path).await?;
    let list: Value = serde_json::from_slice(&body)?;
    match list["items"].as_array() {
        Some(items) if code == 200 => Ok(items.clone()),
        _ => bail!("{path}: {code}"),
    }
}

/// The end: the scheduler knows what there is, no volume has two claims, and nobody waits who fits.
async fn judge(client: &Client, scheduler: &Scheduler) -> Result<()> {
    let mut fresh = Catalog::new();
    let mut names = Interner::new();
    let mut taken: BTreeMap<String, String> = BTreeMap::new();
    for (kind, path) in [
        (DocumentKind::Node, "/api/v1/nodes"),
        (DocumentKind::Class, "/apis/storage.k8s.io/v1/storageclasses"),
        (DocumentKind::Volume, "/api/v1/persistentvolumes"),
        (DocumentKind::Claim, "/api/v1/persistentvolumeclaims"),
        (DocumentKind::Pod, "/api/v1/pods"),
    ] {
        for object in list(client, path).await? {
            if kind == DocumentKind::Claim
                && let Some(volume) = object["spec"]["volumeName"].as_str()
                && let Some(other) = taken.insert(volume.to_owned(), object["metadata"]["name"].to_string())
            {
                bail!("{volume} is promised twice: to {other} and to {}", object["metadata"]["name"]);
            }
            let read = kind.decode(&object).map_err(|error| anyhow::anyhow!("{path}: {error:?}"))?;
            let read = read.to_engine(&mut names).map_err(|error| anyhow::anyhow!("{path}: {error:?}"))?;
            if let Some(object) = read {
                fresh.apply(Event::Set(object));
            }
        }
    }
    let gates = Gates::all().with(Gate::EphemeralForecast, false);
    for pod in fresh.pods().filter(|pod| pod.node.is_none()) {
        if let Ok(Some(choice)) = fresh.choose(pod, gates) {
            bail!("pod {} waits, and fits on {}", pod.key, choice.node);
        }
    }
    let waiting = fresh.pods().filter(|pod| pod.node.is_none()).count();
    eprintln!("{} pods, {waiting} of them fit nowhere", fresh.pods().count());
    if !scheduler.is_idle() {
        bail!("a pod is still in hand");
    }
    match scheduler.inspect(|known| known.difference_from(&fresh)) {
        None => Ok(()),
        Some(difference) => bail!("the scheduler's view is not the API's: {difference}"),
    }
}
