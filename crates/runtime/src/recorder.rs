//! Events: what a component says about an object, kept with it in the API. As `v1` events, which kube-controller-manager still writes;
//! kube-scheduler's are of the newer kind ([`crate::series`]).
//!
//! ```text
//!   event() ──► queue ──► correlator ──► new: create ─────────────────────────────► done
//!      │ full      (one task, in order)  again: patch count ──► 404: create anew ──► done
//!      ▼                                                    └─ no answer: again later, twelve times at most
//!   dropped, counted
//! ```

mod correlator;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use plimsoll_clock::{Clock, Entropy};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use rand::Rng;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::error::Error;
use crate::metrics::Named;
use crate::objects::Objects;
use crate::resource::Resource;
use correlator::{Correlator, Entry};

/// How many events may wait to be written. client-go's thousand is lost in a burst of a few thousand claims.
pub(crate) const QUEUE: usize = 10_000;
/// How often an event is tried, as client-go does.
pub(crate) const TRIES: u32 = 12;
/// How long until it is tried again.
pub(crate) const BETWEEN_TRIES: Duration = Duration::from_secs(10);

/// Whether an event is news or a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// `Normal`.
    Normal,
    /// `Warning`.
    Warning,
}

impl Severity {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// The object that an event is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct About {
    /// Its kind.
    pub resource: Resource,
    /// Its namespace; empty for a cluster-wide one.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its version.
    pub version: String,
}

impl About {
    /// The object as other objects name it.
    pub(crate) fn reference(&self) -> Value {
        let mut reference =
            json!({"apiVersion": self.resource.api_version(), "kind": self.resource.kind, "name": self.name});
        let fields = [("namespace", &self.namespace), ("uid", &self.uid), ("resourceVersion", &self.version)];
        for (field, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
            reference[field] = json!(value);
        }
        reference
    }

    /// Where events about it are kept: those about the cluster's own objects are in the namespace `default`.
    pub(crate) fn namespace_of_events(&self) -> &str {
        if self.namespace.is_empty() { "default" } else { &self.namespace }
    }
}

/// Where something was said, and about which part of the object, for components that run on nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The node that the component runs on; empty where that does not matter.
    pub host: String,
    /// The part of the object, such as `spec.containers{web}`; empty for all of it.
    pub field: String,
}

/// Says things about objects under the name of one component.
#[derive(Clone)]
pub struct Recorder {
    queue: mpsc::Sender<Said>,
    clock: Clock,
    dropped: Counter,
}

/// What was said, and when.
struct Said {
    about: About,
    place: Place,
    severity: Severity,
    reason: String,
    message: String,
    at: Timestamp,
}

impl Recorder {
    /// For one component, such as `persistentvolume-controller`. Events are written by a task of the context.
    pub fn new(context: &Context, component: &str) -> Self {
        let (queue, said) = mpsc::channel(QUEUE);
        let writer = Writer {
            component: component.into(),
            objects: context.objects(),
            entropy: context.entropy.clone(),
            closing: context.tasks.closing(),
            correlator: Correlator::new(),
        };
        context.tasks.spawn_servant("events", writer.run(said));
        Self { queue, clock: context.clock.clone(), dropped: dropped(context, component) }
    }

    /// Says something about an object. Never waits and never fails: an event that cannot be written is dropped.
    pub fn event(&self, about: &About, severity: Severity, reason: &str, message: &str) {
        self.event_at(Place::default(), about, severity, reason, message);
    }

    /// The same, with where it was said and about which part.
    pub fn event_at(&self, place: Place, about: &About, severity: Severity, reason: &str, message: &str) {
        let said = Said {
            about: about.clone(),
            place,
            severity,
            reason: reason.to_owned(),
            message: message.to_owned(),
            at: self.clock.now(),
        };
        if self.queue.try_send(said).is_err() {
            self.dropped.inc();
            tracing::warn!(object = about.name, reason, message, "an event is not written: too many wait");
        }
    }
}

/// Tells of an event that will never be written. A name that is taken means that the answer to an earlier try was lost, and in a
/// namespace that is going nobody will look: neither is worth a warning.
pub(crate) fn refused(object: &str, reason: &str, error: &Error) {
    let quiet = matches!(error, Error::AlreadyExists(_) | Error::NotFound(_));
    // A missing right is said where it is met.
    if quiet || error.is_ending_namespace() || error.is_missing_right() {
        tracing::debug!(object, reason, %error, "an event is refused");
    } else {
        tracing::warn!(object, reason, %error, "an event is refused");
    }
}

