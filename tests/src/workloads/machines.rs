//! The simulated nodes as clients of a server that is not ours.

use std::path::Path;

use anyhow::{Context as _, Result};
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use plimsoll_runtime::metrics::Metrics;
use plimsoll_runtime::{Context, transport};
use plimsoll_simulate::nodes::{Fleet, Machine};

/// The zones of the nodes, each with one: as `plimsoll up` deals three nodes.
const ZONES: [&str; 3] = ["a", "b", "c"];

/// Nodes that live until this is dropped.
pub struct Machines {
    config: Config,
    alive: Option<Context>,
}

impl std::fmt::Debug for Machines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machines").field("alive", &self.alive.is_some()).finish_non_exhaustive()
    }
}

impl Machines {
    /// The names of the nodes.
    pub fn names() -> Vec<String> {
        (1..=ZONES.len()).map(|number| format!("node-{number}")).collect()
    }

    /// Starts them with the administrator's kubeconfig.
    pub async fn start(kubeconfig: &Path) -> Result<Self> {
        let read = Kubeconfig::read_from(kubeconfig).with_context(|| kubeconfig.display().to_string())?;
        let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?;
        let mut machines = Self { config, alive: None };
        machines.switch_on()?;
        Ok(machines)
    }

    /// Ends all where they stand.
    pub fn switch_off(&mut self) {
        if let Some(context) = self.alive.take() {
            context.tasks.abort();
        }
    }

    /// Starts all: they register.
    pub fn switch_on(&mut self) -> Result<()> {
        let named = Self::names().into_iter().zip(ZONES);
        let fleet = Fleet::of(named.map(|(name, zone)| Machine::new(&name).zone(zone)));
        let context = Context::system(transport::connect(self.config.clone(), &Metrics::default())?);
        context.tasks.spawn("nodes", fleet.live(context.clone()));
        self.alive = Some(context);
        Ok(())
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        self.switch_off();
    }
}
