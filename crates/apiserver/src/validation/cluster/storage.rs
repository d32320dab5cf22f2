//! StorageClass, VolumeAttributesClass, VolumeAttachment, CSIStorageCapacity.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::found::{Found, IMMUTABLE};
use super::volumes::{self, Use};
use crate::field::{FieldError, Wrong};
use crate::validation::meta;
use crate::validation::names::{self, name_is_dns_subdomain, range_error};
use crate::validation::path::{Path, at, entries, get, has, list, number, same, str_value, text, texts};
use crate::validation::selectors;

/// The most parameters of a class.
const PARAMETERS_MAX: usize = 512;
/// All parameters of a class together; also what a driver may say about an attachment.
const BYTES_MAX: usize = 256 * 1024;
/// The longest message of an error about a volume.
const MESSAGE_MAX: usize = 1024;

/// A new class.
pub(super) fn create_class(found: &mut Found, new: &Value) {
    found.metadata(new, false, name_is_dns_subdomain);
    provisioner(found, new, "provisioner", true);
    parameters(found, new, true);
    if let Some(policy) = get(new, "reclaimPolicy").as_str() {
        const POLICIES: &[&str] = &["Delete", "Retain"];
        if !policy.is_empty() && !POLICIES.contains(&policy) {
            found.unsupported(&Path::new("reclaimPolicy"), policy, POLICIES);
        }
    }
    match get(new, "volumeBindingMode").as_str() {
        None => found.required("volumeBindingMode", ""),
        Some("Immediate" | "WaitForFirstConsumer") => {}
        Some(mode) => {
            found.unsupported(&Path::new("volumeBindingMode"), mode, &["Immediate", "WaitForFirstConsumer"]);
        }
    }
    topologies(found, list(new, "allowedTopologies"), &Path::new("allowedTopologies"));
}

/// A class that replaces another: almost nothing of it may change (RG-10).
pub(super) fn update_class(found: &mut Found, new: &Value, old: &Value) {
    create_class(found, new);
    found.metadata_update(new, old);
    for name in ["provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"] {
        found.unchanged_late(&Path::new(name), get(new, name), get(old, name));
    }
}

fn provisioner(found: &mut Found, new: &Value, name: &str, declarative: bool) {
    let (value, path) = (text(new, name), Path::new(name));
    if !value.is_empty() {
        let lower = value.to_lowercase();
        found.complain(&path, &lower, names::is_qualified_name(&lower));
    } else if declarative {
        found.late(FieldError::required(&path, ""));
    } else {
        found.required(&path, "");
    }
}

