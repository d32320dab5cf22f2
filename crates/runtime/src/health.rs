//! Says over HTTP whether the process is well, and its figures: `/healthz`, `/livez`, `/readyz`, `/metrics`; and pages that its
//! components add, such as `/configz`.
//!
//! The words are those of Kubernetes' own processes, so that probes and people read them alike. Why a check fails is
//! logged, not answered: whoever can reach the port need not be one who may know.
//!
//! A connection is for one request and has a few seconds, whoever opened it and however slowly it speaks; what nobody
//! reads is not sent, and what nobody asked for is not read.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::context::Context;
use crate::metrics::Metrics;

/// How long a connection may last.
const CONNECTION: Duration = Duration::from_secs(10);
/// How long its request may take to arrive.
const HEADERS: Duration = Duration::from_secs(5);
/// How many bytes its request may have, and how many headers.
const REQUEST: (usize, usize) = (16 << 10, 64);
/// How many connections there may be; others wait to be taken.
const CONNECTIONS: usize = 64;
/// How long to wait when no connection can be taken, as when there are too many open files.
const BREATH: Duration = Duration::from_millis(100);

type Check = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;
type Page = Arc<dyn Fn() -> String + Send + Sync>;

/// The checks of a process. Clones are of the same ones.
#[derive(Clone, Default)]
pub struct Health {
    checks: Arc<Mutex<Checks>>,
}

#[derive(Default)]
struct Checks {
    live: Vec<(String, Check)>,
    ready: Vec<(String, Check)>,
    pages: Vec<(String, Page)>,
}

impl Health {
    /// No checks yet: a process that answers is well.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a check that `/healthz`, `/livez` and `/readyz` make: a process that fails it should be started anew. It must not
    /// wait.
    pub fn add_live(&self, name: &str, check: impl Fn() -> Result<(), String> + Send + Sync + 'static) {
        self.checks().live.push((name.to_owned(), Arc::new(check)));
    }

    /// Adds a check that `/readyz` makes: a process that fails it is not to be relied on yet. One that stands by for
    /// another is ready. It must not wait.
    pub fn add_ready(&self, name: &str, check: impl Fn() -> Result<(), String> + Send + Sync + 'static) {
        self.checks().ready.push((name.to_owned(), Arc::new(check)));
    }

    /// Adds a page that answers `/NAME` with what `page` says in JSON. It must not wait. The last of a name is the one shown.
    pub fn add_page(&self, name: &str, page: impl Fn() -> String + Send + Sync + 'static) {
        self.checks().pages.push((name.to_owned(), Arc::new(page)));
    }

    fn page(&self, name: &str) -> Option<Page> {
        self.checks().pages.iter().rev().find(|(known, _)| known == name).map(|(_, page)| page.clone())
    }

    fn checks(&self) -> std::sync::MutexGuard<'_, Checks> {
        self.checks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The checks of one path.
    fn of(&self, which: &str) -> Vec<(String, Check)> {
        let checks = self.checks();
        let mut all: Vec<(String, Check)> = vec![("ping".to_owned(), Arc::new(|| Ok(())))];
        all.extend(checks.live.iter().cloned());
        if which == "readyz" {
            all.extend(checks.ready.iter().cloned());
        }
        all
    }

