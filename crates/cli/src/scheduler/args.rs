//! The arguments of `plimsoll scheduler`: kube-scheduler's names where it has them.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use plimsoll_clock::duration;
use plimsoll_runtime::spans;

use crate::process::args::{HealthListen, ProcessArgs, health_listen};

/// Examples for `--help`.
pub const EXAMPLES: &str = "\
Examples:
  # On the cluster of a kubeconfig, in place of kube-scheduler; of the two, one holds the lease and works
  plimsoll scheduler --kubeconfig ~/.kube/config
  # With profiles, weights, arguments and extenders from a KubeSchedulerConfiguration
  plimsoll scheduler --config scheduler.yaml
  # What that file means with every default, without running
  plimsoll scheduler --config scheduler.yaml --write-config-to /dev/stdout
  # Beside kube-scheduler, for pods with a schedulerName of their own, which the file names: a lease of its own, too
  plimsoll scheduler --config beside.yaml --leader-elect-resource-name plimsoll-scheduler
  # Spans of one attempt in a hundred, to a collector beside it
  plimsoll scheduler --otlp-endpoint http://127.0.0.1:4318 --otlp-sampling-rate-per-million 10000

Every flag of kube-scheduler and every field of its configuration is accepted or refused with a sentence:
docs/scheduler.md has the tables.";

/// `scheduler`.
#[derive(Debug, Args)]
pub struct SchedulerArgs {
    #[command(flatten)]
    pub process: ProcessArgs,
    /// The KubeSchedulerConfiguration, YAML or JSON; the leader election's flags go before it, it before the others
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Write the configuration with every default to a file, and end
    #[arg(long, value_name = "FILE")]
    pub write_config_to: Option<PathBuf>,
    /// How long a pod that fits nowhere stays so before it is tried whatever happened
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration::parse)]
    pub pod_max_in_unschedulable_pods_duration: Duration,
    /// The lease's name
    #[arg(long, value_name = "NAME", default_value = "kube-scheduler")]
    pub leader_elect_resource_name: String,
    /// Append a line of JSON for every decision to this file
    #[arg(long, value_name = "FILE")]
    pub decision_log: Option<PathBuf>,
    /// Tell an OpenTelemetry collector where the time of every attempt went: OTLP over HTTP, as to http://127.0.0.1:4318
    #[arg(long, value_name = "URL", value_parser = spans::endpoint)]
    pub otlp_endpoint: Option<http::Uri>,
    /// How many attempts of a million are told, chosen at random
    #[arg(long, value_name = "NUMBER", default_value_t = spans::ALL, requires = "otlp_endpoint", value_parser = clap::value_parser!(u32).range(..=i64::from(spans::ALL)))]
    pub otlp_sampling_rate_per_million: u32,
    /// Where /healthz, /livez, /readyz and /metrics are served; off for nowhere
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:10351", value_parser = health_listen)]
    pub health_listen: HealthListen,
}
