//! The volumes of a pod: one source each, names once.

use std::collections::BTreeSet;

use serde_json::Value;

use super::mounts::Volumes;
use super::volume_sources as sources;
use super::{Options, projected};
use crate::validation::claim;
use crate::validation::found::Found;
use crate::validation::names;
use crate::validation::path::{Path, get, has, list, number, text};
use crate::validation::resources;

/// The volumes, checked; sound ones are given back. `metadata` is the pod's, or null in a template.
pub fn check<'a>(out: &mut Found, spec: &'a Value, metadata: &Value, path: &Path, options: &Options) -> Volumes<'a> {
    let volumes = list(spec, "volumes");
    let pod = text(metadata, "name");
    let made: BTreeSet<String> = volumes
        .iter()
        .filter(|volume| !pod.is_empty() && has(volume, "ephemeral"))
        .map(|volume| format!("{pod}-{}", text(volume, "name")))
        .collect();
    let mut sound = Volumes::new();
    for (i, volume) in volumes.iter().enumerate() {
        let path = path.index(i);
        let name = text(volume, "name");
        let before = out.len();
        source(out, volume, pod, &path, options);
        if name.is_empty() {
            out.required(&path.child("name"), "");
        } else {
            out.said(&path.child("name"), name, names::is_dns1123_label(name));
        }
        if sound.contains_key(name) {
            out.duplicate(&path.child("name"), name);
        }
        if out.len() == before {
            sound.insert(name, volume);
        }
        let claim = text(get(volume, "persistentVolumeClaim"), "claimName");
        if has(volume, "persistentVolumeClaim") && made.contains(claim) {
            let field = path.children(&["persistentVolumeClaim", "claimName"]);
            out.invalid(&field, claim, "must not reference a PVC that gets created for an ephemeral volume");
        }
    }
    sound
}

/// Upstream's order of sources, and the names that it gives them where there is one too many.
const SOURCES: &[(&str, &str)] = &[
    ("emptyDir", "emptyDir"),
    ("hostPath", "hostPath"),
    ("gitRepo", "gitRepo"),
    ("gcePersistentDisk", "gcePersistentDisk"),
    ("awsElasticBlockStore", "awsElasticBlockStore"),
    ("secret", "secret"),
    ("nfs", "nfs"),
    ("iscsi", "iscsi"),
    ("glusterfs", "glusterfs"),
    ("flocker", "flocker"),
    ("persistentVolumeClaim", "persistentVolumeClaim"),
    ("rbd", "rbd"),
    ("cinder", "cinder"),
    ("cephfs", "cephFS"),
    ("quobyte", "quobyte"),
    ("downwardAPI", "downwarAPI"),
    ("fc", "fc"),
    ("flexVolume", "flexVolume"),
    ("configMap", "configMap"),
    ("azureFile", "azureFile"),
    ("vsphereVolume", "vsphereVolume"),
    ("photonPersistentDisk", "photonPersistentDisk"),
    ("portworxVolume", "portworxVolume"),
    ("azureDisk", "azureDisk"),
    ("storageos", "storageos"),
    ("projected", "projected"),
    ("scaleIO", "scaleIO"),
    ("csi", "csi"),
    ("ephemeral", "ephemeral"),
    ("image", "image"),
];

fn source(out: &mut Found, volume: &Value, pod: &str, path: &Path, options: &Options) {
    let mut count = 0;
    for (name, shown) in SOURCES.iter().filter(|(name, _)| has(volume, name)) {
        count += 1;
        if count > 1 {
            out.forbidden(&path.child(shown), "may not specify more than 1 volume type");
        } else {
            one(out, volume, name, pod, path, options);
        }
        if *name == "iscsi" {
            let portal = text(get(volume, "iscsi"), "targetPortal");
            let length = text(volume, "name").len() + 1 + portal.len();
            if has(get(volume, "iscsi"), "initiatorName") && length > 64 {
                let said = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if \
                            iscsi.initiatorName is specified.";
                out.invalid(&path.child("name"), text(volume, "name"), said);
            }
        }
    }
    if count == 0 {
        out.required(path, "must specify a volume type");
    }
}

