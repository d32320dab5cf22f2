//! Stand-ins for the API server, for the tests of this crate: one that answers as it was told beforehand, and one that
//! keeps objects and fails on demand.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use http_body_util::{StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;
use kube::Client;
use kube::client::Body;
use plimsoll_clock::{Clock, Entropy};
use serde_json::{Value, json};
use tower::service_fn;

use crate::context::Context;

type Answer = Response<UnsyncBoxBody<Bytes, std::io::Error>>;

/// A context on a client, at the beginning of 2026 and with a seed.
pub(crate) fn context(client: Client) -> Context {
    let epoch = "2026-01-01T00:00:00Z".parse().unwrap();
    Context::new(client, Clock::starting_at(epoch), Arc::new(Entropy::seeded(7)))
}

/// One answer of a [`Script`].
pub(crate) enum Reply {
    /// With this status and body.
    Json(u16, Value),
    /// A watch of these lines, which then ends.
    Lines(Vec<String>),
    /// A watch of these lines, which then stays open.
    Open(Vec<String>),
    /// A watch of these lines, which then breaks.
    Broken(Vec<String>),
    /// Never.
    Silence,
    /// The connection cannot be made.
    Refused,
}

/// Answers requests in the order in which the answers were written down.
#[derive(Clone, Default)]
pub(crate) struct Script {
    replies: Arc<Mutex<VecDeque<Reply>>>,
    asked: Arc<Mutex<Vec<(Duration, String)>>>,
}

impl Script {
    pub(crate) fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self { replies: Arc::new(Mutex::new(replies.into_iter().collect())), asked: Arc::default() }
    }

    /// Which paths were asked for, and when.
    pub(crate) fn asked(&self) -> Vec<(Duration, String)> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn client(&self) -> Client {
        let (script, began) = (self.clone(), tokio::time::Instant::now());
        let service = service_fn(move |request: Request<Body>| {
            script.asked.lock().unwrap().push((began.elapsed(), request.uri().to_string()));
            let reply = script.replies.lock().unwrap().pop_front().unwrap_or(Reply::Silence);
            async move {
                match reply {
                    Reply::Json(code, body) => Ok::<_, std::io::Error>(answer(code, &body)),
                    Reply::Lines(lines) => Ok(stream(lines.into_iter().map(Ok).collect(), false)),
                    Reply::Open(lines) => Ok(stream(lines.into_iter().map(Ok).collect(), true)),
                    Reply::Broken(lines) => {
                        let broken = std::iter::once(Err(std::io::Error::other("broken")));
                        Ok(stream(lines.into_iter().map(Ok).chain(broken).collect(), false))
                    }
                    Reply::Silence => std::future::pending().await,
                    Reply::Refused => Err(std::io::Error::other("refused")),
                }
            }
        });
        Client::new(service, "default")
    }
}

fn answer(code: u16, body: &Value) -> Answer {
    let bytes = Bytes::from(body.to_string());
    let whole = futures_util::stream::iter([Ok(Frame::data(bytes))]);
    Response::builder().status(code).body(StreamBody::new(whole).boxed_unsync()).unwrap()
}

fn stream(lines: Vec<Result<String, std::io::Error>>, open: bool) -> Answer {
    let lines = futures_util::stream::iter(lines).map(|line| line.map(|l| Frame::data(Bytes::from(l))));
    let body = if open {
        StreamBody::new(lines.chain(futures_util::stream::pending())).boxed_unsync()
    } else {
        StreamBody::new(lines).boxed_unsync()
    };
    Response::new(body)
}

/// A refusal as the API server words it.
pub(crate) fn status(code: u16, reason: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": reason})
}

/// What goes wrong with a request to a [`Store`].
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// It is refused with this code.
    Refuse(u16),
    /// It is done, and the answer is lost.
    LoseAnswer,
    /// It is done after a while.
    Late(Duration),
    /// It is never answered, nor done.
    Silence,
}

type Faults = Arc<dyn Fn(&Method, &str) -> Option<Fault> + Send + Sync>;

/// Keeps whole objects by their paths, with versions.
#[derive(Clone, Default)]
pub(crate) struct Store {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Value>,
    version: u64,
    /// Every request that was done, with its body.
    done: Vec<(Method, String, Value)>,
    faults: Option<Faults>,
}

impl Store {
    pub(crate) fn object(&self, path: &str) -> Option<Value> {
        self.state.lock().unwrap().objects.get(path).cloned()
    }

    pub(crate) fn objects(&self) -> Vec<Value> {
        self.state.lock().unwrap().objects.values().cloned().collect()
    }

    /// The requests that were done with this method.
    pub(crate) fn done(&self, method: &Method) -> Vec<(String, Value)> {
        let state = self.state.lock().unwrap();
        state.done.iter().filter(|(m, ..)| m == method).map(|(_, path, body)| (path.clone(), body.clone())).collect()
    }

    pub(crate) fn remove(&self, path: &str) {
        self.state.lock().unwrap().objects.remove(path);
    }

    pub(crate) fn faults(&self, faults: impl Fn(&Method, &str) -> Option<Fault> + Send + Sync + 'static) {
        self.state.lock().unwrap().faults = Some(Arc::new(faults));
    }

    pub(crate) fn client(&self) -> Client {
        let store = self.clone();
        Client::new(service_fn(move |request| store.clone().serve(request)), "default")
    }

    async fn serve(self, request: Request<Body>) -> Result<Answer, std::io::Error> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let path = parts.uri.path().to_owned();
        let faults = self.state.lock().unwrap().faults.clone();
        let fault = faults.and_then(|faults| faults(&parts.method, &path));
        match fault {
            Some(Fault::Refuse(code)) => return Ok(answer(code, &status(code, "on purpose"))),
            Some(Fault::Late(by)) => tokio::time::sleep(by).await,
            Some(Fault::Silence) => std::future::pending().await,
            _ => {}
        }
        let (code, answered) = self.state.lock().unwrap().act(parts.method, path, body);
        if matches!(fault, Some(Fault::LoseAnswer)) {
            return Err(std::io::Error::other("the answer is lost"));
        }
        Ok(answer(code, &answered))
    }
}

impl State {
    fn act(&mut self, method: Method, path: String, mut body: Value) -> (u16, Value) {
        self.done.push((method.clone(), path.clone(), body.clone()));
        match method {
            Method::GET => match self.objects.get(&path) {
                Some(object) => (200, object.clone()),
                None => (404, status(404, "NotFound")),
            },
            Method::POST => {
                let path = format!("{path}/{}", body["metadata"]["name"].as_str().unwrap());
                if self.objects.contains_key(&path) {
                    return (409, status(409, "AlreadyExists"));
                }
                self.keep(path, body)
            }
            Method::PUT => match self.objects.get(&path) {
                None => (404, status(404, "NotFound")),
                Some(old) if old["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"] => {
                    (409, status(409, "Conflict"))
                }
                Some(_) => self.keep(path, body),
            },
            Method::PATCH => match self.objects.get(&path) {
                None => (404, status(404, "NotFound")),
                Some(old) => {
                    let mut merged = old.clone();
                    for (field, value) in body.as_object_mut().unwrap() {
                        merged[field.as_str()] = value.take();
                    }
                    self.keep(path, merged)
                }
            },
            _ => (405, status(405, "MethodNotAllowed")),
        }
    }

    fn keep(&mut self, path: String, mut object: Value) -> (u16, Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.insert(path, object.clone());
        (200, object)
    }
}
