//! `plimsoll apiserver` and `plimsoll up` as processes, and clients of it that can misbehave: everything goes over real sockets and real TLS.

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// What a client that loses its server is told.
pub type Lost = Box<dyn std::error::Error + Send + Sync>;

/// A running server.
pub struct Server {
    child: Child,
    folder: PathBuf,
    pub address: SocketAddr,
    /// The administrator's.
    pub token: String,
}

/// An answer, read to its end.
#[derive(Debug, Clone)]
pub struct Answer {
    pub code: u16,
    pub head: String,
    pub body: Bytes,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// For messages of failed tests.
    pub fn shown(&self) -> String {
        format!("{} {}", self.code, String::from_utf8_lossy(&self.body[..self.body.len().min(400)]))
    }
}

impl Server {
    /// Starts `plimsoll apiserver` on a folder; what it says goes to a file there.
    pub async fn start(folder: &Path, arguments: &[&str]) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.args(["apiserver", "--listen", "127.0.0.1:0", "--data-dir"]).arg(folder).args(arguments);
        Self::run(command, folder).await
    }

    /// Starts `plimsoll up` likewise.
    pub async fn up(folder: &Path, arguments: &[&str]) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.args(["up", "--listen", "127.0.0.1:0", "--data-dir"]).arg(folder).args(arguments);
        Self::run(command, folder).await
    }

    /// Runs a command that serves from a folder and says so.
    pub async fn run(mut command: Command, folder: &Path) -> Server {
        let said = folder.join("said");
        let _ = std::fs::remove_file(folder.join("kubeconfig"));
        let log: File = OpenOptions::new().create(true).append(true).open(&said).unwrap();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        // The path of the kubeconfig is printed when the server answers.
        let mut out = child.stdout.take().unwrap();
        let ready = tokio::task::spawn_blocking(move || {
            let mut line = Vec::new();
            let mut byte = [0];
            while out.read(&mut byte).unwrap_or(0) == 1 && byte[0] != b'\n' {
                line.push(byte[0]);
            }
            String::from_utf8(line).unwrap()
        });
        let path = ready.await.unwrap();
        let kubeconfig = std::fs::read_to_string(path.trim())
            .unwrap_or_else(|e| panic!("no kubeconfig ({e}); {}", std::fs::read_to_string(&said).unwrap_or_default()));
        let word = |mark: &str| kubeconfig.split_once(mark).unwrap().1.split('"').next().unwrap().to_owned();
        let address = word("server: \"https://").parse().unwrap();
        Server { child, folder: folder.to_owned(), address, token: word("token: \"") }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has said so far, in this and in earlier runs on the folder.
    pub fn said(&self) -> String {
        std::fs::read_to_string(self.folder.join("said")).unwrap_or_default()
    }

    /// Waits for its end; its exit code, or none where a signal ended it.
    pub async fn ended(&mut self, patience: Duration) -> Option<i32> {
        let end = tokio::time::Instant::now() + patience;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(tokio::time::Instant::now() < end, "it still runs after {patience:?}: {}", self.said());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Asks it to end.
    pub fn terminate(&self) {
        let asked = Command::new("kill").args(["-TERM", &self.pid().to_string()]).status().unwrap();
        assert!(asked.success());
    }

    /// Ends the process at once, as a power cut would.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Memory now and at its most, in bytes. Zero where the system does not tell.
    pub fn memory(&self) -> (u64, u64) {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024
        };
        (field("VmRSS:"), field("VmHWM:"))
    }

    fn config(&self, protocols: &[&[u8]]) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_file(self.folder.join("pki/ca.crt")).unwrap();
        roots.add(ca).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|p| p.to_vec()).collect();
        Arc::new(config)
    }

    /// The first bytes of a TLS handshake.
    pub fn hello(&self) -> Vec<u8> {
        let name = ServerName::try_from("localhost").unwrap();
        let mut client = rustls::ClientConnection::new(self.config(&[b"http/1.1"]), name).unwrap();
        let mut out = Vec::new();
        client.write_tls(&mut out).unwrap();
        out
    }

    pub async fn tls(&self, protocol: &[u8]) -> Result<TlsStream<TcpStream>, Lost> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let connector = TlsConnector::from(self.config(&[protocol]));
        Ok(connector.connect(ServerName::try_from("localhost")?, stream).await?)
    }

    /// A connection for ordinary requests.
    pub async fn client(&self) -> Result<Client, Lost> {
        let stream = self.tls(b"h2").await?;
        let (sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Client { sender, token: self.token.clone().into() })
    }

    /// Sends these bytes over HTTP/1.1 and reads whatever comes back; the server closes, or half a minute passes.
    pub async fn raw(&self, bytes: &[u8]) -> Answer {
        let stream = self.tls(b"http/1.1").await.unwrap();
        let (mut reader, mut writer) = tokio::io::split(stream);
        let bytes = bytes.to_vec();
        // The server may answer and close before it has read everything.
        let sending = tokio::spawn(async move {
            let _ = writer.write_all(&bytes).await;
            let _ = writer.flush().await;
            writer
        });
        let mut out = Vec::new();
        let mut buffer = vec![0; 64 << 10];
        let read = async {
            while let Ok(n @ 1..) = reader.read(&mut buffer).await {
                out.extend_from_slice(&buffer[..n]);
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(30), read).await;
        sending.abort();
        parse(&out)
    }

    /// A request for [`Self::raw`], with the administrator's token and a body of the right length.
    pub fn request(&self, method: &str, path: &str, headers: &[&str], body: &[u8]) -> Vec<u8> {
        let mut out = format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n").into_bytes();
        if !headers.iter().any(|h| h.starts_with("Authorization:")) {
            out.extend_from_slice(format!("Authorization: Bearer {}\r\n", self.token).as_bytes());
        }
        if !headers.iter().any(|h| h.starts_with("Content-Length:"))
            && (!body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH"))
        {
            out.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        for header in headers {
            out.extend_from_slice(header.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(body);
        out
    }

    /// It is there, it answers, and it has not panicked.
    pub async fn check(&mut self) {
        assert!(self.child.try_wait().unwrap().is_none(), "the server has ended");
        let answer = self.client().await.unwrap().call("GET", "/readyz", "", "").await.unwrap();
        assert_eq!(answer.code, 200, "{}", answer.shown());
        let said = std::fs::read_to_string(self.folder.join("said")).unwrap();
        assert!(!said.contains("panicked"), "{said}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn parse(out: &[u8]) -> Answer {
    let split = out.windows(4).position(|w| w == b"\r\n\r\n").unwrap_or(out.len());
    let head = String::from_utf8_lossy(&out[..split]).into_owned();
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    let mut body = out.get(split + 4..).unwrap_or_default().to_vec();
    if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        let mut whole = Vec::new();
        let mut rest = body.as_slice();
        while let Some(at) = rest.windows(2).position(|w| w == b"\r\n") {
            let size = usize::from_str_radix(&String::from_utf8_lossy(&rest[..at]), 16).unwrap_or(0);
            let Some(piece) = rest.get(at + 2..at + 2 + size).filter(|_| size > 0) else { break };
            whole.extend_from_slice(piece);
            rest = rest.get(at + 4 + size..).unwrap_or_default();
        }
        body = whole;
    }
    Answer { code, head, body: body.into() }
}

/// One HTTP/2 connection.
#[derive(Clone)]
pub struct Client {
    sender: SendRequest<Full<Bytes>>,
    token: Arc<str>,
}

impl Client {
    /// Sends a request and gives its answer as it begins.
    pub async fn open(
        &self,
        method: &str,
        path: &str,
        media: &str,
        body: impl Into<Bytes>,
    ) -> Result<Response<Incoming>, Lost> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("https://localhost{path}"))
            .header("authorization", format!("Bearer {}", self.token));
        if !media.is_empty() {
            request = request.header("content-type", media);
        }
        let mut sender = self.sender.clone();
        sender.ready().await?;
        Ok(sender.send_request(request.body(Full::new(body.into()))?).await?)
    }

    /// Sends a request and reads its answer.
    pub async fn call(&self, method: &str, path: &str, media: &str, body: impl Into<Bytes>) -> Result<Answer, Lost> {
        let response = self.open(method, path, media, body).await?;
        let code = response.status().as_u16();
        let body = response.into_body().collect().await?.to_bytes();
        Ok(Answer { code, head: String::new(), body })
    }
}
