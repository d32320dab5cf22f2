//! The sources a PersistentVolume can have.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use super::found::Found;
use crate::validation::names::{self, range_error};
use crate::validation::path::{Path, flag, get, has, list, number, text};
use crate::validation::shown;

/// A kind of source.
#[derive(Debug)]
pub(super) struct Source {
    /// The field in a volume's spec.
    pub name: &'static str,
    /// The field that upstream names when there are two sources.
    pub forbidden: &'static str,
    /// The field that upstream names when the source is wrong.
    pub path: &'static str,
    /// Fields that may not be empty, in upstream's order; for those with no other rule.
    required: &'static [&'static str],
}

const fn plain(name: &'static str, required: &'static [&'static str]) -> Source {
    Source { name, forbidden: name, path: name, required }
}

/// All of them, in upstream's order.
pub(super) const SOURCES: &[Source] = &[
    plain("hostPath", &[]),
    Source { path: "persistentDisk", ..plain("gcePersistentDisk", &["pdName"]) },
    plain("awsElasticBlockStore", &["volumeID"]),
    plain("glusterfs", &["endpoints", "path"]),
    plain("flocker", &[]),
    plain("nfs", &["server", "path"]),
    plain("rbd", &["monitors", "image"]),
    plain("quobyte", &[]),
    Source { forbidden: "cephFS", ..plain("cephfs", &["monitors"]) },
    plain("iscsi", &[]),
    plain("cinder", &["volumeID"]),
    plain("fc", &[]),
    plain("flexVolume", &["driver"]),
    plain("azureFile", &["secretName", "shareName"]),
    plain("vsphereVolume", &["volumePath"]),
    plain("photonPersistentDisk", &["pdID"]),
    plain("portworxVolume", &["volumeID"]),
    plain("azureDisk", &["diskName", "diskURI"]),
    plain("scaleIO", &["gateway", "system", "volumeName"]),
    plain("local", &[]),
    plain("storageos", &[]),
    plain("csi", &[]),
];

/// What is wrong with a source.
pub(super) fn check(found: &mut Found, source: &Source, value: &Value, volume: &str, path: &Path) {
    for name in source.required {
        let empty = match get(value, name) {
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => true,
        };
        if empty {
            found.required(path.child(name), "");
        }
    }
    match source.name {
        "hostPath" => host_path(found, value, path),
        "gcePersistentDisk" | "awsElasticBlockStore" => {
            let partition = number(value, "partition").unwrap_or_default();
            if !(0..=255).contains(&partition) {
                found.invalid(path.child("partition"), partition, range_error(1, 255));
            }
        }
        "glusterfs" => match get(value, "endpointsNamespace").as_str() {
            Some("") => {
                let said = "if the endpointnamespace is set, it must be a valid namespace name";
                found.invalid(path.child("endpointsNamespace"), "", said);
            }
            Some(namespace) => found.label(&path.child("endpointsNamespace"), namespace),
            None => {}
        },
        "flocker" => flocker(found, value, path),
        "nfs" => {
            let target = text(value, "path");
            if !target.starts_with('/') {
                found.invalid(path.child("path"), target, "must be an absolute path");
            }
        }
        "quobyte" => quobyte(found, value, path),
        "iscsi" => iscsi(found, value, volume, path),
        "cinder" => secret_with_namespace(found, get(value, "secretRef"), path),
        "fc" => fibre_channel(found, value, path),
        "flexVolume" => flex(found, value, path),
        "azureFile" if get(value, "secretNamespace").as_str() == Some("") => {
            found.required(path.child("secretNamespace"), "");
        }
        "azureDisk" => azure_disk(found, value, path),
        "local" if found.need(value, "path", path) => {
            no_backsteps(found, text(value, "path"), &path.child("path"));
        }
        "storageos" => storage_os(found, value, path),
        "csi" => csi(found, value, path),
        _ => {}
    }
}

fn no_backsteps(found: &mut Found, target: &str, path: &Path) {
    if target.split('/').any(|part| part == "..") {
        found.invalid(path, target, "must not contain '..'");
    }
}

fn host_path(found: &mut Found, value: &Value, path: &Path) {
    const TYPES: &[&str] =
        &["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
    if !found.need(value, "path", path) {
        return;
    }
    no_backsteps(found, text(value, "path"), &path.child("path"));
    if let Some(kind) = get(value, "type").as_str().filter(|kind| !TYPES.contains(kind)) {
        found.unsupported(&path.child("type"), kind, TYPES);
    }
}

fn flocker(found: &mut Found, value: &Value, path: &Path) {
    let (name, uuid) = (text(value, "datasetName"), text(value, "datasetUUID"));
    if name.is_empty() && uuid.is_empty() {
        found.required(path, "one of datasetName and datasetUUID is required");
    }
    if !name.is_empty() && !uuid.is_empty() {
        found.invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously");
    }
    if name.contains('/') {
        found.invalid(path.child("datasetName"), name, "must not contain '/'");
    }
}

fn quobyte(found: &mut Found, value: &Value, path: &Path) {
    const PAIRS: &str = "must be a host:port pair or multiple pairs separated by commas";
    let registry = text(value, "registry");
    if registry.is_empty() {
        found.required(path.child("registry"), PAIRS);
    } else if text(value, "tenant").len() >= 65 {
        found.required(path.child("tenant"), "must be a UUID and may not exceed a length of 64 characters");
    } else {
        for _ in registry.split(',').filter(|pair| !is_host_port(pair)) {
            found.invalid(path.child("registry"), registry, PAIRS);
        }
    }
    found.need(value, "volume", path);
}

/// Whether Go would split the text into a host and a port.
fn is_host_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    match host.strip_prefix('[') {
        Some(host) => {
            host.strip_suffix(']').is_some_and(|host| !host.contains(['[', ']'])) && !port.contains(['[', ']'])
        }
        None => !host.contains([':', '[', ']']) && !port.contains(['[', ']']),
    }
}

static IQN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"iqn\.\d{4}-\d{2}\.([[:alnum:].\-]+)(:[^,;*&$|\s]+)$").ok());