fn one(out: &mut Found, volume: &Value, name: &str, pod: &str, path: &Path, options: &Options) {
    let (from, field) = (get(volume, name), path.child(name));
    let needs = |out: &mut Found, wanted: &[&str]| sources::needs(out, from, wanted, &field);
    match name {
        "emptyDir" => {
            if resources::quantity(get(from, "sizeLimit")).sign() < 0 {
                out.forbidden(&field.child("sizeLimit"), "SizeLimit field must be a valid resource quantity");
            }
            if let Some(mode) = number(from, "mode").filter(|mode| !(0..=0o1777).contains(mode)) {
                let said = "must be a number between 0 and 01777 (octal), both inclusive";
                out.invalid(&field.child("mode"), mode, said);
            }
        }
        "hostPath" => sources::host_path(out, from, &field),
        "gitRepo" => {
            needs(out, &["repository"]);
            sources::local_descending(out, text(from, "directory"), &field.child("directory"));
        }
        "gcePersistentDisk" => sources::disk(out, from, "pdName", &path.child("persistentDisk")),
        "awsElasticBlockStore" => sources::disk(out, from, "volumeID", &field),
        "secret" => sources::keys(out, from, "secretName", &field),
        "nfs" => sources::nfs(out, from, &field),
        "iscsi" => sources::iscsi(out, from, &field),
        "glusterfs" => needs(out, &["endpoints", "path"]),
        "flocker" => sources::flocker(out, from, &field),
        "persistentVolumeClaim" => needs(out, &["claimName"]),
        "rbd" => needs(out, &["monitors", "image"]),
        "cinder" => {
            needs(out, &["volumeID"]);
            sources::secret_ref(out, from, &field);
        }
        "cephfs" => needs(out, &["monitors"]),
        "quobyte" => sources::quobyte(out, from, &field),
        "downwardAPI" => projected::downward_api(out, from, &field),
        "fc" => sources::fibre_channel(out, from, &field),
        "flexVolume" => sources::flex(out, from, &field),
        "configMap" => sources::keys(out, from, "name", &field),
        "azureFile" => needs(out, &["secretName", "shareName"]),
        "vsphereVolume" => needs(out, &["volumePath"]),
        "photonPersistentDisk" => needs(out, &["pdID"]),
        "portworxVolume" => needs(out, &["volumeID"]),
        "azureDisk" => sources::azure_disk(out, from, &field),
        "storageos" => sources::storage_os(out, from, &field),
        "projected" => projected::check(out, from, &field, options),
        "scaleIO" => needs(out, &["gateway", "system", "volumeName"]),
        "csi" => sources::csi(out, from, &field),
        "ephemeral" => ephemeral(out, volume, pod, path, &field),
        _ => {
            if !options.empty_images {
                needs(out, &["reference"]);
            }
            super::containers::pull_policy(out, from, "pullPolicy", &field);
        }
    }
}

fn ephemeral(out: &mut Found, volume: &Value, pod: &str, path: &Path, field: &Path) {
    let template = get(get(volume, "ephemeral"), "volumeClaimTemplate");
    let field = field.child("volumeClaimTemplate");
    if template.is_null() {
        out.required(&field, "");
    } else {
        out.extend(claim::claim_template(template, &field));
    }
    let name = text(volume, "name");
    if !pod.is_empty() && !name.is_empty() {
        let claim = format!("{pod}-{name}");
        for said in names::is_dns1123_subdomain(&claim) {
            out.invalid(&path.child("name"), name, format!("PVC name {}: {said}", crate::field::go_quoted(&claim)));
        }
    }
}

/// Whether a token is written outside of its volume.
pub fn has_outside_token(spec: &Value) -> bool {
    let all = list(spec, "volumes").iter().flat_map(|volume| list(get(volume, "projected"), "sources"));
    all.filter(|source| has(source, "serviceAccountToken")).any(|source| {
        let mut out = Found::new();
        let path = text(get(source, "serviceAccountToken"), "path");
        sources::local_unreserved(&mut out, path, &Path::new(""));
        !out.is_empty()
    })
}
