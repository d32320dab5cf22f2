//! The registry of a process's figures.

use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::registry::{Metric, Registry};

/// The figures of a process, as `/metrics` shows them.
#[derive(Clone, Default)]
pub struct Metrics {
    registry: Arc<Mutex<Registry>>,
}

impl Metrics {
    /// Adds a figure, and hands it back.
    pub fn register<M: Metric + Clone>(&self, name: &str, help: &str, metric: M) -> M {
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        registry.register(name, help, metric.clone());
        metric
    }

    /// All figures in the text form of Prometheus.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing to a string does not fail.
        let _ = prometheus_client::encoding::text::encode(&mut out, &registry);
        out
    }
}
