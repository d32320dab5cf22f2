//! The service between a component's client and the API server.
//!
//! ```text
//!              crash, freeze     429, 500, 503, 409                      crash, freeze
//!   request ─► latency        ─► lost            ─► API server: done ─► latency, lost answer ─► answer
//!                                                      │
//!                                                      └─► the observer sees every change that was made
//! ```
//! The order is fixed: a request meets at most one of the refusals, and what is refused is never done.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use plimsoll_apiserver::service::ApiService;
use serde_json::json;

use super::{Kind, When, watch};
use crate::component::Life;
use crate::laboratory::Laboratory;

/// What a client's errors are made of.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// An answer's body.
pub(crate) type Body = UnsyncBoxBody<Bytes, BoxError>;

/// The API as one life of one component sees it.
#[derive(Clone)]
pub(crate) struct Layer {
    pub(crate) laboratory: Arc<Laboratory>,
    pub(crate) life: Arc<Life>,
    pub(crate) service: ApiService,
}

/// What a request is, for the trace.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) text: String,
    method: Method,
    watch: bool,
}

impl Ask {
    fn of<B>(request: &Request<B>) -> Self {
        let path = request.uri().path();
        let query = request.uri().query().unwrap_or_default();
        let watch = request.method() == Method::GET && query.split('&').any(|p| p == "watch=true" || p == "watch=1");
        let verb = if watch { "WATCH" } else { request.method().as_str() };
        Self { text: format!("{verb} {path}"), method: request.method().clone(), watch }
    }

    fn is_write(&self) -> bool {
        self.method != Method::GET
    }
}

impl<B> tower::Service<Request<B>> for Layer
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let layer = self.clone();
        Box::pin(async move {
            let ask = Ask::of(&request);
            if layer.life.is_over() {
                return std::future::pending().await;
            }
            if ask.watch { layer.watch(ask, request).await } else { layer.once(ask, request).await }
        })
    }
}

