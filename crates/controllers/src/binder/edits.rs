//! The four writes of a binding, and their undoing, as changes to JSON objects (pv-matching.md 2.7, pv-controller.md 4.6).

use plimsoll_api::names;
use plimsoll_engine::binder::DeletionFinalizers;
use plimsoll_engine::quantity::Quantity;
use serde_json::{Value, json};

use plimsoll_api::edit::{annotate, annotation, finalizer, phase, unannotate};

/// First: the volume refers to the claim. One that a person reserved by name is not marked as ours, so that undoing
/// leaves their reservation.
pub fn refer_to_claim(volume: &mut Value, claim: &Value) {
    let (meta, old) = (&claim["metadata"], &volume["spec"]["claimRef"]);
    let same = |field: &str| old[field] == meta[field];
    let named = old.is_object() && same("name") && same("namespace");
    let reserved = named && (old["uid"].as_str().unwrap_or_default().is_empty() || same("uid"));
    if !(named && same("uid")) {
        volume["spec"]["claimRef"] = json!({
            "kind": "PersistentVolumeClaim",
            "apiVersion": "v1",
            "namespace": meta["namespace"],
            "name": meta["name"],
            "uid": meta["uid"],
            "resourceVersion": meta["resourceVersion"],
        });
    }
    if !reserved && annotation(volume, names::BOUND_BY_CONTROLLER).is_none() {
        annotate(volume, names::BOUND_BY_CONTROLLER, "yes");
    }
}

/// Third: the claim names the volume, and says that it has been through all this.
pub fn name_volume(claim: &mut Value, volume: &str) {
    if claim["spec"]["volumeName"] != volume {
        claim["spec"]["volumeName"] = json!(volume);
        if annotation(claim, names::BOUND_BY_CONTROLLER).is_none() {
            annotate(claim, names::BOUND_BY_CONTROLLER, "yes");
        }
    }
    if annotation(claim, names::BIND_COMPLETED).is_none() {
        annotate(claim, names::BIND_COMPLETED, "yes");
    }
}

/// Fourth: the claim's status shows what it has. The size is shown when it becomes Bound and left to the resizers from
/// then on (PC-32).
pub fn claim_bound(claim: &mut Value, volume: &Value) {
    let was = claim["status"]["phase"].clone();
    let spec = &volume["spec"];
    if claim["status"]["accessModes"] != spec["accessModes"] {
        claim["status"]["accessModes"] = spec["accessModes"].clone();
    }
    if was == "Bound" {
        return;
    }
    let resized = annotation(volume, names::PRE_RESIZE_CAPACITY).filter(|text| Quantity::parse(text).is_ok());
    match resized {
        Some(before) => claim["status"]["capacity"]["storage"] = json!(before),
        None => claim["status"]["capacity"] = spec["capacity"].clone(),
    }
    let attributes = &spec["volumeAttributesClassName"];
    if (was.is_null() || was == "Pending") && claim["status"]["currentVolumeAttributesClassName"] != *attributes {
        claim["status"]["currentVolumeAttributesClassName"] = attributes.clone();
    }
    phase(claim, "Bound", "");
    tidy(claim);
}

/// The status of a claim that has no volume: Pending or Lost.
pub fn claim_without_volume(claim: &mut Value, wanted: &str) {
    phase(claim, wanted, "");
    if let Some(status) = claim["status"].as_object_mut() {
        for field in ["accessModes", "capacity", "currentVolumeAttributesClassName"] {
            status.remove(field);
        }
    }
}

/// Undoes the first write.
pub fn unbind(volume: &mut Value, wholly: bool) {
    if wholly {
        volume["spec"].as_object_mut().map(|spec| spec.remove("claimRef"));
        unannotate(volume, names::BOUND_BY_CONTROLLER);
    } else {
        volume["spec"]["claimRef"].as_object_mut().map(|claim_ref| claim_ref.remove("uid"));
    }
}

/// Says who is to make the claim's volume, under both names of the annotation.
pub fn ask_provisioner(claim: &mut Value, provisioner: &str) {
    if annotation(claim, names::STORAGE_PROVISIONER) != Some(provisioner) {
        annotate(claim, names::BETA_STORAGE_PROVISIONER, provisioner);
        annotate(claim, names::STORAGE_PROVISIONER, provisioner);
    }
}

/// The annotation that says which driver took over from an in-tree plugin.
pub fn migrated(object: &mut Value, driver: Option<&str>) {
    match driver {
        Some(driver) => annotate(object, names::MIGRATED_TO, driver),
        None if annotation(object, names::MIGRATED_TO).is_some_and(|d| !d.is_empty()) => {
            unannotate(object, names::MIGRATED_TO);
        }
        None => {}
    }
}

/// The finalizers that keep a volume until its maker has deleted what is behind it.
pub fn deletion_finalizers(volume: &mut Value, wanted: DeletionFinalizers) {
    if let Some(in_tree) = wanted.in_tree {
        finalizer(volume, names::DELETION_IN_TREE, in_tree);
    }
    if let Some(external) = wanted.external {
        finalizer(volume, names::DELETION_EXTERNAL, external);
    }
}

/// Fields that were set to nothing are not there.
fn tidy(claim: &mut Value) {
    if let Some(status) = claim["status"].as_object_mut() {
        status.retain(|_, value| !value.is_null());
    }
}
