//! `plimsoll controller`: the controllers of volumes and claims as a process.

pub mod args;
mod duration;
mod gates;
mod upstream_flags;

use kube::Client;
use plimsoll_controllers::{Controller, Options, binder};
use plimsoll_runtime::Context;

use crate::Found;
use crate::failure::Failure;
use crate::load::live;
use crate::printer::Printer;
use crate::signals::Signals;

use args::ControllerArgs;

/// Runs until a signal, or the loss of the lease, ends it.
pub fn run(args: &ControllerArgs, printer: &mut Printer) -> Result<Found, Failure> {
    crate::logging::start(args.verbosity, args.logging_format);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("the process cannot start its threads: {error}")))?;
    runtime.block_on(serve(args, printer))
}

async fn serve(args: &ControllerArgs, printer: &mut Printer) -> Result<Found, Failure> {
    for note in &args.notes {
        printer.note(note);
    }
    let options = options(args, printer)?;
    let signals = Signals::new()?;
    let config = live::process_config(args.kubeconfig.as_deref(), args.master.as_deref()).await?;
    let server = config.cluster_url.to_string();
    let client = Client::try_from(config).map_err(|error| live::unreachable(&server, &error))?;
    let mut context = Context::system(client);
    context.gates = gates::read(&args.feature_gates, printer)?;
    plimsoll_controllers::start(&context, &options);
    printer.note(&format!("controlling {server}"));
    tokio::select! {
        () = signals.first() => {}
        () = context.tasks.failed() => return Err(Failure::new("a part of the process failed; see the log above".to_owned())),
    }
    context.tasks.shut_down(args.controller_shutdown_timeout).await;
    Ok(Found::Placeable)
}

/// What the arguments mean for the controllers.
fn options(args: &ControllerArgs, printer: &mut Printer) -> Result<Options, Failure> {
    let mut options = Options {
        binder: binder::Options {
            provisioning: args.enable_dynamic_provisioning,
            sync_period: args.pvclaimbinder_sync_period,
            ..binder::Options::default()
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
    Ok(options)
}
