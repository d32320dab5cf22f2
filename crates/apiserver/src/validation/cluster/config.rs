//! Secret, ConfigMap, ServiceAccount.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::found::Found;
use crate::validation::names::{self, name_is_dns_subdomain};
use crate::validation::path::{Path, at, entries, flag, get, has, same, text};

/// All data of one object together.
const BYTES_MAX: usize = 1024 * 1024;

const FROZEN: &str = "field is immutable when `immutable` is set";

fn decoded(value: &Value) -> Vec<u8> {
    STANDARD.decode(value.as_str().unwrap_or_default()).unwrap_or_default()
}

/// A new secret.
pub(super) fn create_secret(found: &mut Found, new: &Value) {
    found.metadata(new, true, name_is_dns_subdomain);
    let path = Path::new("data");
    let mut size = 0;
    for (key, value) in entries(new, "data") {
        found.complain(&path.key(key), key, names::is_config_map_key(key));
        size += decoded(value).len();
    }
    if size > BYTES_MAX {
        found.too_long(&path, BYTES_MAX);
    }
    let data = get(new, "data");
    match text(new, "type") {
        "kubernetes.io/service-account-token" => {
            const ACCOUNT: &str = "kubernetes.io/service-account.name";
            if text(at(new, &["metadata", "annotations"]), ACCOUNT).is_empty() {
                found.required(Path::new("metadata").child("annotations").key(ACCOUNT), "");
            }
        }
        "kubernetes.io/dockercfg" => docker(found, data, ".dockercfg", &path),
        "kubernetes.io/dockerconfigjson" => docker(found, data, ".dockerconfigjson", &path),
        "kubernetes.io/basic-auth" => {
            let keys = ["username", "password"];
            if !keys.iter().any(|key| has(data, key)) {
                for key in keys {
                    found.required(path.key(key), "");
                }
            }
        }
        "kubernetes.io/ssh-auth" => {
            const KEY: &str = "ssh-privatekey";
            if text(data, KEY).is_empty() {
                found.required(path.key(KEY), "");
            }
        }
        "kubernetes.io/tls" => {
            for key in ["tls.crt", "tls.key"] {
                if !has(data, key) {
                    found.required(path.key(key), "");
                }
            }
        }
        _ => {}
    }
}

fn docker(found: &mut Found, data: &Value, key: &str, path: &Path) {
    let path = path.key(key);
    if !has(data, key) {
        found.required(&path, "");
    } else if let Some(said) = super::gojson_error::not_an_object(&decoded(get(data, key))) {
        found.invalid(&path, "<secret contents redacted>", said);
    }
}

/// A secret that replaces another.
pub(super) fn update_secret(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    found.unchanged_text(&Path::new("type"), text(new, "type"), text(old, "type"));
    frozen(found, new, old, &["data"]);
    create_secret(found, new);
}

fn frozen(found: &mut Found, new: &Value, old: &Value, names: &[&str]) {
    if !flag(old, "immutable") {
        return;
    }
    if !flag(new, "immutable") {
        found.forbidden("immutable", FROZEN);
    }
    for name in names {
        if !same(get(new, name), get(old, name)) {
            found.forbidden(*name, FROZEN);
        }
    }
}

/// A new config map.
pub(super) fn create_config_map(found: &mut Found, new: &Value) {
    found.metadata(new, true, name_is_dns_subdomain);
    let mut size = 0;
    let path = Path::new("data");
    for (key, value) in entries(new, "data") {
        found.complain(&path.key(key), key, names::is_config_map_key(key));
        if has(get(new, "binaryData"), key) {
            found.invalid(path.key(key), key.as_str(), "duplicate of key present in binaryData");
        }
        size += value.as_str().map_or(0, str::len);
    }
    let path = Path::new("binaryData");
    for (key, value) in entries(new, "binaryData") {
        found.complain(&path.key(key), key, names::is_config_map_key(key));
        size += decoded(value).len();
    }
    if size > BYTES_MAX {
        found.too_long(&Path::new("[]"), BYTES_MAX);
    }
}

/// A config map that replaces another.
pub(super) fn update_config_map(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    frozen(found, new, old, &["data", "binaryData"]);
    create_config_map(found, new);
}

/// A new service account.
pub(super) fn create_service_account(found: &mut Found, new: &Value) {
    found.metadata(new, true, name_is_dns_subdomain);
}

/// A service account that replaces another.
pub(super) fn update_service_account(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    create_service_account(found, new);
}
