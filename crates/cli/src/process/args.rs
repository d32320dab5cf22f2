//! The flags that every long-running process has.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use plimsoll_clock::duration;

/// How logs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LoggingFormat {
    /// For people
    Text,
    /// One JSON object per line
    Json,
}

/// The flags of every process.
#[derive(Clone, Debug, Args)]
pub struct ProcessArgs {
    /// The kubeconfig of the cluster [default: the service account of the pod this runs in]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The address of the API server, instead of the kubeconfig's
    #[arg(long, value_name = "URL")]
    pub master: Option<String>,
    /// Work only while holding the lease, so that of several replicas one writes
    #[arg(long, value_name = "BOOL", default_value_t = true, num_args = 0..=1, default_missing_value = "true", require_equals = true, action = clap::ArgAction::Set)]
    pub leader_elect: bool,
    /// How long others wait before they take a lease that is not renewed
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration::parse)]
    pub leader_elect_lease_duration: Duration,
    /// How long the holder tries to renew before it gives up
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration::parse)]
    pub leader_elect_renew_deadline: Duration,
    /// How long between two tries
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration::parse)]
    pub leader_elect_retry_period: Duration,
    /// What the lease is kept in; there is one kind
    #[arg(long, value_name = "KIND", default_value = "leases", value_parser = ["leases"])]
    pub leader_elect_resource_lock: String,
    /// The lease's namespace
    #[arg(long, value_name = "NAMESPACE", default_value = "kube-system")]
    pub leader_elect_resource_namespace: String,
    /// How many requests a second the API server is asked at most [default: no limit]
    #[arg(long, value_name = "NUMBER")]
    pub kube_api_qps: Option<f32>,
    /// How many requests may go at once above that
    #[arg(long, value_name = "NUMBER")]
    pub kube_api_burst: Option<u32>,
    /// Turn differences on or off, such as MatchingSearch=false
    #[arg(long, value_name = "NAME=BOOL", value_delimiter = ',')]
    pub feature_gates: Vec<String>,
    /// How much is logged: 0 warnings, 1 what was done, 2 and more every decision
    #[arg(short = 'v', long = "v", value_name = "LEVEL", default_value_t = 0)]
    pub verbosity: u8,
    /// How logs are written
    #[arg(long, value_enum, default_value_t = LoggingFormat::Text)]
    pub logging_format: LoggingFormat,
    /// What is to be said of flags that change nothing here.
    #[arg(skip)]
    pub notes: Vec<String>,
    /// The flags that stand on the command line, such as `leader_elect`: a file does not go before them.
    #[arg(skip)]
    pub given: BTreeSet<String>,
}

impl ProcessArgs {
    /// Whether a flag stands on the command line.
    pub fn is_given(&self, flag: &str) -> bool {
        self.given.contains(flag)
    }
}

/// Where health and metrics are served; `None` for nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthListen(pub Option<SocketAddr>);

/// Reads `--health-listen`.
pub fn health_listen(text: &str) -> Result<HealthListen, String> {
    match text {
        "off" => Ok(HealthListen(None)),
        text => {
            let address =
                text.parse().map_err(|_| format!("{text} is not ADDRESS:PORT, such as 127.0.0.1:10352, or off"));
            address.map(|address| HealthListen(Some(address)))
        }
    }
}
