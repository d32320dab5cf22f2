//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::controller::args::ControllerArgs;
use crate::node::args::NodeArgs;
use crate::process::upstream_flags::{Flag, sort_out};
use crate::scheduler::args::SchedulerArgs;
use crate::server::args::ServerArgs;
use crate::up::args::UpArgs;
use clap::parser::ValueSource;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use plimsoll_engine::gates::{Gate, Gates};

/// Volume-aware scheduling for Kubernetes.
#[derive(Debug, Parser)]
#[command(name = "plimsoll", version, arg_required_else_help = true)]
pub struct Cli {
    /// How to write the result
    #[arg(short, long, value_enum, default_value_t = Output::Table, global = true)]
    pub output: Output,
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a whole cluster on this machine: API, controllers, scheduler and simulated nodes
    ///
    /// Nothing else is needed. kubectl works on it as on any cluster; volumes are directories in the data folder. What it stores is
    /// there again after a restart.
    #[command(after_help = crate::up::args::EXAMPLES)]
    Up(Box<UpArgs>),
    /// Say where a pod fits and, for every other node, each reason why not
    ///
    /// Nothing is changed. With -f the cluster is read from files, otherwise from the cluster of your kubeconfig.
    /// Without POD, every pod that has no node is explained. `plimsoll explain PL012` says what a code means.
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArgs),
    /// Cut a simulated node off, and bring it back
    #[command(after_help = crate::node::args::EXAMPLES)]
    Node(NodeArgs),
    /// Run the embedded Kubernetes API, without any node or controller
    ///
    /// The API answers kubectl and every other Kubernetes client. What it stores is kept in the data folder, and is there again after a
    /// restart. Garbage collection and the deletion of namespaces' content are part of it unless a real kube-controller-manager does that.
    #[command(after_help = APISERVER_EXAMPLES)]
    Apiserver(ApiserverArgs),
    /// Keep volumes and claims true to each other
    ///
    /// Binds them, protects what is in use, reclaims what is not. Takes the place of kube-controller-manager's
    /// controllers for volumes, on any Kubernetes cluster, and takes its flags.
    #[command(after_help = crate::controller::args::EXAMPLES)]
    Controller(Box<ControllerArgs>),
    /// Place pods where their volumes are, or can be made
    ///
    /// Takes the place of kube-scheduler on any Kubernetes cluster, or runs beside it under a schedulerName of its own.
    #[command(after_help = crate::scheduler::args::EXAMPLES)]
    Scheduler(Box<SchedulerArgs>),
}

const APISERVER_EXAMPLES: &str = "\
Examples:
  # On the usual port, kept in ./.plimsoll
  plimsoll apiserver
  # For a test: any free port, nothing kept but the kubeconfig
  plimsoll apiserver --in-memory --listen 127.0.0.1:0 --data-dir /tmp/api
  kubectl --kubeconfig /tmp/api/kubeconfig get namespaces
  # Under a real kube-controller-manager, which collects garbage itself
  plimsoll apiserver --housekeeping=false";

/// `apiserver`.
#[derive(Debug, Args)]
pub struct ApiserverArgs {
    #[command(flatten)]
    pub server: ServerArgs,
    /// Collect garbage, empty deleted namespaces, gather ClusterRoles and let events expire
    #[arg(long, value_name = "BOOL", default_value_t = true, num_args = 0..=1, default_missing_value = "true", action = clap::ArgAction::Set)]
    pub housekeeping: bool,
    /// Give pods their namespace's service account, as kube-apiserver's ServiceAccount admission does
    #[arg(long, value_name = "BOOL", default_value_t = false, num_args = 0..=1, default_missing_value = "true", action = clap::ArgAction::Set)]
    pub service_account_admission: bool,
    /// Taint new nodes until they are ready, as kube-apiserver's TaintNodesByCondition admission does
    #[arg(long, value_name = "BOOL", default_value_t = false, num_args = 0..=1, default_missing_value = "true", action = clap::ArgAction::Set)]
    pub taint_nodes_by_condition: bool,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  # Why is pod web-0 of the current cluster pending?
  plimsoll explain web-0
  # The same in another namespace, for a script
  plimsoll explain -n shop pod/web-0 -o json
  # From a folder of manifests or kubectl dumps
  plimsoll explain -f cluster/ shop/web-0
  # Every waiting pod of a dump
  kubectl get -A -o json no,po,ns,pv,pvc,sc,svc,rc,rs,sts,csinodes,csidrivers,\\
csistoragecapacities,volumeattachments | plimsoll explain -f -
  # Exactly what kube-scheduler would decide
  plimsoll explain -f cluster/ web-0 --as-upstream
  # What a code means and what to do
  plimsoll explain PL012

Exit codes:
  0  every pod asked about can be placed
  1  an error
  2  wrong usage
  3  a pod cannot be placed";

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people
    Table,
    /// For scripts
    Json,
    /// The same data as json
    Yaml,
}

