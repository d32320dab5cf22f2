//! `plimsoll controller`: the controllers of volumes and claims as a process.

pub mod args;
mod duration;
mod gates;
mod upstream_flags;

use std::time::Duration;

use kube::Client;
use plimsoll_controllers::{Controller, Options, binder, ephemeral, zone_upgrade};
use plimsoll_runtime::{
    Context, Ended, Health, LeaseConfig, Recorder, health, lease, requests, run_as_leader, throttle,
};

use crate::Found;
use crate::failure::Failure;
use crate::load::live;
use crate::printer::Printer;
use crate::signals::Signals;

use args::{ControllerArgs, HealthListen};

/// What the last tasks of a leader get, after its work has ended.
const REST: Duration = Duration::from_secs(1);

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
    let mut options = options(args, printer)?;
    let gates = gates::read(&args.feature_gates, printer)?;
    options.protection.unused = gates.unused;
    let signals = Signals::new()?;
    let config = live::process_config(args.kubeconfig.as_deref(), args.master.as_deref()).await?;
    let server = config.cluster_url.to_string();
    let client = Client::try_from(config).map_err(|error| live::unreachable(&server, &error))?;
    let mut context = Context::system(client);
    context.metrics.describe_process(&context.clock);
    context.gates = gates.gates;
    context.client = requests::counted(&context.client, &context.metrics);
    // A renewal that waited behind work for a throttle would cost the lease.
    let for_the_lease = context.client.clone();
    if let Some(per_second) = args.kube_api_qps.filter(|qps| *qps > 0.0) {
        context.client = throttle::throttled(&context.client, per_second, args.kube_api_burst.unwrap_or(0));
    }
    if let HealthListen(Some(address)) = args.health_listen {
        let bound = health::serve(&context, &Health::new(), address).await;
        let bound = bound.map_err(|error| {
            Failure::new(format!("health cannot be served on {address}: {error}"))
                .help("take another address with --health-listen ADDRESS:PORT, or none with --health-listen off")
        })?;
        printer.note(&format!("health and metrics on http://{bound}"));
    }
    printer.note(&format!("controlling {server}"));
    let ended = work(args, &context, &options, for_the_lease, signals).await?;
    // The leader's own tasks have had their time by now; what is left are servants such as the health server.
    let grace = if args.leader_elect { REST } else { args.controller_shutdown_timeout };
    context.tasks.shut_down(grace).await;
    match ended {
        Ended::Released => Ok(Found::Placeable),
        Ended::Lost => Err(Failure::new(format!(
            "the lease {}/{} was lost; another replica has it, or the API server did not answer in time",
            args.leader_elect_resource_namespace, args.leader_elect_resource_name
        ))),
        Ended::Failed => Err(Failure::new("a part of the process failed; see the log above".to_owned())),
    }
}

/// Controls until a signal comes, or until it must not any more.
async fn work(
    args: &ControllerArgs,
    context: &Context,
    options: &Options,
    for_the_lease: Client,
    signals: Signals,
) -> Result<Ended, Failure> {
    if !args.leader_elect {
        plimsoll_controllers::start(context, options);
        return Ok(tokio::select! {
            () = signals.first() => Ended::Released,
            () = context.tasks.failed() => Ended::Failed,
        });
    }
    let (namespace, name) = (&args.leader_elect_resource_namespace, &args.leader_elect_resource_name);
    let lease = LeaseConfig {
        lease_duration: args.leader_elect_lease_duration,
        renew_deadline: args.leader_elect_renew_deadline,
        retry_period: args.leader_elect_retry_period,
        // The lease is given back after that, and all of it within ten seconds of the signal.
        grace: args.controller_shutdown_timeout,
        client: Some(for_the_lease),
        recorder: Some(Recorder::new(context, name)),
        ..LeaseConfig::new(namespace, name, &lease::identity(&context.entropy))
    };
    lease.check().map_err(|error| Failure::new(format!("--leader-elect: {error}")))?;
    let lead = run_as_leader(context, lease, async |leader| {
        plimsoll_controllers::start(&leader, options);
    });
    let mut lead = std::pin::pin!(lead);
    Ok(tokio::select! {
        ended = &mut lead => ended,
        () = signals.first() => {
            context.tasks.stop();
            lead.await
        }
    })
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
