//! Keeps a mirror true: list, then watch, and again from where it stood when either ends.
//!
//! ```text
//!            ┌──────────────── 410, an event that cannot be read, or the time to look at everything again
//!            ▼                                                                              │
//!   begin ─► list (pages) ─► watch from the list's version ─┬─ events ─► mirror             │
//!            ▲      │            ▲                          ├─ end, error ─► wait ─► watch from the last version
//!            └─wait─┘ error      └──────────────────────────┴──────────────────────────────┘
//! ```
//!
//! A watch that skips an event says nothing of it. So everything is listed again from time to time (`relist`), and a
//! component that meets a conflict reads the object itself.

use std::sync::Arc;
use std::time::Duration;

use futures_util::AsyncBufReadExt;
use http::Request;
use plimsoll_engine::model::Version;
use rand::Rng;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::context::Context;
use crate::error::Error;
use crate::mirror::{Mirror, Mirrored, key_of};

/// Objects per page of a list, as many as client-go asks for.
const PAGE: usize = 500;
/// A watch is asked to end by itself after this long, and up to twice as long, as client-go's are: so that those of many
/// processes are spread over servers again.
const WATCH_SECONDS: u64 = 300;
/// The first and the longest wait after an error.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// The longest line of a watch; an object is at most 1.5 MiB in etcd, and JSON may say it longer.
const LONGEST_LINE: u64 = 64 << 20;

/// What is mirrored, and how.
#[derive(Clone, Debug)]
pub struct Selection {
    /// A field selector; empty for all.
    pub fields: String,
    /// How long until everything is listed again, in case the watch skipped something.
    pub relist: Duration,
}

impl Default for Selection {
    fn default() -> Self {
        Self { fields: String::new(), relist: RELIST }
    }
}

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

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
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
enum Ended {
    /// It may go on from the last version.
    Resume,
    /// Everything must be listed.
    Relist,
}

impl<T: Mirrored> Reflector<T> {
    async fn run(mut self) {
        let mut listed = Instant::now();
        loop {
            let result = match self.last.clone() {
                None => {
                    listed = Instant::now();
                    self.list().await.map(|()| Ended::Resume)
                }
                Some(version) => {
                    let again = listed + self.selection.relist;
                    tokio::select! {
                        biased;
                        () = tokio::time::sleep_until(again) => Ok(Ended::Relist),
                        ended = self.watch(&version) => ended,
                    }
                }
            };
            match result {
                Ok(Ended::Resume) => {}
                Ok(Ended::Relist) | Err(Error::Expired(_)) => self.last = None,
                Err(error) => {
                    self.failures += 1;
                    tracing::warn!(resource = T::RESOURCE.plural, %error, "cannot follow; trying again");
                    let wait = self.wait(&error);
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }

    fn wait(&self, error: &Error) -> Duration {
        if let Error::Busy { after: Some(after), .. } = error {
            return *after;
        }
        let doubled = BACKOFF.0.saturating_mul(1 << self.failures.min(8).saturating_sub(1));
        let share = self.context.entropy.with(|r| r.random_range(0.5..1.0));
        doubled.min(BACKOFF.1).mul_f64(share)
    }

    async fn list(&mut self) -> Result<(), Error> {
        let mut objects = Vec::new();
        let mut token = None::<String>;
        let version = loop {
            let mut query = format!("limit={PAGE}");
            self.select(&mut query);
            if let Some(token) = &token {
                query.push_str(&format!("&continue={}", escape(token)));
            }
            let text = self.context.client.request_text(self.request(&query)?).await?;
            let list: List = serde_json::from_str(&text).map_err(|e| Error::Unknown(format!("a list: {e}")))?;
            objects.extend(list.items.unwrap_or_default().iter().filter_map(|raw| self.read(raw)));
            match list.metadata.token.filter(|t| !t.is_empty()) {
                Some(next) => token = Some(next),
                None => break list.metadata.resource_version,
            }
        };
        self.mirror.replace(objects, version.parse().unwrap_or(0));
        self.last = Some(version);
        self.failures = 0;
        Ok(())
    }

    async fn watch(&mut self, version: &str) -> Result<Ended, Error> {
        let seconds = self.context.entropy.with(|r| r.random_range(WATCH_SECONDS..=2 * WATCH_SECONDS));
        let mut query =
            format!("watch=true&allowWatchBookmarks=true&resourceVersion={version}&timeoutSeconds={seconds}");
        self.select(&mut query);
        let stream = self.context.client.request_stream(self.request(&query)?).await?;
        let mut stream = std::pin::pin!(stream);
        let mut line = Vec::new();
        loop {
            line.clear();
            // What is read so far must not be lost where the line is not whole, so the line is kept across reads.
            let mut limited = futures_util::AsyncReadExt::take(&mut stream, LONGEST_LINE);
            let read = limited.read_until(b'\n', &mut line).await;
            let count = read.map_err(|e| Error::Unknown(format!("the watch broke: {e}")))?;
            if count == 0 {
                return Ok(Ended::Resume);
            }
            if line.last() != Some(&b'\n') {
                // Cut in the middle of an event.
                return Ok(Ended::Resume);
            }
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let Ok(event) = serde_json::from_slice::<Line<'_>>(&line) else { return Ok(Ended::Relist) };
            self.failures = 0;
            if let Some(ended) = self.take(&event)? {
                return Ok(ended);
            }
        }
    }

    fn take(&mut self, event: &Line<'_>) -> Result<Option<Ended>, Error> {
        if event.kind == "ERROR" {
            let failure: Failure =
                serde_json::from_str(event.object.get()).map_err(|e| Error::Unknown(e.to_string()))?;
            return Err(Error::from_status(failure.code, &failure.reason, failure.message));
        }
        let Some(version) = version_of(event.object) else { return Ok(Some(Ended::Relist)) };
        match event.kind {
            "ADDED" | "MODIFIED" => {
                if let Some(object) = self.read(event.object) {
                    self.mirror.set(Arc::new(object));
                }
            }
            "DELETED" => {
                if let Some(object) = self.read(event.object) {
                    self.mirror.gone(&key_of(&object), version.parse().unwrap_or(0));
                }
            }
            _ => {}
        }
        // A repeated event must not take the watch back to where it was.
        let newer = |last: &String| number(last) < number(&version);
        if self.last.as_ref().is_none_or(newer) {
            self.last = Some(version);
        }
        Ok(None)
    }

    /// One object; what cannot be read is reported and left out, so that it does not stop the others.
    fn read(&self, raw: &RawValue) -> Option<T> {
        T::read(raw)
            .inspect_err(|error| {
                let name = name_of(raw).unwrap_or_default();
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
        Request::get(path).body(Vec::new()).map_err(|e| Error::Invalid(e.to_string()))
    }
}

fn number(version: &str) -> Version {
    version.parse().unwrap_or(0)
}

#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    metadata: HeadMeta,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HeadMeta {
    name: String,
    resource_version: Option<String>,
}

fn version_of(raw: &RawValue) -> Option<String> {
    serde_json::from_str::<Head>(raw.get()).ok()?.metadata.resource_version
}

fn name_of(raw: &RawValue) -> Option<String> {
    Some(serde_json::from_str::<Head>(raw.get()).ok()?.metadata.name)
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
