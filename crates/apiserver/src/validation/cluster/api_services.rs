//! APIService.

use serde_json::Value;

use super::found::Found;
use crate::field::go_quoted;
use crate::validation::names;
use crate::validation::path::{Path, flag, get, has, list, number, text};

/// A new service of an API: its name says what it serves.
pub(super) fn create(found: &mut Found, new: &Value) {
    // The rule for the name needs the spec, so that it is looked at apart from the rest of the metadata.
    let (path, spec) = (Path::new("spec"), get(new, "spec"));
    let (group, version) = (text(spec, "group"), text(spec, "version"));
    let name = text(get(new, "metadata"), "name");
    let field = Path::new("metadata").child("name");
    if !name.is_empty() {
        let complaints = names::is_path_segment_name(name);
        let required = format!("{version}.{group}");
        if complaints.is_empty() && name != required {
            found.invalid(&field, name, format!("must be `spec.version+\".\"+spec.group`: {}", go_quoted(&required)));
        }
        found.complain(&field, name, complaints);
    }
    found.plain_metadata(new, false, |_, _| Vec::new());
    if group.is_empty() && version != "v1" {
        found.required(path.child("group"), "only v1 may have an empty group and it better be legacy kube");
    }
    if !group.is_empty() {
        found.subdomain(&path.child("group"), group);
    }
    found.complain(&path.child("version"), version, names::is_dns1035_label(version));
    for (name, most) in [("groupPriorityMinimum", 20000), ("versionPriority", 1000)] {
        let priority = number(spec, name).unwrap_or_default();
        if !(1..=most).contains(&priority) {
            found.invalid(path.child(name), priority, format!("must be positive and less than {most}"));
        }
    }
    let (bundle, insecure) = (text(spec, "caBundle"), flag(spec, "insecureSkipTLSVerify"));
    let field = path.child("insecureSkipTLSVerify");
    if !has(spec, "service") {
        if !bundle.is_empty() {
            let padding = bundle.bytes().rev().take_while(|b| *b == b'=').count();
            let bytes = (bundle.len() / 4 * 3).saturating_sub(padding);
            found.invalid(
                path.child("caBundle"),
                format!("{bytes} bytes"),
                "local APIServices may not have a caBundle",
            );
        }
        if insecure {
            found.invalid(field, true, "local APIServices may not have insecureSkipTLSVerify");
        }
        return;
    }
    let (service, at) = (get(spec, "service"), path.child("service"));
    found.need(service, "namespace", &at);
    found.need(service, "name", &at);
    let port = number(service, "port").unwrap_or_default();
    let complaints = names::is_port_number(port);
    if !complaints.is_empty() {
        found.invalid(at.child("port"), port, format!("port is not valid: {}", complaints.join(", ")));
    }
    if insecure && !bundle.is_empty() {
        found.invalid(field, true, "may not be true if caBundle is present");
    }
}

/// One that replaces another.
pub(super) fn update(found: &mut Found, new: &Value, old: &Value) {
    found.plain_metadata_update(new, old);
    create(found, new);
}

/// Its status.
pub(super) fn update_status(found: &mut Found, new: &Value, old: &Value) {
    found.plain_metadata_update(new, old);
    for (i, condition) in list(get(new, "status"), "conditions").iter().enumerate() {
        let status = text(condition, "status");
        if !matches!(status, "True" | "False" | "Unknown") {
            let path = Path::new("status").child("conditions").index(i).child("status");
            found.unsupported(&path, status, &["True", "False", "Unknown"]);
        }
    }
}
