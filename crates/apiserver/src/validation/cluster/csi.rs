//! CSIDriver and CSINode.

use serde_json::{Value, json};

use super::found::{Found, IMMUTABLE, NEGATIVE};
use super::gojson::{self, Type};
use super::gotypes::CSI_NODE_DRIVER;
use super::volume_sources::driver_name;
use crate::validation::names::{self, name_is_dns_subdomain};
use crate::validation::path::{Path, get, has, list, number, same, text, texts};
use crate::validation::shown;

/// The longest name a driver can give a node.
const NODE_ID_MAX: usize = 256;
/// The shortest time between two counts of what a node can attach, in seconds.
const COUNT_PERIOD_MIN: i64 = 10;
/// The shortest life of a token, in seconds.
const TOKEN_MIN: i64 = 600;
/// The longest life of a token, in seconds.
const TOKEN_MAX: i64 = 1 << 32;

/// A new driver.
pub(super) fn create_driver(found: &mut Found, new: &Value) {
    found.metadata(new, false, name_is_dns_subdomain);
    driver_spec(found, get(new, "spec"), &Path::new("spec"));
}

/// A driver that replaces another.
pub(super) fn update_driver(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    let path = Path::new("spec");
    driver_spec(found, get(new, "spec"), &path);
    let (spec, before) = (get(new, "spec"), get(old, "spec"));
    // Upstream misspells its own field.
    found.unchanged(&path.child("attachedRequired"), get(spec, "attachRequired"), get(before, "attachRequired"));
    let modes = "volumeLifecycleModes";
    found.unchanged(&path.child(modes), get(spec, modes), get(before, modes));
}

fn driver_spec(found: &mut Found, spec: &Value, path: &Path) {
    for (name, said) in [
        ("attachRequired", "attachedRequired"),
        ("podInfoOnMount", "podInfoOnMount"),
        ("storageCapacity", "storageCapacity"),
    ] {
        if !has(spec, name) {
            found.required(path.child(said), "");
        }
    }
    const POLICIES: &[&str] = &["File", "None", "ReadWriteOnceWithFSType"];
    if let Some(policy) = get(spec, "fsGroupPolicy").as_str().filter(|policy| !POLICIES.contains(policy)) {
        found.unsupported(&path.child("fsGroupPolicy"), policy, POLICIES);
    }
    tokens(found, list(spec, "tokenRequests"), &path.child("tokenRequests"));
    for mode in texts(spec, "volumeLifecycleModes") {
        if !matches!(mode, "Persistent" | "Ephemeral") {
            found.unsupported(&path.child("volumeLifecycleModes"), mode, &["Persistent", "Ephemeral"]);
        }
    }
    if !has(spec, "seLinuxMount") {
        found.required(path.child("seLinuxMount"), "");
    }
    if let Some(period) = number(spec, "nodeAllocatableUpdatePeriodSeconds").filter(|it| *it < COUNT_PERIOD_MIN) {
        let said = "must be greater than or equal to 10 seconds";
        found.invalid(path.child("nodeAllocatableUpdatePeriodSeconds"), period, said);
    }
    let in_secrets = get(spec, "serviceAccountTokenInSecrets");
    if !in_secrets.is_null() && list(spec, "tokenRequests").is_empty() {
        let said = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        found.invalid(path.child("serviceAccountTokenInSecrets"), in_secrets.clone(), said);
    }
    if !has(spec, "preventPodSchedulingIfMissing") {
        found.required(path.child("preventPodSchedulingIfMissing"), "");
    }
}

fn tokens(found: &mut Found, requests: &[Value], path: &Path) {
    let mut audiences: Vec<&str> = Vec::new();
    for (i, request) in requests.iter().enumerate() {
        let (audience, path) = (text(request, "audience"), path.index(i));
        if audiences.contains(&audience) {
            found.duplicate(path.child("audience"), audience);
            continue;
        }
        audiences.push(audience);
        let field = path.child("expirationSeconds");
        match number(request, "expirationSeconds") {
            Some(life) if life < TOKEN_MIN => {
                found.invalid(field, life, "may not specify a duration less than 10 minutes")
            }
            Some(life) if life > TOKEN_MAX => {
                found.invalid(field, life, "may not specify a duration larger than 2^32 seconds");
            }
            _ => {}
        }
    }
}