fn parameters(found: &mut Found, new: &Value, may_be_empty: bool) {
    let path = Path::new("parameters");
    let count = entries(new, "parameters").count();
    if count > PARAMETERS_MAX {
        found.too_long(&path, PARAMETERS_MAX);
        return;
    }
    let mut size = 0;
    for (key, value) in entries(new, "parameters") {
        if key.is_empty() {
            found.invalid(&path, "", "field can not be empty.");
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > BYTES_MAX {
        found.too_long(&path, BYTES_MAX);
    }
    if !may_be_empty && count == 0 {
        found.required(&path, "must contain at least one key/value pair");
    }
}

fn topologies(found: &mut Found, terms: &[Value], path: &Path) {
    // Upstream begins with as many empty terms as there are; an empty term therefore repeats each of them.
    let mut seen: Vec<Option<BTreeMap<&str, BTreeSet<&str>>>> = vec![None; terms.len()];
    for (i, term) in terms.iter().enumerate() {
        let path = path.index(i).child("matchLabelExpressions");
        let mut raw: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (j, requirement) in list(term, "matchLabelExpressions").iter().enumerate() {
            let path = path.index(j);
            let mut values = BTreeSet::new();
            if list(requirement, "values").is_empty() {
                found.required(path.child("values"), "");
            }
            for (k, value) in texts(requirement, "values").into_iter().enumerate() {
                if !values.insert(value) {
                    found.duplicate(path.child("values").index(k), value);
                }
            }
            let key = text(requirement, "key");
            found.extend(meta::label_name(key, &path.child("key")));
            if raw.insert(key, values).is_some() {
                found.duplicate(path.child("key"), key);
            }
        }
        for other in &seen {
            if other.as_ref().map_or(raw.is_empty(), |other| *other == raw) {
                found.duplicate(&path, "");
            }
        }
        seen.push(Some(raw));
    }
}

/// A new class of attributes.
pub(super) fn create_attributes_class(found: &mut Found, new: &Value) {
    found.metadata(new, false, name_is_dns_subdomain);
    provisioner(found, new, "driverName", false);
    parameters(found, new, false);
}

/// A class of attributes that replaces another.
pub(super) fn update_attributes_class(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    for name in ["driverName", "parameters"] {
        if !same(get(new, name), get(old, name)) {
            found.forbidden(name, &format!("updates to {name} are forbidden."));
        }
    }
    create_attributes_class(found, new);
}

/// A new attachment.
pub(super) fn create_attachment(found: &mut Found, new: &Value) {
    attachment(found, new, None);
}

/// An attachment that replaces another. Through its status, too.
pub(super) fn update_attachment(found: &mut Found, new: &Value, old: &Value) {
    attachment(found, new, Some(old));
}

fn attachment(found: &mut Found, new: &Value, old: Option<&Value>) {
    found.metadata(new, false, name_is_dns_subdomain);
    let (path, spec) = (Path::new("spec"), get(new, "spec"));
    // A changed spec is refused as a whole; what is wrong within it is then said by the rules of new attachments only.
    let changed = old.is_some_and(|old| !same(spec, get(old, "spec")));
    driver(found, text(spec, "attacher"), old.is_none(), &path.child("attacher"));
    let field = path.child("source");
    let source = get(spec, "source");
    let said = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (get(source, "persistentVolumeName").as_str(), has(source, "inlineVolumeSpec")) {
        (None, false) => found.required(&field, said),
        (Some(_), true) => found.forbidden(&field, said),
        (Some(""), false) => {
            found.required(field.child("persistentVolumeName"), "must specify non empty persistentVolumeName");
        }
        (Some(_), false) => {}
        (None, true) => {
            volumes::spec(found, get(source, "inlineVolumeSpec"), Use::Inline, &field.child("inlineVolumeSpec"));
        }
    }
    found.subdomain(&path.child("nodeName"), text(spec, "nodeName"));
    attachment_status(found, get(new, "status"));
    if let Some(name) = get(source, "persistentVolumeName").as_str() {
        found.subdomain(&field.child("persistentVolumeName"), name);
    }
    if changed {
        found.late(FieldError::invalid(&path, &Value::Null, IMMUTABLE));
    }
}

/// The name of a driver: a domain, in small letters or not.
pub(super) fn driver(found: &mut Found, name: &str, declarative: bool, path: &Path) {
    let mut say = |error| if declarative { found.late(error) } else { found.push(error) };
    if name.is_empty() {
        say(FieldError::required(path, ""));
        return;
    }
    // The hand-written rules complain about the length first, the declarative ones last; and these count characters.
    let too_long = (name.len() > 63).then(|| {
        let unit = if declarative { "characters" } else { "bytes" };
        FieldError::new(Wrong::TooLong, path, &Value::Null, format!("may not be more than 63 {unit}"))
    });
    if let (false, Some(error)) = (declarative, &too_long) {
        say(error.clone());
    }
    for complaint in names::is_dns1123_subdomain(&name.to_lowercase()) {
        // The declarative rule has its own sentence about case.
        let complaint = if declarative {
            names::declared(&complaint)
                .replace(
                    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric",
                    "an RFC 1123 subdomain must consist of alphanumeric",
                )
                .replace("'example.com'", "'Example.com'")
        } else {
            complaint
        };
        say(FieldError::invalid(path, &str_value(name), complaint));
    }
    if let (true, Some(error)) = (declarative, too_long) {
        say(error);
    }
}

fn attachment_status(found: &mut Found, status: &Value) {
    let path = Path::new("status");
    let size: usize =
        entries(status, "attachmentMetadata").map(|(k, v)| k.len() + v.as_str().map_or(0, str::len)).sum();
    if size > BYTES_MAX {
        found.too_long(&path.child("attachmentMetadata"), BYTES_MAX);
    }
    for name in ["attachError", "detachError"] {
        let (error, path) = (get(status, name), path.child(name));
        if text(error, "message").len() > MESSAGE_MAX {
            found.too_long(&path.child("message"), MESSAGE_MAX);
        }
        if let Some(code) = number(error, "errorCode").filter(|code| *code < 0) {
            found.invalid(path.child("errorCode"), code, range_error(0, i64::from(i32::MAX)));
        }
    }
}

/// A new capacity.
pub(super) fn create_capacity(found: &mut Found, new: &Value) {
    capacity(found, new, false);
}

fn capacity(found: &mut Found, new: &Value, invalid_labels: bool) {
    found.metadata(new, true, name_is_dns_subdomain);
    found.extend(selectors::label_selector(get(new, "nodeTopology"), invalid_labels, &Path::new("nodeTopology")));
    found.subdomain(&Path::new("storageClassName"), text(new, "storageClassName"));
    if has(new, "capacity") {
        found.non_negative_quantity(&Path::new("capacity"), get(new, "capacity"));
    }
}

/// A capacity that replaces another: neither its class nor its topology may change (RG-11).
pub(super) fn update_capacity(found: &mut Found, new: &Value, old: &Value) {
    let topology = at(old, &["nodeTopology"]);
    capacity(found, new, !selectors::label_selector(topology, false, &Path::new("")).is_empty());
    found.metadata_update(new, old);
    found.unchanged_struct(
        &Path::new("nodeTopology"),
        super::gojson::Type::Opt(&super::gojson::Type::Struct(super::gotypes::LABEL_SELECTOR)),
        get(new, "nodeTopology"),
        topology,
    );
    found.unchanged_text(&Path::new("storageClassName"), text(new, "storageClassName"), text(old, "storageClassName"));
}
