//! The simulated nodes as clients of a server that is not ours.

use std::path::Path;

use anyhow::{Context as _, Result};
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use plimsoll_runtime::metrics::Metrics;
use plimsoll_runtime::{Context, transport};
use plimsoll_simulate::nodes::{Machine, live};

/// The zones of the nodes, each with one: as `plimsoll up` deals three nodes.
const ZONES: [&str; 3] = ["a", "b", "c"];

/// Nodes that live until this is dropped.
pub struct Machines {
    config: Config,
    alive: Vec<Context>,
}

impl std::fmt::Debug for Machines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machines").field("alive", &self.alive.len()).finish_non_exhaustive()
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
        let mut machines = Self { config, alive: Vec::new() };
        machines.switch_on()?;
        Ok(machines)
    }

    /// Ends those that live, and starts all anew: they register again.
    pub fn restart(&mut self) -> Result<()> {
        self.switch_off();
        self.switch_on()
    }

    /// Ends all where they stand.
    pub fn switch_off(&mut self) {
        for context in self.alive.drain(..) {
            context.tasks.abort();
        }
    }

    fn switch_on(&mut self) -> Result<()> {
        for (name, zone) in Self::names().iter().zip(ZONES) {
            let machine = Machine::new(name).label("topology.kubernetes.io/zone", zone);
            let context = Context::system(transport::connect(self.config.clone(), &Metrics::default())?);
            let of_node = context.clone();
            context.tasks.spawn("node", live(machine, of_node));
            self.alive.push(context);
        }
        Ok(())
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        self.switch_off();
    }
}
