//! The real control plane: etcd, kube-apiserver, kube-controller-manager and kube-scheduler of e2e/kubernetes, on loopback.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rcgen::KeyPair;
use tokio::time::sleep;

use crate::client::Client;
use crate::identities::{self, ADMIN};
use crate::process::{Folder, Process};

/// Names the folder of the binaries; e2e/kubernetes/build prints it.
pub const BINARIES: &str = "PLIMSOLL_UPSTREAM";

/// How long a server has until it is ready. On two busy cores kube-apiserver takes up to half a minute.
const READY_TRIES: u32 = 600;
const READY_PAUSE: Duration = Duration::from_millis(200);

/// One of upstream's programs.
pub fn binary(name: &str) -> Result<PathBuf> {
    let folder = std::env::var_os(BINARIES)
        .with_context(|| format!("{BINARIES} is not set: it must name the folder that e2e/kubernetes/build prints"))?;
    let path = Path::new(&folder).join(name);
    if !path.is_file() {
        bail!("{} is not there: build it with e2e/kubernetes/build", path.display());
    }
    Ok(path)
}

/// Who did what when, without bodies.
const AUDIT_POLICY: &str =
    "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n";

/// How the real server is started.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Whether etcd waits for its disk, as it does in production; tests that are not about disks need not wait.
    pub fsync: bool,
    /// Whether kube-apiserver writes down every request, in `audit.log` of its folder.
    pub audit: bool,
    /// Whether nodes and all controllers run beside it: then pods have service accounts, and new nodes are tainted until they are ready.
    pub whole: bool,
    /// Admission plugins that are on beside those that kube-apiserver has on by itself, with commas between them.
    pub admission: &'static str,
}

/// A running kube-apiserver with its etcd.
#[derive(Debug)]
pub struct Upstream {
    /// Talks to it.
    pub client: Client,
    /// The administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    /// The certificate that it proves itself with (PEM).
    pub ca: String,
    // Dropped in this order: the server before what it stores in, the folder last.
    apiserver: Process,
    etcd: Process,
    folder: Folder,
}

impl Upstream {
    /// Starts both and waits until the API is ready.
    pub async fn start(options: Options) -> Result<Self> {
        let folder = Folder::new("upstream")?;
        let at = |name: &str| folder.path().join(name);
        let (storage, peers, port) = (free_port()?, free_port()?, free_port()?);
        let storage_url = format!("http://127.0.0.1:{storage}");
        let mut etcd = etcd(folder.path(), &storage_url, &format!("http://127.0.0.1:{peers}"), options)?;

        let key = KeyPair::generate().context("cannot make the key for service accounts")?;
        std::fs::write(at("service-accounts.key"), key.serialize_pem())?;
        std::fs::write(at("service-accounts.pub"), key.public_key_pem())?;
        std::fs::write(at("tokens.csv"), identities::token_file())?;
        let mut command = Command::new(binary("kube-apiserver")?);
        command
            .args(["--etcd-servers", &storage_url, "--bind-address", "127.0.0.1"])
            .args(["--secure-port", &port.to_string(), "--authorization-mode", "RBAC"])
            .args(["--service-account-issuer", "https://kubernetes.default.svc"])
            .args(["--service-cluster-ip-range", "10.0.0.0/24"])
            .arg("--cert-dir")
            .arg(at("certs"))
            .arg("--token-auth-file")
            .arg(at("tokens.csv"))
            .arg("--service-account-key-file")
            .arg(at("service-accounts.pub"))
            .arg("--service-account-signing-key-file")
            .arg(at("service-accounts.key"));
        if !options.whole {
            // No token controller and no kubelets run here: pods would wait for both.
            command.args(["--disable-admission-plugins", "ServiceAccount,TaintNodesByCondition"]);
        }
        if !options.admission.is_empty() {
            command.args(["--enable-admission-plugins", options.admission]);
        }
        if options.audit {
            std::fs::write(at("audit.yaml"), AUDIT_POLICY)?;
            command.arg("--audit-policy-file").arg(at("audit.yaml")).arg("--audit-log-path").arg(at("audit.log"));
        }
        let mut apiserver = Process::start(folder.path(), "kube-apiserver", &mut command)?;

        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let (client, ca) = ready(&mut apiserver, address, &at("certs").join("apiserver.crt")).await?;
        // Without its own it would have found another's.
        etcd.alive()?;
        let kubeconfig = at("kubeconfig");
        identities::kubeconfig(&kubeconfig, &client.url(), &ca, ADMIN)?;
        Ok(Self { client, kubeconfig, ca, apiserver, etcd, folder })
    }

    /// The ids of kube-apiserver and etcd, whose use of the machine benchmarks ask for.
    pub fn ids(&self) -> (u32, u32) {
        (self.apiserver.id(), self.etcd.id())
    }