    /// Makes the checks of `which`, all or only `only`.
    fn report(&self, which: &str, only: Option<&str>, query: &str) -> Reply {
        let mut checks = self.of(which);
        if let Some(only) = only {
            checks.retain(|(name, _)| name == only);
            let Some((name, check)) = checks.first() else { return Reply::missing() };
            return match check() {
                Ok(()) => Reply::text(StatusCode::OK, "ok"),
                Err(why) => {
                    tracing::warn!(check = name, why, "a health check fails");
                    Reply::text(StatusCode::INTERNAL_SERVER_ERROR, "internal server error: reason withheld\n")
                }
            };
        }
        let asked: Vec<(&str, &str)> =
            query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, ""))).collect();
        let excluded = |name: &str| asked.contains(&("exclude", name));
        let mut lines = String::new();
        let mut failed = false;
        for (name, check) in &checks {
            if excluded(name) {
                lines.push_str(&format!("[+]{name} excluded: ok\n"));
                continue;
            }
            match check() {
                Ok(()) => lines.push_str(&format!("[+]{name} ok\n")),
                Err(why) => {
                    tracing::warn!(check = name, why, "a health check fails");
                    failed = true;
                    lines.push_str(&format!("[-]{name} failed: reason withheld\n"));
                }
            }
        }
        if failed {
            Reply::text(StatusCode::INTERNAL_SERVER_ERROR, format!("{lines}{which} check failed\n"))
        } else if asked.iter().any(|(key, _)| *key == "verbose") {
            Reply::text(StatusCode::OK, format!("{lines}{which} check passed\n"))
        } else {
            Reply::text(StatusCode::OK, "ok")
        }
    }
}

struct Reply {
    code: StatusCode,
    kind: &'static str,
    body: String,
}

impl Reply {
    fn text(code: StatusCode, body: impl Into<String>) -> Self {
        Self { code, kind: "text/plain; charset=utf-8", body: body.into() }
    }

    fn missing() -> Self {
        Self::text(StatusCode::NOT_FOUND, "404 page not found\n")
    }
}

/// Answers on `address` until the context's tasks have ended. Returns the address, whose port may have been chosen.
pub async fn serve(context: &Context, health: &Health, address: SocketAddr) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    context.metrics.describe_process(&context.clock);
    let server = Arc::new(Server { health: health.clone(), metrics: context.metrics.clone() });
    let closing = context.tasks.closing();
    context.tasks.spawn_servant("health", async move {
        // Dropped with their connections when it ends.
        let mut connections = tokio::task::JoinSet::new();
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        let accept = async {
            loop {
                while connections.try_join_next().is_some() {}
                // The semaphore is never closed.
                let Ok(place) = room.clone().acquire_owned().await else { return };
                match listener.accept().await {
                    Ok((stream, _)) => {
                        let server = server.clone();
                        connections.spawn(async move {
                            server.converse(stream).await;
                            drop(place);
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "no connection can be taken");
                        tokio::time::sleep(BREATH).await;
                    }
                }
            }
        };
        tokio::select! {
            biased;
            () = closing.cancelled() => {}
            () = accept => {}
        }
    });
    Ok(address)
}

struct Server {
    health: Health,
    metrics: Metrics,
}

impl Server {
    async fn converse(&self, stream: TcpStream) {
        let service = service_fn(async |request| Ok::<_, Infallible>(self.answer(&request)));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADERS)
            .max_buf_size(REQUEST.0)
            .max_headers(REQUEST.1)
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), service);
        // How it ends is the other side's business.
        let _ = tokio::time::timeout(CONNECTION, connection).await;
    }

    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let Reply { code, kind, body } = self.reply(request.method(), request.uri().path(), request.uri().query());
        let mut response = Response::new(Full::new(Bytes::from(body)));
        *response.status_mut() = code;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
        if code == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        response
    }

    fn reply(&self, method: &Method, path: &str, query: Option<&str>) -> Reply {
        let mut parts = path.trim_start_matches('/').splitn(2, '/');
        let (which, only) = (parts.next().unwrap_or_default(), parts.next());
        let health = matches!(which, "healthz" | "livez" | "readyz");
        let page = self.health.page(which).filter(|_| only.is_none());
        if !health && page.is_none() && (which, only) != ("metrics", None) {
            return Reply::missing();
        }
        if !matches!(*method, Method::GET | Method::HEAD) {
            return Reply::text(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed\n");
        }
        if health {
            return self.health.report(which, only, query.unwrap_or_default());
        }
        if let Some(page) = page {
            return Reply { code: StatusCode::OK, kind: "application/json", body: page() };
        }
        let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        Reply { code: StatusCode::OK, kind, body: self.metrics.text() }
    }
}

#[cfg(test)]
mod tests;
