//! KubeSchedulerConfiguration: how the scheduler works, as kube-scheduler's users write it.
//!
//! ```text
//!  text ── schema: known fields, right types ──► document ── complete: defaults ── validate ──► Configuration
//!                    │ fields.rs says what               │ plugins.rs: what runs where             │ Rules for each profile,
//!                    ▼ becomes of each                   ▼ arguments.rs: how                       ▼ extenders, backoff, lease
//!                 problems, notes                     problems, notes                        scheduler and process
//! ```
//!
//! A configuration with a problem is not used at all: a scheduler that follows half of what it was told places pods where
//! nobody wants them.

pub mod arguments;
pub mod complete;
pub mod document;
pub mod extender;
pub mod fields;
pub mod gates;
pub mod plugins;
pub mod schema;
mod validate;

/// A time of so many seconds, as far as clocks reach: some centuries are as good as for ever.
fn duration(seconds: u64) -> Duration {
    const LONGEST: u64 = 100 * 365 * 24 * 3600;
    Duration::from_secs(seconds.min(LONGEST))
}

#[cfg(test)]
mod tests;

use std::time::Duration;

use plimsoll_api::Interner;
use plimsoll_engine::gates::{Gate, Gates};
use plimsoll_engine::labels::Name;
use plimsoll_engine::preemption::Shortlist;
use plimsoll_engine::reason::Plugin;
use plimsoll_engine::rules::Rules;
use serde_json::Value;

use crate::Options;
use crate::queue::Backoff;

use complete::AllArguments;
use document::{API_VERSION, Document, KIND};
use gates::UpstreamGates;
use plugins::{Point, Running};
use schema::{Findings, Problem, Shape};

pub use extender::{ExtenderConfig, ExtenderTls, ManagedResource, Pem};

/// The gates under which a configuration is read.
#[derive(Clone, Copy, Debug)]
pub struct AllGates {
    /// Our own.
    pub ours: Gates,
    /// Upstream's.
    pub upstream: UpstreamGates,
}

impl Default for AllGates {
    fn default() -> Self {
        Self { ours: Gates::all(), upstream: UpstreamGates::default() }
    }
}

/// What a configuration means.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// A profile for each `schedulerName`. Never empty.
    pub profiles: Vec<Profile>,
    /// The extenders, in the order in which they are asked: those that may fail last.
    pub extenders: Vec<ExtenderConfig>,
    /// How long a pod waits after it failed.
    pub backoff: Backoff,
    /// `clientConnection.kubeconfig`.
    pub kubeconfig: Option<String>,
    /// `clientConnection.qps`, where it is given and above zero.
    pub requests_per_second: Option<f32>,
    /// `clientConnection.burst`, where it is given.
    pub burst: Option<u32>,
    /// All of it as it is written, with every default.
    pub document: Document,
    /// What it says that changes nothing.
    pub notes: Vec<Problem>,
}

/// How the pods of one `schedulerName` are placed.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The name.
    pub name: Name,
    /// How is decided.
    pub rules: Rules,
    /// Whether, and among how many nodes, others are made to leave; `None` for never.
    pub preemption: Option<Shortlist>,
    /// How long a pod's volumes may take to be bound, once all is written.
    pub bind_timeout: Duration,
}

impl Profile {
    /// The default profile under a name.
    pub fn named(name: &str, gates: Gates) -> Self {
        Self {
            name: name.into(),
            rules: Rules::new(feasible(gates)),
            preemption: Some(Shortlist::default()),
            bind_timeout: Duration::from_secs(600),
        }
    }
}

/// The gates that a scheduler can have. A claim that is not there yet can be judged, but not assumed.
pub fn feasible(gates: Gates) -> Gates {
    gates.with(Gate::EphemeralForecast, false)
}

impl Configuration {
    /// What nothing said means: one profile for `default-scheduler`.
    pub fn usual(gates: AllGates) -> Self {
        Self::of(Document::default(), gates, Findings::default()).unwrap_or_else(|_| Self {
            // Not reached: a test reads the empty document. It costs less to say what it means than to promise it.
            profiles: vec![Profile::named("default-scheduler", gates.ours)],
            extenders: Vec::new(),
            backoff: Backoff::default(),
            kubeconfig: None,
            requests_per_second: None,
            burst: None,
            document: Document::default(),
            notes: Vec::new(),
        })
    }

    /// Reads a configuration from YAML or JSON; all that is wrong with it where something is.
    pub fn read(text: &str, gates: AllGates) -> Result<Self, Vec<Problem>> {
        let mut found = Findings::default();
        let value = parse(text).map_err(|problem| vec![problem])?;
        header(&value, &mut found);
        if found.problems.is_empty() {
            schema::check(&value, Shape::Object(&fields::CONFIGURATION), "", &mut found);
        }
        if !found.problems.is_empty() {
            return Err(found.problems);
        }
        match serde_json::from_value(value) {
            Ok(document) => Self::of(document, gates, found),
            Err(error) => Err(vec![Problem { path: String::new(), text: error.to_string() }]),
        }
    }

