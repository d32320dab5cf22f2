//! The registry of a process's figures.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_clock::Clock;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::{Metric, Registry};

/// The figures of a process, as `/metrics` shows them.
#[derive(Clone, Default)]
pub struct Metrics {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    registry: Registry,
    /// By name, so that a figure that several parts keep (each queue has a depth) stands in the text once.
    known: BTreeMap<String, Box<dyn Any + Send>>,
}

/// The label that most families have.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Named {
    /// Of the queue, lease or component.
    pub name: String,
}

impl Named {
    /// With this name.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Build {
    version: &'static str,
}

const STARTED: &str = "process_start_time_seconds";

/// What the process has used, as the system says when asked, under the names that dashboards know. Not told where there is no
/// such system.
#[derive(Debug)]
struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        /// Ticks a second in what Linux tells of processes, on every machine that this runs on.
        const TICKS: f64 = 100.0;
        // The name of the program, which may be anything, ends with the last bracket; user and system time are the 12th and
        // 13th of what follows.
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let times = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
        let times: Vec<f64> = times.filter_map(|ticks| ticks.parse().ok()).collect();
        if let [user, system] = times[..] {
            let help = "Total user and system CPU time spent in seconds";
            let metric = encoder.encode_descriptor("process_cpu_seconds", help, None, MetricType::Counter)?;
            ConstCounter::new((user + system) / TICKS).encode(metric)?;
        }
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
        if let Some(resident) = resident.and_then(|kilobytes| kilobytes.parse::<i64>().ok()) {
            let help = "Resident memory size in bytes";
            let metric = encoder.encode_descriptor("process_resident_memory_bytes", help, None, MetricType::Gauge)?;
            ConstGauge::new(resident << 10).encode(metric)?;
        }
        Ok(())
    }
}

impl Metrics {
    /// Adds a figure, and hands it back. Where one of that name is kept already, that one is handed back instead. The text
    /// adds `_total` to the name of a counter.
    pub fn register<M: Metric + Clone>(&self, name: &str, help: &str, metric: M) -> M {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = inner.known.get(name) {
            // One of another type would make the text invalid; it is kept, but not shown.
            return known.downcast_ref::<M>().cloned().unwrap_or(metric);
        }
        inner.registry.register(name, help, metric.clone());
        inner.known.insert(name.to_owned(), Box::new(metric.clone()));
        metric
    }

    /// Adds figures that are made anew each time somebody asks.
    pub fn collect(&self, collector: impl Collector) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.registry.register_collector(Box::new(collector));
    }

    /// Adds what is known of the process itself. To be called when it begins.
    pub fn describe_process(&self, clock: &Clock) {
        let known = self.inner.lock().unwrap_or_else(PoisonError::into_inner).known.contains_key(STARTED);
        if !known {
            self.collect(Process);
        }
        let started: Gauge<f64, std::sync::atomic::AtomicU64> = Gauge::default();
        started.set(clock.now().as_duration().as_secs_f64());
        self.register(STARTED, "Start time of the process since unix epoch in seconds", started);
        let build: Family<Build, Gauge> = Family::default();
        build.get_or_create(&Build { version: env!("CARGO_PKG_VERSION") }).set(1);
        self.register("plimsoll_build_info", "Which version this is", build);
    }

    /// All figures in the text form of Prometheus (OpenMetrics).
    pub fn text(&self) -> String {
        let mut out = String::new();
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing to a string does not fail.
        let _ = prometheus_client::encoding::text::encode(&mut out, &inner.registry);
        out
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::gauge::Gauge;

    use super::*;

    #[test]
    fn a_figure_registered_twice_is_one() {
        let metrics = Metrics::default();
        let first = metrics.register("things", "Things", Counter::<u64>::default());
        let second = metrics.register("things", "Things", Counter::<u64>::default());
        first.inc();
        second.inc();
        // Of another type: harmless, and not shown.
        metrics.register("things", "Things", Gauge::<i64>::default()).set(9);
        assert_eq!(metrics.text(), "# HELP things Things.\n# TYPE things counter\nthings_total 2\n# EOF\n");
    }

    #[test]
    fn the_process_describes_itself() {
        let metrics = Metrics::default();
        metrics.describe_process(&Clock::System);
        let text = metrics.text();
        assert!(text.contains("process_start_time_seconds "), "{text}");
        assert!(text.contains("plimsoll_build_info{version=\""), "{text}");
        let figure = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
        if cfg!(target_os = "linux") {
            assert!(
                figure("process_cpu_seconds_total").is_some_and(|seconds| (0.0..3600.0).contains(&seconds)),
                "{text}"
            );
            assert!(figure("process_resident_memory_bytes").is_some_and(|bytes| bytes > 1e6), "{text}");
        }
        // Said twice, shown once.
        metrics.describe_process(&Clock::System);
        assert_eq!(
            metrics.text().matches("# TYPE process_cpu_seconds").count(),
            text.matches("# TYPE process_cpu_seconds").count()
        );
    }
}
