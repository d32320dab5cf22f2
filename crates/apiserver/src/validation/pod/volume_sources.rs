//! What each source of a volume needs.

use serde_json::Value;

use crate::validation::found::Found;
use crate::validation::names;
use crate::validation::path::{Path, entries, flag, get, has, list, number, text};
use crate::validation::shown::go_json;

/// The sentence about the mode of a file.
pub const FILE_MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";

/// Fields that must not be empty.
pub fn needs(out: &mut Found, from: &Value, wanted: &[&str], path: &Path) {
    for name in wanted {
        if text(from, name).is_empty() && list(from, name).is_empty() {
            out.required(&path.child(name), "");
        }
    }
}

/// A reference to a secret has its name, where there is one.
pub fn secret_ref(out: &mut Found, from: &Value, path: &Path) {
    if has(from, "secretRef") && text(get(from, "secretRef"), "name").is_empty() {
        out.required(&path.children(&["secretRef", "name"]), "");
    }
}

/// Whether a part of the path is `..`.
pub fn has_backsteps(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

/// A path that does not lead up.
pub fn no_backsteps(out: &mut Found, target: &str, path: &Path) {
    if has_backsteps(target) {
        out.invalid(path, target, "must not contain '..'");
    }
}

/// A relative path that does not lead up.
pub fn local_descending(out: &mut Found, target: &str, path: &Path) {
    if target.starts_with('/') {
        out.invalid(path, target, "must be a relative path");
    }
    no_backsteps(out, target, path);
}

/// A relative path that does not lead up, and does not begin as Kubernetes' own files do.
pub fn local_unreserved(out: &mut Found, target: &str, path: &Path) {
    local_descending(out, target, path);
    if target.starts_with("..") && !target.starts_with("../") {
        out.invalid(path, target, "must not start with '..'");
    }
}

/// The mode of a file, where it is given.
pub fn mode(out: &mut Found, from: &Value, name: &str, path: &Path) {
    if let Some(mode) = number(from, name).filter(|mode| !(0..=0o777).contains(mode)) {
        out.invalid(&path.child(name), mode, FILE_MODE);
    }
}

/// The owner of a file, where it is given.
pub fn user(out: &mut Found, from: &Value, name: &str, path: &Path) {
    if let Some(id) = number(from, name) {
        names::is_user_id(id).into_iter().for_each(|said| out.invalid(&path.child(name), id, said));
    }
}

/// A path on the node.
pub fn host_path(out: &mut Found, from: &Value, path: &Path) {
    const TYPES: &[&str] =
        &["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
    let target = text(from, "path");
    if target.is_empty() {
        out.required(&path.child("path"), "");
        return;
    }
    no_backsteps(out, target, &path.child("path"));
    out.one_of(&path.child("type"), text(from, "type"), TYPES);
}

/// A disk of a cloud.
pub fn disk(out: &mut Found, from: &Value, name: &str, path: &Path) {
    needs(out, from, &[name], path);
    if let Some(partition) = number(from, "partition").filter(|partition| !(0..=255).contains(partition)) {
        out.invalid(&path.child("partition"), partition, names::range_error(1, 255));
    }
}

/// A secret or config map as files.
pub fn keys(out: &mut Found, from: &Value, name: &str, path: &Path) {
    needs(out, from, &[name], path);
    mode(out, from, "defaultMode", path);
    user(out, from, "defaultUser", path);
    for (i, item) in list(from, "items").iter().enumerate() {
        key_to_path(out, item, &path.child("items").index(i));
    }
}

/// One key as a file.
pub fn key_to_path(out: &mut Found, item: &Value, path: &Path) {
    needs(out, item, &["key", "path"], path);
    local_unreserved(out, text(item, "path"), &path.child("path"));
    mode(out, item, "mode", path);
    user(out, item, "user", path);
}

/// A directory of a file server.
pub fn nfs(out: &mut Found, from: &Value, path: &Path) {
    needs(out, from, &["server", "path"], path);
    let target = text(from, "path");
    if !target.starts_with('/') {
        out.invalid(&path.child("path"), target, "must be an absolute path");
    }
}

fn is_iscsi_name(name: &str) -> bool {
    let alphanumeric = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric());
    // The dot in upstream's patterns stands for any character.
    let rest = name.char_indices().nth(4).map_or("", |(at, _)| name.get(at..).unwrap_or_default());
    match name.get(..3) {
        Some("eui") => rest.len() == 16 && alphanumeric(rest),
        Some("naa") => rest.len() == 32 && alphanumeric(rest),
        _ => is_iqn(name),
    }
}

/// `iqn.2001-04.com.example:storage`.
fn is_iqn(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("iqn.") else { return false };
    let digits = |text: Option<&str>| text.is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit()));
    if !digits(rest.get(..4)) || rest.get(4..5) != Some("-") || !digits(rest.get(5..7)) || rest.get(7..8) != Some(".") {
        return false;
    }
    let Some((host, label)) = rest.get(8..).and_then(|rest| rest.split_once(':')) else { return false };
    let host_fits = !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'));
    let label_fits =
        !label.is_empty() && !label.contains([',', ';', '*', '&', '$', '|', ' ', '\t', '\n', '\r', '\u{c}']);
    host_fits && label_fits
}

