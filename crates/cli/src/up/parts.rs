//! The parts of the cluster beside its API server. Each talks to it in this process, under its own name, without a socket.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use plimsoll_apiserver::auth::User;
use plimsoll_apiserver::core::Core;
use plimsoll_apiserver::start;
use plimsoll_clock::{Clock, Entropy};
use plimsoll_controllers::binder;
use plimsoll_controllers::provision::{Directories, Provisioners};
use plimsoll_runtime::{Context, Objects, Tasks, lease};
use plimsoll_simulate::nodes::{Fleet, Machine};

use super::chosen::Chosen;
use super::roles;

/// How long controllers have to end what they began.
const GRACE: Duration = Duration::from_secs(3);

/// The parts, and their tasks.
pub struct Parts {
    core: Arc<Core>,
    entropy: Arc<Entropy>,
    /// The controllers and the scheduler.
    control: Tasks,
    /// The nodes.
    nodes: Tasks,
}

impl Parts {
    /// None yet.
    pub fn new(core: &Arc<Core>) -> Self {
        Self { core: core.clone(), entropy: Arc::new(Entropy::system()), control: Tasks::new(), nodes: Tasks::new() }
    }

    /// The API as this user sees it.
    fn client(&self, user: User) -> Client {
        Client::new(start::service(&self.core, user), "default")
    }

    /// The API as the command itself uses it: what it makes at the start is the administrator's.
    pub fn admin(&self) -> Client {
        self.client(User::in_groups("plimsoll:up", &["system:masters"]).authenticated())
    }

    /// The same, object by object.
    pub fn objects(&self) -> Objects {
        Objects::new(self.admin())
    }

    fn context(&self, user: &str, tasks: &Tasks) -> Context {
        let mut context = Context::new(self.client(roles::user(user)), Clock::System, self.entropy.clone());
        context.tasks = tasks.clone();
        context
    }

    /// Starts the controllers that were chosen. `root_ca` is the certificate by which pods would know the API server.
    pub fn start_controllers(&self, chosen: &Chosen, directories: Directories, root_ca: Option<String>) {
        if !chosen.volumes.is_empty() {
            let binder =
                binder::Options { provisioners: Provisioners::none().with(directories), ..binder::Options::default() };
            let options = plimsoll_controllers::Options {
                run: chosen.volumes.clone(),
                binder,
                ..plimsoll_controllers::Options::default()
            };
            plimsoll_controllers::start(&self.context(roles::VOLUMES, &self.control), &options);
        }
        if !chosen.workloads.is_empty() {
            let options = plimsoll_workloads::Options {
                run: chosen.workloads.clone(),
                root_ca,
                ..plimsoll_workloads::Options::default()
            };
            plimsoll_workloads::start(&self.context(roles::WORKLOADS, &self.control), &options);
        }
    }

    /// Starts the scheduler.
    pub fn start_scheduler(&self) {
        let options = plimsoll_scheduler::Options { host: lease::host(), ..plimsoll_scheduler::Options::default() };
        plimsoll_scheduler::start(&self.context(roles::SCHEDULER, &self.control), options);
    }

    /// Starts the nodes.
    pub fn start_nodes(&self, machines: Vec<Machine>) {
        let context = self.context(roles::NODES, &self.nodes);
        self.nodes.spawn("nodes", Fleet::of(machines).live(context));
    }

    /// Done when a part has failed: the others must not go on without it.
    pub async fn failed(&self) {
        tokio::select! {
            () = self.control.failed() => {}
            () = self.nodes.failed() => {}
        }
    }

    /// Done when the parts are asked to end.
    pub fn stopping(&self) -> impl Future<Output = ()> + Send + use<> {
        let control = self.control.clone();
        async move { control.stopping().await }
    }

    /// Ends them.
    pub async fn shut_down(&self) {
        // A machine may go at any moment, and the next start finds whatever it left.
        self.nodes.abort();
        self.control.shut_down(GRACE).await;
    }
}