    /// What a document of known fields means.
    fn of(mut document: Document, gates: AllGates, mut found: Findings) -> Result<Self, Vec<Problem>> {
        let client = document.client_connection.clone();
        complete::document(&mut document);
        validate::document(&document, &mut found);
        let mut extenders: Vec<ExtenderConfig> = document.extenders.iter().map(ExtenderConfig::from).collect();
        extenders.sort_by_key(|extender| extender.ignorable);
        let left_to_extenders: Vec<String> = extenders
            .iter()
            .flat_map(|extender| &extender.managed_resources)
            .filter(|resource| resource.ignored_by_scheduler)
            .map(|resource| resource.name.clone())
            .collect();
        let mut profiles = Vec::new();
        for (index, profile) in document.profiles.iter_mut().enumerate() {
            let path = format!("profiles[{index}]");
            let running = plugins::run(&mut profile.plugins, &format!("{path}.plugins"), &mut found);
            let mut arguments = AllArguments::read(profile, gates.upstream, &path, &mut found);
            arguments.fit.ignore(left_to_extenders.iter().cloned());
            profile.plugin_config = arguments.written(&running);
            profiles.push(meaning(profile, &running, &arguments, gates));
        }
        if !found.problems.is_empty() {
            return Err(found.problems);
        }
        let seconds = |seconds: Option<i64>| duration(seconds.and_then(|s| u64::try_from(s).ok()).unwrap_or(1));
        Ok(Self {
            profiles,
            extenders,
            backoff: Backoff {
                first: seconds(document.pod_initial_backoff_seconds),
                most: seconds(document.pod_max_backoff_seconds),
            },
            kubeconfig: Some(client.kubeconfig).filter(|file| !file.is_empty()),
            requests_per_second: Some(client.qps).filter(|qps| *qps > 0.0),
            burst: u32::try_from(client.burst).ok().filter(|burst| *burst > 0),
            document,
            notes: found.notes,
        })
    }
}

impl From<Configuration> for Options {
    fn from(configuration: Configuration) -> Self {
        Self { profiles: configuration.profiles, backoff: configuration.backoff, ..Self::default() }
    }
}

/// What a profile means, whose plugins and arguments are known.
fn meaning(profile: &document::Profile, running: &Running, arguments: &AllArguments, gates: AllGates) -> Profile {
    let mut names = Interner::new();
    let mut rules = Rules::new(feasible(gates.ours))
        .storage_capacity_scoring(gates.upstream.storage_capacity_scoring)
        .volume_limit_scaling(gates.upstream.volume_limit_scaling);
    for plugin in Plugin::ALL {
        let name = plugin.name();
        if plugins::find(name).is_some_and(|known| known.points.contains(&Point::Filter)) {
            rules = rules.filter(plugin, running.at(Point::Filter, name));
        }
        rules = rules.weigh(plugin, running.weight(name));
    }
    let at = |point| -> Vec<Plugin> {
        let plugin = |name: &String| Plugin::ALL.into_iter().find(|plugin| plugin.name() == name);
        running.all_at(point).iter().filter_map(plugin).collect()
    };
    rules = rules.order(&at(Point::Filter), &at(Point::PreFilter));
    rules = arguments.affinity.apply(rules);
    rules = arguments.node_affinity.apply(rules, &mut names);
    rules = arguments.balance.apply(rules);
    rules = arguments.fit.apply(rules);
    rules = arguments.spread.apply(rules, &mut names);
    rules = arguments.volumes.apply(rules);
    let (percentage, absolute) = arguments.preemption.candidates();
    let whole = |number: i32| u32::try_from(number).unwrap_or(0);
    let candidates = Shortlist { percentage: whole(percentage), absolute: whole(absolute) };
    Profile {
        name: profile.scheduler_name.as_deref().unwrap_or_default().into(),
        rules,
        preemption: running.at(Point::PostFilter, "DefaultPreemption").then_some(candidates),
        bind_timeout: duration(arguments.volumes.bind_timeout()),
    }
}

/// Reads YAML, of which JSON is a part. A key that is there twice is an error.
fn parse(text: &str) -> Result<Value, Problem> {
    let options = serde_saphyr::options! {
        with_snippet: false,
        strict_booleans: true,
    };
    let mut value: Value = serde_saphyr::from_str_with_options(text, options).map_err(|error| Problem {
        path: String::new(),
        text: format!("is not valid YAML or JSON: {}", error.without_snippet()),
    })?;
    schema::without_nulls(&mut value);
    Ok(value)
}

/// Whether it is a KubeSchedulerConfiguration of the version that is known.
fn header(value: &Value, found: &mut Findings) {
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    match text("kind") {
        KIND => {}
        "" => found.wrong("kind", format!("must be {KIND}")),
        kind => found.wrong("kind", format!("is {kind}, where {KIND} is wanted")),
    }
    match text("apiVersion") {
        API_VERSION => {}
        "" => found.wrong("apiVersion", format!("must be {API_VERSION}")),
        version => found.wrong("apiVersion", format!("is {version}, where {API_VERSION} is wanted")),
    }
}