/// A new node.
pub(super) fn create_node(found: &mut Found, new: &Value) {
    found.metadata(new, false, name_is_dns_subdomain);
    let path = Path::new("spec").child("drivers");
    let mut names_seen: Vec<&str> = Vec::new();
    for (i, driver) in list(get(new, "spec"), "drivers").iter().enumerate() {
        let (path, name) = (path.index(i), text(driver, "name"));
        driver_name(found, name, &path.child("name"));
        let id = text(driver, "nodeID");
        if id.is_empty() {
            found.required(path.child("nodeID"), "");
        }
        if id.len() > NODE_ID_MAX {
            found.invalid(path.child("nodeID"), id, format!("must be {NODE_ID_MAX} characters or less"));
        }
        if let Some(count) = number(get(driver, "allocatable"), "count").filter(|count| *count < 0) {
            found.invalid(path.child("allocatable").child("count"), count, NEGATIVE);
        }
        if names_seen.contains(&name) {
            found.duplicate(path.child("name"), name);
        }
        names_seen.push(name);
        let mut keys: Vec<&str> = Vec::new();
        for key in texts(driver, "topologyKeys") {
            if key.is_empty() {
                found.required(&path, "");
            }
            if keys.contains(&key) {
                found.duplicate(&path, key);
            }
            keys.push(key);
            found.complain(&path, key, names::is_qualified_name(key));
        }
    }
}

/// A node that replaces another: a driver that stays may change only its count of volumes.
pub(super) fn update_node(found: &mut Found, new: &Value, old: &Value) {
    create_node(found, new);
    let path = Path::new("spec").child("drivers");
    for before in list(get(old, "spec"), "drivers") {
        for after in list(get(new, "spec"), "drivers").iter().filter(|it| text(it, "name") == text(before, "name")) {
            let (before, after) = (without_count(before), without_count(after));
            if !same(&before, &after) {
                let printed = gojson::compact(Type::Struct(CSI_NODE_DRIVER), &after);
                found.push(shown::invalid(&path, printed, IMMUTABLE));
            }
        }
    }
}

fn without_count(driver: &Value) -> Value {
    let mut driver = driver.clone();
    if let Some(fields) = driver.as_object_mut() {
        fields.remove("allocatable");
    }
    driver
}

/// A node's status: the health of its drivers' storage.
pub(super) fn update_node_status(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    let path = Path::new("status").child("storageHealth");
    let mut seen: Vec<&str> = Vec::new();
    for (i, health) in list(get(new, "status"), "storageHealth").iter().enumerate() {
        let (path, name) = (path.index(i), text(health, "name"));
        if seen.contains(&name) {
            found.duplicate(&path, name);
        }
        seen.push(name);
        driver_name(found, name, &path.child("name"));
        let conditions = list(health, "healthConditions");
        let path = path.child("healthConditions");
        if conditions.len() > 16 {
            found.too_many(&path, conditions.len(), 16);
            continue;
        }
        for (j, condition) in conditions.iter().enumerate() {
            health_condition(found, condition, &path.index(j));
        }
    }
}

fn health_condition(found: &mut Found, condition: &Value, path: &Path) {
    const STATES: &[&str] = &["StorageDegraded", "StorageUnreachable"];
    let state = text(condition, "status");
    if !STATES.contains(&state) {
        found.unsupported(&path.child("status"), state, STATES);
    }
    if found.need(condition, "reason", path) {
        let reason = text(condition, "reason");
        found.complain(&path.child("reason"), reason, names::is_condition_reason(reason));
        if reason.len() > 256 {
            found.too_long(&path.child("reason"), 256);
        }
    }
    if text(condition, "message").len() > 1024 {
        found.too_long(&path.child("message"), 1024);
    }
    for (name, words) in [("accessMode", super::claims::ACCESS_MODES), ("volumeMode", &["Filesystem", "Block"][..])] {
        if let Some(word) = get(condition, name).as_str().filter(|word| !words.contains(word)) {
            found.unsupported(&path.child(name), json!(word), words);
        }
    }
}
