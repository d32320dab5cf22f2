//! Keeps a mirror true: list, then watch, and again from where it stood when either ends.
//!
//! ```text
//!            ┌────── 410, a line that cannot be read, or the time to look at everything again ──┐
//!            ▼                                                                                  │
//!   begin ─► list (pages) ─► watch from the list's version ─┬─ events ─► mirror                 │
//!            ▲      │            ▲                          ├─ end, error ─► from the last version
//!            └──────┘ error      └──────────────────────────┴───────────────────────────────────┘
//! ```
//!
//! Whatever ends without a single event having come is a failure, and the wait grows from one to the next: a server that
//! answers every watch with an end or with 410 must not be asked as fast as it can answer.
//!
//! A watch that skips an event says nothing of it. So everything is listed again from time to time (`relist`), and a
//! component that meets a conflict reads the object itself.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::AsyncBufReadExt;
use http::Request;
use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::model::Version;
use rand::Rng;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::answer;
use crate::context::Context;
use crate::error::Error;
use crate::mirror::{Mirror, Mirrored};
use crate::outline;

/// Objects per page of a list, as many as client-go asks for.
const PAGE: usize = 500;
/// A watch is asked to end by itself after this long, and up to twice as long, as client-go's are: so that those of many
/// processes are spread over servers again.
const WATCH_SECONDS: u64 = 300;
/// The first and the longest wait after an error.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// The longest line of a watch; an object is at most 1.5 MiB in etcd, and JSON may say it longer.
const LONGEST_LINE: u64 = 64 << 20;

/// How much longer than it was asked to a watch may take to end. One that takes longer hangs on a dead connection.
const OVERTIME: Duration = Duration::from_secs(30);
/// How long a watch may be silent. The API server says something every minute, even if nothing happened; and to ask again
/// costs little where it does not.
const SILENCE: Duration = Duration::from_secs(150);
/// A watch that lasted this long was one, even if nothing happened.
const SHORTEST_WATCH: Duration = Duration::from_secs(1);
/// The longest that a busy server may ask us to wait.
const LONGEST_ASKED: Duration = Duration::from_secs(60);

/// What is mirrored, and how.
#[derive(Clone, Debug)]
pub struct Selection {
    /// A field selector; empty for all.
    pub fields: String,
    /// How long until everything is listed again, in case the watch skipped something; zero for never.
    pub relist: Duration,
}

impl Default for Selection {
    fn default() -> Self {
        Self { fields: String::new(), relist: RELIST }
    }
}

/// What a relist of zero means, as for client-go. The clock does not reach further than some centuries.
const NEVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Long enough to cost nothing, short enough that nobody has to restart a process that missed something.
pub const RELIST: Duration = Duration::from_secs(3600);

/// Begins to keep `mirror` true, until the context's tasks end.
pub fn reflect<T: Mirrored>(context: &Context, mirror: &Arc<Mirror<T>>, selection: Selection) {
    let reflector = Reflector { context: context.clone(), mirror: mirror.clone(), selection, last: None, failures: 0 };
    let stop = context.tasks.token();
    context.tasks.spawn("reflector", async move {
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = reflector.run() => {}
        }
    });
}

struct Reflector<T> {
    context: Context,
    mirror: Arc<Mirror<T>>,
    selection: Selection,
    /// The version up to which the mirror is true; `None` where everything must be listed.
    last: Option<String>,
    failures: u32,
}

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    metadata: ListMeta,
    // null where Go has an empty slice.
    items: Option<Vec<Box<RawValue>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListMeta {
    resource_version: String,
    #[serde(rename = "continue")]
    token: Option<String>,
}

/// An event of a watch. The object's text need not be JSON: who reads it will see.
struct Line<'a> {
    kind: &'a str,
    object: &'a str,
}

impl<'a> Line<'a> {
    fn of(line: &'a str) -> Option<Self> {
        if let Some((kind, object)) = outline::event(line) {
            return Some(Self { kind, object });
        }
        #[derive(Deserialize)]
        struct Written<'a> {
            #[serde(rename = "type")]
            kind: &'a str,
            #[serde(borrow)]
            object: &'a RawValue,
        }
        let Written { kind, object } = serde_json::from_str(line).ok()?;
        Some(Self { kind, object: object.get() })
    }
}

