//! The server's certificate, and the CA that signs it. Both are made at the first start and kept in the data folder.
//!
//! ```text
//! ca.crt, ca.key            ten years; clients have it in their kubeconfig, so it stays as long as it can
//! serving.crt, serving.key  one year; made anew when it is about to expire or lacks a name that the server is asked by
//! serving.json              until when, and for which names: what a certificate says, without parsing one
//! ```

use std::io;
use std::path::Path;
use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde::{Deserialize, Serialize};

use crate::auth::files::{read_if_there, write_private};

/// Names by which every client may ask for the server.
const NAMES: [&str; 7] =
    ["127.0.0.1", "::1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.0.0.1"];
const CA_DAYS: i64 = 3650;
const SERVING_DAYS: i64 = 365;
/// A certificate this close to its end is made anew at the next start.
const RENEW_DAYS: i64 = 30;

/// What the server shows to its clients.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The CA's certificate, which clients need (PEM).
    pub ca: String,
    /// The server's certificates and key, ready for accepting connections; speaks HTTP/2 and HTTP/1.1.
    pub config: Arc<ServerConfig>,
}

/// What went wrong with certificates.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written.
    #[error("{0}: {1}")]
    File(String, #[source] io::Error),
    /// A certificate could not be made.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// A certificate or key on disk is of no use.
    #[error("{0} is not usable: {1}; remove it to have it made anew")]
    Unusable(&'static str, String),
    /// The TLS library refused the certificate or key.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Validity {
    until: i64,
    names: Vec<String>,
}

/// Reads the certificates in `folder`, making what is missing, expired or lacks one of `hosts`.
pub fn identity(folder: &Path, hosts: &[String], now: Timestamp) -> Result<Identity, Error> {
    let (ca_pem, ca_key) = ca(folder, now)?;
    let mut names: Vec<String> = NAMES.iter().map(|n| (*n).to_owned()).collect();
    for host in hosts {
        // Listening on all addresses is no name.
        if !names.contains(host) && !matches!(host.as_str(), "" | "0.0.0.0" | "::") {
            names.push(host.clone());
        }
    }
    let (certificate, key) = serving(folder, &ca_pem, &ca_key, names, now)?;
    let config = server_config(&certificate, &ca_pem, &key)?;
    Ok(Identity { ca: ca_pem, config: Arc::new(config) })
}

/// The settings of a TLS server that shows this certificate (PEM).
pub fn server_config(certificate: &str, ca: &str, key: &str) -> Result<ServerConfig, Error> {
    let unusable = |file, error: rustls_pki_types::pem::Error| Error::Unusable(file, error.to_string());
    let mut chain = Vec::new();
    for (file, pem) in [("serving.crt", certificate), ("ca.crt", ca)] {
        chain.push(CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|e| unusable(file, e))?);
    }
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|e| unusable("serving.key", e))?;
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// The cryptography in use. It is handed over each time, so that nothing depends on a process-wide choice.
pub fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn ca(folder: &Path, now: Timestamp) -> Result<(String, KeyPair), Error> {
    let (until, pem, key) = (read(folder, "ca.json")?, read(folder, "ca.crt")?, read(folder, "ca.key")?);
    if let (Some(until), Some(pem), Some(key)) = (until, pem, key)
        && still_good(&until, &[], now)
    {
        let key = KeyPair::from_pem(&key).map_err(|e| Error::Unusable("ca.key", e.to_string()))?;
        return Ok((pem, key));
    }
    let key = KeyPair::generate()?;
    let pem = ca_params(now).self_signed(&key)?.pem();
    write(folder, "ca.key", &key.serialize_pem())?;
    write(folder, "ca.crt", &pem)?;
    write_validity(folder, "ca.json", &Validity { until: days_from(now, CA_DAYS).as_second(), names: Vec::new() })?;
    Ok((pem, key))
}

fn serving(
    folder: &Path,
    ca_pem: &str,
    ca_key: &KeyPair,
    names: Vec<String>,
    now: Timestamp,
) -> Result<(String, String), Error> {
    // A certificate of an earlier CA would not be believed.
    let signer = format!("ca:{}", fingerprint(ca_pem));
    let mut wanted = names.clone();
    wanted.push(signer);
    let kept = (read(folder, "serving.json")?, read(folder, "serving.crt")?, read(folder, "serving.key")?);
    if let (Some(validity), Some(certificate), Some(key)) = kept
        && still_good(&validity, &wanted, now)
    {
        return Ok((certificate, key));
    }
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    span(&mut params, now, SERVING_DAYS);
    let certificate = params.signed_by(&key, &Issuer::from_params(&ca_params(now), ca_key))?.pem();
    let key = key.serialize_pem();
    // The note goes first, as one that nothing fits: a crash between the files leaves a pair that is made anew, never a wrong one.
    write_validity(folder, "serving.json", &Validity { until: 0, names: Vec::new() })?;
    write(folder, "serving.key", &key)?;
    write(folder, "serving.crt", &certificate)?;
    let until = days_from(now, SERVING_DAYS).as_second();
    write_validity(folder, "serving.json", &Validity { until, names: wanted })?;
    Ok((certificate, key))
}

/// The CA's description. Its name is always the same: with its key, that is all that signing needs.
fn ca_params(now: Timestamp) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "plimsoll-ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    span(&mut params, now, CA_DAYS);
    params
}

