//! The manifests of `deploy/`, and components that run as they say: under the service account, with the arguments and the
//! configuration that stand there, and with the rights that the roles give and no others.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use plimsoll_apiserver::auth::kubeconfig::Kubeconfig;
use serde_json::{Value, json};

use crate::audit::Entry;
use crate::identities::{ADMIN, token};
use crate::process::Process;
use crate::upstream::{Upstream, binary};
use crate::volumes::cluster::program;

/// Where the manifests' own namespaced objects are.
pub const NAMESPACE: &str = "kube-system";

/// The folder of the manifests.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy")
}

/// Every manifest, in order: roles stand before what uses them.
pub fn manifests() -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for part in ["controller", "scheduler"] {
        for entry in std::fs::read_dir(folder().join(part))? {
            found.push(entry?.path());
        }
    }
    found.retain(|path| path.extension().is_some_and(|end| end == "yaml"));
    found.sort_by_key(|path| (!path.ends_with("rbac.yaml"), path.clone()));
    Ok(found)
}

/// The objects of a manifest, by its path in `deploy/`.
pub fn objects(manifest: &str) -> Result<Vec<Value>> {
    let path = folder().join(manifest);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_saphyr::from_multiple(&text).with_context(|| format!("{manifest} is not YAML"))
}

/// The object of that kind in a manifest, where there is one.
pub fn object(manifest: &str, kind: &str) -> Result<Value> {
    let found = objects(manifest)?.into_iter().find(|object| object["kind"] == kind);
    found.with_context(|| format!("{manifest} has no {kind}"))
}

/// Runs kubectl, and hands back what it printed.
pub fn kubectl(kubeconfig: &Path, arguments: &[&str], files: &[PathBuf]) -> Result<String> {
    let mut command = Command::new(binary("kubectl")?);
    command.arg("--kubeconfig").arg(kubeconfig).args(arguments);
    for file in files {
        command.arg("-f").arg(file);
    }
    let output = command.output()?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "kubectl {arguments:?}: {out}{err}");
    Ok(out.into_owned())
}

/// Something that a role allows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// The group; empty for the core group.
    pub group: String,
    /// The resource, with its subresource.
    pub resource: String,
    /// The verb.
    pub verb: String,
    /// The only object that it is about; empty for any.
    pub name: String,
    /// The only namespace that it holds in; empty for all.
    pub namespace: String,
}

impl Right {
    /// Whether a request needed it.
    pub fn was_used_by(&self, entry: &Entry) -> bool {
        let fits = |limit: &str, asked: &str| limit.is_empty() || limit == asked;
        self.group == entry.group
            && self.resource == entry.resource
            && self.verb == entry.verb
            && fits(&self.name, &entry.name)
            && fits(&self.namespace, &entry.namespace)
    }
}

impl std::fmt::Display for Right {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let group = if self.group.is_empty() { String::new() } else { format!(".{}", self.group) };
        write!(f, "{} {}{group}", self.verb, self.resource)
    }
}

