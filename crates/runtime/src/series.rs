//! Events as `events.k8s.io/v1`, as kube-scheduler writes its own: with an action and a reporter, and with a series where the same is
//! said again.
//!
//! ```text
//!   event() ──► queue ──► book ──► up to sixteen requests at a time ──► done ──► what was said meanwhile
//!      │ full                          │ no answer: again later, twelve times at most
//!      ▼                               ▼
//!   dropped, counted               waits beside the others
//! ```
//!
//! A server that takes its time for each event, or fails for some, holds up neither the others nor the one who speaks.

mod book;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use jiff::Timestamp;
use plimsoll_clock::{Clock, Entropy};
use prometheus_client::metrics::counter::Counter;
use rand::Rng;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::error::Error;
use crate::objects::Objects;
use crate::recorder::{About, BETWEEN_TRIES, QUEUE, Severity, TRIES, dropped, name, refused};
use crate::resource::Resource;
use book::{Book, Event, SILENCE, Sameness, Series, Write};

/// How many requests are on their way at a time: enough that a burst of placements is told of while it goes on, few beside the bindings
/// themselves.
const WIDTH: usize = 16;
/// How many events are being written, most of them waiting for another try.
const BEGUN: usize = 1000;
/// How often series that go on are written again: the API server keeps events for an hour.
const REFRESH: Duration = Duration::from_secs(30 * 60);
/// The longest note that the API server takes, in bytes.
const LONGEST_NOTE: usize = 1024;
/// How a note that was cut ends.
const CUT: &str = " ...";
/// The longest name of an instance that it takes.
const LONGEST_INSTANCE: usize = 128;

/// What is said about an object.
#[derive(Clone, Copy, Debug)]
pub struct Saying<'a> {
    /// The object.
    pub about: &'a About,
    /// Another that has to do with it.
    pub related: Option<&'a About>,
    /// Whether it is news or a warning.
    pub severity: Severity,
    /// Why it happened, in a word.
    pub reason: &'static str,
    /// What was being done, in a word.
    pub action: &'static str,
    /// In words. A long one is cut.
    pub note: &'a str,
}

/// Says things about objects under the name of one component.
#[derive(Clone)]
pub struct SeriesRecorder {
    queue: mpsc::Sender<Event>,
    clock: Clock,
    entropy: Arc<Entropy>,
    dropped: Counter,
}

impl SeriesRecorder {
    /// For one component, such as `default-scheduler`, on this machine. Events are written by a task of the context.
    pub fn new(context: &Context, component: &str, host: &str) -> Self {
        let (queue, said) = mpsc::channel(QUEUE);
        let instance = format!("{component}-{host}");
        let shared = Shared {
            component: component.to_owned(),
            instance: instance[..instance.floor_char_boundary(LONGEST_INSTANCE)].to_owned(),
            objects: context.objects(),
            entropy: context.entropy.clone(),
            closing: context.tasks.closing(),
            turns: Semaphore::new(WIDTH),
        };
        context.tasks.spawn_servant("events", run(Arc::new(shared), said));
        let (clock, entropy) = (context.clock.clone(), context.entropy.clone());
        Self { queue, clock, entropy, dropped: dropped(context, component) }
    }

    /// Says something. Never waits and never fails: an event that cannot be written is dropped.
    pub fn event(&self, saying: Saying<'_>) {
        let Saying { about, related, severity, reason, action, note } = saying;
        let same =
            Sameness { about: about.clone(), related: related.cloned(), severity, reason, action, note: cut(note) };
        let at = self.clock.now();
        let name = name(&about.name, at, &self.entropy);
        if self.queue.try_send(Event { same: Arc::new(same), name, at }).is_err() {
            self.dropped.inc();
            tracing::warn!(object = about.name, reason, note, "an event is not written: too many wait");
        }
    }
}

/// A note as long as it may be.
fn cut(note: &str) -> String {
    if note.len() <= LONGEST_NOTE {
        return note.to_owned();
    }
    format!("{}{CUT}", &note[..note.floor_char_boundary(LONGEST_NOTE - CUT.len())])
}