fn is_initiator(name: &str) -> bool {
    let rest = |prefix: &str, length: usize| {
        let mut rest = name.strip_prefix(prefix)?.chars();
        // Upstream's pattern takes any character where the dot should be.
        rest.next().filter(|c| *c != '\n')?;
        let rest = rest.as_str();
        Some(rest.len() == length && rest.bytes().all(|b| b.is_ascii_alphanumeric()))
    };
    match name.get(..3) {
        Some("iqn") => IQN.as_ref().is_some_and(|iqn| iqn.is_match(name)),
        Some("eui") => rest("eui", 16).unwrap_or_default(),
        Some("naa") => rest("naa", 32).unwrap_or_default(),
        _ => false,
    }
}

fn iscsi(found: &mut Found, value: &Value, volume: &str, path: &Path) {
    const FORMAT: &str = "must be valid format";
    found.need(value, "targetPortal", path);
    let (portal, initiator) = (text(value, "targetPortal"), get(value, "initiatorName").as_str());
    if initiator.is_some() && volume.len() + 1 + portal.len() > 64 {
        let said = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
        found.invalid(path.child("targetportal"), portal, said);
    }
    let iqn = text(value, "iqn");
    if found.need(value, "iqn", path) && !is_initiator(iqn) {
        found.invalid(path.child("iqn"), iqn, FORMAT);
    }
    let lun = number(value, "lun").unwrap_or_default();
    if !(0..=255).contains(&lun) {
        found.invalid(path.child("lun"), lun, range_error(0, 255));
    }
    let secret = get(value, "secretRef");
    if (flag(value, "chapAuthDiscovery") || flag(value, "chapAuthSession")) && secret.is_null() {
        found.required(path.child("secretRef"), "");
    }
    if !secret.is_null() {
        found.need(secret, "name", &path.child("secretRef"));
    }
    if let Some(name) = initiator.filter(|name| !is_initiator(name)) {
        found.invalid(path.child("initiatorname"), name, FORMAT);
    }
}

