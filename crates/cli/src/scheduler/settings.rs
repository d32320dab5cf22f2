//! What the command line and the file of `--config` come to together.
//!
//! As upstream, flags of the leader election go before the file, and the file before the flags that upstream calls
//! deprecated. Unlike upstream, such a flag is used where the file says nothing: `--config F --kubeconfig K` means both.

use std::path::Path;

use plimsoll_scheduler::config::document::{LeaderElection, Span};
use plimsoll_scheduler::config::{AllGates, Configuration};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::process::args::ProcessArgs;

use super::args::SchedulerArgs;

/// How the process works.
#[derive(Debug)]
pub struct Settings {
    /// The configuration, which the command line has been put into.
    pub configuration: Configuration,
    /// The command line, which the configuration has been put into.
    pub process: ProcessArgs,
    /// The lease's name.
    pub lease: String,
}

impl Settings {
    /// Reads the file where there is one, and settles who goes before whom.
    pub fn read(args: &SchedulerArgs, gates: AllGates) -> Result<Self, Failure> {
        let mut settings = Self {
            configuration: Configuration::usual(gates),
            process: args.process.clone(),
            lease: args.leader_elect_resource_name.clone(),
        };
        if let Some(file) = &args.config {
            let text = std::fs::read_to_string(file).map_err(|error| {
                Failure::new(format!("{} cannot be read: {error}", file.display()))
                    .help("--config wants the file of a KubeSchedulerConfiguration")
            })?;
            settings.configuration = Configuration::read(&text, gates).map_err(|problems| {
                let problems = problems.iter().map(|problem| format!("{}: {problem}", file.display())).collect();
                Failure::all(problems).help("docs/scheduler.md has every field, and what becomes of it")
            })?;
            let notes = settings.configuration.notes.iter().map(|note| format!("{}: {note}", file.display()));
            settings.process.notes.extend(notes);
        }
        settings.settle_lease();
        settings.settle_client(args.config.as_deref());
        Ok(settings)
    }

    /// The leader election: flags before the file.
    fn settle_lease(&mut self) {
        let (given, file) = (self.process.clone(), &mut self.configuration.document.leader_election);
        let process = &mut self.process;
        settle(given.is_given("leader_elect"), &mut process.leader_elect, file.leader_elect.get_or_insert(true));
        for (flag, value, in_file) in [
            ("leader_elect_lease_duration", &mut process.leader_elect_lease_duration, &mut file.lease_duration),
            ("leader_elect_renew_deadline", &mut process.leader_elect_renew_deadline, &mut file.renew_deadline),
            ("leader_elect_retry_period", &mut process.leader_elect_retry_period, &mut file.retry_period),
        ] {
            let Span(in_file) = in_file;
            settle(given.is_given(flag), value, in_file);
        }
        let LeaderElection { resource_lock, resource_name, resource_namespace, .. } = file;
        for (flag, value, in_file) in [
            ("leader_elect_resource_lock", &mut process.leader_elect_resource_lock, resource_lock),
            ("leader_elect_resource_name", &mut self.lease, resource_name),
            ("leader_elect_resource_namespace", &mut process.leader_elect_resource_namespace, resource_namespace),
        ] {
            settle(given.is_given(flag), value, in_file);
        }
    }

    /// The client: the file before flags.
    fn settle_client(&mut self, file: Option<&Path>) {
        let (process, configuration) = (&mut self.process, &mut self.configuration);
        let client = &mut configuration.document.client_connection;
        let mut overruled = Vec::new();
        match &configuration.kubeconfig {
            Some(kubeconfig) => {
                if process.kubeconfig.replace(kubeconfig.into()).is_some_and(|flag| flag != Path::new(kubeconfig)) {
                    overruled.push(("--kubeconfig", "clientConnection.kubeconfig"));
                }
            }
            None => {
                let flag = process.kubeconfig.as_deref().unwrap_or(Path::new(""));
                client.kubeconfig = flag.to_string_lossy().into_owned();
            }
        }
        match configuration.requests_per_second {
            Some(qps) => {
                if process.kube_api_qps.replace(qps).is_some_and(|flag| flag != qps) {
                    overruled.push(("--kube-api-qps", "clientConnection.qps"));
                }
            }
            None => client.qps = process.kube_api_qps.unwrap_or(client.qps),
        }
        match configuration.burst {
            Some(burst) => {
                if process.kube_api_burst.replace(burst).is_some_and(|flag| flag != burst) {
                    overruled.push(("--kube-api-burst", "clientConnection.burst"));
                }
            }
            None => {
                let flag = process.kube_api_burst.and_then(|burst| i32::try_from(burst).ok());
                client.burst = flag.unwrap_or(client.burst);
            }
        }
        let file = file.map_or_else(String::new, |file| file.display().to_string());
        if process.kube_api_qps.is_none_or(|qps| qps <= 0.0) && process.kube_api_burst.is_some() {
            let why = "changes nothing: there is no limit unless clientConnection.qps or --kube-api-qps sets one";
            process.notes.push(match configuration.burst {
                Some(_) => format!("{file}: clientConnection.burst: {why}"),
                None => format!("--kube-api-burst {why}"),
            });
        }
        for (flag, field) in overruled {
            process.notes.push(format!("{flag} changes nothing: {field} of {file} goes before it"));
        }
    }

    /// The effective configuration, as `/configz` shows it: without private keys, since nobody is asked who they are there.
    pub fn page(&self) -> String {
        let mut document = json!(self.configuration.document);
        for extender in document["extenders"].as_array_mut().into_iter().flatten() {
            if let Some(tls) = extender.get_mut("tlsConfig").and_then(Value::as_object_mut) {
                tls.remove("keyData");
            }
        }
        json!({"componentconfig": document}).to_string()
    }

    /// Writes the configuration as it is, with every default.
    pub fn write(&self, file: &Path) -> Result<(), Failure> {
        let text = serde_saphyr::to_string(&self.configuration.document)
            .map_err(|error| Failure::new(format!("the configuration cannot be written as YAML: {error}")))?;
        std::fs::write(file, text).map_err(|error| {
            Failure::new(format!("{} cannot be written: {error}", file.display()))
                .help("--write-config-to wants a file in a folder that exists")
        })
    }
}

/// Of a flag and a field that mean the same, both become what the flag says where it is given, and the field otherwise.
fn settle<T: Clone>(is_given: bool, flag: &mut T, field: &mut T) {
    if is_given {
        field.clone_from(flag);
    } else {
        flag.clone_from(field);
    }
}
