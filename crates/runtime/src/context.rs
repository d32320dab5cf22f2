//! What every component is handed: nothing is global.

use std::sync::Arc;

use kube::Client;
use plimsoll_clock::{Clock, Entropy};
use plimsoll_engine::gates::Gates;

use crate::health::Health;
use crate::metrics::Metrics;
use crate::objects::Objects;
use crate::spans::Spans;
use crate::tasks::Tasks;

/// What a component needs of the world.
#[derive(Clone)]
pub struct Context {
    /// The Kubernetes API, under the component's own identity.
    pub client: Client,
    /// The calendar. Waiting is tokio's.
    pub clock: Clock,
    /// Randomness: jitter and made-up names.
    pub entropy: Arc<Entropy>,
    /// Where figures are kept.
    pub metrics: Metrics,
    /// Where a component says whether it is well, and shows its pages.
    pub health: Health,
    /// Where the time of work is told; off unless somebody turns it on.
    pub spans: Spans,
    /// The deliberate differences from upstream that are on.
    pub gates: Gates,
    /// The component's tasks.
    pub tasks: Tasks,
}

impl Context {
    /// For a process of its own: the machine's clock and randomness.
    pub fn system(client: Client) -> Self {
        Self::new(client, Clock::System, Arc::new(Entropy::system()))
    }

    /// With the time and randomness given.
    pub fn new(client: Client, clock: Clock, entropy: Arc<Entropy>) -> Self {
        let (metrics, health, tasks) = (Metrics::default(), Health::new(), Tasks::new());
        Self { client, clock, entropy, metrics, health, spans: Spans::default(), gates: Gates::all(), tasks }
    }

    /// Single objects of the API.
    pub fn objects(&self) -> Objects {
        Objects::new(self.client.clone())
    }
}
