//! watch: changes as they happen.
//!
//! A watcher holds a cursor into the resource's history, not a queue: what it has not been sent yet is kept only there, so a client that
//! reads slowly pins nothing, and one that reads too slowly is told that its version is too old (410) and lists again.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use plimsoll_schema::protobuf;
use serde_json::{Value, json};

use crate::body::Body;
use crate::columns::Content;
use crate::core::Core;
use crate::registry::Served;
use crate::reply::{self, Reply};
use crate::request::{Accept, Format, ListOptions, Transform};
use crate::selectors::Filter;
use crate::status::Status;
use crate::store::{Event, EventKind, ListRequest, Object, RevisionError, Watcher};
use crate::verbs::Call;
use crate::verbs::list::{bare, check};

/// How often a watch that understands bookmarks is told how far it is.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// How long a watch lasts that does not say: upstream draws between half an hour and an hour.
const LONGEST: Duration = Duration::from_secs(45 * 60);
/// How much is gathered into one piece.
const PIECE: usize = 64 << 10;

impl Call {
    pub(super) fn watch(&mut self) -> Result<Reply, Status> {
        if self.accept.format == Format::Yaml {
            let types =
                if self.served.custom.is_some() { "" } else { ", application/vnd.kubernetes.protobuf;stream=watch" };
            let why = format!("only the following media types are accepted: application/json;stream=watch{types}");
            return Err(Status::new(406, "NotAcceptable", why));
        }
        let options = ListOptions::parse(&self.query)?;
        let mut filter = self.filter(&options)?;
        if self.path.watch && !self.path.name.is_empty() {
            let selector = format!("metadata.name={}", self.path.name);
            filter = Filter::parse(&options.label_selector, &selector, |field| Ok(field.to_owned()))?;
        }
        check(&options, true)?;
        let version = options.version()?;
        let namespace = self.scope().to_owned();
        let store = &self.core.store;

        let asked = version.unwrap_or(0);
        let initial = match options.send_initial_events {
            Some(wanted) => wanted,
            None => asked == 0,
        };
        let mut sink = Sink {
            core: self.core.clone(),
            served: self.served.clone(),
            accept: self.accept,
            include: self.query.get("includeObject").unwrap_or_default().to_owned(),
            first_table: true,
            out: BytesMut::new(),
        };
        let mut backlog = VecDeque::new();
        let mut skip_until = 0;
        let from = if initial {
            if asked > store.revision() {
                return Err(super::list::too_large(asked, store.revision()));
            }
            let request =
                ListRequest { namespace: Some(namespace.as_str()).filter(|n| !n.is_empty()), ..ListRequest::default() };
            let list = store
                .list_filtered(&self.served.key, &request, |object| filter.matches(object))
                .map_err(|error| Status::expired(error.to_string()))?;
            backlog.extend(list.items);
            list.revision
        } else if version.is_none() || (asked == 0 && options.send_initial_events == Some(false)) {
            store.revision()
        } else {
            asked
        };
        let watcher = match store.watch(&self.served.key, from) {
            Ok(watcher) => Some(watcher),
            Err(RevisionError::Future { current }) => {
                skip_until = from;
                store.watch(&self.served.key, current).ok()
            }
            Err(RevisionError::TooOld { oldest }) => {
                sink.error(&gone(from, oldest));
                None
            }
        };
        let lasts = match options.timeout_seconds {
            Some(seconds) if seconds > 0 => Duration::from_secs(seconds.unsigned_abs()),
            _ => LONGEST,
        };
        let closing = (options.bookmarks && options.send_initial_events == Some(true)).then_some(from);
        let state =
            State { watcher, filter, namespace, sink, backlog, closing, skip_until, bookmarks: options.bookmarks };
        let content_type = match (self.accept.format, self.accept.transform) {
            (Format::Protobuf, _) => "application/vnd.kubernetes.protobuf;stream=watch",
            _ => "application/json",
        };
        Ok(Reply::Whole(reply::response(200, content_type, Body::stream(events(state, lasts)))))
    }
}

fn gone(asked: u64, oldest: u64) -> Status {
    Status::expired(format!("too old resource version: {asked} ({oldest})"))
}

/// What one watch is about.
struct State {
    watcher: Option<Watcher>,
    filter: Filter,
    namespace: String,
    sink: Sink,
    backlog: VecDeque<Arc<Object>>,
    /// The version of the bookmark that ends the initial events.
    closing: Option<u64>,
    skip_until: u64,
    bookmarks: bool,
}

impl State {
    fn wanted(&self, object: &Object) -> bool {
        (self.namespace.is_empty() || object.namespace() == self.namespace) && self.filter.matches(object)
    }

    /// An event as this watcher sees it: what enters its selection was added, what leaves it was deleted.
    fn deliver(&mut self, event: &Event) {
        if event.revision() <= self.skip_until {
            return;
        }
        let now = event.kind != EventKind::Deleted && self.wanted(&event.object);
        let before = event.previous.as_ref().is_some_and(|previous| self.wanted(previous));
        match (before, now) {
            (false, true) => self.sink.event("ADDED", &event.object),
            (true, true) => self.sink.event("MODIFIED", &event.object),
            (true, false) if event.kind == EventKind::Deleted => self.sink.event("DELETED", &event.object),
            // It is still there, so what is sent is what it was, with the version of the change.
            (true, false) => {
                if let Some(previous) = &event.previous {
                    self.sink.left(previous, event.revision());
                }
            }
            (false, false) => {}
        }
    }

