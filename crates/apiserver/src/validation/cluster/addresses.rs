//! Endpoints and EndpointSlice.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::Value;

use super::found::{Found, too_many};
use super::services::{PROTOCOLS, protocol};
use crate::field::FieldError;
use crate::validation::ip;
use crate::validation::meta;
use crate::validation::names::{self, name_is_dns_subdomain};
use crate::validation::path::{Path, entries, get, list, number, same, str_value, text, texts};
use crate::validation::shown;

/// An address that traffic can be sent to.
pub(super) fn endpoint_ip(found: &mut Found, address: &str, path: &Path) {
    let Some(parsed) = ip::parse_ip(address) else {
        found.invalid(path, address, "must be a valid IP address");
        return;
    };
    // An IPv4 address in IPv6's clothes counts as what it is.
    let parsed = match parsed {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(parsed, IpAddr::V4),
        v4 => v4,
    };
    let (local, local_multicast) = match parsed {
        IpAddr::V4(v4) => (v4.is_link_local(), v4.octets().starts_with(&[224, 0, 0])),
        IpAddr::V6(v6) => {
            let segments = v6.segments();
            let first = segments.first().copied().unwrap_or_default();
            (first & 0xffc0 == 0xfe80, first & 0xff0f == 0xff02)
        }
    };
    if parsed.is_unspecified() {
        found.invalid(path, address, format!("may not be unspecified ({address})"));
    }
    if parsed.is_loopback() {
        found.invalid(path, address, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    }
    if local {
        found.invalid(path, address, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    }
    if local_multicast {
        found.invalid(path, address, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
    }
}

/// New endpoints.
pub(super) fn create_endpoints(found: &mut Found, new: &Value) {
    endpoints(found, new, None);
}

/// Endpoints that replace others.
pub(super) fn update_endpoints(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    endpoints(found, new, Some(old));
}

fn endpoints(found: &mut Found, new: &Value, old: Option<&Value>) {
    found.metadata(new, true, name_is_dns_subdomain);
    // What is wrong already stays accepted as long as it does not change.
    if old.is_some_and(|old| same(get(new, "subsets"), get(old, "subsets"))) {
        return;
    }
    for (i, subset) in list(new, "subsets").iter().enumerate() {
        let path = Path::new("subsets").index(i);
        let (ready, not_ready) = (list(subset, "addresses"), list(subset, "notReadyAddresses"));
        if ready.is_empty() && not_ready.is_empty() {
            found.required(&path, "must specify `addresses` or `notReadyAddresses`");
        }
        for (name, addresses) in [("addresses", ready), ("notReadyAddresses", not_ready)] {
            for (j, one) in addresses.iter().enumerate() {
                address(found, one, &path.child(name).index(j));
            }
        }
        let ports = list(subset, "ports");
        for (j, port) in ports.iter().enumerate() {
            let path = path.child("ports").index(j);
            let name = text(port, "name");
            if !name.is_empty() {
                found.label(&path.child("name"), name);
            } else if ports.len() > 1 {
                found.required(path.child("name"), "");
            }
            found.port(&path.child("port"), number(port, "port").unwrap_or_default());
            protocol(found, text(port, "protocol"), &path.child("protocol"));
            if let Some(protocol) = get(port, "appProtocol").as_str() {
                found.qualified(&path.child("appProtocol"), protocol);
            }
        }
    }
}

fn address(found: &mut Found, address: &Value, path: &Path) {
    let value = text(address, "ip");
    found.extend(ip::is_ip_legacy(&path.child("ip"), value, &[]));
    let host = text(address, "hostname");
    if !host.is_empty() {
        found.label(&path.child("hostname"), host);
    }
    if let Some(node) = get(address, "nodeName").as_str() {
        found.subdomain(&path.child("nodeName"), node);
    }
    endpoint_ip(found, value, &path.child("ip"));
}

const ENDPOINTS_MAX: usize = 1000;
const PORTS_MAX: usize = 20000;
const ADDRESSES_MAX: usize = 100;
const TOPOLOGY_MAX: usize = 16;
const HINTS_MAX: usize = 8;

/// A new slice.
pub(super) fn create_slice(found: &mut Found, new: &Value) {
    slice(found, new, None);
}

/// A slice that replaces another.
pub(super) fn update_slice(found: &mut Found, new: &Value, old: &Value) {
    slice(found, new, Some(old));
}

fn slice(found: &mut Found, new: &Value, old: Option<&Value>) {
    const TYPES: &[&str] = &["FQDN", "IPv4", "IPv6"];
    found.metadata(new, true, name_is_dns_subdomain);
    let (kind, path) = (text(new, "addressType"), Path::new("addressType"));
    let before = old.map(|old| text(old, "addressType"));
    let known = TYPES.contains(&kind);
    match before {
        // What did not change is not looked at by the declarative rules, so that the others speak.
        Some(before) if before == kind && kind.is_empty() => found.required(&path, ""),
        Some(before) if before == kind && !known => found.unsupported(&path, kind, TYPES),
        Some(before) if before == kind => {}
        _ if kind.is_empty() => found.late(FieldError::required(&path, "")),
        None if !known => found.late(shown::unsupported(&path, &str_value(kind), TYPES)),
        // A changed type is refused for that alone by the declarative rules; that it is unknown, by the others.
        Some(_) if !known => found.unsupported(&path, kind, TYPES),
        _ => {}
    }
    slice_ports(found, list(new, "ports"));
    let unchanged = old.is_some_and(|old| same(get(new, "endpoints"), get(old, "endpoints")));
    if before.is_some_and(|before| before != kind) {
        found.late(FieldError::invalid(&path, &Value::Null, "field is immutable"));
    }
    if !unchanged {
        let all = list(new, "endpoints");
        if all.len() > ENDPOINTS_MAX {
            found.too_many(&Path::new("endpoints"), all.len(), ENDPOINTS_MAX);
        }
        for (i, endpoint) in all.iter().enumerate() {
            let path = Path::new("endpoints").index(i);
            // Of endpoints, the declarative rules look at those that were not in the old list at all.
            let known = old.is_some_and(|old| list(old, "endpoints").iter().any(|other| same(other, endpoint)));
            count(found, list(endpoint, "addresses").len(), known, &path.child("addresses"));
            if all.len() <= ENDPOINTS_MAX {
                slice_endpoint(found, endpoint, kind, &path);
            }
        }
    }
}

fn count(found: &mut Found, count: usize, by_hand: bool, path: &Path) {
    let error = match count {
        0 if by_hand => FieldError::required(path, "must contain at least 1 address"),
        0 => FieldError::required(path, ""),
        count if count > ADDRESSES_MAX => too_many(path, count, ADDRESSES_MAX),
        _ => return,
    };
    if by_hand {
        found.push(error);
    } else {
        found.late(error);
    }
}

fn slice_endpoint(found: &mut Found, endpoint: &Value, kind: &str, path: &Path) {
    let field = path.child("addresses");
    for (i, address) in texts(endpoint, "addresses").into_iter().enumerate() {
        let at = field.index(i);
        let (errors, right, said) = match kind {
            "IPv4" => (ip::is_ip_legacy(&at, address, &[]), ip::is_ipv4(address), "must be an IPv4 address"),
            "IPv6" => (ip::is_ip(&at, address), ip::is_ipv6(address), "must be an IPv6 address"),
            "FQDN" => {
                found.extend(names::is_fully_qualified_domain_name(&at, address));
                continue;
            }
            _ => continue,
        };
        if errors.is_empty() {
            if !right {
                found.invalid(&field, address, said);
            }
            endpoint_ip(found, address, &at);
        }
        found.extend(errors);
    }
    if let Some(node) = get(endpoint, "nodeName").as_str() {
        found.subdomain(&path.child("nodeName"), node);
    }
    let field = path.child("deprecatedTopology");
    let labels = entries(endpoint, "deprecatedTopology").count();
    if labels > TOPOLOGY_MAX {
        found.too_many(&field, labels, TOPOLOGY_MAX);
    }
    found.extend(meta::labels(endpoint, "deprecatedTopology", &field));
    if let Some(host) = get(endpoint, "hostname").as_str() {
        found.label(&path.child("hostname"), host);
    }
    let (hints, path) = (get(endpoint, "hints"), path.child("hints"));
    for (name, rule) in
        [("forZones", names::is_label_value as fn(&str) -> Vec<String>), ("forNodes", names::is_dns1123_subdomain)]
    {
        let (all, path) = (list(hints, name), path.child(name));
        if all.len() > HINTS_MAX {
            found.too_many(&path, all.len(), HINTS_MAX);
            return;
        }
        for (i, hint) in all.iter().enumerate() {
            let (name, path) = (text(hint, "name"), path.index(i).child("name"));
            if all.iter().take(i).any(|other| text(other, "name") == name) {
                found.duplicate(&path, name);
            }
            found.complain(&path, name, rule(name));
        }
    }
}

fn slice_ports(found: &mut Found, ports: &[Value]) {
    let path = Path::new("ports");
    if ports.len() > PORTS_MAX {
        found.too_many(&path, ports.len(), PORTS_MAX);
        return;
    }
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (i, port) in ports.iter().enumerate() {
        let (name, path) = (text(port, "name"), path.index(i));
        if !name.is_empty() {
            found.label(&path.child("name"), name);
        }
        if !seen.insert(name) {
            found.duplicate(path.child("name"), name);
        }
        match get(port, "protocol").as_str() {
            None => found.required(path.child("protocol"), ""),
            Some(protocol) if !PROTOCOLS.contains(&protocol) => {
                found.unsupported(&path.child("protocol"), protocol, PROTOCOLS);
            }
            Some(_) => {}
        }
        if let Some(protocol) = get(port, "appProtocol").as_str() {
            found.qualified(&path.child("appProtocol"), protocol);
        }
    }
}
