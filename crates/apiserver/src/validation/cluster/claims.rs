//! PersistentVolumeClaim: what may be asked for, and what of it may still change.

use serde_json::Value;

use super::found::{Found, quantity};
use super::gojson::{self, Type};
use super::gotypes::PERSISTENT_VOLUME_CLAIM_SPEC;
use super::resources::{self, is_native};
use crate::validation::claim::claim_spec;
use crate::validation::names::{self, name_is_dns_subdomain};
use crate::validation::path::{Path, at, entries, get, has, list, same, str_value, text};
use crate::validation::selectors;

/// The annotation that named the class before there was a field for it.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// In upstream's order.
pub(super) const ACCESS_MODES: &[&str] = &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
/// In upstream's order.
pub(super) const VOLUME_MODES: &[&str] = &["Block", "Filesystem"];

/// A new claim.
pub(super) fn create(found: &mut Found, new: &Value) {
    claim(found, new, Allowed::default());
}

/// What an older claim has already, and what stays accepted for its sake.
#[derive(Debug, Default, Clone, Copy)]
struct Allowed {
    invalid_label_values: bool,
    invalid_group: bool,
}

impl Allowed {
    fn by(old: &Value) -> Self {
        let spec = get(old, "spec");
        let selector = get(spec, "selector");
        Self {
            invalid_label_values: !selectors::label_selector(selector, false, &Path::new("")).is_empty(),
            invalid_group: ["dataSource", "dataSourceRef"].iter().any(|name| has(get(spec, name), "apiGroup")),
        }
    }
}

fn claim(found: &mut Found, new: &Value, allowed: Allowed) {
    found.metadata(new, true, name_is_dns_subdomain);
    let Allowed { invalid_label_values, invalid_group } = allowed;
    found.extend(claim_spec(get(new, "spec"), invalid_label_values, invalid_group, &Path::new("spec")));
}

/// The access modes of a claim or a volume. `ReadWriteOncePod` stands alone.
pub(super) fn access_modes(found: &mut Found, modes: &[Value], path: &Path) {
    let mut single_pod = false;
    let mut other = false;
    for mode in modes.iter().filter_map(Value::as_str) {
        if !ACCESS_MODES.contains(&mode) {
            found.unsupported(path, mode, ACCESS_MODES);
        } else if mode == "ReadWriteOncePod" {
            single_pod = true;
        } else {
            other = true;
        }
    }
    if single_pod && other {
        found.forbidden(path, "may not use ReadWriteOncePod with other access modes");
    }
}

/// A claim that replaces another. Its status is the old one's: only the status subresource writes it.
pub(super) fn update(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    claim(found, new, Allowed::by(old));

    let status = get(old, "status");
    let bound = text(status, "phase") == "Bound";
    let mut after = get(new, "spec").clone();
    let mut before = get(old, "spec").clone();
    if text(&before, "volumeName").is_empty() {
        put(&mut before, "volumeName", get(&after, "volumeName").clone());
    }
    class_change(found, new, old, &mut after);
    if bound {
        let size = at(&before, &["resources", "requests", "storage"]).clone();
        if let Some(requests) = after.pointer_mut("/resources/requests").and_then(Value::as_object_mut) {
            requests.insert("storage".into(), size);
        }
        put(&mut after, "volumeAttributesClassName", get(&before, "volumeAttributesClassName").clone());
    }
    resources::same_amounts(&before, &mut after, &["/resources/requests", "/resources/limits"]);
    let spec = Path::new("spec");
    if !same(&after, &before) {
        let diff = gojson::diff(Type::Struct(PERSISTENT_VOLUME_CLAIM_SPEC), &before, &after);
        let said =
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        found.forbidden(&spec, &format!("{said}\n{diff}"));
    }

    let size = |object: &Value| quantity(at(object, &["spec", "resources", "requests", "storage"]));
    if size(new) < size(old) && size(new) <= quantity(at(status, &["capacity", "storage"])) {
        found.forbidden(
            spec.children(&["resources", "requests", "storage"]),
            "field can not be less than status.capacity",
        );
    }
    found.unchanged(&Path::new("volumeMode"), at(new, &["spec", "volumeMode"]), at(old, &["spec", "volumeMode"]));

    let class = |object| at(object, &["spec", "volumeAttributesClassName"]);
    if class(new) != class(old) && has(status, "currentVolumeAttributesClassName") {
        let to = match class(new).as_str() {
            None => Some("nil"),
            Some("") => Some("empty string"),
            Some(_) => None,
        };
        if let Some(to) = to {
            let said = format!("update to {to} is forbidden when status.currentVolumeAttributesClassName is not nil");
            found.forbidden(spec.child("volumeAttributesClassName"), &said);
        }
    }
}

