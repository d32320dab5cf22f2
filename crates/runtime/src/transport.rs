//! How the API server is reached: by one connection that all requests share (HTTP/2), where the server speaks that.
//!
//! kube's own client speaks HTTP/1.1 only: as many requests as are under way, as many connections, each with a handshake that
//! costs more than what is said over it. A server or proxy that offers no HTTP/2 is spoken to as kube does.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper_rustls::{FixedServerNameResolver, HttpsConnectorBuilder};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Builder;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ConfigExt};
use kube::{Client, Config, Error};
use rustls_pki_types::ServerName;
use tower::{BoxError, ServiceBuilder, ServiceExt};

use crate::metrics::Metrics;
use crate::requests::{self, Counted};

/// How long a connection may be silent before the other side is asked whether it is there, and how long it has to answer:
/// client-go's times. A connection that died without a word is noticed by nothing else, since watches may be silent for long.
const SILENCE: Duration = Duration::from_secs(30);
const ANSWER_TO_PING: Duration = Duration::from_secs(15);

/// A client for the server that `config` names, whose requests are counted. They are not repeated by it: who sends one knows
/// whether it may be sent twice. Must be called inside a runtime.
pub fn connect(config: Config, metrics: &Metrics) -> Result<Client, Error> {
    if config.proxy_url.is_some() {
        return Client::try_from(config).map(|client| requests::counted(&client, metrics));
    }
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let mut https = HttpsConnectorBuilder::new().with_tls_config(config.rustls_client_config()?).https_or_http();
    if let Some(name) = &config.tls_server_name {
        let name = ServerName::try_from(name.clone()).map_err(|error| Error::Service(BoxError::from(error)))?;
        https = https.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    let mut connector = TimeoutConnector::new(https.enable_all_versions().wrap_connector(tcp));
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    connector.set_reset_reader_on_write(config.reset_reader_on_write);
    let connections = Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .http2_keep_alive_interval(SILENCE)
        .http2_keep_alive_timeout(ANSWER_TO_PING)
        .http2_keep_alive_while_idle(true)
        .build::<_, Body>(connector);
    // Counted inside the one client: another client around it would have its own queue and its own task for every request.
    let service = ServiceBuilder::new()
        .layer_fn(|service| Counted::new(service, metrics))
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(connections)
        .map_response(|answer: http::Response<hyper::body::Incoming>| answer.map(|body| body.map_err(BoxError::from)));
    Ok(Client::new(service, config.default_namespace))
}
