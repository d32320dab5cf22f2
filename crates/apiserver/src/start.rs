//! Starting: the store is opened, what exists from the first start is made, the rest follows from what is stored.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_schema::Table;
use serde_json::Value;

use crate::admission::Plugins;
use crate::apply;
use crate::auth::setup::Setup;
use crate::auth::{User, kubeconfig};
use crate::bootstrap;
use crate::bootstrap::rbac::Reconciled;
use crate::clock::{Clock, Entropy};
use crate::core::{Core, describe};
use crate::housekeeping::Housekeeping;
use crate::registry::{Registry, Served};
use crate::server::Listener;
use crate::service::ApiService;
use crate::status::Status;
use crate::store::{Expect, HistoryLimits, ListRequest, Meta, Note, OpenError, Store};

/// How a server is started.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where everything is kept: the store, the certificates, the tokens and the kubeconfig.
    pub data_dir: PathBuf,
    /// Only the kubeconfig and what it needs is kept.
    pub in_memory: bool,
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Garbage collection, namespace deletion, role aggregation and the expiry of events: what kube-controller-manager does elsewhere.
    pub housekeeping: Housekeeping,
    /// The optional admission plugins.
    pub plugins: Plugins,
}

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The certificates.
    #[error("{0}")]
    Tls(String),
    /// A file or the socket.
    #[error("{what}: {error}")]
    Io {
        /// What was done.
        what: String,
        /// Why it failed.
        error: std::io::Error,
    },
    /// What must exist could not be made.
    #[error("the first objects could not be made: {}", .0.message)]
    Bootstrap(Status),
}

/// A server that is ready.
pub struct Started {
    /// Its state.
    pub core: Arc<Core>,
    /// Its socket.
    pub listener: Listener,
    /// Its kubeconfig for the administrator.
    pub kubeconfig: PathBuf,
    /// What its user should know.
    pub notes: Vec<Note>,
}

impl Started {
    /// Serves until `stop` is done.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let service = ApiService::new(self.core.clone());
        self.listener.serve(service, stop).await;
        self.core.store.close().await;
    }
}

/// A server in this process, without a socket: everything in memory, time and randomness as given.
pub async fn in_process(clock: Clock, entropy: Entropy, housekeeping: bool) -> Result<Arc<Core>, StartError> {
    in_process_with(clock, entropy, housekeeping, true).await
}

/// The same, and without `roles` none of the roles and bindings that exist from the first start: for runs in great number, whose
/// users are all administrators, they would be half the work.
pub async fn in_process_with(
    clock: Clock,
    entropy: Entropy,
    housekeeping: bool,
    roles: bool,
) -> Result<Arc<Core>, StartError> {
    let (authenticator, _) = entropy.with(|random| Setup::in_memory(&[], random));
    let store = Store::in_memory(HistoryLimits::default());
    let core = Arc::new(Core::new(store, authenticator, clock, entropy));
    let address = SocketAddr::from(([127, 0, 0, 1], 6443));
    begin(&core, address, None, housekeeping.into(), roles).await?;
    Ok(core)
}

/// The API as a client of this process sees it.
pub fn service(core: &Arc<Core>, user: User) -> ApiService {
    ApiService::acting_as(core.clone(), user)
}

/// Starts a server.
pub async fn start(options: &Options) -> Result<Started, StartError> {
    let dir = &options.data_dir;
    let io = |what: &str, path: &Path| {
        let what = format!("{what} {}", path.display());
        move |error| StartError::Io { what, error }
    };
    let registry = Registry::new(Vec::new());
    let describe_stored = move |key: &str, bytes: &[u8]| describe_bytes(&registry, key, bytes);
    let (store, notes) = if options.in_memory {
        (Store::in_memory_at(dir, HistoryLimits::default())?, Vec::new())
    } else {
        let opened = Store::open(dir, HistoryLimits::default(), &describe_stored)?;
        (opened.store, opened.notes)
    };
    // The folder is ours now. Who waits for this file must not find that of an earlier run, which may have had another port.
    let path = dir.join("kubeconfig");
    if let Err(error) = std::fs::remove_file(&path)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(io("cannot replace", &path)(error));
    }
    let entropy = Entropy::system();
    let clock = Clock::System;

    let host = options.listen.ip().to_string();
    let users = kubeconfig::identities();
    let setup = entropy
        .with(|random| Setup::open(dir, &users, &[host], clock.now(), random))
        .map_err(|error| StartError::Tls(error.to_string()))?;
    let listener =
        Listener::bind(options.listen, Some(setup.tls.config.clone())).await.map_err(|error| StartError::Io {
            what: format!("cannot listen on {}; choose another address with --listen", options.listen),
            error,
        })?;
    let address = listener.address().map_err(|error| StartError::Io { what: "cannot listen".into(), error })?;

    let server = format!("https://{}", reachable(address));
    let others = dir.join("kubeconfigs");
    make_private(&others).map_err(io("cannot make", &others))?;
    for user in &users {
        let file = if user.name == kubeconfig::ADMIN { path.clone() } else { others.join(user.name.replace(':', "-")) };
        setup.write_kubeconfig(&file, &server, &user.name).map_err(io("cannot write", &file))?;
    }

    let ca = setup.tls.ca.clone();
    let mut core = Core::new(store, setup.authenticator, clock, entropy);
    core.plugins = options.plugins;
    let core = Arc::new(core);
    begin(&core, address, Some(&ca), options.housekeeping, true).await?;

    Ok(Started { core, listener, kubeconfig: path, notes })
}