#[derive(Deserialize)]
struct Failure {
    #[serde(default)]
    code: u16,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    message: String,
}

/// How a watch ended.
#[derive(Debug)]
enum Ended {
    /// It may go on from the last version.
    Resume,
    /// Everything must be listed.
    Relist,
}

impl<T: Mirrored> Reflector<T> {
    async fn run(mut self) {
        let mut again = Instant::now();
        loop {
            let began = Instant::now();
            let result = match self.last.clone() {
                None => {
                    again = began + if self.selection.relist.is_zero() { NEVER } else { self.selection.relist };
                    match self.list().await {
                        // Whether the server is well again, the watch will tell.
                        Ok(()) => continue,
                        Err(error) => Err(error),
                    }
                }
                Some(version) => {
                    let ended = tokio::select! {
                        biased;
                        () = tokio::time::sleep_until(again) => None,
                        ended = self.watch(&version) => Some(ended),
                    };
                    let Some(ended) = ended else {
                        self.last = None;
                        continue;
                    };
                    let progress = self.last.as_ref() != Some(&version) || began.elapsed() >= SHORTEST_WATCH;
                    if progress {
                        self.failures = 0;
                    }
                    match ended {
                        Ok(Ended::Resume) if progress => continue,
                        ended => ended,
                    }
                }
            };
            self.failures = self.failures.saturating_add(1);
            let expired = matches!(result, Ok(Ended::Relist) | Err(Error::Expired(_)));
            if expired {
                self.last = None;
            }
            if expired && self.failures == 1 {
                // It happens to everybody who is away for a while.
                continue;
            }
            let wait = self.wait(result.as_ref().err());
            tracing::warn!(resource = T::RESOURCE.plural, ?result, ?wait, "cannot follow; trying again");
            tokio::time::sleep(wait).await;
        }
    }

    fn wait(&self, error: Option<&Error>) -> Duration {
        let doubled = BACKOFF.0.saturating_mul(1 << self.failures.min(8).saturating_sub(1));
        let share = self.context.entropy.with(|r| r.random_range(0.5..1.0));
        let wait = doubled.min(BACKOFF.1).mul_f64(share);
        match error {
            Some(Error::Busy { after: Some(after), .. }) => wait.max((*after).min(LONGEST_ASKED)),
            _ => wait,
        }
    }

    async fn list(&mut self) -> Result<(), Error> {
        let mut objects = Vec::new();
        let mut unread = BTreeSet::new();
        let mut token = None::<String>;
        let version = loop {
            let mut query = format!("limit={PAGE}");
            self.select(&mut query);
            if let Some(token) = &token {
                query.push_str(&format!("&continue={}", escape(token)));
            }
            let client = &self.context.client;
            let text = answer::within(self.request(&query)?, |request| client.request_text(request)).await?;
            let list: List = serde_json::from_str(&text).map_err(|e| Error::Unknown(format!("a list: {e}")))?;
            for raw in list.items.unwrap_or_default() {
                match self.read(raw.get()) {
                    Some(object) => objects.push(object),
                    None => unread.extend(Head::of(raw.get()).map(|head| head.key::<T>())),
                }
            }
            match list.metadata.token.filter(|t| !t.is_empty()) {
                Some(next) => token = Some(next),
                None => break list.metadata.resource_version,
            }
        };
        self.mirror.replace_except(objects, &unread, number(&version));
        self.last = Some(version);
        Ok(())
    }

