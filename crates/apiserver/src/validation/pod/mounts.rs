//! Where containers see the pod's volumes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::volume_sources::{has_backsteps, local_descending};
use crate::validation::found::Found;
use crate::validation::path::{Path, at, flag, has, list, text, texts};
use crate::validation::shown::go_json;

/// The sound volumes of a pod by name.
pub type Volumes<'a> = BTreeMap<&'a str, &'a Value>;

fn by_name<'a>(container: &'a Value, kind: &str, place: &str) -> BTreeMap<&'a str, &'a str> {
    list(container, kind).iter().map(|entry| (text(entry, "name"), text(entry, place))).collect()
}

/// Volumes that are mounted.
pub fn mounts(out: &mut Found, container: &Value, volumes: &Volumes<'_>, path: &Path) {
    let devices = by_name(container, "volumeDevices", "devicePath");
    let privileged = at(container, &["securityContext", "privileged"]).as_bool().unwrap_or_default();
    let mut seen = BTreeSet::new();
    for (i, mount) in list(container, "volumeMounts").iter().enumerate() {
        let field = path.index(i);
        let (name, place) = (text(mount, "name"), text(mount, "mountPath"));
        if name.is_empty() {
            out.required(&field.child("name"), "");
        }
        if !volumes.contains_key(name) {
            out.not_found(&field.child("name"), name);
        }
        if place.is_empty() {
            out.required(&field.child("mountPath"), "");
        }
        if !seen.insert(place) {
            out.invalid(&field.child("mountPath"), place, "must be unique");
        }
        if devices.contains_key(name) {
            out.invalid(&field.child("name"), name, "must not already exist in volumeDevices");
        }
        if devices.values().any(|device| *device == place) {
            out.invalid(&field.child("mountPath"), place, "must not already exist as a path in volumeDevices");
        }
        let (sub, expression) = (text(mount, "subPath"), text(mount, "subPathExpr"));
        if !sub.is_empty() {
            local_descending(out, sub, &path.child("subPath"));
        }
        if !expression.is_empty() {
            if !sub.is_empty() {
                let said = "subPathExpr and subPath are mutually exclusive";
                out.invalid(&field.child("subPathExpr"), expression, said);
            }
            local_descending(out, expression, &path.child("subPathExpr"));
        }
        if has(mount, "mountPropagation") {
            let field = path.child("mountPropagation");
            let mode = text(mount, "mountPropagation");
            out.one_of(&field, mode, &["Bidirectional", "HostToContainer", "None"]);
            if mode == "Bidirectional" && !privileged {
                let said = "Bidirectional mount propagation is available only to privileged containers";
                out.forbidden(&field, said);
            }
        }
        recursive_read_only(out, mount, &path.child("recursiveReadOnly"));
        options(out, mount, volumes.get(name).copied(), &field.child("bindMountOptions"));
    }
}

fn recursive_read_only(out: &mut Found, mount: &Value, path: &Path) {
    if !has(mount, "recursiveReadOnly") {
        return;
    }
    match text(mount, "recursiveReadOnly") {
        "Disabled" => {}
        "Enabled" | "IfPossible" => {
            if !flag(mount, "readOnly") {
                out.forbidden(path, "may only be specified when readOnly is true");
            }
            if !matches!(text(mount, "mountPropagation"), "" | "None") {
                out.forbidden(path, "may only be specified when mountPropagation is None or not specified");
            }
        }
        other => out.unsupported(path, other, &["Disabled", "Enabled", "IfPossible"]),
    }
}

fn options(out: &mut Found, mount: &Value, volume: Option<&Value>, path: &Path) {
    let options = texts(mount, "bindMountOptions");
    let mut seen = BTreeSet::new();
    for (i, option) in options.iter().enumerate() {
        out.one_of(&path.index(i), option, &["nodev", "noexec", "nosuid"]);
        if !seen.insert(*option) {
            out.duplicate(&path.index(i), *option);
        }
    }
    if !options.is_empty() && volume.is_some_and(|volume| has(volume, "image")) {
        let shown = mount.get("bindMountOptions").map(go_json).unwrap_or_default();
        out.invalid_shown(path, shown, "bindMountOptions may not be used with image volumes");
    }
}

/// Volumes that are handed over as block devices.
pub fn devices(out: &mut Found, container: &Value, volumes: &Volumes<'_>, path: &Path) {
    let mounts = by_name(container, "volumeMounts", "mountPath");
    let (mut paths, mut names) = (BTreeSet::new(), BTreeSet::new());
    for (i, device) in list(container, "volumeDevices").iter().enumerate() {
        let path = path.index(i);
        let (name, place) = (text(device, "name"), text(device, "devicePath"));
        let (name_path, place_path) = (path.child("name"), path.child("devicePath"));
        if name.is_empty() {
            out.required(&name_path, "");
        }
        if names.contains(name) {
            out.invalid(&name_path, name, "must be unique");
        }
        match volumes.get(name) {
            Some(volume) if !has(volume, "persistentVolumeClaim") && !has(volume, "ephemeral") => {
                let said = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                out.invalid(&name_path, name, said);
            }
            Some(_) => {}
            None => out.not_found(&name_path, name),
        }
        if place.is_empty() {
            out.required(&place_path, "");
        }
        if paths.contains(place) {
            out.invalid(&place_path, place, "must be unique");
        }
        if has_backsteps(place) {
            out.invalid(&place_path, place, "can not contain backsteps ('..')");
        } else {
            paths.insert(place);
        }
        if mounts.contains_key(name) {
            out.invalid(&name_path, name, "must not already exist in volumeMounts");
        }
        if mounts.values().any(|mount| *mount == place) {
            out.invalid(&place_path, place, "must not already exist as a path in volumeMounts");
        }
        if !name.is_empty() {
            names.insert(name);
        }
    }
}