/// Writes until nobody can say anything any more, or, when closing, until what was said is written.
async fn run(shared: Arc<Shared>, mut queue: mpsc::Receiver<Event>) {
    let mut book = Book::new();
    let mut begun = FuturesUnordered::new();
    let begin = |write: Write| {
        let shared = shared.clone();
        async move {
            shared.record(&write).await;
            write.event
        }
    };
    // Made once: each costs a lock to begin and to end, and this is polled at every step of every event's writing.
    let mut closing = pin!(shared.closing.cancelled());
    let mut forget = pin!(tokio::time::sleep(SILENCE));
    let mut refresh = pin!(tokio::time::sleep(REFRESH));
    let mut said_all = false;
    while !(said_all && begun.is_empty()) {
        tokio::select! {
            biased;
            Some(event) = begun.next() => begun.extend(book.written(&event).map(begin)),
            said = queue.recv(), if !said_all && begun.len() < BEGUN => match said {
                Some(event) => begun.extend(book.said(event).map(begin)),
                None => said_all = true,
            },
            () = &mut closing, if !said_all && begun.len() < BEGUN => match queue.try_recv() {
                Ok(event) => begun.extend(book.said(event).map(begin)),
                Err(_) => said_all = true,
            },
            () = &mut forget, if !book.is_empty() => {
                forget.as_mut().reset(Instant::now() + SILENCE);
                begun.extend(book.forget().into_iter().map(begin));
            }
            () = &mut refresh, if !book.is_empty() => {
                refresh.as_mut().reset(Instant::now() + REFRESH);
                begun.extend(book.refresh().into_iter().map(begin));
            }
        }
    }
}

/// What writing an event needs.
struct Shared {
    component: String,
    instance: String,
    objects: Objects,
    entropy: Arc<Entropy>,
    closing: CancellationToken,
    /// One for each request on its way.
    turns: Semaphore,
}

impl Shared {
    async fn record(&self, write: &Write) {
        let (object, reason) = (&*write.event.same.about.name, write.event.same.reason);
        for tries in 1..=TRIES {
            let last = tries == TRIES || self.closing.is_cancelled();
            let answer = {
                let _turn = self.turns.acquire().await;
                self.write(write).await
            };
            let Err(error) = answer else { return };
            // A series is made anew only where it was not: if it is there after all, it can be patched.
            let passing = error.is_passing() || write.series.is_some() && matches!(error, Error::AlreadyExists(_));
            if !passing {
                refused(object, reason, &error);
                return;
            }
            if last {
                tracing::warn!(object, reason, %error, "an event could not be written");
                return;
            }
            tracing::debug!(object, reason, %error, "an event cannot be written now");
            let wait = match error {
                Error::Busy { after: Some(after), .. } => after,
                // Drawn, so that not all come back at the same moment.
                _ => BETWEEN_TRIES.mul_f64(self.entropy.with(|r| r.random_range(1.0..1.25))),
            };
            tokio::select! {
                biased;
                // Once more, at once, and then no more.
                () = self.closing.cancelled() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    async fn write(&self, write: &Write) -> Result<(), Error> {
        let namespace = write.event.same.about.namespace_of_events();
        if let Some(series) = write.series {
            let patch = json!({"series": series_of(series)});
            let patched = self
                .objects
                .merge_lists::<IgnoredAny>(Resource::SERIES, namespace, &write.event.name, "", &patch)
                .await;
            match patched {
                // It was never written, or is forgotten.
                Err(Error::NotFound(_)) => {}
                other => return other.map(|_| ()),
            }
        }
        let event = self.event(namespace, write);
        self.objects.create::<IgnoredAny>(Resource::SERIES, namespace, &event).await.map(|_| ())
    }

    fn event(&self, namespace: &str, write: &Write) -> Value {
        let Event { same, name, at } = &*write.event;
        let mut event = json!({
            "apiVersion": Resource::SERIES.api_version(),
            "kind": Resource::SERIES.kind,
            "metadata": {"name": name, "namespace": namespace},
            "eventTime": micros(*at),
            "reportingController": self.component,
            "reportingInstance": self.instance,
            "action": same.action,
            "reason": same.reason,
            "regarding": same.about.reference(),
            "note": same.note,
            "type": same.severity.as_str(),
        });
        if let Some(related) = &same.related {
            event["related"] = related.reference();
        }
        if let Some(series) = write.series {
            event["series"] = series_of(series);
        }
        event
    }
}

fn series_of(series: Series) -> Value {
    json!({"count": series.count, "lastObservedTime": micros(series.last)})
}

/// As the API writes moments of events: with all six digits of the microseconds.
fn micros(at: Timestamp) -> String {
    format!("{at:.6}")
}

#[cfg(test)]
mod tests;
