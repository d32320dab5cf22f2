//! A server with controllers on it: the real one or the embedded one, kube-controller-manager's controllers or ours.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::client::Client;
use crate::embedded::Embedded;
use crate::process::Process;
use crate::upstream::{self, Content, Upstream};

/// Names the built program where it is not beside the test's own.
pub const PROGRAM: &str = "PLIMSOLL_PROGRAM";

/// Upstream's controllers whose place ours take.
const REPLACED: &str = "persistentvolume-binder-controller,persistentvolumeclaim-protection-controller,\
    persistentvolume-protection-controller,ephemeral-volume-controller";
/// What both need beside them: owned objects go with their owners.
const HELPERS: &str = "garbage-collector-controller";
/// Upstream looks at everything again this often, so that what it does only then is done while somebody waits. Not more often: its
/// recorder drops events of an object after the first 25.
const RESYNC: &str = "--pvclaimbinder-sync-period=2s";

/// Who keeps claims and volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeper {
    /// kube-controller-manager.
    Upstream,
    /// `plimsoll controller`.
    Ours,
}

/// The API server.
#[derive(Debug)]
pub enum Server {
    /// kube-apiserver with etcd.
    Real(Box<Upstream>),
    /// Ours, in this process.
    Embedded(Box<Embedded>),
}

impl Server {
    /// Starts the real one.
    pub async fn real() -> Result<Self> {
        Ok(Self::Real(Box::new(Upstream::start(upstream::Options::default()).await?)))
    }

    /// Starts ours.
    pub async fn embedded() -> Result<Self> {
        Ok(Self::Embedded(Box::new(Embedded::start(true).await?)))
    }

    /// Talks to it.
    pub fn client(&self) -> &Client {
        match self {
            Self::Real(server) => &server.client,
            Self::Embedded(server) => &server.client,
        }
    }

    fn kubeconfig(&self) -> &Path {
        match self {
            Self::Real(server) => &server.kubeconfig,
            Self::Embedded(server) => &server.kubeconfig,
        }
    }

    /// Where the logs are.
    pub fn folder(&self) -> &Path {
        match self {
            Self::Real(server) => server.folder(),
            Self::Embedded(server) => server.folder(),
        }
    }

    /// Whether kube-scheduler runs on it: only beside the real server, since without Go there is none.
    pub fn has_scheduler(&self) -> bool {
        matches!(self, Self::Real(_))
    }

    /// Starts kube-scheduler where there is one.
    pub fn scheduler(&self) -> Result<Option<Process>> {
        if !self.has_scheduler() {
            return Ok(None);
        }
        upstream::kube_scheduler(self.folder(), self.kubeconfig(), Content::Protobuf).map(Some)
    }

    /// Starts a binder alone, as it comes, for benchmarks.
    pub fn binder(&self, keeper: Keeper) -> Result<Vec<Process>> {
        const BINDER: &str = "persistentvolume-binder-controller";
        let process = match keeper {
            Keeper::Upstream => {
                upstream::controller_manager(self.folder(), self.kubeconfig(), BINDER, Content::Protobuf, &[])?
            }
            Keeper::Ours => {
                let mut command = Command::new(program()?);
                command.args(["controller", "--leader-elect=false", "--health-listen", "off", "--controllers", BINDER]);
                command.arg("--kubeconfig").arg(self.kubeconfig());
                Process::start(self.folder(), "plimsoll-controller", &mut command)?
            }
        };
        Ok(vec![process])
    }

    /// Starts the controllers with these flags.
    pub fn controllers(&self, keeper: Keeper, flags: &[String]) -> Result<Vec<Process>> {
        let manager = |controllers: &str, flags: &[String]| {
            upstream::controller_manager(self.folder(), self.kubeconfig(), controllers, Content::Protobuf, flags)
        };
        let mut processes = Vec::new();
        match keeper {
            Keeper::Upstream => {
                let mut all = vec![RESYNC.to_owned()];
                all.extend_from_slice(flags);
                processes.push(manager(&format!("{REPLACED},{HELPERS}"), &all)?);
            }
            Keeper::Ours => {
                if self.has_scheduler() {
                    processes.push(manager(HELPERS, &[])?);
                }
                let mut command = Command::new(program()?);
                command.args(["controller", "--leader-elect=false", "--health-listen", "off", "--kubeconfig"]);
                command.arg(self.kubeconfig()).args(flags);
                processes.push(Process::start(self.folder(), "plimsoll-controller", &mut command)?);
            }
        }
        Ok(processes)
    }
}

/// The built `plimsoll`: cargo puts it into the folder above that of the tests, when it builds the whole workspace.
pub fn program() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os(PROGRAM) {
        return Ok(path.into());
    }
    let test = std::env::current_exe().context("where is this test?")?;
    let path = test.parent().and_then(Path::parent).context("no folder above")?.join("plimsoll");
    if !path.is_file() {
        bail!("{} is not there: cargo build -p plimsoll-cli, or name it in {PROGRAM}", path.display());
    }
    Ok(path)
}
