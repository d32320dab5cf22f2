//! The spec of a claim for storage, wherever it stands: in a claim, in a pod's ephemeral volume, in a stateful set's templates.

use serde_json::Value;

use crate::field::FieldError;
use crate::validation::found::Found;
use crate::validation::meta;
use crate::validation::names;
use crate::validation::path::{Path, at, get, has, text, texts};
use crate::validation::resources;
use crate::validation::selectors;

const ACCESS_MODES: &[&str] = &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/// A claim's spec. The switches take what was there before: values in the selector that are no label values, groups that are none.
pub fn claim_spec(spec: &Value, lenient_selector: bool, lenient_group: bool, path: &Path) -> Vec<FieldError> {
    let mut out = Found::new();
    let modes = texts(spec, "accessModes");
    let modes_path = path.child("accessModes");
    if modes.is_empty() {
        out.required(&modes_path, "at least 1 access mode is required");
    }
    out.extend(selectors::label_selector(get(spec, "selector"), lenient_selector, &path.child("selector")));
    for mode in &modes {
        out.one_of(&modes_path, mode, ACCESS_MODES);
    }
    let one_pod = modes.contains(&"ReadWriteOncePod");
    if one_pod && modes.iter().any(|mode| *mode != "ReadWriteOncePod" && ACCESS_MODES.contains(mode)) {
        out.forbidden(&modes_path, "may not use ReadWriteOncePod with other access modes");
    }
    let storage = at(spec, &["resources", "requests", "storage"]);
    let storage_path = path.child("resources").key("storage");
    if storage.is_null() {
        out.required(&storage_path, "");
    } else if let Some(error) = resources::positive(storage, &storage_path) {
        out.push(error);
    } else {
        out.extend(resources::resource_value("storage", storage, &storage_path));
    }
    class_name(&mut out, spec, "storageClassName", path);
    if has(spec, "volumeMode") {
        out.one_of(&path.child("volumeMode"), text(spec, "volumeMode"), &["Block", "Filesystem"]);
    }
    let (source, reference) = (get(spec, "dataSource"), get(spec, "dataSourceRef"));
    for (name, from) in [("dataSource", source), ("dataSourceRef", reference)] {
        if !from.is_null() {
            data_source(&mut out, from, lenient_group, &path.child(name));
        }
    }
    // Upstream shows the path instead of a value here, which has nothing in it that could be shown.
    if !text(reference, "namespace").is_empty() {
        if !source.is_null() {
            let said = "may not be specified when dataSourceRef.namespace is specified";
            out.invalid_shown(path, "{}".into(), said);
        }
    } else if !source.is_null() && !reference.is_null() {
        let same = ["apiGroup", "kind", "name"].iter().all(|name| get(source, name) == get(reference, name));
        if !same {
            out.invalid_shown(path, "{}".into(), "must match dataSourceRef");
        }
    }
    class_name(&mut out, spec, "volumeAttributesClassName", path);
    out.into_errors()
}

fn class_name(out: &mut Found, spec: &Value, field: &str, path: &Path) {
    let name = text(spec, field);
    if !name.is_empty() {
        out.said(&path.child(field), name, names::is_dns1123_subdomain(name));
    }
}

fn data_source(out: &mut Found, from: &Value, lenient_group: bool, path: &Path) {
    for name in ["name", "kind"] {
        if text(from, name).is_empty() {
            out.required(&path.child(name), "");
        }
    }
    let (group, kind) = (text(from, "apiGroup"), text(from, "kind"));
    if group.is_empty() && kind != "PersistentVolumeClaim" {
        out.invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
    }
    if !group.is_empty() && !lenient_group {
        out.said(&path.child("apiGroup"), group, names::is_dns1123_subdomain(group));
    }
    let namespace = text(from, "namespace");
    if !namespace.is_empty() {
        out.said(&path.child("namespace"), namespace, names::is_dns1123_label(namespace));
    }
}

/// A template of claims in a pod's ephemeral volume: of the metadata only labels and annotations may be set.
pub fn claim_template(template: &Value, path: &Path) -> Vec<FieldError> {
    let mut out = Found::new();
    out.extend(template_metadata(get(template, "metadata"), &path.child("metadata")));
    out.extend(claim_spec(get(template, "spec"), false, false, &path.child("spec")));
    out.into_errors()
}

/// The metadata of a template: what is made of it gets labels and annotations, and nothing else.
pub fn template_metadata(metadata: &Value, field: &Path) -> Vec<FieldError> {
    const OTHERS: &[(&str, &str)] = &[
        ("name", "name"),
        ("generateName", "generateName"),
        ("namespace", "namespace"),
        ("selfLink", "selfLink"),
        ("uid", "uID"),
        ("resourceVersion", "resourceVersion"),
        ("generation", "generation"),
        ("creationTimestamp", "creationTimestamp"),
        ("deletionTimestamp", "deletionTimestamp"),
        ("deletionGracePeriodSeconds", "deletionGracePeriodSeconds"),
        ("ownerReferences", "ownerReferences"),
        ("finalizers", "finalizers"),
        ("managedFields", "managedFields"),
    ];
    let mut out = Found::new();
    out.extend(meta::annotations(metadata, &field.child("annotations")));
    out.extend(meta::labels(metadata, "labels", &field.child("labels")));
    for (name, shown) in OTHERS {
        if has(metadata, name) {
            out.forbidden(&field.child(shown), "cannot be set");
        }
    }
    out.into_errors()
}
