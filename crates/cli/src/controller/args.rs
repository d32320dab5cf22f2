//! The arguments of `plimsoll controller`: kube-controller-manager's names where it has them.

use std::time::Duration;

use clap::Args;
use plimsoll_clock::duration;

use crate::process::args::{HealthListen, ProcessArgs, health_listen};

/// Examples for `--help`.
pub const EXAMPLES: &str = "\
Examples:
  # On the cluster of a kubeconfig, alone
  plimsoll controller --kubeconfig ~/.kube/config --leader-elect=false
  # In a cluster, beside a kube-controller-manager that leaves volumes to it:
  #   kube-controller-manager --controllers=*,-persistentvolume-binder-controller,…
  plimsoll controller
  # Only binding; protection and ephemeral claims stay with kube-controller-manager
  plimsoll controller --controllers=persistentvolume-binder-controller

Every flag of kube-controller-manager is accepted or refused with a sentence: docs/controller.md has the table.";

/// `controller`.
#[derive(Debug, Args)]
pub struct ControllerArgs {
    #[command(flatten)]
    pub process: ProcessArgs,
    /// The lease's name
    #[arg(long, value_name = "NAME", default_value = "plimsoll-controller")]
    pub leader_elect_resource_name: String,
    /// Where /healthz, /livez, /readyz and /metrics are served; off for nowhere
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:10352", value_parser = health_listen)]
    pub health_listen: HealthListen,
    /// Which controllers run: names, -names, or * for all
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "*", allow_hyphen_values = true)]
    pub controllers: Vec<String>,
    /// How often a claim that waits is looked at again, so that its event stays fresh
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration::parse)]
    pub pvclaimbinder_sync_period: Duration,
    /// Ask provisioners for volumes
    #[arg(long, value_name = "BOOL", default_value_t = true, num_args = 0..=1, default_missing_value = "true", require_equals = true, action = clap::ArgAction::Set)]
    pub enable_dynamic_provisioning: bool,
    /// How long until everything is listed again, in case a watch skipped something
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = duration::parse)]
    pub min_resync_period: Duration,
    /// How many pods' ephemeral claims are made at a time
    #[arg(long, value_name = "NUMBER", default_value_t = 5)]
    pub concurrent_ephemeralvolume_syncs: usize,
    /// How long begun work has at the end
    #[arg(long, value_name = "DURATION", default_value = "6s", value_parser = duration::parse)]
    pub controller_shutdown_timeout: Duration,
    /// Meet the claims of pods that bypass the scheduler, on the node they name
    #[arg(long, value_name = "BOOL", default_value_t = true, num_args = 0..=1, default_missing_value = "true", require_equals = true, action = clap::ArgAction::Set)]
    pub rescue: bool,
    /// Only log which volumes' zone labels would be said as affinity
    #[arg(long, value_name = "BOOL", default_value_t = false, num_args = 0..=1, default_missing_value = "true", require_equals = true, action = clap::ArgAction::Set)]
    pub dry_run_zone_upgrade: bool,
    /// How many volumes a second get affinity for their zone labels
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    pub zone_upgrade_rate: u32,
}
