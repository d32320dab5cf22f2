//! A proxy in front of an API server that makes trouble: it refuses, delays, loses requests and answers, and cuts watches.
//!
//! It speaks plain HTTP on loopback, so that it can see what it passes on, and TLS with the server behind it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::client::{Client, Connection};

/// Of so many requests one meets each kind of trouble.
const ONE_IN: u64 = 12;
/// The longest that a request or an answer is held back.
const LONGEST_DELAY: u64 = 400;
/// The longest that a watch lasts while there is trouble.
const LONGEST_WATCH: u64 = 20_000;

/// A proxy that makes trouble until it is told to stop.
#[derive(Debug)]
pub struct Trouble {
    address: SocketAddr,
    shared: Arc<Shared>,
    serving: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    behind: Client,
    on: AtomicBool,
    draws: AtomicU64,
    made: AtomicU64,
    idle: Mutex<Vec<Connection>>,
}

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Passed,
    Refused(StatusCode),
    Lost,
    AnswerLost,
    Delayed,
}

type Body = BoxBody<Bytes, std::io::Error>;

impl Trouble {
    /// In front of a server; what happens follows from the seed and the order of the requests.
    pub async fn start(behind: Client, seed: u64) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no port for the proxy")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            behind,
            on: AtomicBool::new(true),
            draws: AtomicU64::new(seed),
            made: AtomicU64::new(0),
            idle: Mutex::default(),
        });
        let serving = tokio::spawn(serve(listener, shared.clone()));
        Ok(Self { address, shared, serving })
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// No more trouble from now on.
    pub fn stop(&self) {
        self.shared.on.store(false, Ordering::Relaxed);
    }

    /// How much trouble it made.
    pub fn made(&self) -> u64 {
        self.shared.made.load(Ordering::Relaxed)
    }
}

impl Drop for Trouble {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let shared = shared.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let shared = shared.clone();
                async move { shared.pass(request).await }
            });
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

impl Shared {
    /// The next number that looks random.
    fn draw(&self) -> u64 {
        let mut x = self.draws.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn fate(&self, write: bool) -> Fate {
        if !self.on.load(Ordering::Relaxed) {
            return Fate::Passed;
        }
        let fate = match self.draw() % ONE_IN {
            0 => Fate::Refused(StatusCode::INTERNAL_SERVER_ERROR),
            1 => Fate::Refused(StatusCode::TOO_MANY_REQUESTS),
            2 if write => Fate::Refused(StatusCode::CONFLICT),
            3 => Fate::Lost,
            4 => Fate::AnswerLost,
            5 => Fate::Delayed,
            _ => Fate::Passed,
        };
        self.made.fetch_add(u64::from(fate != Fate::Passed), Ordering::Relaxed);
        fate
    }

    /// Passes a request on. An error breaks the connection without an answer.
    async fn pass(&self, request: Request<Incoming>) -> std::io::Result<Response<Body>> {
        let watch = request.uri().query().is_some_and(|query| query.contains("watch="));
        let fate = self.fate(request.method() != http::Method::GET);
        match fate {
            Fate::Refused(code) => return Ok(refusal(code)),
            Fate::Lost => return Err(broken()),
            Fate::Delayed => tokio::time::sleep(Duration::from_millis(self.draw() % LONGEST_DELAY)).await,
            Fate::Passed | Fate::AnswerLost => {}
        }
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
        let request = Request::from_parts(parts, Full::new(body));
        let mut connection = self.connection().await.map_err(std::io::Error::other)?;
        let response = connection.send(request).await.map_err(std::io::Error::other)?;
        if watch {
            let lasts = self.on.load(Ordering::Relaxed).then(|| Duration::from_millis(self.draw() % LONGEST_WATCH));
            return Ok(stream(response, connection, lasts));
        }
        let (parts, body) = response.into_parts();
        let body = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        if fate == Fate::AnswerLost {
            return Err(broken());
        }
        Ok(Response::from_parts(parts, Full::new(body).map_err(|never: Infallible| match never {}).boxed()))
    }

    async fn connection(&self) -> Result<Connection> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle.filter(Connection::is_open) {
            Some(connection) => Ok(connection),
            None => self.behind.connect().await,
        }
    }
}

/// A watch, passed on as it comes, and cut after a while.
fn stream(response: Response<Incoming>, connection: Connection, lasts: Option<Duration>) -> Response<Body> {
    let (parts, mut body) = response.into_parts();
    let (send, receive) = tokio::sync::mpsc::channel::<std::io::Result<Frame<Bytes>>>(16);
    tokio::spawn(async move {
        // The connection lives as long as what comes over it.
        let _connection = connection;
        let pass_on = async {
            while let Some(Ok(frame)) = body.frame().await {
                if send.send(Ok(frame)).await.is_err() {
                    break;
                }
            }
        };
        match lasts {
            Some(lasts) => {
                if tokio::time::timeout(lasts, pass_on).await.is_err() {
                    let _ = send.send(Err(broken())).await;
                }
            }
            None => pass_on.await,
        }
    });
    let frames = futures_util::stream::unfold(receive, |mut receive| async move {
        receive.recv().await.map(|frame| (frame, receive))
    });
    Response::from_parts(parts, StreamBody::new(frames).boxed())
}

fn refusal(code: StatusCode) -> Response<Body> {
    let reason = match code {
        StatusCode::CONFLICT => "Conflict",
        StatusCode::TOO_MANY_REQUESTS => "TooManyRequests",
        _ => "InternalError",
    };
    let status = serde_json::json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "trouble", "reason": reason, "code": code.as_u16()});
    let body = Full::new(Bytes::from(status.to_string())).map_err(|never: Infallible| match never {}).boxed();
    let mut response = Response::new(body);
    *response.status_mut() = code;
    response.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    response
}

fn broken() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::ConnectionReset, "trouble")
}
