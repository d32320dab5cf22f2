//! An HTTP extender, as configured.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::document;

/// How long an extender's answer is waited for where nothing is said: upstream's figure.
const TIMEOUT: Duration = Duration::from_secs(5);

/// An HTTP extender: who is asked what, and what its silence means. A verb that is `None` is not asked.
#[derive(Clone, Debug, PartialEq)]
pub struct ExtenderConfig {
    /// `urlPrefix`: the verbs are appended to it.
    pub url_prefix: String,
    /// `filterVerb`: which nodes will do.
    pub filter_verb: Option<String>,
    /// `preemptVerb`: which victims will do.
    pub preempt_verb: Option<String>,
    /// `prioritizeVerb`: how good nodes are.
    pub prioritize_verb: Option<String>,
    /// `weight`: what its scores are multiplied by; above zero where it prioritizes.
    pub weight: i64,
    /// `bindVerb`: it writes the binding itself. At most one extender has it.
    pub bind_verb: Option<String>,
    /// How to talk to it; `None` is plain HTTP, unless the prefix itself says `https`.
    pub tls: Option<ExtenderTls>,
    /// `httpTimeout`: how long an answer is waited for.
    pub timeout: Duration,
    /// `nodeCacheCapable`: it knows the nodes by name, so that names alone are sent.
    pub node_cache_capable: bool,
    /// `managedResources`: it is asked only about pods that request one of these; empty is about every pod.
    pub managed_resources: Vec<ManagedResource>,
    /// `ignorable`: a pod is placed without its answer where it fails.
    pub ignorable: bool,
}

/// An extended resource that an extender looks after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagedResource {
    /// Its name, such as `example.com/device`.
    pub name: String,
    /// Whether NodeResourcesFit leaves it to the extender.
    pub ignored_by_scheduler: bool,
}

/// How an extender is reached by TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtenderTls {
    /// Its certificate is not checked: asked for, or HTTPS without any authority to check it by.
    pub insecure: bool,
    /// The name that its certificate must have, and that it is asked for; `None` is the host's.
    pub server_name: Option<String>,
    /// Who may have signed its certificate.
    pub ca: Option<Pem>,
    /// Our certificate and its key.
    pub identity: Option<(Pem, Pem)>,
}

/// Something in PEM form, in the configuration or in a file.
#[derive(Clone, PartialEq, Eq)]
pub enum Pem {
    /// The text itself.
    Data(Vec<u8>),
    /// Where it is.
    File(PathBuf),
}

impl fmt::Debug for Pem {
    /// Never the data: it may be a private key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data(data) => write!(f, "{} bytes", data.len()),
            Self::File(path) => path.fmt(f),
        }
    }
}

impl Pem {
    /// The data where there is some, as it goes before the file; `None` where there is neither.
    fn of(data: &[u8], file: &str) -> Option<Self> {
        match (data, file) {
            ([], "") => None,
            ([], file) => Some(Self::File(file.into())),
            (data, _) => Some(Self::Data(data.to_vec())),
        }
    }
}

impl From<&document::Extender> for ExtenderConfig {
    fn from(from: &document::Extender) -> Self {
        let verb = |verb: &String| (!verb.is_empty()).then(|| verb.clone());
        let resource = |resource: &document::ManagedResource| ManagedResource {
            name: resource.name.clone(),
            ignored_by_scheduler: resource.ignored_by_scheduler,
        };
        Self {
            url_prefix: from.url_prefix.clone(),
            filter_verb: verb(&from.filter_verb),
            preempt_verb: verb(&from.preempt_verb),
            prioritize_verb: verb(&from.prioritize_verb),
            weight: from.weight,
            bind_verb: verb(&from.bind_verb),
            tls: tls(from),
            timeout: if from.http_timeout.0.is_zero() { TIMEOUT } else { from.http_timeout.0 },
            node_cache_capable: from.node_cache_capable,
            managed_resources: from.managed_resources.iter().map(resource).collect(),
            ignorable: from.ignorable,
        }
    }
}

fn tls(from: &document::Extender) -> Option<ExtenderTls> {
    if from.tls_config.is_none() && !from.enable_https {
        return None;
    }
    let given = from.tls_config.clone().unwrap_or_default();
    let ca = Pem::of(&given.ca_data.0, &given.ca_file);
    let identity = Pem::of(&given.cert_data.0, &given.cert_file).zip(Pem::of(&given.key_data.0, &given.key_file));
    Some(ExtenderTls {
        // As upstream: `enableHTTPS` without an authority trusts whoever answers.
        insecure: given.insecure || (from.enable_https && ca.is_none()),
        server_name: Some(given.server_name).filter(|name| !name.is_empty()),
        ca,
        identity,
    })
}
