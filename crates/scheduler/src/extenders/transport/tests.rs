//! The handshake, with a server on a real socket and so in real time.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, StatusCode};
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rustls::crypto::ring;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::network;
use crate::config::extender::{ExtenderTls, Pem};

/// An authority, which signs certificates.
struct Authority {
    params: CertificateParams,
    key: KeyPair,
    pem: String,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { params, key, pem }
    }

    /// A certificate for these names, and its key.
    fn sign(&self, names: &[&str], usage: ExtendedKeyUsagePurpose) -> (String, String) {
        let mut params = CertificateParams::new(names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>()).unwrap();
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &Issuer::from_params(&self.params, &self.key)).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    fn ca(&self) -> Option<Pem> {
        Some(data(&self.pem))
    }
}

fn data(pem: &str) -> Pem {
    Pem::Data(pem.as_bytes().to_vec())
}

fn der(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}

/// What a server saw of each client that came through: the name it asked for, and how many certificates it showed.
type Seen = Arc<Mutex<Vec<(Option<String>, usize)>>>;

/// A server with a certificate for these names. Where `clients` is given, only those it signed come in.
async fn server(authority: &Authority, names: &[&str], clients: Option<&Authority>) -> (String, Seen) {
    let (certificate, key) = authority.sign(names, ExtendedKeyUsagePurpose::ServerAuth);
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions().unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(clients) => {
            let mut roots = RootCertStore::empty();
            roots.add(der(&clients.pem)).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        }
    };
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(builder.with_single_cert(vec![der(&certificate)], key).unwrap()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen: Seen = Arc::default();
    let told = seen.clone();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let session = stream.get_ref().1;
            let shown = session.peer_certificates().map_or(0, <[_]>::len);
            told.lock().unwrap().push((session.server_name().map(str::to_owned), shown));
            let mut request = Vec::new();
            while !request.ends_with(b"ask") {
                let mut part = [0; 4096];
                match stream.read(&mut part).await {
                    Ok(read) if read > 0 => request.extend_from_slice(&part[..read]),
                    _ => break,
                }
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
            let _ = stream.shutdown().await;
        }
    });
    (format!("https://{address}/filter"), seen)
}

async fn ask(url: &str, tls: &ExtenderTls) -> Result<(StatusCode, Bytes), String> {
    let transport = network(Some(tls)).unwrap();
    transport(Request::post(url).body(Bytes::from_static(b"ask")).unwrap()).await
}

#[tokio::test]
async fn a_server_is_believed_by_the_configured_authority_only() {
    let (ours, other) = (Authority::new("ours"), Authority::new("other"));
    let (url, seen) = server(&ours, &["127.0.0.1"], None).await;
    let answer = ask(&url, &ExtenderTls { ca: ours.ca(), ..ExtenderTls::default() }).await.unwrap();
    assert_eq!(answer, (StatusCode::OK, Bytes::from_static(b"ok")));
    // An address is not asked for by name.
    assert_eq!(*seen.lock().unwrap(), [(None, 0)]);
    let error = ask(&url, &ExtenderTls { ca: other.ca(), ..ExtenderTls::default() }).await.unwrap_err();
    assert!(error.contains("invalid peer certificate"), "{error}");
    let insecure = ExtenderTls { insecure: true, ..ExtenderTls::default() };
    assert_eq!(ask(&url, &insecure).await.unwrap().0, StatusCode::OK);
    assert_eq!(seen.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_server_has_the_name_that_it_is_configured_under() {
    let ours = Authority::new("ours");
    let (url, seen) = server(&ours, &["storage.example.com"], None).await;
    let error = ask(&url, &ExtenderTls { ca: ours.ca(), ..ExtenderTls::default() }).await.unwrap_err();
    assert!(error.contains("invalid peer certificate"), "{error}");
    let named =
        |name: &str| ExtenderTls { ca: ours.ca(), server_name: Some(name.to_owned()), ..ExtenderTls::default() };
    assert_eq!(ask(&url, &named("storage.example.com")).await.unwrap().0, StatusCode::OK);
    assert_eq!(*seen.lock().unwrap(), [(Some("storage.example.com".to_owned()), 0)]);
    let error = ask(&url, &named("another.example.com")).await.unwrap_err();
    assert!(error.contains("invalid peer certificate"), "{error}");
}

#[tokio::test]
async fn a_server_that_asks_who_we_are_is_told_by_certificate() {
    let (ours, clients) = (Authority::new("ours"), Authority::new("clients"));
    let (url, seen) = server(&ours, &["127.0.0.1"], Some(&clients)).await;
    assert!(ask(&url, &ExtenderTls { ca: ours.ca(), ..ExtenderTls::default() }).await.is_err(), "nobody was shown");
    let (certificate, key) = clients.sign(&["scheduler"], ExtendedKeyUsagePurpose::ClientAuth);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("client.key");
    std::fs::write(&file, key).unwrap();
    let identity = Some((data(&certificate), Pem::File(file)));
    let answer = ask(&url, &ExtenderTls { ca: ours.ca(), identity, ..ExtenderTls::default() }).await.unwrap();
    assert_eq!(answer.0, StatusCode::OK);
    assert_eq!(*seen.lock().unwrap(), [(None, 1)]);
    // One that another authority signed.
    let (certificate, key) = ours.sign(&["scheduler"], ExtendedKeyUsagePurpose::ClientAuth);
    let identity = Some((data(&certificate), data(&key)));
    assert!(ask(&url, &ExtenderTls { ca: ours.ca(), identity, ..ExtenderTls::default() }).await.is_err());
}
