//! What stories are played on: a control plane with three simulated nodes.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::sleep;

use super::machines::Machines;
use super::outcome::OBSERVED;
use crate::client::Client;
use crate::embedded::Embedded;
use crate::identities::{ADMIN, token};
use crate::process::Process;
use crate::upstream::{self, Content, Upstream};
use crate::volumes::cluster::program;
use crate::volumes::observe::{Look, observe};

/// A node that is silent for so long is taken for lost; by itself upstream waits 50 seconds. Twice as long as the pause between two
/// signs of life.
const GRACE: &str = "--node-monitor-grace-period=20s";

/// How every API server says that somebody lacks a right.
const MISSING_RIGHT: &str = "forbidden: User ";

/// How long the nodes have until they are ready.
const TRIES: usize = 600;
const PAUSE: Duration = Duration::from_millis(100);

/// Who keeps it.
#[derive(Debug)]
enum Plane {
    /// etcd, kube-apiserver, kube-controller-manager and kube-scheduler, with our nodes beside them.
    // Dropped in this order: the server last.
    Real { machines: Box<Machines>, programs: Vec<Process>, server: Box<Upstream> },
    /// `plimsoll up`.
    Ours(Box<Embedded>),
}

/// A control plane with nodes.
#[derive(Debug)]
pub struct Ground {
    /// Talks to it.
    pub client: Client,
    /// What there is on it.
    pub looks: watch::Receiver<Look>,
    /// Its nodes.
    pub nodes: Vec<String>,
    plane: Plane,
}

impl Ground {
    /// The real one.
    pub async fn real() -> Result<Self> {
        let server = Upstream::start(upstream::Options { whole: true, ..upstream::Options::default() }).await?;
        let (folder, kubeconfig) = (server.folder(), &server.kubeconfig);
        let [key, authority] = server.account_flags();
        let flags = [GRACE.to_owned(), key, authority];
        let programs = vec![
            upstream::controller_manager(folder, kubeconfig, "*", Content::Protobuf, &flags)?,
            upstream::scheduler(folder, kubeconfig, Content::Protobuf, None)?,
        ];
        let machines = Box::new(Machines::start(kubeconfig).await?);
        let (client, nodes) = (server.client.clone(), Machines::names());
        let plane = Plane::Real { machines, programs, server: Box::new(server) };
        Self::ready(client, nodes, plane).await
    }

    /// Ours.
    pub async fn ours() -> Result<Self> {
        let server = Embedded::up(&program()?, &["--in-memory", "--nodes", "3"]).await?;
        let client = server.client.clone();
        Self::ready(client, Machines::names(), Plane::Ours(Box::new(server))).await
    }

    async fn ready(client: Client, nodes: Vec<String>, plane: Plane) -> Result<Self> {
        let looks = observe(client.clone(), &OBSERVED).await?;
        let mut ground = Self { client, looks, nodes, plane };
        ground.until_ready().await?;
        Ok(ground)
    }

    /// Waits until every node takes pods.
    async fn until_ready(&mut self) -> Result<()> {
        let mut last = Vec::new();
        for _ in 0..TRIES {
            let look = self.looks.borrow().clone();
            let ready = |node: &&Value| {
                let conditions = node.pointer("/status/conditions").and_then(Value::as_array);
                let ready = conditions.into_iter().flatten().any(|c| c["type"] == "Ready" && c["status"] == "True");
                ready && node.pointer("/spec/taints").is_none()
            };
            let name = |node: &Value| node.pointer("/metadata/name")?.as_str().map(str::to_owned);
            last = look.all("node").filter(ready).filter_map(name).collect();
            if last.len() == self.nodes.len() {
                self.nodes = last;
                return Ok(());
            }
            sleep(PAUSE).await;
        }
        self.alive()?;
        bail!("of the nodes {:?} only {last:?} are ready", self.nodes)
    }

    /// Whether everything still runs, and does all that it has to.
    pub fn alive(&mut self) -> Result<()> {
        match &mut self.plane {
            Plane::Real { programs, .. } => programs.iter_mut().try_for_each(Process::alive),
            Plane::Ours(server) => server.process().map_or(Ok(()), |up| {
                up.alive()?;
                let printed = up.printed();
                // Each part has the rights that it needs and no others: a story that calls for one more shows it here.
                let missing: Vec<&str> = printed.lines().filter(|line| line.contains(MISSING_RIGHT)).collect();
                ensure!(missing.is_empty(), "a part of the cluster may not do its work:\n{}", missing.join("\n"));
                Ok(())
            }),
        }
    }

    /// Waits until nothing of earlier stories is on the nodes.
    pub async fn until_empty(&self) -> Result<()> {
        for _ in 0..TRIES {
            if self.looks.borrow().all("pod").next().is_none() {
                return Ok(());
            }
            sleep(PAUSE).await;
        }
        bail!("pods of stories that are over are still there")
    }

    /// Puts the nodes in order again, whatever was done to them: each is a new one.
    pub async fn renew_nodes(&mut self) -> Result<()> {
        self.until_empty().await?;
        let Plane::Real { machines, .. } = &mut self.plane else { return Ok(()) };
        machines.switch_off();
        for node in &self.nodes {
            let path = format!("/api/v1/nodes/{node}");
            self.client.ask(&token(ADMIN), http::Method::DELETE, &path, "application/json", None).await?;
        }
        machines.switch_on()?;
        // A look from before would show the old ones.
        self.looks.changed().await.context("nobody looks any more")?;
        self.looks.changed().await.context("nobody looks any more")?;
        self.until_ready().await
    }

    /// Where the logs are.
    pub fn folder(&self) -> &std::path::Path {
        match &self.plane {
            Plane::Real { server, .. } => server.folder(),
            Plane::Ours(server) => server.folder(),
        }
    }
}