/// The address under which clients of this machine reach the server.
fn reachable(address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() { SocketAddr::from(([127, 0, 0, 1], address.port())) } else { address }
}

/// Makes a folder that only its owner can read. One that is there already is left as it is: it may be for others, too.
fn make_private(dir: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// What selectors ask of a stored object, found from its bytes alone.
fn describe_bytes(registry: &Registry, key: &str, bytes: &[u8]) -> Meta {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return Meta::default() };
    let served = registry.versions(&key.into()).iter().find(|s| s.stored_as.is_none());
    match served {
        Some(served) => describe(served, &value),
        None => plain_meta(&value),
    }
}

/// The same for a custom resource, whose definition is among what is being read.
fn plain_meta(value: &Value) -> Meta {
    let labels = value["metadata"]["labels"].as_object();
    let labels = labels.into_iter().flatten().filter_map(|(k, v)| Some((k.as_str(), v.as_str()?)));
    Meta::new(value["metadata"]["uid"].as_str().unwrap_or_default(), labels, [])
}

/// Everything that must be there before the first request.
async fn begin(
    core: &Arc<Core>,
    address: SocketAddr,
    ca: Option<&str>,
    housekeeping: Housekeeping,
    roles: bool,
) -> Result<(), StartError> {
    core.follow.set(housekeeping);
    core.follow_definitions();
    remember(core);
    let table = Table::builtin();
    let options = bootstrap::Options {
        now: core.clock.now(),
        address: address.ip(),
        port: address.port(),
        client_ca: ca,
        table: &table,
    };
    for (kind, object) in bootstrap::objects(&options) {
        if !roles && kind.group == "rbac.authorization.k8s.io" {
            continue;
        }
        let registry = core.registry();
        let Some(served) = registry.of_kind(kind.group, kind.version, kind.kind) else { continue };
        ensure(core, served, object).await.map_err(StartError::Bootstrap)?;
    }
    for (kind, object) in crate::custom::builtin_definitions(&core.now_text()) {
        let registry = core.registry();
        let Some(served) = registry.of_kind(kind.group, kind.version, kind.kind) else { continue };
        ensure(core, served, object).await.map_err(StartError::Bootstrap)?;
    }
    crate::custom::resume(core).await;
    if housekeeping != Housekeeping::NONE {
        if roles && housekeeping.roles {
            crate::housekeeping::gather_roles(core).await;
        }
        tokio::spawn(crate::housekeeping::run(core.clone()));
    }
    Ok(())
}

/// Tells housekeeping and the authorizer of what is stored already.
fn remember(core: &Arc<Core>) {
    for served in core.registry().stored() {
        let Ok(list) = core.store.list(&served.key, &ListRequest::default()) else { continue };
        for object in list.items {
            if let Ok(value) = core.value(&served, &object) {
                core.follow.written(core, &served, &value, &object);
            }
        }
    }
}

/// Makes an object that is not there; roles and bindings that are there are brought up to date.
async fn ensure(core: &Arc<Core>, served: &Served, mut object: Value) -> Result<(), Status> {
    let (namespace, name) = (crate::value::namespace(&object).to_owned(), crate::value::name(&object).to_owned());
    let expect = match core.store.get(&served.key, &namespace, &name) {
        Some(stored) => {
            if served.group != "rbac.authorization.k8s.io" {
                return Ok(());
            }
            let live = core.value(served, &stored)?;
            let expect = Expect::Revision(stored.revision);
            match bootstrap::rbac::reconcile(&live, &object) {
                Reconciled::Same => return Ok(()),
                Reconciled::Update(new) => {
                    object = new;
                    expect
                }
                Reconciled::Recreate(new) => {
                    let _ = core.remove(served, live, expect).await?;
                    object = new;
                    begun(core, &mut object);
                    Expect::Absent
                }
            }
        }
        None => {
            begun(core, &mut object);
            Expect::Absent
        }
    };
    let mut object = crate::codec::recanonical(served, object)?;
    if expect == Expect::Absent {
        let reset = apply::reset(served.kind(), "");
        let target = apply::Target {
            schema: served.schema(),
            kind: served.kind(),
            custom: false,
            reset: &reset,
            versions: &apply::OneVersion,
        };
        let manager = apply::Manager { name: bootstrap::field_manager(served.kind()), subresource: "" };
        // Upstream's controller sends a name and labels; what the server fills in has no manager.
        let filled =
            object.as_object_mut().filter(|_| served.kind == "Namespace").and_then(|fields| fields.remove("spec"));
        apply::update(&target, None, &mut object, &manager, core.clock.now());
        if let Some(spec) = filled {
            object["spec"] = spec;
        }
    }
    // Nobody else writes yet, so there is nothing to conflict with.
    core.put(served, object, expect).await.map(|_| ())
}

fn begun(core: &Core, object: &mut Value) {
    object["metadata"]["uid"] = core.entropy.uid().into();
    object["metadata"]["creationTimestamp"] = core.now_text().into();
}
