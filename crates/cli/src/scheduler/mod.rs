//! `plimsoll scheduler`: the scheduler as a process.

pub mod args;

use std::time::Duration;

use plimsoll_scheduler::Options;

use crate::Found;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::process::{self, Process, gates};

use args::SchedulerArgs;

/// How long begun work has at the end.
const GRACE: Duration = Duration::from_secs(6);

/// Runs until a signal, or the loss of the lease, ends it.
pub fn run(args: &SchedulerArgs, printer: &mut Printer) -> Result<Found, Failure> {
    process::block_on(&args.process, serve(args, printer))
}

async fn serve(args: &SchedulerArgs, printer: &mut Printer) -> Result<Found, Failure> {
    let gates = gates::read(&args.process.feature_gates, printer)?;
    let options = Options::default();
    let process = Process {
        args: &args.process,
        lease: &args.leader_elect_resource_name,
        health_listen: args.health_listen,
        grace: GRACE,
        gates: gates.gates,
        doing: "scheduling on",
    };
    process
        .run(printer, |context| {
            plimsoll_scheduler::start(&context, options);
        })
        .await
}
