//! The arguments of `plimsoll controller`: kube-controller-manager's names where it has them.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use plimsoll_clock::duration;

use super::upstream_flags::{self, Treatment};
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
    /// What is to be said of flags that change nothing here; filled in by [`sort_out`].
    #[arg(skip)]
    pub notes: Vec<String>,
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