fn secret_with_namespace(found: &mut Found, secret: &Value, path: &Path) {
    if !secret.is_null() {
        found.need(secret, "name", &path.child("secretRef"));
        found.need(secret, "namespace", &path.child("secretRef"));
    }
}

fn fibre_channel(found: &mut Found, value: &Value, path: &Path) {
    let (names, ids) = (list(value, "targetWWNs"), list(value, "wwids"));
    let field = path.child("targetWWNs");
    if names.is_empty() && ids.is_empty() {
        found.required(&field, "must specify either targetWWNs or wwids, but not both");
    }
    if !names.is_empty() && !ids.is_empty() {
        let said = "targetWWNs and wwids can not be specified simultaneously";
        found.push(shown::invalid(&field, shown::go_json(&json!(names)), said));
    }
    if !names.is_empty() {
        match number(value, "lun") {
            None => found.required(path.child("lun"), "lun is required if targetWWNs is specified"),
            Some(lun) if !(0..=255).contains(&lun) => found.invalid(path.child("lun"), lun, range_error(0, 255)),
            Some(_) => {}
        }
    }
}

fn flex(found: &mut Found, value: &Value, path: &Path) {
    for (key, _) in crate::validation::path::entries(value, "options") {
        let domain = key.split_once('/').map_or(key.as_str(), |(domain, _)| domain);
        let domain = format!(".{}", domain.to_lowercase());
        if domain.ends_with(".kubernetes.io") || domain.ends_with(".k8s.io") {
            let said = "kubernetes.io and k8s.io namespaces are reserved";
            found.invalid(path.child("options").key(key), key.as_str(), said);
        }
    }
}

fn azure_disk(found: &mut Found, value: &Value, path: &Path) {
    const CACHING: &[&str] = &["None", "ReadOnly", "ReadWrite"];
    const KINDS: &[&str] = &["Dedicated", "Managed", "Shared"];
    const MANAGED: &str =
        "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
    const BLOB: &str = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";
    if let Some(mode) = get(value, "cachingMode").as_str().filter(|mode| !CACHING.contains(mode)) {
        found.unsupported(&path.child("cachingMode"), mode, CACHING);
    }
    let Some(kind) = get(value, "kind").as_str() else { return };
    if !KINDS.contains(&kind) {
        found.unsupported(&path.child("kind"), kind, KINDS);
    }
    let uri = text(value, "diskURI");
    if kind == "Managed" && !uri.starts_with("/subscriptions/") {
        found.unsupported(&path.child("diskURI"), uri, &[MANAGED]);
    }
    if kind != "Managed" && !uri.starts_with("https://") {
        found.unsupported(&path.child("diskURI"), uri, &[BLOB]);
    }
}

fn storage_os(found: &mut Found, value: &Value, path: &Path) {
    if found.need(value, "volumeName", path) {
        found.label(&path.child("volumeName"), text(value, "volumeName"));
    }
    let namespace = text(value, "volumeNamespace");
    if !namespace.is_empty() {
        found.label(&path.child("volumeNamespace"), namespace);
    }
    secret_with_namespace(found, get(value, "secretRef"), path);
}

/// The longest name of a CSI driver.
const DRIVER_MAX: usize = 63;

/// The name of a CSI driver where it is used.
pub(super) fn driver_name(found: &mut Found, name: &str, path: &Path) {
    if name.is_empty() {
        found.required(path, "");
        return;
    }
    if name.len() > DRIVER_MAX {
        found.too_long(path, DRIVER_MAX);
    }
    found.complain(path, name, names::is_dns1123_subdomain(&name.to_lowercase()));
}

fn csi(found: &mut Found, value: &Value, path: &Path) {
    driver_name(found, text(value, "driver"), &path.child("driver"));
    found.need(value, "volumeHandle", path);
    for name in
        ["controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef"]
    {
        if !has(value, name) {
            continue;
        }
        let (secret, path) = (get(value, name), path.child(name));
        if found.need(secret, "name", &path) {
            found.subdomain(&path.child("name"), text(secret, "name"));
        }
        if found.need(secret, "namespace", &path) {
            found.label(&path.child("namespace"), text(secret, "namespace"));
        }
    }
}
