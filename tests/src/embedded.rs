//! Our server: in the process of the test, or as the `plimsoll` program.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use plimsoll_apiserver::admission::Plugins;
use plimsoll_apiserver::start::{Options, start};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::client::Client;
use crate::identities;
use crate::process::{Folder, Process};

/// A running server of ours. It listens on a socket, also in process, so that nothing on the way is left untested.
#[derive(Debug)]
pub struct Embedded {
    /// Talks to it.
    pub client: Client,
    /// The administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<()>>,
    process: Option<Process>,
    folder: Folder,
}

impl Embedded {
    /// Starts it in this process. Without housekeeping it does what kube-apiserver alone does.
    pub async fn start(housekeeping: bool) -> Result<Self> {
        let folder = Folder::new("embedded")?;
        std::fs::write(folder.path().join("tokens.csv"), identities::token_file())?;
        let options = Options {
            data_dir: folder.path().to_owned(),
            in_memory: false,
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            housekeeping: housekeeping.into(),
            plugins: Plugins::default(),
        };
        let started = start(&options).await?;
        let client = Client::new(started.listener.address()?, &authority(folder.path())?)?;
        let kubeconfig = started.kubeconfig.clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(started.serve(async move {
            let _ = stopped.await;
        }));
        Ok(Self { client, kubeconfig, stop: Some(stop), task: Some(task), process: None, folder })
    }

    /// Starts the built program, with further arguments of `plimsoll apiserver`.
    pub async fn program(plimsoll: &Path, arguments: &[&str]) -> Result<Self> {
        Self::command(plimsoll, "apiserver", arguments).await
    }

    /// Starts the built program, with further arguments of `plimsoll up`: a whole cluster.
    pub async fn up(plimsoll: &Path, arguments: &[&str]) -> Result<Self> {
        Self::command(plimsoll, "up", arguments).await
    }

    async fn command(plimsoll: &Path, name: &str, arguments: &[&str]) -> Result<Self> {
        let folder = Folder::new("embedded")?;
        std::fs::write(folder.path().join("tokens.csv"), identities::token_file())?;
        let mut command = Command::new(plimsoll);
        command.args([name, "--listen", "127.0.0.1:0", "--data-dir"]).arg(folder.path()).args(arguments);
        let mut process = Process::start(folder.path(), "plimsoll", &mut command)?;
        let address = said_address(&mut process).await?;
        let client = Client::new(address, &authority(folder.path())?)?;
        let kubeconfig = folder.path().join("kubeconfig");
        Ok(Self { client, kubeconfig, stop: None, task: None, process: Some(process), folder })
    }

    /// The program's process, where it is one.
    pub fn process(&mut self) -> Option<&mut Process> {
        self.process.as_mut()
    }

    /// Its data folder, with its log.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Stops it in good order.
    pub async fn stop(mut self) {
        drop(self.stop.take());
        if let Some(task) = self.task.take() {
            let _ = task.await;
        }
    }
}

fn authority(folder: &Path) -> Result<String> {
    let path = folder.join("pki").join("ca.crt");
    std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

/// The address that the program says it answers on.
async fn said_address(process: &mut Process) -> Result<SocketAddr> {
    for _ in 0..600 {
        let printed = process.printed();
        let said = printed.lines().find_map(|line| line.split_once("https://"));
        if let Some(address) = said.and_then(|(_, rest)| rest.trim().parse().ok()) {
            return Ok(address);
        }
        process.alive()?;
        sleep(Duration::from_millis(50)).await;
    }
    bail!("plimsoll does not say where it answers:\n{}", process.printed())
}