/// A network disk (iSCSI).
pub fn iscsi(out: &mut Found, from: &Value, path: &Path) {
    let known = |name: &str| ["iqn", "eui", "naa"].iter().any(|kind| name.starts_with(kind));
    let begin = "must be valid format starting with iqn, eui, or naa";
    needs(out, from, &["targetPortal", "iqn"], path);
    let iqn = text(from, "iqn");
    if !iqn.is_empty() {
        if !known(iqn) {
            out.invalid(&path.child("iqn"), iqn, begin);
        } else if !is_iscsi_name(iqn) {
            out.invalid(&path.child("iqn"), iqn, "must be valid format");
        }
    }
    let lun = number(from, "lun").unwrap_or_default();
    names::is_in_range(lun, 0, 255).into_iter().for_each(|said| out.invalid(&path.child("lun"), lun, said));
    if (flag(from, "chapAuthDiscovery") || flag(from, "chapAuthSession")) && !has(from, "secretRef") {
        out.required(&path.child("secretRef"), "");
    }
    if has(from, "initiatorName") {
        let (initiator, field) = (text(from, "initiatorName"), path.child("initiatorname"));
        if !known(initiator) {
            out.invalid(&field, initiator, begin);
        } else if !is_iscsi_name(initiator) {
            out.invalid(&field, initiator, "must be valid format");
        }
    }
}

/// A dataset of Flocker.
pub fn flocker(out: &mut Found, from: &Value, path: &Path) {
    let (name, uuid) = (text(from, "datasetName"), text(from, "datasetUUID"));
    if name.is_empty() && uuid.is_empty() {
        out.required(path, "one of datasetName and datasetUUID is required");
    }
    if !name.is_empty() && !uuid.is_empty() {
        out.invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously");
    }
    if name.contains('/') {
        out.invalid(&path.child("datasetName"), name, "must not contain '/'");
    }
}

/// A volume of Quobyte.
pub fn quobyte(out: &mut Found, from: &Value, path: &Path) {
    let said = "must be a host:port pair or multiple pairs separated by commas";
    let registry = text(from, "registry");
    if registry.is_empty() {
        out.required(&path.child("registry"), said);
    } else if text(from, "tenant").len() >= 65 {
        out.required(&path.child("tenant"), "must be a UUID and may not exceed a length of 64 characters");
    } else {
        for pair in registry.split(',') {
            let sound = pair
                .rsplit_once(':')
                .is_some_and(|(host, _)| !host.contains(':') || (host.starts_with('[') && host.ends_with(']')));
            if !sound {
                out.invalid(&path.child("registry"), registry, said);
            }
        }
    }
    needs(out, from, &["volume"], path);
}