/// `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// NAME, NAMESPACE/NAME, pod NAME or pod/NAME; or a code such as PL012
    #[arg(value_name = "POD", num_args = 0..=2)]
    pub subject: Vec<String>,
    /// List every code
    #[arg(long, conflicts_with_all = ["subject", "file"])]
    pub codes: bool,
    /// Show what the scheduler decided, from the file of its --decision-log
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "kubeconfig", "context", "codes"])]
    pub decision_log: Option<PathBuf>,
    #[command(flatten)]
    pub cluster: ClusterArgs,
    #[command(flatten)]
    pub gates: GateArgs,
}

/// Where the cluster comes from.
#[derive(Debug, Args)]
pub struct ClusterArgs {
    /// Read the cluster from a file, a folder, or - for stdin, instead of a live one; repeatable
    #[arg(short, long, value_name = "PATH", conflicts_with_all = ["kubeconfig", "context"])]
    pub file: Vec<PathBuf>,
    /// The kubeconfig of the live cluster [default: as for kubectl]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The kubeconfig's context to use
    #[arg(long)]
    pub context: Option<String>,
    /// The pod's namespace; without POD, only this namespace's pods
    #[arg(short, long)]
    pub namespace: Option<String>,
    /// Every namespace, as without --namespace
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub all_namespaces: bool,
}

/// Which deliberate differences from upstream are on.
#[derive(Debug, Args)]
pub struct GateArgs {
    /// Decide exactly as kube-scheduler does: all deliberate differences off
    #[arg(long)]
    pub as_upstream: bool,
    /// Turn single differences on or off, such as MatchingSearch=false
    #[arg(long, value_name = "NAME=BOOL", value_delimiter = ',', value_parser = gate)]
    pub feature_gates: Vec<(Gate, bool)>,
}

impl GateArgs {
    /// The gates as asked for.
    pub fn gates(&self) -> Gates {
        let base = if self.as_upstream { Gates::AS_UPSTREAM } else { Gates::all() };
        self.feature_gates.iter().fold(base, |gates, (gate, on)| gates.with(*gate, *on))
    }
}

fn gate(text: &str) -> Result<(Gate, bool), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=true or NAME=false")?;
    let gate = Gate::from_name(name).ok_or_else(|| {
        let names = Gate::ALL.map(Gate::name).join(", ");
        format!("there is no gate {name}; there are {names}")
    })?;
    match value {
        "true" => Ok((gate, true)),
        "false" => Ok((gate, false)),
        _ => Err(format!("{value} is neither true nor false")),
    }
}

impl Cli {
    /// Reads the command line; wrong usage ends the process with exit code 2.
    pub fn read() -> Self {
        let mut command = Self::command();
        if is_kubectl_plugin() {
            // What the user typed, and can type again.
            command = command.bin_name("kubectl plimsoll");
        }
        let mut line: Vec<OsString> = std::env::args_os().collect();
        let mut notes = Vec::new();
        if let Some(flags) = upstream_flags_of(&line) {
            match sort_out(line, flags) {
                Ok(sorted) => (line, notes) = sorted,
                Err(why) => command.error(clap::error::ErrorKind::InvalidValue, why).exit(),
            }
        }
        let matches = command.get_matches_from(line);
        let mut cli = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        let process = match &mut cli.verb {
            Verb::Controller(args) => &mut args.process,
            Verb::Scheduler(args) => &mut args.process,
            Verb::Up(_) | Verb::Explain(_) | Verb::Node(_) | Verb::Apiserver(_) => return cli,
        };
        process.notes = notes;
        if let Some((_, matches)) = matches.subcommand() {
            let on_the_line = |flag: &&str| matches.value_source(flag) == Some(ValueSource::CommandLine);
            process.given = matches.ids().map(clap::Id::as_str).filter(on_the_line).map(str::to_owned).collect();
        }
        cli
    }
}

/// The flags of the component whose place the verb of a command line takes.
fn upstream_flags_of(line: &[OsString]) -> Option<&'static [Flag]> {
    let verb = line.iter().skip(1).find(|word| !word.to_string_lossy().starts_with('-'))?;
    match verb.to_str()? {
        "controller" => Some(&crate::controller::upstream_flags::FLAGS),
        "scheduler" => Some(&crate::scheduler::upstream_flags::FLAGS),
        _ => None,
    }
}

fn is_kubectl_plugin() -> bool {
    let program = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    program.file_stem().is_some_and(|name| name == "kubectl-plimsoll")
}
