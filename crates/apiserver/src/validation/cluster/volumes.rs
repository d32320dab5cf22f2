//! PersistentVolume: one source, a capacity, where it can be reached; and what of it may never change.

use serde_json::{Value, json};

use super::claims::{VOLUME_MODES, access_modes};
use super::found::Found;
use super::gojson::{self, Type};
use super::gotypes::{PERSISTENT_VOLUME_SOURCE, VOLUME_NODE_AFFINITY};
use super::volume_sources::{self, SOURCES};
use crate::field::{FieldError, Wrong};
use crate::validation::names::name_is_dns_subdomain;
use crate::validation::path::{Path, at, entries, get, has, list, same, text};
use crate::validation::selectors;
use crate::validation::shown::go_json;

const RECLAIM: &[&str] = &["Delete", "Recycle", "Retain"];
const MOUNT_OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";

/// Sources whose mount options the annotation can give.
const TAKE_MOUNT_OPTIONS: &[&str] = &[
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "nfs",
    "rbd",
    "quobyte",
    "iscsi",
    "cinder",
    "cephfs",
    "azureFile",
    "vsphereVolume",
    "azureDisk",
    "photonPersistentDisk",
];

/// A new volume.
pub(super) fn create(found: &mut Found, new: &Value) {
    volume(found, new, false);
    mount_options(found, new);
}

fn volume(found: &mut Found, new: &Value, invalid_labels: bool) {
    found.metadata(new, false, name_is_dns_subdomain);
    let name = text(get(new, "metadata"), "name");
    spec(found, get(new, "spec"), Use::Volume { name, invalid_labels }, &Path::new("spec"));
}

fn mount_options(found: &mut Found, new: &Value) {
    let path = ["metadata", "annotations", MOUNT_OPTIONS];
    let takes = TAKE_MOUNT_OPTIONS.iter().any(|name| has(get(new, "spec"), name));
    if !takes && !at(new, &path).is_null() {
        found.forbidden(Path::new("").children(&path), "may not specify mount options for this volume type");
    }
}

/// What a volume's spec is part of.
#[derive(Debug, Clone, Copy)]
pub(super) enum Use<'a> {
    /// A PersistentVolume.
    Volume {
        /// Its name.
        name: &'a str,
        /// Its node affinity had bad label values before.
        invalid_labels: bool,
    },
    /// An attachment of a volume that no PersistentVolume stands for.
    Inline,
}

/// A volume's spec.
pub(super) fn spec(found: &mut Found, spec: &Value, used: Use<'_>, path: &Path) {
    let inline = matches!(used, Use::Inline);
    if inline {
        for name in ["claimRef", "capacity"] {
            if has(spec, name) {
                found.forbidden(path.child(name), "may not be specified in the context of inline volumes");
            }
        }
        if !has(spec, "csi") {
            found.required(path.child("csi"), "has to be specified in the context of inline volumes");
        }
    }
    let modes = list(spec, "accessModes");
    if modes.is_empty() {
        found.required(path.child("accessModes"), "");
    }
    access_modes(found, modes, &path.child("accessModes"));
    if !inline {
        capacity(found, spec, path);
    }
    reclaim(found, spec, inline, path);

    let affinity = get(spec, "nodeAffinity");
    if let (false, Use::Volume { invalid_labels, .. }) = (affinity.is_null(), used) {
        let field = path.child("nodeAffinity").child("required");
        match get(affinity, "required") {
            Value::Null => found.required(field, "must specify required node constraints"),
            required => found.extend(selectors::node_selector(required, invalid_labels, &field)),
        }
    } else if !affinity.is_null() {
        found.forbidden(path.child("nodeAffinity"), "may not be specified in the context of inline volumes");
    }
    let name = match used {
        Use::Volume { name, .. } => name,
        Use::Inline => "",
    };
    source(found, spec, name, !affinity.is_null() && !inline, path);
    rest(found, spec, inline, path);
}

fn capacity(found: &mut Found, spec: &Value, path: &Path) {
    let field = path.child("capacity");
    let capacity = get(spec, "capacity");
    let count = capacity.as_object().map_or(0, serde_json::Map::len);
    if count == 0 {
        found.required(&field, "");
    }
    if !has(capacity, "storage") || count > 1 {
        // Nothing at all is printed as such, not as an empty map.
        found.push(FieldError {
            wrong: Wrong::NotSupported,
            field: (&field).into(),
            value: go_json(capacity),
            detail: "supported values: \"storage\"".into(),
        });
    }
    for (name, amount) in entries(spec, "capacity") {
        found.basic_quantity(&field.key(name), amount);
        found.positive_quantity(&field.key(name), amount);
    }
}

fn reclaim(found: &mut Found, spec: &Value, inline: bool, path: &Path) {
    let policy = text(spec, "persistentVolumeReclaimPolicy");
    let field = path.child("persistentVolumeReclaimPolicy");
    if policy.is_empty() {
        return;
    }
    if inline && policy != "Retain" {
        found.forbidden(field, "may only be Retain in the context of inline volumes");
    } else if !inline && !RECLAIM.contains(&policy) {
        found.unsupported(&field, policy, RECLAIM);
    }
}

