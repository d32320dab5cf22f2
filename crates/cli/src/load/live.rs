//! A live cluster: every kind that decisions depend on, listed page by page.
//!
//! Pages are decoded as they come and let go, so that no more than a few are held in the API's own form.

use std::path::Path;

use http::Request;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use plimsoll_api::{ClusterReader, Limits, Loaded};
use plimsoll_runtime::error::chain;
use plimsoll_runtime::reflector::escape;
use serde::Deserialize;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::args::ClusterArgs;
use crate::failure::Failure;
use crate::load::is_for_live;
use crate::printer::Printer;

/// What is listed: where, and by what plural.
const RESOURCES: [(&str, &str); 14] = [
    ("/api/v1", "namespaces"),
    ("/api/v1", "nodes"),
    ("/apis/storage.k8s.io/v1", "storageclasses"),
    ("/apis/storage.k8s.io/v1", "csidrivers"),
    ("/apis/storage.k8s.io/v1", "csinodes"),
    ("/apis/storage.k8s.io/v1", "csistoragecapacities"),
    ("/api/v1", "persistentvolumes"),
    ("/api/v1", "persistentvolumeclaims"),
    ("/apis/storage.k8s.io/v1", "volumeattachments"),
    ("/api/v1", "services"),
    ("/api/v1", "replicationcontrollers"),
    ("/apis/apps/v1", "replicasets"),
    ("/apis/apps/v1", "statefulsets"),
    ("/api/v1", "pods"),
];

/// Where `plimsoll up` leaves its kubeconfig, if not told otherwise.
const OF_UP: &str = ".plimsoll/kubeconfig";

/// Objects per page, as many as kubectl asks for.
const PAGE: usize = 500;

/// How many pages may wait to be decoded.
const PAGES_AHEAD: usize = 4;

/// One answer to a list request, or that the server does not know the kind.
enum Page {
    Text { resource: &'static str, text: String },
    Unknown { resource: &'static str },
}

/// What the network needs.
pub fn runtime() -> Result<Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|e| Failure::new(format!("the network cannot be used: {e}")))
}

/// What was read of a live cluster.
pub struct Live {
    /// What is in it.
    pub loaded: Loaded,
    /// The namespace of the kubeconfig's context.
    pub namespace: String,
    /// Who can be asked for more.
    pub client: Client,
}

/// Reads the whole cluster.
pub fn read(args: &ClusterArgs, runtime: &Runtime, printer: &mut Printer) -> Result<Live, Failure> {
    runtime.block_on(async {
        let or_a_dump = |failure: Failure| failure.or_help("read manifests or a dump with -f");
        let config = config(args.kubeconfig.as_deref(), args.context.as_deref()).await.map_err(or_a_dump)?;
        let (server, namespace) = (config.cluster_url.to_string(), config.default_namespace.clone());
        let client = Client::try_from(config).map_err(|e| or_a_dump(unreachable(&server, &e)))?;
        let loaded = list(&client, &server, printer).await.map_err(or_a_dump)?;
        Ok(Live { loaded, namespace, client })
    })
}

/// The configuration of a live verb: as for kubectl.
pub async fn config(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Config, Failure> {
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    if let Some(path) = kubeconfig {
        let kubeconfig = Kubeconfig::read_from(path).map_err(|e| no_config(&e))?;
        return Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|e| no_config(&e));
    }
    match Config::from_kubeconfig(&options).await {
        Ok(config) => Ok(config),
        // A pod in the cluster has no kubeconfig; who names a context has one in mind.
        Err(error) if context.is_none() => Config::incluster().map_err(|_| no_config(&error)),
        Err(error) => Err(no_config(&error)),
    }
}

fn no_config(error: &KubeconfigError) -> Failure {
    let why = match error {
        KubeconfigError::ReadConfig(error, path) => format!("{} cannot be read: {error}", path.display()),
        error => chain(error),
    };
    let failure = Failure::new(format!("no cluster to look at: {why}"));
    if Path::new(OF_UP).exists() {
        return failure.help(format!("name the cluster of `plimsoll up` with --kubeconfig {OF_UP}, or another one"));
    }
    failure.help("name one with --kubeconfig, --context or KUBECONFIG")
}

/// The configuration of a long-running process: its kubeconfig, otherwise the service account of the pod it runs in.
pub async fn process_config(kubeconfig: Option<&Path>, server: Option<&str>) -> Result<Config, Failure> {
    const OTHER: &str = "name another file with --kubeconfig";
    let mut config = match kubeconfig {
        Some(path) => {
            let read = Kubeconfig::read_from(path).map_err(|e| nowhere(&e, OTHER))?;
            Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.map_err(|e| nowhere(&e, OTHER))?
        }
        None => Config::incluster().map_err(|e| nowhere(&e, "name its kubeconfig with --kubeconfig"))?,
    };
    if let Some(server) = server {
        config.cluster_url =
            server.parse().map_err(|e| Failure::new(format!("--master: {server} is not an address: {e}")))?;
    }
    Ok(config)
}