/// Valid from yesterday, since clocks differ, for so many days.
fn span(params: &mut CertificateParams, now: Timestamp, days: i64) {
    let day = |time: Timestamp| {
        let date = time.to_zoned(TimeZone::UTC).date();
        let (month, day) = (date.month().unsigned_abs(), date.day().unsigned_abs());
        rcgen::date_time_ymd(i32::from(date.year()), month, day)
    };
    params.not_before = day(days_from(now, -1));
    params.not_after = day(days_from(now, days));
}

fn days_from(now: Timestamp, days: i64) -> Timestamp {
    now.checked_add(SignedDuration::from_hours(days * 24)).unwrap_or(now)
}

fn still_good(validity: &str, names: &[String], now: Timestamp) -> bool {
    serde_json::from_str::<Validity>(validity).is_ok_and(|v| {
        v.until > days_from(now, RENEW_DAYS).as_second() && names.iter().all(|name| v.names.contains(name))
    })
}

fn fingerprint(pem: &str) -> String {
    use sha2::Digest as _;
    sha2::Sha256::digest(pem.as_bytes()).iter().take(8).map(|b| format!("{b:02x}")).collect()
}

fn read(folder: &Path, name: &str) -> Result<Option<String>, Error> {
    let path = folder.join(name);
    let content = read_if_there(&path).map_err(|error| Error::File(path.display().to_string(), error))?;
    Ok(content.and_then(|bytes| String::from_utf8(bytes).ok()))
}

fn write(folder: &Path, name: &str, content: &str) -> Result<(), Error> {
    let path = folder.join(name);
    write_private(&path, content.as_bytes()).map_err(|error| Error::File(path.display().to_string(), error))
}

fn write_validity(folder: &Path, name: &str, validity: &Validity) -> Result<(), Error> {
    let text = serde_json::to_string(validity).unwrap_or_default();
    write(folder, name, &text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConnection};
    use rustls_pki_types::ServerName;

    use super::*;

    fn now() -> Timestamp {
        // The client's own clock judges the certificate.
        let seconds = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
        Timestamp::from_second(i64::try_from(seconds).unwrap()).unwrap()
    }

    /// Shakes hands in memory; the protocol that both chose.
    fn handshake(identity: &Identity, host: &str) -> Result<Vec<u8>, rustls::Error> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(identity.ca.as_bytes()).unwrap()).unwrap();
        let mut client = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.alpn_protocols = vec![b"h2".to_vec()];
        let name = ServerName::try_from(host.to_owned()).unwrap();
        let mut client = ClientConnection::new(Arc::new(client), name)?;
        let mut server = ServerConnection::new(identity.config.clone())?;
        while client.is_handshaking() || server.is_handshaking() {
            let mut wire = Vec::new();
            client.write_tls(&mut wire).unwrap();
            server.read_tls(&mut wire.as_slice()).unwrap();
            server.process_new_packets()?;
            let mut wire = Vec::new();
            server.write_tls(&mut wire).unwrap();
            client.read_tls(&mut wire.as_slice()).unwrap();
            client.process_new_packets()?;
        }
        Ok(server.alpn_protocol().unwrap_or_default().to_vec())
    }

    #[test]
    fn clients_with_the_ca_believe_the_server() {
        let folder = tempfile::tempdir().unwrap();
        let first = identity(folder.path(), &["example.test".into(), "192.0.2.7".into()], now()).unwrap();
        for host in ["127.0.0.1", "::1", "localhost", "kubernetes.default.svc", "10.0.0.1", "example.test", "192.0.2.7"]
        {
            assert_eq!(handshake(&first, host).unwrap(), b"h2", "{host}");
        }
        assert!(handshake(&first, "elsewhere.test").is_err());
    }

    #[test]
    fn certificates_are_kept_until_they_no_longer_do() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        identity(folder.path(), &[], now()).unwrap();
        let (ca, serving) = (at("ca.crt"), at("serving.crt"));
        identity(folder.path(), &["localhost".into(), "0.0.0.0".into()], now()).unwrap();
        assert_eq!((at("ca.crt"), at("serving.crt")), (ca.clone(), serving.clone()), "nothing new was asked for");

        let renewed = identity(folder.path(), &["new.test".into()], now()).unwrap();
        assert_eq!(at("ca.crt"), ca);
        assert_ne!(at("serving.crt"), serving);
        assert!(handshake(&renewed, "new.test").is_ok(), "signed by the CA of the first start");

        let serving = at("serving.crt");
        identity(folder.path(), &["new.test".into()], days_from(now(), SERVING_DAYS - 10)).unwrap();
        assert_eq!(at("ca.crt"), ca);
        assert_ne!(at("serving.crt"), serving, "about to expire");

        fs::remove_file(folder.path().join("ca.crt")).unwrap();
        let anew = identity(folder.path(), &[], now()).unwrap();
        assert!(handshake(&anew, "localhost").is_ok(), "a new CA signs a new certificate");
    }

    #[cfg(unix)]
    #[test]
    fn keys_are_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        identity(folder.path(), &[], now()).unwrap();
        for file in ["ca.key", "serving.key"] {
            assert_eq!(fs::metadata(folder.path().join(file)).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