fn source(found: &mut Found, spec: &Value, name: &str, has_affinity: bool, path: &Path) {
    let mut any = false;
    for source in SOURCES {
        let value = get(spec, source.name);
        if value.is_null() {
            continue;
        }
        // Upstream counts this one, but never refuses it for being a second one.
        if any && source.name != "flexVolume" {
            found.forbidden(path.child(source.forbidden), "may not specify more than 1 volume type");
            continue;
        }
        any = true;
        volume_sources::check(found, source, value, name, &path.child(source.path));
        if source.name == "local" && !has_affinity {
            found.required(path.child("nodeAffinity"), "Local volume requires node affinity");
        }
    }
    if !any {
        found.required(path, "must specify a volume type");
    }
}

fn rest(found: &mut Found, spec: &Value, inline: bool, path: &Path) {
    let host_path = get(spec, "hostPath");
    if !host_path.is_null()
        && is_root(text(host_path, "path"))
        && text(spec, "persistentVolumeReclaimPolicy") == "Recycle"
    {
        let said = "may not be 'recycle' for a hostPath mount of '/'";
        found.forbidden(path.child("persistentVolumeReclaimPolicy"), said);
    }
    let class = text(spec, "storageClassName");
    if !class.is_empty() && inline {
        found.forbidden(path.child("storageClassName"), "may not be specified in the context of inline volumes");
    } else if !class.is_empty() {
        found.subdomain(&path.child("storageClassName"), class);
    }
    if let Some(mode) = get(spec, "volumeMode").as_str() {
        let field = path.child("volumeMode");
        if inline && mode != "Filesystem" {
            let said = "may not specify volumeMode other than Filesystem in the context of inline volumes";
            found.forbidden(field, said);
        } else if !inline && !VOLUME_MODES.contains(&mode) {
            found.unsupported(&field, mode, VOLUME_MODES);
        }
    }
    // The rules for inline volumes know nothing of classes of attributes.
    if let (false, Some(class)) = (inline, get(spec, "volumeAttributesClassName").as_str()) {
        let field = path.child("volumeAttributesClassName");
        if class.is_empty() {
            found.required(&field, "an empty string is disallowed");
        } else {
            found.subdomain(&field, class);
        }
        if !has(spec, "csi") {
            found.required(path.child("csi"), "has to be specified when using volumeAttributesClassName");
        }
    }
}

/// Whether a path comes out at the root once its dots are followed.
fn is_root(path: &str) -> bool {
    let mut depth = 0_usize;
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => depth = depth.saturating_sub(1),
            _ => depth += 1,
        }
    }
    path.starts_with('/') && depth == 0
}

/// A volume that replaces another.
pub(super) fn update(found: &mut Found, new: &Value, old: &Value) {
    let required = at(old, &["spec", "nodeAffinity", "required"]);
    let invalid_labels = list(required, "nodeSelectorTerms").iter().any(selectors::has_invalid_value);
    volume(found, new, invalid_labels);
    mount_options(found, new);
    volume(found, new, invalid_labels);

    let (before, mut after) = (get(old, "spec"), get(new, "spec").clone());
    // The secret for growing may come later: it was added after there were volumes.
    if has(before, "csi")
        && at(before, &["csi", "controllerExpandSecretRef"]).is_null()
        && let Some(csi) = after.pointer_mut("/csi").and_then(Value::as_object_mut)
    {
        csi.remove("controllerExpandSecretRef");
    }
    if SOURCES.iter().any(|source| !same(get(&after, source.name), get(before, source.name))) {
        let diff = gojson::diff(Type::Struct(PERSISTENT_VOLUME_SOURCE), before, &after);
        let said = format!("spec.persistentvolumesource is immutable after creation\n{diff}");
        found.forbidden("spec.persistentvolumesource", &said);
    }
    found.unchanged(&Path::new("volumeMode"), get(&after, "volumeMode"), get(before, "volumeMode"));
    if has(before, "nodeAffinity") && !same_affinity(get(&after, "nodeAffinity"), get(before, "nodeAffinity")) {
        found.invalid_struct(
            &Path::new("nodeAffinity"),
            Type::Opt(&Type::Struct(VOLUME_NODE_AFFINITY)),
            get(&after, "nodeAffinity"),
            "field is immutable, except for updating from beta label to GA",
        );
    }
    if has(before, "volumeAttributesClassName") && !has(&after, "volumeAttributesClassName") {
        found.forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden");
    }
}

/// Labels that were renamed when they became stable.
const RENAMED: &[(&str, &str)] = &[
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
    ("beta.kubernetes.io/os", "kubernetes.io/os"),
    ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
    ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
];

/// Whether two node affinities are the same, or differ only in labels that took their stable names.
fn same_affinity(new: &Value, old: &Value) -> bool {
    let mut old = old.clone();
    let terms = |value: &Value| at(value, &["required", "nodeSelectorTerms"]).as_array().cloned().unwrap_or_default();
    let after = terms(new);
    if let Some(before) = old.pointer_mut("/required/nodeSelectorTerms").and_then(Value::as_array_mut) {
        for (term, new) in before.iter_mut().zip(&after) {
            for list_name in ["matchExpressions", "matchFields"] {
                let Some(requirements) = term.get_mut(list_name).and_then(Value::as_array_mut) else { continue };
                for (requirement, new) in requirements.iter_mut().zip(list(new, list_name)) {
                    let renamed = RENAMED.contains(&(text(requirement, "key"), text(new, "key")));
                    if renamed && let Some(requirement) = requirement.as_object_mut() {
                        requirement.insert("key".into(), json!(text(new, "key")));
                    }
                }
            }
        }
    }
    same(new, &old)
}

/// A volume's status.
pub(super) fn update_status(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    if text(get(new, "metadata"), "resourceVersion").is_empty() {
        found.required("resourceVersion", "");
    }
}
