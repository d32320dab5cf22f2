//! `plimsoll up`: a whole cluster in one process.
//!
//! ```text
//!   read -f ─► API server ─► roles, class, sweep ─► controllers, scheduler, nodes ─► -f applied ─► nodes ready ─► up
//!                  │                                       │                                              │
//!                  └── disk refuses ──► said, exit 1 ◄─────┴────────── a signal: parts, sockets, store end, exit 0
//! ```
//! Every step at the start can be repeated: a process that dies anywhere in it is followed by one that does it again.

pub mod args;
mod chosen;
mod machines;
mod manifests;
mod parts;
mod readiness;
mod roles;
mod storage;

use std::convert::Infallible;
use std::sync::Arc;

use plimsoll_api::manifest::Whole;
use plimsoll_apiserver::admission::Plugins;
use plimsoll_apiserver::core::Core;
use plimsoll_apiserver::service::ApiService;
use plimsoll_apiserver::start::{Options, Started, start};
use plimsoll_apiserver::store::WriteError;
use plimsoll_runtime::Error;
use plimsoll_workloads::Controller;
use serde_json::Value;
use tokio::time::Instant;

use crate::Found;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::server::trouble;
use crate::signals::Signals;

use args::UpArgs;
use chosen::Chosen;
use machines::Wanted;
use parts::Parts;
use readiness::{LOOK, PATIENCE, Roll};
use storage::Volumes;

/// What was asked for, read and found to make sense before anything is touched.
struct Plan<'a> {
    args: &'a UpArgs,
    chosen: Chosen,
    nodes: Vec<Wanted>,
    manifests: Vec<Whole>,
    volumes: Volumes,
}

/// Runs the cluster until a signal ends it.
pub fn run(args: &UpArgs, printer: &mut Printer) -> Result<Found, Failure> {
    crate::logging::start(args.verbosity, args.logging_format);
    let plan = Plan {
        args,
        chosen: Chosen::read(&args.controllers, printer)?,
        nodes: machines::wanted(args)?,
        manifests: manifests::read(&args.file, printer)?,
        volumes: Volumes::open(&args.server)?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("the process cannot start its threads: {error}")))?;
    runtime.block_on(plan.carry_out(printer))
}

