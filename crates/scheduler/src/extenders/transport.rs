//! How a request reaches an extender: HTTP, or HTTPS by the extender's own configuration.

use std::sync::Arc;

use hyper_rustls::ConfigBuilderExt;
pub use plimsoll_runtime::outbound::{Answer, Transport};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};

use crate::config::extender::{ExtenderTls, Pem};

/// The longest answer that is read: some thousand nodes with all that stands in them.
const LONGEST: usize = 256 << 20;

/// Over the network. Certificates are read now, so that a wrong file is found when the process begins.
pub(super) fn network(tls: Option<&ExtenderTls>) -> Result<Transport, String> {
    let name = tls
        .and_then(|tls| tls.server_name.clone())
        .map(|name| ServerName::try_from(name.clone()).map_err(|_| format!("{name} is not a server's name")));
    Ok(plimsoll_runtime::outbound::network(configure(tls)?, name.transpose()?, LONGEST))
}

fn configure(tls: Option<&ExtenderTls>) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match tls {
        Some(tls) if tls.insecure => builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider))),
        Some(ExtenderTls { ca: Some(ca), .. }) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(ca)? {
                roots.add(certificate).map_err(|error| format!("an authority cannot be used: {error}"))?;
            }
            let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_webpki_verifier(verifier.map_err(|error| format!("no authority: {error}"))?)
        }
        _ => builder.with_native_roots().map_err(|error| format!("the machine's authorities: {error}"))?,
    };
    match tls.and_then(|tls| tls.identity.as_ref()) {
        None => Ok(builder.with_no_client_auth()),
        Some((certificate, key)) => {
            let key = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|error| format!("the key: {error}"))?;
            builder.with_client_auth_cert(certificates(certificate)?, key).map_err(|error| error.to_string())
        }
    }
}

fn read(pem: &Pem) -> Result<Vec<u8>, String> {
    match pem {
        Pem::Data(data) => Ok(data.clone()),
        Pem::File(path) => std::fs::read(path).map_err(|error| format!("{}: {error}", path.display())),
    }
}

fn certificates(pem: &Pem) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(pem)?).collect();
    let all = all.map_err(|error| format!("a certificate: {error}"))?;
    if all.is_empty() { Err(format!("{pem:?} holds no certificate")) } else { Ok(all) }
}

/// Takes every certificate: what `insecure` asks for. The connection is still one with whoever has its key.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests;