impl Layer {
    /// Done by the API server, with every change seen and put to this component's name.
    async fn done<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let work = tower::Service::call(&mut self.service.clone(), request);
        let observed = Observed { laboratory: self.laboratory.clone(), life: self.life.clone(), work };
        let response = match observed.await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        response.map(|body| body.map_err(|never| match never {}).boxed_unsync())
    }

    async fn once<B>(self, ask: Ask, request: Request<B>) -> Result<Response<Body>, BoxError>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let life = &self.life;
        let call = life.counters.next_call();
        let write = ask.is_write().then(|| life.counters.next_write());
        let _flight = life.counters.begin();
        self.laboratory.count_request();
        let killed = |when| {
            let point = write.is_some_and(|write| self.laboratory.kills(&life.name, write, when));
            let kind = if when == When::Before { Kind::CrashBefore } else { Kind::CrashAfter };
            point || self.roll(kind, &[call]).is_some()
        };

        if killed(When::Before) {
            return self.die(&ask, "killed before it was sent").await;
        }
        let frozen = self.roll(Kind::Freeze, &[call]);
        self.freeze(&ask, frozen.filter(|n| n.is_multiple_of(2))).await;
        self.wait(&ask, "the request", self.roll(Kind::Latency, &[call, 0])).await;
        if self.roll(Kind::LostRequest, &[call]).is_some() {
            self.fault(&ask, "lost before it arrived");
            return Err(broken());
        }
        if let Some(refusal) = self.refusal(&ask, call) {
            return Ok(refusal);
        }

        let response = self.done(request).await;
        let code = response.status().as_u16();
        self.laboratory.note(&life.name, &ask.text, &code.to_string(), false);

        if killed(When::After) {
            return self.die(&ask, "killed after it was done").await;
        }
        self.freeze(&ask, frozen.filter(|n| !n.is_multiple_of(2))).await;
        self.wait(&ask, "the answer", self.roll(Kind::Latency, &[call, 1])).await;
        match self.roll(Kind::LostAnswer, &[call]) {
            Some(draw) if draw.is_multiple_of(2) => {
                self.fault(&ask, "done, and the connection broke");
                Err(broken())
            }
            Some(_) => {
                self.fault(&ask, "done, and 504 was said");
                Ok(status(504, "Timeout", "request did not complete within the allotted timeout", None))
            }
            None => Ok(response),
        }
    }

    fn refusal(&self, ask: &Ask, call: u64) -> Option<Response<Body>> {
        if let Some(draw) = self.roll(Kind::Busy, &[call]) {
            let seconds = 1 + draw % 3;
            self.fault(ask, &format!("429, wait {seconds} s"));
            let message = "the server has received too many requests and has asked us to try again later";
            return Some(status(429, "TooManyRequests", message, Some(seconds)));
        }
        if let Some(draw) = self.roll(Kind::ServerError, &[call]) {
            self.fault(ask, "500 or 503, not done");
            let answer = if draw.is_multiple_of(2) {
                status(500, "InternalError", "Internal error occurred: etcdserver: leader changed", None)
            } else {
                status(503, "ServiceUnavailable", "the server is currently unable to handle the request", None)
            };
            return Some(answer);
        }
        // A conflict on creation would say that the object exists, which is another thing.
        let changes = matches!(ask.method, Method::PUT | Method::PATCH | Method::DELETE);
        if changes && self.roll(Kind::Conflict, &[call]).is_some() {
            self.fault(ask, "409, not done");
            let message = "the object has been modified; please apply your changes to the latest version and try again";
            return Some(status(409, "Conflict", message, None));
        }
        None
    }

    async fn watch<B>(self, ask: Ask, request: Request<B>) -> Result<Response<Body>, BoxError>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let number = self.life.counters.next_watch();
        self.laboratory.count_request();
        self.wait(&ask, "the watch", self.roll(Kind::Latency, &[number, 2])).await;
        if self.roll(Kind::LostRequest, &[number, 2]).is_some() {
            self.fault(&ask, "lost before it arrived");
            return Err(broken());
        }
        if self.roll(Kind::ServerError, &[number, 2]).is_some() {
            self.fault(&ask, "500");
            return Ok(status(500, "InternalError", "Internal error occurred", None));
        }
        if self.roll(Kind::WatchGone, &[number]).is_some() {
            self.fault(&ask, "410");
            return Ok(status(410, "Expired", "too old resource version", None));
        }
        let response = self.done(request).await;
        let code = response.status();
        self.laboratory.note(&self.life.name, &ask.text, code.as_str(), false);
        if !code.is_success() {
            return Ok(response);
        }
        if self.roll(Kind::WatchEnd, &[number]).is_some() {
            self.fault(&ask, "ended at once");
            return Ok(response.map(|_| whole(Bytes::new())));
        }
        Ok(response.map(|body| watch::body(self, ask, number, body)))
    }

    pub(crate) fn roll(&self, kind: Kind, event: &[u64]) -> Option<u64> {
        self.life.faulty.then(|| self.laboratory.roll(kind, &self.life.name, event)).flatten()
    }

    pub(crate) fn fault(&self, ask: &Ask, what: &str) {
        self.laboratory.note(&self.life.name, &ask.text, what, true);
    }

    async fn wait(&self, ask: &Ask, what: &str, draw: Option<u64>) {
        if let Some(draw) = draw {
            let wait = patience(draw);
            self.fault(ask, &format!("{what} takes {wait:?}"));
            tokio::time::sleep(wait).await;
        }
    }

    async fn freeze(&self, ask: &Ask, draw: Option<u64>) {
        if let Some(draw) = draw {
            let wait = Duration::from_millis(100 + draw / 2 % 30_000);
            self.fault(ask, &format!("frozen for {wait:?}"));
            crate::component::freeze(&self.laboratory, &self.life, wait);
            // The gate holds the task from here on.
            tokio::task::yield_now().await;
        }
    }

    async fn die(&self, ask: &Ask, how: &str) -> Result<Response<Body>, BoxError> {
        self.fault(ask, how);
        crate::component::crash(&self.laboratory, &self.life);
        std::future::pending().await
    }
}

/// Mostly short; now and then longer than anybody expects.
pub(crate) fn patience(draw: u64) -> Duration {
    let most = if draw.is_multiple_of(8) { 20_000 } else { 200 };
    Duration::from_millis(1 + draw / 8 % most)
}

pub(crate) fn broken() -> BoxError {
    std::io::Error::new(std::io::ErrorKind::ConnectionReset, "connection reset by peer").into()
}

pub(crate) fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// A refusal as the API server writes it.
fn status(code: u16, reason: &str, message: &str, retry_after: Option<u64>) -> Response<Body> {
    let mut object = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    });
    if let Some(seconds) = retry_after {
        object["details"] = json!({"retryAfterSeconds": seconds});
    }
    let mut response = Response::new(whole(object.to_string()));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    if let Some(seconds) = retry_after {
        headers.insert(http::header::RETRY_AFTER, seconds.into());
    }
    response
}

/// A request being done: what changed before a step is the server's own doing, what changed during it is the component's.
struct Observed<F> {
    laboratory: Arc<Laboratory>,
    life: Arc<Life>,
    work: F,
}

impl<F: Future + Unpin> Future for Observed<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.laboratory.observe(crate::laboratory::SERVER);
        let outcome = Pin::new(&mut self.work).poll(cx);
        self.laboratory.observe(&self.life.name);
        outcome
    }
}