    /// What kube-controller-manager needs to make service accounts and what pods know the server by.
    pub fn account_flags(&self) -> [String; 2] {
        let at = |name: &str| self.folder.path().join(name).display().to_string();
        [
            format!("--service-account-private-key-file={}", at("service-accounts.key")),
            format!("--root-ca-file={}", at("certs/apiserver.crt")),
        ]
    }

    /// Where the logs are.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

fn etcd(folder: &Path, clients: &str, peers: &str, options: Options) -> Result<Process> {
    let mut command = Command::new(binary("etcd")?);
    command
        .args(["--listen-client-urls", clients, "--advertise-client-urls", clients])
        .args(["--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers])
        .args(["--initial-cluster", &format!("default={peers}")])
        .arg("--data-dir")
        .arg(folder.join("etcd"));
    if !options.fsync {
        command.arg("--unsafe-no-fsync");
    }
    Process::start(folder, "etcd", &mut command)
}

async fn ready(process: &mut Process, address: SocketAddr, certificate: &Path) -> Result<(Client, String)> {
    let mut last = String::from("it was never asked");
    for _ in 0..READY_TRIES {
        process.alive()?;
        // It makes its certificate itself while it starts.
        if let Ok(ca) = std::fs::read_to_string(certificate) {
            let client = Client::new(address, &ca)?;
            match client.get("/readyz").await {
                Ok((200, _)) => return Ok((client, ca)),
                Ok((code, body)) => last = format!("{code} {}", String::from_utf8_lossy(&body)),
                Err(error) => last = format!("{error:#}"),
            }
        }
        sleep(READY_PAUSE).await;
    }
    bail!("kube-apiserver does not get ready: {last}")
}

/// The ports that servers get: below those that the system gives to outgoing connections, of which there are hundreds between the moment
/// that a port is found free and the moment that a server takes it; and below the node ports of services, which answers may hold.
const PORTS: std::ops::Range<u16> = 12_000..30_000;
/// How many a process has for itself: the tests of several processes start servers at the same time.
const OWN_PORTS: u16 = 20;

/// A port that nobody listens on.
pub fn free_port() -> Result<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let blocks = u32::from((PORTS.end - PORTS.start) / OWN_PORTS);
    let block = u16::try_from(std::process::id() % blocks)?;
    for _ in 0..OWN_PORTS {
        let next = NEXT.fetch_add(1, Ordering::Relaxed) % OWN_PORTS;
        let port = PORTS.start + block * OWN_PORTS + next;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no free port")
}

/// What upstream's programs speak with the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// JSON.
    Json,
    /// Protobuf, which is their own choice.
    Protobuf,
}

impl Content {
    fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }
}

/// Starts kube-controller-manager with these controllers (`--controllers`) against any API server.
pub fn kube_controller_manager(
    folder: &Path,
    kubeconfig: &Path,
    controllers: &str,
    content: Content,
) -> Result<Process> {
    controller_manager(folder, kubeconfig, controllers, content, &[])
}

/// Starts it with further flags.
pub fn controller_manager(
    folder: &Path,
    kubeconfig: &Path,
    controllers: &str,
    content: Content,
    flags: &[String],
) -> Result<Process> {
    let mut command = Command::new(binary("kube-controller-manager")?);
    command
        .args(["--controllers", controllers, "--leader-elect=false", "--secure-port=0"])
        .args(["--kube-api-qps=5000", "--kube-api-burst=5000", "--kube-api-content-type", content.media_type()])
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(flags);
    Process::start(folder, "kube-controller-manager", &mut command)
}

/// A KubeSchedulerConfiguration: how it talks to the server, and how many seconds volumes may take where not as by itself.
pub fn scheduler_config(connection: &str, bind_timeout: Option<u64>) -> String {
    let mut text = format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nleaderElection:\n  leaderElect: false\n{connection}"
    );
    if let Some(seconds) = bind_timeout {
        text.push_str(&format!(
            "profiles:\n- schedulerName: default-scheduler\n  pluginConfig:\n  - name: VolumeBinding\n    args: {{bindTimeoutSeconds: {seconds}}}\n"
        ));
    }
    text
}

/// Starts kube-scheduler against any API server.
pub fn kube_scheduler(folder: &Path, kubeconfig: &Path, content: Content) -> Result<Process> {
    scheduler(folder, kubeconfig, content, None)
}

/// Starts it with a time for volumes.
pub fn scheduler(folder: &Path, kubeconfig: &Path, content: Content, bind_timeout: Option<u64>) -> Result<Process> {
    let config = folder.join("kube-scheduler.yaml");
    let connection = format!(
        "clientConnection:\n  kubeconfig: {}\n  contentType: {}\n  qps: 5000\n  burst: 5000\n",
        serde_json::json!(kubeconfig),
        content.media_type()
    );
    std::fs::write(&config, scheduler_config(&connection, bind_timeout))?;
    let mut command = Command::new(binary("kube-scheduler")?);
    command.args(["--secure-port=0", "--config"]).arg(&config);
    Process::start(folder, "kube-scheduler", &mut command)
}
