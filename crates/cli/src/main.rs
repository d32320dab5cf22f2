//! The `plimsoll` command, also `kubectl-plimsoll`.

mod apiserver;
mod args;
mod controller;
mod explain;
mod failure;
mod load;
mod logging;
mod node;
mod printer;
mod process;
mod scheduler;
mod server;
mod signals;
mod text;
mod up;

use std::process::ExitCode;

use crate::args::{Cli, Verb};
use crate::failure::Failure;
use crate::printer::Printer;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What a command that did its work has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// Every pod asked about can be placed, or no pod was asked about.
    Placeable,
    /// At least one pod cannot be placed.
    Unplaceable,
}

fn main() -> ExitCode {
    let cli = Cli::read();
    let mut printer = Printer::new(cli.output);
    match run(&cli, &mut printer) {
        Ok(Found::Placeable) => ExitCode::SUCCESS,
        Ok(Found::Unplaceable) => ExitCode::from(3),
        Err(failure) => match failure.exit_code() {
            Some(code) => {
                printer.failure(&failure);
                ExitCode::from(code)
            }
            None => ExitCode::SUCCESS,
        },
    }
}

fn run(cli: &Cli, printer: &mut Printer) -> Result<Found, Failure> {
    match &cli.verb {
        Verb::Explain(args) => explain::run(args, printer),
        Verb::Apiserver(args) => apiserver::run(args, printer),
        Verb::Controller(args) => controller::run(args, printer),
        Verb::Scheduler(args) => scheduler::run(args, printer),
        Verb::Up(args) => up::run(args, printer),
        Verb::Node(args) => node::run(args, printer),
    }
}
