//! A plain HTTPS client: it sends what it is told and shows what came back, headers included, and corrects nothing.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::header::HOST;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// One server, as its clients reach it.
#[derive(Clone)]
pub struct Client {
    address: SocketAddr,
    tls: TlsConnector,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Client {
    /// For the server at an address that proves itself with one of these certificates (PEM).
    pub fn new(address: SocketAddr, ca: &str) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        let certificates = CertificateDer::pem_slice_iter(ca.as_bytes()).filter_map(Result::ok);
        roots.add_parsable_certificates(certificates);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { address, tls: TlsConnector::from(Arc::new(config)) })
    }

    /// `https://ADDRESS`.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Sends a request on a connection of its own; the body of the answer may still be coming.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>> {
        self.connect().await?.send(request).await
    }

    /// A connection for several requests, one after the other.
    pub async fn connect(&self) -> Result<Connection> {
        let tcp = TcpStream::connect(self.address).await.with_context(|| format!("cannot reach {}", self.address))?;
        tcp.set_nodelay(true)?;
        let tls = self.tls.connect(ServerName::IpAddress(self.address.ip().into()), tcp).await.context("TLS")?;
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(tls)).await?;
        tokio::spawn(connection);
        Ok(Connection { sender, host: self.address.to_string() })
    }

    /// Asks for something in JSON on a connection of its own, as whoever has this token. Hands back the code and the answer.
    pub async fn ask(
        &self,
        token: &str,
        method: Method,
        path: &str,
        content_type: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value)> {
        let request = Request::builder().method(method).uri(path).header("authorization", format!("Bearer {token}"));
        let body = body.map(|b| Bytes::from(b.to_string())).unwrap_or_default();
        let response = self.send(request.header("content-type", content_type).body(Full::new(body))?).await?;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await?.to_bytes();
        Ok((code, serde_json::from_slice(&bytes).unwrap_or_default()))
    }

    /// Waits until pods may name a PriorityClass that was just made: kube-apiserver's admission hears of it by a watch.
    pub async fn until_known(&self, class: &str) -> Result<()> {
        let pod = serde_json::json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "asks-"},
            "spec": {"priorityClassName": class, "containers": [{"name": "c", "image": "i"}]}});
        let token = crate::identities::token(crate::identities::ADMIN);
        let mut last = Value::Null;
        for _ in 0..200 {
            let path = "/api/v1/namespaces/default/pods?dryRun=All";
            let (code, answer) = self.ask(&token, Method::POST, path, "application/json", Some(&pod)).await?;
            if code == 201 {
                return Ok(());
            }
            last = answer;
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        anyhow::bail!("PriorityClass {class} is not known to admission: {last}")
    }

    /// The code and body of a `GET` by the administrator.
    pub async fn get(&self, path: &str) -> Result<(u16, Bytes)> {
        let token = crate::identities::token(crate::identities::ADMIN);
        let request = Request::get(path).header("authorization", format!("Bearer {token}")).body(Full::default())?;
        let response = self.send(request).await?;
        let code = response.status().as_u16();
        Ok((code, response.into_body().collect().await?.to_bytes()))
    }
}

/// A connection that is kept.
#[derive(Debug)]
pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
    host: String,
}

impl Connection {
    /// Whether another request can be sent.
    pub fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Sends a request; its answer must be read before the next.
    pub async fn send(&mut self, mut request: Request<Full<Bytes>>) -> Result<Response<Incoming>> {
        request.headers_mut().insert(HOST, self.host.parse()?);
        self.sender.ready().await.context("the connection is closed")?;
        self.sender.send_request(request).await.context("no answer")
    }
}
