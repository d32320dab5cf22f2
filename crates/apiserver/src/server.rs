//! A listener with TLS in front of the service.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use crate::patience::Patient;
use crate::service::ApiService;

/// How long a client may take to shake hands or to send its headers: half-sent requests must not hold a place for ever.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a client may leave unread what it is sent: a watch that nobody reads must not hold its place for ever either.
const STALL: Duration = Duration::from_secs(60);
/// How long open requests have when the server ends.
const FAREWELL: Duration = Duration::from_secs(5);
/// The most connections at once. Each costs a few kilobytes; watches share them over HTTP/2.
const MOST_CONNECTIONS: usize = 20_000;
/// The most streams of one HTTP/2 connection, as upstream has it for a client with many watches.
const MOST_STREAMS: u32 = 1000;

/// The most headers of a request.
const MOST_HEADERS: usize = 1000;
/// The most bytes of a request before its body, as Go's server has it.
const LARGEST_HEAD: usize = 1 << 20;
/// The most that one HTTP/2 stream holds of what its client has not read yet.
const LARGEST_UNSENT: usize = 64 << 10;

/// A bound socket, ready to serve.
pub struct Listener {
    socket: TcpListener,
    tls: Option<Arc<rustls::ServerConfig>>,
}

impl Listener {
    /// Binds an address; port 0 takes a free one.
    pub async fn bind(address: SocketAddr, tls: Option<Arc<rustls::ServerConfig>>) -> io::Result<Self> {
        Ok(Self { socket: TcpListener::bind(address).await?, tls })
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves until `stop` is done; then open requests have a moment to end.
    pub async fn serve(self, service: ApiService, stop: impl Future<Output = ()>) {
        let graceful = GracefulShutdown::new();
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let acceptor = self.tls.map(TlsAcceptor::from);
        tokio::pin!(stop);
        loop {
            let place = tokio::select! {
                () = &mut stop => break,
                place = places.clone().acquire_owned() => place,
            };
            let accepted = tokio::select! {
                () = &mut stop => break,
                accepted = self.socket.accept() => accepted,
            };
            let (Ok(place), Ok((stream, _))) = (place, accepted) else {
                // Out of file descriptors, most likely: others must end first.
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            };
            let _ = stream.set_nodelay(true);
            let (service, acceptor, watcher) = (service.clone(), acceptor.clone(), graceful.watcher());
            tokio::spawn(async move {
                let _place = place;
                let service = TowerToHyperService::new(service);
                let builder = builder();
                match acceptor {
                    Some(acceptor) => {
                        let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, acceptor.accept(stream)).await else {
                            return;
                        };
                        let connection = builder
                            .serve_connection_with_upgrades(
                                TokioIo::new(Patient::new(stream, PATIENCE, STALL)),
                                service,
                            )
                            .into_owned();
                        let _ = watcher.watch(connection).await;
                    }
                    None => {
                        let connection = builder
                            .serve_connection_with_upgrades(
                                TokioIo::new(Patient::new(stream, PATIENCE, STALL)),
                                service,
                            )
                            .into_owned();
                        let _ = watcher.watch(connection).await;
                    }
                }
            });
        }
        drop(self.socket);
        service.end_watches();
        let _ = tokio::time::timeout(FAREWELL, graceful.shutdown()).await;
    }
}

fn builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // As many and as large headers as Go's server takes; more of them is 431.
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_headers(MOST_HEADERS)
        .max_buf_size(LARGEST_HEAD);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MOST_STREAMS)
        .max_header_list_size(LARGEST_HEAD as u32)
        .max_send_buf_size(LARGEST_UNSENT)
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(20));
    builder
}
