//! The two servers, as processes.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result};
use plimsoll_tests::client::Client;
use plimsoll_tests::embedded::Embedded;
use plimsoll_tests::upstream::{Options, Upstream};

/// A server under load. It ends when this is dropped.
pub struct Subject {
    pub name: &'static str,
    pub client: Client,
    pub processes: Vec<u32>,
    /// Seconds from its start to its first answer on /readyz.
    pub ready: f64,
    _running: Running,
}

#[expect(dead_code, reason = "held so that the processes live")]
enum Running {
    Ours(Embedded),
    Theirs(Upstream),
}

impl Subject {
    /// Ours, durable. `PLIMSOLL` names the program.
    pub async fn ours() -> Result<Self> {
        let program = std::env::var("PLIMSOLL").context("PLIMSOLL must name the plimsoll program")?;
        let started = Instant::now();
        let mut server = Embedded::program(Path::new(&program), &[]).await?;
        server.client.get("/readyz").await?;
        let ready = started.elapsed().as_secs_f64();
        let id = server.process().context("no process")?.id();
        Ok(Self {
            name: "plimsoll",
            client: server.client.clone(),
            processes: vec![id],
            ready,
            _running: Running::Ours(server),
        })
    }

    /// kube-apiserver and etcd, which waits for its disk.
    pub async fn theirs() -> Result<Self> {
        let started = Instant::now();
        let server = Upstream::start(Options { fsync: true, ..Options::default() }).await?;
        let ready = started.elapsed().as_secs_f64();
        let (apiserver, etcd) = server.ids();
        let processes = vec![apiserver, etcd];
        Ok(Self {
            name: "kube-apiserver + etcd",
            client: server.client.clone(),
            processes,
            ready,
            _running: Running::Theirs(server),
        })
    }
}