/// A disk on a fibre channel.
pub fn fibre_channel(out: &mut Found, from: &Value, path: &Path) {
    let (targets, ids) = (list(from, "targetWWNs"), list(from, "wwids"));
    let field = path.child("targetWWNs");
    if targets.is_empty() && ids.is_empty() {
        out.required(&field, "must specify either targetWWNs or wwids, but not both");
    }
    if !targets.is_empty() && !ids.is_empty() {
        let said = "targetWWNs and wwids can not be specified simultaneously";
        out.invalid_shown(&field, go_json(get(from, "targetWWNs")), said);
    }
    if !targets.is_empty() {
        match number(from, "lun") {
            None => out.required(&path.child("lun"), "lun is required if targetWWNs is specified"),
            Some(lun) => {
                names::is_in_range(lun, 0, 255).into_iter().for_each(|said| out.invalid(&path.child("lun"), lun, said))
            }
        }
    }
}

/// A volume of a flex driver.
pub fn flex(out: &mut Found, from: &Value, path: &Path) {
    needs(out, from, &["driver"], path);
    for (key, _) in entries(from, "options") {
        let domain = format!(".{}", key.split_once('/').map_or(key.as_str(), |(domain, _)| domain).to_lowercase());
        if domain.ends_with(".kubernetes.io") || domain.ends_with(".k8s.io") {
            let said = "kubernetes.io and k8s.io namespaces are reserved";
            out.invalid(&path.child("options").key(key), key.as_str(), said);
        }
    }
}

/// A disk of Azure.
pub fn azure_disk(out: &mut Found, from: &Value, path: &Path) {
    const MANAGED: &str =
        "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
    const BLOB: &str = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";
    needs(out, from, &["diskName", "diskURI"], path);
    let uri = text(from, "diskURI");
    if has(from, "cachingMode") {
        out.one_of(&path.child("cachingMode"), text(from, "cachingMode"), &["None", "ReadOnly", "ReadWrite"]);
    }
    if has(from, "kind") {
        let kind = text(from, "kind");
        out.one_of(&path.child("kind"), kind, &["Dedicated", "Managed", "Shared"]);
        if kind == "Managed" && !uri.starts_with("/subscriptions/") {
            out.unsupported(&path.child("diskURI"), uri, &[MANAGED]);
        }
        if kind != "Managed" && !uri.starts_with("https://") {
            out.unsupported(&path.child("diskURI"), uri, &[BLOB]);
        }
    }
}

/// A volume of StorageOS.
pub fn storage_os(out: &mut Found, from: &Value, path: &Path) {
    let (name, namespace) = (text(from, "volumeName"), text(from, "volumeNamespace"));
    if name.is_empty() {
        out.required(&path.child("volumeName"), "");
    } else {
        out.said(&path.child("volumeName"), name, names::is_dns1123_label(name));
    }
    if !namespace.is_empty() {
        out.said(&path.child("volumeNamespace"), namespace, names::is_dns1123_label(namespace));
    }
    secret_ref(out, from, path);
}

/// The name of a CSI driver.
pub fn csi_driver_name(out: &mut Found, name: &str, path: &Path) {
    if name.is_empty() {
        out.required(path, "");
        return;
    }
    if name.len() > 63 {
        out.too_long(path, 63);
    }
    out.said(path, name, names::is_dns1123_subdomain(&name.to_lowercase()));
}

/// A volume that a CSI driver makes in the pod.
pub fn csi(out: &mut Found, from: &Value, path: &Path) {
    csi_driver_name(out, text(from, "driver"), &path.child("driver"));
    if has(from, "nodePublishSecretRef") {
        match text(get(from, "nodePublishSecretRef"), "name") {
            "" => out.required(&path.children(&["nodePublishSecretRef", "name"]), ""),
            name => out.said(&path.child("name"), name, names::is_dns1123_subdomain(name)),
        }
    }
}
