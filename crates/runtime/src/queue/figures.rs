//! A queue's figures, under the names that dashboards for Kubernetes know.

use std::collections::BTreeMap;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use tokio::time::Instant;

use crate::metrics::{Metrics, Named};

/// The figures of one queue.
pub(super) struct Figures<K> {
    depth: Gauge,
    adds: Counter,
    retries: Counter,
    waited: Histogram,
    worked: Histogram,
    since: BTreeMap<K, Instant>,
    begun: BTreeMap<K, Instant>,
}

/// From ten nanoseconds to ten seconds, as client-go's.
fn times() -> Histogram {
    Histogram::new(exponential_buckets(10e-9, 10.0, 10))
}

impl<K: Ord + Clone> Figures<K> {
    /// For the queue of this name.
    pub(super) fn new(name: &str, metrics: &Metrics) -> Self {
        let of = Named::new(name);
        let gauges = Family::<Named, Gauge>::default;
        let counters = Family::<Named, Counter>::default;
        let histograms = || Family::<Named, Histogram>::new_with_constructor(times);
        let help = "Current depth of workqueue";
        let depth = metrics.register("workqueue_depth", help, gauges()).get_or_create(&of).clone();
        let help = "Total number of adds handled by workqueue";
        let adds = metrics.register("workqueue_adds", help, counters()).get_or_create(&of).clone();
        let help = "Total number of retries handled by workqueue";
        let retries = metrics.register("workqueue_retries", help, counters()).get_or_create(&of).clone();
        let help = "How long in seconds an item stays in workqueue before being requested";
        let name = "workqueue_queue_duration_seconds";
        let waited = metrics.register(name, help, histograms()).get_or_create(&of).clone();
        let help = "How long in seconds processing an item from workqueue takes";
        let name = "workqueue_work_duration_seconds";
        let worked = metrics.register(name, help, histograms()).get_or_create(&of).clone();
        Self { depth, adds, retries, waited, worked, since: BTreeMap::new(), begun: BTreeMap::new() }
    }

    /// A key was added, whether or not it was there already.
    pub(super) fn added(&mut self) {
        self.adds.inc();
    }

    /// A key waits to be worked on.
    pub(super) fn waits(&mut self, key: &K) {
        self.depth.inc();
        self.since.insert(key.clone(), Instant::now());
    }

    /// A key is being worked on.
    pub(super) fn taken(&mut self, key: &K) {
        self.depth.dec();
        if let Some(since) = self.since.remove(key) {
            self.waited.observe(since.elapsed().as_secs_f64());
        }
        self.begun.insert(key.clone(), Instant::now());
    }

    /// A key was worked on.
    pub(super) fn done(&mut self, key: &K, failed: bool) {
        if let Some(begun) = self.begun.remove(key) {
            self.worked.observe(begun.elapsed().as_secs_f64());
        }
        if failed {
            self.retries.inc();
        }
    }
}
