//! `plimsoll scheduler`: the scheduler as a process.

pub mod args;
#[cfg(test)]
mod pages;
mod settings;
pub mod upstream_flags;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_runtime::lease;
use plimsoll_runtime::spans::SpansConfig;
use plimsoll_scheduler::Options;
use plimsoll_scheduler::config::AllGates;
use plimsoll_scheduler::config::gates::UpstreamGates;
use plimsoll_scheduler::extenders::Extenders;

use crate::Found;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::process::{self, Process, Threads, gates};

use args::SchedulerArgs;
use settings::Settings;

/// How long begun work has at the end.
const GRACE: Duration = Duration::from_secs(6);

/// Runs until a signal, or the loss of the lease, ends it.
pub fn run(args: &SchedulerArgs, printer: &mut Printer) -> Result<Found, Failure> {
    let mut upstream = UpstreamGates::default();
    let gates = gates::read(&args.process.feature_gates, printer, |name, on| Some(upstream.set(name, on)))?;
    let gates = AllGates { ours: gates.gates, upstream };
    let settings = Settings::read(args, gates)?;
    if let Some(file) = &args.write_config_to {
        settings.process.notes.iter().for_each(|note| printer.note(note));
        settings.write(file)?;
        printer.note(&format!("the configuration was written to {}", file.display()));
        return Ok(Found::Placeable);
    }
    // Pods that extenders have a say in are chosen for one after the other, with several answers to wait for in between.
    let paced = settings.configuration.extenders.is_empty();
    process::block_on(&args.process, Threads::One { paced }, serve(args, &settings, gates, printer))
}

async fn serve(
    args: &SchedulerArgs,
    settings: &Settings,
    gates: AllGates,
    printer: &mut Printer,
) -> Result<Found, Failure> {
    let process = Process {
        args: &settings.process,
        lease: &settings.lease,
        health_listen: args.health_listen,
        grace: GRACE,
        gates: gates.ours,
        doing: "scheduling on",
        pages: vec![("configz", settings.page())],
        spans: args.otlp_endpoint.clone().map(|endpoint| spans(args, endpoint)).transpose()?,
    };
    let extenders = Extenders::new(&settings.configuration.extenders).map_err(Failure::new)?;
    let decisions = args.decision_log.as_deref().map(open).transpose()?;
    let options = Options {
        extenders,
        decisions,
        longest_stay: args.pod_max_in_unschedulable_pods_duration,
        early: gates.upstream.pop_from_backoff,
        host: lease::host(),
        ..Options::from(settings.configuration.clone())
    };
    process
        .run(printer, |context| {
            plimsoll_scheduler::start(&context, options);
        })
        .await
}

/// Where spans go.
fn spans(args: &SchedulerArgs, endpoint: http::Uri) -> Result<SpansConfig, Failure> {
    SpansConfig::network(endpoint, "plimsoll-scheduler", args.otlp_sampling_rate_per_million)
        .map_err(|error| Failure::new(format!("--otlp-endpoint: {error}")))
}

/// Opens the decision log, at its end.
fn open(path: &Path) -> Result<Arc<File>, Failure> {
    let file = File::options().append(true).create(true).open(path);
    file.map(Arc::new).map_err(|error| {
        Failure::new(format!("--decision-log: {} cannot be written: {error}", path.display()))
            .help("name a file in a folder that exists and that this process may write to")
    })
}