/// Everything that the roles of these manifests allow.
pub fn rights(manifests: &[&str]) -> Result<BTreeSet<Right>> {
    let mut all = BTreeSet::new();
    for manifest in manifests {
        for role in objects(manifest)? {
            let namespace = match role["kind"].as_str() {
                Some("ClusterRole") => String::new(),
                Some("Role") => role["metadata"]["namespace"].as_str().unwrap_or_default().to_owned(),
                _ => continue,
            };
            for rule in list(&role["rules"]) {
                let names =
                    if rule["resourceNames"].is_null() { vec![String::new()] } else { texts(&rule["resourceNames"]) };
                for (group, resource) in pairs(&texts(&rule["apiGroups"]), &texts(&rule["resources"])) {
                    for (verb, name) in pairs(&texts(&rule["verbs"]), &names) {
                        ensure!(
                            !format!("{group}{resource}{verb}").contains('*'),
                            "{manifest} allows everything: {rule}"
                        );
                        let (group, resource, namespace) = (group.clone(), resource.clone(), namespace.clone());
                        all.insert(Right { group, resource, verb, name, namespace });
                    }
                }
            }
        }
    }
    Ok(all)
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn texts(value: &Value) -> Vec<String> {
    list(value).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn pairs(left: &[String], right: &[String]) -> Vec<(String, String)> {
    left.iter().flat_map(|l| right.iter().map(move |r| (l.clone(), r.clone()))).collect()
}

/// A component that runs as its Deployment says.
#[derive(Debug)]
pub struct Component {
    /// Its process.
    pub process: Process,
    /// Where it says how it is.
    pub health: String,
}

impl Component {
    /// Starts the program with the arguments of the Deployment in `manifest`, and with further ones, under the identity of a
    /// kubeconfig. Its configuration is the ConfigMap of the manifest, where it has one.
    pub async fn start(server: &Upstream, manifest: &str, kubeconfig: &Path, further: &[&str]) -> Result<Self> {
        let deployment = object(manifest, "Deployment")?;
        let name = deployment["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        ensure!(container["command"] == json!(["plimsoll"]), "{manifest} runs {}", container["command"]);
        let mut command = Command::new(program()?);
        for argument in texts(&container["args"]) {
            if let Some(mounted) = argument.strip_prefix("--config=") {
                let file = mounted.rsplit('/').next().unwrap_or_default();
                let config = object(manifest, "ConfigMap")?["data"][file].as_str().map(str::to_owned);
                let path = server.folder().join(format!("{name}-{file}"));
                std::fs::write(&path, config.with_context(|| format!("the ConfigMap of {manifest} has no {file}"))?)?;
                command.arg(format!("--config={}", path.display()));
            } else if argument.starts_with("--health-listen=") {
                // In a pod every address is the pod's own; here it is the machine's.
                command.arg("--health-listen=127.0.0.1:0");
            } else {
                command.arg(argument);
            }
        }
        command.args(further).arg("--kubeconfig").arg(kubeconfig);
        let mut process = Process::start(server.folder(), &name, &mut command)?;
        for _ in 0..300 {
            let printed = process.printed();
            let said = printed.lines().find_map(|line| line.split_once("metrics on http://"));
            if let Some((_, address)) = said {
                return Ok(Self { process, health: address.trim().to_owned() });
            }
            process.alive()?;
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        bail!("{name} does not say where its health is:\n{}", process.printed())
    }

    /// What it answers on one of its pages.
    pub async fn page(&self, path: &str) -> Result<(u16, String)> {
        let tcp = tokio::net::TcpStream::connect(&self.health).await?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(tcp)).await?;
        tokio::spawn(connection);
        let request = Request::get(path).header("host", &self.health).body(Full::<Bytes>::default())?;
        let response = sender.send_request(request).await?;
        let code = response.status().as_u16();
        let body = response.into_body().collect().await?.to_bytes();
        Ok((code, String::from_utf8_lossy(&body).into_owned()))
    }
}

/// Asks the server for a token of a service account, as the kubelet does for a pod, and writes a kubeconfig with it.
pub async fn kubeconfig(server: &Upstream, account: &str) -> Result<PathBuf> {
    let path = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token");
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let admin = token(ADMIN);
    let (code, answer) = server.client.ask(&admin, Method::POST, &path, "application/json", Some(&body)).await?;
    let given = answer["status"]["token"].as_str().with_context(|| format!("no token: {code} {answer}"))?;
    let path = server.folder().join(format!("kubeconfig-{account}"));
    let url = server.client.url();
    Kubeconfig { server: &url, ca: Some(&server.ca), user: account, token: given }.write(&path)?;
    Ok(path)
}

/// The user that the API server takes a service account for.
pub fn user(account: &str) -> String {
    format!("system:serviceaccount:{NAMESPACE}:{account}")
}