    async fn watch(&mut self, version: &str) -> Result<Ended, Error> {
        let seconds = self.context.entropy.with(|r| r.random_range(WATCH_SECONDS..=2 * WATCH_SECONDS));
        let end = Instant::now() + Duration::from_secs(seconds) + OVERTIME;
        let mut query =
            format!("watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={seconds}", escape(version));
        self.select(&mut query);
        let client = &self.context.client;
        let stream = answer::within(self.request(&query)?, |request| client.request_stream(request)).await?;
        let mut stream = std::pin::pin!(stream);
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut limited = futures_util::AsyncReadExt::take(&mut stream, LONGEST_LINE);
            let patience = end.min(Instant::now() + SILENCE);
            let read = tokio::time::timeout_at(patience, limited.read_until(b'\n', &mut line)).await;
            let Ok(read) = read else { return Ok(Ended::Resume) };
            read.map_err(|e| Error::Unknown(format!("the watch broke: {e}")))?;
            if line.len() as u64 >= LONGEST_LINE {
                return Ok(Ended::Relist);
            }
            if line.last() != Some(&b'\n') {
                // Its end, or cut in the middle of an event, which will come again.
                return Ok(Ended::Resume);
            }
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let Some(event) = std::str::from_utf8(&line).ok().and_then(Line::of) else { return Ok(Ended::Relist) };
            if let Some(ended) = self.take(&event)? {
                return Ok(ended);
            }
        }
    }

    fn take(&mut self, event: &Line<'_>) -> Result<Option<Ended>, Error> {
        if event.kind == "ERROR" {
            let failure: Failure = serde_json::from_str(event.object).map_err(|e| Error::Unknown(e.to_string()))?;
            return Err(Error::from_status(failure.code, &failure.reason, failure.message));
        }
        let is_there = matches!(event.kind, "ADDED" | "MODIFIED");
        let mut echo = None;
        if is_there
            && self.mirror.is_echo(|| {
                echo = outline::version(event.object);
                echo
            })
        {
            self.advance(echo.unwrap_or(0).to_string());
            return Ok(None);
        }
        // What cannot be read stays as it was last seen: it is not gone.
        let object = is_there.then(|| self.read(event.object)).flatten();
        let version = match object {
            Some(object) if !object.meta().resource_version.is_empty() => {
                let version = object.meta().resource_version.clone();
                self.mirror.set(Arc::new(object));
                version
            }
            _ => {
                let Some(head) = Head::of(event.object) else { return Ok(Some(Ended::Relist)) };
                let Some(version) = head.metadata.resource_version.clone() else { return Ok(Some(Ended::Relist)) };
                if event.kind == "DELETED" {
                    self.mirror.gone(&head.key::<T>(), number(&version));
                }
                version
            }
        };
        self.advance(version);
        Ok(None)
    }

    /// The mirror is true up to this version. A repeated event must not take the watch back to where it was.
    fn advance(&mut self, version: String) {
        let newer = |last: &String| number(last) < number(&version);
        if self.last.as_ref().is_none_or(newer) {
            self.last = Some(version);
        }
    }

    /// One object; what cannot be read is reported and left out, so that it does not stop the others.
    fn read(&self, text: &str) -> Option<T> {
        T::read(text)
            .inspect_err(|error| {
                let name = Head::of(text).map(|head| head.metadata.name).unwrap_or_default();
                tracing::error!(resource = T::RESOURCE.plural, name, %error, "an object cannot be read and is left out");
            })
            .ok()
    }

    fn select(&self, query: &mut String) {
        if !self.selection.fields.is_empty() {
            query.push_str(&format!("&fieldSelector={}", escape(&self.selection.fields)));
        }
    }

    fn request(&self, query: &str) -> Result<Request<Vec<u8>>, Error> {
        let path = format!("{}?{query}", T::RESOURCE.collection(None));
        // Servers of 1.37 on compress each event of a watch by itself, which clients that ask for that must know.
        let request = Request::get(path).header("accept-encoding", "identity");
        request.body(Vec::new()).map_err(|e| Error::Invalid(e.to_string()))
    }
}

fn number(version: &str) -> Version {
    version.parse().unwrap_or(0)
}

/// As much of an object as can be read of any.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    metadata: HeadMeta,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HeadMeta {
    name: String,
    namespace: String,
    resource_version: Option<String>,
}

impl Head {
    fn of(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    fn key<T: Mirrored>(&self) -> ObjectKey {
        let namespace = if T::RESOURCE.namespaced { self.metadata.namespace.as_str() } else { "" };
        ObjectKey { namespace: Name::from(namespace), name: Name::from(self.metadata.name.as_str()) }
    }
}

/// Makes a text fit to stand in a query: everything that is not plainly harmless is written as its bytes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests;
