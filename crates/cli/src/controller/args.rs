//! The arguments of `plimsoll controller`: kube-controller-manager's names where it has them.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::duration;
use super::upstream_flags::{self, Treatment};

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

/// How logs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LoggingFormat {
    /// For people
    Text,
    /// One JSON object per line
    Json,
}

/// `controller`.
#[derive(Debug, Args)]
pub struct ControllerArgs {
    /// The kubeconfig of the cluster [default: the service account of the pod this runs in]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The address of the API server, instead of the kubeconfig's
    #[arg(long, value_name = "URL")]
    pub master: Option<String>,
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
    /// The lease's name
    #[arg(long, value_name = "NAME", default_value = "plimsoll-controller")]
    pub leader_elect_resource_name: String,
    /// The lease's namespace
    #[arg(long, value_name = "NAMESPACE", default_value = "kube-system")]
    pub leader_elect_resource_namespace: String,
    /// Where /healthz, /livez, /readyz and /metrics are served; off for nowhere
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:10352", value_parser = health_listen)]
    pub health_listen: HealthListen,
    /// How many requests a second the API server is asked at most [default: no limit]
    #[arg(long, value_name = "NUMBER")]
    pub kube_api_qps: Option<f32>,
    /// How many requests may go at once above that
    #[arg(long, value_name = "NUMBER")]
    pub kube_api_burst: Option<u32>,
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
    /// Turn differences on or off, such as MatchingSearch=false
    #[arg(long, value_name = "NAME=BOOL", value_delimiter = ',')]
    pub feature_gates: Vec<String>,
    /// How much is logged: 0 warnings, 1 what was done, 2 and more every decision
    #[arg(short = 'v', long = "v", value_name = "LEVEL", default_value_t = 0)]
    pub verbosity: u8,
    /// How logs are written
    #[arg(long, value_enum, default_value_t = LoggingFormat::Text)]
    pub logging_format: LoggingFormat,
    /// What is to be said of flags that change nothing here; filled in by [`sort_out`].
    #[arg(skip)]
    pub notes: Vec<String>,
}

/// Where health and metrics are served; `None` for nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthListen(pub Option<SocketAddr>);

fn health_listen(text: &str) -> Result<HealthListen, String> {
    match text {
        "off" => Ok(HealthListen(None)),
        text => {
            let address =
                text.parse().map_err(|_| format!("{text} is not ADDRESS:PORT, such as 127.0.0.1:10352, or off"));
            address.map(|address| HealthListen(Some(address)))
        }
    }
}

/// Takes kube-controller-manager's flags that change nothing out of a command line. Gives back the rest, what is to be
/// said, or why one of them cannot be honoured.
pub fn sort_out(line: Vec<OsString>) -> Result<(Vec<OsString>, Vec<String>), String> {
    let mut rest = Vec::new();
    let mut notes = Vec::new();
    let mut words = line.into_iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy().into_owned();
        let Some(body) = text.strip_prefix("--") else {
            rest.push(word);
            continue;
        };
        let (name, joined) = body.split_once('=').map_or((body, None), |(name, value)| (name, Some(value.to_owned())));
        let Some(flag) = upstream_flags::find(name) else {
            rest.push(word);
            continue;
        };
        if flag.treatment == Treatment::Taken {
            rest.push(word);
            continue;
        }
        let value = match joined {
            Some(value) => value,
            None if flag.takes_value => words.next().unwrap_or_default().to_string_lossy().into_owned(),
            None => "true".to_owned(),
        };
        match flag.treatment {
            Treatment::Refused(_) if matches!(value.as_str(), "" | "false") => {}
            Treatment::Refused(why) => return Err(format!("--{name} cannot be honoured: {why}")),
            Treatment::Noted(why) => notes.push(format!("--{name} changes nothing: {why}")),
            Treatment::Taken => {}
        }
    }
    Ok((rest, notes))
}

#[cfg(test)]
mod tests {
    use super::{OsString, sort_out};

    fn line(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn flags_that_change_nothing_are_taken_out_and_named() {
        let given = ["plimsoll", "controller", "--node-monitor-period", "5s", "--profiling=false", "--v=2"];
        let (rest, notes) = sort_out(line(&given)).unwrap();
        assert_eq!(rest, line(&["plimsoll", "controller", "--v=2"]));
        assert_eq!(notes.len(), 2);
        assert!(notes[0].starts_with("--node-monitor-period changes nothing: "), "{notes:?}");
    }

    #[test]
    fn flags_that_cannot_be_honoured_are_refused_unless_off() {
        let refused = sort_out(line(&["plimsoll", "controller", "--enable-hostpath-provisioner"]));
        assert!(refused.unwrap_err().starts_with("--enable-hostpath-provisioner cannot be honoured: "));
        let off = sort_out(line(&["plimsoll", "controller", "--enable-hostpath-provisioner=false"])).unwrap();
        assert_eq!(off, (line(&["plimsoll", "controller"]), Vec::new()));
    }

    #[test]
    fn values_are_not_mistaken_for_flags() {
        let given = ["plimsoll", "controller", "--cloud-config", "--odd", "--kubeconfig", "k"];
        let (rest, _) = sort_out(line(&given)).unwrap();
        assert_eq!(rest, line(&["plimsoll", "controller", "--kubeconfig", "k"]));
    }
}
