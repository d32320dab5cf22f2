//! How a request reaches a server that is not the API server, such as an extender or a collector of spans: HTTP, or HTTPS by a
//! configuration that is handed in. Connections are kept.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{ConfigBuilderExt, FixedServerNameResolver, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::ServerName;

/// The answer to a request: its code and body, or why there is none.
pub type Answer = BoxFuture<'static, Result<(StatusCode, Bytes), String>>;

/// Carries requests. Tests put a function in the network's place, which virtual time can wait for.
pub type Transport = Arc<dyn Fn(Request<Bytes>) -> Answer + Send + Sync>;

/// Over the network. A server is taken for `name` where that is given; answers may have `longest` bytes.
pub fn network(tls: ClientConfig, name: Option<ServerName<'static>>, longest: usize) -> Transport {
    let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    let connector = match name {
        Some(name) => connector.with_server_name_resolver(FixedServerNameResolver::new(name)).enable_http1().build(),
        None => connector.enable_http1().build(),
    };
    let client: Client<_, Full<Bytes>> =
        Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector);
    Arc::new(move |request| {
        let answer = client.request(request.map(Full::new));
        async move {
            let answer = answer.await.map_err(|error| chain(&error))?;
            let code = answer.status();
            let body = Limited::new(answer.into_body(), longest).collect().await;
            Ok((code, body.map_err(|error| format!("the answer broke off: {error}"))?.to_bytes()))
        }
        .boxed()
    })
}

/// TLS by the machine's own authorities. Where it is not `wanted` none are read: a small image may have none.
pub fn tls_by_machine(wanted: bool) -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match wanted {
        true => builder.with_native_roots().map_err(|error| format!("the machine's authorities: {error}"))?,
        false => builder.with_root_certificates(RootCertStore::empty()),
    };
    Ok(builder.with_no_client_auth())
}

/// An error with its causes: hyper's own text alone says little.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