/// Counts the events of a component that were dropped.
pub(crate) fn dropped(context: &Context, component: &str) -> Counter {
    let help = "Events that were not written because too many waited";
    let family = context.metrics.register("plimsoll_events_dropped", help, Family::<Named, Counter>::default());
    family.get_or_create(&Named::new(component)).clone()
}

struct Writer {
    component: Arc<str>,
    objects: Objects,
    entropy: Arc<Entropy>,
    closing: CancellationToken,
    correlator: Correlator,
}

impl Writer {
    /// Writes until nobody can say anything any more, or, when closing, until what was said is written.
    async fn run(mut self, mut queue: mpsc::Receiver<Said>) {
        let closing = self.closing.clone();
        loop {
            let said = tokio::select! {
                biased;
                said = queue.recv() => said,
                () = closing.cancelled() => queue.try_recv().ok(),
            };
            let Some(said) = said else { return };
            self.record(&said).await;
        }
    }

    async fn record(&mut self, said: &Said) {
        let entropy = self.entropy.clone();
        let object = said.about.name.clone();
        let Some(entry) = self.correlator.take(said, |at| name(&object, at, &entropy)) else { return };
        for tries in 1..=TRIES {
            let Err(error) = self.write(said, &entry).await else { return };
            if !error.is_passing() {
                refused(&object, &said.reason, &error);
                return;
            }
            tracing::warn!(object, reason = said.reason, %error, "an event cannot be written now");
            if tries == TRIES || self.closing.is_cancelled() {
                return;
            }
            // The first wait is drawn, so that not all processes come back at the same moment.
            let share = if tries == 1 { self.entropy.with(|r| r.random_range(0.0..1.0)) } else { 1.0 };
            tokio::select! {
                biased;
                // Once more, at once, and then no more.
                () = self.closing.cancelled() => {}
                () = tokio::time::sleep(BETWEEN_TRIES.mul_f64(share)) => {}
            }
        }
    }

    async fn write(&self, said: &Said, entry: &Entry) -> Result<(), Error> {
        let namespace = said.about.namespace_of_events();
        if entry.count > 1 {
            let patch = json!({"count": entry.count, "lastTimestamp": seconds(entry.last), "message": entry.message});
            match self.objects.merge::<Value>(Resource::EVENTS, namespace, &entry.name, "", &patch).await {
                // It was never written, or is forgotten: events are kept for an hour.
                Err(Error::NotFound(_)) => {}
                other => return other.map(|_| ()),
            }
        }
        let event = self.event(namespace, said, entry);
        self.objects.create::<Value>(Resource::EVENTS, namespace, &event).await.map(|_| ())
    }

    fn event(&self, namespace: &str, said: &Said, entry: &Entry) -> Value {
        // client-go leaves the reporter out of combined events.
        let reporter = if entry.combined { "" } else { &*self.component };
        let Place { host, field } = &said.place;
        let mut object = said.about.reference();
        if !field.is_empty() {
            object["fieldPath"] = json!(field);
        }
        let mut source = json!({"component": *self.component});
        if !host.is_empty() {
            source["host"] = json!(host);
        }
        json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": entry.name, "namespace": namespace},
            "involvedObject": object,
            "reason": said.reason,
            "message": entry.message,
            "type": said.severity.as_str(),
            "source": source,
            "firstTimestamp": seconds(entry.first),
            "lastTimestamp": seconds(entry.last),
            "count": entry.count,
            "eventTime": null,
            "reportingComponent": reporter,
            "reportingInstance": if entry.combined { "" } else { host.as_str() },
        })
    }
}

/// As metadata writes times: in whole seconds.
fn seconds(at: Timestamp) -> String {
    format!("{at:.0}")
}

/// The longest name that an object may have.
const LONGEST_NAME: usize = 253;

/// The object's name and the moment. Where that is no name for an event, a uid: some kinds allow more in their names.
pub(crate) fn name(object: &str, at: Timestamp, entropy: &Entropy) -> String {
    let mut moment = at.as_nanosecond();
    if moment % TICK == 0 {
        // A clock of whole milliseconds, as tests have: two events of one moment must not have one name.
        moment += entropy.with(|r| r.random_range(0..TICK));
    }
    let name = format!("{object}.{moment:x}");
    if name.len() <= LONGEST_NAME && name.split('.').all(is_label) { name } else { entropy.uid() }
}

/// The nanoseconds between two moments of tokio's clock.
const TICK: i128 = 1_000_000;

/// Whether a part between dots may stand in a name: letters and digits at both ends, dashes within.
fn is_label(part: &str) -> bool {
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let bytes = part.as_bytes();
    bytes.first().is_some_and(|c| plain(*c))
        && bytes.last().is_some_and(|c| plain(*c))
        && bytes.iter().all(|c| plain(*c) || *c == b'-')
}

#[cfg(test)]
mod tests;