/// A class may come where there was none: from the old annotation, or from nothing.
fn class_change(found: &mut Found, new: &Value, old: &Value, after: &mut Value) {
    let annotation = |object| at(object, &["metadata", "annotations", CLASS_ANNOTATION]);
    let (was, is) = (annotation(old), annotation(new));
    let had_none = !has(get(old, "spec"), "storageClassName");
    let class = at(new, &["spec", "storageClassName"]);
    let from_annotation = !was.is_null() && had_none && class == was && (is.is_null() || is == was);
    if !from_annotation {
        let path = Path::new("metadata").child("annotations").child(CLASS_ANNOTATION);
        found.unchanged_text(&path, is.as_str().unwrap_or_default(), was.as_str().unwrap_or_default());
    }
    let from_nothing = !class.is_null() && had_none && (was.is_null() || class == was);
    if from_annotation || from_nothing {
        put(after, "storageClassName", Value::Null);
    }
}

fn put(object: &mut Value, name: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        if value.is_null() {
            fields.remove(name);
        } else {
            fields.insert(name.to_owned(), value);
        }
    }
}

/// What a resize can be doing, in upstream's order.
const RESIZE: &[&str] = &[
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
];

/// A claim's status.
pub(super) fn update_status(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    if text(get(new, "metadata"), "resourceVersion").is_empty() {
        found.required("resourceVersion", "");
    }
    if list(get(new, "spec"), "accessModes").is_empty() {
        found.required("Spec.accessModes", "");
    }
    let (path, status) = (Path::new("status"), get(new, "status"));
    for (name, amount) in entries(status, "capacity") {
        found.basic_quantity(&path.child("capacity").key(name), amount);
    }
    let field = path.child("healthStatus").child("healthConditions");
    for (i, condition) in list(get(status, "healthStatus"), "healthConditions").iter().enumerate() {
        let reason = text(condition, "reason");
        if !reason.is_empty() {
            found.complain(&field.index(i).child("reason"), reason, names::is_condition_reason(reason));
        }
    }
    let field = path.child("allocatedResourceStatuses");
    for (name, state) in entries(status, "allocatedResourceStatuses") {
        resource_key(found, name, &field);
        if state.as_str().is_none_or(|state| !RESIZE.contains(&state)) {
            found.unsupported(&field, str_value(name), RESIZE);
        }
    }
    let field = path.child("allocatedResources");
    for (name, amount) in entries(status, "allocatedResources") {
        if resource_key(found, name, &field) {
            let field = field.key(name);
            if quantity(amount).value() < 0 {
                found.basic_quantity(&field, amount);
            } else {
                found.non_negative_quantity(&field, amount);
            }
        }
    }
}

fn resource_key(found: &mut Found, name: &str, path: &Path) -> bool {
    let complaints = names::is_qualified_name(name);
    let known = !is_native(name) || name == "storage";
    let good = complaints.is_empty() && known;
    if complaints.is_empty() && !known {
        found.unsupported(path, name, &["storage"]);
    }
    found.complain(path, name, complaints);
    good
}
