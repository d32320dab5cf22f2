//! NetworkPolicy.

use std::net::IpAddr;

use serde_json::Value;

use super::found::Found;
use crate::field::FieldError;
use crate::validation::ip;
use crate::validation::names::{self, name_is_dns_subdomain};
use crate::validation::path::{Path, get, has, list, number, same, text, texts};
use crate::validation::selectors::label_selector;
use crate::validation::shown::{self, go_json};

/// The two directions, with the name of the peers of each.
const WAYS: [(&str, &str); 2] = [("ingress", "from"), ("egress", "to")];

/// What an older policy has already, and what stays accepted for its sake.
#[derive(Debug, Default)]
struct Before<'a> {
    invalid_values: bool,
    ranges: Vec<&'a str>,
    blocks: Vec<&'a Value>,
}

/// A new policy.
pub(super) fn create(found: &mut Found, new: &Value) {
    found.metadata(new, true, name_is_dns_subdomain);
    spec(found, get(new, "spec"), &Before::default());
}

/// A policy that replaces another.
pub(super) fn update(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    let old = get(old, "spec");
    let mut before = Before {
        invalid_values: !label_selector(get(old, "podSelector"), false, &Path::new("")).is_empty(),
        ..Before::default()
    };
    for (way, peers) in WAYS {
        for block in list(old, way).iter().flat_map(|rule| list(rule, peers)).map(|peer| get(peer, "ipBlock")) {
            if !block.is_null() {
                before.ranges.push(text(block, "cidr"));
                before.ranges.extend(texts(block, "except"));
                before.blocks.push(block);
            }
        }
    }
    spec(found, get(new, "spec"), &before);
}

fn spec(found: &mut Found, spec: &Value, before: &Before<'_>) {
    let path = Path::new("spec");
    found.extend(label_selector(get(spec, "podSelector"), before.invalid_values, &path.child("podSelector")));
    for (way, peers) in WAYS {
        for (i, rule) in list(spec, way).iter().enumerate() {
            let path = path.child(way).index(i);
            for (j, one) in list(rule, "ports").iter().enumerate() {
                port(found, one, &path.child("ports").index(j));
            }
            for (j, one) in list(rule, peers).iter().enumerate() {
                peer(found, one, before, &path.child(peers).index(j));
            }
        }
    }
    let types = texts(spec, "policyTypes");
    let path = path.child("policyTypes");
    if types.len() > 2 {
        let said = "may not specify more than two policyTypes";
        found.push(shown::invalid(&path, go_json(get(spec, "policyTypes")), said));
        return;
    }
    for (i, word) in types.into_iter().enumerate() {
        if !matches!(word, "Ingress" | "Egress") {
            found.unsupported(&path.index(i), word, &["Ingress", "Egress"]);
        }
    }
}

fn port(found: &mut Found, port: &Value, path: &Path) {
    if let Some(protocol) = get(port, "protocol").as_str().filter(|it| !matches!(*it, "TCP" | "UDP" | "SCTP")) {
        found.unsupported(&path.child("protocol"), protocol, &["TCP", "UDP", "SCTP"]);
    }
    let (last, field) = (number(port, "endPort"), path.child("endPort"));
    match get(port, "port") {
        Value::Null => {
            if let Some(last) = last {
                found.invalid(field, last, "may not be specified when `port` is not specified");
            }
        }
        Value::String(name) => {
            if let Some(last) = last {
                found.invalid(field, last, "may not be specified when `port` is non-numeric");
            }
            found.complain(&path.child("port"), name, names::is_port_name(name));
        }
        first => {
            let first = first.as_i64().unwrap_or_default();
            found.port(&path.child("port"), first);
            if let Some(last) = last {
                if last < first {
                    found.invalid(&field, last, "must be greater than or equal to `port`");
                }
                found.port(&field, last);
            }
        }
    }
}

fn peer(found: &mut Found, peer: &Value, before: &Before<'_>, path: &Path) {
    let mut others = false;
    for name in ["podSelector", "namespaceSelector"] {
        if has(peer, name) {
            others = true;
            found.extend(label_selector(get(peer, name), before.invalid_values, &path.child(name)));
        }
    }
    let block = get(peer, "ipBlock");
    if !block.is_null() {
        ip_block(found, block, before, &path.child("ipBlock"));
        if others {
            found.forbidden(path, "may not specify both ipBlock and another peer");
        }
    } else if !others {
        found.required(path, "must specify a peer");
    }
}

fn ip_block(found: &mut Found, block: &Value, before: &Before<'_>, path: &Path) {
    let range = text(block, "cidr");
    if range.is_empty() {
        let error = FieldError::required(path.child("cidr"), "");
        if before.blocks.iter().any(|other| same(other, block)) {
            found.push(error);
        } else {
            found.late(error);
        }
        return;
    }
    found.extend(ip::is_cidr_legacy(&path.child("cidr"), range, &before.ranges));
    let Some(outer) = bits(range) else { return };
    for (i, except) in texts(block, "except").into_iter().enumerate() {
        let path = path.child("except").index(i);
        found.extend(ip::is_cidr_legacy(&path, except, &before.ranges));
        if let Some(inner) = bits(except)
            && !is_strictly_within(inner, outer)
        {
            found.invalid(&path, except, "must be a strict subset of `cidr`");
        }
    }
}

/// The bits of a range, aligned left, its prefix's length, and whether it is of IPv6. Forgives what old fields forgive.
fn bits(range: &str) -> Option<(u128, u32, bool)> {
    let (address, length) = range.split_once('/')?;
    let length: u32 = length.bytes().all(|b| b.is_ascii_digit()).then(|| length.parse().ok()).flatten()?;
    let (bits, most, six) = match ip::parse_ip(address)? {
        IpAddr::V4(v4) => (u128::from(u32::from(v4)) << 96, 32, false),
        IpAddr::V6(v6) => (u128::from(v6), 128, true),
    };
    (length <= most).then_some((bits & mask(length), length, six))
}

fn mask(length: u32) -> u128 {
    u128::MAX.checked_shl(128_u32.saturating_sub(length)).unwrap_or_default()
}

fn is_strictly_within(inner: (u128, u32, bool), outer: (u128, u32, bool)) -> bool {
    inner.2 == outer.2 && inner.1 > outer.1 && inner.0 & mask(outer.1) == outer.0
}