fn nowhere(error: &dyn std::error::Error, help: &str) -> Failure {
    Failure::new(format!("no cluster to work on: {}", chain(error))).help(help)
}

/// What is said of a server that does not answer.
pub fn unreachable(server: &str, error: &kube::Error) -> Failure {
    Failure::new(format!("the API server {server} cannot be reached: {}", chain(error)))
        .help("check that `kubectl get nodes` works with the same kubeconfig and context")
}

async fn list(client: &Client, server: &str, printer: &mut Printer) -> Result<Loaded, Failure> {
    let (pages, mut arriving) = mpsc::channel(PAGES_AHEAD);
    let mut lists = JoinSet::new();
    for (prefix, resource) in RESOURCES {
        lists.spawn(list_one(client.clone(), server.to_owned(), prefix, resource, pages.clone()));
    }
    drop(pages);
    let mut reader = ClusterReader::default();
    while let Some(page) = arriving.recv().await {
        match page {
            Page::Text { resource, text } => {
                reader.read(plimsoll_api::Source { name: resource, text: &text }, Limits::default());
            }
            Page::Unknown { resource } => {
                printer.note(&format!("the API server does not know {resource}: taken as there being none"));
            }
        }
    }
    // In the order of the kinds, so that the same trouble gives the same message.
    let mut failures = Vec::new();
    while let Some(done) = lists.join_next().await {
        match done {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => failures.push(failure),
            Err(error) => return Err(Failure::new(format!("listing the cluster stopped: {error}"))),
        }
    }
    if let Some((_, failure)) = failures.into_iter().min_by_key(|(order, _)| *order) {
        return Err(failure);
    }
    for error in reader.take_errors() {
        printer.note(&format!("skipped: {error}"));
    }
    let loaded = reader.finish().map_err(|errors| Failure::all(errors.iter().map(ToString::to_string).collect()))?;
    for note in loaded.notes.iter().filter(|n| is_for_live(n)) {
        printer.note(&note.to_string());
    }
    Ok(loaded)
}

/// Lists one kind to its end. A failure comes with its place in [`RESOURCES`].
async fn list_one(
    client: Client,
    server: String,
    prefix: &'static str,
    resource: &'static str,
    pages: mpsc::Sender<Page>,
) -> Result<(), (usize, Failure)> {
    let order = RESOURCES.iter().position(|(_, r)| *r == resource).unwrap_or_default();
    let mut query = format!("?limit={PAGE}");
    loop {
        let request = Request::get(format!("{prefix}/{resource}{query}")).body(Vec::new());
        let request = request.map_err(|e| (order, Failure::new(format!("{resource} cannot be listed: {e}"))))?;
        let page = match client.request_text(request).await {
            Ok(text) => Page::Text { resource, text },
            Err(kube::Error::Api(status)) if status.code == 404 => Page::Unknown { resource },
            // The pages' moment has passed: all at once, then. What was read before is replaced.
            Err(kube::Error::Api(status)) if status.code == 410 && !query.is_empty() => {
                query.clear();
                continue;
            }
            Err(error) => return Err((order, refused(&server, resource, &error))),
        };
        let next = match &page {
            Page::Text { text, .. } => next_page(text),
            Page::Unknown { .. } => None,
        };
        if pages.send(page).await.is_err() {
            return Ok(());
        }
        match next {
            Some(token) => query = format!("?limit={PAGE}&continue={}", escape(&token)),
            None => return Ok(()),
        }
    }
}

/// Where the list goes on.
fn next_page(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct List {
        #[serde(default)]
        metadata: ListMeta,
    }
    #[derive(Default, Deserialize)]
    struct ListMeta {
        #[serde(default, rename = "continue")]
        token: Option<String>,
    }
    // A page that is not a list is reported when it is decoded.
    let list: List = serde_json::from_str(text).ok()?;
    list.metadata.token.filter(|token| !token.is_empty())
}

fn refused(server: &str, resource: &str, error: &kube::Error) -> Failure {
    match error {
        kube::Error::Api(status) if status.code == 403 => {
            Failure::new(format!("listing {resource} is forbidden: {}", status.message))
                .help(format!("explain needs the verb list on {}", RESOURCES.map(|(_, r)| r).join(", ")))
        }
        kube::Error::Api(status) if status.code == 401 => Failure::new(format!(
            "the API server {server} does not accept the kubeconfig's credentials: {}",
            status.message
        ))
        .help("log in again, or name another context with --context"),
        kube::Error::Api(status) => Failure::new(format!(
            "listing {resource} failed: the API server {server} answers {}: {}",
            status.code, status.message
        )),
        error => unreachable(server, error),
    }
}

#[cfg(test)]
mod tests {
    use super::next_page;

    #[test]
    fn the_last_page_says_so_by_saying_nothing() {
        assert_eq!(next_page(r#"{"metadata":{"continue":"x"},"items":[{"a":1}]}"#).as_deref(), Some("x"));
        assert_eq!(next_page(r#"{"metadata":{"continue":""}}"#), None);
        assert_eq!(next_page(r#"{"metadata":{}}"#), None);
        assert_eq!(next_page("no json"), None);
    }
}
