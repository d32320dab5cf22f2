//! ServiceCIDR and IPAddress.

use serde_json::Value;

use super::found::{Found, IMMUTABLE};
use super::gojson::{self, Type};
use super::gotypes::SERVICE_CIDR_SPEC;
use crate::field::FieldError;
use crate::validation::ip;
use crate::validation::names::{self, name_is_dns_subdomain};
use crate::validation::path::{Path, at, get, has, list, same, text, texts};
use crate::validation::shown::{self, go_json};

/// A new range.
pub(super) fn create(found: &mut Found, new: &Value) {
    found.metadata(new, false, name_is_dns_subdomain);
    ranges(found, get(new, "spec"));
}

fn ranges(found: &mut Found, spec: &Value) {
    let path = Path::new("spec").child("cidrs");
    let ranges = texts(spec, "cidrs");
    if ranges.is_empty() {
        found.required(&path, "at least one CIDR required");
        return;
    }
    if ranges.len() > 2 {
        let all = gojson::compact(Type::Struct(SERVICE_CIDR_SPEC), spec);
        found.push(shown::invalid(&path, all, "may only hold up to 2 values"));
        return;
    }
    let mut families = Vec::new();
    for (i, range) in ranges.iter().enumerate() {
        found.extend(ip::is_cidr(&path.index(i), range));
        let address = range.split_once('/').map_or("", |(address, _)| address);
        families.push(ip::parse_ip(address).map(|ip| ip.is_ipv6()));
    }
    if let [Some(first), Some(second)] = families.as_slice()
        && first == second
    {
        let said = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        found.push(shown::invalid(&path, go_json(get(spec, "cidrs")), said));
    }
}

/// A range that replaces another: a second one may come.
pub(super) fn update(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    let path = Path::new("spec").child("cidrs");
    let (after, before) = (list(get(new, "spec"), "cidrs"), list(get(old, "spec"), "cidrs"));
    match (before.len(), after.len()) {
        (a, b) if a == b => {
            for (i, (_, new)) in before.iter().zip(after).enumerate().filter(|(_, (old, new))| old != new) {
                found.invalid(path.index(i), new.clone(), IMMUTABLE);
            }
        }
        (1, 2) => {
            if let (Some(new), true) = (after.first(), after.first() != before.first()) {
                found.invalid(path.index(0), new.clone(), IMMUTABLE);
            }
            ranges(found, get(new, "spec"));
        }
        _ => found.push(shown::invalid(&path, go_json(at(new, &["spec", "cidrs"])), IMMUTABLE)),
    }
}

fn name_is_address(name: &str, _prefix: bool) -> Vec<String> {
    ip::is_ip(&Path::new(""), name).into_iter().map(|error| error.detail).collect()
}

/// A new address.
pub(super) fn create_address(found: &mut Found, new: &Value) {
    address(found, new, true);
}

fn address(found: &mut Found, new: &Value, declarative: bool) {
    found.metadata(new, false, name_is_address);
    let (path, spec) = (Path::new("spec").child("parentRef"), get(new, "spec"));
    let parent = get(spec, "parentRef");
    let required = |found: &mut Found, path: &Path| {
        let error = FieldError::required(path, "");
        if declarative {
            found.late(error);
        } else {
            found.push(error);
        }
    };
    if !has(spec, "parentRef") {
        required(found, &path);
        return;
    }
    let group = text(parent, "group");
    if !group.is_empty() {
        found.subdomain(&path.child("group"), group);
    }
    for name in ["resource", "name", "namespace"] {
        let (value, path) = (text(parent, name), path.child(name));
        if !value.is_empty() {
            found.complain(&path, value, names::is_path_segment_name(value));
        } else if name != "namespace" {
            required(found, &path);
        }
    }
}

/// An address that replaces another.
pub(super) fn update_address(found: &mut Found, new: &Value, old: &Value) {
    address(found, new, false);
    found.metadata_update(new, old);
    let parent = ["spec", "parentRef"];
    if !same(at(new, &parent), at(old, &parent)) {
        found.late(FieldError::invalid(Path::new("").children(&parent), &Value::Null, IMMUTABLE));
    }
}