    /// Fills the next piece, waiting for something to put in. None at the end of the watch.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            while self.sink.out.len() < PIECE {
                match self.backlog.pop_front() {
                    Some(object) => self.sink.event("ADDED", &object),
                    None => break,
                }
            }
            if self.backlog.is_empty()
                && let Some(revision) = self.closing.take()
            {
                self.sink.bookmark(revision, true);
            }
            if !self.sink.out.is_empty() {
                return Some(self.sink.out.split().freeze());
            }
            let watcher = self.watcher.as_mut()?;
            let core = self.sink.core.clone();
            let next = tokio::select! {
                biased;
                () = core.ending.said() => return None,
                next = tokio::time::timeout(BOOKMARK_EVERY, watcher.next()) => next,
            };
            match next {
                Ok(Ok(batch)) => {
                    for event in &batch.events {
                        self.deliver(event);
                    }
                }
                Ok(Err(RevisionError::TooOld { oldest })) => {
                    self.sink.error(&gone(0, oldest));
                    self.watcher = None;
                }
                Ok(Err(RevisionError::Future { .. })) => self.watcher = None,
                Err(_) if self.bookmarks => {
                    let revision = watcher.progress();
                    self.sink.bookmark(revision, false);
                }
                Err(_) => {}
            }
        }
    }
}

/// Turns events into bytes in the form asked for.
struct Sink {
    core: Arc<Core>,
    served: Arc<Served>,
    accept: Accept,
    include: String,
    /// Only the first table of a watch has column definitions.
    first_table: bool,
    out: BytesMut,
}

impl Sink {
    fn event(&mut self, kind: &str, object: &Object) {
        let plain = self.accept.format == Format::Json
            && self.accept.transform == Transform::None
            && self.served.shown_as_stored();
        if plain {
            self.out.extend_from_slice(format!(r#"{{"type":"{kind}","object":"#).as_bytes());
            self.out.extend_from_slice(&object.bytes);
            self.out.extend_from_slice(b"}\n");
            return;
        }
        if let Ok(value) = self.core.value(&self.served, object) {
            self.value(kind, value);
        }
    }

    fn left(&mut self, previous: &Object, revision: u64) {
        if let Ok(mut value) = self.core.value(&self.served, previous) {
            value["metadata"]["resourceVersion"] = revision.to_string().into();
            self.value("DELETED", value);
        }
    }

    fn bookmark(&mut self, revision: u64, ends_initial: bool) {
        let value = bare(&self.served.api_version(), &self.served.kind, revision, ends_initial);
        let value = if self.served.custom.is_none() { with_zero_fields(&self.served, value) } else { value };
        self.value("BOOKMARK", value);
    }

    fn value(&mut self, kind: &str, value: Value) {
        let value = match self.accept.transform {
            Transform::None => value,
            Transform::Metadata => reply::metadata_only(&value),
            Transform::Table => {
                let first = std::mem::replace(&mut self.first_table, false);
                reply::table(&self.core, &self.served, Content::One(&value), &self.include, first)
            }
        };
        self.frame(kind, &value);
    }

    fn error(&mut self, status: &Status) {
        self.frame("ERROR", &status.to_value());
    }

    fn frame(&mut self, kind: &str, value: &Value) {
        match self.accept.format {
            Format::Protobuf => {
                if let Some(object) = reply::to_protobuf(value) {
                    self.out.extend_from_slice(&protobuf::encode_watch_event(kind, &object));
                }
            }
            Format::Yaml => {
                let text = reply::to_text(&json!({"type": kind, "object": value}), Format::Yaml, false);
                self.out.extend_from_slice(b"---\n");
                self.out.extend_from_slice(&text);
            }
            Format::Json => {
                self.out.extend_from_slice(format!(r#"{{"type":"{kind}","object":{value}}}"#).as_bytes());
                self.out.extend_from_slice(b"\n");
            }
        }
    }
}

/// An otherwise empty object of a built-in kind has its plain structs all the same (`spec: {}`).
fn with_zero_fields(served: &Served, value: Value) -> Value {
    crate::codec::recanonical(served, value.clone()).unwrap_or(value)
}

type Next = Pin<Box<dyn Future<Output = (State, Option<Bytes>)> + Send>>;

struct Events {
    next: Option<Next>,
    ends: Pin<Box<tokio::time::Sleep>>,
}

fn events(state: State, lasts: Duration) -> Events {
    Events { next: Some(step(state)), ends: Box::pin(tokio::time::sleep(lasts)) }
}

fn step(mut state: State) -> Next {
    Box::pin(async move {
        let piece = state.next().await;
        (state, piece)
    })
}

impl Stream for Events {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some(next) = &mut self.next else { return Poll::Ready(None) };
        if let Poll::Ready((state, piece)) = next.as_mut().poll(cx) {
            self.next = piece.is_some().then(|| step(state));
            return Poll::Ready(piece);
        }
        if self.ends.as_mut().poll(cx).is_ready() {
            self.next = None;
            return Poll::Ready(None);
        }
        Poll::Pending
    }
}
