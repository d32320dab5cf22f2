//! `plimsoll apiserver`: the embedded Kubernetes API as a process.

use plimsoll_apiserver::admission::Plugins;
use plimsoll_apiserver::start::start;

use crate::Found;
use crate::args::ApiserverArgs;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::server::trouble;
use crate::signals::Signals;

/// Serves until a signal ends it.
pub fn run(args: &ApiserverArgs, printer: &mut Printer) -> Result<Found, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("the process cannot start its threads: {error}")))?;
    runtime.block_on(serve(args, printer))
}

async fn serve(args: &ApiserverArgs, printer: &mut Printer) -> Result<Found, Failure> {
    let plugins = Plugins {
        service_account: args.service_account_admission,
        taint_nodes_by_condition: args.taint_nodes_by_condition,
    };
    let options = args.server.options(args.housekeeping.into(), plugins);
    let signals = Signals::new()?;
    let server = start(&options).await.map_err(|error| trouble::at_start(&error, &args.server))?;
    for note in &server.notes {
        printer.note(&note.to_string());
    }
    let address = server.listener.address()?;
    let kubeconfig = server.kubeconfig.display().to_string();
    printer.note(&format!("the API answers on https://{address}"));
    printer.say(&format!("Try: kubectl --kubeconfig {kubeconfig} get namespaces"));
    printer.line(&kubeconfig)?;
    server.serve(signals.first()).await;
    printer.ended("The API has ended.");
    Ok(Found::Placeable)
}