impl Plan<'_> {
    async fn carry_out(&self, printer: &mut Printer) -> Result<Found, Failure> {
        let signals = Signals::new()?;
        let begun = Instant::now();
        printer.progress(&format!("opening {}", self.args.server.data_dir.display()));
        let server = start(&self.server()).await.map_err(|error| trouble::at_start(&error, &self.args.server))?;
        server.notes.iter().for_each(|note| printer.note(&note.to_string()));
        let Started { core, listener, kubeconfig, .. } = server;
        let address = listener.address()?;
        let parts = Parts::new(&core);
        let serving = tokio::spawn(listener.serve(ApiService::new(core.clone()), parts.stopping()));

        let work = async {
            let class = self.bring_up(&core, &parts, printer).await?;
            printer.end_progress();
            printer.say(&format!("The cluster is up after {:.1} s.", begun.elapsed().as_secs_f64()));
            printer.say(&format!("  API         https://{address}"));
            printer.say(&format!("  nodes       {}", self.nodes_in_words()));
            printer.say(&format!("  volumes     {}", self.volumes_in_words(class.as_deref())));
            printer.say(&format!("Try: kubectl --kubeconfig {} get nodes", kubeconfig.display()));
            printer.say(if self.args.server.in_memory {
                "Ctrl-C ends it, and nothing is kept."
            } else {
                "Ctrl-C ends it; the same command brings it back as it was."
            });
            printer.line(&kubeconfig.display().to_string())?;
            std::future::pending::<Result<Infallible, Failure>>().await
        };
        let ended = tokio::select! {
            biased;
            () = signals.first() => Ok(Found::Placeable),
            why = core.store.stopping() => Err(trouble::at_write(&why, &self.args.server)),
            () = parts.failed() => Err(Failure::new("a part of the cluster failed; see the log above")),
            failed = work => failed.map(|never| match never {}),
        };
        printer.end_progress();
        parts.shut_down().await;
        // It ends by itself, as the parts do; what is left of its clients has had its time.
        let _ = serving.await;
        let refused = core.store.stopped();
        core.store.close().await;
        if ended.is_ok() {
            printer.ended("The cluster has ended.");
        }
        match (ended, refused) {
            // The disk may have refused what made the rest fail.
            (Err(_), Some(why @ WriteError::Failed(_))) => Err(trouble::at_write(&why, &self.args.server)),
            (ended, _) => ended,
        }
    }

    fn server(&self) -> Options {
        // As kube-apiserver has them: the controllers that they need are part of this, or somebody else's.
        let plugins = Plugins { service_account: true, taint_nodes_by_condition: true };
        self.args.server.options(self.chosen.housekeeping, plugins)
    }

    /// Everything from an API that answers to nodes that are ready. Says which class is the default.
    async fn bring_up(
        &self,
        core: &Arc<Core>,
        parts: &Parts,
        printer: &mut Printer,
    ) -> Result<Option<String>, Failure> {
        let (admin, objects) = (parts.admin(), parts.objects());
        let unmade = |error: Error| {
            Failure::new(format!("what the cluster begins with cannot be made: {error}")).help(
                "`plimsoll apiserver` with the same --data-dir serves what is there, to be put right; another folder makes \
                 another cluster",
            )
        };
        printer.progress("making roles and the class of volumes");
        roles::ensure(&admin).await.map_err(unmade)?;
        let class = storage::ensure_class(&objects).await.map_err(unmade)?;
        let directories = self.volumes.provisioner()?;
        for path in self.volumes.sweep(&objects).await? {
            printer.note(&format!(
                "{} belongs to no volume of this cluster, and is kept because it is not empty",
                path.display()
            ));
        }
        match self.volumes.strayed(&objects).await.map_err(unmade)? {
            0 => {}
            count => printer.note(&format!(
                "directories of volumes are not in {}, but where it was before it was moved or copied ({count} of them): \
                 pods use those there, and wait where they are gone",
                self.volumes.root().display()
            )),
        }
        printer.progress("starting controllers, scheduler and nodes");
        let root_ca = std::fs::read_to_string(self.args.server.data_dir.join("pki/ca.crt")).ok();
        parts.start_controllers(&self.chosen, directories, root_ca);
        if self.args.scheduler {
            parts.start_scheduler();
        }
        parts.start_nodes(machines::machines(self.args, &self.nodes));
        if !self.manifests.is_empty() {
            printer.progress(&format!("applying {} objects", self.manifests.len()));
            manifests::apply(&self.manifests, core, &admin).await?;
        }
        printer.progress("waiting for nodes to be ready");
        if self.chosen.workloads.contains(&Controller::ServiceAccount) {
            self.wait_for_account(parts).await.map_err(unmade)?;
        }
        let roll = Roll::call(&self.nodes, &objects).await.map_err(unmade)?;
        roll.notes().iter().for_each(|note| printer.note(note));
        Ok(class)
    }

    /// Waits until pods can be made in the namespace `default`: they need its service account.
    async fn wait_for_account(&self, parts: &Parts) -> Result<(), Error> {
        let objects = parts.objects();
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            let path = "/api/v1/namespaces/default/serviceaccounts/default";
            match objects.send::<Value>(http::Method::GET, path, None).await {
                Ok(_) => return Ok(()),
                Err(Error::NotFound(_)) => tokio::time::sleep(LOOK).await,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn nodes_in_words(&self) -> String {
        if self.nodes.is_empty() {
            return "none; --nodes N simulates some".to_owned();
        }
        machines::by_zone(&self.nodes)
    }

    fn volumes_in_words(&self, class: Option<&str>) -> String {
        let folder = self.volumes.root().display();
        match class {
            Some(storage::CLASS) => format!("class {} (default): directories in {folder}", storage::CLASS),
            Some(other) => format!("class {other} is the default; those of class {} are in {folder}", storage::CLASS),
            None => format!("no class is the default; those of class {} are in {folder}", storage::CLASS),
        }
    }
}
