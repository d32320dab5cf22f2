//! `plimsoll controller`: the controllers of volumes and claims as a process.

pub mod args;
pub mod upstream_flags;

use plimsoll_controllers::{Controller, Options, binder, ephemeral, zone_upgrade};

use crate::Found;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::process::{self, Process, Threads, gates};

use args::ControllerArgs;

/// Runs until a signal, or the loss of the lease, ends it.
pub fn run(args: &ControllerArgs, printer: &mut Printer) -> Result<Found, Failure> {
    process::block_on(&args.process, Threads::AsManyAsCores, serve(args, printer))
}

async fn serve(args: &ControllerArgs, printer: &mut Printer) -> Result<Found, Failure> {
    let mut options = options(args, printer)?;
    let gates = gates::read(&args.process.feature_gates, printer, |_, _| None)?;
    options.protection.unused = gates.unused;
    let process = Process {
        args: &args.process,
        lease: &args.leader_elect_resource_name,
        health_listen: args.health_listen,
        grace: args.controller_shutdown_timeout,
        gates: gates.gates,
        doing: "controlling",
        pages: Vec::new(),
        spans: None,
    };
    process
        .run(printer, |context| {
            plimsoll_controllers::start(&context, &options);
        })
        .await
}

/// What the arguments mean for the controllers.
fn options(args: &ControllerArgs, printer: &mut Printer) -> Result<Options, Failure> {
    let mut options = Options {
        binder: binder::Options {
            provisioning: args.enable_dynamic_provisioning,
            sync_period: args.pvclaimbinder_sync_period,
            ..binder::Options::default()
        },
        ephemeral: ephemeral::Options { workers: args.concurrent_ephemeralvolume_syncs.max(1) },
        zone_upgrade: zone_upgrade::Options {
            dry_run: args.dry_run_zone_upgrade,
            per_second: args.zone_upgrade_rate.max(1),
            ..zone_upgrade::Options::default()
        },
        relist: args.min_resync_period,
        ..Options::default()
    };
    let all: Vec<&str> = args.controllers.iter().map(String::as_str).collect();
    if !all.contains(&"*") {
        options.run.clear();
    }
    for name in all.into_iter().filter(|name| *name != "*") {
        let (name, on) = name.strip_prefix('-').map_or((name, true), |name| (name, false));
        match Controller::from_name(name) {
            Some(controller) if on => drop(options.run.insert(controller)),
            Some(controller) => drop(options.run.remove(&controller)),
            None if on && !name.ends_with("-controller") => {
                let names = Controller::ALL.map(Controller::name).join(", ");
                return Err(Failure::new(format!("--controllers: there is no controller {name}"))
                    .help(format!("there are {names}")));
            }
            None => printer.note(&format!("--controllers: {name} stays with kube-controller-manager")),
        }
    }
    if !args.rescue {
        options.run.remove(&Controller::Rescue);
    }
    Ok(options)
}
