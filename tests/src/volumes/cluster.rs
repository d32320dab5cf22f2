//! A server with controllers on it: the real one or the embedded one, kube-controller-manager's controllers or ours.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::scenario::Subject;
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
/// What makes pods, for the scheduler's scenarios.
const MAKERS: &str = "statefulset-controller";
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

/// Who plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cast {
    /// What is played.
    pub subject: Subject,
    /// Who keeps claims and volumes.
    pub keeper: Keeper,
    /// Who schedules; nobody where there is none.
    pub scheduler: Option<Keeper>,
}

impl Cast {
    /// The controllers' scenarios: with kube-scheduler where there is one.
    pub fn volumes(server: &Server, keeper: Keeper) -> Self {
        Self { subject: Subject::Volumes, keeper, scheduler: server.is_real().then_some(Keeper::Upstream) }
    }

    /// The scheduler's scenarios.
    pub fn scheduling(scheduler: Keeper, keeper: Keeper) -> Self {
        Self { subject: Subject::Scheduling, keeper, scheduler: Some(scheduler) }
    }

    /// Whether what the scenarios are about is ours.
    pub fn is_ours(self) -> bool {
        match self.subject {
            Subject::Volumes => self.keeper == Keeper::Ours,
            Subject::Scheduling => self.scheduler == Some(Keeper::Ours),
        }
    }
}

/// What the processes of some scenarios are started with; scenarios of one setting are played side by side.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    /// Flags of the controllers.
    pub flags: Vec<String>,
    /// Whether there are controllers.
    pub controllers: bool,
    /// Seconds that the scheduler waits for volumes.
    pub bind_timeout: Option<u64>,
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

    /// Whether it is the real one: only beside it do upstream's programs run, since without Go there are none.
    pub fn is_real(&self) -> bool {
        matches!(self, Self::Real(_))
    }

    /// Starts everything that a cast needs.
    pub fn cast(&self, cast: Cast, setting: &Setting) -> Result<Vec<Process>> {
        let mut processes = Vec::new();
        match cast.scheduler {
            None => {}
            Some(Keeper::Upstream) => processes.push(upstream::scheduler(
                self.folder(),
                self.kubeconfig(),
                Content::Protobuf,
                setting.bind_timeout,
            )?),
            Some(Keeper::Ours) => processes.push(self.plimsoll_scheduler(setting.bind_timeout)?),
        }
        if setting.controllers {
            processes.extend(self.controllers(cast, &setting.flags)?);
        }
        Ok(processes)
    }

    fn plimsoll_scheduler(&self, bind_timeout: Option<u64>) -> Result<Process> {
        let mut command = Command::new(program()?);
        command.args(["scheduler", "--leader-elect=false", "--health-listen", "off", "--kubeconfig"]);
        command.arg(self.kubeconfig());
        if let Some(seconds) = bind_timeout {
            let config = self.folder().join("plimsoll-scheduler.yaml");
            std::fs::write(&config, upstream::scheduler_config("", Some(seconds)))?;
            command.arg("--config").arg(config);
        }
        Process::start(self.folder(), "plimsoll-scheduler", &mut command)
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
    fn controllers(&self, cast: Cast, flags: &[String]) -> Result<Vec<Process>> {
        let helpers = match cast.subject {
            Subject::Volumes => HELPERS.to_owned(),
            Subject::Scheduling => format!("{HELPERS},{MAKERS}"),
        };
        let manager = |controllers: &str, flags: &[String]| {
            upstream::controller_manager(self.folder(), self.kubeconfig(), controllers, Content::Protobuf, flags)
        };
        let mut processes = Vec::new();
        match cast.keeper {
            Keeper::Upstream => {
                let mut all = vec![RESYNC.to_owned()];
                all.extend_from_slice(flags);
                processes.push(manager(&format!("{REPLACED},{helpers}"), &all)?);
            }
            Keeper::Ours => {
                if self.is_real() {
                    processes.push(manager(&helpers, &[])?);
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
