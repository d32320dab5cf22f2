//! The arguments of `plimsoll scheduler`: kube-scheduler's names where it has them.

use clap::Args;

use crate::process::args::{HealthListen, ProcessArgs, health_listen};

/// Examples for `--help`.
pub const EXAMPLES: &str = "\
Examples:
  # On the cluster of a kubeconfig, alone
  plimsoll scheduler --kubeconfig ~/.kube/config --leader-elect=false";

/// `scheduler`.
#[derive(Debug, Args)]
pub struct SchedulerArgs {
    #[command(flatten)]
    pub process: ProcessArgs,
    /// The lease's name
    #[arg(long, value_name = "NAME", default_value = "kube-scheduler")]
    pub leader_elect_resource_name: String,
    /// Where /healthz, /livez, /readyz and /metrics are served; off for nowhere
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:10351", value_parser = health_listen)]
    pub health_listen: HealthListen,
}
